"""The tables of `fmfair score`: predictions with their metadata, and what must be done to rows and paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from fmfair import readers
from fmfair.errors import FmfairError
from fmfair.evaluation import read_source
from fmfair.notes import Notes
from fmfair.roles import Columns


def table_path(given: Mapping[str, Any]) -> str:
    """The path of the predictions, an argument or an option."""
    paths = [path for path in (given["predictions"], given["table_option"]) if path is not None]
    if len(paths) != 1:
        raise FmfairError("name one table of predictions, for example: fmfair score predictions.csv --sensitive sex")
    return str(paths[0])


def predictions(given: Mapping[str, Any], notes: Notes) -> pl.LazyFrame:
    """The predictions, with the metadata joined to them."""
    path, on = table_path(given), given["on"]
    if given["metadata"] is None and on is not None:
        raise FmfairError("--on names the column that joins --metadata; give that table too")
    if on is not None and "=" in on and on not in readers.column_names(readers.scan(path)):
        left, _, right = on.partition("=")
        on = (left.strip(), right.strip())
    return read_source(path, given["metadata"], on, notes)


def complete_rows(source: pl.LazyFrame, given: Mapping[str, Any], columns: Columns, notes: Notes) -> pl.LazyFrame:
    """With the FairMedFM conventions, only rows that have a label and scores, as that package's command line does.

    Its Python functions refuse such rows, and so do ours; `--missing-labels raise` and `--missing-scores raise` keep
    it so here.
    """
    if given["conventions"] != "fairmedfm" or columns.pairs:
        return source
    schema = readers.schema(source)
    wanted = [] if given["missing_labels"] == "raise" else [*columns.y_true]
    wanted += [] if given["missing_scores"] == "raise" else [*columns.y_score]
    present = [pl.lit(True)]
    for name in wanted:
        column = cs.by_name(name).as_expr()
        present.append(column.is_not_null())
        present += [column.is_not_nan()] if schema[name].is_float() else []
        present += [~column.is_in(list(given["missing_values"] or []))] if schema[name] == pl.String else []
    complete = source.filter(pl.all_horizontal(present))
    everything, usable = (readers.collect(t.select(n=pl.len()), ["n"]).item() for t in (source, complete))
    if everything > usable:
        notes.say(f"{notes.counted(everything - usable, 'row')} with a missing label or score left out")
    return complete


def mask_paths(source: pl.LazyFrame, columns: Columns, table: str) -> pl.LazyFrame:
    """The table with the paths of its masks, relative ones from its folder."""
    return source.with_columns(_in_folder(columns.values[role], table) for role in ("pred_mask", "true_mask"))


def _in_folder(column: str, table: str) -> pl.Expr:
    place = Path(table).expanduser()
    folder = place if place.is_dir() else place.parent

    def joined(paths: pl.Series) -> pl.Series:
        return pl.Series(paths.name, [None if p is None else str(folder / p) for p in paths], dtype=pl.String)

    return cs.by_name(column).as_expr().cast(pl.String).map_batches(joined, return_dtype=pl.String)
