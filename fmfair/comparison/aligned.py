"""Alignment: the samples that all models of a comparison have, model after model in the same order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from fmfair.errors import FmfairError, listing, near, plural
from fmfair.export import texts
from fmfair.hashing import id_hashes
from fmfair.notes import Notes
from fmfair.profiles import Profiles
from fmfair.roles import Columns
from fmfair.samples import Samples, by_keys

# The column that numbers the samples while they are aligned.
SAMPLE = "sample"

# What a sample has whatever the model, by the columns of the table of samples.
_FACTS: Mapping[str, str] = {"y": "label", "weight": "weight", "unit": "patient"}


@dataclass(frozen=True)
class Aligned:
    """Samples of several models.

    Attributes:
        samples: The rows of one by-key after another, each in the order of the samples, which are the same in all
            by-keys of a comparison.
        models: The name of the model of every by-key.
        keys: The other by-keys, one row per comparison.
        key: For every by-key its row in `keys`; -1 where it is not compared.
        pairs: The numbers of two by-keys each: the baseline and the model that is compared with it.
    """

    samples: Samples
    models: tuple[str, ...]
    keys: pl.DataFrame
    key: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    def of_key(self, key: int) -> list[int]:
        """The by-keys of a comparison."""
        return [by for by, number in enumerate(self.key) if number == key]


def sample_numbers(table: pl.DataFrame, columns: Columns, notes: Notes) -> pl.Series:
    """A number for every sample; the same sample has the same number in all by-keys.

    Raises:
        FmfairError: A sample repeats within a by-key, an id is missing, or there are none and models have different
            numbers of rows.
    """
    by, numbers = by_keys(table, columns.by)
    missing = table[columns.by[0]].null_count()
    if missing:
        raise FmfairError(f"by: column {columns.by[0]!r} has {plural(missing, 'row')} without the name of a model")
    if columns.sample_id is None:
        _check_sizes(by, numbers, columns)
        notes.warn(
            "samples are paired by their position, since no column identifies them: every model must have the same "
            "rows in the same order; sample_id= names the column"
        )
        position = pl.int_range(pl.len(), dtype=pl.UInt32).over("by")
        return pl.DataFrame([numbers]).select(position.alias(SAMPLE)).to_series()
    name = columns.sample_id
    ids = table[name]
    if ids.dtype.is_nested() or ids.dtype == pl.Object:
        raise FmfairError(f"sample_id: column {name!r} has the type {ids.dtype}; an id must be a number, text or date")
    if ids.null_count():
        raise FmfairError(f"sample_id: column {name!r} has {plural(ids.null_count(), 'missing value')}")
    rows = pl.DataFrame([numbers, (ids.rank("dense") - 1).cast(pl.UInt32).alias(SAMPLE)])
    repeated = rows.is_duplicated()
    if repeated.any():
        raise FmfairError(
            f"sample_id: column {name!r} repeats within a model ({plural(int(repeated.sum()), 'row')}, e.g. "
            f"{ids.filter(repeated)[0]!r}); a model has one score per sample: add the column that tells the rows apart "
            "to by=, after that of the models"
        )
    return rows[SAMPLE]


def _check_sizes(by: pl.DataFrame, numbers: pl.Series, columns: Columns) -> None:
    """Without ids every model must have as many rows."""
    rows = np.bincount(numbers.to_numpy())
    _, key = _numbered(by.select(pl.exclude(columns.by[0])) if by.width > 1 else pl.DataFrame(height=by.height))
    if any(len(set(rows[np.array(key) == k])) > 1 for k in set(key)):
        shown = ", ".join(f"{m}: {n:,}" for m, n in zip(texts(by[columns.by[0]])[:5], rows, strict=False))
        raise FmfairError(
            f"the models have different numbers of rows ({shown}); name the column that identifies a sample with "
            "sample_id=, so that their rows can be paired"
        )


def align(samples: Samples, model: str, baseline: Any, notes: Notes) -> Aligned:
    """The samples that all models have, in one order.

    Args:
        samples: With a column `SAMPLE`.
        model: The by-key of the models.
        baseline: The model with which the others are compared; None for all pairs.
        notes: Says which samples were left out.

    Raises:
        FmfairError: There are no two models with samples in common, the baseline does not occur, or a sample's label,
            weight, patient or attributes differ between models.
    """
    names = tuple(str(name) for name in texts(samples.by[model]))
    others = samples.by.select(pl.exclude(model)) if samples.by.width > 1 else pl.DataFrame(height=samples.by.height)
    keys, number = _numbered(others)
    known = _Known(names, keys, number)
    known.check(baseline)
    frame, profiles = _complete(samples, known, notes)
    key = known.compared(frame, notes)
    pairs = _pairs(names, key, baseline)
    found = replace(samples, frame=frame.drop(SAMPLE), profiles=profiles)
    aligned = Aligned(found, names, keys, key, pairs)
    _check_alike(aligned)
    return aligned


def _numbered(others: pl.DataFrame) -> tuple[pl.DataFrame, tuple[int, ...]]:
    """The distinct rows in their order, and the number of each."""
    if not others.width:
        return pl.DataFrame(height=1), (0,) * others.height
    # Under names of our own, since Polars reads names such as `*` and `^x$` as patterns.
    plain = pl.DataFrame({f"k{i}": column for i, column in enumerate(others.iter_columns())})
    distinct = plain.unique().sort(plain.columns, nulls_last=True)
    on = plain.columns
    found = plain.join(distinct.with_row_index("key"), on=on, how="left", nulls_equal=True, maintain_order="left")
    return distinct.rename(dict(zip(on, others.columns, strict=True))), tuple(found["key"].to_list())


@dataclass(frozen=True)
class _Known:
    """The models and the other by-keys of every by-key."""

    names: tuple[str, ...]
    keys: pl.DataFrame
    number: tuple[int, ...]

    def check(self, baseline: Any) -> None:
        """Raises where there is nothing to compare, or no baseline."""
        models = list(dict.fromkeys(self.names))
        if len(models) < 2:
            raise FmfairError(f"there is only one model, {models[0]!r}; name the column of the models with by=")
        if baseline is not None and str(baseline) not in models:
            raise FmfairError(
                f"baseline={baseline!r} is not one of the models: {listing(models)}{near(str(baseline), models)}"
            )

    def shown(self, key: int) -> str:
        """The by-keys of a comparison in words."""
        row = self.keys.row(key) if self.keys.width else ()
        return ", ".join(repr(f"{name}={value}") for name, value in zip(self.keys.columns, row, strict=True))

    def compared(self, frame: pl.DataFrame, notes: Notes) -> tuple[int, ...]:
        """The comparison of every by-key; -1 where it has no other model, or no samples in common with the others."""
        with_rows = set(frame["by"].unique().to_list())
        key = [k if by in with_rows else -1 for by, k in enumerate(self.number)]
        for k in sorted(set(self.number)):
            several = self.number.count(k) > 1
            if several and k in key:
                continue
            reason = "no sample is scored by all models" if several else "only one model"
            where = self.shown(k)
            if several and not self.keys.width:
                raise FmfairError(f"{reason}: are the ids of {listing(dict.fromkeys(self.names))} alike?")
            notes.warn(f"{where}: {reason}, so that nothing is compared")
            key = [-1 if found == k else found for found in key]
        if set(key) == {-1}:
            raise FmfairError("no two models have samples in common: " + "; ".join(notes.warnings[-3:]))
        return tuple(key)


def _complete(samples: Samples, known: _Known, notes: Notes) -> tuple[pl.DataFrame, Profiles]:
    """The rows of the samples that all models of a comparison have, in the order of by-keys and samples."""
    frame = samples.frame
    number = pl.Series("key", known.number, dtype=pl.UInt32).gather(frame["by"])
    models = np.bincount(known.number)
    rows = pl.DataFrame([number, frame["by"], frame[SAMPLE]]).with_row_index("row")
    having = rows.select(pl.len().over("key", SAMPLE).alias("models"))["models"]
    whole = having == pl.Series(models).gather(number)
    lacking = rows.filter(~whole)
    if lacking.height:
        left_out = lacking.select("key", SAMPLE).n_unique()
        total = rows.select("key", SAMPLE).n_unique()
        of = "" if notes.hides(left_out) else f" of {total:,}"
        notes.warn(f"{notes.counted(left_out, 'sample')}{of} left out that not every model has a usable row of")
    order = rows.filter(whole).sort("by", SAMPLE)["row"]
    return frame[order].rechunk(), Profiles(samples.profiles.table, samples.profiles.of_row[order.to_numpy()])


def _pairs(names: Sequence[str], key: Sequence[int], baseline: Any) -> tuple[tuple[int, int], ...]:
    """Every model with the baseline, or all with those before them."""
    pairs = []
    for k in sorted({number for number in key if number >= 0}):
        of_key = [by for by, number in enumerate(key) if number == k]
        if baseline is None:
            pairs += list(combinations(of_key, 2))
        else:
            against = [by for by in of_key if names[by] == str(baseline)]
            pairs += [(a, b) for a in against for b in of_key if b != a]
    if not pairs:
        raise FmfairError(f"baseline={baseline!r} has no samples in common with another model")
    return tuple(pairs)


def _check_alike(aligned: Aligned) -> None:
    """Raises where what a sample has whatever the model differs between models."""
    frame = aligned.samples.frame
    names = {column: name for column, name in _FACTS.items() if column in frame.columns}
    names |= {a.column: f"attribute {a.name!r}" for a in aligned.samples.attributes}
    bounds = np.searchsorted(frame["by"].to_numpy(), np.arange(len(aligned.key) + 1))
    differing = dict.fromkeys(names, 0)
    for key in range(aligned.keys.height):
        first, *rest = aligned.of_key(key) or [0]
        for column in names:
            own = frame[column][bounds[first] : bounds[first + 1]]
            apart = [own.ne_missing(frame[column][bounds[by] : bounds[by + 1]]) for by in rest]
            if apart:
                differing[column] += int(np.any([series.to_numpy() for series in apart], axis=0).sum())
    wrong = [f"{names[c]} in {plural(n, 'sample')}" for c, n in differing.items() if n]
    if wrong:
        raise FmfairError(
            f"the models do not agree on what is true of a sample: they differ on the {', the '.join(wrong)}; models "
            "are compared on the same samples, so check sample_id= and the columns"
        )


def with_drawn(samples: Samples) -> Samples:
    """Samples without ids get numbers to draw by from their position, so that all models of a sample share them."""
    if "drawn" in samples.frame.columns:
        return samples
    return replace(samples, frame=samples.frame.with_columns(id_hashes(samples.frame[SAMPLE]).alias("drawn")))
