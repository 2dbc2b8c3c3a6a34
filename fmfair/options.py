"""The options of an evaluation, checked together before any data is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

from fmfair.conventions import STANDARD, Conventions, conventions_named
from fmfair.errors import FmfairError, Problems, check_choice, near
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import CLASSIFICATION, requested

Bins = Mapping[str, int | Sequence[float]]
Threshold = float | str | Mapping[Any, float]
Intersections = int | Literal["all"] | Sequence[Sequence[str]]

# The rule for a sensitivity or a specificity, such as `tpr=0.9`.
AT_LEAST = re.compile(r"(tpr|tnr)\s*=\s*(\S+)")

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "score_type": ("auto", "probability", "logit", "rank"),
    "missing_scores": ("raise", "drop"),
    "missing_labels": ("drop", "raise"),
    "missing_groups": ("drop", "keep"),
    "engine": ("auto", "polars", "duckdb"),
    "auc_interval": ("logit", "wald"),
}


# The reference that stands for all rows with the attribute.
OVERALL = "overall"

# Replicates by method, where no number is given: BCa reads further out in the tails.
REPLICATES: Mapping[str, int] = {"percentile": 2_000, "bca": 10_000}


@dataclass(frozen=True)
class Bootstrap:
    """Intervals from resampled patients, or rows where there are no patients.

    Attributes:
        replicates: How many; 2,000 for `percentile` and 10,000 for `bca` where left out.
        method: `"percentile"`, or `"bca"` (bias-corrected and accelerated, Efron 1987).
        seed: A whole number from 0 on; the same seed gives the same numbers.

    Examples:
        >>> import polars as pl
        >>> import fmfair
        >>> df = pl.DataFrame({"y_true": [0, 1] * 20, "y_score": [0.2, 0.6, 0.7, 0.9] * 10, "sex": ["F", "M"] * 20})
        >>> report = fmfair.evaluate(df, metrics="brier", bootstrap=fmfair.Bootstrap(200, seed=1))
        >>> report.overall.select("metric", "ci_method").rows()
        [('brier', 'row bootstrap, percentile, 200 replicates')]
    """

    replicates: int | None = None
    method: str = "percentile"
    seed: int = 0

    @property
    def count(self) -> int:
        """How many replicates are drawn."""
        return self.replicates if self.replicates is not None else REPLICATES[self.method]


@dataclass(frozen=True)
class Options:
    """What the user asked for, apart from the columns."""

    bins: Bins = field(default_factory=dict)
    intersections: Intersections = 1
    thresholds: tuple[Threshold, ...] = ()
    metrics: tuple[Metric, ...] = ()
    positive: Any = None
    ignore: tuple[Any, ...] = ()
    classes: tuple[Any, ...] | None = None
    min_group_size: int = 0
    suppress_below: int | None = None
    score_type: str = "auto"
    missing_scores: str = "raise"
    missing_labels: str = "drop"
    missing_groups: str = "drop"
    missing_values: tuple[str, ...] = ()
    conventions: Conventions = STANDARD
    engine: str = "auto"
    ci: float | None = None
    auc_interval: str = "logit"
    bootstrap: Bootstrap | None = None
    model_based: bool = False
    reference: Mapping[str, str] = field(default_factory=dict)
    margins: Mapping[str, float] = field(default_factory=dict)


def check_options(
    *,
    metrics: str | Iterable[str] | None = None,
    thresholds: Threshold | Iterable[Threshold] | None = None,
    conventions: str = "standard",
    among: tuple[Metric, ...] = CLASSIFICATION,
    **others: Any,
) -> Options:
    """Options from the arguments of a public function; every problem is reported at once.

    Raises:
        FmfairError: An option has a value that is not known or does not make sense.
    """
    problems = Problems()
    found: dict[str, Any] = {}
    for name, choices in _CHOICES.items():
        with problems.collecting():
            check_choice(name, others.get(name, choices[0]), choices)
    with problems.collecting():
        found["metrics"] = requested(metrics, among)
    with problems.collecting():
        found["conventions"] = conventions_named(conventions)
    found["thresholds"] = _as_thresholds(thresholds)
    if thresholds is not None and not found["thresholds"]:
        problems.add("thresholds=[] names no threshold; leave it out for the default")
    _check_thresholds(found["thresholds"], found.get("conventions", STANDARD), problems)
    others = {name: _unwrapped(value) for name, value in others.items()}
    size = others.get("min_group_size", 0)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        problems.add(f"min_group_size={size!r} is not a whole number of rows, 0 or more")
    with problems.collecting():
        found["suppress_below"] = check_least(others.pop("suppress_below", None))
    found["ci"] = _checked_ci(others.pop("ci", None), problems)
    found["reference"] = _checked_reference(others.pop("reference", None), problems)
    found["margins"] = _checked_margins(others.pop("margins", None), found.get("metrics", ()), problems)
    if others.get("model_based") and found["ci"] is None:
        problems.add("model_based=True needs what intervals are made of, which ci=None leaves out; give ci=0.95")
    if found["ci"] is None and (found["reference"] or found["margins"]):
        problems.add("reference= and margins= compare intervals, which ci=None leaves out; give ci=0.95")
    if found["ci"] is None and others.get("auc_interval", "logit") != "logit":
        problems.add("auc_interval= is the form of intervals, which ci=None leaves out; give ci=0.95")
    found["bootstrap"] = _checked_bootstrap(others.pop("bootstrap", None), found["ci"], problems)
    _check_intersections(others.get("intersections", 1), problems)
    for name in ("ignore", "missing_values"):
        found[name] = tuple(map(_unwrapped, _as_tuple(others.pop(name, ()))))
    if not all(isinstance(text, str) for text in found["missing_values"]):
        problems.add(f"missing_values={list(found['missing_values'])!r} are not all texts, such as ['NA', 'unknown']")
    classes = others.pop("classes", None)
    if classes is not None and (isinstance(classes, str) or not isinstance(classes, Iterable)):
        problems.add(f"classes={classes!r} is not a list of the classes of the score columns, in order")
    bins = _checked_bins(others.pop("bins", None), problems)
    problems.raise_if_any()
    return Options(bins=bins, classes=None if classes is None else tuple(map(_unwrapped, classes)), **found, **others)


def _unwrapped(value: Any) -> Any:
    """The Python value inside a scalar of NumPy, torch or another library; anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def _checked_ci(ci: Any, problems: Problems) -> float | None:
    """The confidence level; none where no intervals are wanted."""
    if ci is None or (isinstance(ci, float | int) and not isinstance(ci, bool) and 0.5 <= ci < 1.0):
        return None if ci is None else float(ci)
    problems.add(f"ci={ci!r} is not a level from 0.5 up to 1, such as 0.95; None leaves the intervals out")
    return None


# A limit is the mean of two of its neighbours among the replicates; fewer than this say nothing of them.
LEAST_REPLICATES = 100


def _checked_bootstrap(given: Any, ci: float | None, problems: Problems) -> Bootstrap | None:
    """The bootstrap that a number of replicates, a method or all of it asks for."""
    if given is None or given is False:
        return None
    asked = given
    if isinstance(given, str):
        asked = Bootstrap(method=given)
    elif given is True:
        asked = Bootstrap()
    elif _whole(given):
        asked = Bootstrap(int(given))
    if not isinstance(asked, Bootstrap) or asked.method not in REPLICATES:
        problems.add(
            f"bootstrap={given!r} is not understood; give a number of replicates, 'percentile', 'bca', or for example "
            "fmfair.Bootstrap(2000, method='bca', seed=1)"
        )
        return None
    if not _whole(asked.count) or asked.count < LEAST_REPLICATES:
        problems.add(f"bootstrap: {asked.count!r} replicates are not a whole number, {LEAST_REPLICATES} or more")
    if not _whole(asked.seed) or not 0 <= asked.seed < 2**64:
        problems.add(f"bootstrap: seed={asked.seed!r} is not a whole number from 0 up to 2^64")
    if ci is None:
        problems.add("bootstrap= makes intervals, which ci=None leaves out; give their level, such as ci=0.95")
    return asked


def check_least(suppress_below: Any) -> int | None:
    """The smallest number of rows that may be told.

    Raises:
        FmfairError: It is no whole number, or not above 1.
    """
    if suppress_below is None:
        return None
    if isinstance(suppress_below, bool) or not hasattr(suppress_below, "__index__") or int(suppress_below) < 2:
        raise FmfairError(
            f"suppress_below={suppress_below!r} is not a whole number of rows, 2 or more; leave it out to show all"
        )
    return int(suppress_below)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _checked_reference(reference: Any, problems: Problems) -> Mapping[str, str]:
    """The reference group by attribute; whether there are such groups is seen later."""
    if reference is None:
        return {}
    if isinstance(reference, Mapping):
        return {str(attribute): str(group) for attribute, group in reference.items()}
    problems.add(f"reference={reference!r} is not a mapping; write for example reference={{'sex': 'M'}}")
    return {}


def _checked_margins(margins: Any, metrics: Sequence[Metric], problems: Problems) -> Mapping[str, float]:
    """The difference that matters by metric."""
    if margins is None:
        return {}
    if not isinstance(margins, Mapping):
        problems.add(f"margins={margins!r} is not a mapping; write for example margins={{'auc': 0.05}}")
        return {}
    known = [m.name for m in metrics]
    for name, margin in margins.items():
        number = as_number(margin)
        if number is None or number <= 0:
            problems.add(f"margins: {margin!r} for {name!r} is not a number above 0")
        if known and name not in known:
            problems.add(f"margins: {name!r} is none of the metrics that are evaluated{near(str(name), known)}")
    return {str(name): number for name, margin in margins.items() if (number := as_number(margin)) is not None}


def _checked_bins(bins: Any, problems: Problems) -> Bins:
    """Numbers of quantiles, of any library's whole numbers, and lists of cut points; whether they fit is seen later."""
    if bins is None:
        return {}
    if not isinstance(bins, Mapping):
        problems.add(f"bins={bins!r} is not a mapping; write for example bins={{'age': [40, 60]}}")
        return {}
    found: dict[str, int | Sequence[float]] = {}
    for name, wanted in bins.items():
        if not isinstance(wanted, bool) and isinstance(wanted, Integral):
            found[name] = int(wanted)
        elif isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes):
            found[name] = tuple(wanted)
        else:
            problems.add(f"bins for {name!r} must be cut points such as [40, 60] or a number of quantiles")
    return found


def _as_tuple(values: Any) -> tuple[Any, ...]:
    if values is None:
        return ()
    return (values,) if isinstance(values, str) or not isinstance(values, Iterable) else tuple(values)


def _as_thresholds(thresholds: Any) -> tuple[Threshold, ...]:
    if thresholds is None:
        return ()
    if isinstance(thresholds, str | float | int | Mapping) or not isinstance(thresholds, Iterable):
        return (thresholds,)
    return tuple(thresholds)


def _check_thresholds(wanted: tuple[Threshold, ...], conventions: Conventions, problems: Problems) -> None:
    """Each is a number, a mapping or a known rule; whether a mapping fits is seen when the by-keys are known."""
    for item in wanted:
        if isinstance(item, Mapping) or as_number(item) is not None:
            continue
        if not isinstance(item, str) or not _is_rule(item):
            problems.add(
                f"threshold {item!r} is not understood; give a finite number, a mapping from by-key to number, "
                "'best_f1', 'youden', 'tpr=0.9' or 'tnr=0.95'"
            )
        elif conventions.smoothed_f1 and item != "best_f1":
            problems.add(f"threshold {item!r}: the FairMedFM conventions know numbers and 'best_f1' only")


def _is_rule(text: str) -> bool:
    match = AT_LEAST.fullmatch(text)
    if match is None:
        return text in ("best_f1", "youden")
    share = as_number(match.group(2))
    return share is not None and 0.0 <= share <= 1.0


def as_number(item: Any) -> float | None:
    """The threshold as a finite number, also from text such as `0.35`; None when it is not one."""
    if isinstance(item, Mapping | bool):
        return None
    try:
        value = float(item)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _are_texts(values: Sequence[Any]) -> bool:
    return not isinstance(values, str) and all(isinstance(v, str) for v in values)


def _check_intersections(value: Any, problems: Problems) -> None:
    if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if listed and all(isinstance(v, Sequence) and len(v) >= 2 and _are_texts(v) for v in value):
        return
    problems.add(
        f"intersections={value!r} is not understood; give a number (2 = all pairs), 'all', or a list of tuples of "
        "attributes such as [('sex', 'age')]"
    )
