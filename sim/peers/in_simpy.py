"""The cases of `sim/peers/run` in SimPy: processes that ask a resource with a slot for each CPU, first come, first served."""

import random

import simpy

import case


def mm1(seed, jobs):
    """Mean response, in ns."""
    arrivals, work = random.Random(f"arrivals {seed}"), random.Random(f"work {seed}")
    env = simpy.Environment()
    cpu = simpy.Resource(env, capacity=1)
    responses = []

    def job():
        began = env.now
        with cpu.request() as turn:
            yield turn
            yield env.timeout(work.expovariate(1 / case.SERVICE_NS))
        responses.append(env.now - began)

    def source():
        for _ in range(jobs):
            yield env.timeout(arrivals.expovariate(1 / case.INTERARRIVAL_NS))
            env.process(job())

    env.process(source())
    env.run()
    return sum(responses) / len(responses)


def rr(works_ns):
    """When each task ends, in ns."""
    env = simpy.Environment()
    cpu = simpy.Resource(env, capacity=1)
    ends = [0] * len(works_ns)

    def task(number, left):
        while left:
            turn = min(case.QUANTUM_NS, left)
            with cpu.request() as got:
                yield got
                yield env.timeout(turn)
            left -= turn
        ends[number] = env.now

    for number, work in enumerate(works_ns):
        env.process(task(number, work))
    env.run()
    return ends


def periodic(tasks, until_ns):
    """The sum of each task's responses, in ns, and their number."""
    env = simpy.Environment()
    cpus = simpy.Resource(env, capacity=case.PERIODIC_CPUS)
    sums = [[0, 0] for _ in tasks]

    def task(number, offset, period, work):
        released = offset
        while True:
            yield env.timeout(released - env.now)
            with cpus.request() as turn:
                yield turn
                yield env.timeout(work)
            sums[number][0] += env.now - released
            sums[number][1] += 1
            released += period

    for number, one in enumerate(tasks):
        env.process(task(number, *one))
    env.run(until=until_ns)
    return sums


case.main(mm1, rr, periodic)
