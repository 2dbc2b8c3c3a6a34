-- Spread: how much a value varies from sample to sample, for the metrics without a threshold.
-- Twin: fmfair/spread.py.
--
-- Reads the values that ranking.sql has put in `ranked`. Makes `varied(cell, position, variance,
-- units, pos_variance, neg_variance, pos_units, neg_units)`, a row for cells with rows and the
-- requested metrics of this file, for the cells of the variable groupings, a list, or of all where
-- that is NULL. NULL where there is no variance, as of a single unit. pos_units and neg_units are
-- the positives and negatives, or the patients that have any; with weights as many of equal weight
-- as count the same, (sum of w)^2 / sum of w^2.
--
-- Definitions. The influence u of a row is the derivative of the value by the row's weight w. Those
-- of a unit (units.sql) add up, and the variance is C / (C - 1) times the sum of the squares of C
-- units. With m and n the weights of positives and negatives, and tp, fp those called at a score
--   auc                u = w / m (of_pos - auc) of a positive, w / n (of_neg - auc) of a negative;
--                      of_pos is the share of the negatives below it, ties half, of_neg that of
--                      the positives above. Each class has its own C / (C - 1).
--   average_precision  u = w / m (tp / (tp + fp) + sum of pos fp / (tp + fp)^2 - value) of a
--                      positive, minus w / m times the sum of pos tp / (tp + fp)^2 of a negative,
--                      both over the scores up to its own.
--   bce, brier         u = w (v - mean) / sum of w, of the mean of a value per row.
-- References: DeLong, DeLong & Clarke-Pearson 1988; Obuchowski 1997 (several rows of a patient).
--
-- Traps
-- - Rows that count alike need no row of theirs: their blocks say it all. Rows with weights or
--   patients are joined to their block.
-- - Squares are taken around the value, known from before: a mean of squares less the square of a
--   mean would leave noise where all shares are alike. What rounding leaves there is 0.
-- - The sums of average precision run on from cell to cell, as in blocks.sql: a window with
--   PARTITION BY takes twice the time. Whole steps add up exactly, and the rests are too small to
--   lose digits that count, so that the cells before cost a cell nothing. 0 stays 0.
-- - The estimate for several rows of a patient is never less than that of one C / (C - 1), which
--   stands for it where rounding makes it negative.

-- Patients, or as many rows of equal weight as count the same.
CREATE OR REPLACE TEMP MACRO effective_units(patients, weight, squares) AS CASE
    WHEN getvariable('clustered') THEN patients
    WHEN squares > 0 THEN weight ** 2 / squares
    ELSE 0
END;

CREATE OR REPLACE TEMP TABLE varied AS
WITH asked AS (
    SELECT
        position,
        kind
    FROM requested
    WHERE
        getvariable('scored')
        AND (
            kind IN ('auc', 'average_precision')
            OR (kind IN ('bce', 'brier') AND getvariable('probability'))
        )
),

centres AS (
    SELECT
        t.cell,
        t.pos AS m,
        t.neg AS n,
        max(r.value) FILTER (WHERE a.kind = 'auc') AS auc,
        max(r.value) FILTER (WHERE a.kind = 'average_precision') AS average
    FROM totals AS t
    LEFT JOIN ranked AS r ON t.cell = r.cell
    LEFT JOIN asked AS a ON r.position = a.position
    WHERE coalesce(list_contains(getvariable('groupings'), t.grouping), TRUE)
    GROUP BY ALL
),

rising AS (
    SELECT *
    FROM
        blocks_of(
            by_prob := FALSE,
            tuning := FALSE,
            needed := EXISTS (
                FROM asked
                WHERE kind IN ('auc', 'average_precision')
            )
        )
    ORDER BY cell, score
),

-- What each block adds to the two sums of average precision: whole steps of 2^-20, and the rest.
-- Never less than 0, which rounding of weights may leave.
terms AS (
    SELECT
        *,
        greatest(1048576 * pos * fp / (tp + fp) ** 2, 0) AS gain,
        greatest(1048576 * pos * tp / (tp + fp) ** 2, 0) AS loss,
        floor(gain) AS whole_gain,
        floor(loss) AS whole_loss
    FROM rising
),

running AS (
    SELECT
        cell,
        score,
        pos,
        neg,
        tp,
        fp,
        whole_gain,
        whole_loss,
        lag(cell) OVER () AS last_cell,
        gain - whole_gain AS rest_gain,
        loss - whole_loss AS rest_loss,
        sum(whole_gain) OVER so_far AS whole_gains,
        sum(whole_loss) OVER so_far AS whole_losses,
        sum(gain - whole_gain) OVER so_far AS rest_gains,
        sum(loss - whole_loss) OVER so_far AS rest_losses
    FROM terms
    WINDOW so_far AS (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) -- noqa
),

starts AS (
    SELECT
        *,
        coalesce(last_cell <> cell, TRUE) AS is_first
    FROM running
),

-- No sum ever falls: the largest at the start of a cell is that at the start of this one.
based AS (
    SELECT
        *,
        max(CASE WHEN is_first THEN whole_gains - whole_gain END) OVER so_far AS whole_gains_before,
        max(CASE WHEN is_first THEN whole_losses - whole_loss END) OVER so_far
            AS whole_losses_before,
        max(CASE WHEN is_first THEN rest_gains - rest_gain END) OVER so_far AS rest_gains_before,
        max(CASE WHEN is_first THEN rest_losses - rest_loss END) OVER so_far AS rest_losses_before
    FROM starts
    WINDOW so_far AS (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) -- noqa
),

-- What the rows of a block have in common, less the value.
shares AS (
    SELECT
        b.cell,
        b.score,
        b.pos,
        b.neg,
        (c.n - b.fp + b.neg / 2) / c.n - c.auc AS of_pos,
        (b.tp - b.pos / 2) / c.m - c.auc AS of_neg,
        b.tp / (b.tp + b.fp) - c.average
        + (
            (b.whole_gains - b.whole_gains_before) + (b.rest_gains - b.rest_gains_before)
        ) / 1048576 AS gained,
        ((b.whole_losses - b.whole_losses_before) + (b.rest_losses - b.rest_losses_before))
        / 1048576 AS lost
    FROM based AS b
    INNER JOIN centres AS c ON b.cell = c.cell
),

squares AS (
    SELECT
        cell,
        fsum(pos * of_pos ** 2) AS of_pos,
        fsum(neg * of_neg ** 2) AS of_neg,
        fsum(pos * gained ** 2 + neg * lost ** 2) AS average
    FROM shares
    WHERE NOT (getvariable('weighted') OR getvariable('clustered'))
    GROUP BY cell
),

class_variances AS (
    SELECT
        c.cell,
        c.m,
        c.n,
        CASE
            WHEN c.m > 1
                THEN CASE WHEN s.of_pos > 1e-24 * c.m THEN s.of_pos ELSE 0 END / (c.m * (c.m - 1))
        END AS pos_variance,
        CASE
            WHEN c.n > 1
                THEN CASE WHEN s.of_neg > 1e-24 * c.n THEN s.of_neg ELSE 0 END / (c.n * (c.n - 1))
        END AS neg_variance,
        s.average / c.m ** 2 * corrected(c.m + c.n) AS average_variance
    FROM squares AS s
    INNER JOIN centres AS c ON s.cell = c.cell
    WHERE c.m > 0
),

mean_squares AS (
    SELECT
        t.cell,
        t.n,
        fsum(p.loss_squares + p.n * (p.loss - t.sum_loss / t.n) ** 2) AS bce,
        fsum(p.brier_squares + p.n * (p.brier - t.sum_brier / t.n) ** 2) AS brier
    FROM profile_values AS p
    INNER JOIN members AS m ON p.profile = m.profile
    INNER JOIN tallies AS t ON m.cell = t.cell
    WHERE coalesce(list_contains(getvariable('groupings'), m.grouping), TRUE)
    GROUP BY t.cell, t.n
),

-- The influence of each row, by metric and class.
influences AS (
    SELECT
        c.cell,
        s.unit,
        s.y,
        s.weight,
        CASE WHEN s.y = 1 THEN s.weight * h.of_pos / c.m ELSE 0 END AS of_pos,
        CASE WHEN s.y = 0 THEN s.weight * h.of_neg / c.n ELSE 0 END AS of_neg,
        s.weight * CASE WHEN s.y = 1 THEN h.gained ELSE 0 - h.lost END / c.m AS average,
        s.weight * (s.loss - t.sum_loss / t.weight) / t.weight AS bce,
        s.weight * ((s.prob - s.y) * (s.prob - s.y) - t.sum_brier / t.weight) / t.weight AS brier
    FROM samples AS s
    INNER JOIN members AS m ON s.profile = m.profile
    INNER JOIN centres AS c ON m.cell = c.cell
    INNER JOIN tallies AS t ON m.cell = t.cell
    LEFT JOIN shares AS h ON m.cell = h.cell AND s.score = h.score
    WHERE getvariable('weighted') OR getvariable('clustered')
),

unit_sums AS (
    SELECT
        cell,
        sum(y) AS n_pos,
        sum(1 - y) AS n_neg,
        NULL AS pos_weight_squares,
        NULL AS neg_weight_squares,
        sum(of_pos) AS of_pos,
        sum(of_neg) AS of_neg,
        sum(of_pos ** 2) AS pos_squares,
        sum(of_neg ** 2) AS neg_squares,
        sum(average) AS average,
        sum(bce) AS bce,
        sum(brier) AS brier
    FROM influences
    WHERE getvariable('clustered')
    GROUP BY cell, unit
    UNION ALL
    SELECT
        cell,
        y AS n_pos,
        1 - y AS n_neg,
        y * weight ** 2 AS pos_weight_squares,
        (1 - y) * weight ** 2 AS neg_weight_squares,
        of_pos,
        of_neg,
        of_pos ** 2 AS pos_squares,
        of_neg ** 2 AS neg_squares,
        average,
        bce,
        brier
    FROM influences
    WHERE NOT getvariable('clustered')
),

cell_sums AS (
    SELECT
        cell,
        sum(n_pos) AS m,
        sum(n_neg) AS n,
        count(*)::DOUBLE AS units,
        (count(*) FILTER (WHERE n_pos > 0))::DOUBLE AS pos_units,
        (count(*) FILTER (WHERE n_neg > 0))::DOUBLE AS neg_units,
        fsum(pos_weight_squares) AS pos_weight_squares,
        fsum(neg_weight_squares) AS neg_weight_squares,
        fsum(pos_squares) AS pos_squares,
        fsum(neg_squares) AS neg_squares,
        fsum(of_pos ** 2) AS of_pos,
        fsum(of_neg ** 2) AS of_neg,
        fsum(of_pos * of_neg) AS of_both,
        fsum((of_pos + of_neg) ** 2) AS of_sum,
        fsum(average ** 2) AS average,
        fsum(bce ** 2) AS bce,
        fsum(brier ** 2) AS brier
    FROM unit_sums
    GROUP BY cell
),

by_units AS (
    SELECT
        s.*,
        corrected(s.units) AS factor,
        corrected(s.pos_units) * s.of_pos
        + corrected(s.neg_units) * s.of_neg
        + 2 * corrected(s.units) * s.of_both AS of_auc,
        effective_units(s.pos_units, c.m, s.pos_weight_squares) AS pos_effective,
        effective_units(s.neg_units, c.n, s.neg_weight_squares) AS neg_effective
    FROM cell_sums AS s
    INNER JOIN centres AS c ON s.cell = c.cell
),

facts AS (
    SELECT
        cell,
        'auc' AS kind,
        pos_variance + neg_variance AS variance,
        m + n AS units,
        pos_variance,
        neg_variance,
        m AS pos_units,
        n AS neg_units
    FROM class_variances
    UNION ALL
    SELECT
        cell,
        'average_precision' AS kind,
        average_variance AS variance,
        m + n AS units,
        NULL AS pos_variance,
        NULL AS neg_variance,
        m AS pos_units,
        NULL AS neg_units
    FROM class_variances
    UNION ALL
    SELECT
        cell,
        k.kind,
        CASE k.kind WHEN 'bce' THEN bce ELSE brier END / n ** 2 * corrected(n) AS variance,
        n AS units,
        NULL AS pos_variance,
        NULL AS neg_variance,
        NULL AS pos_units,
        NULL AS neg_units
    FROM mean_squares
    CROSS JOIN (VALUES ('bce'), ('brier')) AS k (kind)
    UNION ALL
    SELECT
        cell,
        k.kind,
        CASE k.kind
            WHEN 'auc' THEN CASE WHEN of_auc < 0 THEN factor * of_sum ELSE of_auc END
            WHEN 'average_precision' THEN factor * average
            WHEN 'bce' THEN factor * bce
            ELSE factor * brier
        END AS variance,
        units,
        CASE WHEN k.kind = 'auc' THEN corrected(m) * pos_squares END AS pos_variance,
        CASE WHEN k.kind = 'auc' THEN corrected(n) * neg_squares END AS neg_variance,
        CASE WHEN k.kind IN ('auc', 'average_precision') THEN pos_effective END AS pos_units,
        CASE WHEN k.kind = 'auc' THEN neg_effective END AS neg_units
    FROM by_units
    CROSS JOIN (VALUES ('auc'), ('average_precision'), ('bce'), ('brier')) AS k (kind)
)

SELECT
    f.cell,
    a.position,
    CASE WHEN isfinite(f.variance) THEN f.variance END AS variance,
    f.units::DOUBLE AS units,
    CASE WHEN isfinite(f.pos_variance) THEN f.pos_variance END AS pos_variance,
    CASE WHEN isfinite(f.neg_variance) THEN f.neg_variance END AS neg_variance,
    f.pos_units::DOUBLE AS pos_units,
    f.neg_units::DOUBLE AS neg_units
FROM facts AS f
INNER JOIN asked AS a ON f.kind = a.kind;
