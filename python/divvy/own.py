"""Policies that are written in Python, for classes."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from ._divvy import UsageError

#: The functions of the contract that a policy has to have, and those that it may have.
_REQUIRED = ("join", "leave", "pick", "stop")
#: Those that only a policy in C has.
_ONLY_IN_C = ("peek", "take", "key", "detach", "attach", "before_peek", "discard")

_has_said = False


class Why(enum.Enum):
    """Why a task joins, leaves or stops: `enum why` of the contract."""

    NEW = 0
    WOKEN = 1
    BLOCKED = 2
    EXITED = 3
    EXPIRED = 4
    PREEMPTED = 5
    YIELDED = 6


class Policy:
    """A policy that is written in Python: a class with the functions of the contract (`divvy help contract`) as methods.

    It is for learning: slow, and for `divvy.simulate` only. No kernel can load it; the same methods as functions in C can be loaded.

    A class has to have

        join(self, id, now, why)    the task became runnable: Why.NEW or Why.WOKEN
        leave(self, id, now, why)   it no longer is: Why.BLOCKED or Why.EXITED
        pick(self, cpu, now)        -> the id of the task that runs next, 0 if none waits
        stop(self, id, now, why)    its slice is over and it is still runnable: Why.EXPIRED, Why.PREEMPTED or Why.YIELDED

    and may have `init(self)`, `charge(self, id, ran, now)`, `reweigh(self, id, w, now)`, `slice(self, id)`,
    `preempts(self, woken, running, now)`, `fork(self, id, parent, now)`, `overdrawn(self, id)`, `session(self, id, now)` and
    `bring(self, id, work)`. Times are whole numbers of ns. Each repetition has a copy of the object.

    >>> class Fifo(Policy):
    ...     def init(self):
    ...         self.waiting = []
    ...     def join(self, id, now, why):
    ...         self.waiting.append(id)
    ...     def leave(self, id, now, why):
    ...         if not self.is_picked(id):
    ...             self.waiting.remove(id)
    ...     def pick(self, cpu, now):
    ...         return self.waiting.pop(0) if self.waiting else 0
    ...     def stop(self, id, now, why):
    ...         self.waiting.insert(0, id)
    ...     def slice(self, id):
    ...         return math.inf
    >>> import math, divvy
    >>> divvy.simulate("queue.toml", [Fifo(), "fcfs"], duration="1s")
    <divvy.Result: queue.toml under Fifo, fcfs>
    """

    #: The weight of nice 0. Weights are whole numbers.
    WEIGHT_NICE_0 = 1 << 20

    _tasks: Any = None

    def init(self) -> None:
        """There are no tasks yet, and the facts below can be asked."""

    def _facts(self) -> Any:
        if self._tasks is None:
            raise UsageError("a policy may ask this only while divvy calls one of its methods")
        return self._tasks

    @property
    def ncpus(self) -> int:
        """Number of CPUs."""
        return self._facts().ncpus

    @property
    def nrunnable(self) -> int:
        """Number of runnable tasks, those that run included."""
        return self._facts().nrunnable

    @property
    def quantum(self) -> int:
        """A slice when the policy has none of its own, in ns."""
        return self._facts().quantum

    def weight_of(self, id: int) -> int:
        """A task's effective weight; WEIGHT_NICE_0 is that of nice 0."""
        return self._facts().weight_of(id)

    def process_of_task(self, id: int) -> int:
        """The process that it belongs to, by the id of one of its tasks."""
        return self._facts().process_of_task(id)

    def cpu_of(self, id: int) -> int | None:
        """Where it runs or ran last; None if it never ran."""
        return self._facts().cpu_of(id)

    def turn_of(self, id: int) -> int:
        """Service that it received, and was charged for, in the slice that it has or had last, in ns."""
        return self._facts().turn_of(id)

    def debit_of(self, id: int) -> int:
        """Service that a new task owes when it joins, because another one made it, in ns; else 0."""
        return self._facts().debit_of(id)

    def uncharged(self, id: int, now: int) -> int:
        """Service that it received in its slice until now and was not charged for yet, in ns."""
        return self._facts().uncharged(id, now)

    def is_runnable(self, id: int) -> bool:
        """Whether it joined, and did not leave."""
        return self._facts().is_runnable(id)

    def is_picked(self, id: int) -> bool:
        """Whether it has its slice."""
        return self._facts().is_picked(id)


def named(policy: Policy) -> tuple[str, Policy]:
    """The name of its class, with the object. It has what the contract asks for."""
    name = type(policy).__name__
    if missing := [method for method in _REQUIRED if not callable(getattr(policy, method, None))]:
        raise UsageError(f"class {name}: the contract asks for the method {missing[0]}; see help(divvy.Policy)")
    if present := [method for method in _ONLY_IN_C if hasattr(policy, method)]:
        raise UsageError(f"class {name}: only a policy in C has {present[0]}; call the method otherwise, or write the policy in C")
    return name, policy


def say_slow(name: str) -> None:
    """Says once in a process that such a policy is slow, and where it does not go."""
    global _has_said
    if not _has_said:
        _has_said = True
        what = "is written in Python: 100 to 600 times slower than in C, and no kernel can load it"
        warnings.warn(f"policy {name} {what}", stacklevel=4)
