-- Sums per cell and score bin: the counts of every cell, and all that calibration needs.
--
-- Makes `tallies(cell, n, n_pos, weight, sum_y, sum_p, sum_loss, sum_brier)`, a row for every cell,
-- and `bins(bins, cell, bin, weight, sum_y, sum_p)`, a row for every bin with rows, for each number
-- of equal-width bins that a requested ECE has. n and n_pos count rows, weight is the sum of their
-- weights, and the other sums are weighted: of the label, the probability, the cross-entropy and
-- the squared error.
--
-- Definition: bins lie on [0, 1], closed on the left, 1.0 in the last. With the variable
-- ece_on_group_range they lie on the range of the cell's own scores, closed on the right.
-- Reference: Naeini, Cooper & Hauskrecht 2015; pandas.cut for the bins on the range of a cell.
--
-- Traps
-- - Scores are compared with the edges as doubles: floor(10 * p) puts 0.3 and its kind elsewhere.
-- - Rows are summed up once, by profile and bin, and the cells of all groupings add up those sums.
--   Only bins on the range of a cell need the rows once per grouping.
-- - fsum keeps the digits of many rows, in whatever order they come.

CREATE OR REPLACE TEMP TABLE bin_numbers AS
SELECT DISTINCT bins
FROM requested
WHERE kind = 'ece' AND strategy = 'uniform' AND getvariable('probability');

-- Every row with its bin on [0, 1]; without such bins in one bin, for the counts.
CREATE OR REPLACE TEMP VIEW unit_bins AS
WITH numbers AS (
    SELECT bins FROM bin_numbers
    WHERE NOT getvariable('ece_on_group_range')
    UNION ALL
    SELECT 1 AS bins
    WHERE getvariable('ece_on_group_range') OR NOT EXISTS (FROM bin_numbers)
),

-- The product is rounded, so that the guess may be one off; the edges on either side decide.
guessed AS (
    SELECT
        s.*,
        n.bins,
        coalesce(floor(least(greatest(s.prob, 0), 1) * n.bins), 0)::INTEGER AS guess
    FROM samples AS s
    CROSS JOIN numbers AS n
)

SELECT
    *,
    CASE
        WHEN guess > 0 AND prob < guess / bins THEN guess - 1
        WHEN guess < bins - 1 AND prob >= (guess + 1) / bins THEN guess + 1
        ELSE least(guess, bins - 1)
    END AS bin
FROM guessed;

CREATE OR REPLACE TEMP TABLE profile_bins AS
SELECT
    bins,
    profile,
    bin,
    count(*) AS n,
    count(*) FILTER (WHERE y = 1) AS n_pos,
    fsum(weight) AS weight,
    fsum(weight * y) AS sum_y,
    fsum(weight * prob) AS sum_p,
    fsum(weight * loss) AS sum_loss,
    fsum(weight * ((prob - y) * (prob - y))) AS sum_brier
FROM unit_bins
GROUP BY bins, profile, bin;

CREATE OR REPLACE TEMP TABLE tallies AS
WITH sums AS (
    SELECT
        m.cell,
        sum(p.n)::BIGINT AS n,
        sum(p.n_pos)::BIGINT AS n_pos,
        fsum(p.weight) AS weight,
        fsum(p.sum_y) AS sum_y,
        fsum(p.sum_p) AS sum_p,
        fsum(p.sum_loss) AS sum_loss,
        fsum(p.sum_brier) AS sum_brier
    FROM profile_bins AS p
    INNER JOIN members AS m ON p.profile = m.profile
    WHERE p.bins = (SELECT min(b.bins) FROM profile_bins AS b)
    GROUP BY m.cell
)

SELECT
    c.cell,
    coalesce(s.n, 0) AS n,
    coalesce(s.n_pos, 0) AS n_pos,
    coalesce(s.weight, 0) AS weight,
    coalesce(s.sum_y, 0) AS sum_y,
    coalesce(s.sum_p, 0) AS sum_p,
    s.sum_loss,
    s.sum_brier
FROM cells AS c
LEFT JOIN sums AS s ON c.cell = s.cell;

-- Bins on the range of a cell have the edges start + k * step; a score alone has some room around.
CREATE OR REPLACE TEMP TABLE cell_edges AS
WITH profile_ranges AS (
    SELECT
        profile,
        min(prob) AS low,
        max(prob) AS high
    FROM samples
    WHERE getvariable('ece_on_group_range')
    GROUP BY profile
),

cell_ranges AS (
    SELECT
        m.cell,
        min(p.low) AS low,
        max(p.high) AS high,
        CASE
            WHEN min(p.low) < max(p.high) THEN 0
            WHEN min(p.low) = 0 THEN 0.001
            ELSE min(p.low) * 0.001
        END AS room
    FROM profile_ranges AS p
    INNER JOIN members AS m ON p.profile = m.profile
    GROUP BY m.cell
)

SELECT
    r.cell,
    b.bins,
    r.low - r.room AS start,
    ((r.high + r.room) - (r.low - r.room)) / b.bins AS step
FROM cell_ranges AS r
CROSS JOIN bin_numbers AS b;

CREATE OR REPLACE TEMP VIEW range_bins AS
-- A guess is at most one off where edges lie far apart beside what rounding moves; where they do
-- not, there is none.
WITH guessed AS (
    SELECT
        e.*,
        s.y,
        s.prob,
        s.weight,
        CASE
            WHEN e.step > 1e-12
                THEN least(greatest(ceil((s.prob - e.start) / e.step) - 1, 0), e.bins - 1)::INTEGER
        END AS guess
    FROM samples AS s
    INNER JOIN members AS m ON s.profile = m.profile
    INNER JOIN cell_edges AS e ON m.cell = e.cell
    WHERE getvariable('ece_on_group_range')
)

SELECT
    *,
    CASE
        WHEN guess IS NULL THEN len([k FOR k IN range(1, bins) IF prob > start + step * k])
        WHEN guess > 0 AND prob <= start + step * guess THEN guess - 1
        WHEN guess < bins - 1 AND prob > start + step * (guess + 1) THEN guess + 1
        ELSE guess
    END AS bin
FROM guessed;

CREATE OR REPLACE TEMP TABLE bins AS
SELECT
    p.bins,
    m.cell,
    p.bin,
    fsum(p.weight) AS weight,
    fsum(p.sum_y) AS sum_y,
    fsum(p.sum_p) AS sum_p
FROM profile_bins AS p
INNER JOIN bin_numbers AS b ON p.bins = b.bins
INNER JOIN members AS m ON p.profile = m.profile
WHERE NOT getvariable('ece_on_group_range')
GROUP BY ALL
UNION ALL
SELECT
    bins,
    cell,
    bin,
    fsum(weight) AS weight,
    fsum(weight * y) AS sum_y,
    fsum(weight * prob) AS sum_p
FROM range_bins
GROUP BY ALL;
