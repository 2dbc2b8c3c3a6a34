-- What the error of calibration (ECE) is compared with: how much chance moves each score bin. Only
-- where intervals are wanted. Twin: fmfair/ece_chance.py.
--
-- Makes `chance_bins(cell, bin, weight, sum_y, sum_p, sum_pq, sum_ww)`, a row for every cell and
-- bin of the requested metric ece: the weighted sums of score_bins.sql, the sum of
-- w^2 p (1 - p), which is the variance of sum_y were every score the true probability, and that of
-- the squares of the weights.
--
-- Trap: bins on the range of a cell (the variable ece_on_group_range) need the rows of every cell,
-- all others are summed up once by profile.

CREATE OR REPLACE TEMP TABLE chance_bins AS
WITH asked AS (
    SELECT bins
    FROM requested
    WHERE metric = 'ece' AND getvariable('probability')
),

profile_sums AS (
    SELECT
        b.profile,
        b.bin,
        fsum(b.weight * b.weight * (b.prob * (1 - b.prob))) AS sum_pq,
        fsum(b.weight * b.weight) AS sum_ww
    FROM unit_bins AS b
    INNER JOIN asked AS a ON b.bins = a.bins
    WHERE NOT getvariable('ece_on_group_range')
    GROUP BY b.profile, b.bin
),

cell_sums AS (
    SELECT
        m.cell,
        p.bin,
        fsum(p.sum_pq) AS sum_pq,
        fsum(p.sum_ww) AS sum_ww
    FROM profile_sums AS p
    INNER JOIN members AS m ON p.profile = m.profile
    GROUP BY m.cell, p.bin
    UNION ALL
    SELECT
        b.cell,
        b.bin,
        fsum(b.weight * b.weight * (b.prob * (1 - b.prob))) AS sum_pq,
        fsum(b.weight * b.weight) AS sum_ww
    FROM range_bins AS b
    INNER JOIN asked AS a ON b.bins = a.bins
    GROUP BY b.cell, b.bin
)

SELECT
    b.cell,
    b.bin,
    b.weight,
    b.sum_y,
    b.sum_p,
    s.sum_pq,
    s.sum_ww
FROM cell_sums AS s
INNER JOIN bins AS b ON s.cell = b.cell AND s.bin = b.bin
INNER JOIN asked AS a ON b.bins = a.bins;
