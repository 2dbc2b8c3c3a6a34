"""The registry in SQL: what is data there is rendered to `sql/`, so that no formula, reason or range is said twice.

`python -m fmfair.metrics.to_sql` writes the rendered files anew; a test compares them byte for byte.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

import polars as pl

from fmfair.metrics.formula import to_sql
from fmfair.metrics.metric import Metric, Need
from fmfair.metrics.registry import CLASSIFICATION

WIDTH = 100
FOLDER = Path(__file__).resolve().parents[1] / "sql"

_PARAMETERS = {
    "kind": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "over": pl.String,
    "corrected": pl.Boolean,
    "bins": pl.Int32,
    "norm": pl.String,
    "strategy": pl.String,
}

_METRICS = """\
-- Rendered from the registry by `python -m fmfair.metrics.to_sql`; change it there.
--
-- Every metric as a row of the table `registry`: what a reader must know of it, and the parameters
-- that the table `requested` needs. The default metrics are asked for by
--     CREATE OR REPLACE TEMP TABLE requested AS
--     SELECT position, metric, kind, low, high, "over", corrected, bins, norm, strategy
--     FROM registry WHERE is_default;
--
-- kind         the metric with these parameters (low ... strategy): ece_rms is an ece
-- family       ranking, rate and count (one value per threshold), calibration, fitted
-- direction    whether higher or lower values are better, or neither (none)
-- denominator  the count of rows that carries the value
-- smallest, largest  the range of values, NULL where it has no end
-- signed       whether a value can be negative, so that ratios mean nothing
--
-- Trap: the range of a partial AUC depends on its parameters; that given here is for the row's own.
CREATE OR REPLACE TEMP TABLE registry AS
WITH facts (
    position, metric, family, direction, denominator,
    smallest, largest, needs_probability, is_default
) AS (
    VALUES
    {facts}
),

parameters (metric, kind, low, high, "over", corrected, bins, norm, strategy) AS (
    VALUES
    {parameters}
)

SELECT
    f.position,
    f.metric,
    coalesce(p.kind, f.metric) AS kind,
    f.family,
    f.direction,
    f.denominator,
    f.smallest::DOUBLE AS smallest,
    f.largest::DOUBLE AS largest,
    f.smallest IS NULL OR f.smallest < 0 AS signed,
    f.needs_probability,
    f.is_default,
    p.low::DOUBLE AS low,
    p.high::DOUBLE AS high,
    p."over",
    p.corrected,
    p.bins,
    p.norm,
    p.strategy
FROM facts AS f
LEFT JOIN parameters AS p ON f.metric = p.metric
ORDER BY f.position;
"""

_RATES = """\
-- Rendered from the registry by `python -m fmfair.metrics.to_sql`; change it there.
--
-- Rates and counts at thresholds: `rates(cell, position, t, reason, value)`, one row per cell,
-- threshold and requested metric, from the four counts of the confusion matrix (table `confusion`).
--
-- Traps: an undefined rate is NULL with the first reason, never 0 or 1. n, n_pos and their kind are
-- rows, the four counts are rows or their weights; weights near the ends of the range of numbers
-- can give a value that is not finite.
CREATE OR REPLACE TEMP TABLE rates AS
WITH counts AS MATERIALIZED (
    SELECT
        c.cell,
        c.t,
        c.threshold,
        c.why,
        c.tp::DOUBLE AS tp,
        c.fp::DOUBLE AS fp,
        c.fn::DOUBLE AS fn,
        c.tn::DOUBLE AS tn,
        n.n,
        n.n_pos,
        n.n - n.n_pos AS n_neg,
        c.n_pred_pos,
        n.n - c.n_pred_pos AS n_pred_neg
    FROM confusion AS c
    INNER JOIN tallies AS n ON c.cell = n.cell
),

asked AS NOT MATERIALIZED (
    SELECT
        c.*,
        r.position,
        r.metric
    FROM counts AS c
    CROSS JOIN requested AS r
)

{rates};
"""

_RATE = """\
-- {title}
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
{needs}\
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN {formula}
    END AS value
FROM asked
WHERE metric = {name}
"""

_REASONS = """\
-- Rendered from the registry by `python -m fmfair.metrics.to_sql`; change it there.
--
-- Why a metric without a threshold is undefined in a cell: `reasons(cell, position, reason)`, one
-- row per cell and requested metric; NULL where all that it needs is there.
CREATE OR REPLACE TEMP TABLE reasons AS
WITH asked AS NOT MATERIALIZED (
    SELECT
        n.cell,
        n.n,
        n.n_pos,
        n.n - n.n_pos AS n_neg,
        n.sum_p,
        r.position,
        r.kind
    FROM tallies AS n
    CROSS JOIN requested AS r
)

{reasons};
"""

_REASON = """\
SELECT
    cell,
    position,
    CASE
{needs}\
    END AS reason
FROM asked
WHERE kind IN ({kinds})
"""


def requested_table(metrics: Iterable[Metric]) -> pl.DataFrame:
    """The table `requested` that the SQL files read.

    Returns:
        One row per metric: `position`, `metric`, `kind`, and the parameters, NULL where a metric does not take them.

    Examples:
        >>> from fmfair.metrics.registry import requested
        >>> requested_table(requested(["auc", "tpr_at_fpr(0.2)"])).select("position", "metric", "kind", "high").rows()
        [(0, 'auc', 'auc', None), (1, 'tpr_at_fpr(0.2)', 'tpr_at_fpr', 0.2)]
    """
    rows = [{"position": i, "metric": m.name, **asdict(m.parameters)} for i, m in enumerate(metrics)]
    return pl.DataFrame(rows, {"position": pl.Int32, "metric": pl.String, **_PARAMETERS})


def metrics_sql() -> str:
    """The file `metrics.sql`: the registry as a table."""
    facts = [
        (i, m.name, m.family, m.direction, m.denominator, _short(m.low), _short(m.high), m.needs_probability, m.default)
        for i, m in enumerate(CLASSIFICATION)
    ]
    parameters = [(m.name, *asdict(m.given).values()) for m in CLASSIFICATION if m.given]
    return _METRICS.format(facts=_rows(facts), parameters=_rows(parameters))


def rates_sql() -> str:
    """The file `rates.sql`: every rate and count of the registry as a SELECT of its own."""
    rates = [
        _RATE.format(title=m.title, name=_literal(m.name), formula=to_sql(m.formula), needs=_unmet(m.needs))
        for m in CLASSIFICATION
        if m.formula
    ]
    return _RATES.format(rates=_union(rates))


def reasons_sql() -> str:
    """The file `reasons.sql`: what the metrics need that have one value per cell."""
    plain = {m.parameters.kind: m.needs for m in CLASSIFICATION if not m.at_threshold}
    alike = groupby(sorted(plain, key=lambda kind: plain[kind]), key=lambda kind: plain[kind])
    reasons = [_REASON.format(needs=_unmet(needs), kinds=_wrapped(kinds)) for needs, kinds in alike]
    return _REASONS.format(reasons=_union(reasons))


RENDERED: Mapping[str, Callable[[], str]] = MappingProxyType(
    {"metrics.sql": metrics_sql, "rates.sql": rates_sql, "reasons.sql": reasons_sql}
)


def _unmet(needs: Iterable[Need]) -> str:
    """One branch of a CASE per need, in order."""
    return "".join(f"        WHEN ({to_sql(need)} > 0) IS NOT TRUE THEN {_literal(why)}\n" for need, why in needs)


def _union(selects: Iterable[str]) -> str:
    return "UNION ALL\n".join(selects).rstrip("\n")


def _wrapped(names: Iterable[str]) -> str:
    """Literals in a list that may need several lines."""
    lines = textwrap.wrap(", ".join(map(_literal, names)), WIDTH - 4, break_long_words=False)
    return lines[0] if len(lines) == 1 else "".join(f"\n    {line}" for line in lines) + "\n"


def _rows(rows: Iterable[tuple[object, ...]]) -> str:
    return ",\n    ".join(f"({', '.join(map(_literal, row))})" for row in rows)


def _literal(value: object) -> str:
    """A value as SQL; text is quoted."""
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _short(value: float | None) -> float | None:
    """A number to read, not to compute with."""
    return None if value is None else round(value, 4)


if __name__ == "__main__":
    for name, text in RENDERED.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
