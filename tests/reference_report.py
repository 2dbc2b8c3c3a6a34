"""The oracle of a whole evaluation: which groups there are, their values, and the values compared.

Keys are tuples of texts; a threshold is named by its position among those asked for, decisions in `y_pred` come last,
and a metric without a threshold has position 0. Undefined is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from reference import Row, Value, at_threshold, choose_threshold, of_probabilities, of_scores, positives

LOWER_IS_BETTER = {"fpr", "fnr", "lr_negative", "bce", "brier", "ece", "ece_squared", "ece_rms", "ece_quantile"}
NO_DIRECTION = {"selection_rate", "observed_expected", "calibration_intercept", "calibration_slope"}
CAN_BE_NEGATIVE = {"adjusted_auprc", "mcc", "net_benefit", "calibration_intercept", "calibration_slope"}
COUNTS = {"tp", "fp", "fn", "tn"}
# What differs by less than this share, or by less than this, does not differ.
NOISE, TINY = 1e-12, 1e-15

Parts = tuple[str, ...]
Threshold = float | str | Mapping[object, float]


@dataclass(frozen=True)
class Attribute:
    """`levels` in their natural order; declared ones are listed even where no row has them."""

    name: str
    levels: Sequence[str]
    declared: bool = False


@dataclass(frozen=True)
class Question:
    """What is asked of the rows; `scale` is `probability`, `logit`, `rank` or, for decisions alone, None."""

    attributes: Sequence[Attribute]
    thresholds: Sequence[Threshold] = ()
    intersections: int = 1
    scale: str | None = "probability"
    decided: bool = False
    min_group_size: int = 0


@dataclass(frozen=True)
class Comparison:
    value: Value
    worst: Parts | None
    best: Parts | None
    n_groups: int


@dataclass
class Answer:
    values: dict[tuple[tuple[object, ...], Parts, Parts, str, int], Value] = field(default_factory=dict)
    rows: dict[tuple[tuple[object, ...], Parts, Parts], list[Row]] = field(default_factory=dict)
    thresholds: dict[tuple[tuple[object, ...], int], float | None] = field(default_factory=dict)
    gaps: dict[tuple[tuple[object, ...], Parts, str, int, str], Comparison] = field(default_factory=dict)


def evaluate(rows: list[Row], asked: Question) -> Answer:
    """The answer for all rows; overall values have no attribute and no group, the empty tuple twice."""
    answer = Answer()
    for key in dict.fromkeys(r.by for r in rows):
        listed = [r for r in rows if r.by == key]
        used = [r for r in listed if r.y is not None and r.weight > 0]
        cuts = thresholds_of(key, used, asked)
        answer.thresholds.update({(key, t): cut if isinstance(cut, float) else None for t, cut in enumerate(cuts)})
        everything = metrics_of(used, asked, cuts)
        answer.rows[key, (), ()] = used
        answer.values.update({(key, (), (), name, t): v for (name, t), v in everything.items()})
        for attributes in divisions(asked):
            compare_groups(answer, key, listed, attributes, asked, cuts)
    return answer


def divisions(asked: Question) -> Iterator[tuple[Attribute, ...]]:
    for order in range(1, asked.intersections + 1):
        yield from combinations(asked.attributes, order)


def thresholds_of(key: tuple[object, ...], used: list[Row], asked: Question) -> list[float | str | None]:
    """The threshold of each position for one by-key; the text `y_pred` stands for the decisions."""
    cuts: list[float | str | None] = []
    for wanted in asked.thresholds:
        if isinstance(wanted, Mapping):
            cuts.append(float(wanted[key if len(key) > 1 else key[0]]))
        elif isinstance(wanted, str):
            cuts.append(choose_threshold(wanted, used))
        else:
            cuts.append(float(wanted))
    if not asked.thresholds and not asked.decided:
        cuts = [None] if asked.scale == "rank" else [0.5]
    return [*cuts, "y_pred"] if asked.decided else cuts


def metrics_of(rows: list[Row], asked: Question, cuts: Sequence[float | str | None]) -> dict[tuple[str, int], Value]:
    found: dict[tuple[str, int], Value] = {}
    scored, probable = asked.scale is not None, asked.scale in ("probability", "logit")
    plain = {**of_scores(rows if scored else []), **of_probabilities(rows if probable else [])}
    found.update({(name, 0): value for name, value in plain.items()})
    for t, cut in enumerate(cuts):
        for name, value in at_threshold(rows, cut).items():
            found[name, t] = None if name == "net_benefit" and not probable else value
    return found


def compare_groups(
    answer: Answer,
    key: tuple[object, ...],
    listed: list[Row],
    attributes: tuple[Attribute, ...],
    asked: Question,
    cuts: Sequence[float | str | None],
) -> None:
    names = tuple(a.name for a in attributes)
    present = [r for r in listed if all(r.groups[n] is not None for n in names)]
    cells = {}
    for parts in product(*(a.levels for a in attributes)):
        members = [r for r in present if tuple(r.groups[n] for n in names) == parts]
        if members or (len(attributes) == 1 and attributes[0].declared):
            cells[parts] = [r for r in members if r.y is not None and r.weight > 0]
    values = {parts: metrics_of(rows, asked, cuts) for parts, rows in cells.items()}
    whole = metrics_of([r for r in present if r.y is not None and r.weight > 0], asked, cuts)
    for parts, rows in cells.items():
        answer.rows[key, names, parts] = rows
        answer.values.update({(key, names, parts, name, t): v for (name, t), v in values[parts].items()})
    for (name, t), reference in whole.items():
        if name not in COUNTS:
            usable = {
                parts: values[parts][name, t]
                for parts, rows in cells.items()
                if rows and len(rows) >= asked.min_group_size and values[parts][name, t] is not None
            }
            for statistic, comparison in comparisons(name, usable, reference).items():
                answer.gaps[key, names, name, t, statistic] = comparison
    for t in range(len(cuts)):
        add_named(answer, key, names, t)


def comparisons(metric: str, usable: Mapping[Parts, Value], reference: Value) -> dict[str, Comparison]:
    """All statistics of the groups whose value is defined."""
    numbers = {parts: float(v) for parts, v in usable.items() if v is not None}
    whole = None if reference is None else float(reference)
    low, high = min(numbers.values(), default=None), max(numbers.values(), default=None)
    lowest, highest = first_near(numbers, low), first_near(numbers, high)
    worst, best = (highest, lowest) if metric in LOWER_IS_BETTER else (lowest, highest)
    found: dict[str, Value] = dict.fromkeys(
        ("difference", "ratio", "difference_to_overall", "ratio_to_overall", "std"), None
    )
    if len(numbers) >= 2:
        values = list(numbers.values())
        centre = math.fsum(values) / len(values)
        found["difference"] = max(values) - min(values)
        found["std"] = math.sqrt(math.fsum((v - centre) ** 2 for v in values) / len(values))
        if whole is not None:
            found["difference_to_overall"] = max(abs(v - whole) for v in values)
        if metric not in CAN_BE_NEGATIVE:
            found["ratio"] = share(min(values), max(values))
            if whole is not None:
                shares = [share(*sorted((v, whole))) for v in values]
                found["ratio_to_overall"] = min((s for s in shares if s is not None), default=None)
    if metric not in NO_DIRECTION:
        found["worst"] = None if worst is None else numbers[worst]
        found["best"] = None if best is None else numbers[best]
    scaled = equity_scaled(numbers, whole, found["std"]) if metric == "auc" else {}
    named = {**found, **scaled}
    return {statistic: Comparison(value, worst, best, len(numbers)) for statistic, value in named.items()}


def near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=NOISE, abs_tol=TINY)


def first_near(numbers: Mapping[Parts, float], extreme: float | None) -> Parts | None:
    """The first group, in the order of the groups, that has this value but for the noise of sums."""
    return next((p for p, v in numbers.items() if extreme is not None and near(v, extreme)), None)


def share(smaller: float, larger: float) -> float | None:
    return smaller / larger if larger > TINY else None


def equity_scaled(numbers: Mapping[Parts, float], whole: float | None, std: Value) -> dict[str, Value]:
    if std is None or whole is None:
        return {"equity_scaled": None, "equity_scaled_std": None}
    away = math.fsum(abs(whole - v) for v in numbers.values())
    return {"equity_scaled": whole / (1 + away), "equity_scaled_std": whole / (1 + float(std))}


def add_named(answer: Answer, key: tuple[object, ...], names: Parts, t: int) -> None:
    """Equal opportunity, demographic parity and equalized odds at one threshold."""

    def of(metric: str, statistic: str = "difference") -> Comparison:
        return answer.gaps[key, names, metric, t, statistic]

    answer.gaps[key, names, "equal_opportunity", t, "difference"] = of("tpr")
    answer.gaps[key, names, "demographic_parity", t, "difference"] = of("selection_rate")
    answer.gaps[key, names, "demographic_parity", t, "ratio"] = of("selection_rate", "ratio")
    tpr, fpr, tnr = of("tpr"), of("fpr"), of("tnr")
    n_groups = min(tpr.n_groups, fpr.n_groups)
    difference = average = score = None
    if tpr.value is not None and fpr.value is not None and tnr.value is not None:
        difference = max(float(tpr.value), float(fpr.value))
        average = (float(tpr.value) + float(fpr.value)) / 2
        score = 1 - (float(tpr.value) + float(tnr.value)) / 2
    larger = tpr if average is None or float(tpr.value or 0) >= float(fpr.value or 0) else fpr
    answer.gaps[key, names, "equalized_odds", t, "difference"] = Comparison(
        difference, larger.worst, larger.best, n_groups
    )
    answer.gaps[key, names, "equalized_odds", t, "average_difference"] = Comparison(average, None, None, n_groups)
    answer.gaps[key, names, "equalized_odds", t, "score"] = Comparison(score, None, None, n_groups)


def sizes(rows: list[Row], cut: float | str | None) -> dict[str, int]:
    """The counts of rows that carry the metrics."""
    n, m = len(rows), len(positives(rows))
    called = 0 if cut is None else sum((r.pred == 1) if isinstance(cut, str) else (r.prob or 0.0) >= cut for r in rows)
    return {"n": n, "n_pos": m, "n_neg": n - m, "n_pred_pos": called, "n_pred_neg": n - called}
