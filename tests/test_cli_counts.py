"""`fmfair count`, `fmfair merge`, and `fmfair score` on counts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import fmfair
from fmfair.cli import main

ROWS = {
    "label": [0, 1, 1, 0, 1, 0],
    "prob": [0.2, 0.9, 0.4, 0.3, 0.8, 0.1],
    "sex": ["F", "F", "M", "M", "F", "M"],
    "age": [30, 50, 70, 30, 50, 70],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = pl.DataFrame(ROWS)
    frame[:3].write_csv(tmp_path / "north.csv")
    frame[3:].write_parquet(tmp_path / "south.parquet")
    return tmp_path


def test_counting_merging_and_scoring_give_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--sensitive", "sex", "age", "--bins", "age=40,60", "--intersections", "2"]
    for name in ("north.csv", "south.parquet"):
        counted = f"{folder}/{Path(name).stem}.counts.parquet"
        assert main(["count", f"{folder}/{name}", *options, "--output", counted]) == 0
    assert "with the counts of 3 samples" in capsys.readouterr().out

    assert main(["merge", f"{folder}/*.counts.parquet", "--output", f"{folder}/all.parquet"]) == 0
    assert (
        main(
            [
                "score",
                f"{folder}/all.parquet",
                "--metrics",
                "auc",
                "accuracy",
                "--ci",
                "none",
                "--output",
                f"{folder}/report",
            ]
        )
        == 0
    )

    report = fmfair.Report.read_parquet(folder / "report")
    columns = {"bins": {"age": [40, 60]}, "attributes": ["sex", "age"], "intersections": 2}
    truth = fmfair.evaluate(ROWS, **columns, metrics=["auc", "accuracy"], ci=None)  # type: ignore[arg-type]  # of several types
    assert report.groups.drop("bound_low", "bound_high").equals(truth.groups)


def test_intervals_of_counts_are_asked_for_as_those_of_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["count", f"{folder}/north.csv", "--sensitive", "sex", "--output", f"{folder}/c.parquet"])
    options = ["--metrics", "accuracy", "--ci", "0.9", "--reference", "sex=F", "--margin", "accuracy=0.1"]
    assert main(["score", f"{folder}/c.parquet", *options, "--output", f"{folder}/report"]) == 0
    capsys.readouterr()

    report = fmfair.Report.read_parquet(folder / "report")
    asked = fmfair.evaluate_counts(
        folder / "c.parquet", metrics="accuracy", ci=0.9, reference={"sex": "F"}, margins={"accuracy": 0.1}
    )
    assert report.groups.equals(asked.groups)
    assert report.pairs.equals(asked.pairs)


def test_count_warns_unless_small_counts_are_suppressed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["count", f"{folder}/north.csv", "--sensitive", "sex", "--output", f"{folder}/c.parquet"]

    main(command)
    assert "fine bins of small groups single people out" in capsys.readouterr().err
    main([*command, "--suppress-below", "2"])
    errors = capsys.readouterr().err
    assert "single people out" not in errors
    assert "--suppress-below 2" in errors or "suppress_below=2" in errors
    assert fmfair.merge_counts(folder / "c.parquet").filter(pl.col("n") > 0)["n"].to_list() == [3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count", "north.csv"], "name the file of the counts with --output"),
        (["count", "north.csv", "--output", "c.csv"], "--output c.csv must end in .parquet"),
        (["count", "south.parquet", "--output", "south.parquet"], "would replace the table that is read"),
        (
            ["count", "north.csv", "--conventions", "fairmedfm", "--output", "c.parquet"],
            "No such option: --conventions",
        ),
        (["count", "north.csv", "south.parquet", "--output", "c.parquet"], "quote a glob, so that its files are read"),
        (["score", "north.csv", "south.parquet"], "or add tables of counts up with fmfair merge first"),
        (["count", "north.csv", "--suppress-below", "1", "--output", "c.parquet"], "--suppress-below 1 is not a whole"),
        (["count", "north.csv", "--suppress-below", "9", "--output", "c.parquet"], "--suppress-below 9: there are not"),
        (["count", "north.csv", "--grid", "0", "--output", "c.parquet"], "not a whole number of score bins"),
        (["merge", "south.parquet", "--output", "c.parquet"], "expected a table that fmfair.counts made"),
        (["merge", "nowhere.parquet", "--output", "c.parquet"], "no file or folder"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)

    assert main(arguments) == 2

    assert message in capsys.readouterr().err
    assert not Path("c.parquet").exists()


def test_options_that_are_decided_in_the_counts_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["count", f"{folder}/north.csv", "--sensitive", "sex", "--output", f"{folder}/c.parquet", "--quiet"])

    assert main(["score", f"{folder}/c.parquet", "--sensitive", "sex", "--bins", "age=40"]) == 2
    assert "--sensitive, --bins: decided when rows are counted, give it to fmfair count" in capsys.readouterr().err
    assert main(["score", f"{folder}/c.parquet", "--weight", "w", "--engine", "duckdb"]) == 2
    errors = capsys.readouterr().err
    assert "--weight: weights are not counted" in errors
    assert "--engine: only for rows, leave it out" in errors


def test_a_table_of_counts_is_not_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["count", f"{folder}/north.csv", "--sensitive", "sex", "--output", f"{folder}/c.parquet", "--quiet"])

    assert main(["count", f"{folder}/c.parquet", "--output", f"{folder}/d.parquet"]) == 2
    assert "this is a table of counts, not one of rows; evaluate it with fmfair score" in capsys.readouterr().err
    for call in (fmfair.evaluate, fmfair.counts):
        with pytest.raises(fmfair.FmfairError, match="this is a table of counts, not one of rows"):
            call(pl.read_parquet(folder / "c.parquet"))


def test_merging_says_what_is_odd(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, more in (("a", []), ("b", []), ("c", ["--suppress-below", "2"])):
        main(["count", f"{folder}/north.csv", "--sensitive", "sex", "--output", f"{folder}/{name}.parquet", *more])
    capsys.readouterr()

    assert main(["merge", f"{folder}/a.parquet", f"{folder}/b.parquet", "--output", f"{folder}/m.parquet"]) == 0
    assert "warning: " in (errors := capsys.readouterr().err)
    assert "are identical: are the same patients counted twice?" in errors
    assert main(["merge", f"{folder}/a.parquet", f"{folder}/c.parquet", "--output", f"{folder}/n.parquet"]) == 2
    assert "a.parquet is not suppressed; count it with --suppress-below too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("count", ["--suppress-below 10", "Exit status: 0 done; 2", "must not be shared"]),
        ("merge", ["fmfair merge north.counts.parquet", "Exit status: 0 done; 2"]),
        ("score", ["A table of counts, from fmfair count or merge"]),
    ],
)
def test_help_has_examples(command: str, texts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([command, "--help"])

    shown = " ".join(capsys.readouterr().out.split())
    assert all(text in shown for text in texts)
    assert command != "count" or not any(text in shown for text in ("one-hot", "quantiles", "fairmedfm", "rank "))
