-- Reads a table of predictions, one row per sample and by-key with a column per attribute, in a
-- bare DuckDB shell. README.md says how to run this and the files that follow.
--
-- What Python does beyond this: it finds columns by their usual names, cuts numbers into bins,
-- takes several score columns, decisions (y_pred), logits beside probabilities, labels other than
-- 0 and 1, missing scores, missing attributes as a group and thresholds per by-key, and says what
-- it left out.
--
-- Variables (SET VARIABLE predictions = 'predictions.parquet'), all but the first two optional:
--     predictions  path or glob of files that DuckDB reads, or the name of a table or view
--     attributes   the columns whose groups are compared: ['sex', 'age_group']
--     "by"         the columns to evaluate separately, always in quotes: ['model']
--     y_true       the column of labels, 0 and 1 or booleans; label where not set
--     y_score      the column of scores; prob where not set
--     weight       the column of sample weights; rows of weight 0 are left out
--     sample_id    a column that must not repeat inside a by-key
--     conventions  standard or fairmedfm
-- Makes
--     by_keys("by", key)                        the by-keys in order; key holds their columns
--     attribute_columns(attribute, name, type)  the attributes in the order of the list
--     profiles(profile, "by", n)                every combination of by-keys and attributes
--     profile_names(profile, attribute, name)   its groups by name, those missing left out
--     records(profile, y, score, weight)        every row in DOUBLE; a label that is NaN is NULL
--     repeated(n)                               how many ids repeat
--
-- Reference: fmfair/roles.py, fmfair/samples.py.
--
-- Traps
-- - By-keys are in the order of the table's columns, whatever the order of the list.
-- - Names of columns are compared with case, though DuckDB tells no two apart by it.
-- - No column may be called (fmfair): it stands for what is not asked for.
-- - No text of a table or variable becomes SQL: columns are chosen by COLUMNS.

SET VARIABLE input_pattern = fmfair_pattern(getvariable('input_table'));

CREATE OR REPLACE TEMP TABLE checked_input AS
WITH problems AS (
    SELECT
        'predictions: not set; name a file, table or view: '
        || 'SET VARIABLE predictions = ''predictions.parquet'''
        || CASE
            WHEN getvariable('long_predictions') IS NULL THEN ''
            ELSE '. For long_predictions run evaluate_long.txt'
        END AS problem
    WHERE getvariable('input_table') IS NULL
    UNION ALL
    FROM fmfair_unreadable('predictions')
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;

-- The statistics of a Parquet file leave NaN out, and DuckDB would conclude that there is none.
SET parquet_can_have_nan = TRUE;

CREATE OR REPLACE TEMP VIEW input_rows AS
SELECT
    *,
    1.0 AS "(fmfair)"
FROM query_table('"' || replace(getvariable('input_table'), '"', '""') || '"');

-- The linter takes DESCRIBE for a table.
CREATE OR REPLACE TEMP TABLE input_columns AS
SELECT
    column_name AS name,
    column_type AS type,
    row_number() OVER () AS place
FROM (DESCRIBE input_rows); -- noqa: CP02, AL01

CREATE OR REPLACE TEMP TABLE attribute_columns AS
WITH listed AS (SELECT getvariable('input_attributes')::VARCHAR[] AS names)

SELECT
    a.attribute::INTEGER - 1 AS attribute,
    a.name,
    c.type
FROM (
    SELECT
        unnest(names) AS name,
        generate_subscripts(names, 1) AS attribute
    FROM listed
) AS a
LEFT JOIN input_columns AS c ON a.name = c.name
ORDER BY attribute;

-- Every problem with the columns and options that are asked for.
CREATE OR REPLACE TEMP TABLE checked_columns AS
WITH single (variable, name) AS (
    VALUES
    ('y_true', coalesce(getvariable('y_true'), 'label')),
    ('y_score', coalesce(getvariable('y_score'), 'prob')),
    ('weight', getvariable('weight')),
    ('sample_id', getvariable('input_id'))
),

asked AS (
    FROM single
    UNION ALL
    SELECT
        'attributes' AS variable,
        name
    FROM attribute_columns
    UNION ALL
    SELECT
        '"by"' AS variable,
        unnest(getvariable('by')::VARCHAR[]) AS name
),

found AS (
    SELECT
        a.variable,
        a.name,
        c.type
    FROM asked AS a
    LEFT JOIN input_columns AS c ON a.name = c.name
    WHERE a.name IS NOT NULL
),

problems AS (
    SELECT format('{}: no column "{}"', variable, name) AS problem
    FROM found
    WHERE type IS NULL
    UNION ALL
    SELECT
        'the columns are ' || string_agg(format('"{}"', name), ', ' ORDER BY place)
        || CASE
            WHEN count(*) < any_value(n) THEN format(', ... ({} in all)', any_value(n)) ELSE ''
        END
            AS problem
    FROM (
        SELECT
            name,
            place,
            count(*) OVER () AS n
        FROM input_columns
        WHERE name <> '(fmfair)'
    )
    WHERE
        place <= 50 AND EXISTS (
            FROM found AS f
            WHERE f.type IS NULL
        )
    HAVING count(*) > 0
    UNION ALL
    SELECT format('{}: the column "{}" has the type {}, expected numbers', variable, name, type)
    FROM found
    WHERE
        variable IN ('y_true', 'y_score', 'weight')
        AND NOT is_number(type) AND type <> 'BOOLEAN'
    UNION ALL
    SELECT format('{}: the column "{}" has the type {}, not of names', variable, name, type)
    FROM found
    WHERE
        variable IN ('attributes', '"by"') AND NOT starts_with(type, 'ENUM')
        AND regexp_matches(type, '\[|^STRUCT|^MAP|^UNION|^BLOB|^BIT')
    UNION ALL
    SELECT format('the column "{}" is named twice among attributes and by-keys', name)
    FROM found
    WHERE variable IN ('attributes', '"by"')
    GROUP BY name
    HAVING count(*) > 1
    UNION ALL
    SELECT format('"by": the column "{}" has the name of a column of the results; rename it', name)
    FROM found
    WHERE
        variable = '"by"'
        AND lower(name) IN (
            'attribute', 'group', 'attribute_parts', 'group_parts', 'metric', 'threshold',
            'threshold_rule', 'value', 'n', 'n_pos', 'weight_sum', 'denominator', 'in_gaps', 'note',
            'statistic', 'worst_group', 'best_group', 'n_groups'
        )
    UNION ALL
    SELECT 'no column may be called (fmfair); rename it'
    FROM input_columns
    WHERE starts_with(lower(name), '(fmfair)')
    HAVING count(*) > 1
    UNION ALL
    SELECT 'attributes: name at least one column'
    WHERE (SELECT count(*) FROM attribute_columns) = 0
    UNION ALL
    SELECT 'conventions: standard or fairmedfm'
    WHERE coalesce(getvariable('conventions'), 'standard') NOT IN ('standard', 'fairmedfm')
    UNION ALL
    SELECT 'score_type: auto, probability, logit or rank'
    WHERE
        coalesce(getvariable('score_type'), 'auto')
        NOT IN ('auto', 'probability', 'logit', 'rank')
    UNION ALL
    SELECT 'weights are not part of the fairmedfm conventions'
    WHERE getvariable('conventions') = 'fairmedfm' AND getvariable('weight') IS NOT NULL
)

SELECT
    CASE
        WHEN count(*) > 0
            THEN error(
                string_agg(problem, '; ' ORDER BY starts_with(problem, 'the columns are'), problem)
            )
    END AS problems
FROM (SELECT DISTINCT problem FROM problems);

-- The distinct values of by-keys and attributes together; (fmfair) holds the number of rows.
CREATE OR REPLACE TEMP TABLE combinations AS
SELECT
    COLUMNS(list_concat(getvariable('by'), getvariable('input_attributes'))),
    count(*) AS "(fmfair)"
FROM input_rows
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE numbered AS
SELECT
    row_number() OVER () - 1 AS profile,
    "(fmfair)" AS n,
    struct_pack(*COLUMNS(list_concat(getvariable('by'), getvariable('input_attributes')))) AS key
FROM combinations;

CREATE OR REPLACE TEMP VIEW keyed_combinations AS
SELECT
    struct_pack(*COLUMNS(list_concat(getvariable('by'), ['(fmfair)']))) AS by_key,
    struct_pack(*COLUMNS(list_concat(getvariable('by'), getvariable('input_attributes')))) AS key
FROM (SELECT * REPLACE (0 AS "(fmfair)") FROM combinations);

CREATE OR REPLACE TEMP TABLE by_keys AS
SELECT
    (row_number() OVER (ORDER BY by_key) - 1)::INTEGER AS "by",
    by_key AS key
FROM (SELECT DISTINCT by_key FROM keyed_combinations);

CREATE OR REPLACE TEMP TABLE profiles AS
SELECT
    n.profile::INTEGER AS profile,
    b."by",
    n.n
FROM numbered AS n
INNER JOIN keyed_combinations AS k ON n.key = k.key
INNER JOIN by_keys AS b ON k.by_key = b.key;

-- The attributes as texts, in the order of the table's columns; the last is the profile.
CREATE OR REPLACE TEMP TABLE profile_names AS
WITH unpacked AS (
    SELECT
        unnest(key),
        profile AS "(fmfair)"
    FROM numbered
),

texts AS (
    SELECT text_of(COLUMNS(list_concat(getvariable('input_attributes'), ['(fmfair)'])))
    FROM unpacked
),

listed AS (SELECT list_value(*COLUMNS(*)) AS texts FROM texts),

placed AS (
    SELECT
        a.attribute,
        row_number() OVER (ORDER BY c.place) AS place
    FROM attribute_columns AS a
    INNER JOIN input_columns AS c ON a.name = c.name
)

SELECT
    l.texts[-1]::INTEGER AS profile,
    p.attribute,
    l.texts[p.place] AS name
FROM listed AS l
CROSS JOIN placed AS p
WHERE l.texts[p.place] IS NOT NULL;

CREATE OR REPLACE TEMP TABLE records AS
WITH keyed AS (
    SELECT
        struct_pack(*COLUMNS(list_concat(getvariable('by'), getvariable('input_attributes'))))
            AS key,
        CAST(COLUMNS([coalesce(getvariable('y_true'), 'label')]) AS DOUBLE) AS y,
        CAST(COLUMNS([coalesce(getvariable('y_score'), 'prob')]) AS DOUBLE) AS score,
        CAST(COLUMNS([coalesce(getvariable('weight'), '(fmfair)')]) AS DOUBLE) AS weight
    FROM input_rows
)

SELECT
    n.profile::INTEGER AS profile,
    CASE WHEN NOT isnan(k.y) THEN k.y END AS y,
    k.score,
    k.weight
FROM keyed AS k
INNER JOIN numbered AS n ON k.key = n.key;

CREATE OR REPLACE TEMP TABLE repeated AS
SELECT count(*) AS n
FROM (
    SELECT
        COLUMNS(list_concat(getvariable('by'), [coalesce(getvariable('input_id'), '(fmfair)')])),
        count(*) AS "(rows)"
    FROM input_rows
    WHERE
        getvariable('input_id') IS NOT NULL
        AND COLUMNS([coalesce(getvariable('input_id'), '(fmfair)')]) IS NOT NULL
    GROUP BY ALL
    HAVING count(*) > 1
);
