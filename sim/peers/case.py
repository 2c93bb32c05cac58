"""The cases that every simulator runs, and the form of its answer: one line of JSON.

    PROGRAM mm1 SEED JOBS               mean response in ns: Poisson arrivals, exponential service, one CPU, first come first served
    PROGRAM rr WORK_NS..                ns at which each task ends: all come at 0, one CPU, round-robin
    PROGRAM periodic UNTIL_NS TASK..    sum and number of each task's responses; a task is OFFSET:PERIOD:WORK, in ns; two CPUs, first come
                                        first served
"""

import json
import sys

SERVICE_NS = 1_000_000
INTERARRIVAL_NS = 1_250_000
QUANTUM_NS = 1_000_000
PERIODIC_CPUS = 2


def main(mm1, rr, periodic):
    """Runs the case of the command line."""
    name, *rest = sys.argv[1:]
    if name == "mm1":
        seed, jobs = map(int, rest)
        answer = mm1(seed, jobs)
    elif name == "rr":
        answer = rr([int(work) for work in rest])
    else:
        until, *tasks = rest
        answer = periodic([tuple(map(int, task.split(":"))) for task in tasks], int(until))
    print(json.dumps(answer))
