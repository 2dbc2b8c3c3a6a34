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
    (0, 'auc', 'ranking', 'higher', 'n_pos', 0.0, 1.0, FALSE, TRUE),
    (1, 'average_precision', 'ranking', 'higher', 'n_pos', 0.0, 1.0, FALSE, TRUE),
    (2, 'adjusted_auprc', 'ranking', 'higher', 'n_pos', NULL, 1.0, FALSE, FALSE),
    (3, 'partial_auc', 'ranking', 'higher', 'n_pos', 0.4737, 1.0, FALSE, FALSE),
    (4, 'tpr_at_fpr', 'ranking', 'higher', 'n_pos', 0.0, 1.0, FALSE, FALSE),
    (5, 'accuracy', 'rate', 'higher', 'n', 0.0, 1.0, FALSE, TRUE),
    (6, 'balanced_accuracy', 'rate', 'higher', 'n_pos', 0.0, 1.0, FALSE, TRUE),
    (7, 'tpr', 'rate', 'higher', 'n_pos', 0.0, 1.0, FALSE, TRUE),
    (8, 'tnr', 'rate', 'higher', 'n_neg', 0.0, 1.0, FALSE, TRUE),
    (9, 'fpr', 'rate', 'lower', 'n_neg', 0.0, 1.0, FALSE, TRUE),
    (10, 'fnr', 'rate', 'lower', 'n_pos', 0.0, 1.0, FALSE, TRUE),
    (11, 'ppv', 'rate', 'higher', 'n_pred_pos', 0.0, 1.0, FALSE, TRUE),
    (12, 'npv', 'rate', 'higher', 'n_pred_neg', 0.0, 1.0, FALSE, TRUE),
    (13, 'f1', 'rate', 'higher', 'n_pos', 0.0, 1.0, FALSE, TRUE),
    (14, 'mcc', 'rate', 'higher', 'n_pos', -1.0, 1.0, FALSE, TRUE),
    (15, 'selection_rate', 'rate', 'none', 'n', 0.0, 1.0, FALSE, TRUE),
    (16, 'lr_positive', 'rate', 'higher', 'n_pos', 0.0, NULL, FALSE, FALSE),
    (17, 'lr_negative', 'rate', 'lower', 'n_pos', 0.0, NULL, FALSE, FALSE),
    (18, 'net_benefit', 'rate', 'higher', 'n', NULL, 1.0, TRUE, FALSE),
    (19, 'tp', 'count', 'none', 'n', 0.0, NULL, FALSE, TRUE),
    (20, 'fp', 'count', 'none', 'n', 0.0, NULL, FALSE, TRUE),
    (21, 'fn', 'count', 'none', 'n', 0.0, NULL, FALSE, TRUE),
    (22, 'tn', 'count', 'none', 'n', 0.0, NULL, FALSE, TRUE),
    (23, 'bce', 'calibration', 'lower', 'n', 0.0, NULL, TRUE, TRUE),
    (24, 'brier', 'calibration', 'lower', 'n', 0.0, 1.0, TRUE, TRUE),
    (25, 'ece', 'calibration', 'lower', 'n', 0.0, 1.0, TRUE, TRUE),
    (26, 'ece_squared', 'calibration', 'lower', 'n', 0.0, 1.0, TRUE, FALSE),
    (27, 'ece_rms', 'calibration', 'lower', 'n', 0.0, 1.0, TRUE, FALSE),
    (28, 'ece_quantile', 'calibration', 'lower', 'n', 0.0, 1.0, TRUE, FALSE),
    (29, 'observed_expected', 'calibration', 'none', 'n', 0.0, NULL, TRUE, FALSE),
    (30, 'calibration_intercept', 'fitted', 'none', 'n', NULL, NULL, TRUE, FALSE),
    (31, 'calibration_slope', 'fitted', 'none', 'n', NULL, NULL, TRUE, FALSE)
),

parameters (metric, kind, low, high, "over", corrected, bins, norm, strategy) AS (
    VALUES
    ('partial_auc', 'partial_auc', 0.0, 0.1, 'fpr', TRUE, NULL, NULL, NULL),
    ('tpr_at_fpr', 'tpr_at_fpr', NULL, 0.1, NULL, NULL, NULL, NULL, NULL),
    ('ece', 'ece', NULL, NULL, NULL, NULL, 10, 'absolute', 'uniform'),
    ('ece_squared', 'ece', NULL, NULL, NULL, NULL, 10, 'squared', 'uniform'),
    ('ece_rms', 'ece', NULL, NULL, NULL, NULL, 10, 'rms', 'uniform'),
    ('ece_quantile', 'ece', NULL, NULL, NULL, NULL, 10, 'absolute', 'quantile')
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
