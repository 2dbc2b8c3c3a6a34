"""Pairs of groups: differences and ratios of two groups with their intervals, tests and Holm correction.

All pairs of the groups of an attribute, or where it has very many groups each of them with the reference. The
difference is that of `group` less `other_group`, which is the reference where it is one of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.columns import PAIRS
from fmfair.errors import Problems, listing, near
from fmfair.forms import Forms, has_ratio, told
from fmfair.gaps import PLACE
from fmfair.intervals import Values
from fmfair.metrics.metric import Metric
from fmfair.options import OVERALL
from fmfair.statistics.multiplicity import holm

# With more groups than this only the pairs with the reference are compared.
MOST_GROUPS = 20
# Sums taken in another order differ that much.
ZERO = 1e-12
EXCLUDED, SHOWN, CANNOT_TELL = "excluded", "shown", "cannot tell"


def compare_pairs(
    groups: pl.DataFrame,
    metrics: Sequence[Metric],
    level: float,
    forms: Forms,
    references: Mapping[int, str],
    margins: Mapping[str, float],
) -> pl.DataFrame:
    """One row per pair of groups and metric: `PLACE`, and the columns of `columns.PAIRS` that are not names.

    Args:
        groups: The group values of single attributes, with what is known of their spread.
        metrics: The metrics behind `order`.
        level: Confidence level of each pair.
        forms: Where limits and tests come from.
        references: The reference group of a grouping; the largest where none is named.
        margins: By the name of a metric, the difference that matters.
    """
    usable = groups.filter(pl.col("in_gaps") & pl.col("value").is_not_null())
    first, second = _paired(usable, references)
    order, values = usable["order"].to_numpy()[first], Values(usable)
    pairs, parts = [np.empty(0, dtype=np.intp)], [pl.DataFrame(schema=_FOUND)]
    for metric, pair in forms.alike(dict(enumerate(metrics)), order):
        pairs.append(pair)
        parts.append(_compared(values.at(first[pair]), values.at(second[pair]), metric, level, forms))
    of = np.concatenate(pairs)
    names = usable.select(*PLACE, *_NAMES)
    table = names[first[of]].with_columns(names["group"][second[of]].alias("other_group"))
    table = table.hstack(pl.concat(parts, how="diagonal")).with_columns(verdict=verdicts(margins))
    family = table.select(pl.struct(PLACE).rank("dense")).to_series().cast(pl.Int64).to_numpy()
    adjusted = holm(table["p_value"].fill_null(np.nan).to_numpy(), family)
    return table.with_columns(pl.Series("p_holm", adjusted).fill_nan(None)).sort(PLACE, maintain_order=True)


_NAMES = ("metric", "threshold", "threshold_rule", "group")
# What the forms give of two groups.
_NUMBERS = ("value", "other_value", "difference", "ci_low", "ci_high", "p_value", "ratio", "ratio_low", "ratio_high")
_FOUND = {name: PAIRS[name] for name in (*_NUMBERS, "ci_method", "p_method", "note")}


def _paired(rows: pl.DataFrame, references: Mapping[int, str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The positions of the two groups of every pair, the reference second."""
    named = pl.col("grouping").replace_strict(references, default=None, return_dtype=pl.String)
    largest = pl.col("n") == pl.col("n").max()
    is_reference = pl.coalesce(pl.col("group") == named, largest)
    ranked = rows.with_row_index("row").with_columns(
        is_reference.cast(pl.UInt8).arg_max().over(PLACE).alias("at"), pl.int_range(pl.len()).over(PLACE).alias("place")
    )
    ranked = ranked.select("row", *PLACE, "place", (pl.col("at") == pl.col("place")).alias("reference"))
    few = pl.len().over(PLACE) <= MOST_GROUPS
    ranked = ranked.with_columns(few.alias("few"))
    others = ranked.filter(pl.col("few") | pl.col("reference"))  # of very many groups all pairs would fill the memory
    pairs = ranked.join(others, on=PLACE, how="inner", nulls_equal=True, maintain_order="left_right", suffix="_other")
    wanted = pl.col("reference_other") | (
        pl.col("few") & ~pl.col("reference") & (pl.col("place") < pl.col("place_other"))
    )
    pairs = pairs.filter(wanted & (pl.col("row") != pl.col("row_other")))
    return pairs["row"].to_numpy().astype(np.intp), pairs["row_other"].to_numpy().astype(np.intp)


def _compared(first: Values, second: Values, metric: Metric, level: float, forms: Forms) -> pl.DataFrame:
    value, other = first["value"], second["value"]
    found = forms.differences(first, second, metric, level)
    columns: dict[str, NDArray[np.float64]] = {
        "value": value,
        "other_value": other,
        "difference": value - other,
        "ci_low": found.difference.low,
        "ci_high": found.difference.high,
        "p_value": found.p,
    }
    if has_ratio(metric):
        something = other > ZERO  # what rounding leaves of 0 would give a ratio of any size
        columns["ratio"] = np.divide(value, other, out=np.full(len(first), np.nan), where=something)
        for end, limit in (("low", found.ratio.low), ("high", found.ratio.high)):
            columns[f"ratio_{end}"] = np.where(something, limit, np.nan)
    return pl.DataFrame(columns, nan_to_null=True).with_columns(
        # No name of a method where it gave nothing.
        ci_method=told(found.method, ~np.isnan(found.difference.low)),
        p_method=told(found.p_method, ~np.isnan(found.p)),
        note=told(found.note),
    )


def verdicts(margins: Mapping[str, float]) -> pl.Expr:
    """What the interval `ci_low` to `ci_high` says of a difference larger than the margin of its metric."""
    of_each = [pl.when(pl.col("metric") == name).then(_verdict(margin)) for name, margin in margins.items()]
    return pl.coalesce(*of_each, pl.lit(None, pl.String))


def _verdict(margin: float) -> pl.Expr:
    low, high = pl.col("ci_low"), pl.col("ci_high")
    return (
        pl.when(low.is_null())
        .then(None)
        .when((low > -margin) & (high < margin))
        .then(pl.lit(EXCLUDED))
        .when((low > margin) | (high < -margin))
        .then(pl.lit(SHOWN))
        .otherwise(pl.lit(CANNOT_TELL))
    )


def overall_references(reference: Mapping[str, str], groups: Mapping[str, Sequence[str]]) -> list[int]:
    """The positions of the attributes whose groups are compared with all rows, unless a group is called so."""
    return [
        position
        for position, (attribute, names) in enumerate(groups.items())
        if reference.get(attribute) == OVERALL and OVERALL not in names
    ]


def named_references(reference: Mapping[str, str], groups: Mapping[str, Sequence[str]]) -> dict[int, str]:
    """The reference group of each attribute that one is named for, by the position of the attribute.

    Args:
        reference: The reference group by attribute.
        groups: The groups of every attribute.

    Raises:
        FmfairError: There is no such attribute or group.
    """
    problems, found = Problems(), {}
    for attribute, group in reference.items():
        if attribute not in groups:
            problems.add(f"reference: {attribute!r} is none of the attributes {listing(groups)}")
        elif group not in (*groups[attribute], OVERALL):
            names = groups[attribute]
            problems.add(
                f"reference: {attribute} has no group {group!r}{near(group, names)}; there are {listing(names)}"
            )
        else:
            found[list(groups).index(attribute)] = group
    problems.raise_if_any()
    return found
