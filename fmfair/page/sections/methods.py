"""Methods: what every number of the document is, how its interval was made, and where the definition comes from."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fmfair.errors import FmfairError, plural
from fmfair.marks import MARKS, of_both_classes
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import list_metrics, requested
from fmfair.numerals import joined, level_text
from fmfair.page.material import Material
from fmfair.page.screening import Q, compared
from fmfair.page.section import Column, Section, Table
from fmfair.page.sections.limits import n_comparisons
from fmfair.page.wording import exploratory, pre_specified
from fmfair.render import visible

NONE = "none"
_DENOMINATORS: Mapping[str, str] = {
    "n": "rows",
    "n_pos": "positives",
    "n_neg": "negatives",
    "n_pred_pos": "predicted positives",
    "n_pred_neg": "predicted negatives",
}
# What the statistics of gaps are, by statistic and, for those with a name of their own, by metric.
_STATISTICS: Mapping[tuple[str, str], str] = {
    ("", "difference"): "largest less smallest value of the groups",
    ("", "ratio"): "smallest over largest value of the groups",
    ("", "worst"): "value of the group that is served worst",
    ("", "best"): "value of the group that is served best",
    ("", "difference_to_overall"): "largest distance of a group from the value on all rows",
    ("", "ratio_to_overall"): "smallest ratio of a group and the value on all rows, the smaller over the larger",
    ("", "std"): "population standard deviation of the group values",
    ("", "equity_scaled"): "M / (1 + sum of |M - M_g|); M on all rows, M_g of the groups (Luo et al. 2024)",
    ("", "equity_scaled_std"): "M / (1 + population standard deviation of the M_g) (FairMedFM)",
    ("", "skewness"): "(1 - worst) / (1 - best) (FairMedFM)",
    ("equal_opportunity", "difference"): "largest less smallest sensitivity (Hardt, Price & Srebro 2016)",
    ("equalized_odds", "difference"): "the larger of the differences of the true and the false positive rates",
    ("equalized_odds", "average_difference"): "mean of these two differences",
    ("equalized_odds", "score"): "1 - (difference of sensitivity + difference of specificity) / 2",
    ("demographic_parity", "difference"): "largest less smallest selection rate",
    ("demographic_parity", "ratio"): "smallest over largest selection rate",
}


def section(material: Material) -> Section:
    """How the numbers were made, and a glossary of the metrics and of the statistics of gaps."""
    content = {"said": _said(material), "tables": [_glossary(material), _statistics(material)]}
    return Section("methods", "Methods", content)


def _said(material: Material) -> list[str]:
    """The choices that hold for all numbers, one sentence each."""
    facts = material.metadata
    convention = facts.get("conventions")
    decision = facts.get("decision")
    said = [
        f"Conventions: {convention}." if convention else "",
        f"A row is called positive where {decision}." if decision and _cuts(material) else "",
        _independence(material),
        *(_of_intervals(material) if material.level is not None else ["No intervals were computed."]),
        _bootstrap(material),
        _of_small(material),
        "What is not defined has no value, never 0 or 1; the reason stands in its place.",
    ]
    return [sentence for sentence in said if sentence]


def _cuts(material: Material) -> bool:
    """Whether there are thresholds that scores are compared with."""
    overall = material.frames["overall"]
    return "threshold" in overall.columns and overall["threshold"].count() > 0


def _independence(material: Material) -> str:
    cluster = (material.metadata.get("columns") or {}).get("cluster")
    if cluster:
        return f"Rows with the same {visible(cluster)} vary together, in intervals and tests alike."
    return "Every row counts as independent of the others; where several are of one patient, intervals are too narrow."


def _of_intervals(material: Material) -> list[str]:
    """What intervals, tests and the chance gap are."""
    level, percent = level_text(material.level), f"{100 * (material.level or 0):.6g}"
    held = (
        f"if other patients of the same kind were evaluated again and again, {percent} of 100 such intervals would hold"
    )
    alone = f"{plural(n_comparisons(material), 'comparison')} over all attributes, metrics and thresholds"
    holm = "within an attribute and metric, the p values of pairs are adjusted by Holm's method"
    usual = "The gap expected by chance is the median gap of groups of these sizes that do not differ"
    return [
        f"Every value has a {level} where there is a method for it: {held} the true value.",
        "The interval of a gap holds for all pairs of groups at once. A difference is shown where it leaves out 0.",
        f"p is that of no difference between any groups. {usual}.",
        _first_page(material),
        f"There are {alone}; p values and intervals are not adjusted for that number; {holm}.",
    ]


def _first_page(material: Material) -> str:
    """Which differences the summary tells as such."""
    count = compared(material)
    if not count:
        return ""
    if set(material.attributes) <= set(material.plan.pre_specified):
        said, how = pre_specified(count), "pass Holm's method, as all attributes were settled before"
    else:
        said = exploratory(count, Q)
        how = f"pass that screen, a share of {Q:.2f} of whose finds may be false (Benjamini & Hochberg 1995)"
    return f"The summary: {said} It calls a difference shown only where the interval leaves out 0 and p values {how}."


def _bootstrap(material: Material) -> str:
    drawn = material.metadata.get("bootstrap")
    if not drawn:
        return ""
    return f"Bootstrap: {drawn['replicates']:,} replicates, method {drawn['method']}, seed {drawn['seed']}."


def _of_small(material: Material) -> str:
    """From which counts on values are marked."""
    if material.level is None:
        return ""
    marks = joined([f"{text} below {least}" for least, text in MARKS.items()])
    return f"Values are marked by the count that carries them: {marks}."


def _glossary(material: Material) -> Table:
    """The metrics of the results."""
    columns = [Column(name) for name in ("Metric", "Definition", "Range", "Better", "Carried by")]
    columns += [Column("Moves with prevalence"), Column("Not defined where"), Column("Interval"), Column("Source")]
    methods = _methods(material)
    rows = [
        [
            metric.title,
            metric.definition,
            _range(metric),
            metric.direction if metric.direction != "none" else "neither",
            "the rarer class" if of_both_classes(metric) else _DENOMINATORS[metric.denominator],
            "yes" if metric.moves_with_prevalence else "no",
            metric.undefined,
            methods.get(metric.name, NONE),
            metric.source,
        ]
        for metric in _metrics(material)
    ]
    return Table("Metrics", columns, rows, note=" ".join(_remarks(material)))


def _remarks(material: Material) -> list[str]:
    """What must be known of some metrics before their values are compared."""
    there = set(material.frames["overall"]["metric"].unique())
    said = []
    if there & {"accuracy", "f1"}:
        said.append(
            "Accuracy and F1 weigh the two kinds of error as the share of positives happens to be, so that they stand "
            "behind sensitivity and specificity here (Van Calster et al. 2025)."
        )
    if any(name.startswith("ece") for name in there):
        said.append("The expected calibration error is larger in small groups by chance alone.")
    return said


def _metrics(material: Material) -> list[Metric]:
    """The metrics of the results that the registry knows, in their order."""
    frames = [material.frames[name] for name in ("overall", "groups")]
    names = [name for frame in frames for name in frame["metric"].unique(maintain_order=True)]
    found = [_known(name) for name in dict.fromkeys(names)]
    return [metric for metric in found if metric is not None]


def _known(name: str) -> Metric | None:
    """The metric of a name; None of one that another version of fmfair stored."""
    try:
        return requested([name], list_metrics())[0]
    except FmfairError:
        return None


def _methods(material: Material) -> Mapping[str, str]:
    """The methods by which intervals of each metric were made."""
    if material.level is None:
        return {}
    frames = [material.frames[name] for name in ("overall", "groups")]
    there = [f.select("metric", "ci_method").drop_nulls() for f in frames if "ci_method" in f.columns]
    if not there:
        return {}
    used = pl.concat(there).unique(maintain_order=True).group_by("metric", maintain_order=True)
    return {metric: "; ".join(methods) for metric, methods in used.agg("ci_method").iter_rows()}


def _statistics(material: Material) -> Table:
    """The statistics that compare groups, those with names of their own last."""
    there = material.frames["gaps"].select("metric", "statistic").unique(maintain_order=True)
    pairs = set(there.iter_rows())
    plain = {statistic for _, statistic in pairs}
    rows = []
    for (metric, statistic), text in _STATISTICS.items():
        if (not metric and statistic in plain) or (metric, statistic) in pairs:
            rows.append([metric or "every metric", statistic, text])
    return Table("Statistics of gaps", [Column("Metric"), Column("Statistic"), Column("Definition")], rows, keys=2)


def _range(metric: Metric) -> str:
    """From the smallest to the largest possible value."""
    low = "unbounded" if metric.low is None else f"{metric.low:g}"
    return f"{low} to {'unbounded' if metric.high is None else f'{metric.high:g}'}"
