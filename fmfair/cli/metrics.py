"""`fmfair metrics`: what every metric is, how to read it and when it is undefined."""

from __future__ import annotations

from typing import Any

from fmfair.cli import output
from fmfair.export import strict_json
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import list_metrics, requested

FORMATS = ("table", "json")


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
    header = ("metric", "range", "better", "undefined when", "definition")
    rows = [(m.name, _range(m), m.direction, m.undefined, m.definition) for m in metrics]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header) - 1)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]) for row in [header, *rows]]
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
    """One metric, a line per fact."""
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
    return metric.name + "\n" + "\n".join(f"  {fact:<10}  {value}" for fact, value in facts.items()) + "\n"


def _range(metric: Metric) -> str:
    low = "(-inf" if metric.low is None else f"[{metric.low:g}"
    high = "inf)" if metric.high is None else f"{metric.high:g}]"
    return f"{low}, {high}"
