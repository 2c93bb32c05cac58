"""Tables in other packages, and plots."""

import unittest

import divvy
import matplotlib.colors
import pandas
import polars
import pyarrow
from command import EXAMPLES


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = divvy.simulate(EXAMPLES / "mix.toml", "rr,gr3")

    def tables(self):
        return [self.result.tasks, self.result.jobs, self.result.slices, self.result.series, self.result.tails]

    def test_all_packages_have_the_same_values(self):
        for table in self.tables():
            expected = table.to_dict()
            self.assertGreater(len(table), 0)
            self.assertEqual(table.to_arrow().to_pydict(), expected)
            self.assertEqual(table.to_polars().to_dict(as_series=False), expected)
            frame = table.to_pandas()
            self.assertEqual(list(frame.columns), table.columns)
            for column in frame.columns:
                values = [None if pandas.isna(value) else value for value in frame[column]]
                self.assertEqual(values, expected[column], column)

    def test_the_interface_is_enough_for_packages_that_know_it(self):
        jobs = self.result.jobs
        self.assertEqual(pyarrow.table(jobs).num_rows, len(jobs))
        self.assertEqual(pyarrow.record_batch(jobs).num_rows, len(jobs))
        self.assertEqual(pyarrow.schema(jobs).names, jobs.columns)
        self.assertEqual(polars.DataFrame(jobs).height, len(jobs))
        self.assertEqual(polars.from_arrow(jobs).struct.unnest().height, len(jobs))
        self.assertEqual(pandas.DataFrame.from_arrow(jobs).shape, (len(jobs), len(jobs.columns)))

    def test_numbers_are_not_copied(self):
        jobs = self.result.jobs
        one, two = (pyarrow.table(jobs)["arrival_ns"].chunk(0).buffers()[1].address for _ in range(2))
        self.assertEqual(one, two)

    def test_memory_lives_as_long_as_its_last_user(self):
        table = divvy.simulate(EXAMPLES / "mix.toml", "rr").jobs
        expected = sum(table.to_dict()["service_ns"])
        arrow = pyarrow.table(table)
        del table
        self.assertEqual(sum(arrow["service_ns"].to_pylist()), expected)

    def test_plots(self):
        for kind in ("share", "error", "timeline", "response", "wait"):
            figure = self.result.plot(kind)
            self.assertEqual(len(figure.axes), 1 if kind in ("response", "wait") else 2)
        lines = self.result.plot("share", policies=["gr3"]).axes[0].get_lines()
        tasks = [row["task"] for row in self.result.tasks if row["policy"] == "gr3"]
        self.assertEqual([line.get_label() for line in lines], tasks)
        self.assertEqual(matplotlib.colors.to_hex(lines[0].get_color()), "#2a3fd0")
        expected = [100 * row["share"] for row in self.result.series if (row["policy"], row["task"]) == ("gr3", tasks[0])]
        self.assertEqual(list(lines[0].get_ydata()), expected)
        bars = self.result.plot("timeline", policies=["rr"], until="50ms").axes[0].collections
        ends = [path.vertices[:, 0].max() for bar in bars for path in bar.get_paths()]
        self.assertEqual(max(ends), 50)
        with self.assertRaisesRegex(divvy.UsageError, "no plot 'pie'"):
            self.result.plot("pie")


if __name__ == "__main__":
    unittest.main()
