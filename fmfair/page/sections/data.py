"""What was evaluated: rows, positives and missing values, over all and per group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import plural
from fmfair.marks import MARKS
from fmfair.numerals import joined
from fmfair.page.material import Material, View
from fmfair.page.section import Column, Section, Table
from fmfair.page.sections.plan import NOT_FOUND, held
from fmfair.page.tables import NONE, counted, positives
from fmfair.render import visible

# Words of notes that tell of rows which do not count.
_LEFT_OUT = ("left out", "missing", "ignored", "suppressed", "dropped")
MAX_TABLES = 20
# A note on rows that are not evaluated at all, how many and why.
_OUT = re.compile(
    r"(?P<n>(?:fewer than )?[\d,]+) rows? with (?P<why>.*?) left out(?! for this attribute| of the gaps| of the counts)"
)
MISSING = "not recorded"


def section(material: Material) -> Section:
    """The flow of rows, and the characteristics of every group; by-keys with the same rows share a table."""
    alike = _alike(material.views)
    tables = [_characteristics(views, material) for views in alike[:MAX_TABLES]]
    more = len(alike) - MAX_TABLES
    content = {
        "flow": _flow(material),
        "tables": tables,
        "more": f"The counts of {plural(more, 'further result')} are in groups.parquet." if more > 0 else "",
        "absent": _absent(material),
        "notes": [note for note in material.notes if any(word in note for word in _LEFT_OUT)],
    }
    return Section("data", "Data", content)


def _flow(material: Material) -> Table:
    """From the rows of the table to those that were evaluated, and how many of these lack an attribute."""
    facts = material.metadata
    several = f", every {' and '.join(material.keys)} by itself" if material.keys else ""
    out = [match for note in material.notes if (match := _OUT.search(note)) is not None]
    rows = [[f"Left out: {visible(match['why'])}", match["n"]] for match in out]
    findings = len((facts.get("columns") or {}).get("pairs") or {})
    read, evaluated = facts.get("n_rows"), facts.get("n_samples")
    if read is not None and evaluated is not None:
        whole = read * max(findings, 1)
        rest = whole - evaluated - sum(int(match["n"].replace(",", "")) for match in out)
        if rest >= 0:
            every = [[f"The same, once for each of {findings:,} labels", f"{whole:,}"]] if findings > 1 else []
            rows = [["Rows of the table", f"{read:,}"], *every, *rows]
            why = "a weight of 0" if material.task == "classification" else "a missing value"
            rows += [[f"Left out for other reasons, such as {why}", f"{rest:,}"]] if rest else []
    rows.append([f"Rows evaluated{several}", counted(evaluated)])
    if len(material.views) == 1:
        (view,) = material.views
        rows += [[f"Of these, {name} not recorded", _lacking(view, name)] for name in material.attributes]
    return Table("Rows, from the table to the analysis", [Column("Step"), Column("Rows", numeric=True)], rows)


def _absent(material: Material) -> list[str]:
    """The groups of interest that the data do not hold, by the plan's own word or because none goes by the name."""
    said = [
        f"{visible(n)}{f' ({visible(why)})' if why else ''}" for n, why in material.plan.groups_without_data.items()
    ]
    sentences = [f"Groups of interest without data: {joined(said)}."] if said else []
    unknown = [visible(name) for name in material.plan.groups if held(name, material) == NOT_FOUND]
    return [*sentences, *([f"Named in the plan, but no group of this name: {joined(unknown)}."] if unknown else [])]


def _lacking(view: View, attribute: str) -> str:
    """How many rows lack an attribute, and which share that is."""
    lacking, whole = _not_recorded(view, attribute), _whole(view)["n"]
    return "suppressed" if lacking is None else f"{lacking:,} ({_share(lacking, whole)})" if whole else f"{lacking:,}"


def _not_recorded(view: View, attribute: str) -> int | None:
    """How many rows lack an attribute; None where that is hidden."""
    here = view.frames["summary"].filter(pl.col("attribute") == attribute)["n"].head(1).to_list()
    whole = _whole(view)["n"]
    return None if whole is None or not here or here[0] is None else int(whole - here[0])


def _whole(view: View) -> dict[str, Any]:
    """A row with the counts of all rows."""
    first = view.frames["overall"].head(1).to_dicts()
    return first[0] if first else {"n": None, "n_pos": None}


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
    groups, whole = _groups(views[0]), _whole(views[0])
    classes = groups["n_pos"].null_count() < groups.height
    scores = _mean_scores(views[0]) if len(views) == 1 else {}
    columns = [Column("Attribute"), Column("Group"), Column("Rows", numeric=True), Column("Share", numeric=True)]
    columns += [Column("Positives", numeric=True)] if classes else []
    mean = "Mean score" if material.task == "classification" else "Mean Dice"
    columns += [Column(mean, numeric=True)] if scores else []
    columns += [Column("Mark")]
    everything = [{**whole, "attribute": "All rows", "group": "", "in_gaps": True}]
    rows = []
    for row in [*everything, *_with_missing(views[0], groups)]:
        cells = [row["attribute"], row["group"], counted(row["n"]), _share(row["n"], whole["n"])]
        cells += [positives(row)] if classes else []
        cells += [scores.get((row["attribute"], row["group"]), NONE)] if scores else []
        rows.append([*cells, _mark(row, classes=classes)])
    what = "of the rarer class" if classes else "rows"
    marks = ", ".join(f"{text} below {most}" for most, text in MARKS.items())
    note = f"Share: of all rows. Mark, by how many {what} there are: {marks}."
    return Table(_caption(views, material), columns, rows, note=note, keys=2)


def _with_missing(view: View, groups: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The groups of every attribute, and behind them the rows that lack it."""
    for (attribute,), part in groups.partition_by("attribute", as_dict=True, maintain_order=True).items():
        yield from part.iter_rows(named=True)
        lacking, whole = _not_recorded(view, str(attribute)), _whole(view)
        if lacking:
            hidden = whole["n_pos"] is None or part["n_pos"].null_count()
            n_pos = None if hidden else whole["n_pos"] - part["n_pos"].sum()
            yield {"attribute": attribute, "group": MISSING, "n": lacking, "n_pos": n_pos, "in_gaps": False}


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
