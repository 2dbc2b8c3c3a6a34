-- Units: what varies from sample to sample as a whole, a row or all rows of one patient. Sums that
-- spread.sql and moments.sql start from; only where intervals are wanted. Twin: fmfair/units.py.
--
-- Variable: clustered, whether rows belong to patients; samples.unit is then the patient's number.
-- Makes
--     profile_values(profile, n, loss, loss_squares, brier, brier_squares): of rows that count
--         alike, the mean of the cross-entropy and of the squared error, and the sums of squares
--         around it. Empty with weights or patients.
--     unit_counts(profile, unit, decided, position, n_pos, n_neg, pos, neg, pos_squares,
--         neg_squares): of rows with weights or patients, by the interval of confusion.sql that
--         they are in, or where decided by the decision, 0 or 1: how many positives and negatives,
--         the sums of their weights, and of the squares of these. unit is NULL without patients.
--
-- Traps
-- - The profile of a patient is not the patient: rows of one may be in several groups.
-- - Both are summed up once, and the cells of all groupings add up those sums.

-- C / (C - 1) of C units.
CREATE OR REPLACE TEMP MACRO corrected(units) AS CASE WHEN units > 1 THEN units / (units - 1) END;

CREATE OR REPLACE TEMP TABLE profile_values AS
SELECT
    profile,
    count(*) AS n,
    avg(loss) AS loss,
    var_pop(loss) * count(*) AS loss_squares,
    avg((prob - y) * (prob - y)) AS brier,
    var_pop((prob - y) * (prob - y)) * count(*) AS brier_squares
FROM samples
WHERE
    getvariable('probability')
    AND NOT (getvariable('weighted') OR getvariable('clustered'))
    AND EXISTS (
        SELECT 1 FROM requested AS r
        WHERE r.kind IN ('bce', 'brier')
    )
GROUP BY profile;

CREATE OR REPLACE TEMP TABLE unit_counts AS
WITH called AS (
    SELECT
        profile,
        unit,
        FALSE AS decided,
        position,
        y,
        weight
    FROM cut_rows
    UNION ALL
    SELECT
        profile,
        unit,
        TRUE AS decided,
        pred::INTEGER AS position,
        y,
        weight
    FROM samples
    WHERE getvariable('decided')
)

SELECT
    profile,
    unit,
    decided,
    position,
    sum(y)::DOUBLE AS n_pos,
    sum(1 - y)::DOUBLE AS n_neg,
    fsum(y * weight) AS pos,
    fsum((1 - y) * weight) AS neg,
    fsum(y * weight * weight) AS pos_squares,
    fsum((1 - y) * weight * weight) AS neg_squares
FROM called
WHERE getvariable('weighted') OR getvariable('clustered')
GROUP BY ALL;
