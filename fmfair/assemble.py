"""Assembly: from the samples to the result frames, for classification and segmentation alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from fmfair.columns import BOUNDS, CERTAINTY, CURVES, GAPS, GROUPS, INTERVALS, MODEL_BASED, OVERALL, PAIRS
from fmfair.curves import MOST_CELLS, drawn, edges
from fmfair.errors import FmfairError, listing, plural
from fmfair.gaps import compare, reading_order
from fmfair.groupings import Grouping, groupings
from fmfair.metrics.metric import Metric
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.patients import note_shared_patients, sharing
from fmfair.row_counts import RowCounter
from fmfair.samples import Cohort
from fmfair.summary import summarise
from fmfair.suppression import SUPPRESSED, Suppression

if TYPE_CHECKING:
    from fmfair.bootstrap.replicates import Replicates
    from fmfair.uncertainty import Uncertainty

# Measures the cells of groupings: groupings and the cells to list of each -> the long table of `measures.long_table`,
# the cells of one grouping in their order.
Measure = Callable[[Sequence[Grouping], Sequence[pl.DataFrame]], pl.DataFrame]

# Draws replicates: groupings, the cells to list of each, the long table -> the replicates of its values.
Resample = Callable[[Sequence[Grouping], Sequence[pl.DataFrame], pl.DataFrame], "Replicates"]

# Compares the groups: group values, the values on all rows, metrics, least groups -> the table of `gaps.compare`.
Compare = Callable[[pl.DataFrame, pl.DataFrame, Sequence[Metric], int], pl.DataFrame]


# The scores of the cells of some groupings in bins: all groupings that are measured, the positions of those wanted -> a
# table per wanted one, as `curves.score_curves` makes them.
Curves = Callable[[Sequence[Grouping], Sequence[int]], Sequence[pl.DataFrame]]


@dataclass(frozen=True)
class Backend:
    """What an engine does for a report.

    Attributes:
        measure: Measures groups.
        compare: Compares them.
        resample: Draws replicates, where they were asked for.
        rows: Counts rows, where small numbers are hidden.
        curves: Bins scores, where there are scores in [0, 1].
        covariances: How the groups of some groupings vary together whose patients are in several of them: groupings,
            the positions of those wanted -> as `covariance.covariances`.
    """

    measure: Measure
    compare: Compare = compare
    resample: Resample | None = None
    rows: RowCounter | None = None
    curves: Curves | None = None
    covariances: Callable[[Sequence[Grouping], Sequence[int]], pl.DataFrame] | None = None


def build_frames(
    samples: Cohort, options: Options, notes: Notes, task: str, backend: Backend
) -> dict[str, pl.DataFrame]:
    """The result frames as the report shows them: disaggregate, hide small numbers, then compare."""
    divided = groupings(samples.attributes, options.intersections)
    scopes = [g.all_rows(samples.incomplete) for g in divided]
    wholes = list(dict.fromkeys([Grouping(), *scopes]))
    listed = [g.cells(samples) for g in [*divided, *wholes]]
    long = backend.measure([*divided, *wholes], listed)
    sure = _uncertainty(samples, options)
    if sure is not None:
        long = sure.of_values(long)
    if sure is not None and backend.resample is not None:
        sure, long = sure.of_replicates(long, backend.resample([*divided, *wholes], listed, long))
    if options.suppress_below is not None and backend.rows is not None:
        hidden = Suppression.of(long, samples, [*divided, *wholes], listed, backend.rows, options)
        long = hidden.applied(long)
        hidden.note(notes)
    cells = pl.concat(
        [_named_cells(g, i, c) for i, (g, c) in enumerate(zip(divided, listed, strict=False))], rechunk=True
    )
    groups = _group_values(long, cells, options, task)
    undivided = long.filter(pl.col("grouping") >= len(divided)).with_columns(by=pl.col("cell").cast(pl.UInt32))
    del long  # it is as large as the result, whose memory it leaves
    whole_of = pl.DataFrame(
        {"number": range(len(divided)), "grouping": [len(divided) + wholes.index(s) for s in scopes]},
        schema={"number": pl.UInt32, "grouping": pl.UInt32},
    )
    present = whole_of.join(undivided, on="grouping").drop("grouping").rename({"number": "grouping"})
    gaps = backend.compare(groups, present, options.metrics, 2 if options.conventions.empty_below_two_groups else 1)
    pairs = None
    if sure is not None:
        if samples.clustered:
            sure, groups = _with_shared(sure, groups, present, divided, samples, backend, notes)
        gaps = sure.of_gaps(gaps, groups)
        pairs = sure.of_pairs(groups, present, samples.attributes)
        groups = sure.of_groups(groups, samples.attributes)
    overall = undivided.filter(pl.col("grouping") == len(divided)).sort("by", "order", "t")
    _note_small_groups(groups, options, notes)
    names = {
        "attribute": pl.Series([g.attribute for g in divided], dtype=pl.String),
        "attribute_parts": pl.Series([g.attribute_parts for g in divided], dtype=pl.List(pl.String)),
    }
    frames = {} if pairs is None else {"pairs": _public(pairs, samples, PAIRS, names)}
    binned = (
        None if options.suppress_below or samples.weighted else _curves([*divided, *wholes], listed, cells, backend)
    )
    if binned is not None:
        of_all = pl.Series([""])  # all rows come after the groupings that divide them
        frames["curves"] = _public(binned, samples, CURVES, {"attribute": names["attribute"].append(of_all)})
    return {
        **frames,
        "summary": _public(summarise(groups, gaps, present, options, task), samples, None, names),
        "groups": _public(groups, samples, GROUPS, names),
        "gaps": _public(gaps, samples, GAPS, names),
        "overall": _public(overall, samples, OVERALL, {}),
    }


def _curves(
    groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame], cells: pl.DataFrame, backend: Backend
) -> pl.DataFrame | None:
    """The scores of single attributes and of all rows in bins, in reading order; None of very many groups."""
    wanted = drawn(groupings)
    if backend.curves is None or sum(listed[i].height for i in wanted) > MOST_CELLS:
        return None
    found = zip(wanted, backend.curves(groupings, wanted), strict=True)
    binned = pl.concat(table.with_columns(grouping=pl.lit(i, pl.UInt32)) for i, table in found)
    named = cells.select("grouping", "cell", "by", "group").with_row_index("listed")
    binned = binned.join(named, on=["grouping", "cell"], how="left").join(edges(), on="bin")
    # The cells of all rows are the by-keys; they come first.
    whole = binned.with_columns(pl.col("by").fill_null(pl.col("cell").cast(pl.UInt32)), pl.col("group").fill_null(""))
    return whole.sort("by", "listed", "bin", nulls_last=False)


def _uncertainty(samples: Cohort, options: Options) -> Uncertainty | None:
    """How sure values are, where that was asked for."""
    if options.ci is None:
        return None  # SciPy takes its time to load
    from fmfair.uncertainty import Uncertainty

    return Uncertainty.asked(samples, options, options.ci)


def _with_shared(
    sure: Uncertainty,
    groups: pl.DataFrame,
    whole: pl.DataFrame,
    divided: Sequence[Grouping],
    samples: Cohort,
    backend: Backend,
    notes: Notes,
) -> tuple[Uncertainty, pl.DataFrame]:
    """What is known of groups that share patients; nothing more where none do."""
    shared = sharing(groups, whole, len(samples.attributes))
    if not shared:
        return sure, groups
    unknown: Sequence[str] = []
    if backend.resample is None and backend.covariances is not None:
        found = backend.covariances(divided, [number for number, _ in shared])
        known = {*found["metric"], *groups.filter(pl.col("value").is_null())["metric"]}
        unknown = [m.name for m in sure.options.metrics if m.interval is not None and m.name not in known]
        sure, groups = sure.of_shared(groups, found)
    named = [(samples.attributes[number].name, count) for number, count in shared]
    note_shared_patients(named, unknown, notes, resampled=backend.resample is not None)
    return sure, groups


def _group_values(long: pl.DataFrame, cells: pl.DataFrame, options: Options, task: str) -> pl.DataFrame:
    """The long values of the groups with their names, in reading order.

    `in_gaps` says whether the group takes part in comparisons, `counted` whether the summary counts it as a group.
    """
    place = long.select("order", "t", "listed").with_row_index("row").filter(pl.col("listed") < cells.height)
    place = place.with_columns(cells[c].gather(place["listed"]) for c in ("by", "grouping"))
    # Numbers are put in order; everything else then comes once to where it belongs.
    row, listed = place.select(pl.col("row", "listed").gather(reading_order(place)))
    values = long.select(pl.exclude("grouping", "listed").gather(row))
    named = cells.select(pl.col("by", "grouping", "group", "group_parts").gather(listed))
    groups = values.hstack([listed, *named])
    big_enough = (pl.col("n") >= options.min_group_size) & (pl.col("n") > 0)
    if "suppressed" in groups.columns:
        big_enough = big_enough.fill_null(value=False) & ~pl.col("suppressed")
    groups = groups.with_columns(in_gaps=big_enough, counted=pl.lit(True))
    if options.conventions.skip_one_class_groups and task == "classification":
        groups = _skip_one_class(groups)
    return groups


def _named_cells(grouping: Grouping, number: int, cells: pl.DataFrame) -> pl.DataFrame:
    """The display name and the parts of every group."""
    parts = [f"part{i}" for i in range(len(grouping.parts))]
    return cells.select(
        "cell",
        "by",
        grouping.group().alias("group"),
        pl.concat_list(parts).alias("group_parts"),
        pl.lit(number, pl.UInt32).alias("grouping"),
    )


def _skip_one_class(groups: pl.DataFrame) -> pl.DataFrame:
    """The published package's rule: a group with one class has no values.

    An attribute with fewer than two groups of both classes has none at all.
    """
    usable = (pl.col("n_pos") > 0) & (pl.col("n_pos") < pl.col("n"))
    enough = pl.col("group").filter(usable).n_unique().over("by", "grouping") >= 2
    only = pl.format("skipped: only label {}", pl.when(pl.col("n_pos") > 0).then(1).otherwise(0))
    few = pl.lit("skipped: fewer than two groups have both labels")
    why = pl.when(~usable & (pl.col("n") > 0)).then(only).when(~enough).then(few)
    of_value = [c for c in ("value", *INTERVALS) if c in groups.columns]
    return groups.with_columns(
        *(pl.when(usable & enough).then(pl.col(c)).alias(c) for c in of_value),
        note=pl.when(pl.col("note") == SUPPRESSED).then("note").otherwise(pl.coalesce(why, "note")),
        in_gaps=pl.col("in_gaps") & usable.fill_null(value=False),
        counted=usable.fill_null(value=False),
    )


def _public(
    frame: pl.DataFrame,
    samples: Cohort,
    schema: Mapping[str, pl.DataType] | None,
    names: Mapping[str, pl.Series],
) -> pl.DataFrame:
    """The user's by-keys in front, then the declared columns; the summary (no schema) keeps its own."""
    keys = {column.name: column.gather(frame["by"]) for column in samples.by.iter_columns()}
    if names:
        frame = frame.with_columns(column.gather(frame["grouping"]).alias(name) for name, column in names.items())
    if schema is None:
        frame = frame.drop("by", "grouping", "attribute_parts").select("attribute", pl.exclude("attribute"))
        return _beside(keys, frame)
    weight = pl.col("weight") if samples.weighted else pl.lit(None, pl.Float64)
    if "weight" in frame.columns:
        frame = frame.with_columns(weight.alias("weight_sum"))
    for more in (MODEL_BASED, BOUNDS, INTERVALS, CERTAINTY):
        if set(more) <= set(frame.columns):  # beside the value that they are of
            schema = {
                name: t for c, t in schema.items() for name, t in [(c, t), *(more.items() if c == "value" else ())]
            }
    return _beside(keys, frame.select(pl.col(c).cast(t) for c, t in schema.items()))


def _beside(keys: Mapping[str, pl.Series], frame: pl.DataFrame) -> pl.DataFrame:
    """The by-keys and the columns of the results, which may not have the same names."""
    taken = [name for name in keys if name in frame.columns]
    if taken:
        raise FmfairError(f"by-key {listing(taken)} has the name of a column of the results; rename it")
    return pl.DataFrame({**keys, **{column.name: column for column in frame.iter_columns()}})


def _note_small_groups(groups: pl.DataFrame, options: Options, notes: Notes) -> None:
    if not options.min_group_size:
        return
    small = groups.filter((pl.col("n") > 0) & (pl.col("n") < options.min_group_size))
    small = small.unique(["by", "grouping", "cell"], maintain_order=True)
    rows = int(small["n"].sum())
    small = small.group_by("grouping", "group", maintain_order=True).agg(pl.col("n").min())
    if small.height:
        shown = ", ".join(f"{g} (n={n})" for g, n in small.head(5).select("group", "n").iter_rows())
        more = f" and {small.height - 5} more" if small.height > 5 else ""
        notes.warn(
            f"min_group_size={options.min_group_size}: {plural(small.height, 'group')} with {plural(rows, 'row')} left "
            f"out of the gaps: {shown}{more}"
        )
