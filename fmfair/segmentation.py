"""`evaluate_segmentation`: Dice and IoU per sample in, a report of how they differ between groups out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair import masks, readers
from fmfair.assemble import Backend
from fmfair.errors import FmfairError, check_choice
from fmfair.evaluation import curves_of, make_report, read_source
from fmfair.groupings import Grouping
from fmfair.inputs import hashed
from fmfair.longtable import widen
from fmfair.mask_values import MaskOptions
from fmfair.metadata import rows_read
from fmfair.metrics.metric import Metric
from fmfair.metrics.registry import REGISTRY
from fmfair.notes import Notes
from fmfair.options import Bins, Bootstrap, Intersections, Options, check_options
from fmfair.patients import note_patients, sizes_of, unused_patients
from fmfair.report import Report
from fmfair.roles import Columns, find_values
from fmfair.row_counts import RowsInMemory
from fmfair.samples import Samples, value_samples
from fmfair.spread import NO_SPREAD, spread_of_means
from fmfair.units import cell_rows

if TYPE_CHECKING:
    from fmfair.bootstrap.replicates import Replicates

BOTH_EMPTY = "both_empty"


def evaluate_segmentation(  # noqa: PLR0913 - the public door; everything behind it takes Options
    frame: Any,
    *,
    dice: str | None = None,
    iou: str | None = None,
    pred_mask: str | None = None,
    true_mask: str | None = None,
    attributes: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    metadata: Any = None,
    on: str | tuple[str, str] | None = None,
    bins: Bins | None = None,
    intersections: Intersections = 1,
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    sample_id: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    min_group_size: int = 0,
    suppress_below: int | None = None,
    missing_groups: str = "drop",
    missing_values: Sequence[str] = (),
    conventions: str = "standard",
    ci: float | None = 0.95,
    bootstrap: Bootstrap | int | str | None = None,
    model_based: bool = False,
    reference: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
) -> Report:
    """Differences in Dice and IoU between groups.

    Args:
        frame: A table with one row per sample: whatever `fmfair.evaluate` takes.
        dice: Column with the Dice of each sample, in [0, 1]; found by name (dice, dsc, ...) where nothing is named.
        iou: Column with the IoU of each sample, in [0, 1].
        pred_mask: Column with the path of each predicted mask, from which Dice and IoU are computed; relative to the
            table's folder where the table is a file.
        true_mask: Column with the path of each reference mask.
        attributes: Columns whose groups are compared; found by name (sex, age, race, site, ...) where left out.
        by: Columns to evaluate separately, such as model; found by name where left out, `[]` switches that off.
        metadata: A table with the attributes, joined by `on`; anything that `frame` may be.
        on: The id column of both tables, or its two names.
        bins: Cut points or a number of quantiles per numeric attribute, e.g. `{"age": [40, 60]}`.
        intersections: 2 for all pairs of attributes, 3 for triples too, `"all"`, or a list of tuples.
        label: The class to evaluate in masks with several; any value above 0 is foreground where left out.
        mask_threshold: The lowest probability that is foreground, in [0, 1], where masks hold probabilities or logits;
            where they hold whole numbers the grey level from which a pixel counts, e.g. 128. JPEG masks need it.
        mask_type: What predicted masks hold: `"label"`, `"probability"` (8-bit and 16-bit grey levels are divided by
            255 or 65535) or `"logit"`; `"auto"` decides once for all masks, whole numbers being labels.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"`, or `"drop"` to leave it out.
        sample_id: Column that identifies a sample, which may occur once per by-key.
        cluster: Column of the patient, where several rows of one are meant.
        weight: Column of sample weights.
        min_group_size: Groups with fewer samples are shown, but left out of the gaps.
        suppress_below: The smallest number of samples that may be read from the report; None for all. What would tell
            a smaller one is NULL with the note `suppressed`; see `fmfair.evaluate`.
        missing_groups: `"drop"` leaves samples with a missing attribute out of that attribute, `"keep"` shows them.
        missing_values: Texts that mean missing.
        conventions: `"standard"`, or `"fairmedfm"` for the published package's numbers.
        ci: Confidence level of the intervals of all values and gaps, from 0.5 up to 1; None leaves their columns out.
            Whole patients vary where `cluster` is given; else rows count as independent.
        model_based: Whether to add to intersections the columns `model_based`, `model_based_low` and
            `model_based_high`: the value drawn toward what its attributes alone lead to expect, by as much as it is
            uncertain (Fay & Herriot 1979). NULL where an intersection has too few cells, such as 2 x 2.
        reference: The group that others are compared with in `report.pairs`, by attribute: `{"sex": "M"}`; the largest
            where none is named.
        margins: The difference that matters, by metric: `{"auc": 0.05}`. The column `verdict` of gaps and pairs then
            says whether the interval leaves a larger difference `excluded`, `shown`, or `cannot tell`.
        bootstrap: Intervals from resampled patients (`cluster`), samples (`sample_id`) or rows instead of closed forms:
            a number of replicates, `"percentile"` (2,000), `"bca"` (10,000), or `fmfair.Bootstrap(...)`.

    Returns:
        A report. `summary` holds mean_dice (over samples), min_dice, max_dice, delta_dice, skewness_dice, std_dice
        (population standard deviation of the group means) and es_dice (mean / (1 + std)) per attribute; higher is
        better for the means, 0 is fair for delta_dice and std_dice, 1 for skewness_dice. A group without a usable
        sample is listed with n = 0. With `ci` the means have intervals; `fmfair.Report` describes the columns.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> import polars as pl
        >>> df = pl.DataFrame({"dice": [0.9, 0.7, 0.6, 0.5], "site": ["x", "x", "z", "z"]})
        >>> report = df.pipe(fmfair.evaluate_segmentation, attributes="site")
        >>> round(report.summary["delta_dice"][0], 12)
        0.25
    """
    options = check_options(
        among=(REGISTRY["dice"], REGISTRY["iou"]),
        bins=bins,
        intersections=intersections,
        min_group_size=min_group_size,
        suppress_below=suppress_below,
        missing_groups=missing_groups,
        missing_values=missing_values,
        conventions=conventions,
        ci=ci,
        bootstrap=bootstrap,
        model_based=model_based,
        reference=reference,
        margins=margins,
    )
    reading = Masks(label, mask_threshold, mask_type, empty)
    reading.check(options)
    given = {
        "dice": dice,
        "iou": iou,
        "pred_mask": pred_mask,
        "true_mask": true_mask,
        "attributes": attributes,
        "by": by,
        "sample_id": sample_id,
        "cluster": cluster,
        "weight": weight,
        "bins": bins,
    }
    notes = Notes(options.suppress_below)
    with hashed(frame=frame, metadata=metadata) as files:
        source = read_source(frame, metadata, on, notes)
        columns = find_values(readers.schema(source), given, notes)
        patients = unused_patients(readers.schema(source), columns, options)
        table = readers.collect(source, [*columns.needed, *patients])
        wide, found = widen(table, columns) if columns.long else (table, columns)
        if "pred_mask" in found.values:
            base = Path(frame).parent if isinstance(frame, str | Path) else None
            wide, found = with_overlap(wide, found, reading.of_columns(wide, found, base), options, notes)
        samples = value_samples(wide, source, found, options, notes)
        for patient in patients:
            note_patients(patient, sizes_of(table, columns, patient), notes)
        report = report_of_values(samples, found, options, notes)
        facts = rows_read(columns, options, table.height) | files.facts()
        return replace(report, metadata=report.metadata | facts)


@dataclass(frozen=True)
class Masks:
    """Masks, one pair per sample, and how they are read; `evaluate_segmentation` describes the options."""

    label: float | None
    mask_threshold: float | None
    mask_type: str
    empty: str
    pred: Any = None
    true: Any = None
    names: tuple[str, str] = ("pred_masks", "true_masks")
    base: Path | None = None

    @property
    def given(self) -> bool:
        """Whether there are masks at all."""
        return self.pred is not None or self.true is not None

    def of_columns(self, table: pl.DataFrame, columns: Columns, base: Path | None) -> Masks:
        """The masks whose paths are in two columns of a table, in the folder `base`."""
        if table.is_empty():
            raise FmfairError("the table has no rows")
        pred, true = columns.values["pred_mask"], columns.values["true_mask"]
        names = (f"column {pred!r}", f"column {true!r}")
        return replace(self, pred=table[pred], true=table[true], names=names, base=base)

    def check(self, options: Options) -> None:
        """Refuses options that are out of range or contradict each other, whether there are masks or not."""
        MaskOptions(self.label, self.mask_threshold, self.mask_type, options.conventions.name).check()
        check_choice("empty", self.empty, masks.EMPTY)


def with_overlap(
    table: pl.DataFrame, columns: Columns, pairs: Masks, options: Options, notes: Notes
) -> tuple[pl.DataFrame, Columns]:
    """The table with the Dice and IoU of every pair of masks, the policy for empty pairs applied."""
    found, told = masks.overlap(
        pairs.pred,
        pairs.true,
        label=pairs.label,
        threshold=pairs.mask_threshold,
        mask_type=pairs.mask_type,
        conventions=options.conventions.name,
        base=pairs.base,
        names=pairs.names,
        least=options.suppress_below,
    )
    notes.take(told)
    nothing = found["dice"].is_null()
    if nothing.all() and pairs.empty == "drop":
        raise FmfairError("no sample is left to evaluate: both masks of every sample are empty, and empty='drop'")
    if nothing.any():
        effect = {"one": "counted as 1", "zero": "counted as 0", "drop": "left out"}[pairs.empty]
        count = notes.counted(int(nothing.sum()), "sample")
        notes.warn(f"{count} with both masks empty {effect} (empty={pairs.empty!r})")
    names = {metric: _free(metric, table.columns) for metric in ("dice", "iou", BOTH_EMPTY)}
    scored = [masks.apply_empty(found[m], nothing, pairs.empty).alias(names[m]) for m in ("dice", "iou")]
    found_columns = [*scored, nothing.cast(pl.Float64).alias(names[BOTH_EMPTY])]
    return pl.DataFrame([*table.get_columns(), *found_columns]), replace(columns, values=names, from_masks=True)


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def report_of_values(samples: Samples, columns: Columns, options: Options, notes: Notes) -> Report:
    """The report of samples with a value per metric."""
    options = replace(options, metrics=tuple(REGISTRY[name] for name in columns.values))

    def measure(groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return long_values(samples, options, groupings, listed)

    def resample(groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame], long: pl.DataFrame) -> Replicates:
        assert options.bootstrap is not None
        from fmfair.bootstrap.means import resample_means  # with SciPy, which takes its time to load

        return resample_means(samples, options.metrics, groupings, listed, long, options.bootstrap)

    def together(groupings: Sequence[Grouping], wanted: Sequence[int]) -> pl.DataFrame:
        from fmfair.covariance import covariances_of_means

        return covariances_of_means(samples, options.metrics, groupings, wanted)

    drawn = None if options.bootstrap is None else resample
    curves = partial(curves_of, samples, "dice") if "dice" in columns.values else None
    backend = Backend(measure, resample=drawn, rows=RowsInMemory(samples), curves=curves, covariances=together)
    report = make_report("segmentation", samples, columns, options, notes, backend)
    if options.suppress_below is not None:
        return report  # where the number of samples may be told is decided by what is hidden
    measured = samples.frame.select(pl.any_horizontal(pl.col(*columns.values).is_not_null()).sum()).item()
    return replace(report, metadata=report.metadata | {"n_samples": measured})


def long_values(
    samples: Samples, options: Options, groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """The long table of the means of all metrics; with what their spread is known by where intervals are wanted."""
    starts = accumulate((cells.height for cells in listed), initial=0)
    parts = []
    for i, (grouping, cells, start) in enumerate(zip(groupings, listed, starts, strict=False)):
        long = _measured(samples, options.metrics, grouping, cells.with_row_index("listed", start))
        if options.ci is not None:
            long = _with_spread(samples, long, options.metrics, grouping)
        parts.append(long.with_columns(grouping=pl.lit(i, pl.UInt32)))
    return pl.concat(parts)


def _with_spread(samples: Samples, long: pl.DataFrame, metrics: Sequence[Metric], grouping: Grouping) -> pl.DataFrame:
    """The long table of a grouping with what the spread of each mean is known by."""
    spreads = [NO_SPREAD]
    for metric in metrics:
        values = samples.frame[metric.name]
        rows = cell_rows(samples.frame, samples.profiles, grouping, values.is_not_null().to_numpy())
        spreads.append(spread_of_means({metric.name: values}, rows, samples.frame))
    known = pl.concat(spreads)
    return long.join(known, on=["cell", "metric"], how="left", maintain_order="left")


def _measured(samples: Samples, metrics: Sequence[Metric], grouping: Grouping, cells: pl.DataFrame) -> pl.DataFrame:
    """The long table of one grouping: the mean of each metric over the samples that have one."""
    parts = [_mean_per_cell(samples, metric, order, grouping, cells) for order, metric in enumerate(metrics)]
    return pl.concat(parts)


def _mean_per_cell(
    samples: Samples, metric: Metric, order: int, grouping: Grouping, cells: pl.DataFrame
) -> pl.DataFrame:
    assert metric.aggregate is not None
    weight = pl.col("weight") if samples.weighted else pl.lit(1.0)
    found = (
        samples.frame.lazy()
        .select(grouping.cell().alias("cell"), pl.col(metric.name).alias("value"), weight.alias("weight"))
        .drop_nulls(["cell", "value"])
        .group_by("cell")
        .agg(metric.aggregate().alias("value"), n=pl.len().cast(pl.Int64), weight=pl.col("weight").sum())
        .collect()
    )
    rows = cells.select("cell", "listed").join(found, on="cell", how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("n").fill_null(0), pl.col("weight").fill_null(0.0))
    return rows.select(
        "cell",
        "listed",
        pl.lit(order, pl.UInt16).alias("order"),
        pl.lit(metric.name).alias("metric"),
        pl.lit(None, pl.UInt32).alias("t"),
        pl.lit(None, pl.Float64).alias("threshold"),
        pl.lit(None, pl.String).alias("threshold_rule"),
        "value",
        "n",
        pl.lit(None, pl.Int64).alias("n_pos"),
        "weight",
        pl.col("n").alias("denominator"),
        pl.when(pl.col("n") == 0).then(pl.lit("no usable sample")).alias("note"),
    )
