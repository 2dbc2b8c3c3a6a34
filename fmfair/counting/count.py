"""`counts`: from rows of any size to the table of counts, which is small and adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from fmfair.counting.counted import counted
from fmfair.counting.facts import check_grid
from fmfair.counting.merging import check_notes
from fmfair.errors import Problems
from fmfair.notes import Notes
from fmfair.options import Bins, Intersections, Options, check_least, check_options


def counts(  # noqa: PLR0913 - the public door; everything behind it takes Options
    frame: Any,
    *,
    y_true: str | None = None,
    y_score: str | None = None,
    attributes: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    bins: Bins | None = None,
    intersections: Intersections = 1,
    positive: Any = None,
    ignore: Sequence[Any] = (),
    grid: int = 4000,
    suppress_below: int | None = None,
    score_type: str = "auto",
    missing_scores: str = "raise",
    missing_labels: str = "drop",
    missing_groups: str = "drop",
    missing_values: Sequence[str] = (),
    conventions: str = "standard",
    notes: list[str] | None = None,
) -> pl.DataFrame:
    """Count a table of predictions on a grid of scores: a small table that adds up, and from which the report follows.

    The table has a row per by-key, group and score bin, with rows, positives and sums. `fmfair.merge_counts` adds
    such tables, `fmfair.evaluate_counts` makes the report. Rows stay where they are: files, LazyFrames and DuckDB
    relations are read in a stream, and memory does not grow with them.

    **Without `suppress_below` the table must not be shared where the rows may not be.** A fine bin of a small group
    holds one or two patients: their score and their label can be read from it.

    With `suppress_below=k` every bin of a listed group holds 0 or at least k rows: neighbouring bins are merged.
    Groups with fewer than k rows are left out, and further ones where those could be calculated from what is listed
    (all rows, the other groups, other attributes, intersections). Bins are merged further where subtracting groups from
    a whole would leave 1 to k - 1 rows. No name of a group left out is written, unless it was declared (Enum, `bins`),
    and no by-key with fewer rows. The notes say what was left out and why, and how much wider the bounds become; they
    are for those who have the rows. Not protected: how many rows of a bin are positive, that a bin or a declared level
    is empty; what several tables of the same patients tell together (another `k`, other attributes, by-keys with the
    same patients, a table before and after one night); what is known from elsewhere. Cells of an intersection share
    their bins, so that a small cell widens the bounds of the others.

    Weights are not offered: sums of weights do not add exactly, and neither bounds nor suppression hold for them.
    Repeated sample ids are not looked for.

    Args:
        frame: One row per sample (and by-key): what `fmfair.evaluate` takes, and PySpark DataFrames; DuckDB relations
            and Spark DataFrames are counted by their own engine.
        y_true: Column of labels.
        y_score: Column of scores: probabilities, or logits, whose sigmoid is counted.
        attributes: Columns whose groups are compared.
        by: Columns to evaluate separately, such as model or dataset; `[]` switches the search by name off.
        bins: Cut points (left-closed) per numeric attribute, e.g. `{"age": [40, 60]}`; quantiles would differ from
            table to table.
        intersections: 2 for all pairs of attributes, 3 for triples too, `"all"`, or a list of tuples of attributes.
        positive: The positive class, where labels are not 0/1 or booleans; all others count as negative.
        ignore: Labels to leave out.
        grid: Number of score bins on [0, 1]; bin b holds b/grid <= score < (b+1)/grid as float64 numbers, and a score
            of exactly 1 has its own. Rates at thresholds b/grid will be exact.
        suppress_below: The smallest number of rows that may be read from the table, see above; None for all.
        score_type: `"probability"` or `"logit"`; `"auto"` decides once for the whole table. Ranks have no fixed range
            to put a grid on.
        missing_scores: `"raise"`, or `"drop"` to leave rows with a missing or infinite score out and count them.
        missing_labels: `"drop"` and count, or `"raise"`.
        missing_groups: `"drop"` leaves rows with a missing attribute out of that attribute, `"keep"` shows them.
        missing_values: Texts that mean missing, such as `["NA", "unknown"]`.
        conventions: `"standard"`; the FairMedFM rule (score > threshold, bins over each group's own range) does not
            follow from counts.
        notes: A list to which the notes are added: what was found by name, left out or assumed.

    Returns:
        The table: the by-keys, `attribute`, `group`, `attribute_parts`, `group_parts` (empty for all rows), `bin` up
        to (without) `bin_end`, `n`, `n_pos`, `sum_r`, `sum_r_pos`, `sum_rr` (whole numbers in the units that `facts`
        names), `sum_bce`, `left_out`, `levels` and `facts`. Write it with `table.write_parquet(path)`.

    Raises:
        FmfairError: The input cannot be used; the message says what is wrong, where, and what to do.

    Examples:
        >>> import fmfair
        >>> df = {"label": [0, 1, 1], "prob": [0.2, 0.9, 0.2001], "sex": ["F", "F", "M"]}
        >>> fmfair.counts(df).select("group", "bin", "n", "n_pos").rows()
        [('', 800, 2, 1), ('', 3600, 1, 1), ('F', 800, 1, 0), ('F', 3600, 1, 1), ('M', 800, 1, 1)]
    """
    options = _options(
        bins=bins,
        intersections=intersections,
        positive=positive,
        ignore=ignore,
        score_type=score_type,
        missing_scores=missing_scores,
        missing_labels=missing_labels,
        missing_groups=missing_groups,
        missing_values=missing_values,
        conventions=conventions,
    )
    check_notes(notes)
    least = check_least(suppress_below)
    given = {"y_true": y_true, "y_score": y_score, "attributes": attributes, "by": by, "bins": bins}
    said = Notes()
    table = counted(frame, given, options, check_grid(grid), least, said)
    if notes is not None:
        notes.extend(said)
    return table


def _options(*, conventions: str, **others: Any) -> Options:
    problems = Problems()
    if conventions == "fairmedfm":
        problems.add(
            "conventions='fairmedfm' cannot be counted: its decision rule is score > threshold and its ECE bins span "
            "each group's own scores, which bins closed on the left do not give; use 'standard'"
        )
        conventions = "standard"
    if others["score_type"] == "rank":
        problems.add("score_type='rank' cannot be counted: ranks have no fixed range to put a grid of bins on")
        others["score_type"] = "auto"
    with problems.collecting():
        options = check_options(conventions=conventions, **others)
    problems.raise_if_any()
    return options
