"""Workloads: files, texts, dicts, or built step by step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Union

from . import times, toml
from ._divvy import UsageError

#: A path, TOML of several lines, a dict as TOML has it, or a Workload.
Source = Union[str, "os.PathLike[str]", Mapping[str, object], "Workload"]

#: The name of a workload that is not in a file.
NAME = "workload"


class Workload:
    """A workload that is built in Python; `to_toml()` is the file that it would be.

    >>> two = Workload(cpus=1, duration="1s").task("a", weight=2, run="forever").task("b", run="forever")
    >>> two.to_toml().splitlines()[:5]
    ['cpus = 1', 'duration = "1s"', '', '[[task]]', 'name = "a"']
    """

    def __init__(self, *, duration: times.Time | None = None, quantum: times.Time | None = None, **keys: object) -> None:
        given = {"duration": times.text(duration), "quantum": times.text(quantum)}
        self._tables: dict[str, object] = {**keys, **{key: one for key, one in given.items() if one is not None}}

    def task(self, name: str, program: object = None, *, run: times.Time | None = None, **keys: object) -> Workload:
        """Adds a task. `run` stands for a program of one step; all other keys are those of a workload file."""
        if (program is None) == (run is None):
            raise UsageError(f"task {name}: give a program or run, as in run=\"forever\"")
        steps = program if run is None else [{"run": times.text(run)}]
        return self.add("task", name=name, **keys, program=steps)

    def group(self, name: str, **keys: object) -> Workload:
        """Adds a group."""
        return self.add("group", name=name, **keys)

    def add(self, table: str, **keys: object) -> Workload:
        """Adds a table of any kind."""
        self._tables.setdefault(table, []).append(keys)  # type: ignore[attr-defined]
        return self

    def to_dict(self) -> dict[str, object]:
        """As a dict."""
        return dict(self._tables)

    def to_toml(self) -> str:
        """As the text of a workload file."""
        return toml.write(self._tables)


def source(workload: Source) -> str | os.PathLike[str] | tuple[str, str]:
    """A path, or a name and a text."""
    if isinstance(workload, Workload):
        return NAME, workload.to_toml()
    if isinstance(workload, Mapping):
        return NAME, toml.write(workload)
    if isinstance(workload, str) and "\n" in workload:
        return NAME, workload
    if isinstance(workload, (str, os.PathLike)):
        return workload
    raise UsageError(f"{type(workload).__name__} is no workload: give a path, TOML, a dict or a divvy.Workload")
