"""An attack on suppressed reports: everything that is printed as equations, solved for the numbers that are hidden.

The unknowns are the numbers of rows of every kind: by-key, a group or none of each attribute, the label, and the
interval between two thresholds that the score lies in. Every printed number of rows, and every rate with its
denominator, is an equation; a sum of 0 makes all of its unknowns 0. A number is told if its own sum of unknowns is a
combination of the equations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import both

import fmfair

LEAST = 6
THRESHOLDS = (0.35, 0.6)
METRICS = ["tpr", "fpr", "ppv", "accuracy", "selection_rate", "fn", "tn", "auc", "balanced_accuracy"]
# A kind of rows: the label, and from which to before which interval of the score.
Kind = tuple[int | None, int, int]
EVERY = len(THRESHOLDS) + 1


def cohort(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([150, 600, 2500, 6000]))
    sizes = rng.dirichlet([1.0, 1.0, 0.3])
    y = (rng.random(n) < rng.uniform(0.1, 0.6)).astype(int)
    frame = pl.DataFrame(
        {
            "y_true": y,
            "y_score": np.clip(rng.normal(0.35 + 0.3 * y, 0.2), 0, 1),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["a", "b", "c"], n, p=sizes),
            "age": rng.choice(["old", "young"], n, p=[0.8, 0.2]),
        }
    )
    lacking = rng.choice([0.0, 0.01, 0.03, 0.2], 3)
    return frame.with_columns(
        pl.when(pl.Series(rng.random(n) > share)).then(name).alias(name)
        for name, share in zip(("sex", "race", "age"), lacking, strict=True)
    )


class Attack:
    """What can be calculated of a table of three attributes from a report of it."""

    def __init__(self, frame: pl.DataFrame, report: fmfair.Report) -> None:
        self.names = ["sex", "race", "age"]
        levels = [[*sorted(frame[name].drop_nulls().unique()), None] for name in self.names]
        self.atoms = list(product(*levels, (0, 1), range(EVERY)))
        interval = pl.sum_horizontal((pl.col("y_score") >= t).cast(pl.Int64) for t in THRESHOLDS)
        rows = frame.select(*self.names, "y_true", interval.alias("interval")).rows()
        self.truth = np.array([rows.count(atom) for atom in self.atoms])
        self.equations: list[np.ndarray[Any, Any]] = []
        self._read(report)
        zero = [e for e in self.equations if not e @ self.truth]
        self.equations += [row for e in zero for row in np.eye(len(self.atoms))[e > 0]]
        matrix = np.array(self.equations, dtype=float)
        _, values, vectors = np.linalg.svd(matrix, full_matrices=False)
        self.known = vectors[values > 1e-9]

    def sum_of(self, group: Mapping[str, str | None], kind: Kind = (None, 0, EVERY)) -> np.ndarray[Any, Any]:
        """Which unknowns the rows of a kind in a group are; `*` is any group, but for none."""
        label, start, stop = kind

        def inside(atom: tuple[Any, ...]) -> bool:
            parts = dict(zip(self.names, atom, strict=False))
            fits = all(parts[n] is not None if g == "*" else parts[n] == g for n, g in group.items())
            return fits and label in (None, atom[3]) and start <= atom[4] < stop

        return np.array([inside(atom) for atom in self.atoms], dtype=float)

    def tells(self, wanted: np.ndarray[Any, Any]) -> bool:
        """Whether a sum of unknowns follows from what is printed."""
        return bool(np.abs(wanted - wanted @ self.known.T @ self.known).max() < 1e-7)

    def _read(self, report: fmfair.Report) -> None:
        for row in report.groups.iter_rows(named=True):
            self._take(dict(zip(row["attribute_parts"], row["group_parts"], strict=True)), row)
        for row in report.overall.iter_rows(named=True):
            self._take({}, row)
        for attribute, n in report.summary.select("attribute", "n").iter_rows():
            if n is not None:
                self.equations.append(self.sum_of(dict.fromkeys(attribute.split(" & "), "*")))
        for note in report.notes:
            if found := re.match(r"(\w+): (\d+) rows? with a missing value", note):
                self.equations.append(self.sum_of({found[1]: None}))
                assert self.equations[-1] @ self.truth == int(found[2])
        if report.metadata["n_samples"] is not None:
            self.equations.append(self.sum_of({}))

    def _take(self, group: Mapping[str, str | None], row: dict[str, Any]) -> None:
        """The equations of a printed row."""
        own = group
        if row["n"] is not None:
            self.equations.append(self.sum_of(own))
            assert self.equations[-1] @ self.truth == row["n"]
        if row["n_pos"] is not None:
            self.equations.append(self.sum_of(own, (1, 0, EVERY)))
            assert self.equations[-1] @ self.truth == row["n_pos"]
        if row["threshold"] is None or (row["value"] is None and row["denominator"] is None):
            return
        cut = THRESHOLDS.index(row["threshold"]) + 1
        above = {label: self.sum_of(own, (label, cut, EVERY)) for label in (None, 1, 0)}
        below = {label: self.sum_of(own, (label, 0, cut)) for label in (None, 1, 0)}
        of = {
            "tpr": [above[1]],
            "fpr": [above[0]],
            "ppv": [above[None], above[1]],
            "accuracy": [above[1] + below[0]],
            "selection_rate": [above[None]],
            "fn": [below[1]],
            "tn": [below[0]],
            "balanced_accuracy": [],
        }
        self.equations += of[row["metric"]]


def attacked(frame: pl.DataFrame, attack: Attack, least: int = LEAST) -> int:
    """Looks for small numbers that are told; how many numbers are.

    Kinds of rows are those of `Kind`: all, of a class, of a class above or below a threshold or between two.
    """
    told = 0
    kinds = [
        (None, 0, EVERY),
        *((label, i, j) for label in (0, 1) for i in range(EVERY) for j in range(i + 1, EVERY + 1)),
    ]
    groups: list[Mapping[str, str | None]] = [{}]
    groups += [{name: "*"} for name in attack.names]
    for size in (1, 2):
        for names in ([n] if size == 1 else [n, m] for n in attack.names for m in (attack.names if size == 2 else [n])):
            if len(set(names)) == size:
                values = [[*frame[name].unique()] for name in names]
                groups += [dict(zip(names, parts, strict=True)) for parts in product(*values)]
    for group in groups:
        for kind in kinds:
            wanted = attack.sum_of(group, kind)
            count = int(wanted @ attack.truth)
            if attack.tells(wanted):
                told += 1
                assert not 0 < count < least, f"{count} rows of {group} of kind {kind}"
    return told


@pytest.mark.parametrize("seed", range(8))
def test_no_small_number_follows_from_what_is_printed(seed: int) -> None:
    frame = cohort(seed)
    arguments: dict[str, Any] = {"attributes": ["sex", "race", "age"], "metrics": METRICS, "ci": None}
    arguments |= {"thresholds": list(THRESHOLDS), "intersections": 2}

    report = fmfair.evaluate(frame, suppress_below=LEAST, **arguments)

    assert attacked(frame, Attack(frame, report)) > 0


def test_the_attack_finds_what_is_not_suppressed() -> None:
    frame = cohort(1)
    plain = fmfair.evaluate(
        frame, attributes=["sex", "race", "age"], metrics=METRICS, thresholds=list(THRESHOLDS), ci=None
    )

    with pytest.raises(AssertionError, match="rows of"):
        attacked(frame, Attack(frame, plain))


@pytest.mark.parametrize("seed", [1, 3, 8])
@pytest.mark.parametrize("more", [{}, {"missing_groups": "keep"}, {"conventions": "fairmedfm", "intersections": 1}])
def test_both_engines_hide_the_same(seed: int, more: dict[str, Any]) -> None:
    arguments = {"attributes": ["sex", "race", "age"], "intersections": 2, "suppress_below": LEAST, "ci": None, **more}

    found, _ = both(cohort(seed), **arguments)

    assert found.groups.filter(pl.col("note") == "suppressed").height > 0
