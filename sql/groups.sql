-- The values that are compared: those of the groups, and those of all rows with the attribute, in a
-- bare DuckDB shell, after measured.sql. gaps.sql compares them.
--
-- Variables, optional
--     min_group_size  groups with fewer rows are shown, and left out of the gaps; 0 where not set
--     conventions     standard or fairmedfm
-- Makes group_values and whole_values as gaps.sql reads them; group_values also holds what the
-- report shows beside each value: n, n_pos, weight, denominator, group_parts.
--
-- Definition: a group takes part in gaps with at least one and min_group_size rows. Under the
-- published conventions a group with one class has no values, and an attribute with fewer than two
-- groups of both classes none at all. Reference: fmfair/assemble.py.
--
-- Traps
-- - Groups without rows are listed and take no part. Under the standard conventions one with a
--   single class is left out of those metrics only that are undefined there.

CREATE OR REPLACE TEMP TABLE group_values AS
WITH listed AS (
    SELECT
        c.grouping,
        c."by",
        m.* EXCLUDE (value, note),
        m.value AS raw,
        m.note AS reason,
        c."group",
        c.group_parts,
        m.n > 0 AND m.n >= coalesce(getvariable('min_group_size')::BIGINT, 0) AS large_enough,
        NOT getvariable('strict') OR (m.n_pos > 0 AND m.n_pos < m.n) AS usable
    FROM measured AS m
    INNER JOIN cell_names AS c ON m.cell = c.cell
    WHERE c.grouping IN (SELECT g.grouping FROM groupings AS g)
),

comparable AS (
    SELECT
        "by",
        grouping,
        count(DISTINCT cell) FILTER (WHERE usable) >= 2 OR NOT getvariable('strict') AS enough
    FROM listed
    GROUP BY "by", grouping
)

SELECT
    v.* EXCLUDE (raw, reason, large_enough, usable),
    v.cell AS cell_order,
    CASE WHEN v.usable AND c.enough THEN v.raw END AS value,
    v.large_enough AND v.usable AS in_gaps,
    CASE
        WHEN NOT v.usable AND v.n > 0
            THEN format('skipped: only label {}', CASE WHEN v.n_pos > 0 THEN 1 ELSE 0 END)
        WHEN NOT c.enough THEN 'skipped: fewer than two groups have both labels'
        ELSE v.reason
    END AS note
FROM listed AS v
INNER JOIN comparable AS c ON v."by" = c."by" AND v.grouping = c.grouping;

CREATE OR REPLACE TEMP TABLE whole_values AS
SELECT
    g.grouping,
    c."by",
    m.position,
    m.metric,
    m.t,
    m.threshold,
    m.threshold_rule,
    m.value
FROM measured AS m
INNER JOIN cells AS c ON m.cell = c.cell
INNER JOIN groupings AS g ON c.grouping = g.whole;

-- Under the published conventions one group alone is neither worst nor best.
SET VARIABLE least_for_worst = CASE WHEN getvariable('strict') THEN 2 ELSE 1 END;
