"""What a comparison of models found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from fmfair import export
from fmfair.comparison.shown import digest_of
from fmfair.render import Digest
from fmfair.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """What a comparison of models found. Printed, it says which model is best and fairest, and for whom one is worse.

    Undefined is NULL in every frame, never NaN or 0; the column `note` beside it says why. By-keys other than the
    model, where there are any, are the first columns of every frame. A difference is that of `model` less that of
    `baseline`. All models are compared on the same samples. `threshold` is NULL where the models have different ones,
    as a rule such as `best_f1` may choose.

    Attributes:
        differences: One row per pair of models, attribute, group, metric and threshold; attribute and group are NULL
            for all rows. `value_baseline` and `value_model`, their `difference` with `ci_low`, `ci_high`, `ci_method`
            and `p_value` (of no difference), `p_holm` (the p value adjusted for the groups of one attribute), `n`,
            `n_pos`, and `note` (why there is none, or what makes it doubtful).
        gaps: One row per pair of models, attribute, metric and threshold: the gap (largest less smallest group value)
            of either model between the groups in which both have a value, their `difference` (below 0 where `model`
            is fairer) with its interval and `p_value`, `n_groups`, the group that either model serves worst, `note`.
        tradeoff: One row per attribute and model for the headline metric: `utility` (the value on all rows), `gap`,
            `n_groups`, `not_beaten` (no other model has at least the utility and at most the gap, one of them
            strictly), and `beaten_by`, the models that have.
        notes: What was left out, assumed or found by name, one sentence each.
        metadata: Task, columns and options.

    Examples:
        >>> import polars as pl
        >>> import fmfair
        >>> df = pl.DataFrame(
        ...     {
        ...         "model": ["a"] * 4 + ["b"] * 4,
        ...         "image_id": [1, 2, 3, 4] * 2,
        ...         "label": [0, 1, 0, 1] * 2,
        ...         "prob": [0.1, 0.9, 0.8, 0.3, 0.1, 0.9, 0.2, 0.7],
        ...         "sex": ["F", "F", "M", "M"] * 2,
        ...     }
        ... )
        >>> found = fmfair.compare(df, by="model", metrics="auc")
        >>> found.tradeoff.select("attribute", "model", "utility", "gap", "not_beaten").rows()
        [('sex', 'a', 0.75, 1.0, False), ('sex', 'b', 1.0, 0.0, True)]
    """

    differences: pl.DataFrame
    gaps: pl.DataFrame
    tradeoff: pl.DataFrame
    notes: tuple[str, ...]
    metadata: dict[str, Any]

    _NAMES: ClassVar[tuple[str, ...]] = export.COMPARED
    _MAIN: ClassVar[str] = "differences"

    def _digest(self) -> Digest:
        return digest_of(self._frames(), self.notes, self.metadata)

    def _by(self) -> list[str]:
        return list(self.metadata["by"])
