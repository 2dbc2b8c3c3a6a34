"""The parts of the command line: how arguments are read, how messages are worded, and `fmfair metrics`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import TABLE, process, refused, run, strict_json, written
from PIL import Image
from rich.console import Console

import fmfair
from fmfair.cli import argv, output, parsing
from fmfair.cli.options import OPTIONS
from fmfair.cli.wording import in_flags
from fmfair.errors import FmfairError
from fmfair.metrics.registry import list_metrics

FLAGS = {o.name: o.flags.split()[0] for options in OPTIONS.values() for o in options}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["t", "--s", "a", "b", "--x", "1"], ["t", "--s=a", "--s=b", "--x", "1"]),
        (["t", "--s=a", "b"], ["t", "--s=a", "--s=b"]),
        (["t", "--s", "-1", "-.5", "--q"], ["t", "--s=-1", "--s=-.5", "--q"]),
        (["t", "--s", "-x", "b"], ["t", "--s=-x", "--s=b"]),
        (["t", "--s", "a", "-x"], ["t", "--s=a", "-x"]),
        (["t", "--s", "--q"], ["t", "--s", "--q"]),
        (["t", "--s"], ["t", "--s"]),
        (["t", "--x", "--s", "a"], ["t", "--x", "--s", "a"]),
        (["--s", "a", "t.csv"], ["--s=a", "t.csv"]),
        (["--s", "a", "b"], ["--s=a", "--s=b"]),
        (["--s", "a", "t.csv", "--x", "1"], ["--s=a", "t.csv", "--x", "1"]),
        (["--s", "a", "runs/*.parquet"], ["--s=a", "runs/*.parquet"]),
        (["--s", "a", "b.csv", "--x", "1", "t.csv"], ["--s=a", "--s=b.csv", "--x", "1", "t.csv"]),
        (["--s", "a", "--", "--t.csv"], ["--s=a", "--", "--t.csv"]),
        (["--table", "t.csv", "--s", "a", "b.csv"], ["--table", "t.csv", "--s=a", "--s=b.csv"]),
    ],
)
def test_a_flag_is_repeated_for_each_of_its_values(given: list[str], expected: list[str]) -> None:
    known = {"--s", "--x", "--q", "--table"}

    found = argv.repeat_flags(given, several={"--s"}, single={"--x", "--table"}, known=known, table_options={"--table"})

    assert found == expected


@pytest.mark.parametrize("text", ["age", "age=", "=40", "age=q", "age=qx", "age=a,b", "age=,"])
def test_bins_that_are_not_understood_show_the_form(text: str) -> None:
    with pytest.raises(FmfairError, match="use COLUMN=40,60"):
        parsing.bins([text])


def test_bins_may_be_of_a_column_with_an_equals_sign_but_not_twice() -> None:
    assert parsing.bins(["a=b=40"]) == {"a=b": [40.0]}
    with pytest.raises(FmfairError, match="has bins twice"):
        parsing.bins(["a=40", "a=q4"])


@pytest.mark.parametrize("text", ["mass", "mass=a", "=a,b", "mass=a,b,c"])
def test_a_pair_that_is_not_understood_shows_the_form(text: str) -> None:
    with pytest.raises(FmfairError, match="use NAME=Y_TRUE,Y_SCORE"):
        parsing.pairs([text], ["a", "b"])


def test_a_pair_may_hold_columns_with_commas_but_no_name_twice() -> None:
    assert parsing.pairs(["mass=a,b,c"], ["a,b", "c"]) == {"mass": ("a,b", "c")}
    with pytest.raises(FmfairError, match="occurs twice"):
        parsing.pairs(["mass=a,b", "mass=b,a"], ["a", "b"])


@pytest.mark.parametrize("texts", [["sex"], ["2", "sex,age"], ["two"], ["-1"], ["all", "2"]])
def test_intersections_that_are_not_understood_show_the_forms(texts: list[str]) -> None:
    with pytest.raises(FmfairError, match="use a number"):
        parsing.intersections(texts, ["sex", "age"])


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("no y_true column found; name it with y_true= (--label).", "no label column found; name it with --label."),
        ("y_score='p' (--score): no column 'p'", "--score p: no column 'p'"),
        ("attributes='Skin type' (--sensitive): no column", "--sensitive 'Skin type': no column"),
        ("y_score: column 'y_score' has 2 scores", "--score: column 'y_score' has 2 scores"),
        ("y_score has 3 columns but y_true has 2 labels", "the score has 3 columns but the label has 2 labels"),
        ("left out (missing_scores='drop')", "left out (--missing-scores drop)"),
        ("give score_type='logit' or 'rank'", "give --score-type logit or rank"),
        ("positive='a b' (all others)", "--positive 'a b' (all others)"),
        ("leave values out with ignore=[...])", "leave values out with --ignore VALUE)"),
        ("positive=1 does not occur", "--positive 1 does not occur"),
        ("bins={'age': [40, 60]} (cut points) or bins={'age': 4}", "--bins age=40,60 (cut points) or --bins age=q4"),
        ("bins={'my age': [40.5]}", "--bins 'my age=40.5'"),
        ("labels={'name': (y_true, y_score), ...}", "--pair NAME=Y_TRUE,Y_SCORE"),
        ("labels['mass']: column 'm' has", "--pair mass: column 'm' has"),
        ("found by name: model (by=[] switches this off)", "found by name: model (--no-by switches this off)"),
        ("pred_mask= and true_mask= (--pred-mask, --true-mask)", "--pred-mask and --true-mask"),
        ("give either dice=/iou= or pred_mask=", "give either --dice/--iou or --pred-mask"),
        ("with on (command line: --on NAME, or --on A=B)", "with --on NAME, or --on A=B"),
        ("weight: column 'w' has", "--weight: column 'w' has"),
        ("weight: 3 rows with a missing value", "weight: 3 rows with a missing value"),
        ("2 problems:\n  - y_true: a\n  - y_score: b", "2 problems:\n  - --label: a\n  - --score: b"),
        (
            "column 'bins={1}' and \"y_true='a'\" of today's table",
            "column 'bins={1}' and \"y_true='a'\" of today's table",
        ),
        ("y_true=['a', 'b c'] is read as one-hot", "--label a 'b c' is read as one-hot"),
        ("classes= names 3 classes", "--classes names 3 classes"),
    ],
)
def test_messages_speak_of_options_and_leave_quoted_names_alone(python: str, command: str) -> None:
    assert in_flags(python, FLAGS) == command


def test_every_argument_of_the_python_functions_is_an_option() -> None:
    import inspect

    arguments = {
        *inspect.signature(fmfair.evaluate).parameters,
        *inspect.signature(fmfair.evaluate_segmentation).parameters,
    }

    assert arguments - {"frame"} <= set(FLAGS)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["score"], "name one table of predictions"),
        (["score", "absent.csv"], "no file or folder absent.csv"),
        (["score", "t.csv", "--lable", "x"], "No such option: --lable"),
        (["score", "t.csv", "more.csv"], "unexpected extra argument"),
        (["score", "t.csv", "--label"], "requires an argument"),
        (["score", "t.csv", "--min-group-size", "many"], "--min-group-size"),
        (["score", "t.csv", "--min-group-size", "-1"], "--min-group-size -1 is not a whole number"),
        (["score", "t.csv", "--format", "xml"], "--format xml is not known; expected table, pairs, json, csv"),
        (["score", "t.csv", "--task", "det"], "--task det is not known"),
        (["score", "t.csv", "--conventions", "mine"], "--conventions mine is not known"),
        (["score", "t.csv", "--score-type", "odds"], "--score-type odds is not known"),
        (["score", "t.csv", "--missing-groups", "x"], "--missing-groups x is not known"),
        (["score", "t.csv", "--missing-scores", "x"], "--missing-scores x is not known"),
        (["score", "t.csv", "--missing-labels", "x"], "--missing-labels x is not known"),
        (["score", "t.csv", "--threshold", "best"], "'best' is not understood; give a finite number, 'best_f1'"),
        (["score", "t.csv", "--threshold", "0,5"], "write --threshold 0.5 for a decimal number or --threshold 0 5 for"),
        (["score", "t.csv", "--threshold", "tpr=0,9"], "write --threshold tpr=0.9 for a decimal number or --threshold"),
        (["score", "t.csv", "--threshold", "0.3,best_f1"], "write --threshold 0.3 best_f1 for several thresholds"),
        (["score", "t.csv", "--threshold", "0.3,", "0.5"], "write --threshold 0.3\n"),
        (["score", "t.csv", "--metrics", "acu"], "no metric 'acu'; did you mean 'auc'?; fmfair metrics describes them"),
        (["score", "t.csv", "--sensitive", "gender"], "--sensitive gender: no column 'gender'"),
        (["score", "t.csv", "--bins", "height=40"], "--bins names 'height'"),
        (["score", "t.csv", "--positive", "yes"], "--positive yes does not occur in column 'label'"),
        (["score", "t.csv", "--score-column", "1"], "--score-column 1: expected a position from 0 among several"),
        (["score", "t.csv", "--score", "score", "years", "--score-column", "0", "--classes", "a", "b"], "give one of"),
        (["score", "t.csv", "--intersectional", "--intersections", "2"], "contradict each other"),
        (["score", "t.csv", "--by", "site", "--no-by"], "contradict each other"),
        (["score", "t.csv", "--dice", "score", "--threshold", "0.5"], "--threshold: only for classification"),
        (["score", "t.csv", "--label", "label", "--empty", "zero"], "--empty: only for segmentation"),
        (["score", "t.csv", "--dice", "score", "--empty-score", "0.5"], "--empty-score is 1 or 0"),
        (["score", "t.csv", "--dice", "score", "--mask-label", "lung"], "--mask-label lung: expected the number"),
        (["score", "t.csv", "--output", ""], "--output is empty"),
        (["score", "t.csv", "--label", "id"], "--positive"),
        (["metrics", "acu"], "no metric 'acu'; did you mean 'auc'?"),
        (["metrics", "--format", "csv"], "--format csv is not known; expected table, json"),
        ([], "Missing command"),
        (["scoer"], "No such command 'scoer'"),
    ],
)  # fmt: skip
def test_a_bad_option_is_one_readable_message_and_exit_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], expected: str
) -> None:
    written(tmp_path, TABLE, "t.csv")
    monkeypatch.chdir(tmp_path)

    result = run(*args)

    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("fmfair: error: ")
    assert expected in result.err
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_table_without_anything_to_evaluate_names_the_options_of_both_tasks(tmp_path: Path) -> None:
    message = refused(written(tmp_path, TABLE.select("id", "sex")))

    assert "name it with --label" in message
    assert "--dice, or --pred-mask and --true-mask" in message


def test_an_error_in_a_process_has_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 truncated")

    done = process("score", path, "--sensitive", "sex")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fmfair: error: cannot read")
    assert "Traceback" not in done.stderr


def test_messages_about_masks_name_the_options_for_masks(tmp_path: Path) -> None:
    frame = pl.DataFrame({"pred_path": ["p.npy"] * 2, "gt_path": ["t.npy"] * 2, "sex": ["F", "M"]})
    args = (written(tmp_path, frame), "--pred-mask", "pred_path", "--true-mask", "gt_path")

    message = refused(*args, "--mask-label", "2", "--mask-type", "probability")

    assert message == "--mask-label compares class labels, so it cannot go with --mask-type probability"


def test_jpeg_masks_are_refused_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    Image.fromarray(np.eye(16, dtype=np.uint8) * 255).save(tmp_path / "m.jpg")
    frame = pl.DataFrame({"pred_path": ["m.jpg"] * 2, "gt_path": ["m.jpg"] * 2, "sex": ["F", "M"]})
    args = (written(tmp_path, frame), "--pred-mask", "pred_path", "--true-mask", "gt_path")

    assert "give the grey level from which a pixel counts, e.g. --mask-threshold 128:" in refused(*args)
    assert refused(*args, "--mask-threshold", "-1").startswith("--mask-threshold -1.0 is neither a probability")
    assert run("score", *args, "--mask-threshold", "128").status == 0


# --- fmfair metrics


def test_metrics_lists_every_metric_with_its_facts() -> None:
    header, *lines = run("metrics").out.splitlines()

    assert header.split() == ["metric", "range", "better", "definition"]
    named = [line for line in lines if not line.startswith(" ")]
    assert [line.split()[0] for line in named] == [m.name for m in list_metrics()]
    (i,) = [i for i, line in enumerate(lines) if line.startswith("tpr ")]
    assert re.split(r" {2,}", lines[i]) == ["tpr", "[0, 1]", "higher", "tp / (tp + fn)"]
    assert lines[i + 1].split() == ["undefined:", "no", "positives"]


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("140", 140), ("20", 80), (None, 100)])
def test_the_list_of_metrics_is_wrapped_to_the_terminal_or_a_hundred_columns(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int
) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    else:
        monkeypatch.delenv("COLUMNS", raising=False)
        monkeypatch.setattr(sys, "__stdout__", None)

    listed, card = run("metrics").out, run("metrics", "calibration_slope").out

    assert width - 15 < max(map(len, listed.splitlines())) <= width
    assert max(map(len, card.splitlines())) <= width
    words = " ".join(listed.split())
    assert all(" ".join(m.definition.split()) in words for m in list_metrics())


def test_metrics_as_json_holds_the_same_metrics() -> None:
    found = strict_json(run("metrics", "--format", "json").out)

    assert [m["name"] for m in found] == [m.name for m in list_metrics()]
    (mcc,) = [m for m in found if m["name"] == "mcc"]
    assert (mcc["low"], mcc["high"], mcc["direction"], mcc["default"]) == (-1.0, 1.0, "higher", True)


def test_one_metric_is_described_with_all_its_facts() -> None:
    text = run("metrics", "tpr_at_fpr(0.2)").out

    assert text.startswith("tpr_at_fpr(0.2)\n")
    assert all(word in text for word in ("definition", "[0, 1]", "no positives", "source", "carried by"))


# --- the spinner


def spun(*, terminal: bool, shown: bool = True, after: float = 0.0) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=80)
    with output.spinner("evaluating", shown=shown, console=console, after=after) as timer:
        if timer is not None and not after:
            timer.join()
    return stream.getvalue()


def test_the_spinner_shows_on_a_terminal_once_work_takes_long() -> None:
    assert "evaluating" in spun(terminal=True)


def test_the_spinner_does_not_show_for_short_work_in_a_pipe_or_when_quiet() -> None:
    assert spun(terminal=True, after=60.0) == ""
    assert spun(terminal=False) == ""
    assert spun(terminal=True, shown=False) == ""


def test_a_run_prints_no_control_characters_to_a_pipe(tmp_path: Path) -> None:
    done = process("score", written(tmp_path), "--sensitive", "sex")

    assert "\x1b" not in done.stdout + done.stderr


def test_main_takes_the_arguments_of_the_process_where_none_are_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["fmfair", "metrics", "auc"])

    from fmfair.cli import main

    assert main() == 0
    assert capsys.readouterr().out.startswith("auc\n")
