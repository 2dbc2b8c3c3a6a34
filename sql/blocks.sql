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
-- - Reading a view sorts the rows of every cell in the variable grouping (of all where it is NULL)
--   and runs through them once. Nothing is stored, so that every reading costs a sort.
-- - The running sums go on from cell to cell: a window without PARTITION BY streams, which takes
--   half of the time. What the cells before add up to is known from totals, and taken off.
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

-- by_prob: whether rows are in order of prob, not of score. tuning: only the cells on which
-- thresholds are tuned, whatever the grouping. needed: FALSE leaves the rows alone.
CREATE OR REPLACE TEMP MACRO blocks_of(by_prob, tuning, needed) AS TABLE
    WITH chosen AS (
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
                ELSE grouping = coalesce(getvariable('grouping'), grouping)
            END
    ),

    begun AS (
        SELECT
            *,
            sum(pos / pos_unit) OVER (ORDER BY cell) - pos / pos_unit AS pos_before,
            sum(neg / neg_unit) OVER (ORDER BY cell) - neg / neg_unit AS neg_before
        FROM chosen
    ),

    placed AS (
        SELECT
            m.profile,
            b.cell,
            b.pos_unit,
            b.neg_unit
        FROM members AS m
        INNER JOIN begun AS b ON m.cell = b.cell
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
    ),

    steps AS (
        SELECT
            *,
            tp - lag(tp, 1, 0.0) OVER () AS pos,
            fp - lag(fp, 1, 0.0) OVER () AS neg
        FROM ends
    )

    SELECT
        s.cell,
        s.score,
        s.pos * b.pos_unit AS pos,
        s.neg * b.neg_unit AS neg,
        (s.tp - b.pos_before) * b.pos_unit AS tp,
        (s.fp - b.neg_before) * b.neg_unit AS fp
    FROM steps AS s
    INNER JOIN begun AS b ON s.cell = b.cell;

CREATE OR REPLACE TEMP VIEW blocks AS
FROM blocks_of(by_prob := FALSE, tuning := FALSE, needed := TRUE);

CREATE OR REPLACE TEMP VIEW cut_blocks AS
FROM blocks_of(by_prob := TRUE, tuning := FALSE, needed := TRUE);
