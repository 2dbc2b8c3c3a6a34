"""Long tables, one row per sample and attribute, as the wide table that everything else reads."""

from __future__ import annotations

from dataclasses import replace

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
    names = _attribute_names(table)
    others = [c for c in columns.needed if c not in (*columns.by, sample, "attribute", "group")]
    # Under names of our own, since Polars reads names such as `*` and `^x$` as patterns.
    index = {f"\0i{k}": name for k, name in enumerate([*columns.by, sample])}
    facts = {f"\0f{k}": name for k, name in enumerate(others)}
    rows = pl.DataFrame({new: table[name] for new, name in {**index, **facts}.items()})
    rows = rows.with_columns(table["attribute"].cast(pl.String), _as_names(table["group"]))
    keys = [*index, "attribute"]
    double = rows.filter(rows.select(keys).is_duplicated())
    if double.height:
        raise FmfairError(
            f"the long table gives {double.height} rows more than one group of the same attribute (first sample: "
            f"{double[list(index)[-1]][0]!r}); each sample and attribute has one row"
        )
    once = rows.select(*index, *facts).unique(maintain_order=True)
    differing = once.filter(once.select(list(index)).is_duplicated())
    if differing.height:
        raise FmfairError(
            f"the rows of sample {differing[list(index)[-1]][0]!r} differ in {listing(others)}; a long table repeats "
            "these for each attribute"
        )
    clash = [n for n in names if n in (*index.values(), *others)]
    if clash:
        raise FmfairError(f"attribute {listing(clash)} has the name of another column of the table; rename it")
    wide = rows.select(*keys, "group").pivot(on="attribute", on_columns=names, index=list(index), values="group")
    wide = once.join(wide, on=list(index), how="left", nulls_equal=True, maintain_order="left")
    return wide.rename({**index, **facts}), replace(columns, attributes=tuple(names), long=False)


def _as_names(groups: pl.Series) -> pl.Series:
    """The groups as text, NULL where missing: 1.0 is `1` and true is `True`, as in a column of its own."""
    if groups.dtype in (pl.Null, pl.String, pl.Categorical, pl.Enum):
        return groups.cast(pl.String)
    present = groups.fill_nan(None) if groups.dtype.is_float() else groups
    levels = present.drop_nulls().unique()
    if levels.is_empty():
        return present.cast(pl.String)
    names = pl.Series(group_names(levels), dtype=pl.String)
    return present.replace_strict(levels, names, default=None, return_dtype=pl.String)


def _attribute_names(table: pl.DataFrame) -> list[str]:
    """The attributes of the long table, in the order in which they occur."""
    for name in ("attribute", "group"):
        dtype = table[name].dtype
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            raise FmfairError(f"column {name!r} of the long table has the type {dtype}; it must hold text or numbers")
    names = table["attribute"].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()
    if not names and table.height:
        raise FmfairError("the long table names no attribute: column 'attribute' has missing values only")
    return names
