"""The table of groups: the main metrics of every group, or of the worst and the best where there are many."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfair.errors import plural
from fmfair.render import Table, visible
from fmfair.shown import (
    DIGITS,
    FEW,
    MAX_ROWS,
    UNDEFINED,
    Columns,
    Shown,
    header_and_rows,
    key_columns,
    number,
)
from fmfair.shown_certainty import brackets_legend, is_count, valued_or_counted

# What a count counts: one of them, and which.
_COUNTED = {
    "n_pos": ("positive", ""),
    "n_neg": ("negative", ""),
    "n_pred_pos": ("sample", " called positive"),
    "n_pred_neg": ("sample", " called negative"),
    "n": ("sample", ""),
}


def group_table(shown: Shown) -> Table | None:
    """The main metrics of every group at the thresholds of the summary; None where there are no metrics."""
    if not shown.metrics:
        return None
    cell = [*shown.keys, "group"]
    everything = shown.groups.unique(cell, maintain_order=True)
    if everything.height > MAX_ROWS and shown.varying:
        several = f"{everything.height:,} groups over all by-keys: too many to list here, report.groups holds them"
        return Table("Groups", remarks=(several,))
    listed = _fairly_cut(everything, shown)
    columns = list(key_columns(shown, listed, "group"))
    keys = len(columns)
    columns += [(c, [number(v) for v in listed[c]]) for c in ("n", "n_pos") if listed[c].count()]
    metrics, marked, remarks = _metric_columns(shown, listed, len(columns))
    header, rows = header_and_rows([*columns, *metrics])
    if everything.height > listed.height:
        more = f"... {everything.height - listed.height:,} more groups, after the worst and the best of each attribute"
        remarks.insert(0, f"{more}; report.groups holds all {everything.height:,}")
    return Table("Groups", header, rows, keys, marked=frozenset(marked), remarks=tuple(remarks))


def _metric_columns(shown: Shown, listed: pl.DataFrame, first: int) -> tuple[Columns, list[tuple[int, int]], list[str]]:
    """A column per metric that is defined in some group, its marked cells, and what there is to say."""
    cell = [*shown.keys, "group"]
    worst = _worst_groups(shown)
    columns: list[tuple[str, Sequence[str]]] = []
    marked: list[tuple[int, int]] = []
    reasons: dict[str, None] = {}
    nowhere: dict[str, list[str]] = {}
    for metric in shown.metrics:
        facts = shown.groups.filter(pl.col("metric") == metric).unique(cell, keep="first", maintain_order=True)
        marks = worst.filter(pl.col("metric") == metric).drop("metric")
        facts = listed.select(cell).join(facts, on=cell, how="left", nulls_equal=True, maintain_order="left")
        facts = facts.join(marks, on=cell, how="left", nulls_equal=True, maintain_order="left")
        why = facts.filter(pl.col("value").is_null())["note"].drop_nulls().unique(maintain_order=True).to_list()
        if not facts["value"].count():
            nowhere.setdefault("; ".join(visible(r) for r in why[:3]), []).append(visible(metric))
            continue
        reasons |= dict.fromkeys(why)
        cells = [valued_or_counted(row, DIGITS) for row in facts.iter_rows(named=True)]
        marked += [
            (r, first + len(columns))
            for r, (is_worst, text) in enumerate(zip(facts["is_worst"], cells, strict=True))
            if is_worst and not is_count(text)
        ]
        columns.append((visible(metric), cells))
    remarks = [f"{', '.join(m)}: undefined in every group" + (f" ({why})" if why else "") for why, m in nowhere.items()]
    if marked:
        remarks.append("* worst group of its attribute")
    everywhere = [cell for _, cells in columns for cell in cells]
    return columns, marked, remarks + brackets_legend(shown, everywhere) + _legend(everywhere, list(reasons))


def _worst_groups(shown: Shown) -> pl.DataFrame:
    """The worst group of every comparison in which one is worse than another."""
    gaps = shown.gaps.filter(pl.col("worst_group") != pl.col("best_group"))
    differing = gaps.filter((pl.col("statistic") == "difference") & (pl.col("value") > 0))
    comparison = [*shown.keys, "metric"]
    worst = gaps.filter(pl.col("statistic") == "worst").join(differing, on=comparison, how="semi", nulls_equal=True)
    worst = worst.select(*comparison, pl.col("worst_group").alias("group"), pl.lit(True).alias("is_worst"))
    return worst.unique(maintain_order=True)


def _fairly_cut(groups: pl.DataFrame, shown: Shown) -> pl.DataFrame:
    """As many groups as are shown, in their order: of each attribute first the worst and the best, then the others."""
    if groups.height <= MAX_ROWS:
        return groups
    pairs = shown.gaps.filter(pl.col("statistic") == "difference").select("attribute", "worst_group", "best_group")
    extremes: dict[str, dict[str, None]] = {}
    for attribute, *pair in pairs.iter_rows():
        extremes.setdefault(attribute, {}).update(dict.fromkeys(pair))
    # The extremes of all attributes in turn, then the other groups as they come.
    turn = {(a, g): i for a, named in extremes.items() for i, g in enumerate(named)}
    cells = groups.select("attribute", "group").rows()
    chosen = sorted(range(len(cells)), key=lambda i: turn.get(cells[i], len(cells)))[:MAX_ROWS]
    return groups[sorted(chosen)]


def _legend(cells: Sequence[str], reasons: Sequence[str]) -> list[str]:
    """What a dash and a count stand for, where there are any."""
    legend = []
    if UNDEFINED in cells:
        why = f": {'; '.join(visible(r) for r in reasons[:3])}" if reasons else ""
        legend.append(f"{UNDEFINED} undefined{why}")
    meanings = []
    share = next((cell for cell in cells if "/" in cell), None)
    if share:
        meanings.append(f"{share} means {share.replace('/', ' of only ')} samples")
    count = next((cell for cell in cells if "=" in cell), None)
    if count:
        unit, _, number_of = count.partition("=")
        noun, which = _COUNTED.get(unit, _COUNTED["n"])
        meanings.append(f"{count} means only {plural(int(number_of), noun)}{which}")
    if meanings:
        legend.append(
            f"{', '.join(meanings)}: the counts are shown where fewer than {FEW} samples carry a value; report.groups "
            "holds it"
        )
    return legend
