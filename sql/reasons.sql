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

SELECT
    cell,
    position,
    CASE
        WHEN (n > 0) IS NOT TRUE THEN 'no rows'
    END AS reason
FROM asked
WHERE kind IN ('bce', 'brier', 'ece')
UNION ALL
SELECT
    cell,
    position,
    CASE
        WHEN (n > 0) IS NOT TRUE THEN 'no rows'
        WHEN (sum_p - 1e-100 > 0) IS NOT TRUE THEN 'all scores are 0'
    END AS reason
FROM asked
WHERE kind IN ('observed_expected')
UNION ALL
SELECT
    cell,
    position,
    CASE
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
    END AS reason
FROM asked
WHERE kind IN (
    'auc', 'average_precision', 'adjusted_auprc', 'partial_auc', 'tpr_at_fpr',
    'calibration_intercept', 'calibration_slope'
);
