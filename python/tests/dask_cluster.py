"""A Dask scheduler and workers, as processes of this machine, and the programs that stand for `divvy` there."""

import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE_S = 120

# The head of a program that a worker calls in place of divvy. `held` and `ended` are pipes that the test reads.
STAND_IN = """#!{python}
import os, re, signal, subprocess, sys
HERE = {here!r}
DIVVY = {divvy!r}

def tell(pipe):
    # If the test has ended, nobody reads the pipe, and this fails instead of waiting.
    file = os.open(os.path.join(HERE, pipe), os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK)
    os.write(file, f"{{os.getppid()}}\\n".encode())
    os.close(file)

def hold():
    tell("held")
    while os.read(0, 65536):
        pass
    tell("ended")
    os._exit(1)

def is_first():
    try:
        os.mkdir(os.path.join(HERE, "first"))
        return True
    except FileExistsError:
        return False

request, part = sys.stdin.readline(), sys.stdin.readline()
"""
# Its end, which has divvy run the part. Its stdin stays open meanwhile.
RUN = """
program = subprocess.Popen([DIVVY, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
program.stdin.write(request + part)
program.stdin.flush()
answer = program.stdout.readline()
{change}
print(answer)
"""


def until(condition, what):
    """Waits until something holds that no pipe tells."""
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end_s:
            raise AssertionError(f"not within {PATIENCE_S} s: {what}")
        time.sleep(0.02)


class Pipe:
    """A named pipe that is read here. Writers do not wait."""

    def __init__(self, path):
        os.mkfifo(path)
        self._file = os.open(path, os.O_RDWR)

    def pid(self):
        """The process id that somebody writes."""
        if not select.select([self._file], [], [], PATIENCE_S)[0]:
            raise AssertionError(f"nothing came within {PATIENCE_S} s")
        return int(os.read(self._file, 100).split()[0])

    def close(self):
        os.close(self._file)


class Command:
    """A program in place of divvy, in a directory of its own, with its pipes."""

    def __init__(self, directory, body, change=""):
        directory.mkdir()
        text = STAND_IN.format(python=sys.executable, here=str(directory), divvy=os.environ["DIVVY"])
        self.path = directory / "divvy"
        self.path.write_text(text + body + RUN.format(change=change))
        self.path.chmod(0o755)
        self.held, self.ended = (Pipe(directory / name) for name in ("held", "ended"))

    def close(self):
        self.held.close()
        self.ended.close()


class Cluster:
    """It ends with the test."""

    def __init__(self, directory, workers, **settings):
        directory.mkdir()
        self._directory = directory
        self.file = directory / "scheduler.json"
        path = f"{Path(os.environ['DIVVY']).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, **settings}
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(self.file))
        self.workers = []
        try:
            until(self.file.exists, "the scheduler wrote its address")
            # Imported late: it takes a second, and some tests need none.
            from distributed import Client

            # A test ends schedulers on purpose.
            logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
            self.client = Client(scheduler_file=str(self.file), set_as_default=False)
            self.grow(workers)
        except BaseException:
            self.close()
            raise

    @property
    def address(self):
        return self.client.scheduler.address.replace("tcp://", "dask://")

    def grow(self, workers):
        new = range(len(self.workers), len(self.workers) + workers)
        options = ("--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny")
        self.workers += [self._start("worker", "--name", f"w{n}", *options) for n in new]
        if self.workers:
            self.client.wait_for_workers(len(self.workers), timeout=PATIENCE_S)

    def kill(self, pid):
        """Kills a worker as the kernel does that is out of memory."""
        victim = next(worker for worker in self.workers if worker.pid == pid)
        victim.kill()
        victim.wait()

    def tasks(self):
        return self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    def close(self):
        if client := getattr(self, "client", None):
            client.close(timeout=2)
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()

    def _start(self, kind, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", "--no-dashboard"]
        with open(self._directory / "log", "ab") as log:
            return subprocess.Popen(
                [*command, *options], stdout=log, stderr=log, env=self._environment, cwd=self._directory
            )


class Sweep:
    """`divvy sweep --cluster`, in a process group of its own, as a shell starts it."""

    def __init__(self, *arguments, python=sys.executable, directory=None):
        self._stderr = tempfile.NamedTemporaryFile("r", prefix="divvy-cluster-")
        with open(self._stderr.name, "w") as stderr:
            self.process = subprocess.Popen(
                [os.environ["DIVVY"], "sweep", *map(str, arguments)],
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, "DIVVY_PYTHON": str(python)},
                start_new_session=True,
                cwd=directory,
            )

    def says(self, text):
        """Waits until stderr has this."""
        until(lambda: text in self.said(), text)

    def said(self):
        return Path(self._stderr.name).read_text()

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self):
        """Its exit code and stderr."""
        try:
            code = self.process.wait(PATIENCE_S)
            return code, self.said()
        finally:
            self.process.kill()
            self.process.wait()
            self._stderr.close()
