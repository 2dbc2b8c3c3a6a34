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

-- accuracy
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n > 0) IS NOT TRUE THEN 'no rows'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN (tp + tn) / (tp + fp + fn + tn)
    END AS value
FROM asked
WHERE metric = 'accuracy'
UNION ALL
-- balanced accuracy
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN (tp / (tp + fn) + tn / (tn + fp)) / 2
    END AS value
FROM asked
WHERE metric = 'balanced_accuracy'
UNION ALL
-- sensitivity (TPR, recall)
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tp / (tp + fn)
    END AS value
FROM asked
WHERE metric = 'tpr'
UNION ALL
-- specificity (TNR)
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tn / (tn + fp)
    END AS value
FROM asked
WHERE metric = 'tnr'
UNION ALL
-- false positive rate
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN fp / (tn + fp)
    END AS value
FROM asked
WHERE metric = 'fpr'
UNION ALL
-- false negative rate
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN fn / (tp + fn)
    END AS value
FROM asked
WHERE metric = 'fnr'
UNION ALL
-- positive predictive value (precision)
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pred_pos > 0) IS NOT TRUE THEN 'no sample is predicted positive'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tp / (tp + fp)
    END AS value
FROM asked
WHERE metric = 'ppv'
UNION ALL
-- negative predictive value
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pred_neg > 0) IS NOT TRUE THEN 'no sample is predicted negative'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tn / (tn + fn)
    END AS value
FROM asked
WHERE metric = 'npv'
UNION ALL
-- F1
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos + n_pred_pos > 0) IS NOT TRUE THEN 'no positives and none predicted'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN 2 * tp / (2 * tp + fp + fn)
    END AS value
FROM asked
WHERE metric = 'f1'
UNION ALL
-- Matthews correlation coefficient
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
        WHEN (n_pred_pos > 0) IS NOT TRUE THEN 'no sample is predicted positive'
        WHEN (n_pred_neg > 0) IS NOT TRUE THEN 'no sample is predicted negative'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN (tp * tn - fp * fn) / sqrt((tp + fp) * (tn + fn) * ((tp + fn) * (tn + fp)))
    END AS value
FROM asked
WHERE metric = 'mcc'
UNION ALL
-- selection rate
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n > 0) IS NOT TRUE THEN 'no rows'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN (tp + fp) / (tp + fp + fn + tn)
    END AS value
FROM asked
WHERE metric = 'selection_rate'
UNION ALL
-- positive likelihood ratio
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
        WHEN (fp > 0) IS NOT TRUE THEN 'no false positives, the ratio is unbounded'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tp / (tp + fn) / (fp / (tn + fp))
    END AS value
FROM asked
WHERE metric = 'lr_positive'
UNION ALL
-- negative likelihood ratio
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n_pos > 0) IS NOT TRUE THEN 'no positives'
        WHEN (n_neg > 0) IS NOT TRUE THEN 'no negatives'
        WHEN (tn > 0) IS NOT TRUE THEN 'no true negatives, the ratio is unbounded'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN fn / (tp + fn) / (tn / (tn + fp))
    END AS value
FROM asked
WHERE metric = 'lr_negative'
UNION ALL
-- net benefit
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
        WHEN (n > 0) IS NOT TRUE THEN 'no rows'
        WHEN (1 - threshold > 0) IS NOT TRUE THEN 'net benefit needs a threshold below 1'
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tp / (tp + fp + fn + tn) - fp / (tp + fp + fn + tn) * threshold / (1 - threshold)
    END AS value
FROM asked
WHERE metric = 'net_benefit'
UNION ALL
-- true positives
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tp
    END AS value
FROM asked
WHERE metric = 'tp'
UNION ALL
-- false positives
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN fp
    END AS value
FROM asked
WHERE metric = 'fp'
UNION ALL
-- false negatives
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN fn
    END AS value
FROM asked
WHERE metric = 'fn'
UNION ALL
-- true negatives
SELECT
    cell,
    position,
    t,
    CASE
        WHEN tp IS NULL THEN why
    END AS reason,
    CASE
        WHEN reason IS NULL
            THEN tn
    END AS value
FROM asked
WHERE metric = 'tn';
