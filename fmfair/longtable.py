"""Long tables, one row per sample and attribute, as the wide table that everything else reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fmfair.attributes import group_names
from fmfair.errors import FmfairError, listing
from fmfair.roles import Columns


def widen(table: pl.DataFrame, columns: Columns) -> tuple[pl.DataFrame, Columns]:
    """One row per sample and by-key, with a column per attribute.

    Raises:
        FmfairError: A sample has two groups of one attribute, or its rows differ in label, score or weight.
    """
    sample = str(columns.sample_id)
    names = attribute_names(table["attribute"], table["group"].dtype)
    others = facts_of(columns)
    # Under names of our own, since Polars reads names such as `*` and `^x$` as patterns.
    index = {f"\0i{k}": name for k, name in enumerate([*columns.by, sample])}
    facts = {f"\0f{k}": name for k, name in enumerate(others)}
    rows = pl.DataFrame({new: table[name] for new, name in {**index, **facts}.items()})
    rows = rows.with_columns(table["attribute"].cast(pl.String), as_names(table["group"]))
    keys = [*index, "attribute"]
    double = rows.filter(rows.select(keys).is_duplicated())
    if double.height:
        refuse_repeated(double.height, double[list(index)[-1]][0])
    once = rows.select(*index, *facts).unique(maintain_order=True)
    differing = once.filter(once.select(list(index)).is_duplicated())
    if differing.height:
        refuse_differing(differing[list(index)[-1]][0], others)
    widened = with_attributes(columns, names)
    wide = rows.select(*keys, "group").pivot(on="attribute", on_columns=names, index=list(index), values="group")
    wide = once.join(wide, on=list(index), how="left", nulls_equal=True, maintain_order="left")
    return wide.rename({**index, **facts}), widened


def facts_of(columns: Columns) -> list[str]:
    """The columns that every row of a sample repeats."""
    return [c for c in columns.needed if c not in (*columns.by, columns.sample_id, "attribute", "group")]


def with_attributes(columns: Columns, names: Sequence[str]) -> Columns:
    """The columns of the wide table.

    Raises:
        FmfairError: An attribute has the name of another column.
    """
    clash = [n for n in names if n in (*columns.by, columns.sample_id, *facts_of(columns))]
    if clash:
        raise FmfairError(f"attribute {listing(clash)} has the name of another column of the table; rename it")
    return replace(columns, attributes=tuple(names), long=False)


def refuse_repeated(rows: int, sample: Any) -> None:
    """Raises where rows give a sample more than one group of an attribute."""
    raise FmfairError(
        f"the long table gives {rows} rows more than one group of the same attribute (first sample: {sample!r}); each "
        "sample and attribute has one row"
    )


def refuse_differing(sample: Any, facts: Sequence[str]) -> None:
    """Raises where the rows of a sample differ in what they repeat."""
    raise FmfairError(
        f"the rows of sample {sample!r} differ in {listing(facts)}; a long table repeats these for each attribute"
    )


def as_names(groups: pl.Series) -> pl.Series:
    """The groups as text, NULL where missing: 1.0 is `1` and true is `True`, as in a column of its own."""
    if groups.dtype in (pl.Null, pl.String, pl.Categorical, pl.Enum):
        return groups.cast(pl.String)
    present = groups.fill_nan(None) if groups.dtype.is_float() else groups
    levels = present.drop_nulls().unique()
    if levels.is_empty():
        return present.cast(pl.String)
    names = pl.Series(group_names(levels), dtype=pl.String)
    return present.replace_strict(levels, names, default=None, return_dtype=pl.String)


def attribute_names(attributes: pl.Series, group_type: pl.DataType) -> list[str]:
    """The attributes of the long table, in the order in which they occur.

    Raises:
        FmfairError: The column of attributes or of groups has a type that names nothing, or no attribute is named.
    """
    for name, dtype in (("attribute", attributes.dtype), ("group", group_type)):
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            raise FmfairError(f"column {name!r} of the long table has the type {dtype}; it must hold text or numbers")
    names = attributes.drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()
    if not names and len(attributes):
        raise FmfairError("the long table names no attribute: column 'attribute' has missing values only")
    return names
