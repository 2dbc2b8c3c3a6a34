"""Assembly: from the samples to the result frames, for classification and segmentation alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from fmfair.columns import GAPS, GROUPS, OVERALL
from fmfair.conventions import Conventions
from fmfair.gaps import KEY, compare
from fmfair.groupings import Grouping, groupings, join_parts
from fmfair.metrics.metric import Metric
from fmfair.named_gaps import named_statistics
from fmfair.options import Options
from fmfair.samples import Samples

# Measures the cells of groupings: groupings and the cells to list of each -> the long table of `measures.long_table`.
Measure = Callable[[Sequence[Grouping], Sequence[pl.DataFrame]], pl.DataFrame]


@dataclass(frozen=True)
class Frames:
    """The result frames, and the long tables behind them with positions instead of names."""

    groups: pl.DataFrame
    gaps: pl.DataFrame
    overall: pl.DataFrame
    present: pl.DataFrame


def build_frames(samples: Samples, metrics: Sequence[Metric], options: Options, measure: Measure) -> Frames:
    """Disaggregate, then compare."""
    divided = groupings(samples.attributes, options.intersections)
    missing = {a.column for a in samples.attributes if samples.frame[a.column].null_count()}
    scopes = [_scope(g, missing) for g in divided]
    wholes = list(dict.fromkeys([Grouping(), *scopes]))
    everything = [*divided, *wholes]
    listed = [g.cells(samples.seen, samples.by.height) for g in everything]
    long = measure(everything, listed)
    cells = pl.concat([_named_cells(g, i, c) for i, (g, c) in enumerate(zip(divided, listed, strict=False))])
    groups = long.join(cells, on=["grouping", "cell"], how="inner", maintain_order="left")
    groups = groups.with_columns(in_gaps=(pl.col("n") >= options.min_group_size) & (pl.col("n") > 0))
    if options.conventions.skip_one_class_groups and metrics[0].family != "segmentation":
        groups = _skip_one_class(groups)
    groups = groups.sort("by", "grouping", "order", "t", "cell", nulls_last=False)
    whole_of = pl.DataFrame(
        {
            "grouping": range(len(divided)),
            "whole": [len(divided) + wholes.index(s) for s in scopes],
        },
        schema={"grouping": pl.UInt32, "whole": pl.UInt32},
    )
    undivided = long.filter(pl.col("grouping") >= len(divided)).with_columns(by=pl.col("cell").cast(pl.UInt32))
    present = whole_of.join(undivided.rename({"grouping": "whole"}), on="whole", how="inner")
    gaps = compare(groups, present, metrics)
    gaps = pl.concat([gaps, named_statistics(gaps, groups, present)]).sort(
        "by", "grouping", "order", "t", maintain_order=True
    )
    names = pl.DataFrame(
        {
            "grouping": range(len(divided)),
            "attribute": [g.attribute for g in divided],
            "attribute_parts": [g.attribute_parts for g in divided],
        },
        schema_overrides={"grouping": pl.UInt32},
    )
    all_rows = undivided.filter(pl.col("grouping") == len(divided)).sort("by", "order", "t")
    return Frames(
        groups=_public(groups.join(names, on="grouping", maintain_order="left"), samples, GROUPS),
        gaps=_public(gaps.join(names, on="grouping", maintain_order="left"), samples, GAPS),
        overall=_public(all_rows, samples, OVERALL),
        present=_public(present.join(names, on="grouping", maintain_order="left"), samples, {**OVERALL, "attribute": pl.String()}),
    )


def _scope(grouping: Grouping, missing: set[str]) -> Grouping:
    """All rows with every part of the grouping present; the same object in effect where nothing is missing."""
    return Grouping((), tuple(a for a in grouping.parts if a.column in missing))


def _named_cells(grouping: Grouping, number: int, cells: pl.DataFrame) -> pl.DataFrame:
    """The display name and the parts of every group."""
    parts = [f"part{i}" for i in range(len(grouping.parts))]
    listed = cells.select("cell", "by", pl.concat_list(parts).alias("group_parts"))
    if len(parts) == 1:
        group = cells[parts[0]].alias("group")
    else:
        group = pl.Series("group", [join_parts(row) for row in cells.select(parts).iter_rows()], dtype=pl.String)
    return listed.with_columns(group, pl.lit(number, pl.UInt32).alias("grouping"))


def _skip_one_class(groups: pl.DataFrame) -> pl.DataFrame:
    """The published package's rule: a group with one class has no values, and an attribute with fewer than two usable
    groups has none at all."""
    usable = (pl.col("n_pos") > 0) & (pl.col("n_pos") < pl.col("n"))
    enough = pl.col("group").filter(usable).n_unique().over("by", "grouping") >= 2
    only = pl.format("skipped: only label {}", pl.when(pl.col("n_pos") > 0).then(1).otherwise(0))
    why = pl.when(~usable & (pl.col("n") > 0)).then(only).when(~enough).then(pl.lit("fewer than two groups with both labels"))
    return groups.with_columns(
        value=pl.when(usable & enough).then(pl.col("value")), note=pl.coalesce(why, "note"), in_gaps=pl.col("in_gaps") & usable
    )


def _public(frame: pl.DataFrame, samples: Samples, schema: dict[str, pl.DataType] | object) -> pl.DataFrame:
    """The user's by-keys in front, then the declared columns with their dtypes."""
    columns = dict(schema)  # type: ignore[call-overload]  # a mapping of column to dtype
    weight = pl.col("weight") if samples.weighted else pl.lit(None, pl.Float64)
    if "weight" in frame.columns:
        frame = frame.with_columns(weight.alias("weight_sum"))
    keys = samples.by.select(pl.all().gather(frame["by"])) if samples.by.width else pl.DataFrame()
    shown = frame.select(pl.col(c).cast(t) for c, t in columns.items())
    return pl.concat([keys, shown], how="horizontal") if samples.by.width else shown


def skipped_notes(groups: pl.DataFrame, conventions: Conventions, options: Options) -> list[str]:
    """Sentences about groups that are left out of gaps."""
    sentences = []
    small = groups.filter(~pl.col("in_gaps") & (pl.col("n") > 0)).unique(["attribute", "group"], maintain_order=True)
    if options.min_group_size and small.height:
        shown = ", ".join(f"{a}={g} (n={n})" for a, g, n in small.select("attribute", "group", "n").head(5).iter_rows())
        more = f" and {small.height - 5} more" if small.height > 5 else ""
        sentences.append(
            f"min_group_size={options.min_group_size}: {small.height} groups with {int(small['n'].sum())} rows left out "
            f"of the gaps: {shown}{more}"
        )
    return sentences
