-- The results under the user's names, in a bare DuckDB shell: `groups` and `gaps`, with the columns
-- of report.groups and report.gaps in Python. Last of all files.
--
-- groups: the by-keys, then attribute, group, attribute_parts, group_parts, metric, threshold,
--     threshold_rule, value, n, n_pos, weight_sum, denominator, in_gaps, note
-- gaps: the by-keys, then attribute, attribute_parts, metric, threshold, threshold_rule, statistic,
--     value, worst_group, best_group, n_groups, note
--
-- Definition: rows are in order of by-key, attribute, metric, threshold and group or statistic; an
-- undefined value is NULL, and note says why. weight_sum is NULL without weights. denominator is
-- the number of rows that carries the value. Reference: fmfair/columns.py.
--
-- Traps
-- - attribute and group are text for display; attribute_parts and group_parts tell cells apart.
-- - "group" is a reserved word: quote it.

CREATE OR REPLACE TEMP TABLE groups AS
SELECT * EXCLUDE ("(fmfair)")
FROM (
    SELECT
        unnest(k.key),
        g.attribute,
        v."group",
        g.attribute_parts,
        v.group_parts,
        v.metric,
        v.threshold,
        v.threshold_rule,
        v.value,
        v.n::BIGINT AS n,
        v.n_pos::BIGINT AS n_pos,
        CASE WHEN getvariable('weighted') THEN v.weight END AS weight_sum,
        v.denominator::BIGINT AS denominator,
        v.in_gaps,
        v.note
    FROM group_values AS v
    INNER JOIN groupings AS g ON v.grouping = g.grouping
    INNER JOIN by_keys AS k ON v."by" = k."by"
    ORDER BY v."by", v.grouping, v.position, v.t NULLS FIRST, v.cell_order
);

CREATE OR REPLACE TEMP TABLE gaps AS
SELECT * EXCLUDE ("(fmfair)")
FROM (
    SELECT
        unnest(k.key),
        g.attribute,
        g.attribute_parts,
        c.metric,
        c.threshold,
        c.threshold_rule,
        c.statistic,
        c.value,
        c.worst_group,
        c.best_group,
        c.n_groups,
        c.note
    FROM (
        SELECT
            *,
            row_number() OVER () AS place
        FROM compared
    ) AS c
    INNER JOIN groupings AS g ON c.grouping = g.grouping
    INNER JOIN by_keys AS k ON c."by" = k."by"
    ORDER BY c.place
);

-- The next run may replace these tables, and no others.
CREATE OR REPLACE TEMP TABLE fmfair_tables AS
SELECT
    lower(m.name) AS name,
    m.oid
FROM fmfair_made() AS m
WHERE lower(m.name) IN (FROM fmfair_names());
