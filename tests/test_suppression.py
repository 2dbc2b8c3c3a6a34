"""Suppressed reports: what is hidden of which groups, in every frame, form and engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from engines import both
from reports import decided

import fmfair
from fmfair.cli import main

SUPPRESSED = "suppressed"
# Groups whose counts are all large: (tp, fn, tn, fp).
LARGE = {"a": (80, 20, 70, 30), "b": (60, 25, 50, 20)}


def report(groups: dict[str, tuple[int, int, int, int]], **arguments: Any) -> fmfair.Report:
    given = {"attributes": "site", "metrics": ["auc", "tpr", "fpr", "accuracy"], "suppress_below": 10, "ci": None}
    return fmfair.evaluate(decided(groups), **{**given, **arguments})


def shown(found: fmfair.Report, metric: str = "tpr") -> dict[str, tuple[Any, ...]]:
    """Value, rows, positives and note of every group."""
    rows = found.groups.filter(pl.col("metric") == metric)
    return {row[0]: row[1:] for row in rows.select("group", "value", "n", "n_pos", "note").iter_rows()}


HIDDEN = (None, None, None, SUPPRESSED)


def test_a_small_group_is_hidden_and_with_it_the_smallest_other() -> None:
    found = report({**LARGE, "c": (50, 20, 40, 20), "d": (2, 1, 1, 1)})

    assert shown(found)["a"] == (0.8, 200, 100, None)
    assert shown(found)["b"][1:] == (155, 85, None)
    assert shown(found)["c"] == shown(found)["d"] == HIDDEN
    assert found.overall["n"].unique().to_list() == [490]
    assert found.groups.filter(pl.col("note") == SUPPRESSED)["denominator"].null_count() == 8
    assert not found.groups.filter(pl.col("note") == SUPPRESSED)["in_gaps"].any()


def test_gaps_are_between_the_groups_that_are_left() -> None:
    found = report({**LARGE, "c": (15, 60, 40, 10), "d": (0, 5, 0, 0)})
    gap = found.gaps.filter(pl.col("metric") == "tpr", pl.col("statistic") == "difference").row(0, named=True)

    assert (gap["worst_group"], gap["best_group"], gap["n_groups"]) == ("b", "a", 2)
    assert gap["value"] == pytest.approx(0.8 - 60 / 85)
    assert found.summary["n_groups"].item() == 2


def test_nothing_is_hidden_where_nothing_is_small() -> None:
    plain = report(LARGE, suppress_below=None)
    found = report(LARGE)

    for name in ("groups", "gaps", "overall", "summary"):
        assert found.to_frame(name).equals(plain.to_frame(name))
    assert "suppress_below" not in plain.metadata
    assert found.metadata["suppress_below"] == 10


def test_few_positives_hide_all_but_the_rows() -> None:
    found = report({**LARGE, "c": (30, 20, 40, 20), "d": (3, 1, 80, 20)})

    assert shown(found)["d"] == (None, 104, None, SUPPRESSED)
    assert shown(found)["c"] == (None, 110, None, SUPPRESSED)  # else overall less the others tells its positives
    assert shown(found)["b"][1:] == (155, 85, None)
    assert shown(found, "auc")["d"] == (None, 104, None, SUPPRESSED)


def test_few_errors_hide_the_values_at_the_threshold() -> None:
    found = report({**LARGE, "c": (30, 20, 40, 20), "d": (50, 4, 80, 20)}, metrics=["tpr", "tnr", "accuracy", "fn"])

    for metric in ("tpr", "tnr", "accuracy", "fn"):
        assert shown(found, metric)["d"] == (None, 154, 54, SUPPRESSED)
        assert shown(found, metric)["c"] == (None, 110, 50, SUPPRESSED)
        assert shown(found, metric)["b"][0] is not None


def test_counts_of_nobody_may_be_shown() -> None:
    found = report({**LARGE, "c": (30, 0, 40, 20), "d": (0, 0, 80, 20)})

    assert shown(found)["c"] == (1.0, 90, 30, None)
    assert shown(found)["d"] == (None, 100, 0, "no positives")
    assert shown(found, "fpr")["d"][0] == 0.2


def test_rankings_of_scores_that_are_decisions_are_hidden_with_the_decisions() -> None:
    """A ranking of two values is half of 1 + TPR - FPR."""
    two = report({**LARGE, "c": (30, 20, 40, 20), "d": (50, 4, 80, 20)}, metrics="auc")
    frame = decided({**LARGE, "c": (30, 20, 40, 20), "d": (50, 4, 80, 20)})
    graded = frame.with_columns(pl.col("y_score") + pl.int_range(pl.len()) / 1e5)
    many = fmfair.evaluate(graded, attributes="site", metrics="auc", suppress_below=10, ci=None)

    assert shown(two, "auc")["d"] == (None, 154, 54, SUPPRESSED)
    assert shown(many, "auc")["d"][3] is None


def test_counts_at_two_thresholds_do_not_tell_how_many_rows_lie_between() -> None:
    frame = decided(LARGE).with_columns(
        y_score=pl.when(pl.int_range(pl.len()).is_in([0, 1, 2])).then(0.55).otherwise("y_score")
    )

    found = fmfair.evaluate(
        frame, attributes="site", metrics="tp", thresholds=[0.5, 0.6], suppress_below=10, ci=None
    ).groups

    hidden = found.filter(pl.col("group") == "a").sort("threshold")["note"].to_list()
    assert hidden == [None, SUPPRESSED]


def test_few_rows_without_the_attribute_hide_what_would_tell_them() -> None:
    frame = pl.concat([decided(LARGE), decided({"": (1, 1, 1, 1)})])
    frame = frame.with_columns(site=pl.col("site").replace("", None))

    found = fmfair.evaluate(frame, attributes="site", metrics="tpr", suppress_below=10, ci=None)
    kept = fmfair.evaluate(frame, attributes="site", metrics="tpr", suppress_below=10, ci=None, missing_groups="keep")

    assert found.summary["n"].item() is None
    assert shown(found)["b"] == HIDDEN
    assert shown(found)["a"][1] == 200
    assert not any("4 rows" in note for note in found.notes)
    assert any(note.startswith("site: rows with a missing value left out") for note in found.notes)
    assert shown(kept)["(missing)"] == shown(kept)["b"] == HIDDEN


def test_many_rows_without_the_attribute_are_counted() -> None:
    frame = decided({**LARGE, "": (20, 20, 20, 20)}).with_columns(site=pl.col("site").replace("", None))

    found = fmfair.evaluate(frame, attributes="site", metrics="tpr", suppress_below=10, ci=None)

    assert any(note.startswith("site: 80 rows with a missing value left out") for note in found.notes)
    assert found.summary["n"].item() == 355


def test_a_small_cell_of_an_intersection_takes_three_more_with_it() -> None:
    parts = [
        decided({"x": counts}, sex=sex)
        for sex, counts in (("F", (30, 20, 30, 20)), ("M", (40, 20, 30, 20)), ("N", (50, 20, 50, 20)))
    ]
    parts += [
        decided({"y": counts}, sex=sex)
        for sex, counts in (("F", (2, 0, 1, 0)), ("M", (30, 20, 30, 10)), ("N", (40, 20, 50, 20)))
    ]

    found = fmfair.evaluate(
        pl.concat(parts), attributes=["sex", "site"], metrics="tpr", intersections=2, suppress_below=10, ci=None
    )

    hidden = {group for group, (*_, n, _, note) in shown(found).items() if n is None and note == SUPPRESSED}
    assert hidden == {"F & x", "F & y", "M & x", "M & y"}


def test_a_by_key_with_few_rows_hides_all_of_it_and_the_number_of_samples() -> None:
    small = decided({"a": (2, 1, 1, 1)}, model="new")
    frame = pl.concat([decided(LARGE, model="old"), small])

    found = fmfair.evaluate(
        frame, attributes="site", by="model", metrics="tpr", thresholds="best_f1", suppress_below=10, ci=None
    )

    assert found.metadata["n_samples"] is None
    assert found.overall["n"].to_list() == [None, 355]
    assert found.overall["threshold"].to_list() == [None, 0.9]
    assert "number of samples suppressed" in str(found)


def test_patients_are_counted_too_where_they_are_told_apart() -> None:
    frame = decided({**LARGE, "c": (50, 20, 40, 20)}).with_row_index("row")
    of = {"a": 100, "b": 100, "c": 4}
    frame = frame.with_columns(patient=pl.format("{}{}", "site", pl.col("row") % pl.col("site").replace_strict(of)))

    for ci in (None, 0.95):
        found, _ = both(
            frame, attributes="site", metrics="tpr", cluster="patient", suppress_below=10, ci=ci, thresholds=0.5
        )
        assert {group for group, row in shown(found).items() if row == HIDDEN} == {"c", "b"}


def test_columns_of_certainty_are_hidden_too() -> None:
    groups = {**LARGE, "c": (50, 20, 40, 20), "d": (2, 1, 1, 1)}
    frame = pl.concat([decided(groups, sex=sex) for sex in "FM"])

    found = fmfair.evaluate(
        frame,
        attributes=["site", "sex"],
        metrics=["tpr", "ece"],
        intersections=2,
        suppress_below=10,
        bootstrap=100,
        model_based=True,
    )

    hidden = found.groups.filter(pl.col("note") == SUPPRESSED)
    assert hidden.height > 0
    names = ("value", "ci_low", "ci_high", "ci_method", "ci_note", "mark", "expected", "debiased", "p_value")
    for name in (*names, "model_based", "model_based_low", "model_based_high"):
        assert hidden[name].null_count() == hidden.height, name
    named = {group for pair in found.pairs.select("group", "other_group").iter_rows() for group in pair}
    assert named == {"a", "b", "F", "M"}


def test_notes_count_no_few_rows() -> None:
    frame = decided(LARGE).with_columns(
        pl.when(pl.int_range(pl.len()) > 2).then("y_true").alias("y_true"),
        pl.when(pl.int_range(pl.len()) != 20).then("y_score").alias("y_score"),
    )

    found = fmfair.evaluate(frame, attributes="site", missing_scores="drop", suppress_below=10, ci=None)

    assert "y_true: fewer than 10 rows with a missing label in 'y_true' left out" in found.notes
    assert any(note.startswith("y_score: fewer than 10 rows with a missing or infinite") for note in found.notes)


def segmentation(sizes: dict[str, int]) -> pl.DataFrame:
    rows = [(site, k % 10 / 10, k % 7 / 7) for site, n in sizes.items() for k in range(n)]
    return pl.DataFrame(rows, ["site", "dice", "iou"], orient="row")


def test_segmentation() -> None:
    frame = segmentation({"a": 50, "b": 40, "c": 30, "d": 5})

    found = fmfair.evaluate_segmentation(frame, dice="dice", iou="iou", suppress_below=10)

    for metric in ("dice", "iou"):
        rows = found.groups.filter(pl.col("metric") == metric).select("group", "n", "note").rows()
        assert rows == [("a", 50, None), ("b", 40, None), ("c", None, SUPPRESSED), ("d", None, SUPPRESSED)]
    assert found.summary["n_groups"].item() == 2


def test_segmentation_does_not_tell_how_many_lack_one_of_two_values() -> None:
    frame = segmentation({"a": 50, "b": 40, "c": 30})
    frame = frame.with_columns(iou=pl.when(pl.int_range(pl.len()) > 3).then("iou"))

    found = fmfair.evaluate_segmentation(frame, dice="dice", iou="iou", suppress_below=10)

    assert found.groups.filter(pl.col("group") == "a")["n"].null_count() == 2
    assert "iou: fewer than 10 samples with a missing value in 'iou' left out" in found.notes


def test_few_samples_with_both_masks_empty_are_not_told(tmp_path: Path) -> None:
    for name, value in (("empty", 0), ("full", 1)):
        np.save(tmp_path / f"{name}.npy", np.full((2, 2), value))
    masks = pl.DataFrame({"site": ["a"] * 30 + ["b"] * 40 + ["c"] * 50, "row": range(120)})
    masks = masks.with_columns(mask=pl.when(pl.col("row") < 20).then(pl.lit("empty")).otherwise(pl.lit("full")))
    masks = masks.with_columns(mask=pl.when(pl.col("row").is_in([40, 41])).then(pl.lit("empty")).otherwise("mask"))
    path = pl.format("{}/{}.npy", pl.lit(str(tmp_path)), "mask")
    frame = masks.select("site", pred_mask=path, true_mask=path)

    found = fmfair.evaluate_segmentation(frame, attributes="site", suppress_below=8)

    rows = found.groups.filter(pl.col("metric") == "both_empty").select("group", "value", "n", "note").rows()
    assert rows == [("a", None, 30, SUPPRESSED), ("b", None, 40, SUPPRESSED), ("c", 0.0, 50, None)]
    assert found.groups.filter(pl.col("metric") == "dice")["value"].null_count() == 0
    assert "suppress_below=8: site: some values of 2 groups hidden" in found.notes


def models(groups: dict[str, tuple[int, int, int, int]]) -> pl.DataFrame:
    base = decided(groups).with_row_index("image_id")
    flipped = base.with_columns(
        y_score=pl.when(pl.col("image_id") % 5 == 0).then(1 - pl.col("y_score")).otherwise("y_score")
    )
    return pl.concat([base.with_columns(model=pl.lit("old")), flipped.with_columns(model=pl.lit("new"))])


def test_comparison_of_models() -> None:
    frame = models({**LARGE, "c": (50, 20, 40, 20), "d": (2, 1, 1, 1)})

    found = fmfair.compare(frame, attributes="site", metrics=["tpr", "accuracy"], suppress_below=10)

    groups = found.differences.filter(pl.col("metric") == "tpr").select("group", "n", "note").rows()
    assert groups[0][:2] == (None, 490)
    assert [row[:2] for row in groups[1:3]] == [("a", 200), ("b", 155)]
    assert groups[3:] == [("c", None, SUPPRESSED), ("d", None, SUPPRESSED)]
    numbers = [n for n, t in found.differences.schema.items() if t.is_numeric() and n != "threshold"]
    assert found.differences.filter(pl.col("note") == SUPPRESSED).select(numbers).null_count().row(0) == (4,) * len(
        numbers
    )
    assert found.gaps["n_groups"].to_list() == [2, 2]


@pytest.fixture
def recognisable() -> pl.DataFrame:
    """Hidden counts that occur nowhere by chance, however small they are called."""
    groups = {"a": (1100, 1050, 1200, 1150), "b": (1021, 1031, 1013, 1019), "c": (307, 311, 313, 317)}
    return decided(groups)


SECRETS = ("1248", "618", "4084", "2052", "0.4967", "0.4975")  # n, n_pos, tpr of c and b


def forms(found: fmfair.Report, folder: Path) -> dict[str, str]:
    texts = {"text": str(found), "html": found._repr_html_(), "json": found.to_json()}
    for name in ("groups", "gaps", "overall", "summary", "pairs"):
        texts[f"{name}.csv"] = str(found.write_csv(which=name))
    found.write_parquet(folder / "results")
    for path in sorted((folder / "results").glob("*.parquet")):
        kept = json.dumps({k: v for k, v in pl.read_parquet_metadata(path).items() if k != "ARROW:schema"})
        texts[path.name] = pl.read_parquet(path).write_json() + kept
    return texts


def test_no_form_of_a_report_holds_a_hidden_number(recognisable: pl.DataFrame, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"attributes": "site", "metrics": ["auc", "tpr", "fpr", "tp", "ece"]}
    found = fmfair.evaluate(recognisable, **arguments, suppress_below=2000)
    plain = fmfair.evaluate(recognisable, **arguments)

    assert all(secret in plain.to_json() for secret in SECRETS)
    for form, text in forms(found, tmp_path).items():
        assert not [secret for secret in SECRETS if secret in text], form
    assert SUPPRESSED in forms(found, tmp_path / "again")["groups.csv"]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_command_line(
    form: str, recognisable: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recognisable.write_csv(tmp_path / "predictions.csv")

    command = ["score", str(tmp_path / "predictions.csv"), "--sensitive", "site", "--suppress-below", "2000"]
    assert main([*command, "--format", form, "--output", str(tmp_path / "report.json")]) == 1  # no gap is left

    said = capsys.readouterr()
    for text in (said.out, said.err, (tmp_path / "report.json").read_text()):
        assert not [secret for secret in SECRETS if secret in text]
    assert "--suppress-below 2000" in said.err or "suppress_below=2000" in said.err


def test_command_line_of_comparisons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models({**LARGE, "c": (50, 20, 40, 20), "d": (2, 1, 1, 1)}).write_csv(tmp_path / "both.csv")

    assert main(["compare", str(tmp_path / "both.csv"), "--suppress-below", "10", "--format", "csv"]) == 0

    rows = pl.read_csv(capsys.readouterr().out.encode()).filter(pl.col("group").is_in(["c", "d"]))
    assert rows["n"].null_count() == rows.height > 0


def test_arrays_take_it_too() -> None:
    frame = decided({**LARGE, "c": (50, 20, 40, 20), "d": (2, 1, 1, 1)})

    found = fmfair.evaluate_arrays(
        frame["y_true"], frame["y_score"], sensitive_features={"site": frame["site"]}, suppress_below=10
    )

    assert shown(found)["d"] == HIDDEN


@pytest.mark.parametrize("least", [1, 0, True, 2.5, "ten"])
def test_other_numbers_are_refused(least: Any) -> None:
    with pytest.raises(fmfair.FmfairError, match="is not a whole number of rows, 2 or more"):
        report(LARGE, suppress_below=least)


def test_too_many_thresholds_are_refused() -> None:
    with pytest.raises(fmfair.FmfairError, match="compares each threshold with each other, of 200 too many"):
        report(LARGE, thresholds=[k / 200 for k in range(200)])


def test_the_conventions_of_fairmedfm() -> None:
    groups = {**LARGE, "c": (50, 20, 40, 20), "d": (2, 1, 1, 1)}

    found, _ = both(decided(groups), attributes="site", suppress_below=10, conventions="fairmedfm", ci=None)

    assert {group for group, row in shown(found).items() if row == HIDDEN} == {"c", "d"}
