-- Counts that add up: rows, positives and sums per group and score bin, in one plain SELECT.
--
-- For engines that fmfair does not run in. The result, written as Parquet or CSV, is a table for
-- fmfair.merge_counts and fmfair.evaluate_counts (fmfair merge, fmfair score): the same numbers as
-- fmfair.counts gives, to the last digit (sum_bce to 1e-12). Such tables add up.
--
-- Input: a view rows_to_count(attribute, "group", y, p), one row per sample and attribute, and one
-- per sample with '' as attribute and group, which stands for all rows. y is 0 or 1, p a
-- probability; rows without them, or without a group, are left out. Two attributes:
--
--   CREATE VIEW rows_to_count AS
--   SELECT '' AS attribute, '' AS "group", label AS y, prob AS p FROM predictions
--   UNION ALL SELECT 'sex', sex, label, prob FROM predictions WHERE sex IS NOT NULL
--   UNION ALL SELECT 'age', age_group, label, prob FROM predictions WHERE age_group IS NOT NULL;
--
-- Then name your attributes in "groupings" below. By-keys such as the model are further columns:
-- add them to both SELECTs, to the GROUP BY and to the view.
--
-- Definition: bin b of 4000 holds b/4000 <= p < (b+1)/4000, and p = 1 has bin 4000. With the
-- residual r = p - b/4000, sum_r adds up floor(r * 2^43 + 1/2), sum_r_pos the same of positives,
-- and sum_rr floor(r * r * 2^55 + 1/2): whole numbers, of which 2^31 fit into 64 bits.
-- Reference: fmfair/counting; the scales are those of fmfair.counting.facts.scales(4000).
--
-- Traps
-- - floor(p * 4000) may be one bin too high or too low: 4000 * (7/4000) is less than 7. The bin is
--   moved where p lies on the other side of the edge b / 4000, divided in double precision.
-- - A cast of a fraction to a whole number cuts in some engines and rounds in others, and their
--   round() differs at one half; floor() is the same everywhere.
-- - ln(0) is an error in some engines. Both log terms are clamped at -100.
-- - Fine bins of small groups single people out. Suppress small counts before you share the table.

WITH placed AS (
    SELECT
        attribute,
        "group",
        y,
        cast(p AS DOUBLE) AS p,
        floor(cast(p AS DOUBLE) * 4000e0) AS b
    FROM rows_to_count
    WHERE y IS NOT NULL AND p IS NOT NULL
),

binned AS (
    SELECT
        attribute,
        "group",
        y,
        p,
        CASE
            WHEN p < b / 4000e0 THEN b - 1
            WHEN p >= (b + 1) / 4000e0 THEN b + 1
            ELSE b
        END AS b
    FROM placed
),

measured AS (
    SELECT
        attribute,
        "group",
        y,
        b,
        p - b / 4000e0 AS r,
        CASE WHEN y = 1 THEN p ELSE 1e0 - p END AS likely
    FROM binned
)

SELECT
    attribute,
    "group",
    cast(b AS INTEGER) AS bin,
    cast(b AS INTEGER) + 1 AS bin_end,
    cast(count(*) AS BIGINT) AS n,
    cast(sum(CASE WHEN y = 1 THEN 1 ELSE 0 END) AS BIGINT) AS n_pos,
    cast(sum(cast(floor(r * 8796093022208e0 + 0.5e0) AS BIGINT)) AS BIGINT) AS sum_r,
    cast(
        sum(CASE WHEN y = 1 THEN cast(floor(r * 8796093022208e0 + 0.5e0) AS BIGINT) ELSE 0 END)
        AS BIGINT
    ) AS sum_r_pos,
    cast(sum(cast(floor(r * r * 36028797018963968e0 + 0.5e0) AS BIGINT)) AS BIGINT) AS sum_rr,
    sum(least(0e0 - ln(greatest(likely, 1e-44)), 100e0)) AS sum_bce,
    '{"conventions": "standard", "format": 1, "grid": 4000, "groupings": [["sex"], ["age"]], '
    || '"ignore": [], "missing_groups": "drop", "positive": null, "scale": 43, '
    || '"scale_squares": 55, "score_type": "probability", "suppress_below": null}' AS facts
FROM measured
GROUP BY attribute, "group", b;
