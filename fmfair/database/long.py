"""A long source, one row per sample and attribute, made wide: the SQL twin of `fmfair.longtable`."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fmfair.database.outcomes import Table
from fmfair.longtable import (
    as_names,
    attribute_names,
    facts_of,
    refuse_differing,
    refuse_repeated,
    with_attributes,
)


def widened(table: Table) -> Table:
    """The table with one row per sample and by-key, and a column per attribute; a wide table as it is.

    Raises:
        FmfairError: A sample has two groups of one attribute, or its rows differ in what they repeat.
    """
    if not table.columns.long:
        return table
    database, names = table.database, table.names
    attribute, sample = names["attribute"], names[str(table.columns.sample_id)]
    found = database.fetch(
        f"SELECT {attribute} AS attribute FROM (SELECT *, row_number() OVER () AS row FROM source) "
        "GROUP BY ALL ORDER BY min(row)"
    )["attribute"]
    attributes = attribute_names(found.cast(table.schema["attribute"]), table.schema["group"])
    columns = with_attributes(table.columns, attributes)
    index = [*(names[name] for name in table.columns.by), sample]
    facts = [names[name] for name in facts_of(table.columns)]
    _refuse(table, index, facts)
    groups = table.levels("groups", ["group"])
    shown = as_names(groups.frame["group"]).alias("name")
    database.put("group_names", pl.DataFrame([shown]).with_row_index("id"))
    database.put("attribute_names", pl.DataFrame({"name": attributes}).with_row_index("k"))
    new = {name: f"a{i}" for i, name in enumerate(attributes)}
    values = [f"max(group_names.name) FILTER (WHERE attribute_names.k = {i}) AS a{i}" for i in range(len(new))]
    database.run(
        f"CREATE OR REPLACE TEMP TABLE wide AS SELECT {', '.join([f'source.{c}' for c in index])}, "
        f"{', '.join([*(f'first(source.{c}) AS {c}' for c in facts), *values])} FROM source "
        f"LEFT JOIN attribute_names ON CAST(source.{attribute} AS VARCHAR) = attribute_names.name "
        f"LEFT JOIN {groups.table} ON {groups.matches('source')} LEFT JOIN group_names ON group_names.id = groups.id "
        f"GROUP BY {', '.join(f'source.{c}' for c in index)}; "
        "CREATE OR REPLACE TEMP VIEW source AS FROM wide"
    )
    schema = pl.Schema({**table.schema, **dict.fromkeys(attributes, pl.String())})
    return replace(table, schema=schema, columns=columns, names={**names, **new})


def _refuse(table: Table, index: list[str], facts: list[str]) -> None:
    keys = ", ".join(index)
    counted = f"SELECT {index[-1]} AS sample, count(*) AS rows FROM source GROUP BY {keys}, {table.names['attribute']}"
    double = table.database.fetch(
        f"SELECT sample, sum(rows) OVER ()::BIGINT AS total FROM ({counted}) WHERE rows > 1 LIMIT 1"
    )
    if double.height:
        refuse_repeated(double["total"][0], double["sample"][0])
    once = f"SELECT DISTINCT {', '.join([*index, *facts])} FROM source"
    differing = table.database.fetch(
        f"SELECT {index[-1]} AS sample FROM ({once}) GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"
    )
    if differing.height:
        refuse_differing(differing["sample"][0], facts_of(table.columns))
