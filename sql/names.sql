-- Which columns hold numbers, and the text that names a value as a group, in a bare DuckDB shell.
--
-- Definition: 1.0 is called 1, booleans True and False, dates and times by their ISO form; NULL and
-- NaN are one missing value. Reference: fmfair/convert.py.
--
-- Trap: a macro is bound for the type of its argument, whichever branch is taken. TRY_CAST makes
-- every branch fit every type.

CREATE OR REPLACE TEMP MACRO is_number(type) AS
regexp_full_match(type, 'U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BIGNUM');

CREATE OR REPLACE TEMP MACRO text_of(v) AS CASE
    WHEN typeof(v) = 'BOOLEAN'
        THEN CASE TRY_CAST(v AS BOOLEAN) WHEN TRUE THEN 'True' WHEN FALSE THEN 'False' END
    WHEN typeof(v) IN ('FLOAT', 'DOUBLE') AND isnan(TRY_CAST(v AS DOUBLE)) THEN NULL
    WHEN
        typeof(v) IN ('FLOAT', 'DOUBLE')
        AND trunc(TRY_CAST(v AS DOUBLE)) = TRY_CAST(v AS DOUBLE)
        AND abs(TRY_CAST(v AS DOUBLE)) < 1e38
        THEN CAST(TRY_CAST(v AS HUGEINT) AS VARCHAR)
    WHEN typeof(v) IN ('FLOAT', 'DOUBLE') THEN CAST(TRY_CAST(v AS DOUBLE) AS VARCHAR)
    WHEN typeof(v) = 'TIMESTAMP' AND microsecond(TRY_CAST(v AS TIMESTAMP)) % 1000000 > 0
        THEN strftime(TRY_CAST(v AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S.%f')
    WHEN typeof(v) = 'TIMESTAMP'
        THEN strftime(TRY_CAST(v AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S')
    ELSE CAST(v AS VARCHAR)
END;
