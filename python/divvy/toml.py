"""Writes a dict as TOML: what a workload file has."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Mapping

from . import times
from ._divvy import UsageError


def write(tables: Mapping[str, object]) -> str:
    """The text. Each table of a list has a line for each key, so that an error points to one.

    >>> print(write({"cpus": 2, "task": [{"name": "a", "program": [{"run": "1ms"}]}]}))
    cpus = 2
    <BLANKLINE>
    [[task]]
    name = "a"
    program = [{ run = "1ms" }]
    <BLANKLINE>
    """
    lines = [_line(key, value) for key, value in tables.items() if not _is_tables(value)]
    for key, value in tables.items():
        if _is_tables(value):
            for table in value:
                lines += ["", f"[[{_text(key)}]]", *(_line(name, one) for name, one in table.items())]
    return "\n".join(lines) + "\n"


def _is_tables(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _line(key: str, value: object) -> str:
    return f"{_text(key)} = {_value(value)}"


def _text(key: str) -> str:
    plain = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if plain else _quoted(key)


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, datetime.timedelta):
        return _quoted(times.text(value) or "")
    if isinstance(value, (str, os.PathLike)):
        return _quoted(os.fspath(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_line(key, one) for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    if hasattr(value, "item"):
        # A number of numpy.
        return _value(value.item())
    raise UsageError(f"{value!r}: a workload has texts, numbers, lists and dicts")
