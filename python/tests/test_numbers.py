"""The numbers are those of the command, in every digit."""

import json
import unittest

import divvy
from command import EXAMPLES, ROOT, exact, report, rows, run

RECORDING = EXAMPLES / "compile-beside-interactive.perf.data"


def said(result):
    """The report with its numbers as they are written."""
    return exact(result._native.json())


class Numbers(unittest.TestCase):
    maxDiff = 2000

    def same(self, workload, policies, arguments, **options):
        path = EXAMPLES / workload
        expected = report("sim", path, "-p", policies, *arguments)
        self.assertEqual(said(divvy.simulate(path, policies.split(","), **options)), expected)
        self.assertEqual(said(divvy.simulate(path, policies, keep=False, **options)), expected)

    def test_simulations(self):
        self.same("mix.toml", "rr,gr3,eevdf", [])
        self.same("mix.toml", "pbs:alpha=2,sfq+procfair", ["--seed", 7, "--reps", 3], seed=7, reps=3)
        self.same("queue.toml", "fcfs,srpt", ["--theory", "--duration", "20s"], theory=True, duration=20)
        self.same("three-on-two.toml", "sfs", ["--cpus", 3, "--quantum", "2ms"], cpus=3, quantum=0.002)
        self.same("cpu-max.toml", "sfq", [])
        self.same("two-nodes.toml", "gr3@node", ["--duration", "2s"], duration="2s")

    def test_another_seed_has_other_numbers(self):
        path = EXAMPLES / "queue.toml"
        one, two = (divvy.simulate(path, "fcfs", seed=seed, duration="5s").report for seed in (1, 2))
        self.assertNotEqual(one["runs"], two["runs"])

    def test_jobs(self):
        path = EXAMPLES / "queue.toml"
        expected = rows(run("sim", path, "-p", "fcfs,srpt", "--duration", "20s", "--jobs-csv", "/dev/stdout", "-o", "/dev/null"))
        jobs = divvy.simulate(path, "fcfs,srpt", duration="20s").jobs
        found = [{key: "" if value is None else str(value) for key, value in row.items()} for row in jobs]
        self.assertGreater(len(expected), 1000)
        self.assertEqual(found, expected)

    def test_tasks(self):
        path = EXAMPLES / "mix.toml"
        expected = rows(run("sim", path, "-p", "rr,gr3", "--reps", 2, "--format", "csv"))
        tasks = list(divvy.simulate(path, "rr,gr3", reps=2).tasks)
        self.assertEqual(len(tasks), len(expected))
        for row, other in zip(tasks, expected):
            for key, value in row.items():
                text = other[key]
                self.assertEqual(value, None if text == "" else type(value)(text), key)

    def test_series_and_tails(self):
        path = EXAMPLES / "mix.toml"
        figures = json.loads(run("sim", path, "-p", "rr", "--figures", "--format", "json"))["runs"][0]["figures"]
        result = divvy.simulate(path, "rr")
        series = result.series.to_dict()
        self.assertEqual(series["share"], [x for task in figures["series"]["tasks"] for x in task["share"]])
        self.assertEqual(series["error_ns"], [x for task in figures["series"]["tasks"] for x in task["error_ns"]])
        response = [row for row in result.tails if row["measure"] == "response"]
        self.assertEqual([row["at_least_ns"] for row in response], figures["response"]["value_ns"])

    def test_slices_add_up_to_what_tasks_received(self):
        result = divvy.simulate(EXAMPLES / "mix.toml", "rr,gr3")
        received = {}
        for row in result.slices:
            key = row["policy"], row["task"]
            received[key] = received.get(key, 0) + row["to_ns"] - row["from_ns"]
        for row in result.tasks:
            self.assertEqual(received.get((row["policy"], row["task"]), 0), row["service_ns"])

    def test_replays(self):
        expected = report("replay", RECORDING, "-p", "eevdf,gr3")
        self.assertEqual(said(divvy.replay(RECORDING, "eevdf,gr3")), expected)
        names = [expected["runs"][0]["tasks"][0]["name"]]
        arguments = ["--keep", names[0], "--wakes", "fixed", "--per-thread", "--tick", "4ms"]
        expected = report("replay", RECORDING, "-p", "sfs", *arguments)
        self.assertEqual(said(divvy.replay(RECORDING, "sfs", names=names, wakes="fixed", per_thread=True, tick=0.004)), expected)
        with self.assertRaisesRegex(divvy.BadInput, "no thread of the recording is called `nosuch`"):
            divvy.replay(RECORDING, "sfs", names="nosuch")
        with self.assertRaisesRegex(divvy.UsageError, "wakes="):
            divvy.replay(RECORDING, "sfs", wakes="never")

    def test_sweeps(self):
        path = EXAMPLES / "queue.toml"
        arguments = ["--vary", "load=0.5,0.7", "--vary", "alpha=0,1,inf", "-p", "pbs,rr", "--duration", "5s", "--reps", "2"]
        expected = run("sweep", path, *arguments, "--baseline", "fcfs", "--format", "csv")
        vary = {"load": [0.5, 0.7], "alpha": "0,1,inf"}
        found = divvy.sweep(path, vary, "pbs,rr", duration="5s", reps=2, baseline="fcfs")
        self.assertEqual(found.csv, expected)
        lines = rows(expected)
        self.assertEqual(len(found.rows), len(lines))
        for row, other in zip(found.rows, lines):
            for key, value in row.items():
                text = other[key]
                self.assertEqual(value, None if text == "" else type(value)(text), key)
        self.assertEqual(found.report, json.loads(run("sweep", path, *arguments, "--baseline", "fcfs", "--format", "json")))

    def test_papers(self):
        for id in ("gr3-2", "sfs-5"):
            found = divvy.paper(id, small=True)
            self.assertEqual(found.report, json.loads(run("paper", id, "--small", "--format", "json")))
            self.assertEqual([row["claim"] for row in found.claims], [claim["name"] for claim in found.report["claims"]])
        points = divvy.paper("sfs-5", small=True)
        drawn = [one for one in points.report["drawings"] if one["figure"] == "chart"]
        expected = [point[1] for one in drawn for curve in one["series"] for point in curve["points"]]
        self.assertEqual(points.points.to_dict()["y"], expected)
        with self.assertRaisesRegex(divvy.UsageError, "did you mean `gr3-2`"):
            divvy.paper("gr32")

    def test_policies(self):
        self.assertEqual(divvy.policies(), json.loads(run("policies", "--format", "json"))["policies"])

    def test_a_policy_file(self):
        mine = str(ROOT / "policy" / "select" / "rr.h")
        path = EXAMPLES / "mix.toml"
        result = divvy.simulate(path, [mine, "rr"])
        own, built_in = (
            [row["service_ns"] for row in result.tasks if row["policy"] == policy] for policy in (mine, "rr")
        )
        self.assertEqual(own, built_in)
        self.assertEqual(divvy.policy(mine)["params"], divvy.policy("rr")["params"])


if __name__ == "__main__":
    unittest.main()
