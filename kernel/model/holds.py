#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""How long does the host hold its lock, with few and with many tasks?

    kernel/model/holds.py [--all] [POLICY..]     all policies that a kernel may load; --all: in all cases

Runs each policy in the model (kernel/model/test.sh builds it) with 250 and with 4,000 tasks, on 4 CPUs, while half of them always
run, half sleep and wake, and some change nice values, affinity, groups, or end; or while all but a few fall asleep at once with a
debt (debtors), or all change their affinity at once (in line: so many are taken back after they were picked as can be). Prints for each case the most accesses to memory
from a lock to its unlock, and where the lock was taken. This number repeats; an access is some 3 instructions.

A queue may take O(log n), so with 16 times as many tasks a hold may take twice as long at most, or else it fails. A policy that
looks at all tasks says in POLICY_LINEAR how many accesses it makes for each, and may make as many, beside what any policy may. Exit codes: 0 all held,
1 something did not, 2 usage.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Where test.sh built
BUILT = Path(os.environ.get("DIVVY_BUILD", ROOT / "target/model"))
FEW, MANY = 250, 4000
CPUS = 4
IN_LINE_CPUS = 16
ENDLESS = 2**64 - 1
HOST = (
    "host quantum=4000000 modifiers={modifiers} starvation=0 pool=0 fail=0 users={users} cgroups={cgroups}"
)
# An event takes up to 64 steps of several kinds (PASSES, THREAD_STEPS, GROUP_STEPS), of some 100 accesses, and with few tasks fewer
# steps. So what is below this says nothing about growth.
STEPS = 64 * 100
# In `make test-host` these are run in all cases, the others in the first two, and those that look at all tasks in line as well.
THOROUGH = ("sfq", "gr3", "eevdf", "wf2q")

# Modifiers are bits of policy/machine/state.h. In the heavy cases members of a group are too heavy for one CPU: threads of nice -20
# beside nice 19, or groups of weight 10,000 beside 1. With few threads each one has a CPU, and the other tasks sleep. Many masks are
# more than a machine has classes.
CASES = {
    "tasks": {"modifiers": 0},
    "affinity": {"modifiers": 0},
    "threads": {"modifiers": 1},
    "users": {"modifiers": 4, "users": 1},
    "one user": {"modifiers": 4, "users": 1},
    "cgroups": {"modifiers": 4, "cgroups": 1},
    "nested": {"modifiers": 4, "cgroups": 1},
    "heavy threads": {"modifiers": 4, "users": 1},
    "heavy groups": {"modifiers": 4, "cgroups": 1, "weight": 1},
    "few threads": {"modifiers": 4, "cgroups": 1, "few": True},
    "feasible": {"modifiers": 8},
    "many masks": {"modifiers": 0, "cpus": 12},
    "all": {"modifiers": 1 + 4 + 8 + 16, "cgroups": 1},
    "debtors": {"modifiers": 0},
    "in line": {"modifiers": 0},
}


def create(first, last, mask, nice=0, leader="self", uid="1000", sleeps_ns=0, varies=True):
    burst = ENDLESS if not sleeps_ns else min(300_000, sleeps_ns // 160)
    does = f"burst={burst} sleep={sleeps_ns} varies={int(varies and sleeps_ns > 0)}"
    return (
        f"at {first} create {first}..{last} {does} then=0 leader={leader} nice={nice} uid={uid} mask={mask} kernel=0"
    )


def population(case, tasks, all_cpus):
    """An eighth of the tasks for each of four weights always runs; the other half sleeps."""
    who = {"leader": "0" if case == "threads" else "self", "uid": "own" if case == "users" else "1000"}
    part = tasks // 8
    if case == "few threads":
        return [create(0, 2, all_cpus, **who), create(3, tasks - 1, all_cpus, sleeps_ns=2_000_000_000, **who)]
    kinds = ((0, 1), (5, 3), (10, 5), (-5, 14))
    if case == "heavy threads":
        kinds = ((19, 1),) * 4
    lines = [
        create(i * part, (i + 1) * part - 1, mask if case == "affinity" else all_cpus, nice=nice, **who)
        for i, (nice, mask) in enumerate(kinds)
    ]
    if case == "many masks":  # only masks matter
        return [*lines, create(4 * part, tasks - 1, all_cpus, **who)]
    mask, nice = 6 if case == "affinity" else all_cpus, 19 if case == "heavy threads" else 0
    lines.append(create(4 * part, tasks - 1, mask, nice=nice, sleeps_ns=50_000_000, **who))
    return lines


def many_masks(tasks, all_cpus):
    """Sets of two or three CPUs, 286 of them"""
    masks = [mask for mask in range(all_cpus) if mask.bit_count() in (2, 3)]
    return [f"at 100000000 mask {task} {masks[task * 37 % len(masks)]}" for task in range(tasks)]


def debtors(tasks):
    """All but eight run for a moment and sleep, so that they owe something; the eight, which are light, go on until nobody does."""
    return [
        create(0, tasks - 9, 2**CPUS - 1, sleeps_ns=100_000_000_000, varies=False),
        create(tasks - 8, tasks - 1, 2**CPUS - 1, nice=19),
        "end 4000000000",
    ]


def in_line(tasks):
    """On 16 CPUs all change their CPUs and nice values at the same moment, beside dispatches, and real-time tasks interrupt them."""
    all_cpus, masks = 2**IN_LINE_CPUS - 1, 50
    lines = [create(0, tasks // 2 - 1, all_cpus), create(tasks // 2, tasks - 1, all_cpus, sleeps_ns=50_000_000)]
    for at in (100_000_000, 200_000_000):
        for i in range(masks):
            first, last = i * tasks // masks, (i + 1) * tasks // masks - 1
            lines.append(f"at {at} mask {first}..{last} {3 << i % 15 | 1 << i * 7 % 16}")
        lines.append(f"at {at + 1000} nice 0..{tasks - 1} 5")
        lines.append(f"at {at + 200_000} mask 0..{tasks - 1} {all_cpus}")
        lines += [f"at {at + 300_000} rt {cpu} 500000" for cpu in range(IN_LINE_CPUS)]
    return [*lines, "end 500000000"]


def script(case, tasks):
    if case in OWN:
        cpus, race, lines = OWN[case]
        head = [f"machine cpus={cpus} tick=1000000 race={race} seed=1", HOST.format(modifiers=0, users=0, cgroups=0)]
        return "\n".join([*head, *lines(tasks)]) + "\n"
    options = {"users": 0, "cgroups": 0, "cpus": CPUS, "weight": 100} | CASES[case]
    all_cpus = (1 << options["cpus"]) - 1
    lines = [
        f"machine cpus={options['cpus']} tick=1000000 race=0 seed=1",
        HOST.format(**options),
        "end 1500000000",
    ]
    heavy = 10_000 if case == "heavy groups" else 100
    if options["cgroups"]:
        nested = case == "nested"
        lines.append(f"at 0 mkdir 1{'' if nested else '..3'} {heavy} in=0")
        lines.append(f"at 0 mkdir {2 if nested else 4}..{tasks} {options['weight']} in={'last' if nested else 0}")
    lines += population(case, tasks, all_cpus)
    part = tasks // 8
    if case == "many masks":
        lines += many_masks(tasks, all_cpus)
    if options["cgroups"]:
        step = 1 if case == "heavy groups" else max(1, tasks // 1000)
        lines += [f"at 10000 move {task} {1 + task % (tasks - 1)}" for task in range(0, tasks, step)]
    for i in range(20):
        ms = 1_000_000 * (200 + 25 * i)
        if case == "heavy threads":
            lines.append(f"at {ms} nice {i % 2} {19 if i & 2 else -20}")
        else:
            lines.append(f"at {ms} nice {i} {7 * i % 20}")
        lines.append(f"at {ms + 5_000_000} mask {i + part} {1 + i % 3}")
        lines.append(f"at {ms + 10_000_000} exit {i + 2 * part} 0")
        lines.append(f"at {ms + 15_000_000} mask {i + part} {all_cpus}")
        if options["cgroups"]:
            lines.append(f"at {ms + 20_000_000} weight {1 + i % 3} {heavy + 37 * i if heavy == 100 else heavy - 37 * i}")
            lines.append(f"at {ms + 21_000_000} move {i} {tasks - 2 - i}")
    lines.append(f"at 1200000000 mask {3 * part}..{3 * part + 30} 3")
    return "\n".join(lines) + "\n"


# Cases with a script of their own: CPUs, races (script.h), and its lines
OWN = {"debtors": (CPUS, 0, debtors), "in line": (IN_LINE_CPUS, 2, in_line)}


def longest_hold(policy, case, tasks):
    """Accesses, and the function that took the lock."""
    path = BUILT / f"hold-{policy}-{case.replace(' ', '-')}-{tasks}.script"
    path.write_text(script(case, tasks))
    storm = (BUILT / f"storm-{policy}").resolve()
    said = subprocess.run([storm, "--script", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"at most (\d+) accesses under the lock, in (\w+)", said)
    if not found:
        raise SystemExit(f"holds: FAILED: {storm} --script {path}: {said}")
    return int(found[1]), found[2]


def loadable():
    selections = sorted((ROOT / "policy/select").glob("*.h"))
    return [path.stem for path in selections if "\n#define POLICY_SIMULATOR_ONLY " not in path.read_text()]


def per_task(policy):
    """POLICY_LINEAR, or 0"""
    found = re.search(r"^#define POLICY_LINEAR (\d+)$", (ROOT / f"policy/select/{policy}.h").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def main():
    policies = [policy for policy in sys.argv[1:] if policy != "--all"] or loadable()
    if any(policy.startswith("-") for policy in policies):
        print(__doc__)
        return 2
    failed = 0
    print(f"{'policy':10} {'case':10} {FEW:>7} {MANY:>7}  the lock was taken in")
    for policy in policies:
        linear = per_task(policy)
        first = ["tasks", "affinity", *(["in line"] if linear else [])]
        for case in CASES if policy in THOROUGH or "--all" in sys.argv else first:
            few, many = longest_hold(policy, case, FEW), longest_hold(policy, case, MANY)
            grows = many[0] > linear * MANY + max(STEPS, 2 * few[0])
            failed += grows
            print(f"{policy:10} {case:10} {few[0]:7} {many[0]:7}  {many[1]}{'  GROWS' if grows else ''}", flush=True)
    if failed:
        print(f"holds: FAILED: {failed} holds of the lock grow with the number of tasks")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
