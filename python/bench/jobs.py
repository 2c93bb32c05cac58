"""A million simulated jobs in a data frame: the time of each step, the least of several runs.

    python python/bench/jobs.py [JOBS]
"""

import sys
import time

import divvy

RUNS = 3


def workload(jobs):
    """Jobs that arrive at random, with a load of 0.8."""
    return divvy.Workload(cpus=1).task(
        "job", [{"run": {"exp": "8ms"}}], arrivals={"open": {"exp": "10ms"}, "limit": jobs}
    )


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    best = {}
    for _ in range(RUNS):
        times = [time.perf_counter()]
        result = divvy.simulate(workload(jobs), "fcfs")
        times.append(time.perf_counter())
        table = result.jobs
        times.append(time.perf_counter())
        frame = table.to_pandas()
        times.append(time.perf_counter())
        assert len(frame) == jobs, len(frame)
        steps = {"simulate": times[1] - times[0], "table": times[2] - times[1], "pandas": times[3] - times[2], "all": times[3] - times[0]}
        best = {step: min(taken, best.get(step, taken)) for step, taken in steps.items()}
    print(f"{jobs} jobs: " + ", ".join(f"{step} {taken:.3f} s" for step, taken in best.items()))


if __name__ == "__main__":
    main()
