"""The words of the first page: what a cell of its table and a line of its answer say in every situation."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_wording import SEX, SITES, VIEW, check, gaps

from fmfair.page import plain
from fmfair.page.gap_wording import Gap

# False alarms are told of what specificity lacks.
FLAGGED = Gap(
    *("tnr", 0.044, (0.028, 0.063), 0.95, ("PA", 0.936), ("AP", 0.98)), counts=(1027, 3111), denominator="n_neg"
)


def text_of(told: plain.Cell) -> str:
    return " | ".join([told.verdict, *told.said])


def cell(of: Gap, *, passed: bool = False, pair: bool = True) -> str:
    """A cell of the table of the first page, line by line."""
    return text_of(plain.cell(of, passed=passed, pair=pair))


SITUATIONS = {
    "in a table, shown": (
        cell(VIEW, passed=True),
        "Difference shown | 22 percentage points (8 to 34) | Fewer in AP (36%; 97 cases) than in PA (58%; 141 cases)",
    ),
    "in a table, shown, of specificity": (
        cell(FLAGGED, passed=True),
        (
            "Difference shown | 4.4 percentage points (2.8 to 6.3) | More in PA (6.4%; 1,027 non-cases) than in AP "
            "(2.0%; 3,111 non-cases)"
        ),
    ),
    "in a table, several groups, shown": (
        cell(SITES, passed=True),
        (
            "Difference shown | 0.08 (0.02 to 0.14); 0.03 expected by chance | Lowest in north (0.74; 41 cases), "
            "highest in south (0.82; 60 cases)"
        ),
    ),
    "in a table, several groups, of which the two at the ends may not differ": (
        cell(SITES, passed=True, pair=False).partition(" | ")[0],
        "Difference between some groups shown",
    ),
    "in a table, shown but not among all": (
        cell(VIEW, passed=False).partition(" | ")[0],
        "May be chance among so many comparisons",
    ),
    "in a table, not shown": (
        cell(SEX),
        "No difference shown | Up to 17 percentage points cannot be ruled out | F (44%; 110 cases), M (48%; 128 cases)",
    ),
    "in a table, within the margin": (
        cell(replace(SEX, limits=(0.0, 0.0241), margin=0.05, signed=None)).partition(" | F")[0],
        "No difference shown | More than 2.4 percentage points is excluded (the margin is 5 percentage points)",
    ),
    "in a table, beyond the margin on both sides": (
        cell(replace(SEX, margin=0.05)).partition(" | F")[0],
        ("The data cannot tell | from 17 fewer to 10 percentage points more in F; the margin is 5 percentage points"),
    ),
    "in a table, beyond the margin on both sides, of specificity": (
        cell(replace(SEX, metric="tnr", denominator="n_neg", margin=0.05)).partition(" | F")[0],
        ("The data cannot tell | from 10 fewer to 17 percentage points more in F; the margin is 5 percentage points"),
    ),
    "in a table, without an interval": (
        cell(replace(VIEW, limits=None)),
        (
            "The data cannot tell | 22.0 percentage points, without an interval | AP (36.1%; 97 cases), PA (58.1%; 141 "
            "cases)"
        ),
    ),
    "in a table, no gap at all": (
        cell(replace(SITES, value=0.0, limits=(0.0, 0.05), best=("north", 0.741))).rpartition(" | ")[2],
        "0.741 in every group",
    ),
    "in a table, many results": (
        text_of(plain.together("tpr", [VIEW, VIEW, SEX, replace(SEX, limits=(0.0, 0.08)), None], [True, *4 * [False]])),
        (
            "Difference shown in 1 of 5 | May be chance among so many comparisons in 1 of 5 | No difference shown in 2 "
            "of 5 | Not compared in 1 of 5 | Where none is shown, up to 8 percentage points cannot be ruled out in the "
            "most precise and up to 17 percentage points in the least"
        ),
    ),
    "in a line, shown": (
        plain.difference(VIEW, "view"),
        "fewer cases are found in AP (36%) than in PA (58%), by 22 percentage points (95% interval 8 to 34)",
    ),
    "in a line, shown, seen from the other group": (
        plain.difference(FLAGGED, "view", "AP"),
        (
            "there are fewer false alarms in AP (2.0%) than in PA (6.4%), by 4.4 percentage points (95% interval 2.8 "
            "to 6.3)"
        ),
    ),
    "in a line, several groups": (
        plain.difference(SITES, "site"),
        (
            "AUC is lower (worse) in north (0.74) than in south (0.82) among the 5 groups of site, by 0.08 (95% "
            "interval 0.02 to 0.14)"
        ),
    ),
    "in a line, not shown": (
        plain.without_difference(SEX),
        "no difference in cases found was shown, up to 17 percentage points cannot be ruled out",
    ),
    "in a line, shown but not among all": (
        plain.without_difference(FLAGGED),
        (
            "the difference in false alarms, 4.4 percentage points (95% interval 2.8 to 6.3), may be chance among so "
            "many comparisons"
        ),
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_situation_has_its_words(situation: str) -> None:
    said, expected = SITUATIONS[situation]
    assert said == expected


@given(gaps(), st.booleans(), st.booleans())
def test_no_cell_and_no_line_on_a_gap_says_more_than_the_numbers(of: Gap, passed: bool, pair: bool) -> None:
    found = plain.cell(of, passed=passed and of.shown, pair=pair)
    for text in (*found.said, plain.difference(of, "site"), plain.without_difference(of)):
        check(text)
    assert found.shown == (passed and of.shown)
    assert (found.verdict in (plain.SHOWN, plain.SOME)) == found.shown
    if not of.shown:
        # nobody reads that a group is better where that was not shown
        assert not re.search(r"\b(fewer|fewest|lower|lowest|higher|highest|most|worse) in ", found.said[-1])
