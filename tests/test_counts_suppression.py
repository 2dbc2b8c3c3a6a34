"""Suppressed counts: no small number is left, none can be computed, and the bounds still hold."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from counts_support import outside
from reports import evaluate

import fmfair
from fmfair.counting.coarsening import coarsened
from fmfair.counting.overlapping import ranked_overlapping
from fmfair.counting.ranking import ranked
from fmfair.disclosure import Cell, left_out, sums_of
from fmfair.metrics.registry import requested

COLUMNS: dict[str, Any] = {"y_true": "y", "y_score": "s", "attributes": ["sex", "race", "age"], "by": []}
LEAST = 10


def cohort(seed: int, n: int = 1500) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "s": rng.beta(0.5, 1.0, n),
            "sex": rng.choice(["F", "M", "X"], n, p=[0.5, 0.496, 0.004]),
            "race": rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.07, 0.03]),
            "age": rng.choice(["old", "young"], n),
        }
    )
    return frame.with_columns(pl.when(pl.Series(rng.random(n) > 0.004)).then("age").alias("age"))


def vectors(table: pl.DataFrame) -> dict[tuple[tuple[str, ...], tuple[str, ...]], dict[int, int]]:
    """The rows below every boundary that a table shows, of every listed group."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[int, int]] = {}
    for attributes, groups, end, n in (
        table.filter(pl.col("n") > 0).select("attribute_parts", "group_parts", "bin_end", "n").iter_rows()
    ):
        below = found.setdefault((tuple(attributes), tuple(groups)), {0: 0})
        below[end] = max(below.values()) + n
    return found


@pytest.mark.parametrize(("seed", "intersections"), [(0, 1), (1, 2), (2, 3), (3, [("sex", "race")])])
def test_no_listed_bin_holds_fewer_rows(seed: int, intersections: Any) -> None:
    table = fmfair.counts(cohort(seed), **COLUMNS, intersections=intersections, suppress_below=LEAST)

    assert table.filter(pl.col("n") > 0)["n"].min() == LEAST  # as fine as is allowed somewhere
    sizes = table.group_by("attribute", "group").agg(pl.col("n").sum())
    assert sizes.filter((pl.col("n") > 0) & (pl.col("n") < LEAST)).is_empty()
    assert table["left_out"].sum() == 0  # nothing was declared, so that no name of a group left out is written
    assert sizes.filter(pl.col("attribute") == "sex")["n"].sum() < sizes.filter(pl.col("attribute") == "")["n"].sum()


@pytest.mark.parametrize("seed", range(6))
def test_subtraction_never_leaves_fewer_rows(seed: int) -> None:
    """All rows less some groups of an attribute, in the bins that all of these show, hold 0 or enough rows."""
    shown = vectors(fmfair.counts(cohort(seed), **COLUMNS, suppress_below=LEAST))
    whole = shown[(), ()]
    for name in COLUMNS["attributes"]:
        groups = [below for (attributes, _), below in shown.items() if attributes == (name,)]
        for size in range(1, len(groups) + 1):
            for taken in itertools.combinations(groups, size):
                edges = sorted(set(whole).intersection(*taken) | {0})
                assert max(whole) in edges or len(edges) == 1
                rest = [whole[e] - sum(below[e] for below in taken) for e in edges]
                left = np.diff([*rest, whole[max(whole)] - sum(b[max(b)] for b in taken)])
                assert ((left == 0) | (left >= LEAST)).all()


@pytest.mark.parametrize("seed", range(4))
def test_no_group_left_out_is_determined_by_what_is_listed(seed: int) -> None:
    """Two different tables of groups with the same listed numbers: each left-out group differs between some two."""
    frame = cohort(seed, 600)
    keys = ["sex", "race", "age"]
    table = fmfair.counts(frame, **COLUMNS, intersections=3, suppress_below=LEAST)
    every = fmfair.counts(frame, **COLUMNS, intersections=3).select("attribute_parts", "group_parts").unique()
    out = every.join(table, on=["attribute_parts", "group_parts"], how="anti").rows()
    shown = table.filter(pl.col("left_out") == 0).select("attribute_parts", "group_parts").unique().rows()
    # An attacker may know which combinations of all attributes exist; how many rows each has is what is unknown.
    atoms = frame.select(keys).unique().rows(named=True)

    def member(attributes: list[str], groups: list[str]) -> list[float]:
        return [float(all(atom[a] == g for a, g in zip(attributes, groups, strict=True))) for atom in atoms]

    known = np.array([member(a, g) for a, g in shown])
    rank = np.linalg.matrix_rank(known)
    assert out
    for attributes, groups in out:
        assert np.linalg.matrix_rank(np.vstack([known, member(attributes, groups)])) > rank


@pytest.mark.parametrize("seed", [0, 1])
def test_the_truth_lies_between_the_wider_bounds(seed: int) -> None:
    frame = cohort(seed)
    options: dict[str, Any] = {
        "metrics": ["auc", "average_precision", "ece", "brier", "bce", "observed_expected", "tpr", "ppv", "f1"],
        "thresholds": [0.5, 0.31],
    }
    table = fmfair.counts(frame, **COLUMNS, suppress_below=LEAST)
    groups = table.filter(pl.col("n") > 0).select("attribute", "group").unique()

    report = fmfair.evaluate_counts(table, **options)

    truth = evaluate(frame, **COLUMNS, **options)
    assert outside(report, truth, "overall").is_empty()
    lying = outside(report, truth).join(groups, on=["attribute", "group"], how="semi")
    assert lying.is_empty()
    auc = report.overall.filter(pl.col("metric") == "auc")
    assert 0 < auc.select(pl.col("bound_high") - pl.col("bound_low")).item() < 0.05
    brier = pl.col("metric") == "brier"
    assert abs(report.overall.filter(brier)["value"].item() - truth.overall.filter(brier)["value"].item()) < 1e-9


def test_merged_tables_of_different_bins_keep_the_bounds() -> None:
    north, south = cohort(4), cohort(5)
    tables = [fmfair.counts(f, **COLUMNS, suppress_below=k) for f, k in ((north, 10), (south, 25))]

    options: dict[str, Any] = {
        "metrics": ["auc", "average_precision", "adjusted_auprc", "tpr_at_fpr", "tpr", "ppv", "ece"],
        "thresholds": [0.5, "best_f1"],
    }
    report = fmfair.evaluate_counts(fmfair.merge_counts(*tables), **options)

    options["thresholds"] = [0.5, report.overall["threshold"].drop_nulls()[1]]
    truth = evaluate(pl.concat([north, south]), **COLUMNS, **options)
    shared = ["metric", "threshold"]
    values = truth.overall.select(*shared, "value").join(
        report.overall.select(*shared, "bound_low", "bound_high"), on=shared, nulls_equal=True
    )
    assert values.height == report.overall.height == 9
    assert values.filter(~pl.col("value").is_between("bound_low", "bound_high")).is_empty()
    widths = {m: high - low for m, low, high in report.overall.select("metric", "bound_low", "bound_high").iter_rows()}
    assert max(widths[m] for m in ("auc", "average_precision", "tpr")) < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_bins_side_by_side_are_those_of_bins_that_may_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 6, 40)
    n_pos = rng.integers(0, n + 1)
    bins = pl.DataFrame({"cell": np.repeat([0, 1], 20), "bin": list(range(20)) * 2, "n": n, "n_pos": n_pos})
    bins = bins.with_columns(bin_end=pl.col("bin") + 1, cell=pl.col("cell").cast(pl.UInt64)).filter(pl.col("n") > 0)
    metrics = requested(["auc", "average_precision", "adjusted_auprc", "tpr_at_fpr(0.25)"])

    found, wanted = ranked_overlapping(bins, metrics, 20, top=None), ranked(bins, metrics, top=None)

    for name in wanted.columns[1:]:
        assert found[name].to_list() == pytest.approx(wanted[name].to_list(), abs=1e-12)


def test_plain_and_suppressed_counts_are_not_merged() -> None:
    frame = cohort(6)

    with pytest.raises(fmfair.FmfairError, match=r"^table 1 is not suppressed; count it with suppress_below= too"):
        fmfair.merge_counts(fmfair.counts(frame, **COLUMNS), fmfair.counts(frame, **COLUMNS, suppress_below=5))


def test_the_notes_say_by_how_much_and_what_was_left_out() -> None:
    notes: list[str] = []
    sexes = pl.Enum(["F", "M", "X"])
    frame = cohort(7).with_columns(pl.col("sex").cast(sexes))
    table = fmfair.counts(frame, **COLUMNS, suppress_below=LEAST, notes=notes)

    assert "suppress_below=10: sex: 1 group with fewer rows left out" in notes
    assert "suppress_below=10: sex: 'F' left out too, because the smaller groups could be calculated" in "".join(notes)
    assert "suppress_below=10: age: 'old' left out too, because the few rows without age could be" in "".join(notes)
    assert "so that the bounds of AUC are 0." in notes[-1]
    report = fmfair.evaluate_counts(table, metrics="auc")
    assert any(note.startswith("sex: rows of ") and "'X'" in note for note in report.notes)
    missing = report.groups.filter((pl.col("group") == "X") & (pl.col("metric") == "auc"))
    assert missing["note"].item().startswith("left out of the counts, in which small numbers are suppressed")


def test_names_of_groups_that_were_not_declared_are_not_written() -> None:
    frame = cohort(7).with_columns(
        image=pl.when(pl.int_range(pl.len()) < 700)
        .then(pl.lit("ward"))
        .when(pl.int_range(pl.len()) < 1493)
        .then(pl.lit("clinic"))
        .otherwise(pl.lit("patient 17"))
    )
    columns = {**COLUMNS, "attributes": ["sex", "image"]}

    table = fmfair.counts(frame, **columns, intersections=2, suppress_below=LEAST)

    assert "patient 17" not in table.write_json()
    assert table.filter((pl.col("attribute") != "") & (pl.col("n") < LEAST)).is_empty()
    assert "patient 17" in fmfair.counts(frame, **columns).write_json()


def test_a_group_that_a_table_may_have_left_out_has_no_bounds() -> None:
    north, south = cohort(4), cohort(5).filter(pl.col("sex") != "X")
    columns = {**COLUMNS, "attributes": ["sex"]}
    north = north.with_columns(sex=pl.when(pl.int_range(pl.len()) < 4).then(pl.lit("M")).otherwise(pl.lit("F")))
    tables = [fmfair.counts(frame, **columns, suppress_below=LEAST) for frame in (north, south)]
    assert set(tables[0]["group"]) == {""}  # 4 rows, and the others of which they could be calculated

    report = fmfair.evaluate_counts(fmfair.merge_counts(*tables), metrics=["auc", "accuracy"])

    assert report.groups["value"].null_count() == 0
    assert report.groups["bound_low"].null_count() == report.groups.height == 4
    assert report.groups["note"].str.contains("a table in which small numbers are suppressed left rows of").all()
    assert report.gaps["bound_low"].count() == 0
    assert "or without known bounds" in " ".join(repr(report).split())
    assert report.overall["bound_low"].null_count() == 0
    reverse = fmfair.merge_counts(*tables[::-1])
    assert reverse.drop("sum_bce").equals(fmfair.merge_counts(*tables).drop("sum_bce"))


def test_the_smallest_limit_of_merged_tables_is_reported() -> None:
    tables = [fmfair.counts(cohort(seed), **COLUMNS, suppress_below=k) for seed, k in ((4, 25), (5, 10))]

    report = fmfair.evaluate_counts(fmfair.merge_counts(*tables), metrics="auc")

    assert report.metadata["counts"] == {"grid": 4000, "suppress_below": 10}
    assert any(note.startswith("numbers of rows below 10 were suppressed") for note in report.notes)


def test_too_few_rows_to_show_anything_are_refused() -> None:
    with pytest.raises(fmfair.FmfairError, match="suppress_below=30000: there are not as many rows, so that nothing"):
        fmfair.counts(cohort(4), **COLUMNS, suppress_below=30_000)


def test_a_by_key_below_the_limit_is_left_out_as_a_whole() -> None:
    frame = pl.concat([cohort(8).with_columns(model=pl.lit("big")), cohort(9, 6).with_columns(model=pl.lit("small"))])

    table = fmfair.counts(frame, **{**COLUMNS, "by": "model"}, suppress_below=LEAST)

    assert table.filter(pl.col("model") == "small").is_empty()
    assert table.filter(pl.col("model") == "big")["n"].sum() > 0


@pytest.mark.parametrize("seed", range(20))
def test_merged_bins_hold_none_or_enough_of_every_group(seed: int) -> None:
    draw = random.Random(seed)
    groups = [
        np.array([draw.choice([0, 0, 1, 2, 30]) for _ in range(40)], dtype=np.int64) * draw.choice([0, 1, 1])
        for _ in range(3)
    ]
    groups = [g if g.sum() == 0 or g.sum() >= 7 else g + 1 for g in groups]

    starts = coarsened(np.arange(40), groups, 7)

    assert starts[0] == 0
    for group in groups:
        sums = np.add.reduceat(group, starts)
        assert ((sums == 0) | (sums >= 7)).all()


def test_one_cell_of_a_table_with_margins_takes_three_more_with_it() -> None:
    sizes = {("F", "a"): 3, ("F", "b"): 50, ("F", "c"): 70, ("M", "a"): 60, ("M", "b"): 40, ("M", "c"): 80}
    rows: dict[Cell, int] = {Cell((), ()): sum(sizes.values())}
    for (sex, race), n in sizes.items():
        for cell in (Cell(("sex",), (sex,)), Cell(("race",), (race,))):
            rows[cell] = rows.get(cell, 0) + n
        rows[Cell(("sex", "race"), (sex, race))] = n

    out = left_out(rows, sums_of(rows), set(), 10)

    assert {cell.parts for cell in out} == {("F", "a"), ("F", "b"), ("M", "a"), ("M", "b")}


def test_the_same_table_is_suppressed_in_the_same_way_every_time() -> None:
    frame = cohort(10)
    tables = [fmfair.counts(frame, **COLUMNS, intersections=2, suppress_below=LEAST) for _ in range(3)]

    assert all(table.drop("sum_bce").equals(tables[0].drop("sum_bce")) for table in tables[1:])


def test_kept_missing_groups_are_listed_or_left_out_like_others() -> None:
    frame = cohort(11).with_columns(pl.when(pl.col("race") != "b").then("race").alias("race"))
    columns = {**COLUMNS, "attributes": ["race"], "missing_groups": "keep"}

    report = fmfair.evaluate_counts(fmfair.counts(frame, **columns, suppress_below=LEAST), metrics="accuracy")

    truth = evaluate(frame, **columns, metrics="accuracy")
    assert report.groups.select("group", "n").equals(truth.groups.select("group", "n"))
    assert "(missing)" in report.groups["group"]
