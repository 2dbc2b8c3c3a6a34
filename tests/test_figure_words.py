"""What titles say: no more than the interval allows, in the words of each situation."""

from __future__ import annotations

from typing import Any

import pytest

from fmfair.figures.text import axis_lines, name_of, short_name, width_of, with_interval, wrapped
from fmfair.figures.theme import Look
from fmfair.figures.words import finding

LOOK = Look(level=0.95)


def row(**changes: Any) -> dict[str, Any]:
    """The largest difference of one attribute."""
    usual = {"attribute": "sex", "value": 0.1, "ci_low": 0.04, "ci_high": 0.16, "worst_group": "F", "best_group": "M"}
    return {**usual, "n_groups": 2, "note": None, "few": False, **changes}


@pytest.mark.parametrize(
    ("metric", "changes", "title"),
    [
        ("tpr", {}, "Sensitivity was lower in F than in M by 10 percentage points (95% interval 4 to 16)"),
        ("fpr", {}, "False positive rate was higher in F than in M by 10 percentage points (95% interval 4 to 16)"),
        (
            "selection_rate",
            {},
            "Selection rate by sex: difference 10 percentage points (F to M; 95% interval 4 to 16)",
        ),
        ("auc", {"ci_low": 0.0}, "AUC by sex: no difference was shown; differences up to 0.16 cannot be ruled out"),
        (
            "auc",
            {"n_groups": 4},
            "AUC by sex: the largest difference was 0.10 (F to M; 95% interval 0.04 to 0.16)",
        ),
        ("auc", {"few": True}, "AUC by sex: a difference was shown (95% interval 0.04 to 0.16)"),
        ("auc", {"ci_low": None, "ci_high": None}, "AUC by sex: largest difference 0.100 (F to M)"),
        (
            "auc",
            {"ci_low": None, "ci_high": None, "few": True},
            "AUC by sex: no comparison (a group at one end has too few samples)",
        ),
        (
            "auc",
            {"value": None, "ci_low": None, "ci_high": None, "note": "fewer than two groups"},
            "AUC by sex: no comparison (fewer than two groups)",
        ),
    ],
)
def test_one_attribute(metric: str, changes: dict[str, Any], title: str) -> None:
    assert finding([row(**changes)], metric, ["sex"], LOOK) == title


def test_several_attributes() -> None:
    shown, not_shown = row(), row(attribute="age", ci_low=0.0)
    both = ["sex", "age"]

    assert finding([shown, not_shown], "auc", both, LOOK) == (
        "AUC: a difference was shown between groups of sex, none between groups of age"
    )
    assert finding([row(ci_low=0.0), not_shown], "auc", both, LOOK) == (
        "AUC: no difference was shown between groups of sex and age"
    )
    points = [row(ci_low=None, ci_high=None), row(attribute="age", value=0.2, ci_low=None, ci_high=None)]
    assert finding(points, "auc", both, LOOK) == "AUC: largest difference 0.200 (F to M), by age"
    assert finding([], "auc", both, LOOK) == "AUC by sex and age"


def test_no_title_gives_a_verdict() -> None:
    for low in (0.0, 0.04, None):
        title = finding([row(ci_low=low)], "auc", ["sex"], LOOK).lower()
        assert not any(word in title for word in ("fair", "bias", "significan", "equal", "discriminat"))


def test_hostile_names_stay_on_one_line() -> None:
    title = finding([row(worst_group="a\nb", best_group="")], "tpr", ["sex"], LOOK)

    assert r"lower in a\nb than in \"\"".replace(r"\"", '"') in title


@pytest.mark.parametrize("text", ["one two three four five six", "x" * 90, "漢字" * 30, "", "a  b", "word " * 30])
@pytest.mark.parametrize("width", [40, 100, 300])
def test_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = wrapped(text, width)

    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_numbers_have_the_digits_of_the_page() -> None:
    assert with_interval("auc", 0.85671, 0.82149, 0.9) == "0.857 (0.821 to 0.900)"
    assert with_interval("tpr", 0.85671, 0.82149, 0.9) == "85.7% (82.1 to 90.0)"
    assert axis_lines("bce", 500)[-1] == "← lower is better"
    assert axis_lines("accuracy", 500)[0] == "accuracy, from 0 to 100%"
    assert short_name("dice") == "mean Dice"
    assert name_of(None) == "(missing)"
