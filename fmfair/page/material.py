"""What the document is made of: the frames of a report, seen per by-key, and the user's plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.export import Frames, by_keys, plain, strict_json, texts
from fmfair.page.judged import judged, too_small
from fmfair.shown import THRESHOLD, metric_of

if TYPE_CHECKING:
    from fmfair.page.plan import Plan

# The metric that the first page speaks of is the first of these that is defined somewhere; then any other.
HEADLINES: Mapping[str, tuple[str, ...]] = {
    "classification": ("auc", "tpr", "accuracy", "balanced_accuracy", "brier"),
    "segmentation": ("dice", "iou"),
}
# What is shown of every group, where it was asked for: never one side of an error alone.
MAIN: Mapping[str, tuple[str, ...]] = {
    "classification": ("auc", "tpr", "tnr", "ppv", "npv", "brier"),
    "segmentation": ("dice", "iou"),
}


@dataclass(frozen=True)
class View:
    """The results of one by-key, such as one model on one label; the frames have no by-keys.

    Attributes:
        key: The value of each by-key, as text.
        values: The value of each by-key as it is in the frames.
        frames: The frames, at all thresholds: `summary`, `groups`, `gaps`, `overall` and, where there are any, `pairs`
            and `curves`.
        alone: Whether there is no other by-key.
    """

    key: Mapping[str, str]
    values: Mapping[str, Any]
    frames: Frames
    alone: bool = False

    @property
    def title(self) -> str:
        """Which by-key this is; empty where there is no other."""
        return "" if self.alone else ", ".join(f"{name} {value}" for name, value in self.key.items())

    def difference(self, attribute: str, metric: str) -> Mapping[str, Any] | None:
        """The largest difference between groups of an attribute that can be judged, at the threshold of the summary."""
        if metric not in self._differences:
            gaps = self.main["gaps"].filter(pl.col("metric") == metric, pl.col("statistic") == "difference")
            first = gaps.unique("attribute", keep="first", maintain_order=True)
            small = too_small(self.main["groups"], metric)
            self._differences[metric] = {
                row["attribute"]: judged(row, small.get(row["attribute"], ()), self.main)
                for row in first.iter_rows(named=True)
            }
        return self._differences[metric].get(attribute)

    def judged(self, metric: str) -> Frames:
        """The frames at the threshold of the summary, with the differences of a metric as `difference` tells them."""
        self.difference("", metric)
        gaps, told = self.main["gaps"], list(self._differences[metric].values())
        others = gaps.filter((pl.col("metric") != metric) | (pl.col("statistic") != "difference"))
        return {**self.main, "gaps": pl.concat([pl.DataFrame(told, schema=gaps.schema), others])}

    @cached_property
    def _differences(self) -> dict[str, dict[str, Mapping[str, Any]]]:
        """By metric and attribute: pages of many by-keys ask for them often, and frames are slow to ask."""
        return {}

    @cached_property
    def main(self) -> Frames:
        """The frames without the rows at other thresholds than that of the summary."""
        return {name: self._at_summary(frame) for name, frame in self.frames.items()}

    def _at_summary(self, frame: pl.DataFrame) -> pl.DataFrame:
        summary = self.frames["summary"]
        if "threshold_rule" not in summary.columns or "threshold_rule" not in frame.columns:
            return frame
        at = [name for name in ("attribute", *THRESHOLD) if name in frame.columns]
        everywhere = pl.col("threshold_rule").is_null()
        if "attribute" not in frame.columns:
            summary = summary.head(1)
        rows = frame.with_row_index("\0row")
        there = rows.join(summary.select(at), on=at, how="semi", nulls_equal=True)["\0row"]
        return rows.filter(everywhere | pl.col("\0row").is_in(there.implode())).drop("\0row")


@dataclass(frozen=True)
class Material:
    """All that the document is made of.

    Attributes:
        frames: The frames of the report, as they are stored.
        notes: Its notes.
        metadata: Its metadata, as JSON holds them.
        plan: What the user said of the evaluation.
        task: `classification` or `segmentation`.
        keys: The names of the by-keys.
        views: The results of every by-key; one view where there are none.
        headline: The metric that the first page speaks of.
        metrics: The metrics that are shown of every group, the headline first.
        attributes: The attributes, without intersections.
        intersections: The intersections, each named as in the frames.
        level: Of the intervals; None where there are none.
    """

    frames: Frames
    notes: Sequence[str]
    metadata: Mapping[str, Any]
    plan: Plan
    task: str
    keys: Sequence[str]
    views: Sequence[View]
    headline: str
    metrics: Sequence[str]
    attributes: Sequence[str]
    intersections: Sequence[str]
    level: float | None


def material_of(frames: Frames, notes: Sequence[str], metadata: Mapping[str, Any], plan: Plan) -> Material:
    """The material of a report; the same of one that was stored and read again."""
    facts: dict[str, Any] = json.loads(strict_json(plain(metadata)))
    task = str(facts.get("task", "classification"))
    metrics = _metrics(frames, task)
    single = _attributes(frames, 1)
    return Material(
        frames=frames,
        notes=tuple(notes),
        metadata=facts,
        plan=plan,
        task=task,
        keys=tuple(by_keys(frames)),
        views=_views(frames),
        headline=metrics[0],
        metrics=metrics,
        attributes=single,
        intersections=[name for name in _attributes(frames, None) if name not in single],
        level=facts.get("ci"),
    )


def _metrics(frames: Frames, task: str) -> list[str]:
    """The metrics that are shown, the headline first; those that are defined nowhere only where none is."""
    there = [frames[name] for name in ("overall", "groups")]
    asked = list(dict.fromkeys(name for frame in there for name in frame["metric"]))
    rates = [name for name in asked if (known := metric_of(name)) is None or known.family != "count"] or asked
    defined = {name for frame in there for name in frame.filter(pl.col("value").is_not_null())["metric"]}
    usable = [name for name in rates if name in defined] or rates
    headline = next((name for name in HEADLINES.get(task, ()) if name in usable), usable[0] if usable else "")
    others = [name for name in MAIN.get(task, ()) if name in usable and name != headline]
    return [headline, *others]


def _attributes(frames: Frames, parts: int | None) -> list[str]:
    groups = frames["groups"]
    if parts is not None:
        groups = groups.filter(pl.col("attribute_parts").list.len() == parts)
    return groups["attribute"].unique(maintain_order=True).to_list()


def _views(frames: Frames) -> list[View]:
    """Every by-key in the order of the report; Polars reads names such as `*` as patterns, so they get others."""
    names = by_keys(frames)
    own = {name: f"\0{i}" for i, name in enumerate(names)}
    if not names:
        return [View({}, {}, frames, alone=True)]
    columns = list(own.values())
    parts: dict[str, dict[tuple[Any, ...], pl.DataFrame]] = {
        name: frame.rename(own).partition_by(columns, as_dict=True, include_key=False, maintain_order=True)
        for name, frame in frames.items()
    }
    keys = frames["overall"].rename(own).select(columns).unique(maintain_order=True)
    shown = [[text if text is not None else "(missing)" for text in texts(keys[c])] for c in columns]
    return [
        View(
            dict(zip(names, (values[row] for values in shown), strict=True)),
            dict(zip(names, key, strict=True)),
            {name: part.get(key, _emptied(frames[name], names)) for name, part in parts.items()},
            alone=keys.height == 1,
        )
        for row, key in enumerate(keys.iter_rows())
    ]


def _emptied(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(schema={name: dtype for name, dtype in frame.schema.items() if name not in names})
