"""Long tables, one row per sample and attribute, as the wide table that everything else reads."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fmfair.errors import FmfairError, listing
from fmfair.roles import Columns


def widen(table: pl.DataFrame, columns: Columns) -> tuple[pl.DataFrame, Columns]:
    """One row per sample and by-key, with a column per attribute.

    Raises:
        FmfairError: A sample has two groups of one attribute, or its rows differ in label, score or weight.
    """
    index = [*columns.by, str(columns.sample_id)]
    names = table["attribute"].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()
    keys = [*index, "attribute"]
    double = table.filter(table.select(keys).is_duplicated())
    if double.height:
        raise FmfairError(
            f"the long table gives {double.height} rows more than one group of the same attribute (first sample: "
            f"{double[str(columns.sample_id)][0]!r}); each sample and attribute has one row"
        )
    others = [c for c in columns.needed if c not in (*index, "attribute", "group")]
    facts = table.select(*index, *others).unique(maintain_order=True)
    if facts.select(index).is_duplicated().any():
        sample = facts.filter(facts.select(index).is_duplicated())[str(columns.sample_id)][0]
        raise FmfairError(
            f"the rows of sample {sample!r} differ in {listing(others)}; a long table repeats these for each attribute"
        )
    clash = [n for n in names if n in facts.columns]
    if clash:
        raise FmfairError(f"attribute {listing(clash)} has the name of another column of the table; rename it")
    wide = table.select(*keys, pl.col("group").cast(pl.String)).pivot(
        on="attribute", on_columns=names, index=index, values="group"
    )
    wide = facts.join(wide, on=index, how="left", nulls_equal=True, maintain_order="left")
    return wide, replace(columns, attributes=tuple(names), long=False)
