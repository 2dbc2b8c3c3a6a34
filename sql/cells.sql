-- The groups of all attributes and intersections, in a bare DuckDB shell, after samples.sql.
--
-- Variable, optional
--     intersections  2 for all pairs of attributes, 3 for triples too, 'all', or a list of lists of
--                    attributes: [['sex', 'age_group']]; single attributes are always measured
-- Makes
--     groupings(grouping, parts, attribute, attribute_parts, lacking, whole): the attributes, then
--         their intersections; whole is the grouping of the rows that have them, undivided.
--     wholes(grouping, lacking): the groupings of all rows, and the attributes that they lack not.
--     cells(cell, grouping, "by", scope), members(profile, grouping, cell)
--     cell_names(cell, grouping, "by", "group", group_parts)
--
-- Definition: groups are in the order of an Enum, of numbers where all names are some, else in
-- alphabetical order. Listed are the groups that occur in the input, with or without a label, and
-- the declared levels of an Enum. Rules choose a threshold on all rows of a by-key, under the
-- published conventions on those that have the attribute.
-- Reference: fmfair/attributes.py, fmfair/groupings.py.
--
-- Traps
-- - A row with one of its attributes missing is in no group of an intersection, and not in whole.
-- - An ampersand inside a part is escaped, so that no two cells print alike.

CREATE OR REPLACE TEMP TABLE checked_options AS
WITH intersections AS (
    SELECT
        CAST(getvariable('intersections') AS VARCHAR) AS given,
        TRY_CAST(getvariable('intersections') AS INTEGER) AS size,
        TRY_CAST(getvariable('intersections') AS VARCHAR[][]) AS names
),

combinations AS (SELECT unnest(names) AS names FROM intersections),

problems AS (
    SELECT format('intersections: {} is no number, all, or list of lists', given) AS problem
    FROM intersections
    WHERE given <> 'all' AND names IS NULL AND coalesce(size, 0) < 1
    UNION ALL
    SELECT format('intersections: {} must name different attributes', names)
    FROM combinations
    WHERE
        len(names) < 2 OR len(list_distinct(names)) < len(names)
        OR NOT list_has_all(getvariable('input_attributes'), names)
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;

-- The text of several parts.
CREATE OR REPLACE TEMP MACRO display(parts) AS CASE
    WHEN len(parts) = 1 THEN parts[1]
    ELSE array_to_string(
        list_transform(parts, lambda p: CASE
            WHEN contains(p, '&') THEN replace(replace(p, '\', '\\'), '&', '\&')
            ELSE p
        END),
        ' & '
    )
END;

-- Which attributes some evaluated row lacks; all rows with the others are all rows.
CREATE OR REPLACE TEMP TABLE incomplete AS
SELECT DISTINCT a.attribute
FROM attribute_columns AS a
CROSS JOIN (SELECT DISTINCT profile FROM samples) AS s
ANTI JOIN profile_names AS p ON a.attribute = p.attribute AND s.profile = p.profile;

-- The levels of an Enum are read from its type: ENUM('a', 'it''s').
CREATE OR REPLACE TEMP TABLE levels AS
WITH declared AS (
    SELECT
        attribute,
        unnest(regexp_extract_all(type, '''((?:[^'']|'''')*)''', 1)) AS quoted,
        generate_subscripts(regexp_extract_all(type, '''((?:[^'']|'''')*)''', 1), 1) AS place
    FROM attribute_columns
    WHERE starts_with(type, 'ENUM')
),

kinds AS (
    SELECT
        a.attribute,
        CASE
            WHEN starts_with(a.type, 'ENUM') THEN 'declared'
            WHEN is_number(a.type) THEN 'number'
            WHEN a.type <> 'VARCHAR' THEN 'text'
            WHEN getvariable('strict') THEN 'published'
            WHEN bool_and(regexp_full_match(g.name, '[+-]?\d+(\.\d+)?')) THEN 'number'
            ELSE 'text'
        END AS kind
    FROM attribute_columns AS a
    LEFT JOIN input_groups AS g ON a.attribute = g.attribute
    GROUP BY a.attribute, a.type
),

names AS (
    SELECT
        attribute,
        replace(quoted, '''''', '''') AS name,
        place,
        TRUE AS declared
    FROM declared
    UNION ALL
    SELECT
        g.attribute,
        g.name,
        CASE
            WHEN k.kind = 'number' THEN TRY_CAST(g.name AS DOUBLE)
            WHEN k.kind = 'published' AND NOT isnan(TRY_CAST(g.name AS DOUBLE))
                THEN TRY_CAST(g.name AS DOUBLE)
        END AS place,
        FALSE AS declared
    FROM input_groups AS g
    INNER JOIN kinds AS k ON g.attribute = k.attribute
    WHERE k.kind <> 'declared'
)

SELECT
    attribute,
    name,
    declared,
    row_number() OVER (PARTITION BY attribute ORDER BY place NULLS LAST, name) - 1 AS code
FROM names;

CREATE OR REPLACE TEMP TABLE groupings AS
WITH RECURSIVE combined AS (
    SELECT [attribute] AS parts
    FROM attribute_columns
    UNION ALL
    SELECT list_append(c.parts, a.attribute) AS parts
    FROM combined AS c
    INNER JOIN attribute_columns AS a ON a.attribute > c.parts[-1]
    WHERE
        len(c.parts) < CASE
            WHEN CAST(getvariable('intersections') AS VARCHAR) = 'all' THEN 1000
            ELSE coalesce(TRY_CAST(getvariable('intersections') AS INTEGER), 1)
        END
),

named AS (
    SELECT
        unnest(TRY_CAST(getvariable('intersections') AS VARCHAR[][])) AS names,
        generate_subscripts(TRY_CAST(getvariable('intersections') AS VARCHAR[][]), 1) AS place
),

found AS (
    SELECT
        parts,
        len(parts) AS size,
        0 AS place
    FROM combined
    UNION ALL
    SELECT
        list_transform(names, lambda n: list_position(getvariable('input_attributes'), n) - 1)
            AS parts,
        2 AS size,
        min(place) AS place
    FROM named
    GROUP BY names
),

unnested AS (
    SELECT
        row_number() OVER (ORDER BY size, place, parts) - 1 AS grouping,
        parts,
        unnest(parts) AS part,
        generate_subscripts(parts, 1) AS place
    FROM found
),

described AS (
    SELECT
        u.grouping,
        u.parts,
        list(a.name ORDER BY u.place) AS attribute_parts,
        coalesce(list(u.part ORDER BY u.part) FILTER (WHERE i.attribute IS NOT NULL), []) AS lacking
    FROM unnested AS u
    LEFT JOIN attribute_columns AS a ON u.part = a.attribute
    LEFT JOIN incomplete AS i ON u.part = i.attribute
    GROUP BY u.grouping, u.parts
)

-- The groupings of all rows with some attributes follow; the first is that of all rows.
SELECT
    grouping::INTEGER AS grouping,
    parts,
    display(attribute_parts) AS attribute,
    attribute_parts,
    lacking,
    (
        count(*) OVER () - 1 + dense_rank() OVER (ORDER BY len(lacking) > 0, lacking)
        + CASE WHEN bool_or(len(lacking) = 0) OVER () THEN 0 ELSE 1 END
    )::INTEGER AS whole
FROM described
ORDER BY grouping;

CREATE OR REPLACE TEMP TABLE wholes AS
SELECT
    count(*)::INTEGER AS grouping,
    [] AS lacking
FROM groupings
UNION
SELECT
    whole AS grouping,
    lacking
FROM groupings;

-- The codes of a profile's groups in every grouping; in those of all rows there is one group.
CREATE OR REPLACE TEMP TABLE coded AS
WITH parts AS (
    SELECT
        grouping,
        unnest(parts) AS attribute,
        generate_subscripts(parts, 1) AS place,
        len(parts) AS size
    FROM groupings
),

lacked AS (
    SELECT
        p.profile,
        list(i.attribute) AS attributes
    FROM profiles AS p
    CROSS JOIN incomplete AS i
    ANTI JOIN profile_names AS n ON p.profile = n.profile AND i.attribute = n.attribute
    GROUP BY p.profile
)

SELECT
    n.profile,
    p.grouping,
    list(l.code ORDER BY p.place) AS codes,
    list(l.name ORDER BY p.place) AS names
FROM parts AS p
INNER JOIN profile_names AS n ON p.attribute = n.attribute
INNER JOIN levels AS l ON n.attribute = l.attribute AND n.name = l.name
GROUP BY n.profile, p.grouping
HAVING count(*) = any_value(p.size)
UNION ALL
SELECT
    p.profile,
    w.grouping,
    [] AS codes,
    [] AS names
FROM wholes AS w
CROSS JOIN profiles AS p
LEFT JOIN lacked AS l ON p.profile = l.profile
WHERE NOT list_has_any(w.lacking, coalesce(l.attributes, []));

CREATE OR REPLACE TEMP TABLE cell_names AS
WITH found AS (
    SELECT
        c.grouping,
        p."by",
        c.codes,
        c.names
    FROM coded AS c
    INNER JOIN profiles AS p ON c.profile = p.profile
    WHERE len(c.codes) > 0
    UNION
    SELECT
        g.grouping,
        b."by",
        [l.code] AS codes,
        [l.name] AS names
    FROM groupings AS g
    INNER JOIN levels AS l ON len(g.parts) = 1 AND g.parts[1] = l.attribute
    CROSS JOIN by_keys AS b
    WHERE l.declared
    UNION
    SELECT
        w.grouping,
        b."by",
        [] AS codes,
        [] AS names
    FROM wholes AS w
    CROSS JOIN by_keys AS b
)

SELECT
    (row_number() OVER (ORDER BY grouping, "by", codes) - 1)::INTEGER AS cell,
    grouping,
    "by",
    codes,
    display(names) AS "group",
    names AS group_parts
FROM found
ORDER BY cell;

CREATE OR REPLACE TEMP TABLE members AS
SELECT
    c.profile,
    c.grouping,
    n.cell
FROM coded AS c
INNER JOIN profiles AS p ON c.profile = p.profile
INNER JOIN cell_names AS n
    ON c.grouping = n.grouping AND p."by" = n."by" AND c.codes = n.codes;

CREATE OR REPLACE TEMP TABLE cells AS
WITH scopes AS (
    SELECT
        grouping,
        CASE WHEN getvariable('strict') THEN whole ELSE (SELECT min(grouping) FROM wholes) END
            AS scope
    FROM (
        SELECT
            grouping,
            whole
        FROM groupings
        UNION ALL
        SELECT
            grouping,
            grouping AS whole
        FROM wholes
    )
)

SELECT
    n.cell,
    n.grouping,
    n."by",
    w.cell AS scope
FROM cell_names AS n
INNER JOIN scopes AS s ON n.grouping = s.grouping
INNER JOIN cell_names AS w ON s.scope = w.grouping AND n."by" = w."by"
ORDER BY n.cell;
