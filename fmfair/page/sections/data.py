"""What was evaluated: rows, positives and missing values, over all and per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Section, Table
from fmfair.page.tables import NONE, counted, positives

# Words of notes that tell of rows which do not count.
_LEFT_OUT = ("left out", "missing", "ignored", "suppressed", "dropped")
MAX_TABLES = 20
SMALL = 100


def section(material: Material) -> Section:
    """The flow of rows, and the characteristics of every group; by-keys with the same rows share a table."""
    alike = _alike(material.views)
    tables = [_characteristics(views, material) for views in alike[:MAX_TABLES]]
    more = len(alike) - MAX_TABLES
    content = {
        "flow": _flow(material),
        "tables": tables,
        "more": f"The counts of {plural(more, 'further by-key')} are in groups.parquet." if more > 0 else "",
        "notes": [note for note in material.notes if any(word in note for word in _LEFT_OUT)],
    }
    return Section("data", "Data", content)


def _flow(material: Material) -> Table:
    """How many rows there are, and how many have each attribute."""
    rows = [["Rows evaluated", counted(material.metadata.get("n_samples"))]]
    if material.keys:
        rows.append([f"Evaluated apart, by {' and '.join(material.keys)}", f"{len(material.views):,} times"])
    if len(material.views) == 1:
        (view,) = material.views
        total = view.frames["overall"]["n"].head(1).to_list()
        whole = total[0] if total else None
        rows += [[f"Rows without {name}", _without(view, name, whole)] for name in material.attributes]
    return Table("Rows, from the table to the analysis", [Column("Step"), Column("Rows", numeric=True)], rows)


def _without(view: View, attribute: str, total: int | None) -> str:
    here = view.frames["summary"].filter(pl.col("attribute") == attribute)["n"].head(1).to_list()
    if total is None or not here or here[0] is None:
        return "suppressed"
    return f"{total - here[0]:,}"


def _alike(views: Sequence[View]) -> list[list[View]]:
    """The by-keys, those with the same counts in every group together."""
    found: dict[tuple[Any, ...], list[View]] = {}
    for view in views:
        counts = _groups(view).select("attribute", "group", "n", "n_pos")
        found.setdefault(tuple(counts.iter_rows()), []).append(view)
    return list(found.values())


def _groups(view: View) -> pl.DataFrame:
    """A row for each group of a single attribute."""
    single = view.frames["groups"].filter(pl.col("attribute_parts").list.len() == 1)
    return single.unique(["attribute", "group"], keep="first", maintain_order=True)


def _characteristics(views: Sequence[View], material: Material) -> Table:
    groups, first = _groups(views[0]), views[0].frames["overall"].head(1).to_dicts()
    classes = groups["n_pos"].null_count() < groups.height
    scores = _mean_scores(views[0]) if len(views) == 1 else {}
    columns = [Column("Attribute"), Column("Group"), Column("Rows", numeric=True), Column("Share", numeric=True)]
    columns += [Column("Positives", numeric=True)] if classes else []
    columns += [Column("Mean score", numeric=True)] if scores else []
    columns += [Column("Mark")]
    whole = first[0] if first else {"n": None, "n_pos": None}
    everything = [{**whole, "attribute": "All rows", "group": "", "in_gaps": True}]
    rows = []
    for row in [*everything, *groups.iter_rows(named=True)]:
        cells = [row["attribute"], row["group"], counted(row["n"]), _share(row["n"], whole["n"])]
        cells += [positives(row)] if classes else []
        cells += [scores.get((row["attribute"], row["group"]), NONE)] if scores else []
        rows.append([*cells, _mark(row, classes=classes)])
    note = f"Share: of all rows. Few: fewer than {SMALL} carry a value, so that estimates are imprecise."
    return Table(_caption(views, material), columns, rows, note=note, keys=2)


def _caption(views: Sequence[View], material: Material) -> str:
    named = [view.title for view in views if view.title]
    if not named or len(views) == len(material.views):
        return "Characteristics of every group" + (
            f" (the same for every {' and '.join(material.keys)})" if len(views) > 1 else ""
        )
    more = f" and {len(named) - 3:,} more with the same counts" if len(named) > 3 else ""
    return f"Characteristics of every group: {'; '.join(named[:3])}{more}"


def _mean_scores(view: View) -> Mapping[tuple[str, str], str]:
    """The mean score of each group, and of all rows; nothing where the scores are not at hand."""
    curves = view.frames.get("curves")
    if curves is None or curves.is_empty():
        return {}
    means = curves.group_by("attribute", "group", maintain_order=True).agg(
        pl.col("sum_score").sum() / pl.col("n").sum()
    )
    shown = {(a, g): NONE if mean is None else f"{mean:.3f}" for a, g, mean in means.iter_rows()}
    return {(a or "All rows", g): text for (a, g), text in shown.items()}


def _share(n: int | None, total: int | None) -> str:
    return NONE if n is None or not total else f"{100 * n / total:.1f}%"


def _mark(row: Mapping[str, Any], *, classes: bool) -> str:
    """Which count of a group is too small for a precise estimate."""
    n, n_pos = row["n"], row["n_pos"]
    if n is None:
        return "suppressed"
    if n == 0:
        return "no rows"
    few = {"rows": n}
    if classes and n_pos is not None:
        few = {"positives": n_pos, "negatives": n - n_pos}
    said = [f"few {what} ({count:,})" for what, count in few.items() if count < SMALL]
    said += [] if row["in_gaps"] else ["not compared"]
    return ", ".join(said)
