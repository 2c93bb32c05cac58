"""Figures and claims of the papers."""

from __future__ import annotations

import json
from typing import Any

from . import _divvy
from .table import Table


class Paper:
    """A figure that was reproduced: its claims with their verdicts, and the points of its drawings."""

    def __init__(self, report: dict[str, Any], claims: Table, points: Table) -> None:
        #: What `divvy paper ID --format json` prints.
        self.report = report
        self.claims = claims
        self.points = points

    def __repr__(self) -> str:
        verdicts = [claim["verdict"] for claim in self.report["claims"]]
        return f"<divvy.Paper {self.report['id']}: {verdicts.count('ok')} of {len(verdicts)} claims ok>"


def papers() -> dict[str, str]:
    """The figures that can be reproduced: titles by IDs.

    >>> papers()["gr3-2"]
    'six clients in two groups, 24 quanta'
    """
    return {id: title for id, title, _ in _divvy.figures()}


def paper(id: str, *, small: bool = False, seed: int = 1) -> Paper:
    """Reproduces a figure, as `divvy paper ID` does. Ctrl-C is heard when it has ended.

    >>> paper("gr3-2")
    <divvy.Paper gr3-2: 2 of 2 claims ok>
    """
    report, claims, points = _divvy.claims(id, small, seed)
    return Paper(json.loads(report), Table(claims), Table(points))
