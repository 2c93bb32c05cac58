"""Sweeps on a Dask cluster: a scheduler and workers as processes here. Bytes are those of a sweep without a cluster."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import divvy
import command
from command import EXAMPLES, ROOT
from dask_cluster import PATIENCE_S, Cluster, Command, Sweep, until

QUEUE = EXAMPLES / "queue.toml"
VARY = ("--vary", "load=0.3..0.8:0.05", "--vary", "alpha=0,1,inf", "-p", "pbs,rr", "--reps", "2", "--duration", "5s", "--seed", "7")

# As `sitecustomize`, before distributed is imported.
OTHER_VERSION = """
import importlib.metadata
true = importlib.metadata.version
importlib.metadata.version = lambda name: "2020.1.0" if name == "distributed" else true(name)
"""
# Prints when distributed is imported.
TALKATIVE = """
import builtins
true = builtins.__import__
def imports(name, *rest, **more):
    if name == "distributed":
        print("a package greets you", flush=True)
    return true(name, *rest, **more)
builtins.__import__ = imports
"""
# Much longer than anybody waits: only a stop ends it.
LONG = """
import signal, divvy
from distributed import Client
signal.signal(signal.SIGINT, signal.default_int_handler)
client = Client(scheduler_file={file!r})
try:
    divvy.sweep({workload!r}, {{"load": "0.5..0.8:0.1"}}, "rr", duration="100000h", client=client)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        self.here = Path(tempfile.mkdtemp(prefix="divvy-cluster-"))
        self.addCleanup(shutil.rmtree, self.here, True)

    def cluster(self, workers, **settings):
        cluster = Cluster(self.here / "cluster", workers, **settings)
        self.addCleanup(cluster.close)
        return cluster

    def stand_in(self, body, change=""):
        stand_in = Command(self.here / "stand-in", body, change)
        self.addCleanup(stand_in.close)
        return stand_in

    def python_with(self, sitecustomize):
        """A Python that executes this before all else"""
        (self.here / "sitecustomize.py").write_text(sitecustomize)
        python = self.here / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{self.here}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        return python

    def csv(self):
        return (self.here / "rows.csv").read_bytes()

    def sweep(self, cluster, *arguments, **options):
        return Sweep(*arguments, "-o", self.here / "rows.csv", "--cluster", cluster.address, **options)

    def succeeds(self, sweep):
        code, said = sweep.end()
        self.assertEqual(code, 0, said)

    def is_as_here(self, *arguments):
        self.assertEqual(self.csv().decode(), command.run("sweep", *arguments, "--format", "csv"))


class Failing(Scratch):
    """Workers and schedulers that end."""

    def test_a_worker_is_killed_while_it_runs_a_part(self):
        cluster = self.cluster(4)
        stand_in = self.stand_in("if is_first():\n    hold()\n")
        sweep = self.sweep(cluster, QUEUE, *VARY, "--cluster-command", stand_in.path)
        cluster.kill(stand_in.held.pid())
        stand_in.ended.pid()
        self.succeeds(sweep)
        self.is_as_here(QUEUE, *VARY)

    def test_a_part_that_kills_its_workers_is_reported(self):
        cluster = self.cluster(4, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
        # The first parts have a point each; this one has the third.
        stand_in = self.stand_in("if '\"sims\":[[0,[2]]]' in part:\n    os.kill(os.getppid(), signal.SIGKILL)\n")
        points = ("--vary", "load=0.5..0.8:0.1", "-p", "rr", "--reps", "2", "--duration", "5s")
        code, said = self.sweep(cluster, QUEUE, *points, "--cluster-command", stand_in.path).end()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"point 3 \(rr: load=0\.7\): 2 workers were lost while they ran it, the last of them tcp://")
        self.assertEqual([worker.poll() for worker in cluster.workers].count(-signal.SIGKILL), 2)

    def test_a_worker_that_joins_late_is_used_and_a_lost_scheduler_is_reported(self):
        cluster = self.cluster(0)
        stand_in = self.stand_in("if is_first():\n    hold()\ntell('used')\n")
        used = self.here / "stand-in" / "used"
        sweep = self.sweep(cluster, QUEUE, *VARY, "--cluster-command", stand_in.path)
        sweep.says("has no workers now: the sweep waits")
        cluster.grow(1)
        first = stand_in.held.pid()
        cluster.grow(1)
        sweep.says("2 workers, 2 parts at a time")
        until(lambda: used.exists() and used.read_text(), "the second worker has a part")
        self.assertEqual(used.read_text().split(), [str(cluster.workers[1].pid)])
        cluster.kill(first)
        self.succeeds(sweep)
        self.is_as_here(QUEUE, *VARY)
        (self.here / "stand-in" / "first").rmdir()
        sweep = self.sweep(cluster, QUEUE, *VARY, "--force", "--cluster-command", stand_in.path)
        stand_in.held.pid()
        address = cluster.address
        # It would say that it lost its scheduler, too.
        cluster.client.close()
        cluster.scheduler.kill()
        code, said = sweep.end()
        self.assertEqual(code, 1, said)
        self.assertIn(f"the connection to the Dask scheduler at {address} is lost", said)


class Whole(Scratch):
    """On one cluster, none of whose processes ends."""

    @classmethod
    def setUpClass(cls):
        cls.directory = Path(tempfile.mkdtemp(prefix="divvy-cluster-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        cls.whole = Cluster(cls.directory / "cluster", 4)
        cls.addClassCleanup(cls.whole.close)

    def test_ctrl_c_cancels_and_the_sweep_is_continued(self):
        # The first eight parts have a point each; this one has the fifth of rr and pbs together, load 0.35 and alpha 0.
        stand_in = self.stand_in("if '\"sims\":[[0,[1,0]]]' in part and is_first():\n    hold()\n")
        sweep = self.sweep(self.whole, QUEUE, *VARY, "--cluster-command", stand_in.path)
        stand_in.held.pid()
        until(lambda: self.csv().count(b"\n") == 5, "all rows before the held part are written")
        sweep.interrupt()
        self.assertEqual(sweep.end()[0], -signal.SIGINT)
        stand_in.ended.pid()
        until(lambda: self.whole.tasks() == 0, "the scheduler has no parts")
        self.assertEqual(self.csv().count(b"\n"), 5)
        sweep = self.sweep(self.whole, QUEUE, *VARY, "--resume", "--cluster-command", stand_in.path)
        sweep.says("4 of 44 rows are done")
        self.succeeds(sweep)
        self.is_as_here(QUEUE, *VARY)

    def test_another_divvy_is_refused(self):
        change = """answer = re.sub('"identity":"[^"]*"', '"identity":"0.0.1 (0123456789abcdef)"', answer)"""
        stand_in = self.stand_in("", change)
        code, said = self.sweep(self.whole, QUEUE, *VARY, "--cluster-command", stand_in.path).end()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, rf"the divvy of worker tcp://127.0.0.1:\d+ is 0\.0\.1 \(0123456789abcdef\), and this one is {divvy.__version__} \(")
        self.assertEqual(self.csv().count(b"\n"), 1)

    def test_rows_of_another_part_are_refused(self):
        stand_in = self.stand_in("", """answer = answer.replace('"rows":"', '"rows":"9')""")
        code, said = self.sweep(self.whole, QUEUE, *VARY, "--cluster-command", stand_in.path).end()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"worker tcp://\S+ has sent other rows than point \d+ .*is point 9\d+, and not \d+")

    def test_a_worker_without_divvy_is_named(self):
        code, said = self.sweep(self.whole, QUEUE, *VARY, "--cluster-command", "nosuch-divvy").end()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"`nosuch-divvy` on worker tcp://\S+ cannot run parts of a sweep: No such file")
        self.assertIn("--cluster-command", said)

    def test_policy_files_and_differences_travel(self):
        (self.here / "mine.h").write_text((ROOT / "cli/tests/cmd/policy-file.in/mine.h").read_text())
        arguments = (QUEUE, *VARY, "-p", self.here / "mine.h", "--baseline", "rr", "--per-task")
        self.succeeds(self.sweep(self.whole, *arguments))
        self.is_as_here(*arguments)

    def test_another_version_of_distributed_is_named(self):
        python = self.python_with(OTHER_VERSION)
        code, said = self.sweep(self.whole, QUEUE, *VARY, python=python).end()
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"the scheduler has distributed \S+ on Python 3\.\d+, and this machine has distributed 2020\.1\.0 on Python 3")

    def test_a_shard_is_the_same_on_a_cluster(self):
        self.succeeds(self.sweep(self.whole, QUEUE, *VARY, "--shard", "2/3"))
        self.is_as_here(QUEUE, *VARY, "--shard", "2/3")

    def test_the_package_has_the_same_rows_with_a_client(self):
        arguments = {"baseline": "rr", "reps": 2, "duration": "5s", "seed": 7}
        vary = {"load": [0.5, 0.6, 0.7], "alpha": "0,1,inf"}
        with_client = divvy.sweep(QUEUE, vary, "pbs,rr", client=self.whole.client, **arguments)
        self.assertEqual(with_client.csv, divvy.sweep(QUEUE, vary, "pbs,rr", **arguments).csv)
        self.assertEqual(len(with_client.rows), 21)
        with self.assertRaisesRegex(divvy.BadInput, "nosuch.toml"):
            divvy.sweep("nosuch.toml", vary, "pbs,rr", client=self.whole.client)
        with self.assertRaisesRegex(divvy.UsageError, "client=3: it is a Client"):
            divvy.sweep(QUEUE, {"load": [0.5]}, "rr", client=3)


    def test_ctrl_c_ends_parts_of_the_package(self):
        program = subprocess.Popen([sys.executable, "-c", LONG.format(file=str(self.whole.file), workload=str(QUEUE))], stdout=subprocess.PIPE, text=True)
        with program:
            until(lambda: self.busy() == 4, "all workers have a part")
            program.send_signal(signal.SIGINT)
            try:
                self.assertEqual(program.communicate(timeout=PATIENCE_S)[0], "interrupted\n")
            finally:
                program.kill()
        until(lambda: self.whole.tasks() == 0 and self.busy() == 0, "no worker has a part")

    def busy(self):
        """Workers that run something."""
        return sum(self.whole.client.run(lambda dask_worker: len(dask_worker.active_threads)).values())


class Bare(Scratch):
    """Without a cluster."""

    def test_an_unreachable_scheduler_has_its_address_in_the_message(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"dask://127.0.0.1:{taken.getsockname()[1]}"
            code, said = Sweep(QUEUE, *VARY, "--format", "csv", "--cluster", address).end()
        self.assertEqual(code, 1, said)
        self.assertIn(f"no Dask scheduler answers at {address} within 10 s", said)

    def test_a_python_without_distributed_and_none_at_all(self):
        bare = self.here / "python"
        bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
        bare.chmod(0o755)
        for python, expected in ((bare, "has no package distributed"), (self.here / "nosuch", "cannot start")):
            code, said = Sweep(QUEUE, *VARY, "--format", "csv", "--cluster", "dask://127.0.0.1:1", python=python).end()
            self.assertEqual(code, 1, said)
            self.assertIn(expected, said)
            self.assertIn("pip install distributed", said)

    def test_what_a_package_prints_is_no_answer(self):
        python = self.python_with(TALKATIVE)
        code, said = Sweep(QUEUE, *VARY, "--format", "csv", "--cluster", "dask://127.0.0.1:1", python=python).end()
        self.assertEqual(code, 1, said)
        self.assertIn("a package greets you", said)
        self.assertIn("no Dask scheduler answers at dask://127.0.0.1:1", said)

    def test_files_beside_the_workload_are_no_modules(self):
        for name in ("distributed", "json", "signal", "threading"):
            (self.here / f"{name}.py").write_text(f"open({str(self.here / 'ran')!r}, 'w')")
        code, said = Sweep(QUEUE, *VARY, "--format", "csv", "--cluster", "dask://127.0.0.1:1", directory=self.here).end()
        self.assertEqual(code, 1, said)
        self.assertIn("no Dask scheduler answers", said)
        self.assertFalse((self.here / "ran").exists())

    def test_a_part_ends_when_its_stdin_does(self):
        request = self.here / "request"
        recorder = self.here / "divvy"
        recorder.write_text(f'#!/bin/sh\nhead -n 2 >"{request}.new"; mv "{request}.new" "{request}"; cat\n')
        recorder.chmod(0o755)
        cluster = self.cluster(1)
        endless = ("--vary", "load=0.5,0.6", "-p", "rr", "--duration", "100000h")
        sweep = self.sweep(cluster, QUEUE, *endless, "--cluster-command", recorder)
        until(request.exists, "a part came")
        sweep.interrupt()
        sweep.end()
        part = subprocess.Popen([os.environ["DIVVY"], "sweep", "--part"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        part.stdin.write(request.read_bytes())
        part.stdin.flush()
        with self.assertRaises(subprocess.TimeoutExpired):
            part.wait(1)
        part.stdin.close()
        try:
            self.assertEqual(part.wait(60), 1)
        finally:
            part.kill()
            part.stdout.close()


if __name__ == "__main__":
    unittest.main()
