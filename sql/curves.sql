-- How the scores of every cell spread over fixed bins: what drawing its curves takes.
--
-- Makes `curves(grouping, cell, bin, n, n_pos, sum_score)` for the groupings in the variable
-- groupings, a row for every bin with rows: how many there are, how many are positive, and the sum
-- of their probabilities. ROC curves, calibration, rates against the threshold and net benefit
-- follow from them.
--
-- Definition: bins lie on [0, 1], are closed on the left, 1.0 is in the last. The variable
-- curve_bins holds the bin of every thousandth, so that bins can be finer where scores crowd.
-- Reference: none; a histogram.
--
-- Traps
-- - Scores are compared with the edges k / 1000 as doubles; the product is only a guess.
-- - Weights are not looked at: rows are counted.

CREATE OR REPLACE TEMP TABLE curves AS
WITH guessed AS (
    SELECT
        profile,
        y,
        prob,
        floor(prob * 1000)::INTEGER AS guess
    FROM samples
),

placed AS (
    SELECT
        profile,
        y,
        prob,
        CASE
            WHEN prob < guess / 1000 THEN guess - 1
            WHEN prob >= (guess + 1) / 1000 THEN guess + 1
            ELSE guess
        END AS thousandth
    FROM guessed
),

profile_curves AS (
    SELECT
        profile,
        getvariable('curve_bins')[thousandth + 1] AS bin,
        count(*) AS n,
        count(*) FILTER (WHERE y = 1) AS n_pos,
        fsum(prob) AS sum_score
    FROM placed
    GROUP BY ALL
)

SELECT
    m.grouping,
    m.cell,
    p.bin,
    sum(p.n)::BIGINT AS n,
    sum(p.n_pos)::BIGINT AS n_pos,
    fsum(p.sum_score) AS sum_score
FROM profile_curves AS p
INNER JOIN members AS m ON p.profile = m.profile
WHERE list_contains(getvariable('groupings'), m.grouping)
GROUP BY ALL;
