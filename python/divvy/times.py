"""Times, as people and programs write them."""

from __future__ import annotations

import datetime
import math
from typing import Optional, Union

from ._divvy import UsageError

#: A text with a unit, as in "30s"; a number of seconds; or a timedelta.
Time = Union[str, int, float, datetime.timedelta]


def text(time: Optional[Time]) -> Optional[str]:
    """The time as a text with a unit, exact to the nanosecond.

    >>> text(1.5), text(datetime.timedelta(milliseconds=2)), text("30s")
    ('1500000000ns', '2000000ns', '30s')
    """
    if time is None or isinstance(time, str):
        return time
    if isinstance(time, datetime.timedelta):
        ns = (time.days * 86_400 + time.seconds) * 1_000_000_000 + time.microseconds * 1_000
    elif isinstance(time, int):
        ns = time * 1_000_000_000
    elif math.isfinite(time):
        ns = round(time * 1e9)
    else:
        raise UsageError(f"{time!r} is no time: give a text as \"30s\", seconds, or a timedelta")
    if ns < 0:
        raise UsageError(f"{time!r} is a time below 0")
    return f"{ns}ns"
