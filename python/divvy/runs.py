"""Simulations, replays and sweeps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _divvy, cluster, times
from .policies import Policies, Specs, asked, specs
from .result import Result
from .sweeps import Sweep
from .workload import Source, source


def simulate(
    workload: Source,
    policies: Policies,
    *,
    seed: int = 1,
    reps: int = 1,
    cpus: int | None = None,
    duration: times.Time | None = None,
    quantum: times.Time | None = None,
    theory: bool = False,
    keep: bool = True,
) -> Result:
    """Simulates a workload under policies, as `divvy sim` does, with the same numbers. A policy may be an object of a divvy.Policy.

    `theory` adds the mean responses of queueing theory. `keep=False` saves memory: the result has no jobs, slices, series and page.
    """
    run = _run(seed, reps, cpus, duration, quantum)
    return Result(_divvy.simulate(source(workload), asked(policies), run, keep, theory))


def replay(
    recording: str | os.PathLike[str],
    policies: Specs,
    *,
    cpus: int | None = None,
    duration: times.Time | None = None,
    quantum: times.Time | None = None,
    wakes: str = "dep",
    tick: times.Time | None = None,
    strict: str | None = None,
    names: str | Iterable[str] = (),
    per_thread: bool = False,
    keep: bool = True,
) -> Result:
    """Replays a recording under policies, as `divvy replay` does; `names` is its `--keep`."""
    reading = {
        "wakes": wakes,
        "tick": times.text(tick),
        "strict": strict,
        "names": [names] if isinstance(names, str) else list(names),
        "per_thread": per_thread,
    }
    return Result(_divvy.replay(recording, specs(policies, "replay"), _run(1, 1, cpus, duration, quantum), reading, keep))


def sweep(
    workload: Source,
    vary: Mapping[str, Any],
    policies: Specs,
    *,
    baseline: str | None = None,
    seed: int = 1,
    reps: int = 10,
    cpus: int | None = None,
    duration: times.Time | None = None,
    quantum: times.Time | None = None,
    warm_up: times.Time | None = None,
    per_task: bool = False,
    max_points: int = 10_000,
    client: Any = None,
) -> Sweep:
    """Simulates a workload at every combination of values, as `divvy sweep` does.

    `vary={"load": [0.5, 0.7], "cpus": "1..4:1"}` has lists, or texts as the command takes them. With a `client` of Dask the workers of its
    cluster run the points, and the rows are the same.
    """
    varying = {
        "vary": [f"{key}={_values(values)}" for key, values in vary.items()],
        "baseline": baseline,
        "warm_up": times.text(warm_up),
        "per_task": per_task,
        "max_points": max_points,
    }
    run = _run(seed, reps, cpus, duration, quantum)
    named = specs(policies, "sweep")
    if client is not None:
        return Sweep(cluster.sweep(_divvy.job(source(workload), named, run, varying), client))
    return Sweep(_divvy.sweep(source(workload), named, run, varying))


def _run(
    seed: int, reps: int, cpus: int | None, duration: times.Time | None, quantum: times.Time | None
) -> dict[str, Any]:
    return {
        "seed": seed,
        "reps": reps,
        "cpus": cpus,
        "duration": times.text(duration),
        "quantum": times.text(quantum),
    }


def _values(values: Any) -> str:
    return values if isinstance(values, str) else ",".join(str(value) for value in values)
