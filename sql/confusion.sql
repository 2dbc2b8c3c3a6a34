-- Confusion counts: true and false positives and negatives of every cell at every threshold.
--
-- Makes `confusion(cell, t, threshold, threshold_rule, why, tp, fp, fn, tn, n_pred_pos)`: a row for
-- every cell and threshold of its scope. The counts are NULL where the threshold is, or where why
-- says that it means nothing. Decisions already made come last, as the rule y_pred. The four counts
-- are sums of weights, n_pred_pos counts rows.
--
-- Definition: a row is called positive where prob >= threshold, with the variable strict where
-- prob > threshold.
--
-- Traps
-- - Rows meet one interval each, not every threshold. Rows are summed up once, by profile and
--   interval, and the cells of all groupings add up those sums. A single cut needs no intervals.
-- - Cuts far closer together than most share a step of the grid, whose rows try each of them.
-- - prob > threshold is prob >= the next larger double, so that one text serves both.
-- - All cells of a by-key share its intervals, which are cut at the thresholds of all its scopes.
-- - fsum keeps the digits of many rows, in whatever order they come. tp and tn are differences of
--   sums in one order, so that a count of nobody is exactly 0.

-- The distinct places at which the rows of a by-key are cut, from 1 on.
CREATE OR REPLACE TEMP TABLE cuts AS
WITH places AS (
    SELECT DISTINCT
        c."by",
        t.threshold,
        CASE
            WHEN getvariable('strict') THEN nextafter(t.threshold, 'infinity'::DOUBLE)
            ELSE t.threshold
        END AS place
    FROM thresholds AS t
    INNER JOIN cells AS c ON t.scope = c.scope
    WHERE t.threshold IS NOT NULL AND t.why IS NULL
)

SELECT
    "by",
    threshold,
    place,
    row_number() OVER (PARTITION BY "by" ORDER BY place)::INTEGER AS position
FROM places;

-- A row finds its interval by a hash join with a grid of equal steps, which know the intervals that
-- they touch, mostly one. Only arithmetic that never falls as prob rises may find the step.
CREATE OR REPLACE TEMP TABLE grids AS
WITH extents AS (
    SELECT
        "by",
        min(place) AS low,
        max(place) AS high,
        8 * count(*) AS n_steps,
        count(*) = 1 AS one_cut
    FROM cuts
    GROUP BY "by"
)

SELECT
    "by",
    low,
    high,
    one_cut,
    -- One step for all where numbers of this size have no scale.
    CASE WHEN isfinite(n_steps / (high - low)) THEN n_steps / (high - low) ELSE 0 END AS scale
FROM extents;

CREATE OR REPLACE TEMP MACRO step_of(v, low, high, scale) AS
CASE WHEN scale > 0 THEN floor((least(greatest(v, low), high) - low) * scale) ELSE 0 END::INTEGER;

CREATE OR REPLACE TEMP TABLE steps AS
WITH intervals AS (
    SELECT
        "by",
        position,
        place,
        lead(place, 1, 'infinity'::DOUBLE) OVER (PARTITION BY "by" ORDER BY position) AS next_place
    FROM (
        SELECT
            "by",
            position,
            place
        FROM cuts
        UNION ALL
        SELECT
            "by",
            0 AS position,
            '-infinity'::DOUBLE AS place
        FROM grids
    )
)

SELECT
    i."by",
    i.position,
    i.place,
    i.next_place,
    unnest(
        range(
            step_of(i.place, g.low, g.high, g.scale),
            step_of(i.next_place, g.low, g.high, g.scale) + 1
        )
    )::INTEGER AS step
FROM intervals AS i
INNER JOIN grids AS g ON i."by" = g."by"
WHERE NOT g.one_cut;

-- Every row with the interval that it is in: it lies below the cuts of a higher position.
CREATE OR REPLACE TEMP VIEW cut_rows AS
WITH places AS (
    SELECT DISTINCT
        m.profile,
        g.*
    FROM members AS m
    INNER JOIN cells AS c ON m.cell = c.cell
    INNER JOIN grids AS g ON c."by" = g."by"
),

-- The step is a column before the join with the steps, so that no other order of joins is tried.
located AS (
    SELECT
        s.profile,
        s.y,
        s.prob,
        s.weight,
        s.unit,
        p."by",
        step_of(s.prob, p.low, p.high, p.scale) AS step
    FROM samples AS s
    INNER JOIN places AS p ON s.profile = p.profile AND NOT p.one_cut
)

SELECT
    s.profile,
    s.y,
    s.weight,
    s.unit,
    (s.prob >= p.low)::INTEGER AS position
FROM samples AS s
INNER JOIN places AS p ON s.profile = p.profile AND p.one_cut
UNION ALL
SELECT
    r.profile,
    r.y,
    r.weight,
    r.unit,
    i.position
FROM located AS r
INNER JOIN steps AS i
    ON
        r."by" = i."by" AND r.step = i.step AND r.prob >= i.place AND r.prob < i.next_place;

CREATE OR REPLACE TEMP TABLE confusion AS
WITH sums AS (
    SELECT
        profile,
        position,
        fsum(y * weight) AS pos,
        fsum((1 - y) * weight) AS neg,
        count(*) AS n
    FROM cut_rows
    GROUP BY profile, position
),

cell_sums AS (
    SELECT
        m.cell,
        s.position,
        fsum(s.pos) AS pos,
        fsum(s.neg) AS neg,
        sum(s.n)::BIGINT AS n
    FROM sums AS s
    INNER JOIN members AS m ON s.profile = m.profile
    GROUP BY m.cell, s.position
),

-- What lies in or below each interval that has rows.
running AS (
    SELECT
        cell,
        position,
        sum(pos) OVER up AS pos,
        sum(neg) OVER up AS neg,
        sum(n) OVER up AS n
    FROM cell_sums
    WINDOW up AS (PARTITION BY cell ORDER BY position)
),

wholes AS (
    SELECT
        cell,
        max(pos) AS pos,
        max(neg) AS neg,
        max(n) AS n
    FROM running
    GROUP BY cell
),

asked AS (
    SELECT
        c.cell,
        t.t,
        t.threshold,
        t.threshold_rule,
        t.why,
        k.position
    FROM cells AS c
    INNER JOIN thresholds AS t ON c.scope = t.scope
    LEFT JOIN cuts AS k ON c."by" = k."by" AND t.threshold = k.threshold AND t.why IS NULL
),

decisions AS (
    SELECT
        profile,
        fsum(y * pred * weight) AS tp,
        fsum((1 - y) * pred * weight) AS fp,
        fsum(y * (1 - pred) * weight) AS fn,
        fsum((1 - y) * (1 - pred) * weight) AS tn,
        sum(pred)::BIGINT AS n_pred_pos
    FROM samples
    WHERE getvariable('decided')
    GROUP BY profile
)

SELECT
    a.cell,
    a.t::UINTEGER AS t,
    a.threshold,
    a.threshold_rule,
    a.why,
    CASE WHEN a.position IS NOT NULL THEN coalesce(w.pos - coalesce(r.pos, 0), 0) END AS tp,
    CASE WHEN a.position IS NOT NULL THEN coalesce(w.neg - coalesce(r.neg, 0), 0) END AS fp,
    CASE WHEN a.position IS NOT NULL THEN coalesce(r.pos, 0) END AS fn,
    CASE WHEN a.position IS NOT NULL THEN coalesce(r.neg, 0) END AS tn,
    CASE
        WHEN a.position IS NOT NULL THEN coalesce(w.n - coalesce(r.n, 0), 0)
    END::BIGINT AS n_pred_pos
FROM asked AS a
LEFT JOIN wholes AS w ON a.cell = w.cell
ASOF LEFT JOIN running AS r ON a.cell = r.cell AND a.position > r.position
UNION ALL
SELECT
    c.cell,
    4294967295::UINTEGER AS t,
    NULL AS threshold,
    'y_pred' AS threshold_rule,
    NULL AS why,
    coalesce(fsum(d.tp), 0) AS tp,
    coalesce(fsum(d.fp), 0) AS fp,
    coalesce(fsum(d.fn), 0) AS fn,
    coalesce(fsum(d.tn), 0) AS tn,
    coalesce(sum(d.n_pred_pos), 0)::BIGINT AS n_pred_pos
FROM cells AS c
LEFT JOIN members AS m ON c.cell = m.cell
LEFT JOIN decisions AS d ON m.profile = d.profile
WHERE getvariable('decided')
GROUP BY c.cell;
