-- Calibration metrics from sums per cell and score bin: `calibrated(cell, position, value)`, a row
-- per requested metric and cell with rows.
--
-- Definition
-- - bce: mean of -[y ln p + (1 - y) ln(1 - p)], each log clamped at -100, the loss in samples.
-- - brier: mean of (p - y)^2.
-- - observed_expected: positives over the sum of the probabilities; 1 is calibrated in the large.
-- - ece: mean over bins, weighted by their size, of |d|, of d^2 (squared) or the root of that
--   (rms), d = mean probability - share of positives. Bins of equal mass are in ranking.sql.
-- References: Good 1952; Brier 1950; Riley et al. 2019; Naeini, Cooper & Hauskrecht 2015.
--
-- Traps: all move with prevalence, and the ECE of a small cell is larger by chance alone. The ratio
-- of a cell whose probabilities are all 0 is not a number here, and NULL in measured.sql.

CREATE OR REPLACE TEMP TABLE calibrated AS
WITH errors AS (
    SELECT
        bins,
        cell,
        fsum(abs(sum_y - sum_p)) AS absolute,
        fsum(CASE WHEN weight > 0 THEN (sum_y - sum_p) ** 2 / weight END) AS squared
    FROM bins
    GROUP BY ALL
)

SELECT
    t.cell,
    r.position,
    CASE r.kind
        WHEN 'bce' THEN t.sum_loss
        WHEN 'brier' THEN t.sum_brier
        ELSE t.sum_y
    END
    / CASE WHEN r.kind = 'observed_expected' THEN t.sum_p ELSE t.weight END AS value
FROM tallies AS t
CROSS JOIN requested AS r
WHERE r.kind IN ('bce', 'brier', 'observed_expected') AND t.n > 0 AND getvariable('probability')
UNION ALL
SELECT
    e.cell,
    r.position,
    CASE r.norm
        WHEN 'absolute' THEN e.absolute / t.weight
        WHEN 'squared' THEN e.squared / t.weight
        WHEN 'rms' THEN sqrt(e.squared / t.weight)
    END AS value
FROM errors AS e
INNER JOIN tallies AS t ON e.cell = t.cell
INNER JOIN requested AS r ON e.bins = r.bins
WHERE r.kind = 'ece' AND r.strategy = 'uniform';
