"""The split of a data set: by patient, as it was released, or by the published rule on the published rows."""

from __future__ import annotations

import polars as pl

from fmfair.errors import FmfairError, Problems, listing, plural
from fmfair.runners.datasets.choices import Job
from fmfair.runners.datasets.rules import cleaned, read_labels
from fmfair.runners.datasets.sources import read_names
from fmfair.runners.datasets.templates import col
from fmfair.runners.splits import split_as_fairmedfm, split_by_patient, split_told

PUBLISHED = "the published FairMedFM rule: of each sex a fifth of the rarer one, drawn as images"


def with_split(job: Job, frame: pl.DataFrame, table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The table with its split, without the rows that have none or no image; and how the split was made.

    Args:
        job: The recipe and the choices.
        frame: All columns of the release.
        table: The manifest without its split, with the same rows.
    """
    chosen, notes, there = job.chosen, job.notes, table["path"].is_not_null()
    if chosen.split == "fairmedfm":
        table = table.filter(_as_published(job, frame, table) & there)
        table = table.with_columns(split_as_fairmedfm(table, notes))
        if job.how.published.note:
            notes.warn(job.how.published.note)
        said = PUBLISHED
    elif chosen.split == "released":
        table = table.with_columns(_released(job, frame, table)).filter(there)
        said = "as released"
    else:
        table = table.filter(there)
        split = split_by_patient(table, ratio=chosen.ratio, seed=chosen.seed, balance=chosen.balance, bins=chosen.bins)
        table = table.with_columns(split)
        said = split_told(chosen.ratio, chosen.seed, chosen.balance)
    without = table["split"].null_count()
    if without:
        notes.warn(f"{plural(without, 'image')} in no split, left out")
    return table.drop_nulls("split"), said


def _as_published(job: Job, frame: pl.DataFrame, table: pl.DataFrame) -> pl.Series:
    """Which rows the published benchmark keeps: those with a label by its rule, and with what it requires."""
    main, published = job.how.labels[0], job.how.published
    label = read_labels(frame, main, "fairmedfm", Problems())[0]
    reasons = [(label.is_not_null(), f"without the label {label.name!r}")]
    reasons += [(table[name].is_not_null(), f"without {name}") for name in published.require if name in table.columns]
    for one, other in published.agree.items():
        if one in frame.columns and other in frame.columns:
            equal = frame.select((cleaned(col(one)) == cleaned(col(other))).fill_null(value=False)).to_series()
            reasons.append((equal, f"whose {one} and {other} differ"))
    kept = pl.Series([True] * table.height, dtype=pl.Boolean)
    for keep, why in reasons:
        dropped = int((kept & ~keep).sum())
        if dropped:
            job.notes.warn(f"{plural(dropped, 'image')} {why} left out, as in the published benchmark")
        kept = kept & keep
    return kept


def _released(job: Job, frame: pl.DataFrame, table: pl.DataFrame) -> pl.Series:
    """The split that came with the release; NULL for rows that it does not name."""
    given = job.how.released
    if given.column and given.column in frame.columns:
        text = frame.select(cleaned(col(given.column))).to_series()
        unknown = text.filter(text.is_not_null() & ~text.is_in(list(given.words))).unique().sort()
        if len(unknown):
            raise FmfairError(f"column {given.column!r}: no split {listing(unknown)}; known are {listing(given.words)}")
        return text.replace_strict(dict(given.words), default=None, return_dtype=pl.String).alias("split")
    if not given.lists:
        raise FmfairError(f"this release of {job.how.title or job.how.name} holds no split; use split='patients'")
    split = pl.Series("split", [None] * table.height, dtype=pl.String)
    problems = Problems()
    for word, file in given.lists.items():
        with problems.collecting():
            split = split.set(table["sample_id"].is_in(read_names(job.root / file)), word)
    problems.raise_if_any()
    return split
