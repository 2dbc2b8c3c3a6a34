-- Ranking metrics, and the ECE over bins of equal mass: all that needs the scores in order.
--
-- Makes `ranked(cell, position, value)`: a row for every cell with rows and every requested metric
-- of this file. Values are raw: NaN where a class is missing; what is defined is decided later.
-- The table holds the cells of the variable groupings, a list, or of all where that is NULL.
--
-- Definitions, over the blocks of a cell with m positives and n negatives (weights)
--   auc                P(a positive scores above a negative) + 1/2 P(tie)
--   average_precision  sum over blocks of pos / m times the precision at the block, a step sum
--   adjusted_auprc     1 - ln(average precision) / ln(prevalence)
--   partial_auc        area under the ROC curve between two FPRs or two sensitivities
--   tpr_at_fpr         largest TPR of the thresholds with FPR <= the limit
--   ece (quantile)     a block with a share q of the mass below it is in bin floor(bins * q)
-- References: Mann & Whitney 1947; Hanley & McNeil 1982; McClish 1989; scikit-learn's
--   average_precision_score.
--
-- Traps
-- - Ties count one half: rows of equal score are one block and one sloped step of the curve.
-- - The rows are sorted once for the first three metrics together, and once for each other kind,
--   when one of the kind is requested. Any number of parameters share that one sort.
-- - Shares within 1e-12 of a limit count as on it: weights add up differently in another order.

CREATE OR REPLACE TEMP TABLE ranked AS
WITH whole AS (
    SELECT
        cell,
        fsum(neg * (2 * tp - pos)) AS pairs_won_twice,
        fsum(pos * (tp / (tp + fp))) AS precisions,
        max(tp) AS m,
        max(fp) AS n
    FROM
        blocks_of(
            by_prob := FALSE,
            tuning := FALSE,
            needed := EXISTS (
                FROM requested
                WHERE kind IN ('auc', 'average_precision', 'adjusted_auprc')
            )
        )
    GROUP BY cell
),

whole_values AS (
    SELECT
        w.cell,
        r.position,
        CASE r.kind
            -- Sums of weights may overshoot in the last digit.
            WHEN 'auc' THEN least(greatest(w.pairs_won_twice / (2 * w.m * w.n), 0.0), 1.0)
            WHEN 'average_precision' THEN w.precisions / w.m
            ELSE 1.0 - ln(w.precisions / w.m) / ln(w.m / (w.m + w.n))
        END AS value
    FROM whole AS w
    INNER JOIN requested AS r ON r.kind IN ('auc', 'average_precision', 'adjusted_auprc')
),

partial_ranges AS (
    SELECT
        position,
        corrected,
        "over",
        CASE WHEN "over" = 'fpr' THEN low ELSE 1.0 - high END AS low,
        CASE WHEN "over" = 'fpr' THEN high ELSE 1.0 - low END AS high
    FROM requested
    WHERE kind = 'partial_auc'
),

-- One step of the curve from left and bottom. Over a range of sensitivity the area is that of the
-- specificity: the same integral with classes and direction exchanged, x = 1 - TPR, y = 1 - FPR.
curve_steps AS (
    SELECT
        b.cell,
        r.position,
        r.low,
        r.high,
        CASE WHEN r."over" = 'fpr' THEN b.neg / t.neg ELSE b.pos / t.pos END AS width,
        CASE WHEN r."over" = 'fpr' THEN b.pos / t.pos ELSE b.neg / t.neg END AS height,
        CASE WHEN r."over" = 'fpr' THEN (b.fp - b.neg) / t.neg ELSE (t.pos - b.tp) / t.pos END
            AS lft,
        CASE WHEN r."over" = 'fpr' THEN (b.tp - b.pos) / t.pos ELSE (t.neg - b.fp) / t.neg END
            AS bottom
    FROM
        blocks_of(
            by_prob := FALSE, tuning := FALSE, needed := EXISTS (FROM partial_ranges)
        ) AS b
    INNER JOIN totals AS t ON b.cell = t.cell
    CROSS JOIN partial_ranges AS r
),

cut_steps AS (
    SELECT
        *,
        least(greatest(lft, low), high) AS start_at,
        least(greatest(lft + width, low), high) AS end_at
    FROM curve_steps
),

partial_areas AS (
    SELECT
        cell,
        position,
        fsum(
            (end_at - start_at)
            * (
                bottom
                + CASE WHEN width > 0 THEN height / width ELSE 0.0 END
                * ((start_at + end_at) / 2 - lft)
            )
        ) AS area
    FROM cut_steps
    GROUP BY cell, position
),

partial_values AS (
    SELECT
        a.cell,
        r.position,
        CASE
            WHEN r.corrected
                THEN
                    0.5 * (
                        1.0
                        + (a.area - (r.high * r.high - r.low * r.low) / 2)
                        / (r.high - r.low - (r.high * r.high - r.low * r.low) / 2)
                    )
            ELSE a.area
        END AS value
    FROM partial_areas AS a
    INNER JOIN partial_ranges AS r ON a.position = r.position
),

limit_values AS (
    SELECT
        b.cell,
        r.position,
        coalesce(max(b.tp / t.pos) FILTER (WHERE b.fp / t.neg <= r.high + 1e-12), 0.0) AS value
    FROM
        blocks_of(
            by_prob := FALSE,
            tuning := FALSE,
            needed := EXISTS (
                FROM requested
                WHERE kind = 'tpr_at_fpr'
            )
        ) AS b
    INNER JOIN totals AS t ON b.cell = t.cell
    INNER JOIN requested AS r ON r.kind = 'tpr_at_fpr'
    GROUP BY b.cell, r.position
),

equal_masses AS (
    SELECT
        position,
        bins,
        norm
    FROM requested
    WHERE kind = 'ece' AND strategy = 'quantile' AND getvariable('probability')
),

mass_bins AS (
    SELECT
        b.cell,
        n.bins,
        floor(((t.pos + t.neg) - (b.tp + b.fp)) * n.bins / (t.pos + t.neg) + n.bins * 1e-12) AS bin,
        fsum(b.pos - (b.pos + b.neg) * b.score) AS excess,
        fsum(b.pos + b.neg) AS mass
    FROM blocks_of(by_prob := TRUE, tuning := FALSE, needed := EXISTS (FROM equal_masses)) AS b
    INNER JOIN totals AS t ON b.cell = t.cell
    CROSS JOIN (SELECT DISTINCT bins FROM equal_masses) AS n
    GROUP BY ALL
),

mass_norms AS (
    SELECT
        cell,
        bins,
        fsum(abs(excess)) / fsum(mass) AS absolute,
        fsum(excess ** 2 / mass) / fsum(mass) AS squared
    FROM mass_bins
    GROUP BY cell, bins
),

mass_values AS (
    SELECT
        n.cell,
        r.position,
        CASE r.norm
            WHEN 'absolute' THEN n.absolute
            WHEN 'squared' THEN n.squared
            ELSE sqrt(n.squared)
        END AS value
    FROM mass_norms AS n
    INNER JOIN equal_masses AS r ON n.bins = r.bins
)

FROM whole_values
UNION ALL
FROM partial_values
UNION ALL
FROM limit_values
UNION ALL
FROM mass_values;
