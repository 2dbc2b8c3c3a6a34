"""`report.plot`: the figures of a report as Altair charts, for notebooks and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.errors import FmfairError

if TYPE_CHECKING:
    import altair as alt

    from fmfair.figures.theme import Look

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

    def __init__(self, frames: Mapping[str, pl.DataFrame], metadata: Mapping[str, Any]) -> None:
        check_installed()
        self._frames, self._metadata = frames, metadata

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
            ['Accuracy was lower in F than in M by 0.500 (95% interval 0.328 to 0.648)']
        """
        from fmfair.figures.forest import forest

        return forest(
            self._frames["groups"],
            self._frames["overall"],
            self._frames["gaps"],
            metric or self._headline(),
            attributes=attributes,
            where=where,
            look=self._look(width, by_value=by_value),
        )

    def _look(self, width: int, *, by_value: bool = False) -> Look:
        from fmfair.figures.theme import Look

        reference = self._metadata.get("reference") or {}
        return Look(width, self._metadata.get("ci"), reference, by_value)

    def _headline(self) -> str:
        from fmfair.figures.data import headline

        return headline(self._frames["overall"])
