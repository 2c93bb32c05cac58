"""Figures by matplotlib, with the colours and dashes of divvy's own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _divvy, times
from ._divvy import UsageError

if TYPE_CHECKING:
    from .result import Result

_LABELS = {"share": "share of CPU time (%)", "error": "service error (ms)"}


def draw(
    result: Result, kind: str = "share", *, policies: Iterable[str] | None = None, until: times.Time = "200ms", figsize: Any = None
) -> Any:
    """Draws a result, and returns matplotlib's figure.

    `share` and `error` are over time, a panel a policy; `timeline` shows who ran on which CPU up to `until`; `response` and `wait`
    show the part of the jobs that took at least a time, a line a policy.
    """
    chosen = result.policies if policies is None else list(policies)
    if unknown := [name for name in chosen if name not in result.policies]:
        raise UsageError(f"{unknown[0]}: the result has {', '.join(result.policies)}")
    kinds = {"share": _over_time, "error": _over_time, "timeline": _timeline, "response": _tails, "wait": _tails}
    if kind not in kinds:
        raise UsageError(f"there is no plot {kind!r}: it is one of {', '.join(kinds)}")
    pyplot = _pyplot()
    panels = 1 if kind in ("response", "wait") else len(chosen)
    figure, axes = pyplot.subplots(panels, squeeze=False, sharex=True, figsize=figsize or (8, 1 + 2.6 * panels), layout="constrained")
    for axis in axes.flat:
        _style(axis)
    kinds[kind](result, kind, list(axes.flat), chosen, times.text(until))
    pyplot.close(figure)
    return figure


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise UsageError("plots need the package matplotlib, which is not installed: pip install matplotlib") from error
    return pyplot


def _style(axis: Any) -> None:
    _, plain = _divvy.palette()
    colour = dict(plain)
    axis.grid(True, color=colour["grid"], linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(colors=colour["faint"])
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _look(n: int) -> dict[str, Any]:
    """The colour and dashes of the n-th line."""
    lines, _ = _divvy.palette()
    colour, dashes = lines[n % len(lines)]
    # The ninth has the first one's colour, and another dash.
    dashes = lines[(n + 3 * (n // len(lines))) % len(lines)][1]
    style = "-" if dashes == "none" else (0, tuple(float(length) / 1.6 for length in dashes.split()))
    return {"color": colour, "linestyle": style}


def _over_time(result: Result, kind: str, axes: list[Any], policies: list[str], _: Any) -> None:
    column, scale = {"share": ("share", 100.0), "error": ("error_ns", 1e-6)}[kind]
    found: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for row in result.series:
        times_s, values = found.setdefault(row["policy"], {}).setdefault(row["task"], ([], []))
        times_s.append(row["time_ns"] / 1e9)
        values.append(row[column] * scale)
    for axis, policy in zip(axes, policies):
        for n, (task, (times_s, values)) in enumerate(found.get(policy, {}).items()):
            axis.plot(times_s, values, label=task, linewidth=1.6, **_look(n))
        axis.set_title(policy, loc="left")
        axis.set_ylabel(_LABELS[kind])
        _legend(axis)
    axes[-1].set_xlabel("time (s)")


def _timeline(result: Result, _: str, axes: list[Any], policies: list[str], until: str | None) -> None:
    until_ns = _divvy.nanoseconds(until)
    bars: dict[str, dict[str, dict[int, list[tuple[float, float]]]]] = {}
    first: dict[str, int] = {}
    for row in result.slices:
        start = first.setdefault(row["policy"], row["from_ns"])
        from_ns, to_ns = row["from_ns"] - start, min(row["to_ns"] - start, until_ns)
        if from_ns < until_ns:
            lanes = bars.setdefault(row["policy"], {}).setdefault(row["task"], {})
            lanes.setdefault(row["cpu"], []).append((from_ns / 1e6, (to_ns - from_ns) / 1e6))
    for axis, policy in zip(axes, policies):
        for n, (task, lanes) in enumerate(bars.get(policy, {}).items()):
            for i, (cpu, spans) in enumerate(sorted(lanes.items())):
                axis.broken_barh(spans, (cpu - 0.4, 0.8), color=_look(n)["color"], label=task if i == 0 else None)
        axis.set_title(policy, loc="left")
        axis.set_yticks(range(result.report["cpus"]), [f"CPU {cpu}" for cpu in range(result.report["cpus"])])
        axis.invert_yaxis()
        _legend(axis)
    axes[-1].set_xlabel("time (ms)")


def _tails(result: Result, kind: str, axes: list[Any], policies: list[str], _: Any) -> None:
    found: dict[str, tuple[list[float], list[float]]] = {}
    for row in result.tails:
        if row["measure"] == kind:
            values, shares = found.setdefault(row["policy"], ([], []))
            values.append(row["at_least_ns"] / 1e6)
            shares.append(100.0 * row["share"])
    axis = axes[0]
    for n, policy in enumerate(policies):
        values, shares = found.get(policy, ([], []))
        axis.step(values, shares, where="pre", label=policy, linewidth=1.6, **_look(n))
    if not any(found.values()):
        raise UsageError(f"there is no {kind} to draw: no job ended")
    axis.set_yscale("log")
    if all(value > 0 for values, _ in found.values() for value in values):
        axis.set_xscale("log")
    axis.set_xlabel(f"{kind} time (ms)")
    axis.set_ylabel("jobs that took at least that (%)")
    _legend(axis)


def _legend(axis: Any) -> None:
    most = 12
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        columns = math.ceil(min(len(handles), most) / 6)
        axis.legend(handles[:most], labels[:most], loc="upper left", bbox_to_anchor=(1, 1), frameon=False, ncols=columns)
