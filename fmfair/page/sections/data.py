"""What was evaluated: rows, positives and missing values, over all and per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.marks import MARKS
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Section, Table
from fmfair.page.tables import NONE, counted, positives

# Words of notes that tell of rows which do not count.
_LEFT_OUT = ("left out", "missing", "ignored", "suppressed", "dropped")
MAX_TABLES = 20


def section(material: Material) -> Section:
    """The flow of rows, and the characteristics of every group; by-keys with the same rows share a table."""
    alike = _alike(material.views)
    tables = [_characteristics(views, material) for views in alike[:MAX_TABLES]]
    more = len(alike) - MAX_TABLES
    content = {
        "flow": _flow(material),
        "tables": tables,
        "more": f"The counts of {plural(more, 'further result')} are in groups.parquet." if more > 0 else "",
        "notes": [note for note in material.notes if any(word in note for word in _LEFT_OUT)],
    }
    return Section("data", "Data", content)


def _flow(material: Material) -> Table:
    """How many rows there are, and how many have each attribute."""
    several = f", every {' and '.join(material.keys)} by itself" if material.keys else ""
    rows = [[f"Rows evaluated{several}", counted(material.metadata.get("n_samples"))]]
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
    what = "of the rarer class" if classes else "rows"
    marks = ", ".join(f"{text} below {most}" for most, text in MARKS.items())
    note = f"Share: of all rows. Mark, by how many {what} there are: {marks}."
    return Table(_caption(views, material), columns, rows, note=note, keys=2)


def _caption(views: Sequence[View], material: Material) -> str:
    """Of which by-keys a table is: `label mass, every model`."""
    said = []
    for name in material.keys if len(material.views) > 1 else []:
        here, everywhere = ({view.key[name]: None for view in some} for some in (views, material.views))
        if len(here) == len(everywhere) and len(views) > 1:
            said.append(f"every {name}")
        else:
            more = f" and {len(here) - 3:,} more" if len(here) > 3 else ""
            said.append(f"{name} {', '.join(list(here)[:3])}{more}")
    return "Characteristics of every group" + (f": {'; '.join(said)}" if said else "")


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
    """How imprecise estimates of a group are, by its rarer class."""
    n, n_pos = row["n"], row["n_pos"]
    if n is None:
        return "suppressed"
    carried = min(n_pos, n - n_pos) if classes and n_pos is not None else n
    mark = next((text for most, text in sorted(MARKS.items()) if carried < most), "")
    return ", ".join(text for text in (mark, "" if row["in_gaps"] else "not compared") if text)
