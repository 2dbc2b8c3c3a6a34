"""The rows of a database in memory, where every replicate of a bootstrap goes through them again."""

from __future__ import annotations

import polars as pl

from fmfair.database.outcomes import Table
from fmfair.measures import Engine
from fmfair.notes import Notes
from fmfair.samples import classification_samples


def engine_in_memory(table: Table) -> Engine:
    """The engine on arrays, of the needed columns of the view `source`; what it has to say was said before."""
    columns = ", ".join(f'{table.names[name]} AS "c{i}"' for i, name in enumerate(table.columns.needed))
    found = table.database.fetch(f"SELECT {columns} FROM source")
    rows = pl.DataFrame(
        [
            found[f"c{i}"].cast(table.schema[name]).alias(name) if name in table.schema else found[f"c{i}"].alias(name)
            for i, name in enumerate(table.columns.needed)
        ]
    )
    samples = classification_samples(rows, rows.lazy(), table.columns, table.options, Notes())
    return Engine(samples, table.options, Notes())
