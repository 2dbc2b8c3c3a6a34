"""How values between bounds are shown, and what conditions make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import fmfair
from fmfair.cli import main

# The AUC of F is between 0 and 1 on a grid of 10, everything of M is exact.
ROWS = {"label": [0, 1, 0, 1] * 10, "prob": [0.11, 0.12, 0.4, 0.3] * 10, "sex": ["F", "F", "M", "M"] * 10}


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    path = tmp_path / "counts.parquet"
    fmfair.counts(ROWS, grid=10).write_parquet(path)
    return path


def test_the_printed_report_shows_bounds_where_they_are_wide(counted: Path) -> None:
    report = fmfair.evaluate_counts(counted, metrics=["auc", "brier"], ci=None)

    for text in (repr(report), report._repr_html_()):
        groups = text[text.index("Groups") :]
        assert "0.500 [0.000, 1.000]" in groups
        assert "0.0000*" in groups or "<b>0.0000</b>*" in groups
        gaps = text[text.index("Largest gaps") : text.index("Summary")]
        assert "0.500 [0.000, 1.000]" in gaps
        assert "[low, high]: the value from the rows lies between these" in gaps
    summary = repr(report)[repr(report).index("Summary") : repr(report).index("Groups")]
    assert "~0.5000" in summary
    assert "~ middle of bounds" in summary


def test_beside_an_interval_a_value_between_bounds_is_marked(counted: Path) -> None:
    report = fmfair.evaluate_counts(counted, metrics=["auc", "brier"])

    for text in (repr(report), report._repr_html_()):
        groups = text[text.index("Groups") :]
        assert "~0.500 [0.000, 1.000]" in groups
        assert "~ middle of bounds, between which the value from the rows lies" in groups.replace("\n", " ")
        assert "~0.500 [" in text[text.index("Largest gaps") : text.index("Summary")]


def test_what_is_exact_is_shown_as_ever(counted: Path) -> None:
    text = repr(fmfair.evaluate_counts(counted, metrics=["accuracy", "brier"], thresholds=0.2, ci=None))

    assert "[" not in text.replace("[low", "")
    assert "~" not in text


@pytest.mark.parametrize(("condition", "status"), [("auc.gap>0.4", 1), ("auc.gap>0.6", 0)])
def test_a_condition_within_the_bounds_is_decided_by_the_value_and_said_to_be_undecided(
    counted: Path, capsys: pytest.CaptureFixture[str], condition: str, status: int
) -> None:
    assert main(["score", str(counted), "--metrics", "auc", "--fail-if", condition]) == status

    wanted = f"warning: --fail-if {condition}: undecided, since sex: 0.5 (worst M, best F) lies between 0 and 1"
    assert wanted in capsys.readouterr().err


def test_a_condition_that_the_bounds_decide_is_not_said_to_be_undecided(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(counted), "--metrics", "auc", "--fail-if", "auc.gap>=0", "--fail-if", "auc.gap>1"]) == 1

    assert "undecided" not in capsys.readouterr().err


def test_a_value_without_bounds_is_undecided(counted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(counted), "--metrics", "auc", "--fail-if", "auc.equity_scaled>0.99"]) == 0

    errors = " ".join(capsys.readouterr().err.split())
    assert "undecided, since sex: " in errors
    assert "has no bounds" in errors
