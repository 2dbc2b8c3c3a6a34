-- What is asked for: the metrics and the thresholds, in a bare DuckDB shell, after samples.sql.
--
-- Variables, optional
--     metrics     names of metrics: ['auc', 'tpr_at_fpr(0.1)'], one name, or 'all'; the table
--                 `registry` lists them, and marks those that are measured where nothing is set
--     thresholds  numbers: [0.5, 0.35]
--     rules       rules that choose a threshold: ['best_f1', 'youden', 'tpr=0.9', 'tnr=0.95'];
--                 they follow the numbers
-- Makes `requested` and `wanted`, as all other files read them.
--
-- Definition: without thresholds and rules the threshold is 0.5, under the published conventions
-- 0.5 and best_f1; scores that only rank have none. Reference: fmfair/options.py,
-- fmfair/metrics/registry.py.
--
-- Traps
-- - Parameters are read in one spelling: tpr_at_fpr(0.1), partial_auc(fpr=(0, 0.2)),
--   partial_auc(tpr=(0.8, 1), corrected=False), ece(bins=15, norm='rms', strategy='quantile').
-- - Text is quoted by doubling: 'ece(bins=15, norm=''rms'')'.

CREATE OR REPLACE TEMP TABLE wanted AS
WITH numbers AS (SELECT coalesce(getvariable('thresholds')::DOUBLE[], []) AS numbers),

rules AS (SELECT coalesce(getvariable('rules')::VARCHAR[], []) AS rules),

asked AS (
    SELECT
        unnest(generate_series(1, len(numbers))) AS place,
        'fixed' AS rule,
        unnest(numbers) AS threshold
    FROM numbers
    UNION ALL
    SELECT
        (SELECT len(numbers) FROM numbers) + unnest(generate_series(1, len(rules))) AS place,
        unnest(rules) AS rule,
        NULL AS threshold
    FROM rules
),

defaults (place, rule, threshold) AS (
    VALUES (1, 'fixed', 0.5), (2, 'best_f1', NULL)
)

SELECT
    place::INTEGER - 1 AS t,
    rule,
    NULL::INTEGER AS "by",
    threshold::DOUBLE AS threshold
FROM asked
UNION ALL
SELECT
    place::INTEGER - 1 AS t,
    rule,
    NULL::INTEGER AS "by",
    threshold::DOUBLE AS threshold
FROM defaults
WHERE
    NOT EXISTS (FROM asked)
    AND getvariable('probability') AND (rule = 'fixed' OR getvariable('strict'));

-- A number as it is written in the name of a metric.
CREATE OR REPLACE TEMP MACRO plain(number) AS regexp_replace(number::VARCHAR, '\.0$', '');

CREATE OR REPLACE TEMP TABLE requested AS
WITH listed AS (
    SELECT
        coalesce(
            CASE
                WHEN ends_with(typeof(getvariable('metrics')), '[]')
                    THEN TRY_CAST(getvariable('metrics') AS VARCHAR[])
                WHEN CAST(getvariable('metrics') AS VARCHAR) <> 'all'
                    THEN [CAST(getvariable('metrics') AS VARCHAR)]
            END,
            list(metric ORDER BY position) FILTER (
                WHERE is_default OR CAST(getvariable('metrics') AS VARCHAR) = 'all'
            )
        ) AS names
    FROM registry
),

asked AS (
    SELECT
        trim(unnest(names)) AS name,
        generate_subscripts(names, 1) AS place
    FROM listed
),

parsed AS (
    SELECT
        name,
        place,
        regexp_extract(
            name,
            '^partial_auc\(\s*(fpr|tpr)\s*=\s*\(\s*([\d.e-]+)\s*,\s*([\d.e-]+)\s*\)\s*'
            || '(,\s*corrected\s*=\s*(True|False)\s*)?\)$',
            ['over', 'low', 'high', 'more', 'corrected']
        ) AS area,
        regexp_extract(name, '^tpr_at_fpr\(\s*([\d.e-]+)\s*\)$', 1) AS "limit",
        regexp_full_match(
            name, 'ece\(\s*((bins\s*=\s*\d+|(norm|strategy)\s*=\s*[''"]\w+[''"])\s*,?\s*)*\)'
        ) AS is_ece,
        coalesce(nullif(regexp_extract(name, 'bins\s*=\s*(\d+)', 1), ''), '10') AS bins,
        coalesce(nullif(regexp_extract(name, 'norm\s*=\s*.(\w+)', 1), ''), 'absolute') AS norm,
        coalesce(nullif(regexp_extract(name, 'strategy\s*=\s*.(\w+)', 1), ''), 'uniform')
            AS strategy
    FROM asked
),

found AS (
    SELECT
        p.place,
        r.metric,
        r.kind,
        r.low,
        r.high,
        r."over",
        r.corrected,
        r.bins,
        r.norm,
        r.strategy
    FROM parsed AS p
    INNER JOIN registry AS r ON p.name = r.metric
    UNION ALL
    SELECT
        place,
        format(
            'partial_auc({}=({}, {}){})', area['over'], plain(area['low']::DOUBLE),
            plain(area['high']::DOUBLE),
            CASE WHEN area['corrected'] = 'False' THEN ', corrected=False' ELSE '' END
        ) AS metric,
        'partial_auc' AS kind,
        area['low']::DOUBLE AS low,
        area['high']::DOUBLE AS high,
        area['over'] AS "over",
        area['corrected'] <> 'False' AS corrected,
        NULL AS bins,
        NULL AS norm,
        NULL AS strategy
    FROM parsed
    WHERE area['over'] <> ''
    UNION ALL
    SELECT
        place,
        format('tpr_at_fpr({})', plain("limit"::DOUBLE)) AS metric,
        'tpr_at_fpr' AS kind,
        NULL AS low,
        "limit"::DOUBLE AS high,
        NULL AS "over",
        NULL AS corrected,
        NULL AS bins,
        NULL AS norm,
        NULL AS strategy
    FROM parsed
    WHERE "limit" <> ''
    UNION ALL
    SELECT
        place,
        format('ece(bins={}, norm=''{}'', strategy=''{}'')', bins, norm, strategy) AS metric,
        'ece' AS kind,
        NULL AS low,
        NULL AS high,
        NULL AS "over",
        NULL AS corrected,
        bins::INTEGER AS bins,
        norm,
        strategy
    FROM parsed
    WHERE is_ece
),

answered AS (
    SELECT
        a.name,
        a.place,
        f.* EXCLUDE (place)
    FROM asked AS a
    LEFT JOIN found AS f ON a.place = f.place
    QUALIFY row_number() OVER (PARTITION BY coalesce(f.metric, a.name) ORDER BY a.place) = 1
)

-- Each metric once; a name that is not known, or whose parameters make no sense, stops here.
SELECT
    (row_number() OVER (ORDER BY place) - 1)::INTEGER AS position,
    CASE
        WHEN kind IS NULL
            THEN error(format('metrics: "{}" is not known, see the table registry', name))
        WHEN
            kind = 'ece' AND (
                bins NOT BETWEEN 1 AND 1000
                OR norm NOT IN ('absolute', 'squared', 'rms')
                OR strategy NOT IN ('uniform', 'quantile')
            )
            OR kind IN ('partial_auc', 'tpr_at_fpr') AND (
                coalesce(low >= high, FALSE) OR high > 1 OR least(low, high) < 0
            )
            THEN error(format('metrics: "{}" has parameters out of range', name))
        ELSE metric
    END AS metric,
    kind,
    low,
    high,
    "over",
    corrected,
    bins::INTEGER AS bins,
    norm,
    strategy
FROM answered
ORDER BY position;

CREATE OR REPLACE TEMP TABLE checked_thresholds AS
WITH problems AS (
    SELECT format('rules: "{}" is no best_f1, youden, tpr=0.9 or tnr=0.95', rule) AS problem
    FROM wanted
    WHERE
        rule NOT IN ('fixed', 'best_f1', 'youden')
        AND NOT coalesce(
            TRY_CAST(regexp_extract(rule, '^(tpr|tnr)\s*=\s*(\S+)$', 2) AS DOUBLE) BETWEEN 0 AND 1,
            FALSE
        )
    UNION ALL
    SELECT format('rules: "{}" is not part of the fairmedfm conventions, best_f1 is', rule)
    FROM wanted
    WHERE getvariable('strict') AND rule NOT IN ('fixed', 'best_f1')
    UNION ALL
    SELECT format('thresholds: {} is no finite number', threshold)
    FROM wanted
    WHERE rule = 'fixed' AND NOT coalesce(isfinite(threshold), FALSE)
)

SELECT CASE WHEN count(*) > 0 THEN error(string_agg(problem, '; ')) END AS problems
FROM problems;
