"""The worked table T, and random tables with its columns: few rows, ties, one class, one patient, weights."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st
from statistics_data import GROUP, PATIENT, S1, W, Y

T = pl.DataFrame({"y": Y, "s1": S1, "group": list(GROUP), "patient": PATIENT, "w": W})


@st.composite
def tables(draw: st.DrawFn, groups: str = "abcd") -> pl.DataFrame:
    """Up to 40 rows of up to seven patients, who may be in several groups."""
    n = draw(st.integers(1, 40))
    columns = {
        "y": draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)),
        "s1": [k / 10 for k in draw(st.lists(st.integers(0, 10), min_size=n, max_size=n))],
        "group": draw(st.lists(st.sampled_from(groups), min_size=n, max_size=n)),
        "patient": draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)),
        "w": draw(st.lists(st.sampled_from((0.25, 1.0, 3.0)), min_size=n, max_size=n)),
    }
    return pl.DataFrame(columns)
