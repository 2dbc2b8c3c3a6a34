"""Every option of `fmfair score` does what the argument of the Python function does, and changes the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import DICE, TABLE, assert_same, refused, rows, run, scored, strict_json, written

import fmfair

FINDINGS = TABLE.with_columns(mass=1 - pl.col("label"), mass_score=1 - pl.col("score"))
NAMED = TABLE.with_columns(
    diagnosis=pl.when(pl.col("label") == 1).then(pl.lit("malignant")).otherwise(pl.lit("benign")),
    prob_benign=1 - pl.col("score"),
    prob_malignant=pl.col("score"),
).drop("label", "score")
DECIDED = TABLE.select("id", "label", "sex", call=(pl.col("score") >= 0.35).cast(pl.Int64))
LOGITS = TABLE.with_columns(logit=(pl.col("score") * 8 - 4), score=pl.col("score").round(0))
MODELS = pl.concat(
    [TABLE.with_columns(net=pl.lit(m), score=s) for m, s in (("a", "score"), ("b", 1 - pl.col("score")))]
)
UNSURE = TABLE.with_columns(label=pl.when(pl.col("id").is_in(["p1", "p6"])).then(-1).otherwise("label"))
GAPPED = TABLE.with_columns(
    score=pl.when(pl.col("id") != "p2").then("score"), label=pl.when(pl.col("id") != "p9").then("label")
)
RESCALED = TABLE.with_columns(score=pl.col("score") * 0.9 + 3)
ONE_HOT = TABLE.select("sex", is_no=1 - pl.col("label"), is_yes="label", p_no=1 - pl.col("score"), p_yes="score")
REPEATED = TABLE.with_columns(image_id=pl.lit("p0"))

SEX = {"attributes": "sex"}

# The table, the options that are tested, and the arguments that they stand for.
CLASSIFICATION: dict[str, tuple[pl.DataFrame, list[str], dict[str, Any]]] = {
    "sensitive": (TABLE, ["--sensitive", "site"], {"attributes": "site"}),
    "sensitive, several after one flag": (TABLE, ["--sensitive", "site", "sex"], {"attributes": ["site", "sex"]}),
    "sensitive, separated by commas": (TABLE, ["--sensitive", "site,sex"], {"attributes": ["site", "sex"]}),
    "sensitive, repeated": (TABLE, ["--sensitive", "site", "--sensitive=sex"], {"attributes": ["site", "sex"]}),
    "bins": (
        TABLE,
        ["--sensitive", "years", "--bins", "years=40,60"],
        {"attributes": "years", "bins": {"years": [40, 60]}},
    ),
    "bins, quantiles": (
        TABLE,
        ["--sensitive", "years", "--bins", "years=q3"],
        {"attributes": "years", "bins": {"years": 3}},
    ),
    "ci": (TABLE, ["--ci", "0.9"], {"ci": 0.9}),
    "intersections": (TABLE, ["--intersections", "2"], {"intersections": 2}),
    "intersections, all": (TABLE, ["--intersections", "all"], {"intersections": "all"}),
    "intersections, listed": (TABLE, ["--intersections", "site,sex"], {"intersections": [("site", "sex")]}),
    "intersectional": (TABLE, ["--intersectional"], {"intersections": [("sex", "site")]}),
    "by": (MODELS, ["--by", "net"], {"by": "net"}),
    "no by": (MODELS.rename({"net": "model"}), ["--no-by"], {"by": []}),
    "missing": (
        TABLE,
        ["--missing", "a", "--missing-groups", "keep"],
        {"missing_values": ["a"], "missing_groups": "keep"},
    ),
    "cluster": (REPEATED, ["--cluster", "image_id"], {"cluster": "image_id"}),
    "weight": (TABLE, ["--weight", "years"], {"weight": "years"}),
    "conventions": (TABLE, ["--conventions", "fairmedfm"], {"conventions": "fairmedfm"}),
    "label": (FINDINGS, ["--label", "mass"], {"y_true": "mass"}),
    "label-col": (FINDINGS, ["--label-col", "mass"], {"y_true": "mass"}),
    "score": (FINDINGS, ["--score", "mass_score"], {"y_score": "mass_score"}),
    "prob-col": (FINDINGS, ["--prob-col", "mass_score"], {"y_score": "mass_score"}),
    "pred": (DECIDED, ["--pred", "call"], {"y_pred": "call"}),
    "logit": (LOGITS, ["--score", "score", "--logit", "logit"], {"y_score": "score", "y_logit": "logit"}),
    "pair": (
        FINDINGS,
        ["--pair", "mass=mass,mass_score", "--pair", "other=label,score"],
        {"labels": {"mass": ("mass", "mass_score"), "other": ("label", "score")}},
    ),
    "pair, several after one flag": (
        FINDINGS,
        ["--pair", "mass=mass,mass_score", "other=label,score", "--sensitive", "sex"],
        {"labels": {"mass": ("mass", "mass_score"), "other": ("label", "score")}, **SEX},
    ),
    "positive": (TABLE, ["--positive", "0"], {"positive": 0}),
    "pos-label": (
        NAMED,
        ["--label", "diagnosis", "--score", "prob_benign", "prob_malignant", "--pos-label", "malignant"],
        {"y_true": "diagnosis", "y_score": ["prob_benign", "prob_malignant"], "positive": "malignant"},
    ),
    "ignore, a negative number": (UNSURE, ["--ignore", "-1"], {"ignore": [-1]}),
    "classes": (
        NAMED,
        [
            *("--label", "diagnosis", "--score", "prob_benign", "prob_malignant"),
            *("--positive", "benign"),
            *("--classes", "malignant", "benign"),
        ],
        {
            "y_true": "diagnosis",
            "y_score": ["prob_benign", "prob_malignant"],
            "positive": "benign",
            "classes": ["malignant", "benign"],
        },
    ),
    "one-hot labels": (
        ONE_HOT,
        ["--label", "is_no", "is_yes", "--score", "p_no", "p_yes", "--positive", "is_no"],
        {"y_true": ["is_no", "is_yes"], "y_score": ["p_no", "p_yes"], "positive": "is_no"},
    ),
    "score type": (TABLE, ["--score-type", "rank"], {"score_type": "rank"}),
    "score type, logit": (RESCALED, ["--score-type", "logit"], {"score_type": "logit"}),
    "threshold": (TABLE, ["--threshold", "0.3", "best_f1", "tpr=0.9"], {"thresholds": [0.3, "best_f1", "tpr=0.9"]}),
    "threshold, repeated": (
        TABLE,
        ["--threshold", "youden", "--threshold", "tnr=0.5"],
        {"thresholds": ["youden", "tnr=0.5"]},
    ),
    "threshold, a negative number": (
        RESCALED.with_columns(score=pl.col("score") - 3.5),
        ["--score-type", "rank", "--threshold", "-0.1", "0.2"],
        {"score_type": "rank", "thresholds": [-0.1, 0.2]},
    ),
    "metrics": (
        TABLE,
        ["--metrics", "auc,partial_auc(fpr=(0, 0.5))", "ece(bins=5)"],
        {"metrics": ["auc", "partial_auc(fpr=(0, 0.5))", "ece(bins=5)"]},
    ),
    "metrics, all": (TABLE, ["--metrics", "all"], {"metrics": "all"}),
    "missing scores and labels": (
        GAPPED,
        ["--missing-scores", "drop", "--missing-labels", "drop"],
        {"missing_scores": "drop"},
    ),
}


# Most options show in the values; the intervals, which take most of a run, are left out but where an option is theirs.
OF_INTERVALS = ("ci", "cluster", "weight", "conventions")


@pytest.fixture(scope="module")
def plain_groups(tmp_path_factory: pytest.TempPathFactory) -> Callable[[pl.DataFrame, tuple[str, ...]], Any]:
    """The groups of a run without the option, None where it is refused; many options are tested on one table."""
    found: dict[object, Any] = {}

    def groups(table: pl.DataFrame, always: tuple[str, ...]) -> Any:
        if (id(table), always) not in found:
            path = written(tmp_path_factory.mktemp("plain"), table)
            result = run("score", path, *always, "--format", "json")
            found[id(table), always] = None if result.status == 2 else result.report["groups"]
        return found[id(table), always]

    return groups


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_an_option_does_what_its_argument_does(
    tmp_path: Path, plain_groups: Callable[[pl.DataFrame, tuple[str, ...]], Any], name: str
) -> None:
    table, options, arguments = CLASSIFICATION[name]
    path = written(tmp_path, table)
    always = () if name in OF_INTERVALS else ("--ci", "none")

    found = scored(path, *always, *options).report

    found["metadata"].pop("command")
    if always:
        arguments = {"ci": None, **arguments}
    assert_same(found, strict_json(fmfair.evaluate(path, **arguments).to_json()))
    assert found["groups"] != plain_groups(table, always)


MASKS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "mask label": (["--mask-label", "2"], {"label": 2}),
    "empty": (["--empty", "zero", "--mask-label", "3"], {"empty": "zero", "label": 3}),
    "empty, drop": (["--empty", "drop", "--mask-label", "3"], {"empty": "drop", "label": 3}),
    "empty score 0": (["--empty-score", "0", "--mask-label", "3"], {"empty": "zero", "label": 3}),
    "empty score 1": (["--empty-score", "1.0", "--mask-label", "3"], {"empty": "one", "label": 3}),
}


@pytest.fixture
def masks(tmp_path: Path) -> Callable[[float], Path]:
    """Writes a table of four pairs of masks of classes 0 to 3, the predicted ones scaled."""
    true = np.array([[[1, 2], [2, 3]], [[0, 1], [2, 2]], [[1, 1], [2, 0]], [[2, 2], [0, 1]]])
    predicted = np.array([[[2, 2], [0, 0]], [[1, 1], [2, 0]], [[0, 1], [2, 2]], [[1, 2], [0, 0]]])

    def make(scale: float) -> Path:
        for i in range(4):
            np.save(tmp_path / f"t{i}.npy", true[i] if scale == 1 else (true[i] > 0).astype(int))
            np.save(tmp_path / f"p{i}.npy", predicted[i] if scale == 1 else predicted[i] * scale)
        frame = pl.DataFrame(
            {"guess": [f"p{i}.npy" for i in range(4)], "truth": [f"t{i}.npy" for i in range(4)], "sex": list("FFMM")}
        )
        return written(tmp_path, frame)

    return make


@pytest.mark.parametrize("name", MASKS)
def test_an_option_for_masks_does_what_its_argument_does(masks: Callable[[float], Path], name: str) -> None:
    options, arguments = MASKS[name]
    path = masks(1)
    columns: dict[str, Any] = {"pred_mask": "guess", "true_mask": "truth"}

    found = scored(path, "--pred-mask", "guess", "--true-mask", "truth", *options).report

    expected = strict_json(fmfair.evaluate_segmentation(path, **columns, **arguments).to_json())
    assert_same(found["groups"], expected["groups"])
    plain = scored(path, "--pred-mask", "guess", "--true-mask", "truth").report
    assert found["groups"] != plain["groups"]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--mask-threshold", "0.9"], {"mask_threshold": 0.9}),
        (["--mask-type", "logit"], {"mask_type": "logit"}),
    ],
)
def test_an_option_for_probability_masks_does_what_its_argument_does(
    masks: Callable[[float], Path], options: list[str], arguments: dict[str, Any]
) -> None:
    path = masks(0.4)
    columns: dict[str, Any] = {"pred_mask": "guess", "true_mask": "truth"}

    found = scored(path, "--pred-mask", "guess", "--true-mask", "truth", *options).report

    expected = strict_json(fmfair.evaluate_segmentation(path, **columns, **arguments).to_json())
    assert_same(found["groups"], expected["groups"])
    assert found["groups"] != scored(path, "--pred-mask", "guess", "--true-mask", "truth").report["groups"]


@pytest.mark.parametrize(("flag", "argument"), [("--dice", "dice"), ("--dice-col", "dice"), ("--iou", "iou")])
def test_a_column_of_values_is_evaluated_as_named(tmp_path: Path, flag: str, argument: str) -> None:
    path = written(tmp_path, DICE.with_columns(mine=pl.col("dice") / 2))

    found = scored(path, flag, "mine", "--sensitive", "sex").report

    named: dict[str, Any] = {argument: "mine"}
    expected = fmfair.evaluate_segmentation(path, **named, attributes="sex")
    assert found["groups"] == strict_json(expected.to_json())["groups"]


# --- the options that no argument of the Python function stands for


def test_metadata_is_joined_on_columns_of_two_names(tmp_path: Path) -> None:
    images = written(tmp_path, TABLE.select("id", "label", "score"), "images.csv")
    people = written(tmp_path, TABLE.select("sex", "site", person="id")[:11], "people.csv")

    result = scored(images, "--metadata", people, "--on", "id=person", "--sensitive", "sex")

    expected = scored(written(tmp_path, TABLE[:11]), "--sensitive", "sex")
    assert result.report["groups"] == expected.report["groups"]
    assert [(one["table"], one["name"]) for one in result.report["metadata"]["inputs"]] == [
        ("frame", "images.csv"),
        ("metadata", "people.csv"),
    ]
    assert "warning: left out: 1 prediction whose 'id' is not in the metadata" in result.err


def test_the_metadata_is_joined_on_the_shared_id_where_none_is_named(tmp_path: Path) -> None:
    images = written(tmp_path, TABLE.select("id", "label", "score"), "images.csv")
    people = written(tmp_path, TABLE.select("sex", "id"), "people.csv")

    assert scored(images, "--metadata", people).groups() == scored(written(tmp_path)).groups(attribute="sex")


def test_on_takes_a_name_with_an_equals_sign_where_the_predictions_have_it(tmp_path: Path) -> None:
    images = written(tmp_path, TABLE.select("label", "score", **{"a=b": "id"}), "images.csv")
    people = written(tmp_path, TABLE.select("sex", **{"a=b": "id"}), "people.csv")

    assert scored(images, "--metadata", people, "--on", "a=b").report["metadata"]["n_samples"] == 12


def test_on_without_metadata_is_refused(tmp_path: Path) -> None:
    assert "--metadata" in refused(written(tmp_path), "--on", "id")


def test_the_task_settles_a_table_with_the_columns_of_both(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(dice="score"))

    message = refused(path, "--sensitive", "sex")

    assert message == "there are both classification and segmentation columns; say --task cls or --task seg"
    assert scored(path, "--task", "cls").report["task"] == "classification"
    assert scored(path, "--task", "seg").report["task"] == "segmentation"
    assert scored(path, "--label", "label").report["task"] == "classification"
    assert scored(path, "--dice", "dice").report["task"] == "segmentation"
    assert refused(path, "--dice", "dice", "--label", "label") == message


def test_sample_id_makes_repeats_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(scan=pl.lit("p0")))

    message = refused(path, "--sample-id", "scan")

    assert "--sample-id: column 'scan' repeats" in message
    assert "or give --cluster if several rows of one patient are meant" in message


@pytest.mark.parametrize("position", [0, 1])
def test_score_column_says_which_column_is_the_positive_class(tmp_path: Path, position: int) -> None:
    path = written(tmp_path, NAMED.with_columns(label=pl.col("diagnosis") == "malignant"))
    columns = ["prob_benign", "prob_malignant"]

    found = scored(path, "--label", "label", "--score", *columns, "--score-column", position)

    assert found.groups() == scored(path, "--label", "label", "--score", columns[position]).groups()


def test_score_column_goes_with_text_labels(tmp_path: Path) -> None:
    path = written(tmp_path, NAMED)
    args = ("--label", "diagnosis", "--positive", "malignant", "--score", "prob_benign", "prob_malignant")

    assert scored(path, *args, "--score-column", 1).groups() == scored(path, *args).groups()
    assert scored(path, *args, "--score-column", 0).groups() != scored(path, *args).groups()


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([0, 1], "1"),
        ([0.0, 1.0], "1"),
        ([False, True], "true"),
        ([False, True], "1"),
        (["0x", "1"], "1"),
        ([3, 4], "4"),
    ],
)
def test_the_positive_class_is_read_in_the_type_of_the_labels(tmp_path: Path, labels: list[Any], text: str) -> None:
    brief = ("--ci", "none")
    frame = TABLE.with_columns(label=pl.Series([labels[v] for v in TABLE["label"]]))
    frame.write_parquet(tmp_path / "t.parquet")

    found = scored(tmp_path / "t.parquet", *brief, "--positive", text).groups()
    assert found == scored(written(tmp_path), *brief).groups()


def test_several_labels_may_be_ignored_and_mean_missing(tmp_path: Path) -> None:
    names = pl.Series(["no", "yes", "?", "yes", "yes", "no", "no", "yes", "never", "yes", "no", "yes"])
    path = written(tmp_path, TABLE.with_columns(label=names))

    result = scored(path, "--positive", "yes", "--ignore", "?", "never", "--sensitive", "sex")
    missing = scored(path, "--positive", "yes", "--missing", "?", "never", "--sensitive", "sex")

    assert {row["n"] for row in rows(result.report["groups"], metric="auc")} == {5}
    assert missing.report["groups"] == result.report["groups"]


def test_missing_labels_may_be_an_error(tmp_path: Path) -> None:
    message = refused(written(tmp_path, GAPPED), "--missing-labels", "raise", "--missing-scores", "drop")

    assert message.startswith("--label: column 'label' has 1 missing value")


def test_min_group_size_leaves_groups_out_of_the_gaps(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE[:9])

    assert scored(path, "--sensitive", "sex").summary["auc-gap"] is not None
    result = run("score", path, "--sensitive", "sex", "--min-group-size", "4", "--format", "json")
    assert result.summary["auc-gap"] is None
    assert result.status == 1


def test_the_full_combination_of_one_attribute_adds_nothing(tmp_path: Path) -> None:
    path = written(tmp_path)

    found = scored(path, "--sensitive", "sex", "--intersectional")

    assert found.report["groups"] == scored(path, "--sensitive", "sex").report["groups"]


def test_the_full_combination_of_a_long_table_is_of_its_attributes(tmp_path: Path) -> None:
    long = TABLE.unpivot(["sex", "site"], index=["id", "label", "score"], variable_name="attribute", value_name="group")
    path = written(tmp_path, long, "long.csv")

    found = scored(path, "--sample-id", "id", "--intersectional")

    expected = scored(written(tmp_path), "--sensitive", "sex", "site", "--intersectional")
    assert found.groups(attribute="sex & site") == expected.groups(attribute="sex & site")


@pytest.mark.parametrize("flag", ["--input", "--predictions"])
def test_the_table_may_be_named_by_an_option(tmp_path: Path, flag: str) -> None:
    path = written(tmp_path)

    assert scored(flag, path, "--sensitive", "sex").groups() == scored(path, "--sensitive", "sex").groups()
    assert "name one table" in refused(path, flag, path)


def test_the_table_may_follow_the_values_of_an_option(tmp_path: Path) -> None:
    path = written(tmp_path)

    expected = scored(path, "--sensitive", "sex", "site").report["groups"]
    assert scored("--sensitive", "sex", "site", path).report["groups"] == expected
    assert scored("--format", "json", "--sensitive", "sex", "site", path).report["groups"] == expected
    assert run("score", "--sensitive", "sex", "site", "--", path).status == 0
