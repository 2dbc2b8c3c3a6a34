-- Gaps: the group values of every metric compared, one operation for all metrics.
-- Twin: fmfair/gaps.py and fmfair/named_gaps.py.
--
-- Reads
--     group_values(grouping, "by", position, metric, t, threshold, threshold_rule, cell_order,
--         "group", value, in_gaps, note): a row per group, metric and threshold. cell_order is the
--         order of the groups, in_gaps says whether a group takes part.
--     whole_values(grouping, "by", position, metric, t, threshold, threshold_rule, value): the same
--         metrics on all rows with the attribute.
--     requested, registry: the metrics asked for, and which way each is better.
--     least_for_worst (variable): how many usable groups it takes to call one the worst or the
--         best, 1 where it is not set; a gap takes two.
-- Makes `compared`, a row per comparison and statistic, in the order of the report.
--
-- With v the usable group values (not NULL, in_gaps) and w the value on all rows:
--     difference             max v - min v
--     ratio                  min v / max v
--     worst, best            the extremes by the metric's direction; none where it has none
--     difference_to_overall  the larger of abs(max v - w) and abs(min v - w)
--     ratio_to_overall       the smallest of min v / w, w / min v, max v / w and w / max v
--     std                    population standard deviation of the v
--     equal_opportunity      the difference in TPR (Hardt, Price & Srebro 2016)
--     demographic_parity     the difference and the ratio in selection rate
--     equalized_odds         difference: the larger of the TPR and FPR differences (fairlearn's
--                            default); average_difference: their mean; score: 1 - their mean,
--                            1 is fair (FairMedFM's eod)
--     equity_scaled          w / (1 + sum of abs(w - v)), of auc, dice and iou (Luo et al. 2024)
--     equity_scaled_std      w / (1 + std), of the same (FairMedFM's es_dice)
--     skewness               (1 - min v) / (1 - max v), of dice and iou (FairMedFM's skewness_dice)
--
-- Traps
--     A metric that can be negative has no ratio. Counts are not compared.
--     Sums taken in another order differ in the last digits: a difference of 1e-12 of the values
--     is 0, and of groups that are this close to the extreme the first in order is named.
--     An attribute that no row of a by-key has is compared all the same, between no groups.
--     std takes two passes: the mean of the squares less the square of the mean loses digits.
--     t is NULL for a metric without a threshold, so that joins need IS NOT DISTINCT FROM.

-- A difference that is no more than the noise of float sums is 0.
CREATE OR REPLACE TEMP MACRO quiet(difference, low, high) AS CASE
    WHEN difference <= greatest(1e-12 * abs(low), 1e-12 * abs(high), 1e-15) THEN 0.0
    ELSE difference
END;

-- Whether a value is the extreme one but for noise.
CREATE OR REPLACE TEMP MACRO near(value, extreme) AS
abs(value - extreme) <= greatest(1e-12 * abs(extreme), 1e-15);

-- a / b where b is more than noise, else NULL.
CREATE OR REPLACE TEMP MACRO share(a, b) AS CASE WHEN b > 1e-15 THEN a / b END;

-- One row per comparison: the extremes of the usable group values, and what is said of the others.
CREATE OR REPLACE TEMP TABLE spread AS
WITH facts AS (
    SELECT
        q.position,
        g.direction = 'lower' AS lower_is_better,
        g.direction <> 'none' AS directed,
        CASE
            -- Corrected for chance, the area over more than half of the range can be negative.
            WHEN q.kind = 'partial_auc' AND NOT q.corrected THEN FALSE
            WHEN q.kind = 'partial_auc' AND q."over" = 'fpr' THEN (q.low + q.high) / 2 > 0.5
            WHEN q.kind = 'partial_auc' THEN (q.low + q.high) / 2 < 0.5
            ELSE g.signed
        END AS signed
    FROM requested AS q
    INNER JOIN registry AS g ON q.kind = g.metric
    WHERE g.family <> 'count'
),

comparisons AS (
    SELECT
        w.* EXCLUDE (value),
        w.value AS whole,
        f.* EXCLUDE (position),
        row_number() OVER () AS comparison
    FROM whole_values AS w
    INNER JOIN facts AS f ON w.position = f.position
),

members AS (
    SELECT
        c.comparison,
        c.whole,
        v."group",
        v.cell_order,
        v.value,
        v.in_gaps,
        v.note,
        v.value IS NOT NULL AND v.in_gaps AS usable
    FROM comparisons AS c
    INNER JOIN group_values AS v
        ON
            c.grouping = v.grouping
            AND c."by" = v."by"
            AND c.position = v.position
            AND c.t IS NOT DISTINCT FROM v.t
),

extremes AS (
    SELECT
        comparison,
        min(value) FILTER (WHERE usable) AS low,
        max(value) FILTER (WHERE usable) AS high,
        fsum(value) FILTER (WHERE usable) / count(*) FILTER (WHERE usable) AS middle,
        fsum(abs(value - whole)) FILTER (WHERE usable) AS away,
        count(*) FILTER (WHERE usable) AS n_groups,
        count("group") AS n_cells,
        count(*) FILTER (WHERE value IS NOT NULL AND NOT in_gaps) AS left_out
    FROM members
    GROUP BY comparison
),

named AS (
    SELECT
        m.comparison,
        sqrt(fsum((m.value - e.middle) ** 2) / count(*)) AS std,
        arg_min(m."group", m.cell_order) FILTER (WHERE near(m.value, e.low)) AS lowest,
        arg_min(m."group", m.cell_order) FILTER (WHERE near(m.value, e.high)) AS highest
    FROM members AS m
    INNER JOIN extremes AS e ON m.comparison = e.comparison
    WHERE m.usable
    GROUP BY m.comparison
),

reasons_of_each AS (
    SELECT
        comparison,
        note,
        min(cell_order) AS first_at
    FROM members
    WHERE value IS NULL AND note IS NOT NULL
    GROUP BY comparison, note
),

joined_reasons AS (
    SELECT
        comparison,
        string_agg(note, '; ' ORDER BY first_at) AS reasons
    FROM reasons_of_each
    GROUP BY comparison
)

SELECT
    c.* EXCLUDE (comparison, lower_is_better),
    e.low,
    e.high,
    e.away,
    n.std,
    coalesce(e.n_groups, 0) AS n_groups,
    CASE WHEN c.lower_is_better THEN n.highest ELSE n.lowest END AS worst_group,
    CASE WHEN c.lower_is_better THEN n.lowest ELSE n.highest END AS best_group,
    CASE WHEN c.lower_is_better THEN e.high ELSE e.low END AS worst,
    CASE WHEN c.lower_is_better THEN e.low ELSE e.high END AS best,
    quiet(e.high - e.low, e.low, e.high) AS difference,
    share(e.low, e.high) AS ratio,
    format(
        '{} of {} groups can be compared{}{}',
        coalesce(e.n_groups, 0),
        coalesce(e.n_cells, 0),
        CASE
            WHEN e.left_out > 0 THEN format(' ({} below min_group_size)', e.left_out) ELSE ''
        END,
        coalesce(': ' || r.reasons, '')
    ) AS too_few
FROM comparisons AS c
LEFT JOIN extremes AS e ON c.comparison = e.comparison
LEFT JOIN named AS n ON c.comparison = n.comparison
LEFT JOIN joined_reasons AS r ON c.comparison = r.comparison;

-- Every statistic as a row: its value, the groups behind it, how many groups it takes, and why it
-- is NULL although there are enough. `place` is its position among those of one comparison.
CREATE OR REPLACE TEMP VIEW statistics AS
WITH plain AS (
    SELECT
        *,
        position AS "order",
        greatest(abs(high - whole), abs(low - whole)) AS from_whole,
        least(share(low, whole), share(whole, low), share(high, whole), share(whole, high))
            AS of_whole,
        CASE WHEN signed THEN 'no ratio, the metric can be negative' END AS no_ratio,
        CASE WHEN whole IS NULL THEN 'undefined on all rows together' END AS no_whole,
        coalesce(getvariable('least_for_worst')::INTEGER, 1) AS least
    FROM spread
),

odds AS (
    SELECT
        a.* EXCLUDE (n_groups, too_few, worst_group, best_group, difference),
        a.difference AS first_difference,
        b.difference AS second_difference,
        least(a.n_groups, b.n_groups) AS n_groups,
        CASE WHEN a.n_groups < 2 THEN a.too_few ELSE b.too_few END AS too_few,
        CASE WHEN a.difference >= b.difference THEN a.worst_group ELSE b.worst_group END
            AS worst_group,
        CASE WHEN a.difference >= b.difference THEN a.best_group ELSE b.best_group END
            AS best_group
    FROM spread AS a
    INNER JOIN spread AS b
        ON a.grouping = b.grouping AND a."by" = b."by" AND a.t IS NOT DISTINCT FROM b.t
    WHERE
        a.metric = 'tpr'
        -- The FPR and TNR differences are one number; whichever was computed serves.
        AND b.metric = (
            SELECT min(o.metric)
            FROM spread AS o
            WHERE o.metric IN ('fpr', 'tnr')
        )
)

SELECT
    p.grouping,
    p."by",
    p."order",
    p.metric,
    p.t,
    p.threshold,
    p.threshold_rule,
    s.place,
    s.statistic,
    s.value,
    p.worst_group,
    p.best_group,
    p.n_groups,
    s.least,
    s.undefined,
    p.too_few
FROM plain AS p
CROSS JOIN (
    VALUES
    (0, 'difference', p.difference, 2, NULL),
    (
        1, 'ratio', CASE WHEN NOT p.signed THEN p.ratio END, 2,
        coalesce(p.no_ratio, CASE WHEN p.ratio IS NULL THEN '0/0' END)
    ),
    (2, 'worst', p.worst, p.least, NULL),
    (3, 'best', p.best, p.least, NULL),
    (
        4, 'difference_to_overall',
        CASE WHEN p.whole IS NOT NULL THEN quiet(p.from_whole, p.low, p.high) END, 2, p.no_whole
    ),
    (
        5, 'ratio_to_overall', CASE WHEN NOT p.signed THEN p.of_whole END, 2,
        coalesce(
            p.no_ratio, p.no_whole, CASE WHEN p.of_whole IS NULL THEN 'division by 0' END
        )
    ),
    (6, 'std', quiet(p.std, p.low, p.high), 2, NULL),
    (7, 'equity_scaled', p.whole / (1.0 + p.away), 2, NULL),
    (8, 'equity_scaled_std', p.whole / (1.0 + p.std), 2, NULL),
    (
        9, 'skewness', CASE WHEN p.high < 1.0 THEN (1.0 - p.low) / (1.0 - p.high) END, 2,
        CASE WHEN p.high >= 1.0 THEN 'the best group is perfect' END
    )
) AS s (place, statistic, value, least, undefined)
WHERE
    CASE s.statistic
        WHEN 'worst' THEN p.directed
        WHEN 'best' THEN p.directed
        WHEN 'equity_scaled' THEN p.metric IN ('auc', 'dice', 'iou')
        WHEN 'equity_scaled_std' THEN p.metric IN ('auc', 'dice', 'iou')
        WHEN 'skewness' THEN p.metric IN ('dice', 'iou')
        ELSE TRUE
    END
UNION ALL
-- The named statistics of rates follow the metrics.
SELECT
    p.grouping,
    p."by",
    1000 + p.position AS "order",
    CASE p.metric WHEN 'tpr' THEN 'equal_opportunity' ELSE 'demographic_parity' END AS metric,
    p.t,
    p.threshold,
    p.threshold_rule,
    s.place,
    s.statistic,
    s.value,
    p.worst_group,
    p.best_group,
    p.n_groups,
    2 AS least,
    CASE WHEN s.value IS NULL THEN '0/0' END AS undefined,
    p.too_few
FROM spread AS p
CROSS JOIN (
    VALUES (0, 'difference', p.difference), (1, 'ratio', p.ratio)
) AS s (place, statistic, value)
WHERE p.metric = 'selection_rate' OR (p.metric = 'tpr' AND s.statistic = 'difference')
UNION ALL
-- The larger of two differences has worst and best groups; their mean and the score have none.
SELECT
    p.grouping,
    p."by",
    1900 + s.place AS "order",
    'equalized_odds' AS metric,
    p.t,
    p.threshold,
    p.threshold_rule,
    s.place,
    s.statistic,
    s.value,
    CASE WHEN s.statistic = 'difference' THEN p.worst_group END AS worst_group,
    CASE WHEN s.statistic = 'difference' THEN p.best_group END AS best_group,
    p.n_groups,
    2 AS least,
    NULL AS undefined,
    p.too_few
FROM odds AS p
CROSS JOIN (
    VALUES
    (0, 'difference', greatest(p.first_difference, p.second_difference)),
    (1, 'average_difference', (p.first_difference + p.second_difference) / 2),
    (2, 'score', 1.0 - (p.first_difference + p.second_difference) / 2)
) AS s (place, statistic, value);

CREATE OR REPLACE TEMP TABLE compared AS
SELECT
    grouping,
    "by",
    "order",
    metric,
    t,
    threshold,
    threshold_rule,
    statistic,
    CASE WHEN n_groups >= least AND isfinite(value) THEN value END AS value,
    worst_group,
    best_group,
    n_groups,
    CASE
        WHEN n_groups < least THEN too_few
        WHEN NOT isfinite(value) THEN 'beyond the range of numbers'
        ELSE undefined
    END AS note
FROM statistics
ORDER BY "by", grouping, "order", t NULLS FIRST, place;
