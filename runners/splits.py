"""Splits: by patient, seeded and in proportion; and the published rule of FairMedFM, which knows no patients."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfair.errors import FmfairError, Problems, listing, near, plural
from fmfair.notes import Notes
from fmfair.runners.shares import shared_out
from fmfair.runners.tables import MANIFEST, SPLITS
from fmfair.runners.typed import check_texts

RATIO = (0.7, 0.1, 0.2)
# Where ages are cut to balance over them, as `fmfair.evaluate` cuts them.
AGES = (18.0, 40.0, 60.0, 80.0)
# A column with more numbers than this is no list of groups.
MOST_NUMBERS = 20
MISSING = "missing"
# What to do where a split is needed.
HOW_TO_SPLIT = "fmfair data TABLE --ratio 0.7,0.1,0.2 splits by patient, in Python Manifest.split()"


def split_by_patient(
    table: pl.DataFrame,
    *,
    ratio: Sequence[float] = RATIO,
    seed: int = 0,
    balance: Sequence[str] = (),
    bins: Mapping[str, Sequence[float]] | None = None,
) -> pl.Series:
    """The split of every row, with all rows of a patient in the same one.

    Who goes where depends on the patients, the seed and, with `balance`, on the values of those columns; never on the
    order of the rows.

    Args:
        table: With a column `patient_id` and those of `balance`.
        ratio: The shares of training, validation and test patients; with `balance`, of rows.
        seed: Another seed gives other splits.
        balance: Attributes and labels: each combination of their values is shared out by the ratio to within one
            patient, and so that all images come as near to it as they can.
        bins: Where the numbers of a column of `balance` are cut, left-closed; ages are cut at 18, 40, 60 and 80.

    Raises:
        FmfairError: The ratio is none, there are fewer patients than splits, or a column cannot be balanced over.

    Examples:
        >>> table = pl.DataFrame({"patient_id": ["a", "a", "b", "c", "d"]})
        >>> split_by_patient(table, ratio=(0.5, 0.25, 0.25)).to_list()
        ['train', 'train', 'validation', 'test', 'train']
    """
    _check(table, ratio, seed, balance, {} if bins is None else bins)
    cells = _cells(table, balance, bins or {})
    patients, row_patients = _numbered(table["patient_id"].cast(pl.String))
    wanted = [i for i, share in enumerate(ratio) if share > 0]
    if len(patients) < len(wanted):
        raise FmfairError(
            f"{plural(len(patients), 'patient')} cannot be shared out over {len(wanted)} splits; "
            "give those that you can do without a share of 0 in ratio="
        )
    members = _members(row_patients, cells, len(patients), rows_count=bool(balance))
    order = sorted(range(len(patients)), key=lambda p: _digest(seed, patients[p]))
    chosen = shared_out(order, members, [ratio[i] / sum(ratio) for i in wanted])
    names = np.array([SPLITS[wanted[i]] for i in chosen])
    return pl.Series("split", names[row_patients], dtype=pl.String)


def split_as_fairmedfm(table: pl.DataFrame, notes: Notes, *, sex: str = "sex") -> pl.Series:
    """The split of every row by the published rule; NULL for rows without a sex, which it leaves out.

    Of each sex as many ids are drawn for the test as a fifth of the ids of the rarer sex, rounded down, with
    scikit-learn's `train_test_split(random_state=0)`; the rest is for training, and nothing for validation. The rule
    draws ids of images, not patients. For ages, races and languages the benchmark tests on a part of these images,
    drawn without a seed so that groups are equally large; that cannot be repeated, so all of them are the test here.

    Args:
        table: With the columns `sample_id`, `patient_id` and the sex.
        notes: Takes how many patients are on both sides.
        sex: The column of the sexes.

    Raises:
        FmfairError: There is no such column, it has not two values, or too few rows.
    """
    if sex not in table.columns:
        raise FmfairError(f"the published split is drawn within each sex, and there is no column {sex!r}")
    groups = [table.filter(pl.col(sex) == value)["sample_id"].unique().sort() for value in sorted(_values(table[sex]))]
    if len(groups) != 2:
        raise FmfairError(f"the published split is drawn within two sexes; {sex!r} has {len(groups)}")
    size = min(int(0.2 * len(ids)) for ids in groups)
    if size == 0:
        raise FmfairError("the published split needs five images of each sex")
    tested = pl.concat([ids.gather(drawn(len(ids), size)) for ids in groups])
    trained = pl.concat(groups).filter(~pl.concat(groups).is_in(tested.implode()))
    split = table.select(
        pl.when(pl.col("sample_id").is_in(tested.implode()))
        .then(pl.lit("test"))
        .when(pl.col("sample_id").is_in(trained.implode()))
        .then(pl.lit("train"))
        .alias("split")
    ).to_series()
    both = table.with_columns(split).drop_nulls("split").group_by("patient_id").agg(pl.col("split").n_unique())
    shared = both.filter(pl.col("split") > 1).height
    notes.warn(
        "the published FairMedFM split draws images, not patients, so one patient can be in training and in the test: "
        f"{shared:,} of {plural(both.height, 'patient')} here are in both"
    )
    return split


def split_told(ratio: Sequence[float], seed: int, balance: Sequence[str]) -> str:
    """How a split by patient was made, in words.

    Examples:
        >>> split_told((0.7, 0.1, 0.2), 0, ["sex", "mass"])
        'by patient, ratio 0.7/0.1/0.2, seed 0, balanced over sex, mass'
    """
    over = f", balanced over {', '.join(balance)}" if balance else ""
    return f"by patient, ratio {'/'.join(f'{share:g}' for share in ratio)}, seed {seed}{over}"


def say_lost_groups(table: pl.DataFrame, attributes: Sequence[str], notes: Notes) -> None:
    """Warns of groups that no test could say anything about; measurements have none until they are cut."""
    test = table.filter(pl.col("split") == "test")
    for name in attributes if test.height else ():
        if (table[name].dtype.is_numeric() and name != "age") or groups_of(table[name]).n_unique() > MOST_NUMBERS:
            continue
        lost = {*groups_of(table[name]).unique()} - {*groups_of(test[name]).unique()} - {MISSING}
        if lost:
            notes.warn(
                f"attribute {name!r}: no image of {listing(sorted(lost))} is in the test; balance= shares it out"
            )


def drawn(count: int, size: int) -> NDArray[np.int64]:
    """The positions that scikit-learn's `train_test_split(test_size=size, random_state=0)` draws for the test.

    Examples:
        >>> drawn(10, 3).tolist()
        [2, 8, 4]
    """
    generator = np.random.RandomState(0)
    return np.asarray(generator.permutation(count)[:size])


def _check(
    table: pl.DataFrame, ratio: Sequence[float], seed: int, balance: Sequence[str], bins: Mapping[str, Sequence[float]]
) -> None:
    problems = Problems()
    try:
        usable = len(ratio) == len(SPLITS) and all(r >= 0 for r in ratio) and 0 < sum(ratio) < math.inf
    except TypeError:
        usable = False
    if not usable:
        problems.add(f"ratio= must be three shares, of training, validation and test, such as {RATIO}; it is {ratio}")
    try:
        check_texts("balance", balance, "columns", "sex")
    except FmfairError as error:
        problems.add(str(error))
        balance = ()
    if isinstance(seed, bool) or not isinstance(seed, int):
        problems.add(f"seed={seed!r} must be a whole number")
    _check_bins(bins, balance, problems)
    there = [name for name in table.columns if name not in MANIFEST]
    for name in (name for name in balance if name not in table.columns):
        problems.add(f"no column {name!r} (balance=){near(name, there)}; there is {listing(there, 20)}")
    if "patient_id" not in table.columns:
        problems.add("no column 'patient_id' to split by")
    if "patient_id" in table.columns and table["patient_id"].null_count():
        problems.add(f"patient_id is missing in {plural(table['patient_id'].null_count(), 'row')}")
    problems.raise_if_any()


def _check_bins(given: object, balance: Sequence[str], problems: Problems) -> None:
    if not isinstance(given, Mapping):
        problems.add("bins= must be a mapping from columns to cut points, such as {'age': [40, 60]}")
        return
    for name in (name for name, cuts in given.items() if not _are_cuts(cuts)):
        problems.add(f"bins= of {name!r} must be a list of finite cut points, such as [40, 60]")
    for name in (name for name in given if name not in balance):
        problems.add(f"bins= cuts {name!r}, which is not balanced over; name it in balance= too")


def _are_cuts(given: object) -> bool:
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        return False
    return all(isinstance(cut, (int, float)) and math.isfinite(cut) for cut in given)


def _values(column: pl.Series) -> list[str]:
    return [str(value) for value in column.drop_nulls().unique()]


def _cells(table: pl.DataFrame, balance: Sequence[str], bins: Mapping[str, Sequence[float]]) -> NDArray[np.int64]:
    """The number of the combination of values that each row is in."""
    if not balance:
        return np.zeros(table.height, np.int64)
    problems, texts = Problems(), []
    for name in balance:
        with problems.collecting():
            texts.append(groups_of(table[name], bins.get(name)))
    problems.raise_if_any()
    return _numbered(pl.DataFrame(texts).select(pl.concat_str(pl.all(), separator="\0")).to_series())[1]


def _numbered(texts: pl.Series) -> tuple[list[str], NDArray[np.int64]]:
    """The different texts in order, and the number of that of each row."""
    different = texts.unique().sort()
    return different.to_list(), texts.cast(pl.Enum(different)).to_physical().cast(pl.Int64).to_numpy()


def groups_of(column: pl.Series, cuts: Sequence[float] | None = None) -> pl.Series:
    """The values as texts; numbers by the interval that they are in, left-closed; what is missing is a group too."""
    if cuts is None and column.name.lower() == "age" and column.dtype.is_numeric():
        cuts = AGES
    if cuts is not None:
        if not cuts or not column.dtype.is_numeric():
            raise FmfairError(f"column {column.name!r} needs cut points and numbers to be cut")
        numbers = column.cast(pl.Float64).fill_null(np.nan)
        edges = sorted(set(cuts))
        inner = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
        names = np.array([f"<{edges[0]:g}", *inner, f">={edges[-1]:g}"])
        inside = names[np.searchsorted(np.asarray(edges, float), numbers.to_numpy(), "right")]
        return pl.Series(column.name, inside).set(numbers.is_nan(), MISSING)
    if column.dtype.is_float() and column.n_unique() > MOST_NUMBERS:
        raise FmfairError(
            f"column {column.name!r} holds many numbers; give its cut points: bins={{{column.name!r}: [40, 60]}}"
        )
    return column.cast(pl.String).fill_null(MISSING)


def _members(
    row_patients: NDArray[np.int64], cells: NDArray[np.int64], patients: int, *, rows_count: bool
) -> list[list[tuple[int, float]]]:
    """Of each patient the cells of the rows and how many rows are in each; one of one where only patients count."""
    if not rows_count:
        return [[(0, 1.0)] for _ in range(patients)]
    pairs, counts = np.unique(np.stack([row_patients, cells], axis=1), axis=0, return_counts=True)
    members: list[list[tuple[int, float]]] = [[] for _ in range(patients)]
    for (patient, cell), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        members[patient].append((cell, float(count)))
    return members


def _digest(seed: int, patient: str) -> bytes:
    return hashlib.blake2b(f"{seed}\0{patient}".encode(), digest_size=16).digest()
