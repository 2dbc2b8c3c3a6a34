"""The table of pairs of groups: which two differ, by how much, and what that says of the margin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from fmfair.errors import plural
from fmfair.gap_table import MARK, VERDICT, verdict_meaning
from fmfair.render import Table, visible
from fmfair.shown import (
    FEW,
    THRESHOLD,
    UNDEFINED,
    Columns,
    Shown,
    beside_groups,
    header_and_rows,
    key_columns,
    names,
    number,
    threshold_text,
)
from fmfair.shown_certainty import DIGITS, HIGH, LOW, valued, valued_or_counted

MAX_PAIRS = 12
# Where pairs alone are asked for.
MAX_ALONE = 200
SIDES = {"one_": "group", "other_": "other_group"}
# What is left out where there is no room, from the fullest form on.
VALUES, RATIO, P = "values", "ratio", "p"
FORMS = ((), (VALUES,), (VALUES, RATIO), (VALUES, RATIO, P))


def pair_table(shown: Shown, metrics: Sequence[str], reference: Mapping[str, str], *, alone: bool = False) -> Table:
    """The pairs of groups of single attributes, those with the smallest p value where there are many.

    Args:
        shown: Holds the pairs.
        metrics: The metrics to list.
        reference: The group that the others of an attribute are compared with, where one was named.
        alone: Whether no other table is printed, so that there is room for many and need of every explanation.
    """
    most = MAX_ALONE if alone else MAX_PAIRS
    wanted = shown.pairs.filter(pl.col("metric").is_in(metrics))
    named = pl.col("attribute").replace_strict(reference, default=None, return_dtype=pl.String)
    wanted = wanted.filter(pl.coalesce(pl.col("other_group") == named, True))
    ranked = (
        beside_groups(shown, wanted, SIDES).with_row_index("\0row").sort("few", "p_holm", "p_value", nulls_last=True)
    )
    rows = ranked.head(most).sort("\0row")
    full, *leaner = (_table(shown, rows, without) for without in FORMS)
    count = shown.tested.get("pairs")
    tested = f"; {plural(count, 'pair')} tested" if count else ""
    said = [f"difference: group less other group; p (Holm): adjusted within attribute and metric{tested}"]
    if alone and rows[VERDICT].count():
        said.append(verdict_meaning(shown.margins))
    if rows["few"].any():
        said.append(f"{MARK} fewer than {FEW} samples carry one of the values")
    if wanted.height > most:
        hidden = f"... {wanted.height - most:,} more, with larger p values or fewer samples"
        said.insert(0, f"{hidden}; report.pairs holds all {wanted.height:,}")
    return replace(full, remarks=tuple(said), leaner=tuple(leaner))


def _table(shown: Shown, rows: pl.DataFrame, without: Collection[str]) -> Table:
    """The rows as a table."""
    columns = [*key_columns(shown, rows, "metric"), *_thresholds(rows)]
    columns += [(group.replace("_", " "), names(rows[group])) for group in SIDES.values()]
    keys = len(columns)
    few = [(r, keys) for r, is_few in enumerate(rows["few"]) if is_few]
    columns.append(("difference", [_difference(row) for row in rows.iter_rows(named=True)]))
    for name, column in {P: "p_value", "p (Holm)": "p_holm", RATIO: "ratio"}.items():
        if name not in without and rows[column].count():
            columns.append((name, [number(v, DIGITS) for v in rows[column]]))
    if rows[VERDICT].count():
        columns.append((VERDICT, [visible(v or UNDEFINED) for v in rows[VERDICT]]))
    for side in () if VALUES in without else SIDES:
        of = rows.iter_rows(named=True)
        name = "value" if side == "one_" else "other value"
        columns.append((name, [valued_or_counted(row, DIGITS, side, interval=False) for row in of]))
    header, cells = header_and_rows(columns)
    return Table("Pairs of groups", header, cells, keys, marked=frozenset(few), mark=MARK)


def _difference(row: Mapping[str, object]) -> str:
    return valued({"value": row["difference"], LOW: row[LOW], HIGH: row[HIGH]}, DIGITS)


def _thresholds(rows: pl.DataFrame) -> Columns:
    """The thresholds, where there are several."""
    pairs = rows.select(THRESHOLD)
    several = pairs.drop_nulls("threshold_rule").n_unique() > 1
    return [("threshold", [threshold_text(*pair) for pair in pairs.iter_rows()])] if several else []
