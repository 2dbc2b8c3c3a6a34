-- Calibration intercept and slope: logistic regression of the label on the logit of the score,
-- `fitted(cell, calibration_intercept, calibration_slope, fit_note)`, a row per cell with rows.
--
-- Definition: the intercept is a in logit P(y = 1) = a + x, the slope is b in a + b x, where x is
-- the logit of the score; both maximise the likelihood. 0 and 1 are calibrated.
-- References: Cox 1958; Van Calster et al. 2019.
--
-- Every Newton step is one grouped sum over the rows of the cells that still move; a cell ends when
-- a step is at most 1e-6 of its size. The intercept has a bracket: a Newton step that leaves it or
-- hardly shortens is replaced by halving. A cell that does not settle in 100 steps is NULL.
--
-- Traps
-- - Scores of exactly 0 or 1 have no logit, and a cell whose labels the scores separate has no
--   finite slope: NULL with a note.
-- - A sigmoid near 1 has lost the digits that count, so that it is split in 0 or 1 and a tail.
-- - With an infinite bracket or curvature 0 a step is no number, and then the cell does not settle.

CREATE OR REPLACE TEMP TABLE fit_members AS
SELECT
    m.cell,
    m.profile
FROM members AS m
WHERE
    getvariable('probability')
    AND coalesce(list_contains(getvariable('groupings'), m.grouping), TRUE)
    AND EXISTS (
        SELECT 1 FROM requested AS r
        WHERE r.kind IN ('calibration_intercept', 'calibration_slope')
    );

-- x is NULL where it is not finite.
CREATE OR REPLACE TEMP VIEW fit_rows AS
SELECT
    m.cell,
    s.y,
    s.weight,
    CASE
        WHEN s.logit IS NOT NULL THEN s.logit
        WHEN s.prob > 0 AND s.prob < 1 THEN ln(s.prob) - ln(1 - s.prob)
    END AS x
FROM samples AS s
INNER JOIN fit_members AS m ON s.profile = m.profile;

CREATE OR REPLACE TEMP TABLE fit_cells AS
WITH facts AS (
    SELECT
        cell,
        bool_and(x IS NOT NULL) AS finite,
        min(y) < max(y) AS two_classes,
        min(x) AS lowest,
        max(x) AS highest,
        min(x) FILTER (WHERE y = 1) >= max(x) FILTER (WHERE y = 0)
        OR max(x) FILTER (WHERE y = 1) <= min(x) FILTER (WHERE y = 0) AS apart,
        ln(sum(weight) FILTER (WHERE y = 1) / sum(weight) FILTER (WHERE y = 0)) AS centre
    FROM fit_rows
    GROUP BY cell
)

SELECT
    *,
    CASE
        WHEN NOT finite THEN 'scores of exactly 0 or 1 have no logit'
        WHEN lowest = highest THEN 'all scores are equal'
        WHEN apart THEN 'the scores separate the classes, no finite slope'
    END AS fit_note
FROM facts;

-- The sigmoid p = called - tail, the residual y - p, and p (1 - p).
CREATE OR REPLACE TEMP MACRO called(eta) AS CASE WHEN eta >= 0 THEN 1 ELSE 0 END;
CREATE OR REPLACE TEMP MACRO tail(eta) AS
CASE WHEN eta >= 0 THEN 1 ELSE -1 END / (1 + exp(abs(eta)));
CREATE OR REPLACE TEMP MACRO residual(y, eta) AS y - called(eta) + tail(eta);
CREATE OR REPLACE TEMP MACRO curve(eta) AS abs(tail(eta)) * (1 - abs(tail(eta)));

CREATE OR REPLACE TEMP TABLE fit_intercepts AS
WITH RECURSIVE steps AS (
    -- The mean of the sigmoids is the share of positives, so that some a + x lies on either side of
    -- its logit, the centre.
    SELECT
        0 AS step,
        cell,
        centre - highest AS low,
        centre - lowest AS high,
        high - low AS size,
        least(greatest(low, 0), high) AS a,
        FALSE AS settled
    FROM fit_cells
    WHERE two_classes AND finite AND isfinite(centre)
    UNION ALL
    SELECT
        step + 1 AS step,
        cell,
        new_low AS low,
        new_high AS high,
        abs(move) AS size,
        a,
        isfinite(a) AND abs(move) <= (1 + abs(a)) * if(good, 1e-6, 2.0 ** -52) AS settled
    FROM (
        SELECT
            s.step,
            s.cell,
            CASE WHEN sums.excess >= 0 THEN s.a ELSE s.low END AS new_low,
            CASE WHEN sums.excess <= 0 THEN s.a ELSE s.high END AS new_high,
            sums.excess / sums.curvature AS newton,
            isfinite(newton) AND abs(newton) <= s.size / 2
            AND new_low <= s.a + newton AND s.a + newton <= new_high AS good,
            CASE WHEN good THEN newton ELSE (new_low + new_high) / 2 - s.a END AS move,
            s.a + move AS a
        FROM (
            SELECT
                m.cell,
                fsum(r.weight * (r.y - called(m.a + r.x)))
                + fsum(r.weight * tail(m.a + r.x)) AS excess,
                fsum(r.weight * curve(m.a + r.x)) AS curvature
            FROM steps AS m
            INNER JOIN fit_rows AS r ON m.cell = r.cell
            WHERE NOT m.settled AND m.step < 100
            GROUP BY m.cell
        ) AS sums
        INNER JOIN steps AS s ON sums.cell = s.cell
    ) AS tried
)

SELECT
    cell,
    a
FROM steps
WHERE settled;

CREATE OR REPLACE TEMP TABLE fit_slopes AS
WITH RECURSIVE steps AS (
    SELECT
        0 AS step,
        cell,
        0e0 AS a,
        0e0 AS b,
        TRUE AS usable,
        FALSE AS settled
    FROM fit_cells
    WHERE two_classes AND fit_note IS NULL
    UNION ALL
    SELECT
        step + 1 AS step,
        cell,
        a,
        b,
        isfinite(da) AND isfinite(db) AS usable,
        usable AND greatest(abs(da), abs(db)) <= 1e-6 * (1 + abs(a) + abs(b)) AS settled
    FROM (
        SELECT
            s.step,
            s.cell,
            sums.h00 * sums.h11 - sums.h01 * sums.h01 AS determinant,
            (sums.h11 * sums.g0 - sums.h01 * sums.g1) / determinant AS da,
            (sums.h00 * sums.g1 - sums.h01 * sums.g0) / determinant AS db,
            s.a + da AS a,
            s.b + db AS b
        FROM (
            SELECT
                m.cell,
                fsum(residual(r.y, m.a + m.b * r.x) * r.weight) AS g0,
                fsum(residual(r.y, m.a + m.b * r.x) * r.weight * r.x) AS g1,
                fsum(curve(m.a + m.b * r.x) * r.weight) AS h00,
                fsum(curve(m.a + m.b * r.x) * r.weight * r.x) AS h01,
                fsum(curve(m.a + m.b * r.x) * r.weight * (r.x * r.x)) AS h11
            FROM steps AS m
            INNER JOIN fit_rows AS r ON m.cell = r.cell
            WHERE m.usable AND NOT m.settled AND m.step < 100
            GROUP BY m.cell
        ) AS sums
        INNER JOIN steps AS s ON sums.cell = s.cell
    ) AS tried
)

SELECT
    cell,
    b
FROM steps
WHERE settled;

CREATE OR REPLACE TEMP TABLE fitted AS
SELECT
    c.cell,
    i.a AS calibration_intercept,
    s.b AS calibration_slope,
    c.fit_note
FROM fit_cells AS c
LEFT JOIN fit_intercepts AS i ON c.cell = i.cell
LEFT JOIN fit_slopes AS s ON c.cell = s.cell;
