"""The convention table as a whole: every row is tested in both columns and documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lookup import from_arrays

from fmfair import FmfairError

TESTS = Path(__file__).parent
ROWS = (
    *("decision", "best_f1_threshold", "number_types", "ece", "bce", "auc", "one_class", "thresholds"),
    *("std", "both_empty", "missing_label", "missing_score", "missing_dice", "mask_values", "weights"),
    *("missing_attribute", "labels", "score_type", "many_values", "nearly_distinct", "group_names"),
    *("few_groups", "bins", "group_order", "repeated_id", "intersections"),
)


@pytest.mark.parametrize("column", ["standard", "fairmedfm"])
def test_every_row_of_the_table_has_a_test_that_names_it(column: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in TESTS.glob(f"test_conventions_{column}*.py")]

    tested = re.findall(rf"^def test_row_(\w+?)__{column}\w*\(", "\n".join(texts), re.MULTILINE)

    assert set(tested) == set(ROWS)


def test_the_readme_has_a_line_for_every_row() -> None:
    text = (TESTS.parent / "README.md").read_text(encoding="utf-8")
    table = text.split("## Semantics")[1].split("\n\n")[1].splitlines()

    assert table[0] == '| matter | `conventions="standard"` | `conventions="fairmedfm"` |'
    assert len(table) - 2 == len(ROWS)


def test_an_unknown_convention_is_an_error_that_lists_them() -> None:
    with pytest.raises(FmfairError, match="conventions='x' is not known; expected one of 'standard', 'fairmedfm'"):
        from_arrays([0, 1], [0.1, 0.9], ["a", "b"], conventions="x")
