"""Runs the command line inside the test process, and looks up numbers in what it printed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from fmfair.cli import main

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "examples" / "data"
BLOOD = ("--label", "Recurrence", "--score", "PreopPSA", "--score-type", "rank", "--sensitive", "AA")

# Two sexes and two sites with different AUC, sensitivity and specificity, scores on both sides of 0.5.
TABLE = pl.DataFrame(
    {
        "id": [f"p{i}" for i in range(12)],
        "label": [0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1],
        "score": [0.1, 0.9, 0.6, 0.8, 0.3, 0.2, 0.4, 0.7, 0.75, 0.35, 0.55, 0.95],
        "sex": ["F", "F", "F", "F", "F", "F", "M", "M", "M", "M", "M", "M"],
        "site": ["a", "b", "a", "b", "a", "b", "a", "a", "b", "b", "a", "b"],
        "years": [31, 72, 45, 64, 58, 39, 41, 66, 70, 35, 52, 61],
    }
)
DICE = pl.DataFrame({"dice": [0.9, 0.7, 0.6, 0.5], "sex": ["F", "F", "M", "M"]})


class Result(NamedTuple):
    """What a run left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON on standard output; NaN and Infinity are refused."""
        found: dict[str, Any] = strict_json(self.out)
        return found

    @property
    def summary(self) -> dict[str, Any]:
        """The first row of the summary."""
        row: dict[str, Any] = self.report["summary"][0]
        return row

    def groups(self, metric: str = "auc", **where: Any) -> dict[str, float | None]:
        """The value of a metric by group."""
        return {row["group"]: row["value"] for row in rows(self.report["groups"], metric=metric, **where)}


def strict_json(text: str) -> Any:
    """The value of a JSON text; NaN and Infinity, which JSON does not have, are refused."""

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def rows(table: list[dict[str, Any]], **where: Any) -> list[dict[str, Any]]:
    """The rows that have these values; there is at least one."""
    found = [row for row in table if all(row[k] == v for k, v in where.items())]
    assert found, (where, table[:2])
    return found


def run(*args: object) -> Result:
    """Runs `fmfair ARGS` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(arg) for arg in args])
    return Result(status, out.getvalue(), err.getvalue())


def scored(*args: object) -> Result:
    """Runs `fmfair score ARGS --format json`, which must succeed."""
    result = run("score", *args, "--format", "json")
    assert result.status == 0, result.err
    return result


def refused(*args: object) -> str:
    """Runs `fmfair score ARGS`, which must refuse its input, and gives the message."""
    result = run("score", *args)
    assert result.status == 2, result.err
    assert result.out == ""
    assert result.err.startswith("fmfair: error: ")
    assert "Traceback" not in result.err
    return result.err.removeprefix("fmfair: error: ").strip()


def process(*args: object, cwd: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs `python -m fmfair ARGS` in a process of its own, warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "fmfair", *map(str, args)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", check=False, **options
    )


def written(folder: Path, table: pl.DataFrame = TABLE, name: str = "table.csv") -> Path:
    """The table as a CSV file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_csv(path)
    return path


def assert_same(found: Any, expected: Any) -> None:
    """Equal but for the last digits of numbers, which sums in another order may change."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    else:
        assert found == expected
