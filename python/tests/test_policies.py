"""Policies that are written in Python: their schedules are those of the same policies in C."""

import itertools
import subprocess
import sys
import traceback
import unittest
import warnings

import divvy
import written
from command import EXAMPLES
from test_stopping import interrupted

#: Names of divvy's own, and the same in Python.
SAME = {"fcfs": written.Fifo, "rr": written.Turns, "las": written.Las, "srpt": written.Srpt, "sfq": written.Sfq}


def mixed(cpus):
    """Tasks that block, come in the middle, weigh otherwise, yield, fork, and use parts of their quanta."""
    steps = [{"run": {"exp": "3ms"}}, {"yield": True}, {"run": "500us"}, {"sleep": {"exp": "4ms"}}]
    return {
        "cpus": cpus,
        "quantum": "2ms",
        "duration": "2s",
        "task": [
            {"name": "hog", "count": 2, "weight": 700, "start": "100ms", "stop": "1500ms", "program": [{"run": "forever"}]},
            {"name": "worker", "count": 3, "nice": 3, "program": [{"loop": "forever", "do": steps}]},
            {"name": "job", "weight": 3000, "arrivals": {"open": {"exp": "30ms"}}, "program": [{"run": {"exp": "5ms"}}]},
            {"name": "user", "arrivals": {"closed": {"exp": "20ms"}}, "program": [{"run": {"uniform": {"lo": "1ms", "hi": "9ms"}}}]},
            {"name": "shell", "program": [{"loop": "forever", "do": [{"run": "300us"}, {"fork": "child"}, {"sleep": "7ms"}]}]},
            {"name": "child", "start": "fork", "nice": -3, "program": [{"run": "2500us"}, {"sleep": "1ms"}, {"run": "100us"}]},
        ],
    }


def simulated(workload, policies, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return divvy.simulate(workload, policies, **options)


def schedules(result):
    found = {}
    for row in result.slices:
        found.setdefault(row["policy"], []).append((row["cpu"], row["task"], row["from_ns"], row["to_ns"], row["left"]))
    return found


def difference(one, other):
    """The first place at which two schedules differ, with both slices; None if they are equal."""
    pairs = enumerate(itertools.zip_longest(one, other))
    return next(((at, *pair) for at, pair in pairs if pair[0] != pair[1]), None)


class Endless(written.Turns):
    def pick(self, cpu, now):
        while True:
            pass


class Schedules(unittest.TestCase):
    def test_they_are_those_of_the_same_policy_in_c(self):
        for cpus in (1, 2, 3, 8):
            for seed in (1, 2, 3):
                result = simulated(mixed(cpus), [*SAME, *(one() for one in SAME.values())], seed=seed)
                found = schedules(result)
                for name, one in SAME.items():
                    self.assertGreater(len(found[name]), 100)
                    self.assertIsNone(difference(found[one.__name__], found[name]), (name, cpus, seed))
                if cpus == 1:
                    self.assertEqual(len({tuple(found[name]) for name in SAME}), len(SAME))

    def test_all_numbers_are_the_same_in_each_repetition(self):
        for name, one in SAME.items():
            report = simulated(mixed(2), [name, one()], reps=3).report
            runs = {}
            for run in report["runs"]:
                runs.setdefault(run.pop("policy"), []).append(run)
            self.assertEqual(len(runs[name]), 3)
            self.assertTrue(runs[one.__name__] == runs[name], name)

    def test_an_object_is_as_it_was_after_a_run(self):
        policy = written.Turns()
        before = dict(vars(policy))
        first, second = (simulated(mixed(2), policy).report for _ in range(2))
        self.assertTrue(first == second)
        self.assertEqual(vars(policy), before)

    def test_arguments_of_the_class_are_kept(self):
        class Sliced(written.Turns):
            def __init__(self, ms):
                self.ms = ms

            def slice(self, id):
                return self.ms * 1_000_000

        for ms in (1, 7):
            found = schedules(simulated(mixed(2), ["rr", Sliced(ms)], quantum=f"{ms}ms"))
            self.assertIsNone(difference(found["Sliced"], found["rr"]), ms)

    def test_facts_are_those_of_the_workload(self):
        seen = []

        class Asking(written.Turns):
            def init(self):
                super().init()
                seen.append((self.ncpus, self.nrunnable, self.quantum))

            def join(self, id, now, why):
                super().join(id, now, why)
                seen.append((id, why, self.weight_of(id), self.is_runnable(id), self.is_picked(id), self.cpu_of(id), self.nrunnable))

            def charge(self, id, ran, now):
                seen.append((id, ran, now, self.cpu_of(id), self.turn_of(id), self.is_picked(id)))

        work = [{"run": "3ms"}, {"sleep": "1ms"}, {"run": "1ms"}]
        simulated({"cpus": 1, "quantum": "2ms", "task": [{"name": "a", "weight": 512, "program": work}]}, Asking())
        half = divvy.Policy.WEIGHT_NICE_0 // 2
        self.assertEqual(seen[:2], [(1, 0, 2_000_000), (1, divvy.Why.NEW, half, True, False, None, 1)])
        self.assertIn((1, divvy.Why.WOKEN, half, True, False, 0, 1), seen)
        charged = [fact for fact in seen if len(fact) == 6]
        self.assertEqual(sum(ran for _, ran, *_ in charged), 4_000_000)
        self.assertTrue(all(picked for *_, picked in charged))


class Errors(unittest.TestCase):
    TWO = {"cpus": 1, "duration": "50ms", "task": [{"name": n, "program": [{"run": "forever"}]} for n in "ab"]}

    def refused(self, policy, **options):
        with self.assertRaises(divvy.Error) as raised:
            simulated(self.TWO, [policy], **options)
        return raised.exception

    def test_what_a_method_raises_is_the_cause_with_its_traceback(self):
        class Wrong(written.Turns):
            def stop(self, id, now, why):
                if now > 10_000_000:
                    raise KeyError("no such queue")
                super().stop(id, now, why)

        error = self.refused(Wrong())
        self.assertIsInstance(error, divvy.RunError)
        self.assertEqual(str(error), "policy Wrong: stop(1, 12000000, EXPIRED) raised KeyError: 'no such queue'")
        self.assertIsInstance(error.__cause__, KeyError)
        last = traceback.extract_tb(error.__cause__.__traceback__)[-1]
        self.assertEqual((last.name, last.line), ("stop", 'raise KeyError("no such queue")'))

    def test_a_method_that_raises_at_the_end_is_heard(self):
        class Wrong(written.Turns):
            def leave(self, id, now, why):
                super().leave(id, now, why)
                raise ValueError("at the end")

        task = {"name": "a", "program": [{"run": "1ms"}]}
        with self.assertRaisesRegex(divvy.RunError, r"leave\(1, 1000000, EXITED\) raised ValueError: at the end"):
            simulated({"cpus": 1, "task": [task]}, Wrong())

    def test_each_method_is_heard(self):
        for method in ("init", "join", "pick", "charge", "slice", "preempts", "fork", "bring"):
            def wrong(self, *arguments):
                raise ArithmeticError(method)

            policy = type("Wrong", (written.Turns,), {method: wrong})()
            late = {"name": "c", "start": "7ms", "program": [{"run": "1ms"}, {"run": "1ms"}]}
            with self.assertRaisesRegex(divvy.RunError, rf"policy Wrong: {method}\(.*\) raised ArithmeticError: {method}"):
                simulated({**self.TWO, "task": [*self.TWO["task"], late]}, policy)

    def test_a_policy_that_breaks_the_contract_is_refused_as_one_in_c_is(self):
        class Idle(written.Turns):
            def pick(self, cpu, now):
                return 0 if now else super().pick(cpu, now)

        class Stubborn(written.Turns):
            def pick(self, cpu, now):
                return 1

        idle = "CPU 0 is idle and task [ab] .* waits for it; the policy broke its contract"
        self.assertRegex(str(self.refused(Idle())), f"policy Idle, at 4000000 ns: {idle} 0 times")
        blocked = {"name": "a", "program": [{"run": "1ms"}, {"sleep": "1s"}]}
        with self.assertRaisesRegex(divvy.RunError, f"policy Stubborn, at 1000000 ns: {idle} 1 times"):
            simulated({**self.TWO, "task": [blocked, self.TWO["task"][1]]}, Stubborn())

    def test_answers_of_another_type_are_named(self):
        for method, answer, said in (
            ("pick", "a", r"pick\(0, 0\) answered 'a': it is the id of a task, or 0 if none waits"),
            ("pick", 1 << 20, r"pick\(0, 0\) answered 1048576: it is the id of a task"),
            ("pick", -1, r"pick\(0, 0\) answered -1: it is the id of a task"),
            ("slice", 0, r"slice\(1\) answered 0: it is a whole number of ns above 0, or math.inf"),
            ("slice", None, r"slice\(1\) answered None: it is a whole number of ns"),
        ):
            policy = type("Wrong", (written.Turns,), {method: lambda self, *_, answer=answer: answer})()
            self.assertRegex(str(self.refused(policy)), f"policy Wrong: {said}")

    def test_classes_without_the_contract_are_refused_before_the_run(self):
        class Half(divvy.Policy):
            def join(self, id, now, why):
                pass

        self.assertRegex(str(self.refused(Half())), "class Half: the contract asks for the method leave")
        self.assertRegex(str(self.refused(written.Turns)), r"Turns is a class: give an object, Turns\(\)")
        peeks = type("Peeks", (written.Turns,), {"peek": lambda self: 0})()
        self.assertRegex(str(self.refused(peeks)), "class Peeks: only a policy in C has peek")
        named = type("rr", (written.Turns,), {})()
        self.assertRegex(str(self.refused(named)), "class rr: a policy of divvy has this name")
        with self.assertRaisesRegex(divvy.UsageError, "two policies are objects of the class Turns"):
            simulated(self.TWO, [written.Turns(), written.Turns()])

    def test_facts_are_asked_during_a_run_only(self):
        with self.assertRaisesRegex(divvy.UsageError, "only while divvy calls one of its methods"):
            written.Turns().weight_of(1)
        kept = []

        class Leaks(written.Turns):
            def init(self):
                super().init()
                kept.append(self)

        simulated(self.TWO, Leaks())
        with self.assertRaisesRegex(divvy.UsageError, "only while divvy calls one of its methods"):
            kept[0].weight_of(1)
        with self.assertRaisesRegex(divvy.UsageError, "only while divvy calls one of its methods"):
            kept[0].nrunnable

    def test_an_object_that_cannot_be_copied_says_so(self):
        policy = written.Turns()
        policy.file = sys.stdout
        error = self.refused(policy)
        self.assertRegex(str(error), "policy Turns: it cannot be copied")
        self.assertIsInstance(error.__cause__, TypeError)

    def test_sweeps_and_replays_refuse_them(self):
        with self.assertRaisesRegex(divvy.UsageError, "divvy.sweep is too much work for a policy in Python: simulate Turns"):
            divvy.sweep(self.TWO, {"cpus": [1, 2]}, ["rr", written.Turns()])
        with self.assertRaisesRegex(divvy.UsageError, "divvy.replay is too much work"):
            divvy.replay(EXAMPLES / "compile-beside-interactive.perf.data", written.Turns())

    def test_it_says_once_that_it_is_slow(self):
        code = """
import warnings, divvy, written
two = {"cpus": 1, "duration": "10ms", "task": [{"name": "a", "program": [{"run": "forever"}]}]}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        divvy.simulate(two, [written.Turns(), "rr"])
print(len(said), said[0].message, said[0].filename)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=written.__file__.rpartition("/")[0])
        self.assertRegex(done.stdout, r"^1 policy Turns is written in Python: .* times slower than in C, and no kernel can load it <string>\n$")


class Stopping(unittest.TestCase):
    def test_ctrl_c_ends_a_run_and_a_method_that_does_not_end(self):
        here = f"import sys; sys.path.insert(0, {written.__file__.rpartition('/')[0]!r}); import written, test_policies; "
        for policy in ("written.Turns()", "test_policies.Endless()"):
            call = f"exec({here!r}); divvy.simulate('mix.toml', {policy}, duration='100h', keep=False)"
            self.assertEqual(interrupted(call), "interrupted\n", policy)


if __name__ == "__main__":
    unittest.main()
