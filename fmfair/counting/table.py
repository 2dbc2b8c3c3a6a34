"""The table of counts: what one may hold, and one form for the same counts however they came."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import polars as pl

from fmfair.columns import COUNTS, LIST_OF_TEXT
from fmfair.counting.facts import MAX_ROWS_LOG2, Facts, differing, of_all, read_facts
from fmfair.counting.levels import agreed_levels
from fmfair.errors import FmfairError, Problems, listing, plural
from fmfair.groupings import join_parts

SUMS = ("n", "n_pos", "sum_r", "sum_r_pos", "sum_rr", "sum_bce", "left_out")
_LISTS = {"attribute_parts", "group_parts"}
# What the missing group is called where it is shown.
MISSING = "(missing)"


def by_keys(table: pl.DataFrame) -> list[str]:
    """The by-keys of a table of counts: the columns that are not declared."""
    return [name for name in table.columns if name not in COUNTS]


def plain_keys(table: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """The table with by-keys under names of our own, since Polars reads names such as `*` as patterns; and theirs."""
    names = {f"\0k{i}": name for i, name in enumerate(by_keys(table))}
    own = {name: plain for plain, name in names.items()}
    return table.rename(own), names


def group_name(parts: Sequence[str | None]) -> str:
    """The display name of a group; nothing for all rows."""
    return join_parts([MISSING if p is None else p for p in parts]) if parts else ""


def checked(table: pl.DataFrame, name: str = "the counts") -> tuple[pl.DataFrame, Facts]:
    """A table of counts from outside in its one form, and its facts.

    Raises:
        FmfairError: It is no table of counts, or holds what cannot be counts; all problems are reported.
    """
    with_types = _typed(_completed(table), name)
    facts = _one_set_of_facts(with_types, name)
    _check_values(with_types, facts, name)
    return added(with_types, facts, name), facts


def added(table: pl.DataFrame, facts: Facts, name: str) -> pl.DataFrame:
    """Rows of the same group and bin added up, in the table's one order.

    Raises:
        FmfairError: The levels of an attribute contradict each other, or a bin holds too many rows.
    """
    plain, names = plain_keys(table)
    rows, parts = with_grouping(plain, facts)
    cell = [*names, "\0grouping", *parts]
    summed = rows.lazy().group_by(*cell, "bin", "bin_end").agg(pl.col(*SUMS).sum()).collect()
    largest = summed.select(pl.col("n").max()).item()
    if largest is not None and largest > 2**MAX_ROWS_LOG2:
        raise FmfairError(f"{name}: a score bin holds {largest:,} rows, more than 2^31; count on a finer grid")
    some = summed.filter((pl.col("n") > 0) | (pl.col("left_out") > 0))
    # A group without any row keeps one that says there is such a group.
    none = summed.select(cell).unique().join(some, on=cell, how="anti", nulls_equal=True)
    none = none.with_columns(pl.lit(int(c == "bin_end")).cast(COUNTS[c]).alias(c) for c in ("bin", "bin_end", *SUMS))
    whole = pl.concat([some, none.select(some.columns)]).sort(*cell, "bin", "bin_end", nulls_last=True)
    groups = _group_names(whole.select("\0grouping", *parts).unique(), facts)
    levels = pl.DataFrame({"levels": agreed_levels(groups, plain, facts, name)}, schema={"levels": pl.String})
    described = (
        whole.lazy()
        .join(groups.lazy(), on=["\0grouping", *parts], nulls_equal=True, maintain_order="left")
        .with_columns(levels["levels"].gather(whole["\0grouping"]), pl.lit(facts.to_json()).alias("facts"))
        .select(*names, *(pl.col(c).cast(t) for c, t in COUNTS.items()))
        .collect()
    )
    return pl.DataFrame({names.get(c.name, c.name): c for c in described.iter_columns()})


def with_grouping(table: pl.DataFrame, facts: Facts) -> tuple[pl.DataFrame, list[str]]:
    """The table with the number of each row's grouping (0 for all rows) and each part of its group in a column.

    Returns:
        The table with that number, and the names of the columns of parts.
    """
    width = max((len(p) for p in facts.groupings), default=0)
    split = table.with_columns(
        pl.col(f"{of}_parts").list.get(i, null_on_oob=True).alias(f"\0{of}{i}")
        for of in ("attribute", "group")
        for i in range(width)
    )
    of_attributes = _parts_of("attribute", width)
    numbers = _groupings(facts, width)
    # Only the texts are looked up: a join would make every other column anew.
    number = split.select(of_attributes).join(numbers, on=of_attributes, nulls_equal=True, maintain_order="left")
    return split.with_columns(number["\0grouping"]), _parts_of("group", width)


def _parts_of(what: str, width: int) -> list[str]:
    return [f"\0{what}{i}" for i in range(width)]


def _groupings(facts: Facts, width: int) -> pl.DataFrame:
    """The number of every grouping by its attributes; all rows are the first."""
    rows = [(*parts, *[None] * (width - len(parts))) for parts in ((), *facts.groupings)]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(_parts_of("attribute", width), pl.String), orient="row")
    return frame.with_columns(pl.int_range(len(rows), dtype=pl.UInt32).alias("\0grouping"))


def _group_names(groups: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    """The display names and the lists of parts of every group."""
    attributes = [[], *(list(parts) for parts in facts.groupings)]
    rows = [(attributes[number], list(parts[: len(attributes[number])])) for number, *parts in groups.iter_rows()]
    columns: dict[str, list[Any]] = {
        "attribute": [join_parts(a) if a else "" for a, _ in rows],
        "group": [group_name(g) for _, g in rows],
        "attribute_parts": [a for a, _ in rows],
        "group_parts": [g for _, g in rows],
    }
    return groups.with_columns(pl.Series(name, values, dtype=COUNTS[name]) for name, values in columns.items())


def _completed(table: pl.DataFrame) -> pl.DataFrame:
    """A table as plain SQL makes it, without lists, with what it lacks: it holds attributes alone and fine bins."""
    flat = {"attribute", "group", "bin"} <= set(table.columns) and not _LISTS & set(table.columns)
    if not flat:
        return table
    whole = table["attribute"].cast(pl.String, strict=False).fill_null("") == ""  # CSV has no empty text
    nothing = pl.lit(pl.Series([[]], dtype=LIST_OF_TEXT)).first()
    lists = [
        pl.when(whole).then(nothing).otherwise(pl.concat_list(pl.col(of).cast(pl.String))).alias(f"{of}_parts")
        for of in ("attribute", "group")
    ]
    lacking = {"bin_end": pl.col("bin") + 1, "left_out": pl.lit(0), "levels": pl.lit(None, pl.String)}
    others = [value.alias(column) for column, value in lacking.items() if column not in table.columns]
    return table.with_columns(*lists, *others, pl.col("attribute", "group").cast(pl.String).fill_null(""))


def _typed(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The declared columns in their types, after the by-keys."""
    problems = Problems()
    columns: dict[str, pl.Series] = {}
    for column in table.iter_columns():
        if column.name in COUNTS:
            continue
        if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
            problems.add(f"{name}: column {column.name!r} has the type {column.dtype}, which is no by-key")
        columns[column.name] = column
    missing = [wanted for wanted in COUNTS if wanted not in table.columns]
    if missing:
        problems.add(f"{name}: no column {listing(missing)}; expected a table that fmfair.counts made")
    for wanted, dtype in COUNTS.items():
        if wanted in missing:
            continue
        try:
            columns[wanted] = _cast(table[wanted], dtype)
        except pl.exceptions.PolarsError:
            problems.add(f"{name}: column {wanted!r} has the type {table[wanted].dtype}, expected {dtype}")
    problems.raise_if_any()
    if table.is_empty():
        raise FmfairError(f"{name}: the table has no rows")
    return pl.DataFrame(columns)


def _cast(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The values in the declared type, if nothing is lost."""
    if values.dtype in (dtype, pl.Null):
        return values.cast(dtype)
    fits = (
        (dtype.is_numeric() and (values.dtype.is_numeric() and not (dtype.is_integer() and values.dtype.is_float())))
        or (dtype == pl.String and values.dtype in (pl.Categorical, pl.Enum))
        or (dtype == LIST_OF_TEXT and values.dtype == pl.List(pl.Null))
    )
    if not fits:
        raise pl.exceptions.InvalidOperationError
    return values.cast(dtype)


def _one_set_of_facts(table: pl.DataFrame, name: str) -> Facts:
    texts = table["facts"].unique(maintain_order=True).to_list()
    problems = Problems()
    found: list[Facts] = []
    for text in texts:
        if text is None:
            problems.add(f"{name}: column 'facts' has missing values")
            continue
        with problems.collecting():
            found.append(read_facts(text))
    for other in found[1:]:
        problems.add(f"{name}: counts that cannot be added: {'; '.join(differing(found[0], other))}")
    problems.raise_if_any()
    return of_all(found)


def _check_values(table: pl.DataFrame, facts: Facts, name: str) -> None:
    """Everything that no table of counts can hold, with how many rows hold it."""
    n, n_pos, start, end = (pl.col(c) for c in ("n", "n_pos", "bin", "bin_end"))
    unit, unit_squares = 2.0**facts.scale, 2.0**facts.scale_squares
    width = (end - start) / facts.grid
    # Rounding may add a half to each row.
    top, top_squares = n * (width * unit + 1.0), n * (width**2 * unit_squares + 1.0)
    r, r_pos, rr = (pl.col(c) for c in ("sum_r", "sum_r_pos", "sum_rr"))
    known = pl.lit(pl.Series([[], *map(list, facts.groupings)], dtype=LIST_OF_TEXT).implode())
    lengths = pl.col("attribute_parts").list.len() != pl.col("group_parts").list.len()
    nulls = [pl.col(c).is_null() for c in COUNTS if c != "levels"]
    single = not facts.suppressed
    wrong = {
        "with missing values": reduce(or_, nulls),
        "of a grouping that is not among the facts": ~pl.col("attribute_parts").is_in(known),
        "whose group_parts do not belong to their attribute_parts": lengths,
        "with negative n, n_pos, left_out or sums": pl.min_horizontal(*SUMS) < 0,
        "with more positives than rows (n_pos > n)": n_pos > n,
        f"with a bin outside 0 to {facts.grid}": (start < 0) | (end > facts.grid + 1) | (end <= start),
        "with merged bins, though the facts say that there are none": (end - start > 1) & single,
        "left out, though the facts say that none was": (pl.col("left_out") > 0) & single,
        "with sums that so few rows cannot have": (r > top) | (r_pos > r) | (rr > top_squares) | ~_finite("sum_bce"),
    }
    problems = Problems()
    counted = table.select(which.fill_null(False).sum().alias(what) for what, which in wrong.items())
    for what, count in counted.row(0, named=True).items():
        if count:
            problems.add(f"{name}: {plural(count, 'row')} {what}")
    with problems.collecting():
        if not counted.row(0)[0]:
            _check_totals(table, facts, name)
    problems.raise_if_any()


def _finite(column: str) -> pl.Expr:
    return pl.col(column).is_finite()


def _check_totals(table: pl.DataFrame, facts: Facts, name: str) -> None:
    """The groups of an attribute may not hold more rows than all rows together, as when a part was added alone."""
    table, names = plain_keys(table)
    total = pl.col("n").sum().cast(pl.Int64)
    of_grouping = pl.col("attribute_parts").list.join("\0")
    sums = table.group_by(*names, of_grouping.alias("grouping")).agg(total)
    whole = sums.filter(pl.col("grouping") == "").drop("grouping")
    if names:
        beside = sums.join(whole, on=list(names), how="left", nulls_equal=True, suffix="_whole")
    else:
        beside = sums.with_columns(n_whole=whole["n"].sum() if whole.height else pl.lit(None, pl.Int64))
    beyond = beside.filter((pl.col("n") > pl.col("n_whole")) | pl.col("n_whole").is_null())
    if beyond.height:
        shown = listing([text.replace("\0", " & ") for text in beyond["grouping"].unique(maintain_order=True).sort()])
        raise FmfairError(
            f"{name}: the groups of {shown} hold more rows than all rows together (the rows with an empty "
            f"attribute_parts), so that some rows of the table are lacking; attributes: {listing(facts.attributes)}"
        )
