"""Policies that there are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Union

from . import _divvy
from ._divvy import UsageError
from .own import Policy, named, say_slow

#: Specs as the command takes them: "rr,gr3:quantum=2ms", or a list.
Specs = Union[str, Iterable[str]]
#: The same, with policies in Python among them.
Policies = Union[str, Policy, Iterable[Union[str, Policy]]]


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


def asked(policies: Policies) -> list[str | tuple[str, Policy]]:
    """As a list; policies in Python with their names."""
    every = [policies] if isinstance(policies, (str, Policy)) else list(policies)
    own = [one for one in every if isinstance(one, Policy)]
    names = [type(one).__name__ for one in own]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two policies are objects of the class {twice[0]}, whose name is theirs in results: make a subclass for one")
    if classes := [one for one in every if isinstance(one, type)]:
        raise UsageError(f"{classes[0].__name__} is a class: give an object, {classes[0].__name__}()")
    if own:
        say_slow(names[0])
    return [named(one) if isinstance(one, Policy) else one for one in every]


def specs(policies: Specs, call: str) -> list[str]:
    """As a list, for a call that has policies in C only."""
    every = [policies] if isinstance(policies, (str, Policy)) else list(policies)
    if own := [one for one in every if isinstance(one, Policy)]:
        name = type(own[0]).__name__
        raise UsageError(f"divvy.{call} is too much work for a policy in Python: simulate {name} with divvy.simulate, or write it in C")
    return every
