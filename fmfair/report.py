"""The report: the result frames of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from fmfair import export
from fmfair.atomic import PathLike, whole_file
from fmfair.columns import CURVES, PAIRS
from fmfair.digest import digest, digest_of_pairs
from fmfair.errors import FmfairError, near
from fmfair.plot import Plot
from fmfair.render import Digest, to_text
from fmfair.result import Result

if TYPE_CHECKING:
    from fmfair.page.plan import Plan


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """What an evaluation found. Printed, it shows the largest gaps, the summary, the groups, and the notes.

    Undefined is NULL in every frame, never NaN or 0; the column `note` beside it says why. By-keys, where there are
    any, are the first columns of every frame. Where small numbers were to be hidden (`metadata["suppress_below"]`),
    what would tell one is NULL too, with the note `suppressed`, and the group takes no part in gaps and pairs;
    `metadata["n_samples"]` is None where it would.

    Where intervals were asked for (`metadata["ci"]` is their level) there are more columns behind `value`, all NULL
    where `value` is. In `groups` and `overall`: the limits `ci_low` and `ci_high` (floats in the range of the metric,
    `ci_low` <= `value` <= `ci_high`; NULL without a closed form or where too few rows or patients carry the value),
    `ci_method` (its name, NULL without limits), `ci_note` (why there are none, or what makes them doubtful), `mark`
    (`counts only` below 10 of the rows that carry the value, `very imprecise` below 20, `imprecise` below 100, else
    NULL), and of the metric `ece` `expected` (that of a perfectly calibrated model), `debiased` and `p_value` (of
    perfect calibration; NULL with patients). In `gaps`, of the statistics `difference` and `worst`, the same four `ci_`
    columns, of `difference` for all pairs of groups at once; of `difference` also `p_value` and `p_method` (of no
    difference between any groups), `chance_gap` and `chance_gap_95` (median and 95 % point of the gap between equal
    groups of these sizes), `detectable_gap` (the smallest true gap that would be found four times in five), and
    `verdict` (on the margin of the metric: `shown`, `excluded` or `cannot tell`). All of them are NULL for the other
    statistics, and for metrics without a closed form.

    Attributes:
        summary: One row per by-key and attribute, in the columns of the FairMedFM benchmark (`overall-auc` to `eo`, or
            `mean_dice` to `es_dice`).
        groups: One row per by-key, attribute, group, metric and threshold: `value`, the rows behind it (`n`, `n_pos`,
            `weight_sum`), the count that carries the metric (`denominator`), whether the group is compared (`in_gaps`)
            and `note`.
        gaps: One row per by-key, attribute, metric, threshold and `statistic` (difference, ratio, worst, ...), with
            `worst_group` and `best_group`.
        overall: One row per by-key, metric and threshold, on all evaluated rows.
        pairs: Where intervals were asked for, one row per by-key, attribute (no intersections), metric, threshold and
            pair of groups: `difference` (`value` less `other_value`) with its interval, the p value of the pair and
            that of Holm among all pairs of the comparison, the `ratio` with its interval (MOVER; `ratio_high` NULL
            where unbounded), and the `verdict` on the margin. All pairs of up to 20 groups, of more each group with
            the reference: the group named in `reference`, else the largest. Empty without intervals.
        curves: How probabilities, or Dice, spread: one row per by-key, attribute (an empty one for all rows, no
            intersections), group and bin with rows: the bin from `low` up to `high` (the last holds 1.0 too), its rows
            `n`, positives `n_pos` and the sum of the scores. ROC curves, calibration and rates at any threshold follow
            from it. Empty with ranks, decisions, weights or `suppress_below`, and of more than 2,000 groups.
        notes: What was left out, assumed or found by name, one sentence each.
        metadata: Task, conventions, columns and options; with intervals, `tested` says how many gaps and pairs of
            groups have a p value.

    Examples:
        >>> import polars as pl
        >>> import fmfair
        >>> df = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.9, 0.8, 0.3], "sex": ["F", "F", "M", "M"]})
        >>> report = fmfair.evaluate(df)
        >>> report.summary.select("attribute", "n", "worst-auc", "auc-gap").rows()
        [('sex', 4, 0.0, 1.0)]
        >>> print(report)
        fmfair report: classification, 4 samples; attributes sex; ...
        ...
    """

    summary: pl.DataFrame
    groups: pl.DataFrame
    gaps: pl.DataFrame
    overall: pl.DataFrame
    notes: tuple[str, ...]
    metadata: dict[str, Any]
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(PAIRS)))
    curves: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(CURVES)))

    _NAMES: ClassVar[tuple[str, ...]] = export.FRAMES
    _FURTHER: ClassVar[tuple[str, ...]] = export.FURTHER
    _MAIN: ClassVar[str] = "groups"

    def to_text(self, which: str | None = None) -> str:
        """What is printed: the most telling numbers as lines of at most about 100 columns, then the notes.

        Args:
            which: `"pairs"` for the pairs of groups instead, of all metrics at the thresholds of the summary.

        Raises:
            FmfairError: There is no such form, or there are no pairs.

        Examples:
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1] * 20, "y_score": [0.2, 0.6, 0.7, 0.9] * 10, "sex": ["F", "M"] * 20})
            >>> df = df.with_columns(sex=pl.Series(["F"] * 20 + ["M"] * 20))
            >>> print(fmfair.evaluate(df, metrics="tpr").to_text("pairs"))
            fmfair report: classification, 40 samples; attributes sex; ...
            ...
        """
        if which not in (None, "pairs"):
            raise FmfairError(f"no text of {which!r}{near(str(which), ['pairs'])}; expected None or 'pairs'")
        return super().to_text() if which is None else to_text(digest_of_pairs(self._frames(), self.metadata))

    def write_html(self, path: PathLike, *, plan: Plan | Mapping[str, Any] | PathLike | None = None) -> None:
        """Write everything as one HTML document for people: self-contained, readable offline, on paper and by phone.

        It is made from the frames, notes and metadata alone, so that a report read back from Parquet gives the same
        document, and holds counts and summaries of groups, no row. Needs `pip install "fmfair[report]"`.

        Args:
            path: The file to write; parent folders are made, and the file appears whole or not at all.
            plan: What only you know of the evaluation, such as the intended use: a mapping, or the path of a TOML file
                with the same keys. What is missing reads "not stated".

        Raises:
            FmfairError: The plan has unknown keys, the file cannot be written, or a package is missing.

        Examples:
            >>> import tempfile
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1] * 20, "y_score": [0.2, 0.6, 0.7, 0.9] * 10, "sex": ["F", "M"] * 20})
            >>> with tempfile.TemporaryDirectory() as place:
            ...     fmfair.evaluate(df).write_html(f"{place}/report.html", plan={"intended_use": "triage"})
        """
        from fmfair.page.document import html_of
        from fmfair.page.plan import plan_of

        text = html_of(self._frames(), self.notes, self.metadata, plan_of(plan))
        with whole_file(path) as file:
            file.write_text(text, encoding="utf-8", newline="\n")

    @property
    def plot(self) -> Plot:
        """The figures: `report.plot.forest()` and others, each an Altair chart.

        Raises:
            FmfairError: The packages that figures need are not installed.
        """
        return Plot(self._frames(), self.metadata, self.notes)

    def _digest(self) -> Digest:
        return digest(self._frames(), self.notes, self.metadata)

    def _by(self) -> list[str]:
        return export.by_keys(self._frames())
