"""The C that policies are made of, as it is in this package."""

from __future__ import annotations

import re

from . import _divvy
from ._divvy import UsageError


def source(name: str, function: str | None = None) -> str:
    """The C of a policy or modifier: its header, or one function of it with the comment above.

    >>> print(source("rr", "rr_stop"))
    /* A task goes to the end of the run queue, whatever ended its slice (rr R2). */
    static inline void rr_stop(struct rr *s, u32 id, u64 now, enum why why)
    {
    	ring_push_back(&s->waiting, &s->first, id);
    }
    """
    headers = dict(_divvy.headers())
    path = next((path for path in headers if re.fullmatch(rf"policy/(select|weight|slice)/{re.escape(name)}\.h", path)), None)
    if path is None:
        raise UsageError(f"there is no header of a policy {name!r}: divvy.policies() lists them")
    if function is None:
        return headers[path]
    # Its own header comes first, then those of its folder, then what all policies share.
    folder = path.removesuffix(".h") + "/"
    for one in sorted(headers, key=lambda one: (one != path, not one.startswith(folder))):
        if found := _function(headers[one], function):
            return found
    raise UsageError(f"{name} has no function {function!r}: divvy.source({name!r}) shows its header")


def _function(text: str, name: str) -> str | None:
    """The comment above a function, its head, and all lines to the brace that ends it."""
    head = rf"^(?:/\*(?:(?!\*/).)*\*/\n)?[a-zA-Z][^\n;{{}}]*\b{re.escape(name)}\([^;{{}}]*\)\n\{{\n.*?^\}}$"
    found = re.search(head, text, re.MULTILINE | re.DOTALL)
    return found and found[0]
