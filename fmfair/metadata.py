"""What a report says about itself: which columns, options and conventions its numbers come from."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from typing import Any

import polars as pl

from fmfair.options import Options
from fmfair.roles import Columns
from fmfair.samples import Cohort
from fmfair.version import installed_version


def describe(task: str, samples: Cohort, columns: Columns, options: Options, engine: str) -> dict[str, Any]:
    """The report's metadata, of plain values only."""
    intersections, drawn = options.intersections, options.bootstrap
    facts: dict[str, Any] = {
        "task": task,
        "evaluated": evaluated_at(),
        "versions": versions(engine),
        "engine": engine,
        "conventions": options.conventions.name,
        "n_samples": samples.n,
        "attributes": [a.name for a in samples.attributes],
        "by": samples.by.columns,
        "bins": {str(k): v if isinstance(v, int) else [float(e) for e in v] for k, v in options.bins.items()},
        "groups": {a.name: list(a.labels) for a in samples.attributes if a.declared},
        "intersections": intersections if isinstance(intersections, int | str) else [list(i) for i in intersections],
        "min_group_size": options.min_group_size,
        "missing_groups": options.missing_groups,
        "metrics": [m.name for m in options.metrics],
        "ci": options.ci,
        "bootstrap": None if drawn is None else {"replicates": drawn.count, "method": drawn.method, "seed": drawn.seed},
        "reference": dict(options.reference),
        "margins": dict(options.margins),
        "columns": {
            "y_true": list(columns.y_true),
            "y_score": list(columns.y_score),
            "y_pred": columns.y_pred,
            "y_logit": columns.y_logit,
            "pairs": {k: list(v) for k, v in columns.pairs.items()},
            "values": dict(columns.values),
            "weight": columns.weight,
            "cluster": columns.cluster,
            "sample_id": columns.sample_id,
        },
    }
    if task == "classification":
        scale = samples.scale
        several = len(columns.y_score) > 1
        compared = (
            ("softmax(y_score)" if several else "sigmoid(y_score)") if scale and scale.kind == "logit" else "y_score"
        )
        facts["decision"] = options.conventions.decision_on(compared)
        facts["score_type"] = scale.kind if scale else None
        facts["thresholds"] = [t if isinstance(t, int | float | str) else "by by-key" for t in options.thresholds]
        facts["auc_interval"] = options.auc_interval
        facts["missing_scores"] = options.missing_scores
        facts["missing_labels"] = options.missing_labels
        facts["ignore"] = [str(i) for i in options.ignore]
        facts["positive"] = None if options.positive is None else str(options.positive)
    return facts


def rows_read(columns: Columns, options: Options, rows: int) -> dict[str, Any]:
    """How many rows the table had, with its metadata; not told where that could tell a small number of others.

    Args:
        columns: Of a long table, a sample has several rows, which are not told.
        options: What the user asked for.
        rows: The rows of the table.
    """
    return {} if columns.long or options.suppress_below is not None else {"n_rows": rows}


def evaluated_at() -> str:
    """The time in the zone of this machine, or that of the variable SOURCE_DATE_EPOCH, so that runs can be the same."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    if fixed.isdigit():
        return datetime.fromtimestamp(int(fixed), timezone.utc).isoformat()
    return datetime.now().astimezone().isoformat(timespec="seconds")


def versions(engine: str) -> dict[str, str]:
    """Of what the numbers are made with."""
    names = ["polars", "numpy", *(["duckdb"] if engine == "duckdb" else [])]
    own = {"fmfair": installed_version(), "python": platform.python_version()}
    return own | {name: _version(name) for name in names}


_version = cache(version)


def disclosed(options: Options, overall: pl.DataFrame) -> dict[str, Any]:
    """What the metadata say where small numbers are suppressed: as many samples as the frames, or none.

    Args:
        options: What the user asked for.
        overall: The values on all rows; the number of rows is NULL where it is hidden.
    """
    if options.suppress_below is None:
        return {}
    keys = overall.columns[: overall.columns.index("metric")]
    rows = overall.unique([pl.nth(i) for i in range(len(keys))], keep="first") if keys else overall.head(1)
    total = None if rows["n"].null_count() else int(rows["n"].sum())
    return {"suppress_below": options.suppress_below, "n_samples": total}


def tested(options: Options, frames: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """How many gaps and pairs of groups have a p value: the more there are, the more are small by chance.

    Args:
        options: What the user asked for.
        frames: The result frames; gaps that are those of a metric under another name are not counted again.
    """
    if options.ci is None:
        return {"tested": None}
    of_metrics = pl.col("metric").is_in([m.name for m in options.metrics])
    return {"tested": {name: frames[name].filter(of_metrics)["p_value"].count() for name in ("gaps", "pairs")}}
