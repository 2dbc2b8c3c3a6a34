"""How sure the numbers of a report are: intervals of values, and what is known of gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from fmfair.attributes import Attribute
from fmfair.bootstrap.replicates import Replicates
from fmfair.forms import Forms
from fmfair.gap_intervals import with_certainty
from fmfair.interval_table import with_intervals
from fmfair.intervals import GROUP_ROW, WHOLE, Dependence
from fmfair.model_based import with_model_based
from fmfair.options import OVERALL, Options
from fmfair.pairs import compare_pairs, named_references, overall_references
from fmfair.samples import Cohort
from fmfair.shared import Shared


@dataclass(frozen=True)
class Uncertainty:
    """What is added to values and gaps.

    Attributes:
        options: What the user asked for.
        level: Confidence level.
        forms: Where the limits and tests of differences come from.
    """

    options: Options
    level: float
    forms: Forms

    @classmethod
    def asked(cls, samples: Cohort, options: Options, level: float) -> Uncertainty:
        """What was asked for at a confidence level."""
        wald = options.auc_interval == "wald"
        return cls(options, level, Forms(Dependence(samples.clustered, samples.weighted, wald, not samples.has_rows)))

    def of_values(self, long: pl.DataFrame) -> pl.DataFrame:
        """The long table with the columns of `columns.INTERVALS`."""
        return with_intervals(long, self.options.metrics, self.level, self.forms.dependence)

    def of_replicates(self, long: pl.DataFrame, replicates: Replicates) -> tuple[Uncertainty, pl.DataFrame]:
        """The same from replicates in place of closed forms, and the long table with its limits from them."""
        from fmfair.bootstrap.forms import ResampledForms
        from fmfair.bootstrap.limits import with_bootstrap

        forms = ResampledForms(self.forms.dependence, replicates, self.level)
        found = with_bootstrap(long, replicates, self.options.metrics, self.level, self.forms.dependence)
        return replace(self, forms=forms), found

    def of_shared(self, groups: pl.DataFrame, found: pl.DataFrame) -> tuple[Uncertainty, pl.DataFrame]:
        """The same with how groups vary together that share patients, and the group values by which it is found.

        Args:
            groups: The group values.
            found: As `covariance.covariances` makes it.
        """
        numbered = groups.with_row_index(GROUP_ROW)
        return replace(self, forms=replace(self.forms, shared=Shared.of(numbered, found))), numbered

    def of_gaps(self, gaps: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
        """The gaps with the columns of `columns.CERTAINTY`."""
        margins = self.options.margins
        return with_certainty(gaps, groups, self.options.metrics, self.level, self.forms, margins)

    def of_groups(self, groups: pl.DataFrame, attributes: Sequence[Attribute]) -> pl.DataFrame:
        """The group values with what the user asked for beside the raw ones."""
        if not self.options.model_based:
            return groups
        return with_model_based(groups, self.options.metrics, self.level, self.forms.dependence, len(attributes))

    def of_pairs(self, groups: pl.DataFrame, whole: pl.DataFrame, attributes: Sequence[Attribute]) -> pl.DataFrame:
        """The pairs of groups of the single attributes, which come first among the groupings.

        Args:
            groups: The group values.
            whole: The values on all rows of each grouping.
            attributes: The attributes.
        """
        single = groups.filter(pl.col("grouping") < len(attributes))
        labels = {a.name: a.labels for a in attributes}
        references = named_references(self.options.reference, labels)
        with_all = overall_references(self.options.reference, labels)
        if with_all:
            beside = whole.filter(pl.col("grouping").is_in(with_all)).with_columns(
                group=pl.lit(OVERALL), in_gaps=pl.lit(value=True), whole=pl.lit(1.0)
            )
            single = pl.concat(
                [single, beside.select(c for c in beside.columns if c in (*single.columns, WHOLE))],
                how="diagonal_relaxed",
            )
        return compare_pairs(single, self.options.metrics, self.level, self.forms, references, self.options.margins)
