"""The package alone, as it is after `pip install divvy`."""

import datetime
import threading
import unittest

import divvy

TWO = {"cpus": 1, "duration": "1s", "task": [{"name": n, "program": [{"run": "forever"}]} for n in "ab"]}


class Bare(unittest.TestCase):
    def test_runs_and_tables_need_no_other_package(self):
        result = divvy.simulate(TWO, "rr")
        self.assertEqual([row["share"] for row in result.tasks], [0.5, 0.5])
        self.assertEqual(sum(row["to_ns"] - row["from_ns"] for row in result.slices), 10**9)
        self.assertIn("srcdoc", result._repr_html_())

    def test_a_package_that_is_missing_is_named(self):
        result = divvy.simulate(TWO, "rr")
        calls = {
            "pandas": result.tasks.to_pandas,
            "polars": result.tasks.to_polars,
            "pyarrow": result.tasks.to_arrow,
            "matplotlib": result.plot,
        }
        for package, call in calls.items():
            with self.assertRaisesRegex(divvy.UsageError, f"package {package}.*pip install {package}"):
                call()

    def test_a_workload_is_the_same_in_every_form(self):
        built = divvy.Workload(cpus=1, duration=datetime.timedelta(seconds=1))
        for name in "ab":
            built.task(name, run="forever")
        reports = [divvy.simulate(form, "rr").report for form in (TWO, built, built.to_toml())]
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0], reports[2])

    def test_odd_keys_and_names_are_written_as_toml(self):
        names = ['quo"te', "back\\slash", "sch\u00f6n", "# no comment", "[[task]]"]
        tasks = [{"name": name, "program": [{"run": "1ms"}]} for name in names]
        kept = [row["task"] for row in divvy.simulate({"cpus": 1, "task": tasks}, "rr").tasks]
        self.assertEqual(kept, names)
        with self.assertRaisesRegex(divvy.BadInput, "unknown key `a b`"):
            divvy.simulate({"cpus": 1, "task": tasks, "a b": 1}, "rr")
        for name in ("\x7f", "new\nline"):
            with self.assertRaisesRegex(divvy.BadInput, "is no name"):
                divvy.simulate({"cpus": 1, "task": [{"name": name, "program": []}]}, "rr")

    def test_times_are_texts_seconds_and_timedeltas(self):
        for time in ("500ms", 0.5, datetime.timedelta(milliseconds=500)):
            result = divvy.simulate(TWO, "rr", duration=time)
            self.assertEqual(result.report["runs"][0]["duration_ns"], 500_000_000)
        for wrong in ("5", 0, -1, float("nan"), "0s"):
            with self.assertRaises(divvy.UsageError):
                divvy.simulate(TWO, "rr", duration=wrong)

    def test_errors_have_a_class_and_a_place(self):
        with self.assertRaisesRegex(divvy.BadInput, r"workload:5:1: unknown key `programm`"):
            divvy.simulate({"cpus": 1, "task": [{"name": "a", "programm": []}]}, "rr")
        with self.assertRaisesRegex(divvy.BadInput, "cannot read nosuch.toml"):
            divvy.simulate("nosuch.toml", "rr")
        with self.assertRaisesRegex(divvy.UsageError, "did you mean `gr3`"):
            divvy.simulate(TWO, "gr4")
        endless = {"cpus": 1, "task": [{"name": "a", "program": [{"run": "forever"}]}]}
        with self.assertRaisesRegex(divvy.BadInput, "give duration=, or"):
            divvy.simulate(endless, "rr")
        for error in (divvy.BadInput, divvy.UsageError, divvy.RunError, divvy.InternalError):
            self.assertTrue(issubclass(error, divvy.Error))

    def test_what_was_not_kept_says_so(self):
        result = divvy.simulate(TWO, "rr", keep=False)
        self.assertEqual(result.report, divvy.simulate(TWO, "rr").report)
        with self.assertRaisesRegex(divvy.UsageError, "keep=False"):
            len(result.jobs)
        self.assertIsNone(result._repr_html_())

    def test_other_threads_of_python_run_meanwhile(self):
        ran = threading.Event()
        threading.Thread(target=ran.set).start()
        divvy.simulate(TWO, "rr", duration="100s")
        self.assertTrue(ran.is_set())

    def test_policies_are_described(self):
        known = {one["name"]: one for one in divvy.policies()}
        self.assertEqual(known["gr3"], divvy.policy("gr3"))
        self.assertEqual(known["procfair"]["kind"], "modifier")


if __name__ == "__main__":
    unittest.main()
