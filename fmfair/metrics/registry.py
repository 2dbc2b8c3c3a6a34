"""The registry: every metric by name, and the metrics that a user asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from fmfair.errors import FmfairError, near
from fmfair.metrics.calibration import CALIBRATION, FITTED, ece_metric
from fmfair.metrics.metric import Metric
from fmfair.metrics.ranking import RANKING, partial_auc_metric, tpr_at_fpr_metric
from fmfair.metrics.rates import COUNTS, RATES
from fmfair.metrics.segmentation import SEGMENTATION

CLASSIFICATION: tuple[Metric, ...] = (*RANKING, *RATES, *COUNTS, *CALIBRATION, *FITTED)

REGISTRY: Mapping[str, Metric] = MappingProxyType({m.name: m for m in (*CLASSIFICATION, *SEGMENTATION)})

# Metrics that take parameters: `partial_auc(fpr=(0, 0.2))`, `tpr_at_fpr(0.1)`, `ece(bins=15, norm="rms")`.
_FACTORIES: Mapping[str, Callable[..., Metric]] = MappingProxyType(
    {"partial_auc": partial_auc_metric, "tpr_at_fpr": tpr_at_fpr_metric, "ece": ece_metric}
)


def list_metrics() -> tuple[Metric, ...]:
    """Every metric with its definition, range, direction, denominator and source, in the order of the result tables.

    Examples:
        >>> [m.name for m in list_metrics()][:3]
        ['auc', 'average_precision', 'adjusted_auprc']
    """
    return tuple(REGISTRY.values())


def requested(metrics: str | Iterable[str] | None, among: tuple[Metric, ...] = CLASSIFICATION) -> tuple[Metric, ...]:
    """The metrics behind `metrics=`: None for the defaults, `"all"`, or names, some with parameters."""
    if metrics is None:
        return tuple(m for m in among if m.default)
    if metrics == "all":
        return among
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    found = {m.name: m for m in (_one(text, among) for text in wanted)}
    if not found:
        raise FmfairError("metrics=[] names no metric; leave it out for the default metrics")
    return tuple(found.values())


def _one(text: str, among: tuple[Metric, ...]) -> Metric:
    by_name = {m.name: m for m in among}
    if text in by_name:
        return by_name[text]
    name = text.split("(", 1)[0].strip() if isinstance(text, str) else ""
    if "(" not in str(text) or name not in _FACTORIES or name not in by_name:
        raise FmfairError(
            f"no metric {text!r}{near(str(text), by_name)}; fmfair metrics (or fmfair.metrics.list_metrics()) "
            f"lists them: {', '.join(by_name)}"
        )
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call):
            raise SyntaxError
        positional = [ast.literal_eval(a) for a in call.args]
        named = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        return _FACTORIES[name](*positional, **named)
    except (SyntaxError, TypeError, ValueError) as error:
        if isinstance(error, FmfairError):
            raise
        raise FmfairError(
            f"cannot read the metric {text!r}; write for example 'partial_auc(fpr=(0, 0.2))', 'tpr_at_fpr(0.1)' "
            "or 'ece(bins=15, norm=\"rms\", strategy=\"quantile\")'"
        ) from None
