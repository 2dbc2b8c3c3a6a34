"""`fmfair metrics`: what every metric is, how to read it and when it is undefined."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

from fmfair.cli import output
from fmfair.export import strict_json
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import list_metrics, requested

FORMATS = ("table", "json")
# Where nothing says how wide the terminal is, as in a pipe; text is wrapped no narrower than the second.
WIDTH, MIN_WIDTH = 100, 30


def describe_metrics(name: str | None, form: str) -> str:
    """Every metric, or one of them, as text for people or as JSON.

    Raises:
        FmfairError: There is no metric of that name, or the format is not known.
    """
    output.check_format(form, FORMATS)
    metrics = list_metrics() if name is None else requested([name], list_metrics())
    if form == "json":
        return strict_json([_facts(metric) for metric in metrics], indent=2) + "\n"
    if name is not None:
        return _card(metrics[0])
    return _list(metrics, shutil.get_terminal_size((WIDTH, 24)).columns)


def _list(metrics: Sequence[Metric], width: int) -> str:
    """The metrics one below the other; the definition and when it is undefined are wrapped into the last column."""
    facts = [("metric", "range", "better"), *((m.name, _range(m), m.direction) for m in metrics)]
    widths = [max(map(len, column)) for column in zip(*facts, strict=True)]
    margin = sum(widths) + 2 * len(widths)
    texts = [["definition"], *([m.definition, f"undefined: {m.undefined}"] for m in metrics)]
    wrap = textwrap.TextWrapper(max(width - margin, MIN_WIDTH), break_on_hyphens=False, break_long_words=False)
    lines = []
    for fact, text in zip(facts, texts, strict=True):
        wrapped = [line for part in text for line in wrap.wrap(part)]
        start = "  ".join(cell.ljust(w) for cell, w in zip(fact, widths, strict=True)) + "  "
        lines += [start + wrapped[0], *(" " * margin + line for line in wrapped[1:])]
    return "\n".join(lines) + "\n"


def _facts(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "definition": metric.definition,
        "family": metric.family,
        "low": metric.low,
        "high": metric.high,
        "direction": metric.direction,
        "moves_with_prevalence": metric.moves_with_prevalence,
        "denominator": metric.denominator,
        "undefined": metric.undefined,
        "source": metric.source,
        "default": metric.default,
    }


def _card(metric: Metric) -> str:
    """One metric, its facts one below the other."""
    facts = {
        "": metric.title,
        "definition": metric.definition,
        "range": _range(metric),
        "better": metric.direction,
        "undefined": metric.undefined,
        "carried by": metric.denominator,
        "prevalence": "moves with it" if metric.moves_with_prevalence else "does not move with it",
        "source": metric.source,
        "computed": "by default" if metric.default else f"with --metrics {metric.name!r} or --metrics all",
    }
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    lines = [metric.name]
    for fact, value in facts.items():
        start = f"  {fact:<10}  "
        wrapped = textwrap.wrap(value, max(width - len(start), MIN_WIDTH), break_on_hyphens=False)
        lines += [start + wrapped[0], *(" " * len(start) + line for line in wrapped[1:])]
    return "\n".join(lines) + "\n"


def _range(metric: Metric) -> str:
    low = "(-inf" if metric.low is None else f"[{metric.low:g}"
    high = "inf)" if metric.high is None else f"{metric.high:g}]"
    return f"{low}, {high}"
