"""`fmfair compare`: the command line gives what the function gives."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import fmfair
from fmfair.cli import main

ROWS = pl.DataFrame(
    {
        "net": ["a"] * 8 + ["b"] * 8,
        "dataset": ["x"] * 16,
        "image_id": [*range(8)] * 2,
        "label": [0, 1, 0, 1, 1, 0, 1, 0] * 2,
        "prob": [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1, 0.3, 0.8, 0.4, 0.7, 0.9, 0.2, 0.6, 0.5],
        "sex": ["F", "F", "M", "M"] * 4,
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ROWS.write_csv(tmp_path / "rows.csv")
    return tmp_path / "rows.csv"


def test_the_command_gives_the_comparison(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by", "net", "--baseline", "b", "--sensitive", "sex", "--metrics", "auc,tpr", "--headline", "tpr"]
    out = table.parent / "found"
    assert main(["compare", str(table), *options, "--ci", "0.9", "--output", f"{out}/"]) == 0
    shown = capsys.readouterr()
    found = fmfair.compare(
        ROWS, by="net", baseline="b", attributes="sex", metrics=["auc", "tpr"], headline="tpr", ci=0.9
    )
    back = fmfair.Comparison.read_parquet(out)
    assert back.differences.equals(found.differences)
    assert back.tradeoff.equals(found.tradeoff)
    assert found.differences.columns[0] == "dataset"
    assert "fmfair comparison: 2 models on the same 8 samples: a, b; baseline b" in shown.out
    assert "Utility and gap: tpr" in shown.out
    assert "compared within each dataset, found by name; --no-by switches this off" in shown.err


def test_forms(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", str(table), "--by", "net", "--no-by", "--metrics", "auc", "--quiet"]
    assert main([*asked, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["by"] == []
    assert main([*asked, "--format", "csv"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith('"baseline","model","attribute"')
    assert not shown.err


def test_dice_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dice.csv"
    ROWS.select("image_id", "sex", pl.col("net").alias("model"), pl.col("prob").alias("dice")).write_csv(path)
    assert main(["compare", str(path)]) == 0
    assert "Utility and gap: dice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--by model: no column 'model'"),
        (["--by", "net", "--baseline", "c"], "--baseline c is not one of the models: 'a', 'b'"),
        (["--by", "net", "--ci", "none"], "give a level such as 0.95"),
        (["--by", "net", "--bootstrap", "5"], "5 replicates are not a whole number, 100 or more"),
    ],
)
def test_refusals(table: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(table), *options]) == 2
    assert message in capsys.readouterr().err
