-- Moments: how much rates vary from sample to sample where rows have weights or belong to patients.
-- Twin: fmfair/moments.py.
--
-- Makes `moments(cell, t, "tp*tp", ..., "tn*tn", "tp+fp+fn+tn", ...)`, a row for every cell with
-- rows and every threshold: sums over units of the product of two of their counts, and how many
-- units have any of some of the counts. The table holds the cells of the variable groupings, a
-- list, or of all where that is NULL. Empty for rows that count alike, whose counts say it all.
--
-- Definition: a rate is one sum of counts over another; the ratio estimator of survey statistics
-- has its variance from these moments. Reference: Cochran 1977, Sampling Techniques, chapter 6.
--
-- Traps
-- - Units times thresholds are too many rows. Only a unit with rows in an interval changes its
--   counts from the one end of it to the other: the moments at a threshold are the sums of the
--   changes above or below, one for every unit and interval with rows, whatever the thresholds.
-- - What grows with the rows above a threshold is summed from above, the rest from below, so that
--   few rows at one end are not the difference of two large sums.

CREATE OR REPLACE TEMP TABLE moments AS
WITH placed AS (
    SELECT
        m.cell,
        u.*
    FROM unit_counts AS u
    INNER JOIN members AS m ON u.profile = m.profile
    WHERE coalesce(list_contains(getvariable('groupings'), m.grouping), TRUE)
),

per_unit AS (
    SELECT
        cell,
        unit,
        decided,
        position,
        fsum(pos) AS pos,
        fsum(neg) AS neg
    FROM placed
    WHERE getvariable('clustered')
    GROUP BY ALL
),

-- What each unit has below and above an interval.
around AS (
    SELECT
        *,
        coalesce(sum(pos) OVER below, 0) AS fn,
        coalesce(sum(neg) OVER below, 0) AS tn,
        coalesce(sum(pos) OVER above, 0) AS tp,
        coalesce(sum(neg) OVER above, 0) AS fp
    FROM per_unit
    WINDOW
        below AS (
            PARTITION BY cell, unit, decided ORDER BY position
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        above AS (
            PARTITION BY cell, unit, decided ORDER BY position
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
),

-- The counts with the interval on the one side and on the other.
sides AS (
    SELECT
        *,
        tp + pos AS tp_with,
        fp + neg AS fp_with,
        fn + pos AS fn_with,
        tn + neg AS tn_with,
        fn + tn = 0 AS is_first,
        fn + pos + tp > 0 AS has_pos,
        tn + neg + fp > 0 AS has_neg
    FROM around
),

changes AS (
    SELECT
        cell,
        decided,
        position,
        fsum(tp_with * tp_with - tp * tp) AS tp_tp,
        fsum(tp_with * fp_with - tp * fp) AS tp_fp,
        fsum(fp_with * fp_with - fp * fp) AS fp_fp,
        fsum(fn_with * fn_with - fn * fn) AS fn_fn,
        fsum(fn_with * tn_with - fn * tn) AS fn_tn,
        fsum(tn_with * tn_with - tn * tn) AS tn_tn,
        fsum(tp * fn_with - tp_with * fn) AS tp_fn,
        fsum(tp * tn_with - tp_with * tn) AS tp_tn,
        fsum(fp * fn_with - fp_with * fn) AS fp_fn,
        fsum(fp * tn_with - fp_with * tn) AS fp_tn,
        count(*) FILTER (WHERE tp + fp = 0) AS n_called,
        count(*) FILTER (WHERE fp = 0 AND neg > 0 AND NOT has_pos) AS n_only_fp,
        count(*) FILTER (WHERE is_first) AS n_left,
        count(*) FILTER (WHERE is_first) AS n_units,
        count(*) FILTER (WHERE is_first AND has_pos) AS n_with_pos,
        count(*) FILTER (WHERE is_first AND has_neg) AS n_with_neg
    FROM sides
    GROUP BY cell, decided, position
    UNION ALL
    -- A row of its own is on one side with one count.
    SELECT
        cell,
        decided,
        position,
        fsum(pos_squares) AS tp_tp,
        0 AS tp_fp,
        fsum(neg_squares) AS fp_fp,
        fsum(pos_squares) AS fn_fn,
        0 AS fn_tn,
        fsum(neg_squares) AS tn_tn,
        0 AS tp_fn,
        0 AS tp_tn,
        0 AS fp_fn,
        0 AS fp_tn,
        sum(n_pos + n_neg) AS n_called,
        sum(n_neg) AS n_only_fp,
        sum(n_pos + n_neg) AS n_left,
        sum(n_pos + n_neg) AS n_units,
        sum(n_pos) AS n_with_pos,
        sum(n_neg) AS n_with_neg
    FROM placed
    WHERE NOT getvariable('clustered')
    GROUP BY cell, decided, position
),

running AS (
    SELECT
        cell,
        decided,
        position,
        sum(COLUMNS(['fn_fn', 'fn_tn', 'tn_tn', 'tp_fn', 'tp_tn', 'fp_fn', 'fp_tn', 'n_left']))
            OVER up,
        sum(COLUMNS(['tp_tp', 'tp_fp', 'fp_fp', 'n_called', 'n_only_fp'])) OVER down
    FROM changes
    WINDOW
        up AS (PARTITION BY cell, decided ORDER BY position),
        down AS (PARTITION BY cell, decided ORDER BY position DESC)
),

wholes AS (
    SELECT
        cell,
        decided,
        sum(n_units) AS n_units,
        sum(n_with_pos) AS n_with_pos,
        sum(n_with_neg) AS n_with_neg
    FROM changes
    GROUP BY cell, decided
),

asked AS (
    SELECT
        c.cell,
        t.t,
        FALSE AS decided,
        k.position
    FROM cells AS c
    INNER JOIN thresholds AS t ON c.scope = t.scope AND t.why IS NULL
    INNER JOIN cuts AS k ON c."by" = k."by" AND t.threshold = k.threshold
    UNION ALL
    SELECT
        cell,
        4294967295 AS t,
        TRUE AS decided,
        1 AS position
    FROM cells
    WHERE getvariable('decided')
)

SELECT
    a.cell,
    a.t::UINTEGER AS t,
    coalesce(h.tp_tp, 0)::DOUBLE AS "tp*tp",
    coalesce(h.tp_fp, 0)::DOUBLE AS "tp*fp",
    coalesce(l.tp_fn, 0)::DOUBLE AS "tp*fn",
    coalesce(l.tp_tn, 0)::DOUBLE AS "tp*tn",
    coalesce(h.fp_fp, 0)::DOUBLE AS "fp*fp",
    coalesce(l.fp_fn, 0)::DOUBLE AS "fp*fn",
    coalesce(l.fp_tn, 0)::DOUBLE AS "fp*tn",
    coalesce(l.fn_fn, 0)::DOUBLE AS "fn*fn",
    coalesce(l.fn_tn, 0)::DOUBLE AS "fn*tn",
    coalesce(l.tn_tn, 0)::DOUBLE AS "tn*tn",
    w.n_units::DOUBLE AS "tp+fp+fn+tn",
    w.n_with_pos::DOUBLE AS "tp+fn",
    w.n_with_neg::DOUBLE AS "fp+tn",
    coalesce(h.n_called, 0)::DOUBLE AS "tp+fp",
    coalesce(l.n_left, 0)::DOUBLE AS "fn+tn",
    (w.n_with_pos + coalesce(h.n_only_fp, 0))::DOUBLE AS "tp+fp+fn"
FROM asked AS a
INNER JOIN wholes AS w ON a.cell = w.cell AND a.decided = w.decided
ASOF LEFT JOIN running AS l
    ON a.cell = l.cell AND a.decided = l.decided AND a.position > l.position
ASOF LEFT JOIN running AS h
    ON a.cell = h.cell AND a.decided = h.decided AND a.position <= h.position;
