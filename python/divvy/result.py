"""The result of a simulation or a replay."""

from __future__ import annotations

import html
import json
import os
from functools import cached_property
from typing import Any

from . import _divvy
from .table import Table


class Result:
    """Numbers of one or more policies. Tables are made when they are first asked for."""

    def __init__(self, native: _divvy.Report) -> None:
        self._native = native

    @cached_property
    def report(self) -> dict[str, Any]:
        """All numbers: what `--format json` prints, without the command line."""
        return json.loads(self._native.json())

    @cached_property
    def tasks(self) -> Table:
        """A row a policy, repetition and task, with the columns of `--format csv`."""
        return Table(self._native.tasks())

    @cached_property
    def jobs(self) -> Table:
        """The jobs of each policy's first repetition, with the columns of `--jobs-csv`."""
        return Table(self._native.jobs())

    @cached_property
    def slices(self) -> Table:
        """Which task ran on which CPU, from when to when, in each policy's first repetition."""
        return Table(self._native.slices())

    @cached_property
    def series(self) -> Table:
        """Shares and service errors over time, in each policy's first repetition."""
        return Table(self._native.series())

    @cached_property
    def tails(self) -> Table:
        """The part of the jobs whose response or wait was at least a time, in each policy's first repetition."""
        return Table(self._native.tails())

    @property
    def policies(self) -> list[str]:
        """The policies, each once."""
        return list(dict.fromkeys(run["policy"] for run in self.report["runs"]))

    def plot(self, kind: str = "share", **options: Any) -> Any:
        """Draws `share`, `error`, `timeline`, `response` or `wait` with matplotlib; see divvy.plots.draw."""
        from . import plots

        return plots.draw(self, kind, **options)

    def to_html(self) -> str:
        """The page that `divvy sim -o x.html` writes: one file that loads nothing."""
        return self._native.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_html())

    def __repr__(self) -> str:
        return f"<divvy.Result: {self.report['workload']} under {', '.join(self.policies)}>"

    def _repr_html_(self) -> str | None:
        """The page, in a notebook's cell."""
        try:
            page = html.escape(self.to_html(), quote=True)
        except _divvy.UsageError:
            return None
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0" sandbox="allow-scripts"></iframe>'
