"""The result of a sweep."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from . import _divvy
from .table import Table


class Sweep:
    """The points of a sweep, each with means over repetitions and their 95 % intervals."""

    def __init__(self, native: _divvy.Sweep) -> None:
        self._native = native

    @property
    def csv(self) -> str:
        """What `divvy sweep -o x.csv` writes."""
        return self._native.csv

    @cached_property
    def report(self) -> dict[str, Any]:
        """What `divvy sweep --format json` prints."""
        return json.loads(self._native.json())

    @cached_property
    def rows(self) -> Table:
        """A row a point and policy."""
        return Table(self._native.rows())

    def __repr__(self) -> str:
        return f"<divvy.Sweep: {len(self.rows)} rows over {', '.join(self.report['varied'])}>"
