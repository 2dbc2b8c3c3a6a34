-- Looks at the session before anything is made in it, in a bare DuckDB shell: first of all files.
--
-- Variables: all that README.md lists. Their values are checked here as far as that needs no table.
-- Makes
--     fmfair_tables(name, oid)  what these files have made in this session. oid is NULL where a run
--                               is on its way, or has stopped at an error.
--     variables: input_table, input_attributes, input_id (what the other files read; long.sql sets
--         them anew)
--
-- Definition: every file makes its tables anew under the same names. A temporary table, view or
-- macro of another maker that has one of these names is not replaced; it stops the run.
--
-- Traps
-- - A table is known by its oid, which CREATE OR REPLACE changes, and COMMENT does not.
-- - A permanent table of such a name stays, and is hidden behind the temporary one.

CREATE TEMP TABLE IF NOT EXISTS fmfair_tables (name VARCHAR, oid BIGINT);

CREATE OR REPLACE TEMP MACRO fmfair_names() AS TABLE
    SELECT
        unnest([
            'aim_of', 'attribute_columns', 'bin_numbers', 'bins', 'blocks', 'blocks_of', 'by_keys',
            'calibrated', 'called', 'cell_edges', 'cell_names', 'cells', 'cells_of', 'chance_bins',
            'checked_attributes', 'checked_columns', 'checked_groups', 'checked_input',
            'checked_long', 'checked_options', 'checked_rows', 'checked_thresholds', 'coded',
            'combinations', 'compared', 'confusion', 'corrected', 'curve', 'curves', 'cut_blocks',
            'cut_rows', 'cuts', 'display', 'effective_units', 'fit_cells', 'fit_intercepts',
            'fit_members', 'fit_rows', 'fit_slopes', 'fitted', 'gaps', 'grids', 'group_values',
            'groupings', 'groups',
            'incomplete', 'input_columns', 'input_facts', 'input_groups', 'input_rows', 'is_number',
            'keyed_combinations', 'levels', 'long_attributes', 'long_columns', 'long_rows',
            'measured', 'members', 'moments', 'near', 'numbered', 'plain', 'profile_bins',
            'profile_names', 'profile_values', 'profiles', 'quiet', 'range_bins', 'ranked', 'rates',
            'reasons', 'records', 'registry', 'repeated', 'requested', 'residual', 'rules',
            'running_blocks', 'samples', 'share', 'sigmoid', 'spread', 'statistics', 'step_of',
            'steps', 'tail', 'tallies', 'text_of', 'thresholds', 'totals', 'unit_bins',
            'unit_counts', 'varied', 'wanted', 'whole_values', 'wholes', 'widened'
        ]) AS name;

CREATE OR REPLACE TEMP MACRO fmfair_made() AS TABLE
    SELECT
        view_name AS name,
        view_oid AS oid
    FROM duckdb_views()
    WHERE database_name = 'temp'
    UNION ALL
    SELECT
        table_name AS name,
        table_oid AS oid
    FROM duckdb_tables()
    WHERE database_name = 'temp'
    UNION ALL
    SELECT DISTINCT
        function_name AS name,
        function_oid AS oid
    FROM duckdb_functions()
    WHERE database_name = 'temp';

-- Neither table has a name that is checked: nothing of another maker is replaced.
CREATE OR REPLACE TEMP TABLE fmfair_session AS
WITH foreign_made AS (
    SELECT m.name
    FROM fmfair_made() AS m
    WHERE
        lower(m.name) IN (FROM fmfair_names())
        AND NOT EXISTS (
            SELECT 1
            FROM fmfair_tables AS f
            WHERE f.name = lower(m.name) AND (f.oid IS NULL OR f.oid = m.oid)
        )
),

tables (variable, name) AS (
    VALUES
    ('predictions', CAST(getvariable('predictions') AS VARCHAR)),
    ('long_predictions', CAST(getvariable('long_predictions') AS VARCHAR))
),

-- Permanent tables and views that the temporary ones hide, also from views.
hidden AS (
    SELECT lower(table_name) AS name
    FROM duckdb_tables()
    WHERE database_name <> 'temp' AND lower(table_name) IN (FROM fmfair_names())
    UNION
    SELECT lower(view_name) AS name
    FROM duckdb_views()
    WHERE database_name NOT IN ('temp', 'system') AND lower(view_name) IN (FROM fmfair_names())
),

problems AS (
    SELECT format('these files need DuckDB 2.0, and this is {}', version()) AS problem
    WHERE 'parquet_can_have_nan' NOT IN (SELECT s.name FROM duckdb_settings() AS s)
    UNION ALL
    SELECT
        format(
            'temporary tables, views or macros of yours have names that these files use, and would '
            'be replaced: {}; drop them, or make them under other names',
            string_agg(name, ', ' ORDER BY name)
        ) AS problem
    FROM foreign_made
    HAVING count(*) > 0
    UNION ALL
    SELECT
        format(
            '{}: "{}" is a name that these files use; make a view of another name, and say that',
            variable, name
        )
    FROM tables
    WHERE lower(name) IN (FROM fmfair_names())
    UNION ALL
    SELECT
        format(
            '{}: the view "{}" reads "{}", a name that these files use; make a table of the view, '
            'CREATE TABLE predictions_to_compare AS FROM "{}", and say that',
            t.variable, t.name, h.name, t.name
        )
    FROM tables AS t
    INNER JOIN duckdb_views() AS v ON lower(t.name) = lower(v.view_name)
    INNER JOIN hidden AS h ON regexp_matches(lower(v.sql), '\b' || h.name || '\b')
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;

DROP TABLE IF EXISTS temp.groups;

DROP TABLE IF EXISTS temp.gaps;

CREATE OR REPLACE TEMP TABLE fmfair_variables AS
WITH expected (name, shape) AS (
    VALUES
    ('predictions', 'text'), ('long_predictions', 'text'), ('attributes', 'names'),
    ('by', 'names'), ('y_true', 'text'), ('y_score', 'text'), ('weight', 'text'),
    ('sample_id', 'text'), ('intersections', 'sets'), ('thresholds', 'numbers'),
    ('rules', 'names'), ('metrics', 'metrics'), ('min_group_size', 'number'),
    ('score_type', 'text'), ('conventions', 'text'),
    -- These are set by the files themselves.
    ('strict', 'ours'), ('smoothed_f1', 'ours'), ('ece_on_group_range', 'ours'),
    ('weighted', 'ours'), ('scored', 'ours'), ('decided', 'ours'), ('logits', 'ours'),
    ('probability', 'ours'), ('groupings', 'ours'), ('least_for_worst', 'ours'),
    ('input_table', 'ours'), ('input_attributes', 'ours'), ('input_id', 'ours'),
    ('input_pattern', 'ours')
),

other_words (word, name) AS (
    VALUES
    ('label', 'y_true'), ('labels', 'y_true'), ('target', 'y_true'), ('y', 'y_true'),
    ('prob', 'y_score'), ('probs', 'y_score'), ('y_prob', 'y_score'), ('y_pred', 'y_score'),
    ('score', 'y_score'), ('scores', 'y_score'), ('group', 'attributes'),
    ('groups', 'attributes'), ('prediction', 'predictions'), ('weights', 'weight'),
    ('sample_weight', 'weight'), ('id', 'sample_id'), ('by_keys', 'by')
),

given AS (
    SELECT
        lower(name) AS name,
        value,
        type,
        ends_with(type, '[]') AS is_list,
        ends_with(type, '[][]') AS is_nested
    FROM duckdb_variables()
    WHERE type <> '"NULL"'
),

shaped AS (
    SELECT
        g.*,
        e.shape,
        CASE WHEN g.name = 'by' THEN '"by"' ELSE g.name END AS called

    FROM given AS g
    INNER JOIN expected AS e ON g.name = e.name
),

unknown AS (
    SELECT
        g.name,
        coalesce(
            any_value(w.name),
            arg_max(e.name, jaro_winkler_similarity(g.name, e.name)) FILTER (
                WHERE
                e.shape <> 'ours'
                AND (
                    damerau_levenshtein(g.name, e.name) <= least(2, len(e.name) // 4)
                    OR jaro_winkler_similarity(g.name, e.name) > 0.95
                )
            )
        ) AS meant
    FROM given AS g
    CROSS JOIN expected AS e
    LEFT JOIN other_words AS w ON g.name = w.word
    WHERE g.name NOT IN (SELECT x.name FROM expected AS x)
    GROUP BY g.name
),

problems AS (
    SELECT
        format(
            'the variable "{}" is not known, {} is; to take it back: SET VARIABLE "{}" = NULL',
            name, meant, name
        ) AS problem
    FROM unknown
    WHERE meant IS NOT NULL
    UNION ALL
    SELECT format('{}: write one text in single quotes, not {}', called, value)
    FROM shaped
    WHERE shape = 'text' AND type <> 'VARCHAR'
    UNION ALL
    SELECT format('{}: write a list, [''{}'']', called, value)
    FROM shaped
    WHERE shape = 'names' AND NOT is_list
    UNION ALL
    SELECT format('{}: write one list of texts without NULL, not {}', called, value)
    FROM shaped
    WHERE
        shape = 'names' AND is_list
        AND (is_nested OR list_contains(regexp_split_to_array(value[2:-2], ', '), 'NULL'))
    UNION ALL
    SELECT format('thresholds: write a list of numbers, [0.5], not {}', value)
    FROM shaped
    WHERE shape = 'numbers' AND (NOT is_list OR is_nested)
    UNION ALL
    SELECT
        format(
            'thresholds: {} are not all numbers; those that choose a threshold, such as best_f1, '
            'belong into rules: SET VARIABLE rules = [''best_f1'']', value
        )
    FROM shaped
    WHERE
        shape = 'numbers' AND is_list AND NOT is_nested
        AND len(list_filter(TRY_CAST(value AS DOUBLE[]), lambda t: t IS NOT NULL))
        IS DISTINCT FROM len(TRY_CAST(value AS VARCHAR[]))
    UNION ALL
    SELECT format('metrics: write a list, [''auc'', ''tpr''], one name, or ''all'', not {}', value)
    FROM shaped
    WHERE shape = 'metrics' AND type NOT IN ('VARCHAR', 'VARCHAR[]')
    UNION ALL
    SELECT format('min_group_size: write a whole number from 0 on, not {}', value)
    FROM shaped
    WHERE shape = 'number' AND NOT regexp_full_match(value, '\d+')
    UNION ALL
    SELECT
        CASE
            WHEN value = '[all]' THEN 'intersections: write ''all'' without brackets'
            ELSE format(
                'intersections: write a list of lists, [[''{}'']], for the groups of these '
                'attributes together', array_to_string(TRY_CAST(value AS VARCHAR[]), ''', ''')
            )
        END
    FROM shaped
    WHERE shape = 'sets' AND is_list AND NOT is_nested
    UNION ALL
    SELECT format('intersections: {} is no whole number, all, or list of lists', value)
    FROM shaped
    WHERE shape = 'sets' AND NOT is_list AND NOT regexp_full_match(value, '-?\d+|all')
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ' ORDER BY problem)) END AS problems
FROM problems;

SET VARIABLE input_table = getvariable('predictions');

SET VARIABLE input_attributes = getvariable('attributes');

SET VARIABLE input_id = getvariable('sample_id');

-- What is to be looked for as files: a name that is no table, view or address.
CREATE OR REPLACE TEMP MACRO fmfair_pattern(asked) AS CASE
    WHEN contains(asked, '://') THEN NULL
    WHEN lower(asked) IN (SELECT lower(t.table_name) FROM duckdb_tables() AS t) THEN NULL
    WHEN lower(asked) IN (SELECT lower(v.view_name) FROM duckdb_views() AS v) THEN NULL
    ELSE rtrim(asked, '/')
END;

-- What is wrong with the files of the variable input_pattern. Both texts of SQL are given here.
CREATE OR REPLACE TEMP MACRO fmfair_unreadable(variable) AS TABLE
    WITH files AS (
        FROM
            query(
                CASE
                    WHEN getvariable('input_pattern') IS NULL THEN 'SELECT NULL AS place LIMIT 0'
                    ELSE
                        'SELECT ''name'' AS place FROM glob(getvariable(''input_pattern'')) '
                        || 'UNION ALL '
                        || 'SELECT ''folder'' FROM glob(getvariable(''input_pattern'') || ''/*'') '
                        || 'UNION ALL '
                        || 'SELECT ''folder'' FROM glob(getvariable(''input_pattern'') || ''/*/*'')'
                END
            )
    )

    SELECT
        CASE
            WHEN 'folder' IN (SELECT f.place FROM files AS f)
                THEN format(
                    '{}: "{}" is a folder; name the files in it, such as {}/*.parquet', variable,
                    getvariable('input_pattern'), getvariable('input_pattern')
                )
            ELSE format(
                '{}: there is no file, table or view "{}"; files are looked for from the folder in '
                'which DuckDB was started, and a table of another schema needs a view', variable,
                getvariable('input_pattern')
            )
        END AS problem
    WHERE
        getvariable('input_pattern') IS NOT NULL
        AND 'name' NOT IN (SELECT f.place FROM files AS f)
        AND (
            'folder' IN (SELECT f.place FROM files AS f)
            OR NOT regexp_full_match(getvariable('input_pattern'), '\w+')
        );

-- Whatever has one of the names from here on is made by these files.
CREATE OR REPLACE TEMP TABLE fmfair_tables AS
SELECT
    name,
    NULL::BIGINT AS oid
FROM fmfair_names();
