-- Makes a long table of predictions wide, in a bare DuckDB shell: one row per sample and attribute,
-- with the columns attribute and group, becomes one row per sample with a column per attribute.
-- Runs before the others where the predictions are long.
--
-- Variables (SET VARIABLE long_predictions = 'long.parquet'), all but the first optional:
--     long_predictions  path or glob of files that DuckDB reads, or the name of a table or view
--     sample_id         the column that identifies a sample; sample_id where not set
--     "by", y_true, y_score, weight   as in input.sql
-- Makes the table `widened`, and sets the variables input_table, input_attributes and input_id,
-- which stand for predictions, attributes and sample_id in the files that follow.
--
-- Definition: attributes are in the order in which they occur. A sample that has no row for an
-- attribute, or no group in it, lacks it. Reference: fmfair/longtable.py.
--
-- Traps
-- - A sample has one row per attribute; two groups of one attribute are an error.
-- - Rows of one sample must agree in label, score and weight; input.sql finds those that do not as
--   samples that repeat.
-- - An attribute may not have the name of another column that is used.

SET VARIABLE input_pattern = fmfair_pattern(getvariable('long_predictions'));

CREATE OR REPLACE TEMP TABLE checked_input AS
WITH problems AS (
    SELECT
        'long_predictions: not set; name a file, table or view with one row per sample and '
        || 'attribute. For predictions, one row per sample, run evaluate.txt' AS problem
    WHERE getvariable('long_predictions') IS NULL
    UNION ALL
    FROM fmfair_unreadable('long_predictions')
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;

CREATE OR REPLACE TEMP VIEW long_rows AS
SELECT
    *,
    1.0 AS "(long)"
FROM query_table('"' || replace(getvariable('long_predictions'), '"', '""') || '"');

-- The linter takes DESCRIBE for a table.
CREATE OR REPLACE TEMP TABLE long_columns AS
SELECT
    column_name AS name,
    column_type AS type
FROM (DESCRIBE long_rows); -- noqa: CP02, AL01

CREATE OR REPLACE TEMP TABLE checked_long AS
WITH single (variable, name) AS (
    VALUES
    ('y_true', coalesce(getvariable('y_true'), 'label')),
    ('y_score', coalesce(getvariable('y_score'), 'prob')),
    ('weight', getvariable('weight')),
    ('sample_id', coalesce(getvariable('sample_id'), 'sample_id')),
    ('long_predictions', 'attribute'),
    ('long_predictions', 'group')
),

asked AS (
    FROM single
    UNION ALL
    SELECT
        '"by"' AS variable,
        unnest(getvariable('by')::VARCHAR[]) AS name
),

problems AS (
    SELECT format('{}: no column "{}"', variable, name) AS problem
    FROM asked
    WHERE name IS NOT NULL AND name NOT IN (SELECT c.name FROM long_columns AS c)
    UNION ALL
    SELECT 'the columns are ' || string_agg(format('"{}"', name), ', ') AS problem
    FROM long_columns
    WHERE
        name <> '(long)'
        AND EXISTS (
            FROM asked AS a
            WHERE a.name IS NOT NULL AND a.name NOT IN (SELECT c.name FROM long_columns AS c)
        )
    HAVING count(*) > 0
)

SELECT
    CASE
        WHEN count(*) > 0
            THEN error(
                string_agg(problem, '; ' ORDER BY starts_with(problem, 'the columns are'), problem)
            )
    END AS problems
FROM problems;

CREATE OR REPLACE TEMP TABLE long_attributes AS
SELECT
    attribute::VARCHAR AS name,
    min(place) AS place
FROM (
    SELECT
        attribute,
        row_number() OVER () AS place
    FROM long_rows
)
WHERE attribute IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE checked_attributes AS
WITH problems AS (
    SELECT 'long_predictions: the column attribute names no attribute' AS problem
    WHERE NOT EXISTS (FROM long_attributes)
    UNION ALL
    SELECT format('attribute "{}" has the name of another column of the table; rename it', name)
    FROM long_attributes
    WHERE
        list_contains(
            list_transform(
                list_concat(getvariable('by'), [
                    coalesce(getvariable('y_true'), 'label'),
                    coalesce(getvariable('y_score'), 'prob'),
                    coalesce(getvariable('weight'), '(long)'),
                    coalesce(getvariable('sample_id'), 'sample_id')
                ]),
                lambda n: lower(n)
            ),
            lower(name)
        )
    UNION ALL
    SELECT format('attributes {} differ by case only; rename them', string_agg(name, ', '))
    FROM long_attributes
    GROUP BY lower(name)
    HAVING count(*) > 1
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;

CREATE OR REPLACE TEMP TABLE checked_groups AS
WITH repeated AS (
    SELECT
        COLUMNS(
            list_concat(getvariable('by'), [coalesce(getvariable('sample_id'), 'sample_id')])
        ),
        attribute AS "(attribute)"
    FROM long_rows
    GROUP BY ALL
    HAVING count(*) > 1
)

SELECT
    CASE
        WHEN count(*) > 0
            THEN error(format('{} samples have more than one group of an attribute', count(*)))
    END AS problems
FROM repeated;

CREATE OR REPLACE TEMP TABLE widened AS
PIVOT (
    SELECT
        COLUMNS(
            list_concat(getvariable('by'), [
                coalesce(getvariable('y_true'), 'label'),
                coalesce(getvariable('y_score'), 'prob'),
                coalesce(getvariable('weight'), '(long)'),
                coalesce(getvariable('sample_id'), 'sample_id')
            ])
        ),
        attribute::VARCHAR AS "(attribute)",
        text_of("group") AS "(group)"
    FROM long_rows
)
ON "(attribute)"
USING first("(group)");

SET VARIABLE input_table = 'widened';

SET VARIABLE input_attributes = (SELECT list(name ORDER BY place) FROM long_attributes);

SET VARIABLE input_id = coalesce(getvariable('sample_id'), 'sample_id');
