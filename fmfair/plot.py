"""`report.plot`: the figures of a report as Altair charts, for notebooks and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.errors import FmfairError
from fmfair.figures.options import check_kinds

if TYPE_CHECKING:
    import altair as alt

    from fmfair.figures.theme import Spec

Where = Mapping[str, Any] | None
NEEDED = {"altair": "altair", "vl_convert": "vl-convert-python"}


def check_installed() -> None:
    """Raises where a package that figures need is not installed."""
    absent = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if absent:
        raise FmfairError(f'figures need {" and ".join(absent)}: pip install "fmfair[report]"')


class Plot:
    """The figures of a report; each method returns an Altair chart.

    A chart shows itself in a notebook, and `chart.save("forest.svg")` or `chart.save("forest.png")` writes it. Where
    the report has by-keys with several values, `where={"model": "a"}` says which one is shown; of several thresholds
    the first is shown, unless `where` names a `threshold` or `threshold_rule`. `width` is in pixels; below 560 a figure
    is laid out for a phone.
    """

    def __init__(
        self, frames: Mapping[str, pl.DataFrame], metadata: Mapping[str, Any], notes: Sequence[str] = ()
    ) -> None:
        check_installed()
        self._frames, self._metadata, self._notes = frames, metadata, notes

    def forest(
        self,
        metric: str | None = None,
        *,
        attributes: Sequence[str] | None = None,
        where: Where = None,
        width: int = 720,
        by_value: bool = False,
    ) -> alt.LayerChart:
        """Every group's value with its interval, beside the value of all rows.

        Args:
            metric: The name of a metric of the report; AUC, sensitivity or Dice where left out.
            attributes: Those to show, intersections among them; all single ones where left out.
            where: The by-key and threshold.
            width: In pixels.
            by_value: Whether groups are sorted by their values rather than left in their natural order.

        Raises:
            FmfairError: There is no such metric, attribute or by-key, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> chart = fmfair.evaluate(df, attributes="sex", metrics="accuracy").plot.forest()
            >>> chart.to_dict()["title"]["text"]
            ['Accuracy was lower in F than in M by 50 percentage points (95% interval 33 to 65)']
        """
        from fmfair.figures.forest import forest

        options = {"attributes": attributes, "where": where}
        return self._chart(forest, metric or self._headline(), width=width, by_value=by_value, **options)

    def heat_map(
        self,
        metric: str | None = None,
        *,
        attribute: str | None = None,
        where: Where = None,
        width: int = 720,
    ) -> alt.LayerChart:
        """The cells of an intersection, coloured by their difference to all rows.

        Args:
            metric: The name of a metric of the report; AUC, sensitivity or Dice where left out.
            attribute: The intersection, as the report names it; the first where left out.
            where: The by-key and threshold.
            width: In pixels.

        Raises:
            FmfairError: The report has no intersection, no such metric or by-key, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20})
            >>> df = df.with_columns(sex=pl.Series(["F"] * 40 + ["M"] * 40), site=pl.Series(["A", "A", "B", "B"] * 20))
            >>> report = fmfair.evaluate(df, attributes=["sex", "site"], intersections=2, metrics="tpr")
            >>> report.plot.heat_map("tpr", attribute="sex & site").to_dict()["title"]["text"]
            ['Sensitivity by sex & site: ...']
        """
        from fmfair.figures.heat_map import heat_map

        return self._chart(heat_map, metric or self._headline(), width=width, attribute=attribute, where=where)

    def models(
        self,
        metric: str | None = None,
        *,
        attribute: str | None = None,
        where: Where = None,
        width: int = 720,
    ) -> alt.LayerChart:
        """A row per by-key, such as a model, and a column per group, all values on one scale.

        Args:
            metric: The name of a metric of the report; AUC, sensitivity or Dice where left out.
            attribute: Whose groups are the columns; the first where left out.
            where: By-keys to hold, and the threshold.
            width: In pixels.

        Raises:
            FmfairError: There is no such metric, attribute or by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> df = pl.concat(df.with_columns(model=pl.lit(name)) for name in "ab")
            >>> fmfair.evaluate(df, attributes="sex", by="model", metrics="accuracy").plot.models().to_dict()["title"][
            ...     "text"
            ... ]
            ['Accuracy by sex: 75.0% on all rows, 50.0% to 100.0% in groups']
        """
        from fmfair.figures.models import models

        return self._chart(models, metric or self._headline(), width=width, attribute=attribute, where=where)

    def overall_against_worst(
        self,
        metric: str | None = None,
        *,
        attribute: str | None = None,
        where: Where = None,
        width: int = 720,
        by_value: bool = False,
    ) -> alt.LayerChart:
        """For every by-key, such as a model, the value of all rows beside that of the worst group.

        Args:
            metric: The name of a metric of the report; AUC, sensitivity or Dice where left out.
            attribute: The attribute; the first where left out.
            where: By-keys to hold, and the threshold.
            width: In pixels.
            by_value: Whether rows are sorted by the value of the worst group.

        Raises:
            FmfairError: There is no such metric, attribute or by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> chart = fmfair.evaluate(df, attributes="sex", metrics="accuracy").plot.overall_against_worst()
            >>> chart.to_dict()["title"]["text"]
            ['Accuracy on all rows and in the worst group by sex: furthest apart, 75.0% and 50.0%']
        """
        from fmfair.figures.overall_against_worst import overall_against_worst

        options = {"attribute": attribute, "where": where}
        return self._chart(overall_against_worst, metric or self._headline(), width=width, by_value=by_value, **options)

    def slope(
        self,
        metric: str | None = None,
        *,
        across: str = "severity",
        order: Sequence[Any] | None = None,
        attribute: str | None = None,
        where: Where = None,
        width: int = 720,
    ) -> alt.LayerChart:
        """How every group changes over the values of a by-key, such as from clean to perturbed images.

        Args:
            metric: The name of a metric of the report; AUC, sensitivity or Dice where left out.
            across: The by-key whose values are conditions in an order.
            order: These values from left to right; in the order of the report where left out.
            attribute: The attribute whose groups have lines; the first where left out.
            where: The other by-keys, and the threshold.
            width: In pixels.

        Raises:
            FmfairError: There is no such metric, attribute, by-key or value of it, or another by-key has several values
                and none is named.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> noisy = df.with_columns(y_score=1 - pl.col("y_score"), severity=pl.lit(1))
            >>> df = pl.concat([df.with_columns(severity=pl.lit(0)), noisy])
            >>> report = fmfair.evaluate(df, attributes="sex", by="severity", metrics="accuracy")
            >>> print(*report.plot.slope().to_dict()["title"]["text"])
            Accuracy by sex from severity 0 to 1: all rows 75.0% to 25.0%; largest change in M, 100.0% to 0.0%
        """
        from fmfair.figures.slope import slope

        options: dict[str, Any] = {"across": across, "order": order, "attribute": attribute, "where": where}
        return self._chart(slope, metric or self._headline(), width=width, **options)

    def roc(self, attribute: str | None = None, *, where: Where = None, width: int = 720) -> alt.LayerChart:
        """The ROC curve of every group of an attribute with its operating point, or that of all rows.

        Args:
            attribute: The attribute; all rows alone where left out.
            where: The by-key and threshold.
            width: In pixels.

        Raises:
            FmfairError: The report has no curves, no such attribute, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> fmfair.evaluate(df, attributes="sex").plot.roc().to_dict()["title"]["text"]
            ['ROC curve: sensitivity 100.0% at false positive rate 50.0%']
        """
        from fmfair.figures.roc import roc

        return self._chart(roc, width=width, attribute=attribute, where=where)

    def reliability(self, attribute: str | None = None, *, where: Where = None, width: int = 720) -> alt.LayerChart:
        """The share of positives against the mean score, in bins of about equal counts, with Wilson's intervals.

        Args:
            attribute: The attribute, a panel per group; all rows alone where left out.
            where: The by-key.
            width: In pixels.

        Raises:
            FmfairError: The report has no curves, no such attribute, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> fmfair.evaluate(df, attributes="sex").plot.reliability(width=1280).to_dict()["title"]["text"]
            ['Reliability: mean score less share of positives +0.100']
        """
        from fmfair.figures.reliability import reliability

        return self._chart(reliability, width=width, attribute=attribute, where=where)

    def rates_by_threshold(
        self, attribute: str | None = None, *, where: Where = None, width: int = 720
    ) -> alt.LayerChart:
        """Sensitivity and false positive rate against the threshold, with bands of Wilson's intervals.

        Args:
            attribute: The attribute, a panel per group; all rows alone where left out.
            where: The by-key.
            width: In pixels.

        Raises:
            FmfairError: The report has no curves, no such attribute, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> fmfair.evaluate(df, attributes="sex").plot.rates_by_threshold(width=1280).to_dict()["title"]["text"]
            ['Sensitivity and false positive rate against the threshold: at 0.5 sensitivity 100.0%']
        """
        from fmfair.figures.rates_by_threshold import rates_by_threshold

        return self._chart(rates_by_threshold, width=width, attribute=attribute, where=where)

    def risk_distribution(
        self, attribute: str | None = None, *, where: Where = None, width: int = 720
    ) -> alt.LayerChart:
        """How the scores of positives and negatives spread.

        Args:
            attribute: The attribute, a panel per group; all rows alone where left out.
            where: The by-key.
            width: In pixels.

        Raises:
            FmfairError: The report has no curves, no such attribute, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> fmfair.evaluate(df, attributes="sex").plot.risk_distribution(width=1280).to_dict()["title"]["text"]
            ['Scores by outcome: half of the positives score below ...']
        """
        from fmfair.figures.risk_distribution import risk_distribution

        return self._chart(risk_distribution, width=width, attribute=attribute, where=where)

    def dice_distribution(
        self, attribute: str | None = None, *, where: Where = None, limit: float = 0.7, width: int = 720
    ) -> alt.LayerChart:
        """How Dice spreads over the cases of a segmentation: median, quartiles, and the share below a limit.

        Args:
            attribute: The attribute, a panel per group; all rows alone where left out.
            where: The by-key.
            limit: The Dice below which cases are counted, in whole hundredths.
            width: In pixels.

        Raises:
            FmfairError: The report has no curves or is not of a segmentation, there is no such attribute, or it is not
                said which by-key.

        Examples:
            >>> df = pl.DataFrame({"dice": [0.6, 0.7, 0.8, 0.9] * 10, "scanner": ["A", "B"] * 20})
            >>> report = fmfair.evaluate_segmentation(df, attributes="scanner")
            >>> report.plot.dice_distribution("scanner", width=1280).to_dict()["title"]["text"]
            ['Dice by scanner: median 0.61 (A) to 0.71 (B)']
        """
        from fmfair.figures.dice_distribution import dice_distribution

        return self._chart(dice_distribution, width=width, attribute=attribute, where=where, limit=limit)

    def decision_curve(self, attribute: str | None = None, *, where: Where = None, width: int = 720) -> alt.LayerChart:
        """Net benefit against the threshold, beside calling all or none positive.

        Args:
            attribute: The attribute, a panel per group; all rows alone where left out.
            where: The by-key.
            width: In pixels.

        Raises:
            FmfairError: The report has no curves, no such attribute, or it is not said which by-key.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.7, 0.6, 0.9] * 20, "sex": ["F", "M"] * 40})
            >>> fmfair.evaluate(df, attributes="sex").plot.decision_curve(width=1280).to_dict()["title"]["text"]
            ['Net benefit: on all rows the model is above calling all or none positive at ...']
        """
        from fmfair.figures.decision_curve import decision_curve

        return self._chart(decision_curve, width=width, attribute=attribute, where=where)

    def flow(self, *, where: Where = None, width: int = 720) -> alt.LayerChart:
        """How many rows were evaluated, how many have each attribute, and what was left out.

        Args:
            where: The by-key.
            width: In pixels.

        Raises:
            FmfairError: There is no such by-key, or it is not said which.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1] * 40, "y_score": [0.2, 0.9] * 40, "sex": ["F", None] * 40})
            >>> fmfair.evaluate(df, attributes="sex").plot.flow().to_dict()["title"]["text"]
            ['80 rows evaluated; sex: 40 rows in 1 group']
        """
        from fmfair.figures.flow import flow

        return self._chart(flow, self._notes, width=width, where=where)

    def _chart(
        self, make: Callable[..., Spec], *of: Any, width: int, by_value: bool = False, **options: Any
    ) -> alt.LayerChart:
        import altair as alt

        from fmfair.figures.theme import Look

        check_kinds({"metric": of[0] if of and of[0] is not self._notes else "", "width": width, **options})
        reference = self._metadata.get("reference") or {}
        figure = make(self._frames, *of, Look(width, self._metadata.get("ci"), reference, by_value), **options)
        # What fmfair drew needs no check against the schema, and Altair would look at every field of every row; it
        # copies lists at every step, and tuples never.
        rows = [alt.InlineData(values=tuple(layer["data"]["values"])) for layer in figure["layer"]]
        bare = [{**layer, "data": {"values": []}} for layer in figure["layer"]]
        chart = alt.LayerChart.from_dict({**figure, "layer": bare}, validate=False)
        for layer, data in zip(chart.layer, rows, strict=True):
            layer.data = data
        return chart

    def _headline(self) -> str:
        from fmfair.figures.data import headline

        return headline(self._frames["overall"])
