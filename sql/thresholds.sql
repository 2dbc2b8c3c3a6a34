-- Thresholds: numbers as given, or rules that choose one of the observed scores.
--
-- Makes `thresholds(scope, t, threshold, threshold_rule, why)`: every wanted threshold of every
-- scope, which is all samples of a by-key, or those of them that some attributes are known of.
-- threshold is NULL where no score qualifies, and why is the reason. Scores that are not
-- probabilities, with no threshold asked for, get the default 0.5 with why, and no counts at it.
--
-- Definitions; the candidates are the scores in a scope, and tp ... tn the counts at each
--   best_f1  the lowest threshold of the highest F1 = 2 tp / (2 tp + fn + fp); with the variable
--            smoothed_f1 from precision and recall with 1e-8 in the denominator
--   youden   the lowest threshold of the largest tp * n - fp * m, of m positives and n negatives
--   tpr=x    the highest threshold with TPR >= x
--   tnr=x    the lowest threshold with TNR >= x
-- References: Youden 1950; scikit-learn's precision_recall_curve.
--
-- Traps
-- - A threshold that was tuned on the labels it is evaluated on makes the rates at it optimistic.
-- - Ties are exact with counts. With weights a share counts as reached, and an aim as highest, from
--   1e-12 below: they add up differently in another order. Only the latter needs a second sort.
-- - Scores of only 0 and 1 are decisions, which rules take as they are: the threshold is the 1, not
--   the 0 that would call everybody positive. smoothed_f1 chooses among both.

CREATE OR REPLACE TEMP MACRO aim_of(rule, tp, fp, m, n) AS CASE
    WHEN rule = 'youden' THEN tp * n - fp * m
    WHEN getvariable('smoothed_f1')
        THEN 2 * (tp / (tp + fp)) * (tp / m) / ((tp / (tp + fp)) + (tp / m) + 1e-8)
    ELSE 2 * tp / (2 * tp + (m - tp) + fp)
END;

-- What a rule is after, and which classes it cannot do without.
CREATE OR REPLACE TEMP TABLE rules AS
SELECT DISTINCT
    rule,
    rule IN ('best_f1', 'youden') AS has_aim,
    starts_with(rule, 'tpr') AS of_tpr,
    NOT starts_with(rule, 'tnr') AS needs_pos,
    starts_with(rule, 'tnr') OR rule = 'youden' AS needs_neg,
    nullif(regexp_extract(rule, '=\s*(\S+)$', 1), '')::DOUBLE
    - CASE WHEN getvariable('weighted') THEN 1e-12 ELSE 0 END AS least_share
FROM wanted
WHERE rule <> 'fixed';

CREATE OR REPLACE TEMP TABLE thresholds AS
WITH scopes AS (
    SELECT DISTINCT
        scope,
        "by"
    FROM cells
),

candidates AS (
    SELECT
        b.cell,
        b.score,
        r.rule,
        r.of_tpr,
        CASE WHEN r.has_aim THEN aim_of(r.rule, b.tp, b.fp, t.pos, t.neg) END AS aim,
        CASE WHEN r.of_tpr THEN b.tp / t.pos ELSE (t.neg - b.fp) / t.neg END >= r.least_share
            AS reaches
    FROM blocks_of(by_prob := TRUE, tuning := TRUE, needed := EXISTS (FROM rules)) AS b
    INNER JOIN totals AS t ON b.cell = t.cell
    CROSS JOIN rules AS r
),

found AS (
    SELECT
        cell,
        rule,
        bool_and(score IN (0, 1)) AS decided,
        bool_or(reaches AND score = 1) AS one_reaches,
        CASE
            WHEN of_tpr THEN max(score) FILTER (WHERE reaches)
            ELSE min(score) FILTER (WHERE reaches)
        END AS reaching,
        max(struct_pack(aim := aim, below := -score)) FILTER (WHERE aim IS NOT NULL) AS best
    FROM candidates
    GROUP BY cell, rule, of_tpr
),

-- With weights the highest aim is shared by those a little below it.
lowest AS (
    SELECT
        b.cell,
        f.rule,
        min(b.score) AS score
    FROM
        blocks_of(
            by_prob := TRUE,
            tuning := TRUE,
            needed := EXISTS (
                FROM rules
                WHERE has_aim AND getvariable('weighted')
            )
        ) AS b
    INNER JOIN totals AS t ON b.cell = t.cell
    INNER JOIN found AS f ON b.cell = f.cell
    WHERE
        aim_of(f.rule, b.tp, b.fp, t.pos, t.neg)
        >= f.best.aim - 1e-12 * CASE WHEN f.rule = 'youden' THEN t.pos * t.neg ELSE 1 END
    GROUP BY b.cell, f.rule
),

tuned AS (
    SELECT
        s.scope,
        w.t,
        w.rule,
        CASE
            WHEN r.needs_pos AND coalesce(t.pos, 0) <= 0 THEN 'no positives'
            WHEN r.needs_neg AND coalesce(t.neg, 0) <= 0 THEN 'no negatives'
        END AS lacking,
        CASE
            WHEN NOT r.has_aim AND f.decided THEN CASE WHEN f.one_reaches THEN 1 END
            WHEN NOT r.has_aim THEN f.reaching
            WHEN f.decided AND NOT getvariable('smoothed_f1') THEN 1
            ELSE coalesce(l.score, 0 - f.best.below) -- never -0.0
        END AS chosen
    FROM scopes AS s
    CROSS JOIN wanted AS w
    INNER JOIN rules AS r ON w.rule = r.rule
    LEFT JOIN totals AS t ON s.scope = t.cell
    LEFT JOIN found AS f ON s.scope = f.cell AND w.rule = f.rule
    LEFT JOIN lowest AS l ON s.scope = l.cell AND w.rule = l.rule
)

SELECT
    scope,
    t::UINTEGER AS t,
    CASE WHEN lacking IS NULL THEN chosen END AS threshold,
    rule AS threshold_rule,
    CASE
        WHEN lacking IS NOT NULL THEN lacking
        WHEN chosen IS NULL THEN 'no observed score reaches ' || rule
    END AS why
FROM tuned
UNION ALL
SELECT
    s.scope,
    w.t,
    w.threshold,
    w.rule AS threshold_rule,
    NULL AS why
FROM scopes AS s
INNER JOIN wanted AS w ON w.rule = 'fixed' AND s."by" = coalesce(w."by", s."by")
UNION ALL
SELECT
    scope,
    0 AS t,
    0.5 AS threshold,
    'fixed' AS threshold_rule,
    'the score is not a probability' AS why
FROM scopes
WHERE
    getvariable('scored')
    AND NOT getvariable('probability')
    AND NOT getvariable('decided')
    AND NOT EXISTS (FROM wanted);
