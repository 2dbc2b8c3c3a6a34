-- Every value with what it rests on: one row per cell, requested metric and threshold.
-- Twin: fmfair/measures.py.
--
-- Makes `measured(cell, position, metric, t, threshold, threshold_rule, value, n, n_pos, weight,
-- denominator, note)`. t and its kind are NULL for a metric without a threshold; denominator is the
-- count of rows that carries the metric. An undefined value is NULL, never NaN, and note says why:
-- decisions without scores, scores that are not probabilities, the first unmet need (rates.sql and
-- reasons.sql), a fit that failed, or a number that no double can hold.
--
-- Traps: the values of the files before this one are raw, and 0/0 is NaN there. In DuckDB NaN is
-- the largest number and equal to itself; only isfinite tells it from the others.

CREATE OR REPLACE TEMP TABLE measured AS
WITH facts AS (
    SELECT
        r.position,
        r.metric,
        g.denominator,
        CASE
            WHEN g.family NOT IN ('rate', 'count') AND NOT getvariable('scored')
                THEN 'there are decisions but no scores'
            WHEN g.needs_probability AND getvariable('scored') AND NOT getvariable('probability')
                THEN 'the score is not a probability'
        END AS unfit
    FROM requested AS r
    INNER JOIN registry AS g ON r.kind = g.metric
),

plain AS (
    SELECT
        cell,
        position,
        value,
        NULL AS failure
    FROM ranked
    UNION ALL
    SELECT
        cell,
        position,
        value,
        NULL AS failure
    FROM calibrated
    UNION ALL
    SELECT
        f.cell,
        r.position,
        if(r.kind = 'calibration_slope', f.calibration_slope, f.calibration_intercept) AS value,
        CASE WHEN value IS NULL THEN coalesce(f.fit_note, 'the fit did not settle') END AS failure
    FROM fitted AS f
    INNER JOIN requested AS r ON r.kind IN ('calibration_intercept', 'calibration_slope')
),

found AS (
    SELECT
        r.cell,
        r.position,
        c.t,
        c.threshold,
        c.threshold_rule,
        c.n_pred_pos,
        r.value,
        r.reason
    FROM rates AS r
    INNER JOIN confusion AS c ON r.cell = c.cell AND r.t = c.t
    UNION ALL
    SELECT
        r.cell,
        r.position,
        NULL AS t,
        NULL AS threshold,
        NULL AS threshold_rule,
        NULL AS n_pred_pos,
        p.value,
        coalesce(r.reason, p.failure) AS reason
    FROM reasons AS r
    LEFT JOIN plain AS p ON r.cell = p.cell AND r.position = p.position
)

SELECT
    f.cell,
    f.position,
    a.metric,
    f.t,
    f.threshold,
    f.threshold_rule,
    CASE
        WHEN a.unfit IS NULL AND f.reason IS NULL AND isfinite(f.value) THEN f.value
    END AS value,
    n.n,
    n.n_pos,
    n.weight,
    CASE a.denominator
        WHEN 'n' THEN n.n
        WHEN 'n_pos' THEN n.n_pos
        WHEN 'n_neg' THEN n.n - n.n_pos
        WHEN 'n_pred_pos' THEN f.n_pred_pos
        WHEN 'n_pred_neg' THEN n.n - f.n_pred_pos
    END AS denominator,
    CASE
        WHEN a.unfit IS NOT NULL THEN a.unfit
        WHEN f.reason IS NOT NULL THEN f.reason
        WHEN f.value IS NULL OR NOT isfinite(f.value) THEN 'beyond the range of numbers'
    END AS note
FROM found AS f
INNER JOIN facts AS a ON f.position = a.position
INNER JOIN tallies AS n ON f.cell = n.cell;
