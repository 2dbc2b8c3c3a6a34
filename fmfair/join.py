"""Joins the attributes of a metadata table onto predictions by an id."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from fmfair.columns import ROLE_NAMES, normalise
from fmfair.convert import plain_errors
from fmfair.errors import SHOWN, FmfairError, listing, near, plural
from fmfair.notes import Notes
from fmfair.readers import schema

SUFFIX = "_metadata"
HOW_TO_NAME = "name the column with on (command line: --on NAME, or --on NAME_IN_PREDICTIONS=NAME_IN_METADATA)"


def join_metadata(
    predictions: pl.LazyFrame, metadata: pl.LazyFrame, on: str | tuple[str, str] | None, notes: list[str]
) -> pl.LazyFrame:
    """Adds the columns of the metadata row with the same id to each prediction.

    The predictions keep their order and their number: two images of one patient stay two rows. Ids are compared as
    numbers if both columns hold numbers, as text otherwise; then the number 41.0 is the text `41`, and text such as
    `007` stays as it is. Predictions without a metadata row are left out. A metadata column whose name the predictions
    have too gets the suffix `_metadata`; the id keeps the name and the values that it has in the predictions.

    Only the ids are read here; the join itself stays lazy.

    Args:
        predictions: One row per prediction.
        metadata: One row per id; rows that are equal in every column count as one.
        on: The id column, or its names in the predictions and in the metadata. None takes the one column with a usual
            name of an id that both have, or else the one column that both have.
        notes: Receives what was found, left out, ignored or renamed, with counts.

    Raises:
        FmfairError: No id column or several are found, it holds neither numbers nor text, an id occurs in several
            different rows of the metadata, or the tables have no id in common.

    Examples:
        >>> predictions = pl.LazyFrame({"id": [41, 41, 43], "score": [0.2, 0.9, 0.7]})
        >>> metadata = pl.LazyFrame({"id": ["43", "41"], "sex": ["M", "F"]})
        >>> join_metadata(predictions, metadata, "id", []).collect().rows()
        [(41, 0.2, 'F'), (41, 0.9, 'F'), (43, 0.7, 'M')]
    """
    left, right = schema(predictions, "the predictions"), schema(metadata, "the metadata")
    left_on, right_on = _id_columns(on, list(left), list(right), notes)
    renamed = _new_names([name for name in right if name != right_on], list(left), notes)
    key = _free_name([*left, *right, *renamed.values()])
    keyed = predictions.with_columns(_id_text(left_on, left[left_on], "predictions").alias(key))
    table = metadata.with_columns(_id_text(right_on, right[right_on], "metadata").alias(key))
    with plain_errors("read the ids of the predictions"):
        ours = keyed.select(key).collect()[key]
    with plain_errors("read the ids of the metadata"):
        theirs = table.select(key).collect()[key]
        clashes = _clashes(table, theirs, [key, *renamed])
    _refuse_clashes(clashes, right_on)
    _compare(ours, theirs, ((left_on, left[left_on]), (right_on, right[right_on])), notes)
    table = table.filter(pl.col(key).is_not_null()).unique(subset=[key], keep="first", maintain_order=True)
    # Columns are selected by their exact names, because pl.col would expand names such as `*` and `^...$`.
    added = table.select(pl.col(key), *(cs.by_name(old).as_expr().alias(new) for old, new in renamed.items()))
    joined = keyed.join(added, on=key, how="inner", maintain_order="left")
    return joined.select(cs.by_name(*left, *renamed.values()))


def _id_columns(
    on: str | tuple[str, str] | None, left: Sequence[str], right: Sequence[str], notes: list[str]
) -> tuple[str, str]:
    if on is None:
        return _found(left, right, notes)
    if not isinstance(on, str | tuple | list):
        raise FmfairError(f"on={on!r} is neither the name of a column nor a pair (predictions, metadata)")
    pair = (on, on) if isinstance(on, str) else tuple(on)
    if len(pair) != 2:
        raise FmfairError(f"on has {plural(len(pair), 'name')}; give one, or a pair (predictions, metadata)")
    for name, names, table in ((pair[0], left, "predictions"), (pair[1], right, "metadata")):
        if name not in names:
            hint = near(str(name), names) or f"; there are {listing(names)}"
            raise FmfairError(f"no column {name!r} in the {table} to join on{hint}")
    return pair


def _found(left: Sequence[str], right: Sequence[str], notes: list[str]) -> tuple[str, str]:
    usual = ROLE_NAMES["join"]
    pairs = [(a, b) for a in left for b in right if normalise(a) == normalise(b) and normalise(a) in usual]
    pairs = pairs or [(name, name) for name in left if name in right]
    if not pairs:
        raise FmfairError(
            f"the predictions ({listing(left)}) and the metadata ({listing(right)}) have no column in common to join "
            f"on; {HOW_TO_NAME}"
        )
    if len(pairs) > 1:
        names = listing(dict.fromkeys(name for pair in pairs for name in pair))
        raise FmfairError(f"predictions and metadata have several columns in common: {names}; {HOW_TO_NAME}")
    one, other = pairs[0]
    notes.append(f"predictions and metadata were joined on {one!r}" + (f" and {other!r}" if one != other else ""))
    return one, other


def _new_names(metadata: Sequence[str], predictions: Sequence[str], notes: list[str]) -> dict[str, str]:
    """The names of the metadata columns in the result, by their names in the metadata."""
    taken = {*predictions, *metadata}
    renamed = {}
    for name in metadata:
        new = name
        while new in predictions or (new != name and new in taken):
            new += SUFFIX
        taken.add(new)
        renamed[name] = new
    changes = [f"{old!r} became {new!r}" for old, new in renamed.items() if old != new]
    if changes:
        notes.append(f"metadata columns whose names the predictions have too: {', '.join(changes)}")
    return renamed


def _free_name(taken: Sequence[str]) -> str:
    name = "id as text"
    while name in taken:
        name += "_"
    return name


def _id_text(name: str, dtype: pl.DataType, table: str) -> pl.Expr:
    """The id as text, NULL where it is missing or empty.

    Equal numbers of any type have the same text, to the last digit, so numbers may be compared by it too.
    """
    value = cs.by_name(name).as_expr()
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise FmfairError(f"column {name!r} of the {table} is of type {dtype}; an id must be a number or text")
    if dtype.is_float():
        value = value.cast(pl.Float64).fill_nan(None)
        whole = value.cast(pl.Int128, strict=False)
        return (
            pl.when(whole.is_not_null() & (value == value.round()))
            .then(whole.cast(pl.String))
            .otherwise(value.cast(pl.String))
        )
    text = value.cast(pl.String)
    if dtype.is_decimal():
        return pl.when(text.str.contains(".", literal=True)).then(text.str.replace(r"\.?0+$", "")).otherwise(text)
    if dtype == pl.Boolean:
        return text.str.to_titlecase()  # True and False, as group names print them
    return pl.when(text != "").then(text)


def _clashes(table: pl.LazyFrame, ids: pl.Series, columns: Sequence[str]) -> list[tuple[str, int]]:
    """The ids that stand in several different rows, and how often each occurs."""
    counts = ids.drop_nulls().value_counts(name="count").filter(pl.col("count") > 1)
    if counts.is_empty():
        return []
    key = ids.name
    rows = table.join(counts.lazy().select(key), on=key, how="semi").select(cs.by_name(*columns))
    different = rows.unique().select(key).collect()[key].value_counts(name="count").filter(pl.col("count") > 1)
    order = ids.unique(maintain_order=True).to_frame()
    return order.join(counts, on=key, maintain_order="left").join(different, on=key, how="semi").rows()


def _refuse_clashes(clashes: Sequence[tuple[str, int]], column: str) -> None:
    if len(clashes) == 1:
        value, count = clashes[0]
        raise FmfairError(f"{column} {value} occurs {count} times in the metadata; it must identify one row")
    if clashes:
        shown = ", ".join(f"{value} ({count} times)" for value, count in clashes[:SHOWN])
        more = f" and {len(clashes) - SHOWN} more" if len(clashes) > SHOWN else ""
        raise FmfairError(
            f"{len(clashes):,} values of {column!r} occur in several rows of the metadata: {shown}{more}; "
            "each must identify one row"
        )


def _compare(ours: pl.Series, theirs: pl.Series, columns: Sequence[tuple[str, pl.DataType]], notes: list[str]) -> None:
    """Says which rows have no partner; refuses tables that have no id in common."""
    our_ids, their_ids = ours.drop_nulls(), theirs.drop_nulls()
    distinct = their_ids.unique(maintain_order=True)
    unmatched = our_ids.filter(~our_ids.is_in(distinct.implode()))
    unused = distinct.filter(~distinct.is_in(our_ids.unique().implode()))
    if len(unmatched) == len(our_ids) and len(ours):
        seen = [
            f"{name!r} ({dtype}) of the {table} holds {_examples(ids)}"
            for (name, dtype), table, ids in zip(columns, ("predictions", "metadata"), (our_ids, distinct), strict=True)
        ]
        raise FmfairError(f"no id of the predictions is in the metadata: {', '.join(seen)}; {HOW_TO_NAME}")
    repeated = len(their_ids) - len(distinct)
    counted = (
        (ours.null_count(), "left out", "prediction", f"without {columns[0][0]!r}"),
        (len(unmatched), "left out", "prediction", f"whose {columns[0][0]!r} is not in the metadata"),
        (theirs.null_count(), "ignored", "metadata row", f"without {columns[1][0]!r}"),
        (repeated, "counted once", "metadata row", "equal to an earlier one in every column"),
        (len(unused), "ignored", "metadata row", "without a prediction"),
    )
    told = notes.counted if isinstance(notes, Notes) else plural
    notes += [f"{what}: {told(count, noun)} {which}" for count, what, noun, which in counted if count]


def _examples(ids: pl.Series) -> str:
    first = ids.unique(maintain_order=True)[:2].to_list()
    return " and ".join(repr(value) for value in first) if first else "no id at all"
