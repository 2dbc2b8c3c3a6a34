"""Attributes that are numbers, coded before profiles are made of them: an age has more values than groups."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fmfair.attributes import Attribute, encode
from fmfair.columns import normalise
from fmfair.database.outcomes import Table
from fmfair.errors import Problems
from fmfair.notes import Notes


def coded(table: Table) -> tuple[Table, dict[str, tuple[Attribute, Notes]]]:
    """The table with the code in place of each such attribute; the attributes, and what is to be said of each.

    Raises:
        FmfairError: The bins do not fit the values.
    """
    found: dict[str, tuple[Attribute, Notes]] = {}
    names, schema, problems = dict(table.names), dict(table.schema), Problems()
    for i, name in enumerate(table.columns.attributes):
        if name not in table.options.bins and not (normalise(name) == "age" and table.schema[name].is_numeric()):
            continue
        with problems.collecting():
            levels, notes = table.levels(f"numbers_{i}", [name]), Notes()
            attribute, codes = encode(levels.frame[name], name, f"g{i}", table.options, notes, levels.tally)
            table.database.put(f"codes_{i}", pl.DataFrame([codes.alias("code")]).with_row_index("id"))
            table.database.run(
                f"ALTER VIEW source RENAME TO source_{i}; "
                f"CREATE OR REPLACE TEMP VIEW source AS SELECT source_{i}.*, codes_{i}.code AS g{i} FROM source_{i} "
                f"JOIN {levels.table} ON {levels.matches(f'source_{i}')} "
                f"JOIN codes_{i} ON codes_{i}.id = {levels.table}.id"
            )
            names[name], schema[name] = f"g{i}", pl.UInt32()
            found[name] = attribute, notes
    problems.raise_if_any()
    return replace(table, names=names, schema=pl.Schema(schema)), found
