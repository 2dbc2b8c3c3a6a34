-- The samples to evaluate, from the rows that input.sql has read, in a bare DuckDB shell.
--
-- Variables, optional:
--     score_type   auto, probability, logit or rank
--     conventions  standard or fairmedfm
-- Makes
--     samples(profile, y, score, prob, logit, loss, pred, weight, unit): a view as all files read
--         it; score is what is ranked, prob what is cut and calibrated, loss the cross-entropy.
--     input_groups(attribute, name, n, weight): every group of the input and its rows.
--     variables: strict, smoothed_f1, ece_on_group_range, weighted, scored, decided, probability
--
-- Definition (README.md of fmfair, Semantics): a row without a label or of weight 0 is left out. A
-- missing or infinite score is an error. Scores that are all in [0, 1] are probabilities, some
-- below 0 makes them logits, others only rank. Reference: fmfair/outcomes.py, fmfair/scores.py.
--
-- Traps
-- - What cannot be used stops here with all reasons; with `.bail on` the shell runs nothing more.
-- - A single precision 0.7 is 0.699999988 and lies below 0.7.
-- - Logits are ranked as they are, so that saturated ones are still told apart, and cut as
--   probabilities. The published conventions rank the probabilities.

-- Every group with its rows; rows of weight 0 and without a label are counted, too.
CREATE OR REPLACE TEMP TABLE input_groups AS
SELECT
    p.attribute,
    p.name,
    sum(c.n) AS n,
    max(w.largest) AS weight
FROM profile_names AS p
INNER JOIN profiles AS c ON p.profile = c.profile
INNER JOIN (
    SELECT
        profile,
        max(weight) AS largest
    FROM records
    GROUP BY profile
) AS w ON p.profile = w.profile
GROUP BY p.attribute, p.name;

CREATE OR REPLACE TEMP TABLE input_facts AS
WITH facts AS (
    SELECT
        count(*) AS n,
        count(*) FILTER (WHERE y IS NULL) AS n_unlabelled,
        count(*) FILTER (WHERE y NOT IN (0, 1)) AS n_other_labels,
        count(*) FILTER (WHERE NOT coalesce(isfinite(weight) AND weight >= 0, FALSE))
            AS n_bad_weights,
        count(*) FILTER (WHERE y IS NOT NULL AND weight > 0) AS n_usable,
        count(*) FILTER (
            WHERE y IS NOT NULL AND weight > 0 AND NOT coalesce(isfinite(score), FALSE)
        ) AS n_bad_scores,
        count(*) FILTER (WHERE y IS NOT NULL AND weight > 0 AND NOT score BETWEEN 0 AND 1)
            AS n_outside,
        coalesce(bool_or(score < 0) FILTER (WHERE y IS NOT NULL AND weight > 0), FALSE)
            AS some_negative,
        isfinite(sum(weight)) AS weights_add_up
    FROM records
),

asked AS (
    SELECT
        *,
        coalesce(getvariable('score_type'), 'auto') AS score_type,
        coalesce(getvariable('conventions') = 'fairmedfm', FALSE) AS published
    FROM facts
)

SELECT
    *,
    CASE
        WHEN score_type <> 'auto' THEN score_type
        WHEN n_outside = 0 THEN 'probability'
        WHEN some_negative OR published THEN 'logit'
        ELSE 'rank'
    END AS scale
FROM asked;

CREATE OR REPLACE TEMP TABLE checked_rows AS
WITH shapes AS (
    SELECT
        a.attribute,
        a.name,
        count(g.name) AS n_groups,
        count(*) FILTER (WHERE g.n = 1) AS n_single,
        coalesce(bool_and(TRY_CAST(g.name AS DOUBLE) = round(TRY_CAST(g.name AS DOUBLE))), TRUE)
            AS whole,
        sum(g.n) AS n_rows,
        max(TRY_CAST(g.name AS DOUBLE)) AS largest,
        is_number(a.type) AS measured,
        starts_with(a.type, 'ENUM') AS declared,
        regexp_replace(lower(trim(a.name)), '[\s\-.]+', '_', 'g') = 'age' AS is_age
    FROM attribute_columns AS a
    LEFT JOIN input_groups AS g ON a.attribute = g.attribute
    GROUP BY ALL
),

problems AS (
    SELECT 'the table has no rows' AS problem
    FROM input_facts
    WHERE n = 0
    UNION ALL
    SELECT format('y_true: {} labels are neither 0 nor 1; make a column that is', n_other_labels)
    FROM input_facts
    WHERE n_other_labels > 0
    UNION ALL
    SELECT format('y_true: {} labels are missing', n_unlabelled)
    FROM input_facts
    WHERE n_unlabelled > 0 AND published
    UNION ALL
    SELECT format('weight: {} weights are negative, missing or infinite', n_bad_weights)
    FROM input_facts
    WHERE n_bad_weights > 0
    UNION ALL
    SELECT 'weight: the weights are too large to be added up; divide them all'
    FROM input_facts
    WHERE n_bad_weights = 0 AND NOT weights_add_up
    UNION ALL
    SELECT 'no row is left to evaluate: every row lacks a label or has weight 0'
    FROM input_facts
    WHERE n > 0 AND n_usable = 0
    UNION ALL
    SELECT format('weight: "{}" has a group with rows of weight zero only: "{}"', a.name, g.name)
    FROM input_groups AS g
    INNER JOIN attribute_columns AS a ON g.attribute = a.attribute
    WHERE g.weight = 0
    UNION ALL
    SELECT format('y_score: {} scores are missing or infinite; remove these rows', n_bad_scores)
    FROM input_facts
    WHERE n_bad_scores > 0
    UNION ALL
    SELECT format('y_score: {} scores lie outside [0, 1] and are no probabilities', n_outside)
    FROM input_facts
    WHERE scale = 'probability' AND n_outside > 0
    UNION ALL
    SELECT
        format(
            'y_score: {} of {} scores lie outside [0, 1]. If they are codes for missing, remove '
            'them; otherwise say score_type = logit or rank', n_outside, n_usable
        )
    FROM input_facts
    WHERE score_type = 'auto' AND NOT published AND n_outside BETWEEN 1 AND n_usable * 0.01
    UNION ALL
    SELECT format('sample_id: {} ids repeat inside a by-key', n)
    FROM repeated
    WHERE n > 0 AND NOT (SELECT published FROM input_facts)
    UNION ALL
    SELECT
        format(
            'attributes: "{}" looks continuous ({} distinct numbers); cut it into groups first',
            name, n_groups
        )
    FROM shapes
    CROSS JOIN input_facts AS f
    WHERE
        measured AND CASE
            WHEN n_groups > CASE WHEN whole AND NOT f.published THEN 100 ELSE 20 END THEN TRUE
            ELSE is_age AND NOT f.published AND (n_groups > 20 OR largest >= 18)
        END
    UNION ALL
    SELECT
        format(
            'attributes: nearly every value of "{}" is different ({} groups for {} rows, {} groups '
            'of one row); group it first, e.g. a date by year',
            name, n_groups, n_rows, n_single
        )
    FROM shapes
    WHERE
        n_groups > 10 AND n_single > n_groups / 2
        AND NOT declared AND NOT (SELECT published FROM input_facts)
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;

-- 1 / (1 + exp(-x)) without overflow.
CREATE OR REPLACE TEMP MACRO sigmoid(x) AS
CASE WHEN x >= 0 THEN 1 ELSE exp(-abs(x)) END / (1 + exp(-abs(x)));

CREATE OR REPLACE TEMP VIEW samples AS
WITH scaled AS (
    SELECT
        profile,
        y,
        weight,
        score AS given,
        CASE
            WHEN NOT getvariable('logits') THEN score
            WHEN getvariable('strict') THEN 1 / (1 + exp(-score))
            ELSE sigmoid(score)
        END AS prob,
        CASE WHEN getvariable('logits') AND NOT getvariable('strict') THEN score END AS logit
    FROM records
    WHERE y IS NOT NULL AND weight > 0
)

SELECT
    profile,
    y::TINYINT AS y,
    coalesce(logit, prob) AS score,
    prob,
    logit,
    CASE
        WHEN NOT getvariable('probability') THEN NULL
        WHEN logit IS NOT NULL
            THEN least(greatest(logit, 0) - logit * y + ln(1 + exp(-abs(logit))), 1e100)
        ELSE 0 - greatest(ln(greatest(CASE WHEN y = 1 THEN prob ELSE 1 - prob END, 1e-300)), -100)
    END AS loss,
    NULL::TINYINT AS pred,
    weight,
    NULL::INTEGER AS unit
FROM scaled;

SET VARIABLE strict = (SELECT published FROM input_facts);

SET VARIABLE smoothed_f1 = getvariable('strict');

SET VARIABLE ece_on_group_range = getvariable('strict');

SET VARIABLE weighted = (getvariable('weight') IS NOT NULL);

SET VARIABLE scored = TRUE;

SET VARIABLE decided = FALSE;

SET VARIABLE logits = (SELECT scale = 'logit' FROM input_facts);

SET VARIABLE probability = (SELECT scale <> 'rank' FROM input_facts);

SET VARIABLE grouping = NULL;
