"""Policies that there are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Union

from . import _divvy

#: Specs as the command takes them: "rr,gr3:quantum=2ms", or a list.
Policies = Union[str, Iterable[str]]


def policies() -> list[dict[str, Any]]:
    """All policies and modifiers: name, kind, title, parameters, paper, guarantees.

    >>> [one["name"] for one in policies() if one["name"].startswith("pbs")]
    ['pbs', 'pbs_o1']
    """
    return json.loads(_divvy.descriptions())


def policy(name: str) -> dict[str, Any]:
    """One of them. `./mine.h` is a file of one's own: it is compiled, and checked for the contract.

    >>> policy("rr")["kind"]
    'selection'
    """
    return json.loads(_divvy.description(name))


def specs(policies: Policies) -> list[str]:
    """As a list."""
    return [policies] if isinstance(policies, str) else list(policies)
