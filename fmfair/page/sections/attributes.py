"""One block per attribute: the values of its groups, the gaps between them, and the groups two by two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from fmfair.page.drawings import Drawings
from fmfair.page.material import Material, View
from fmfair.page.section import Section, Table
from fmfair.page.sections.overall import MAX_BLOCKS, MAX_CURVED
from fmfair.page.tables import gap_table, group_table, pair_table, title_of
from fmfair.page.telling import gap_sentence, told_metrics

# Of many by-keys, only those with the largest gaps.
MAX_GAPS = 20
MAX_PAIRS = 60


def section(material: Material) -> Section | None:
    """A block per attribute and by-key; of many by-keys the largest gaps of every attribute."""
    if not material.attributes:
        return None
    if len(material.views) > MAX_BLOCKS:
        blocks = [_over_by_keys(name, material) for name in material.attributes]
    else:
        drawings = Drawings(material, "attributes")
        blocks = [_block(name, material, drawings) for name in material.attributes]
    return Section("attributes", "By attribute", {"blocks": blocks})


def _block(attribute: str, material: Material, drawings: Drawings) -> dict[str, Any]:
    return {"title": attribute, "parts": [_part(attribute, view, material, drawings) for view in material.views]}


def _part(attribute: str, view: View, material: Material, drawings: Drawings) -> dict[str, Any]:
    """The tables of one attribute and by-key."""
    of = f"{attribute}, {view.title}" if view.title else attribute
    groups = view.main["groups"].filter(pl.col("attribute") == attribute)
    forests = [drawings.forest(view, metric, [attribute]) for metric in told_metrics(material)]
    curved = len(material.views) <= MAX_CURVED
    return {
        "title": view.title,
        "said": [gap_sentence(view, material, attribute, metric) for metric in told_metrics(material)],
        "figures": [figure for figure in forests if figure is not None],
        "curves": drawings.over_scores(view, attribute) if curved else [],
        "groups": group_table(groups, material.metrics, f"Groups of {of}", material.level),
        "gaps": _gaps(attribute, view, material, of),
        "pairs": _pairs(attribute, view, material, of),
    }


def gaps_of(attribute: str, view: View, metrics: Sequence[str]) -> pl.DataFrame:
    """The gaps of an attribute at the threshold of the summary, in the order of the metrics."""
    gaps = view.main["gaps"].filter(
        (pl.col("attribute") == attribute)
        & (pl.col("statistic") == "difference")
        & pl.col("metric").is_in(list(metrics))
    )
    order = pl.col("metric").replace_strict({m: i for i, m in enumerate(metrics)}, default=None, return_dtype=pl.Int64)
    return gaps.sort(order, maintain_order=True)


def _gaps(attribute: str, view: View, material: Material, of: str) -> Table:
    rows = [([title_of(r["metric"])], r) for r in gaps_of(attribute, view, material.metrics).iter_rows(named=True)]
    return gap_table(rows, ["Metric"], f"Gaps between the groups of {of}")


def _pairs(attribute: str, view: View, material: Material, of: str) -> Table | None:
    if "pairs" not in view.main:
        return None
    wanted = (pl.col("attribute") == attribute) & pl.col("metric").is_in(list(material.metrics))
    pairs = view.main["pairs"].filter(wanted)
    if pairs.is_empty():
        return None
    table = pair_table(pairs.head(MAX_PAIRS), f"Groups of {of}, two by two", material.level)
    if pairs.height <= MAX_PAIRS:
        return table
    more = f" {pairs.height - MAX_PAIRS:,} more pairs are in pairs.parquet."
    return Table(table.caption, table.columns, table.rows, note=table.note + more, keys=table.keys)


def _over_by_keys(attribute: str, material: Material) -> dict[str, Any]:
    """The largest gaps of the headline metric over all by-keys."""
    differences = [(list(view.key.values()), view.difference(attribute, material.headline)) for view in material.views]
    found = [(key, row) for key, row in differences if row is not None]
    defined = [(key, row) for key, row in found if row["value"] is not None]
    largest = sorted(defined, key=lambda pair: -pair[1]["value"])[:MAX_GAPS]
    name = title_of(material.headline)
    caption = f"{name}: the largest gaps between groups of {attribute}"
    table = gap_table(largest, material.keys, caption)
    said = f"{len(defined):,} of {len(found):,} results have a gap; the {len(largest):,} largest are listed."
    said += " They were picked for being large, so that their true gaps are likely to be smaller."
    listed = Table(table.caption, table.columns, table.rows, note=f"{said} {table.note}".strip(), keys=table.keys)
    return {
        "title": attribute,
        "parts": [
            {"title": "", "said": [], "figures": [], "curves": [], "groups": None, "gaps": listed, "pairs": None}
        ],
    }
