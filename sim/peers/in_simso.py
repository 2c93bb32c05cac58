"""The cases of `sim/peers/run` in SimSo: schedulers of its own kind, and for M/M/1 an execution time model."""

import random
import sys
import types

# SimSo loads schedulers from files with this module, which Python 3.12 removed. Here none is loaded from a file.
sys.modules.setdefault("imp", types.ModuleType("imp"))

from collections import deque

from simso.configuration import Configuration
from simso.core import Model, Scheduler, Timer
from simso.core import etm as times
from simso.core.etm.ACET import ACET

import case

NS_IN_MS = 1_000_000
FOREVER_NS = 10**15


class FirstCome(Scheduler):
    """First come, first served, to the end of each job."""

    def init(self):
        self.ready = deque()

    def on_activate(self, job):
        self.ready.append(job)
        job.cpu.resched()

    def on_terminated(self, job):
        job.cpu.resched()

    def schedule(self, cpu):
        idle = [one for one in self.processors if not one.is_running()]
        return [(self.ready.popleft(), one) for one in idle if self.ready]


class RoundRobin(Scheduler):
    """One CPU: quanta in turn."""

    def init(self):
        self.ready = deque()
        self.slice = None

    def on_activate(self, job):
        self.ready.append(job)
        job.cpu.resched()

    def on_terminated(self, job):
        self.slice.stop()
        job.cpu.resched()

    def ends(self, cpu):
        self.over = True
        cpu.resched()

    def schedule(self, cpu):
        if cpu.is_running():
            if not self.over:
                return None
            self.ready.append(cpu.running)
        self.over = False
        if not self.ready:
            return None
        # A slice begins also for a task that goes on.
        self.slice = Timer(self.sim, RoundRobin.ends, (self, cpu), case.QUANTUM_NS, cpu=cpu, in_ms=False)
        self.slice.start()
        return (self.ready.popleft(), cpu)


class Exponential(ACET):
    """Execution times of M/M/1."""

    draws = random.Random()

    def on_activate(self, job):
        self.executed[job] = 0
        self.et[job] = int(self.draws.expovariate(1 / case.SERVICE_NS)) + 1


times.execution_time_models["exponential"] = Exponential


def simulated(scheduler, cpus, until_ns, model, add):
    """The tasks, after a run. SimSo counts in cycles, which are ns here, and is told times in ms."""
    configuration = Configuration()
    configuration.duration = until_ns
    configuration.cycles_per_ms = NS_IN_MS
    configuration.etm = model
    configuration.scheduler_info.clas = scheduler
    for number in range(cpus):
        configuration.add_processor(name=f"CPU {number}", identifier=number)
    add(configuration)
    run = Model(configuration)
    run.run_model()
    return run.task_list


def mm1(seed, jobs):
    """Mean response, in ns."""
    arrivals = random.Random(f"arrivals {seed}")
    Exponential.draws = random.Random(f"work {seed}")
    dates, now = [], 0
    for _ in range(jobs):
        now += int(arrivals.expovariate(1 / case.INTERARRIVAL_NS))
        dates.append(now / NS_IN_MS)

    def add(configuration):
        configuration.add_task(name="jobs", identifier=1, task_type="Sporadic", list_activation_dates=dates, wcet=1, deadline=1, abort_on_miss=False)

    (task,) = simulated(FirstCome, 1, FOREVER_NS, "exponential", add)
    return sum(job.response_time for job in task.jobs) / jobs * NS_IN_MS


def rr(works_ns):
    """When each task ends, in ns."""

    def add(configuration):
        for number, work in enumerate(works_ns):
            configuration.add_task(
                name=f"T{number}", identifier=number, task_type="Sporadic", list_activation_dates=[0], wcet=work / NS_IN_MS, deadline=1,
                abort_on_miss=False,
            )

    tasks = simulated(RoundRobin, 1, sum(works_ns) + 1, "wcet", add)
    return [task.jobs[0].end_date for task in tasks]


def periodic(tasks, until_ns):
    """The sum of each task's responses, in ns, and their number."""

    def add(configuration):
        for number, (offset, period, work) in enumerate(tasks):
            configuration.add_task(
                name=f"T{number}", identifier=number, task_type="Periodic", activation_date=offset / NS_IN_MS,
                period=period / NS_IN_MS, wcet=work / NS_IN_MS, deadline=period / NS_IN_MS,
            )

    done = [[job for job in task.jobs if job.end_date] for task in simulated(FirstCome, case.PERIODIC_CPUS, until_ns, "wcet", add)]
    return [[round(sum(job.response_time for job in jobs) * NS_IN_MS), len(jobs)] for jobs in done]


case.main(mm1, rr, periodic)
