"""The time of a run under a policy in Python beside that under the same one in C: the least of several runs.

    python python/bench/policies.py
"""

import sys
import time
import warnings
from pathlib import Path

import divvy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import written  # noqa: E402

RUNS = 5
SAME = {"rr": written.Turns, "las": written.Las, "sfq": written.Sfq}


def workload(tasks):
    """Tasks that always run: a decision for each ms."""
    return divvy.Workload(cpus=1, quantum="1ms", duration="20s").task("hog", count=tasks, run="forever")


def least(policy, tasks):
    """The time of a run in s."""
    taken = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        divvy.simulate(workload(tasks), policy, keep=False)
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main():
    warnings.simplefilter("ignore")
    for tasks in (4, 64):
        for name, one in SAME.items():
            c, python = least(name, tasks), least(one(), tasks)
            print(f"{name}, {tasks} tasks: {1e3 * c:.1f} ms in C, {1e3 * python:.1f} ms in Python: {python / c:.0f} times, {python / 20_000 * 1e6:.1f} us a decision")


if __name__ == "__main__":
    main()
