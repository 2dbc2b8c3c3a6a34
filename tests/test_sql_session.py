"""The SQL files look at the session first: what is set, what is there already, and what may not be replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from duckdb_alone import type_in
from sql_shell import BOTH, ROOT, in_process, long, wide

import fmfair

SQL = ROOT / "sql"
README = (SQL / "README.md").read_text(encoding="utf-8")
BOTH_GIVEN: dict[str, Any] = {**BOTH, "y_true": "label", "y_score": "prob"}
SETTINGS = "SET VARIABLE predictions = 'rows'; SET VARIABLE attributes = ['sex', 'site'];"


@pytest.fixture
def shell() -> Iterator[duckdb.DuckDBPyConnection]:
    """A session with a wide table `rows` and a long one, `long_rows_given`."""
    with duckdb.connect() as connection:
        connection.register("rows", wide().to_arrow())
        connection.register("long_rows_given", long(wide(), ["sex", "site"]).to_arrow())
        yield connection


def run(connection: duckdb.DuckDBPyConnection, settings: str = SETTINGS, files: str = "evaluate") -> None:
    type_in(connection, f"{settings}\n.read sql/{files}.txt", ROOT)


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


WRONG = {
    "SET VARIABLE intersections = ['sex', 'site'];": "intersections: write a list of lists, [['sex', 'site']]",
    "SET VARIABLE intersections = ['all'];": "intersections: write 'all' without brackets",
    "SET VARIABLE intersections = 2.5;": "intersections: 2.5 is no whole number",
    "SET VARIABLE intersections = 'pairs';": "intersections: pairs is no whole number",
    "SET VARIABLE metrics = [1];": "metrics: write a list, ['auc', 'tpr']",
    "SET VARIABLE metrics = 'auk';": 'metrics: "auk" is not known',
    "SET VARIABLE attributes = 'sex';": "attributes: write a list, ['sex']",
    "SET VARIABLE attributes = ['sex', NULL];": "attributes: write one list of texts without NULL",
    "SET VARIABLE attributes = NULL;": "attributes: name at least one column",
    "SET VARIABLE \"by\" = 'model';": "\"by\": write a list, ['model']",
    "SET VARIABLE rules = 'youden';": "rules: write a list, ['youden']",
    "SET VARIABLE thresholds = 0.5;": "thresholds: write a list of numbers, [0.5], not 0.5",
    "SET VARIABLE thresholds = ['best_f1'];": "belong into rules: SET VARIABLE rules = ['best_f1']",
    "SET VARIABLE thresholds = [0.5, NULL];": "thresholds: [0.5, NULL] are not all numbers",
    "SET VARIABLE min_group_size = -1;": "min_group_size: write a whole number from 0 on",
    "SET VARIABLE weight = ['w'];": "weight: write one text in single quotes",
    "SET VARIABLE threshold = [0.4];": '"threshold" is not known, thresholds is',
    "SET VARIABLE Attribute = ['sex'];": '"attribute" is not known, attributes is',
    "SET VARIABLE label = 'truth';": '"label" is not known, y_true is',
    "SET VARIABLE metric = 'auc';": '"metric" is not known, metrics is',
    "SET VARIABLE predictions = NULL;": "predictions: not set; name a file, table or view",
    "SET VARIABLE predictions = NULL; SET VARIABLE long_predictions = 'x';": "long_predictions run evaluate_long.txt",
    "SET VARIABLE predictions = 'tests/nothing.parquet';": 'there is no file, table or view "tests/nothing.parquet"',
    "SET VARIABLE predictions = 'sql';": 'predictions: "sql" is a folder; name the files in it, such as sql/*.parquet',
    "SET VARIABLE predictions = 'Samples';": '"Samples" is a name that these files use',
    "SET VARIABLE attributes = ['gender'];": 'no column "gender"; the columns are "label", "prob", "sex", "site"',
}


@pytest.mark.parametrize("setting", WRONG)
def test_a_setting_that_cannot_be_used_stops_in_clear_words(
    setting: str, shell: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(duckdb.Error, match=re.escape(WRONG[setting])):
        run(shell, f"{SETTINGS} {setting}")


def test_all_that_is_wrong_is_said_at_once(shell: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match=r"attributes: write a list.*rules: write a list.*the variable \"label\""):
        run(shell, "SET VARIABLE rules = 'a'; SET VARIABLE attributes = 'b'; SET VARIABLE label = 'c';")


def test_a_long_table_that_is_not_named_or_not_long_stops_in_clear_words(shell: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match="long_predictions: not set"):
        run(shell, files="evaluate_long")
    with pytest.raises(duckdb.Error, match='the columns are "label", "prob", "sex", "site"'):
        run(shell, "SET VARIABLE long_predictions = 'rows';", "evaluate_long")


def test_variables_of_other_work_are_no_mistakes(shell: duckdb.DuckDBPyConnection) -> None:
    run(shell, f"{SETTINGS} SET VARIABLE path = 'x'; SET VARIABLE cutoff_date = 1; SET VARIABLE model = 'm';")


def test_one_metric_may_be_named_without_brackets(shell: duckdb.DuckDBPyConnection) -> None:
    run(shell, f"{SETTINGS} SET VARIABLE metrics = 'auc';")
    assert rows(shell, "SELECT DISTINCT metric FROM gaps") == [("auc",)]


@pytest.mark.parametrize("made", ["TABLE groups", "VIEW Samples", "TABLE rules", "MACRO near(a)"])
def test_what_is_not_ours_is_not_replaced(made: str, shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute(f"CREATE TEMP {made} AS {'a' if 'MACRO' in made else 'SELECT 7 AS a'}")
    before = rows(shell, "FROM duckdb_tables()")
    name = made.split()[1].removesuffix("(a)")
    with pytest.raises(duckdb.Error, match=f"names that these files use, and would be replaced: {name};"):
        run(shell)
    assert [t for t in rows(shell, "FROM duckdb_tables()") if not t[4].startswith("fmfair_")] == before
    assert rows(shell, "SELECT near(7)" if "MACRO" in made else f"FROM temp.{name}") == [(7,)]


def test_a_view_of_a_table_that_will_be_hidden_is_refused(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute("CREATE TABLE records AS FROM rows; CREATE TABLE groups AS SELECT 1 AS a")
    shell.execute("CREATE VIEW mine AS SELECT label, prob, sex, site FROM records")
    with pytest.raises(duckdb.Error, match='the view "mine" reads "records", a name that these files use'):
        run(shell, f"{SETTINGS} SET VARIABLE predictions = 'mine';")
    shell.execute("CREATE TABLE predictions_to_compare AS FROM mine")
    for _ in range(2):
        run(shell, "SET VARIABLE predictions = 'predictions_to_compare';")
    assert rows(shell, "FROM memory.main.groups") == [(1,)]


def test_files_replace_what_they_made_and_nothing_that_took_its_name(shell: duckdb.DuckDBPyConnection) -> None:
    run(shell)
    shell.execute("COMMENT ON TABLE gaps IS 'kept'")
    run(shell)
    with pytest.raises(duckdb.Error, match='no column "x"'):
        run(shell, "SET VARIABLE attributes = ['x'];")
    run(shell)
    shell.execute("CREATE OR REPLACE TEMP TABLE cells AS SELECT 1 AS a")
    with pytest.raises(duckdb.Error, match="would be replaced: cells;"):
        run(shell)


def test_a_setting_that_stops_leaves_no_results_of_an_earlier_run(shell: duckdb.DuckDBPyConnection) -> None:
    run(shell)
    with pytest.raises(duckdb.Error, match="rules: write a list"):
        run(shell, "SET VARIABLE rules = 'youden';")
    with pytest.raises(duckdb.CatalogException):
        shell.table("gaps")


def test_a_long_table_sets_nothing_for_a_wide_one_that_follows(shell: duckdb.DuckDBPyConnection) -> None:
    run(shell, "SET VARIABLE long_predictions = 'long_rows_given';", "evaluate_long")
    assert rows(shell, "SELECT getvariable('sample_id'), getvariable('predictions')") == [(None, None)]
    from_long = rows(shell, "FROM gaps")
    run(shell)
    assert rows(shell, "FROM gaps") == from_long


def test_every_name_is_known_and_told() -> None:
    files = "".join(p.read_text(encoding="utf-8") for p in SQL.glob("*.sql"))
    made = set(re.findall(r"\nCREATE (?:OR REPLACE )?TEMP (?:TABLE|VIEW|MACRO) (?:IF NOT EXISTS )?(\w+)", files))
    with duckdb.connect() as connection:
        type_in(connection, ".read sql/session.sql", ROOT)
        ours = {name for (name,) in rows(connection, "FROM fmfair_names()")}
    assert ours == {name for name in made if not name.startswith("fmfair_")}
    told = README[README.index("macros of these names") : README.index("begin with `fmfair_`")]
    assert ours <= set(re.findall(r"`(\w+)`", told))


def test_the_lists_differ_by_the_file_for_long_tables() -> None:
    wide_list, long_list = ((SQL / f"{n}.txt").read_text().splitlines() for n in ("evaluate", "evaluate_long"))
    assert [line for line in long_list if line != ".read sql/long.sql"] == wide_list
    listed = {Path(line.split()[1]).name for line in long_list if line.startswith(".read")}
    of_python = {"counts.sql", "units.sql", "spread.sql", "moments.sql", "ece_chance.sql", "curves.sql"}
    assert listed == {p.name for p in SQL.glob("*.sql")} - of_python


def test_a_locked_database_needs_no_files(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute("SET enable_external_access = FALSE")
    run(shell)
    assert rows(shell, "SELECT count(*) > 0 FROM gaps") == [(True,)]


def test_rows_without_a_label_are_counted(shell: duckdb.DuckDBPyConnection) -> None:
    shell.execute("CREATE TABLE others AS SELECT * REPLACE (CASE WHEN prob > 0 THEN label END AS label) FROM rows")
    run(shell, f"{SETTINGS} SET VARIABLE predictions = 'others';")
    unlabelled = wide().filter(pl.col("prob") == 0).height
    assert unlabelled > 0
    assert rows(shell, "SELECT n, n_unlabelled, n_usable FROM input_facts") == [(300, unlabelled, 300 - unlabelled)]


def test_groups_of_one_row_are_refused_in_the_words_of_python() -> None:
    frame = wide(site=[f"name {k}" for k in range(30)] + ["a"] * 270)
    with pytest.raises(fmfair.FmfairError, match="nearly every value of 'site'") as python:
        fmfair.evaluate(frame, **BOTH_GIVEN)
    words = re.search(r"is different \(.*e\.g\. a date by year", str(python.value))
    assert words is not None
    with pytest.raises(duckdb.Error, match='nearly every value of "site" ' + re.escape(words[0])):
        in_process(frame, BOTH)


def test_declared_levels_may_have_one_row_each() -> None:
    names = [f"name {k}" for k in range(30)]
    frame = wide(site=pl.Series([*names, *["name 0"] * 270], dtype=pl.Enum(names)))
    assert fmfair.evaluate(frame, **BOTH_GIVEN).groups.height == in_process(frame, BOTH)[0].height


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "sql").symlink_to(SQL)
    pq.write_table(wide().rename({"site": "age_group"}).to_arrow(), tmp_path / "predictions.parquet")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    with names["connection"] as connection:
        report = fmfair.evaluate("predictions.parquet", **{**BOTH_GIVEN, "attributes": ["sex", "age_group"]})
        assert connection.table("gaps").count("*").fetchall() == [(report.gaps.height,)]
