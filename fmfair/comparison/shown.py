"""What is shown of a comparison: the trade-off, which model is better and fairer, and for whom one is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.export import Frames
from fmfair.render import Digest, Table, visible
from fmfair.shown import HEADLINE, UNDEFINED, header_and_rows, metric_of, names, number, threshold_text

MAX_ROWS = 20
MAX_NOTES = 20
# Differences with a smaller p value, adjusted for the groups of an attribute, are called shown.
LEVEL = 0.05

Columns = list[tuple[str, list[str]]]


def digest_of(frames: Frames, notes: Sequence[str], metadata: Mapping[str, Any]) -> Digest:
    """The title, the tables and the notes of a comparison."""
    by = {f"\0{i}": name for i, name in enumerate(metadata["by"])}
    own = {name: plain for plain, name in by.items()}
    renamed = {name: frame.rename(own) for name, frame in frames.items()}
    several = [name for name in by if frames["differences"].height and renamed["differences"][name].n_unique() > 1]
    keys = {name: visible(by[name]) for name in several}
    metrics = _main_metrics(renamed["differences"], metadata["headline"])
    tables = [
        _tradeoff(renamed["tradeoff"], keys, metadata["headline"]),
        _better(renamed["differences"], keys, metrics),
        _worse(renamed["differences"], keys, metrics, metadata.get("baseline")),
        _fairer(renamed["gaps"], keys, metrics),
    ]
    listed = [visible(note) for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        listed.append(f"{len(notes) - MAX_NOTES:,} more in its notes")
    return Digest(_title(renamed["differences"], metadata), tuple(tables), tuple(listed))


def _title(differences: pl.DataFrame, metadata: Mapping[str, Any]) -> str:
    models = [visible(model) for model in metadata["models"]]
    shown = ", ".join(models[:6]) + (f" and {len(models) - 6} more" if len(models) > 6 else "")
    sizes = differences.filter(pl.col("attribute").is_null())["n"].drop_nulls().unique().sort().to_list()
    samples = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}" if sizes else "hidden"
    against = "" if metadata.get("baseline") is None else f"; baseline {visible(metadata['baseline'])}"
    return f"fmfair comparison: {len(models)} models on the same {samples} samples: {shown}{against}"


def _main_metrics(differences: pl.DataFrame, headline: str) -> list[str]:
    """The headline metric, then up to two others to show."""
    named = [m for m in differences["metric"].unique(maintain_order=True) if _direction(m) != "none"]
    ranked = sorted(named, key=lambda m: (m != headline, HEADLINE.index(m) if m in HEADLINE else len(HEADLINE)))
    return ranked[:3] or [headline]


def _direction(metric: str) -> str:
    known = metric_of(metric)
    return "none" if known is None else known.direction


def _tradeoff(frame: pl.DataFrame, keys: Mapping[str, str], headline: str) -> Table:
    rows = frame.head(MAX_ROWS)
    columns = _keys(rows, keys, "attribute", "model")
    count = len(columns)
    columns += [
        *_threshold_column(rows),
        (headline, [number(v) for v in rows["utility"]]),
        ("gap", [number(v) for v in rows["gap"]]),
        ("beaten by", ["nobody" if kept else visible(by or UNDEFINED) for kept, by in _beaten(rows)]),
    ]
    remark = "beaten by: models that are at least as good on all rows and have no larger gap, one of them strictly"
    remarks = [*_more(frame, "tradeoff"), remark, *_best(frame, keys, headline)]
    header, cells = header_and_rows(columns)
    return Table(
        f"Utility and gap: {headline}", header, cells, count, frozenset({len(header) - 1}), remarks=tuple(remarks)
    )


def _beaten(rows: pl.DataFrame) -> list[tuple[bool | None, str | None]]:
    return list(zip(rows["not_beaten"], rows["beaten_by"], strict=True))


def _best(frame: pl.DataFrame, keys: Mapping[str, str], headline: str) -> list[str]:
    """Which model is best on all rows, where there is one comparison."""
    known = frame.drop_nulls("utility").unique(["model"], keep="first", maintain_order=True)
    if keys or known.is_empty():
        return []
    value = known["utility"].max() if _direction(headline) != "lower" else known["utility"].min()
    best = known.filter(pl.col("utility") == value)["model"].to_list()
    return [f"best {headline} on all rows: {', '.join(map(visible, best))}"]


def _better(frame: pl.DataFrame, keys: Mapping[str, str], metrics: Sequence[str]) -> Table:
    """The differences on all rows."""
    whole = frame.filter(pl.col("attribute").is_null() & pl.col("metric").is_in(metrics))
    rows = whole.head(MAX_ROWS)
    columns = _keys(rows, keys, "baseline", "model", "metric")
    count = len(columns)
    columns += [*_values(rows, "value"), ("p", [number(v, 3) for v in rows["p_value"]])]
    remarks = [
        *_more(whole, "differences"),
        "difference: model less baseline, with its interval",
        *_one_threshold(rows),
    ]
    return Table("All rows", *header_and_rows(columns), count, remarks=tuple(remarks))


def _worse(frame: pl.DataFrame, keys: Mapping[str, str], metrics: Sequence[str], baseline: str | None) -> Table:
    """The groups for which a model is shown to be worse than the baseline, or than any other model."""
    sure = frame.filter(
        pl.col("attribute").is_not_null() & pl.col("metric").is_in(metrics) & (pl.col("p_holm") < LEVEL)
    )
    lower = pl.col("metric").replace_strict({m: _direction(m) == "lower" for m in metrics}, return_dtype=pl.Boolean)
    worse = pl.when(lower).then(pl.col("difference") > 0).otherwise(pl.col("difference") < 0)
    sure = sure.with_columns(
        worse=pl.when(worse).then("model").otherwise("baseline"),
        than=pl.when(worse).then("baseline").otherwise("model"),
        turned=pl.when(worse).then(1.0).otherwise(-1.0),
        low=pl.when(worse).then("ci_low").otherwise(-pl.col("ci_high")),
        high=pl.when(worse).then("ci_high").otherwise(-pl.col("ci_low")),
    ).with_columns(difference=pl.col("difference") * pl.col("turned"), ci_low="low", ci_high="high")
    if baseline is not None:
        sure = sure.filter(pl.col("than") == pl.col("baseline"))
    sure = sure.sort("p_holm", maintain_order=True)
    title = "For whom a model is worse"
    if sure.is_empty():
        nobody = f"no group is shown to be served worse (p >= {LEVEL:g} in all, adjusted within an attribute by Holm)"
        return Table(title, remarks=(nobody,))
    rows = sure.head(MAX_ROWS)
    columns = _keys(rows, keys, "attribute", "group", "metric", "worse", "than")
    count = len(columns)
    columns += [
        ("difference", _intervals(rows)),
        ("p (Holm)", [number(v, 3) for v in rows["p_holm"]]),
        ("n", [number(v) for v in rows["n"]]),
    ]
    return Table(title, *header_and_rows(columns), count, remarks=tuple(_more(sure, "differences")))


def _fairer(frame: pl.DataFrame, keys: Mapping[str, str], metrics: Sequence[str]) -> Table:
    """The differences of gaps."""
    gaps = frame.filter(pl.col("metric").is_in(metrics) & pl.col("difference").is_not_null())
    title = "Gaps between groups"
    if gaps.is_empty():
        return Table(title, remarks=("no gap is defined in two models",))
    rows = gaps.head(MAX_ROWS)
    columns = _keys(rows, keys, "attribute", "baseline", "model", "metric")
    count = len(columns)
    columns += [*_values(rows, "gap"), ("p", [number(v, 3) for v in rows["p_value"]])]
    remarks = [*_more(gaps, "gaps"), "difference: below 0 where the model has the smaller gap", *_one_threshold(rows)]
    doubts = rows["note"].drop_nulls().unique(maintain_order=True).to_list()
    return Table(title, *header_and_rows(columns), count, remarks=(*remarks, *doubts[:2]))


def _keys(rows: pl.DataFrame, keys: Mapping[str, str], *others: str) -> Columns:
    return [*((shown, names(rows[name])) for name, shown in keys.items()), *((n, names(rows[n])) for n in others)]


def _values(rows: pl.DataFrame, of: str) -> Columns:
    both = [(side, [number(v) for v in rows[f"{of}_{side}"]]) for side in ("baseline", "model")]
    named = [(f"of {side}", cells) for side, cells in both]
    return [*_threshold_column(rows), *named, ("difference", _intervals(rows))]


def _threshold_column(rows: pl.DataFrame) -> Columns:
    """The thresholds, where there are several; else a remark says which."""
    several = rows.drop_nulls("threshold_rule").select("threshold", "threshold_rule").n_unique() > 1
    return [("threshold", _thresholds(rows))] if several else []


def _one_threshold(rows: pl.DataFrame) -> list[str]:
    """Which threshold it is, where there is one."""
    used = rows.drop_nulls("threshold_rule").select("threshold", "threshold_rule").unique()
    shown = [threshold_text(*row) for row in used.iter_rows()]
    return [f"rates at threshold {shown[0]}"] if len(shown) == 1 and shown != ["y_pred"] else []


def _thresholds(rows: pl.DataFrame) -> list[str]:
    return [threshold_text(*row) for row in rows.select("threshold", "threshold_rule").iter_rows()]


def _intervals(rows: pl.DataFrame) -> list[str]:
    shown = []
    for value, low, high in rows.select("difference", "ci_low", "ci_high").iter_rows():
        limits = "" if low is None else f" [{number(low, 3)}, {number(high, 3)}]"
        shown.append(f"{number(value)}{limits}")
    return shown


def _more(frame: pl.DataFrame, name: str) -> list[str]:
    hidden = frame.height - MAX_ROWS
    return [f"... {hidden:,} more rows in the frame {name}"] if hidden > 0 else []
