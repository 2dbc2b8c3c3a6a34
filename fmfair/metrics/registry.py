"""The registry: every metric by name, and the metrics that a user asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from fmfair.errors import FmfairError, Problems, listing
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
    """Every metric, in the order of the result tables.

    Returns:
        One entry per metric: its name, definition, range, direction, denominator, whether it moves with prevalence,
        when it is undefined, and its source.

    Examples:
        >>> [m.name for m in list_metrics()][:3]
        ['auc', 'average_precision', 'adjusted_auprc']
    """
    return tuple(REGISTRY.values())


def requested(metrics: str | Iterable[str] | None, among: tuple[Metric, ...] = CLASSIFICATION) -> tuple[Metric, ...]:
    """The metrics behind `metrics=`, each once, in the order asked for.

    Args:
        metrics: None for the defaults, `"all"`, or names, some with parameters such as `tpr_at_fpr(0.1)`.
        among: The metrics that can be computed.

    Raises:
        FmfairError: No metric is named, or names are not known or their parameters cannot be used; all are reported.

    Examples:
        >>> [m.name for m in requested(["auc", "partial_auc(fpr=(0, 0.2))"])]
        ['auc', 'partial_auc(fpr=(0, 0.2))']
    """
    if metrics is None:
        return tuple(m for m in among if m.default)
    if isinstance(metrics, str) and metrics == "all":
        return among
    wanted = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Iterable) else list(metrics)
    if not wanted:
        raise FmfairError("metrics=[] names no metric; leave it out for the default metrics")
    found: dict[str, Metric] = {}
    problems = Problems()
    for text in wanted:
        with problems.collecting():
            metric = _one(text, among)
            found[metric.name] = metric
    problems.raise_if_any()
    return tuple(found.values())


def _one(text: object, among: tuple[Metric, ...]) -> Metric:
    by_name = {m.name: m for m in among}
    if not isinstance(text, str):
        raise FmfairError(f"metrics: {text!r} is not the name of a metric, which is text such as 'auc'")
    text = text.strip()
    if text in by_name:
        return by_name[text]
    name, _, _ = text.partition("(")
    name = name.strip()
    if name not in by_name:
        raise FmfairError(
            f"no metric {text!r}{_hint(name, among)}; fmfair metrics (or fmfair.metrics.list_metrics()) describes "
            f"them: {', '.join(by_name)}"
        )
    if name not in _FACTORIES:
        raise FmfairError(f"metric {text!r}: {name} takes no parameters; {listing(_FACTORIES)} do")
    return _with_parameters(text, _FACTORIES[name])


def _hint(name: str, among: tuple[Metric, ...]) -> str:
    """What may have been meant; some metrics go by several names, such as recall or log_loss.

    Examples:
        >>> _hint("sensitivty", CLASSIFICATION), _hint("LogLoss", CLASSIFICATION), _hint("loss", CLASSIFICATION)
        ("; did you mean 'tpr'?", "; did you mean 'bce'?", "; did you mean 'bce'?")
    """
    said = _plain(name)
    spoken = {_plain(part): m.name for m in reversed(among) for part in (*re.split(r"[(),]", m.title), m.name)}
    part = [m.name for m in among if said and re.search(rf"\b{re.escape(said)}\b", m.title.lower())]
    close = [spoken.get(said), *part, *(spoken[c] for c in get_close_matches(said, spoken, n=1))]
    return next((f"; did you mean {found!r}?" for found in close if said and found), "")


def _plain(name: str) -> str:
    """A name as it is spoken: `Log_Loss` is `log loss`, `F1_score` is `f1`."""
    return name.lower().replace("_", " ").strip().removesuffix(" score")


def _with_parameters(text: str, factory: Callable[..., Metric]) -> Metric:
    """The metric of a text such as `ece(bins=15)`, whose arguments are read as literals and never evaluated."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            raise SyntaxError
        positional = [ast.literal_eval(a) for a in call.args]
        named = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        return factory(*positional, **named)
    except FmfairError:
        raise
    except (SyntaxError, TypeError, ValueError, MemoryError, RecursionError):
        raise FmfairError(
            f"cannot read the metric {text!r}; write for example partial_auc(fpr=(0, 0.2)), tpr_at_fpr(0.1) or "
            "ece(bins=15, norm='rms', strategy='quantile')"
        ) from None
