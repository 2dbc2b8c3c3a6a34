"""The table of counts of one table of rows: two passes by the engine, then names and checks on what came back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import polars as pl

from fmfair import labels, scores
from fmfair.attributes import Attribute
from fmfair.columns import COUNTS, GROUPS, LIST_OF_TEXT, ROLE_NAMES, normalise
from fmfair.counting import dense, query
from fmfair.counting.facts import Facts, scales
from fmfair.counting.keys import Counted, Key, Names, expressions, keys_of, named_groups, packs
from fmfair.counting.levels import NUMBER
from fmfair.counting.suppression import suppressed, suppressed_facts
from fmfair.counting.table import added
from fmfair.errors import FmfairError, Problems, listing, plural
from fmfair.groupings import groupings
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.roles import Columns, as_names, find_columns
from fmfair.scores import ScoreFacts

# Columns that `evaluate` finds by name and counts do not use.
UNUSED = {*ROLE_NAMES["y_pred"], *ROLE_NAMES["y_logit"]}
# A column of more different labels is another column.
MAX_LABELS = 10_000
_PARTS = ("attribute_parts", "group_parts")
SUMS = ("n", "n_pos", "sum_r", "sum_r_pos", "sum_rr", "sum_bce")


def counted(
    frame: Any, given: Mapping[str, Any], options: Options, grid: int, least: int | None, notes: Notes
) -> pl.DataFrame:
    """The table of counts.

    Args:
        frame: The rows, in any engine.
        given: The arguments y_true, y_score, attributes, by, bins of `counts`.
        options: What else was asked for.
        grid: Number of score bins.
        least: The smallest number of rows that may be read; None for all.
        notes: Says what was found by name, left out or assumed.

    Raises:
        FmfairError: The input cannot be used.
    """
    source, schema = query.source_of(frame)
    columns = _columns(schema, given, notes)
    by = {f"b{i}": name for i, name in enumerate(columns.by)}
    attributes = {f"a{i}": name for i, name in enumerate(columns.attributes)}
    stand_ins = [Attribute(name, "", ("",), declared=False) for name in columns.attributes]
    wanted = [tuple(g.attribute_parts) for g in groupings(stand_ins, options.intersections)]
    rows = query.named(source, {"y": columns.y_true[0], "s": columns.y_score[0], **by, **attributes})
    rows = rows.with_columns(_score(rows, columns.y_score[0], schema, options).alias("s"))
    keys = keys_of(rows, attributes, schema, options, notes)
    coded, kind = _labels_and_scale(rows, columns, schema, options, notes)
    rows = rows.with_columns(*expressions(keys), label=_label(coded, schema[columns.y_true[0]]))
    binned = query.binned(rows, grid=grid, scales=scales(grid), logit=kind == "logit")
    tables = _packed(binned, keys, list(by), wanted, query.cells(grid))
    groups = _groups(tables, keys, options, notes)
    facts = Facts(
        grid,
        *scales(grid),
        score_type=kind,
        groupings=tuple(wanted),
        positive=None if options.positive is None else str(options.positive),
        ignore=tuple(map(str, options.ignore)),
        missing_groups=options.missing_groups,
    )
    cells = pl.concat([_cells(parts, tables, keys, groups, by, schema) for parts in [(), *wanted]])
    cells = pl.concat([cells, *(_unused(groups[key.name], key.name, list(by), cells) for key in keys)])
    _note_missing(cells, options, notes)
    if least is not None:
        declared = {key.name: _declared(groups[key.name]) for key in keys}
        cells = suppressed(cells, facts, list(by), least, declared, notes)
        facts = suppressed_facts(facts, least)
    elif options.missing_groups == "drop":
        cells = cells.filter(~pl.col("group_parts").list.eval(pl.element().is_null()).list.any())
    order = pl.LazyFrame(
        {"attribute_parts": [[k.name] for k in keys], "levels": [groups[k.name].levels for k in keys]},
        schema={"attribute_parts": LIST_OF_TEXT, "levels": pl.String},
    )
    whole = cells.lazy().join(order, on="attribute_parts", how="left", maintain_order="left").collect()
    return added(pl.DataFrame({by.get(c.name, c.name): c for c in whole.iter_columns()}), facts, "the counts")


def _columns(schema: pl.Schema, given: Mapping[str, Any], notes: Notes) -> Columns:
    """Which column plays which part; one column of labels and one of scores."""
    named = {name for role in ("y_true", "y_score", "attributes", "by") for name in as_names(given[role])}
    known = {n: t for n, t in schema.items() if n in named or normalise(n) not in UNUSED}
    others = dict.fromkeys(("y_pred", "y_logit", "labels", "sample_id", "cluster", "weight"))
    columns = find_columns(known, {**others, **given}, notes)
    problems = Problems()
    if columns.long:
        problems.add("a long table (columns attribute and group) cannot be counted; give one row per sample")
    for role, several in (("y_true", columns.y_true), ("y_score", columns.y_score)):
        if len(several) > 1:
            problems.add(f"{role}={list(several)!r}: counts take one column; name that of the positive class")
    clashing = [name for name in columns.by if name in COUNTS or name in GROUPS]
    if clashing:
        problems.add(f"by-key {listing(clashing)} has the name of a column of the results; rename it")
    for name in columns.by:
        if schema[name].is_nested() or schema[name] in (pl.Object, pl.Binary):
            problems.add(f"by-key {name!r} has the type {schema[name]}; it must hold text, numbers or dates")
    problems.raise_if_any()
    return columns


def _score(rows: nw.LazyFrame[Any], name: str, schema: pl.Schema, options: Options) -> nw.Expr:
    """The score in Float64; texts that mean missing are NULL."""
    dtype, column = schema[name], nw.col("s")
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return column.cast(nw.Float64)
    if dtype != pl.String or query.keeps_rows(rows):
        raise FmfairError(f"y_score: column {name!r} has the type {dtype}, expected numbers; cast it first")
    (head,) = query.collected([rows.select("s").head(query.SAMPLE)])
    scores.as_float(head["s"], name, "y_score", options.missing_values)
    kept = nw.when(~column.is_in(list(options.missing_values))).then(column) if options.missing_values else column
    return kept.cast(nw.Float64)


def _labels_and_scale(
    rows: nw.LazyFrame[Any], columns: Columns, schema: pl.Schema, options: Options, notes: Notes
) -> tuple[pl.DataFrame, str]:
    """Every label `y` with its `code` (1, 0, NULL where left out), and whether scores are probabilities or logits."""
    name, score = columns.y_true[0], columns.y_score[0]
    labels.check_type(pl.Series(name, [], dtype=schema[name]), name)
    (kinds,) = query.collected([query.per_label(rows).head(4 * MAX_LABELS + 1)])
    if kinds.is_empty():
        raise FmfairError("the table has no rows")
    found = kinds.group_by("y").agg(pl.col("rows").sum())
    if found.height > MAX_LABELS:
        raise FmfairError(f"y_true: column {name!r} has more than {MAX_LABELS:,} different values; is it the labels?")
    values = found["y"].cast(schema[name]) if isinstance(schema[name], pl.Enum) else found["y"]
    code = labels.binary(values, name, options, notes, tally=Counted(found["rows"]))
    coded = found.select("y", code.alias("code"))
    used = kinds.join(coded, on="y", nulls_equal=True).filter(pl.col("code").is_not_null())
    rows_of = dict(used.group_by("kind").agg(pl.col("rows").sum()).iter_rows())
    missing, infinite = rows_of.pop(query.MISSING, 0), rows_of.pop(query.INFINITE, 0)
    where = Counted(used["rows"]).at(used["rows"])
    if missing or infinite:
        scores.leave_out(score, missing, infinite, lambda: where, options, notes)
    if not rows_of:
        raise FmfairError("no row is left to evaluate" + (f" ({'; '.join(notes)})" if notes else ""))
    finite = used.filter(pl.col("kind").is_in(list(rows_of)))
    low, high = float(finite["low"].min()), float(finite["high"].max())  # type: ignore[arg-type]
    facts = ScoreFacts(
        score,
        rows=sum(rows_of.values()),
        low=low,
        high=high,
        outside=rows_of.get(query.OUTSIDE, 0),
        examples=lambda: [v for v in dict.fromkeys((low, high)) if not 0.0 <= v <= 1.0],
        where=lambda: where,
    )
    scale = scores.read_scale([facts], lambda: True, options, notes)
    if not scale.is_probability:
        raise FmfairError(
            f"y_score: column {score!r} (scores from {low:.6g} to {high:.6g}) holds ranks, which have no fixed range "
            "to put a grid of bins on; give probabilities, or logits with score_type='logit'"
        )
    return coded, scale.kind


def _label(coded: pl.DataFrame, dtype: pl.DataType) -> nw.Expr:
    """What a row's label says."""
    label, values = nw.col("y"), coded["y"]
    if isinstance(dtype, pl.Enum | pl.Categorical):
        label, values = label.cast(nw.String), values.cast(pl.String)
    said = nw.lit(query.LEFT_OUT)
    for code, meaning in ((0, query.NEGATIVE), (1, query.POSITIVE)):
        listed = values.filter(coded["code"] == code).to_list()
        if listed:
            same = label.is_in(listed) if listed[1:] else label == listed[0]
            said = nw.when(same).then(meaning).otherwise(said)
    return said


def _packed(
    binned: nw.LazyFrame[Any], keys: Sequence[Key], by: list[str], wanted: Sequence[tuple[str, ...]], cells: int
) -> dict[tuple[str, ...], pl.DataFrame]:
    """The counts of every pack of attributes: by-keys, keys, `bin`, `rows` and the sums."""
    column = {key.name: key.column for key in keys}
    columns = {pack: [*by, *(column[a] for a in pack)] for pack in packs(keys, wanted)}
    tables = dense.summed(binned, list(columns.values()), cells)
    if tables is None:
        tables = query.collected([query.summed(binned, [*of, "cell"]) for of in columns.values()])
    number, used, positive = query.of_cell()
    sums = {
        "rows": pl.col("rows"),
        "n": pl.col("rows") * used,
        "n_pos": pl.col("rows") * positive,
        "sum_r": pl.col("r") * used,
        "sum_r_pos": pl.col("r") * positive,
        "sum_rr": pl.col("rr") * used,
        "sum_bce": pl.when(used).then("bce").otherwise(0.0),
    }
    aggregates = [of.sum().alias(name) for name, of in sums.items()]
    return {
        pack: table.with_columns(pl.col("rows").cast(pl.Int64)).group_by(*of, number.alias("bin")).agg(aggregates)
        for (pack, of), table in zip(columns.items(), tables, strict=True)
    }


def _groups(
    tables: Mapping[tuple[str, ...], pl.DataFrame], keys: Sequence[Key], options: Options, notes: Notes
) -> dict[str, Names]:
    """The groups of every attribute."""
    problems = Problems()
    found = {}
    for key in keys:
        counts = next(table for pack, table in tables.items() if key.name in pack)
        with problems.collecting():
            found[key.name] = named_groups(counts, key, options, notes)
    problems.raise_if_any()
    return found


def _cells(
    parts: tuple[str, ...],
    tables: Mapping[tuple[str, ...], pl.DataFrame],
    keys: Sequence[Key],
    groups: Mapping[str, Names],
    by: Mapping[str, str],
    schema: pl.Schema,
) -> pl.DataFrame:
    """The rows of one grouping, missing groups included."""
    column = {key.name: key.column for key in keys}
    table = next(table for pack, table in tables.items() if set(parts) <= set(pack)).lazy()
    for i, name in enumerate(parts):
        of = groups[name].of.rename({"raw": column[name], "group": f"\0{i}"})
        table = table.join(of.lazy(), on=column[name], how="left", nulls_equal=True)
    named = [pl.col(f"\0{i}") for i in range(len(parts))]
    group = pl.concat_list(named) if parts else pl.lit(pl.Series([[]], dtype=LIST_OF_TEXT)).first()
    summed = table.group_by(*by, *named, "bin").agg(pl.col(SUMS).sum())
    keys_back = [pl.col(c).cast(schema[n]) if isinstance(schema[n], pl.Enum) else pl.col(c) for c, n in by.items()]
    return summed.select(
        *keys_back,
        pl.lit(pl.Series([list(parts)], dtype=LIST_OF_TEXT)).first().alias("attribute_parts"),
        group.alias("group_parts"),
        "bin",
        (pl.col("bin") + 1).alias("bin_end"),
        *SUMS,
        pl.lit(0, pl.Int32).alias("left_out"),
    ).collect()


def _declared(names: Names) -> list[str]:
    """The declared levels; none where there are none."""
    levels = json.loads(names.levels) if names.levels else NUMBER
    return levels if isinstance(levels, list) else []


def _unused(names: Names, attribute: str, by: list[str], cells: pl.DataFrame) -> pl.DataFrame:
    """A row without samples for every declared level in every by-key: levels that do not occur are listed too."""
    levels = _declared(names)
    if not levels:
        return cells.clear()
    keys = cells.select(by).unique() if by else pl.DataFrame(height=1)
    rows = keys.join(pl.DataFrame({"level": levels}, schema={"level": pl.String}), how="cross")
    none = [pl.lit(int(c == "bin_end")).cast(t).alias(c) for c, t in cells.schema.items() if c not in (*by, *_PARTS)]
    attribute_parts = pl.lit(pl.Series([[attribute]], dtype=LIST_OF_TEXT)).first().alias("attribute_parts")
    return rows.select(*by, attribute_parts, pl.concat_list("level").alias("group_parts"), *none)


def _note_missing(cells: pl.DataFrame, options: Options, notes: Notes) -> None:
    if options.missing_groups == "keep":
        return
    missing = cells.filter(
        (pl.col("attribute_parts").list.len() == 1) & pl.col("group_parts").list.first().is_null() & (pl.col("n") > 0)
    )
    counted_rows = missing.group_by(pl.col("attribute_parts").list.first(), maintain_order=True).agg(pl.col("n").sum())
    for name, rows in counted_rows.iter_rows():
        notes.warn(
            f"{name}: {plural(rows, 'row')} with a missing value left out for this attribute "
            "(missing_groups='keep' shows them as a group)"
        )
