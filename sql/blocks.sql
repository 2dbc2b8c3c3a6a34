-- Blocks: the rows of every cell in falling order of score, rows of equal score merged.
--
-- Makes the views `blocks` (by score, what is ranked) and `cut_blocks` (by prob, what is cut and
-- calibrated) with columns cell, score, pos, neg, tp, fp: the weights of the cell's positives and
-- negatives with exactly this score, and of those with a score at least this high. `totals(cell,
-- pos, neg)` holds the weights of each cell with rows. All ranking metrics and the rules that
-- choose a threshold are arithmetic on blocks.
--
-- Definition: the empirical ROC curve; (fp, tp) are its corners, and ties are one sloped step.
-- Reference: Fawcett 2006, An introduction to ROC analysis, algorithms 1 and 2.
--
-- Traps
-- - Reading a view sorts the rows of every cell of the groupings in the variable groupings (of all
--   where it is NULL) and runs through them once. Nothing is stored: every reading costs a sort.
-- - The running sums go on from cell to cell: a window without PARTITION BY streams, which takes
--   half of the time. What the cells before add up to is known from totals, and taken off.
-- - Such a stream keeps one core busy, so that two halves of the cells run at once.
-- - With weights each cell is summed in units of its own totals. A large cell would otherwise cost
--   the small ones after it their digits.
-- - Whole numbers below 2^53 are exact as doubles. Sums of HUGEINT take several times as long.
-- - A window over () takes the rows in the order of the subquery, as long as the setting
--   preserve_insertion_order is on.

CREATE OR REPLACE TEMP TABLE totals AS
WITH sums AS (
    SELECT
        profile,
        fsum(y * weight) AS pos,
        fsum((1 - y) * weight) AS neg
    FROM samples
    WHERE getvariable('scored')
    GROUP BY profile
)

SELECT
    m.cell,
    m.grouping,
    fsum(s.pos) AS pos,
    fsum(s.neg) AS neg
FROM sums AS s
INNER JOIN members AS m ON s.profile = m.profile
GROUP BY m.cell, m.grouping;

-- The cells whose blocks are wanted, with the half that each is in, the units of its sums, and what
-- the cells before it in its half add up to. tuning: only the cells on which thresholds are tuned,
-- whatever the grouping. needed: FALSE leaves the rows alone.
CREATE OR REPLACE TEMP MACRO cells_of(tuning, needed) AS TABLE
    WITH wanted_cells AS (
        SELECT
            cell,
            pos,
            neg,
            CASE WHEN getvariable('weighted') AND pos > 0 THEN pos ELSE 1.0 END AS pos_unit,
            CASE WHEN getvariable('weighted') AND neg > 0 THEN neg ELSE 1.0 END AS neg_unit
        FROM totals
        WHERE
            needed
            AND CASE
                WHEN tuning THEN cell IN (SELECT scope FROM cells)
                ELSE coalesce(list_contains(getvariable('groupings'), grouping), TRUE)
            END
    ),

    halved AS (
        SELECT
            *,
            sum(pos + neg) OVER (ORDER BY cell) - (pos + neg) / 2 > sum(pos + neg) OVER () / 2
                AS second
        FROM wanted_cells
    )

    SELECT
        cell,
        second,
        pos_unit,
        neg_unit,
        sum(pos / pos_unit) OVER (PARTITION BY second ORDER BY cell) - pos / pos_unit AS pos_before,
        sum(neg / neg_unit) OVER (PARTITION BY second ORDER BY cell) - neg / neg_unit AS neg_before
    FROM halved;

-- The blocks of one half of the cells, in units, with sums that run on from cell to cell.
-- by_prob: whether rows are in order of prob, not of score.
CREATE OR REPLACE TEMP MACRO running_blocks(of_second, by_prob, tuning, needed) AS TABLE
    WITH placed AS (
        SELECT
            m.profile,
            c.cell,
            c.pos_unit,
            c.neg_unit
        FROM members AS m
        INNER JOIN cells_of(tuning, needed) AS c ON m.cell = c.cell
        WHERE c.second = of_second
    ),

    ordered AS (
        SELECT
            p.cell,
            CASE WHEN by_prob THEN s.prob ELSE s.score END AS score,
            s.y * s.weight / p.pos_unit AS pos,
            (1 - s.y) * s.weight / p.neg_unit AS neg
        FROM samples AS s
        INNER JOIN placed AS p ON s.profile = p.profile
        ORDER BY 1, 2 DESC
    ),

    running AS (
        SELECT
            cell,
            score,
            sum(pos) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS tp, -- noqa
            sum(neg) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS fp, -- noqa
            lead(cell) OVER () AS next_cell,
            lead(score) OVER () AS next_score
        FROM ordered
    ),

    ends AS (
        SELECT
            cell,
            score,
            tp,
            fp
        FROM running
        WHERE next_cell IS DISTINCT FROM cell OR next_score IS DISTINCT FROM score
    )

    SELECT
        *,
        tp - lag(tp, 1, 0.0) OVER () AS pos,
        fp - lag(fp, 1, 0.0) OVER () AS neg
    FROM ends;

-- The join stands after the halves: in each of them it would make one wait for the other.
CREATE OR REPLACE TEMP MACRO blocks_of(by_prob, tuning, needed) AS TABLE
    WITH halves AS (
        FROM running_blocks(FALSE, by_prob, tuning, needed)
        UNION ALL
        FROM running_blocks(TRUE, by_prob, tuning, needed)
    )

    SELECT
        h.cell,
        h.score,
        h.pos * c.pos_unit AS pos,
        h.neg * c.neg_unit AS neg,
        (h.tp - c.pos_before) * c.pos_unit AS tp,
        (h.fp - c.neg_before) * c.neg_unit AS fp
    FROM halves AS h
    INNER JOIN cells_of(tuning, needed) AS c ON h.cell = c.cell;

CREATE OR REPLACE TEMP VIEW blocks AS
FROM blocks_of(by_prob := FALSE, tuning := FALSE, needed := TRUE);

CREATE OR REPLACE TEMP VIEW cut_blocks AS
FROM blocks_of(by_prob := TRUE, tuning := FALSE, needed := TRUE);
