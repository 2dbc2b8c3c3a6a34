"""The SQL files in DuckDB alone give the groups and gaps of `fmfair.evaluate`, on Parquet written by pyarrow."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from duckdb_alone import type_in
from hypothesis import assume, given
from hypothesis import strategies as st
from property_tests import unshrunk
from random_tables import Table, tables
from reports import evaluate
from sql_shell import BOTH, ROOT, assert_same_table, column, commands, in_process, long, wide

from fmfair.options import as_number

HOSTILE = ['a"b', "it's", '"; DROP TABLE x; --', "select", "new\nline", "back\\slash & co", "", "x" * 10_000, "ünï 中"]


@dataclass(frozen=True)
class Case:
    """A table, how many files it is written to, and the arguments of `evaluate`."""

    frame: pl.DataFrame
    arguments: dict[str, Any] = field(default_factory=dict)
    files: int = 1


KEYS = {"model": column(5, ["m2", "m1", None]), "fold": column(6, [10, 9, 2])}
MANY = [0.5, 0.0, 1.0, 0.35, "best_f1", "youden", "tpr=0.9", "tnr=0.95", "tpr=1"]
NAMES = {f"{name}{i}": column(10 + i, [*HOSTILE, None]) for i, name in enumerate(HOSTILE[:7])}
TYPES = {
    "flag": column(20, [True, False, None]),
    "day": column(21, [datetime.date(2024, 2, 29), datetime.date(1999, 12, 31)]),
    "time": column(
        22, list(map(datetime.datetime.fromisoformat, ["2024-01-01T02:03:04", "2024-01-01T02:03:04.00005"]))
    ),
    "code": column(23, [10, 9, 2, None]),
    "half": column(24, [1.0, 2.5, 10.0, float("nan"), None, 1e-05, 1e16]),
    "text": column(25, ["10", "9", "2.5", "-1"]),
    "mixed": column(26, ["10", "9", "x", "X", "é"]),
}
PARAMETERS = [
    *("tpr_at_fpr(0.1)", "partial_auc(fpr=(0, 0.2))", "partial_auc(fpr=(0.6, 1))", "auc", "ece_quantile"),
    *("partial_auc(tpr=(0.5, 0.8), corrected=False)", "ece(bins=7, norm='rms', strategy='uniform')"),
]
# What the shell takes where nothing is said.
USUAL = {"y_true": "label", "y_score": "prob", "by": []}
FAIRMEDFM = {"conventions": "fairmedfm", "metrics": "all"}

CASES = {
    "no by-key": Case(wide(), BOTH),
    "one by-key": Case(wide(**KEYS), {**BOTH, "by": ["model"], "intersections": 2}),
    "several by-keys": Case(
        wide(**KEYS), {**BOTH, "by": ["model", "fold"], "thresholds": MANY, "intersections": "all"}
    ),
    "fifty files": Case(wide(**KEYS), {**BOTH, "by": ["fold"]}, files=50),
    "every metric": Case(wide(), {**BOTH, "metrics": "all", "thresholds": MANY, "intersections": 2}),
    "one threshold": Case(wide(), {**BOTH, "thresholds": [0.4]}),
    "a rule alone": Case(wide(), {**BOTH, "thresholds": ["best_f1"]}),
    "parameters": Case(
        wide(),
        {
            **BOTH,
            "metrics": PARAMETERS,
        },
    ),
    "missing labels": Case(wide(label=column(7, [0.0, 1.0, None, float("nan")])), BOTH),
    "NaN as the missing label": Case(wide(label=column(7, [0.0, 1.0, float("nan")])), BOTH),
    "booleans as labels": Case(wide(label=column(7, [True, False])), BOTH),
    "one class": Case(wide(label=[1] * 300), {**BOTH, "metrics": "all", "thresholds": MANY}),
    "one class in a group": Case(wide(label=[int(s == "F") for s in wide()["sex"]]), {**BOTH, "metrics": "all"}),
    "equal scores": Case(wide(prob=[0.5] * 300), {**BOTH, "metrics": "all", "thresholds": MANY}),
    "decisions as scores": Case(wide(prob=column(8, [0, 1])), {**BOTH, "thresholds": MANY}),
    "an attribute that is missing": Case(wide(sex=pl.Series([None] * 300, dtype=pl.String)), BOTH),
    "a group without labels": Case(wide(label=[None if s == "F" else 1 for s in wide()["sex"]]), BOTH),
    "two rows": Case(wide()[:2], BOTH),
    "small groups": Case(wide(), {**BOTH, "min_group_size": 75}),
    "single precision": Case(
        wide(prob=pl.Series(column(2, [0.7, 0.1, 0.3]), dtype=pl.Float32)), {**BOTH, "thresholds": [0.7, 0.1]}
    ),
    "logits": Case(
        wide(prob=column(2, [-800.0, -1.5, 0.0, 0.25, 40.0, 800.0])), {**BOTH, "metrics": "all", "thresholds": MANY}
    ),
    "ranks": Case(wide(prob=column(2, [1.0, 2.5, 7.0])), {**BOTH, "metrics": "all"}),
    "ranks by name": Case(wide(), {**BOTH, "score_type": "rank", "thresholds": [0.5]}),
    "weights": Case(
        wide(w=column(9, [0.0, 1.0, 2.5, 0.1])), {**BOTH, "weight": "w", "metrics": "all", "thresholds": MANY}
    ),
    "other names": Case(
        wide().rename({"label": "Truth ?", "prob": 'p"1'}).with_row_index("no"),
        {**BOTH, "y_true": "Truth ?", "y_score": 'p"1', "sample_id": "no"},
    ),
    "hostile names": Case(
        wide(**NAMES), {"attributes": list(NAMES)[:4], "by": list(NAMES)[4:5], "intersections": [list(NAMES)[:2]]}
    ),
    "hostile by-keys": Case(wide(**NAMES), {**BOTH, "by": list(NAMES)[2:4]}),
    "types": Case(wide(**TYPES), {"attributes": list(TYPES), "metrics": ["auc", "tpr"], "intersections": 2}),
    "by-keys of all types": Case(
        wide(**TYPES), {"attributes": ["sex"], "by": ["flag", "day", "code"], "metrics": ["auc"]}
    ),
    "attributes in another order": Case(
        wide(**TYPES), {"attributes": ["mixed", "sex", "code"], "intersections": [["mixed", "sex"]]}
    ),
    "fairmedfm": Case(wide(**KEYS), {**BOTH, **FAIRMEDFM, "by": ["model"], "intersections": 2}),
    "fairmedfm, logits": Case(wide(prob=column(2, [-800.0, -1.5, 0.0, 0.25, 40.0, 800.0])), {**BOTH, **FAIRMEDFM}),
    "fairmedfm, one class": Case(wide(label=[int(s == "F") for s in wide()["sex"]]), {**BOTH, **FAIRMEDFM}),
    "fairmedfm, numbers and text": Case(wide(**TYPES), {"attributes": ["mixed", "text"], **FAIRMEDFM}),
    "long": Case(long(wide(), ["sex", "site"])),
    "long, by-keys": Case(
        long(wide(**KEYS), ["site", "sex"], dropped=True), {"by": ["model"], "intersections": 2, "thresholds": MANY}
    ),
    "long, hostile names": Case(
        long(wide(**NAMES).drop("sex", "site"), list(NAMES)[:4]).rename({"sample_id": "no. '1'"}),
        {"sample_id": "no. '1'", "by": ["new\nline4"]},
    ),
    "long, weights": Case(long(wide(w=column(9, [0.5, 1.0])).drop("site"), ["sex"]), {"weight": "w"}),
}


# So many cases share a process.
TOGETHER = 6


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder with the results of a case; a process that knows DuckDB alone makes those of a few cases at once."""
    folder = tmp_path_factory.mktemp("shell")
    names = list(CASES)

    def of(name: str) -> Path:
        place = names.index(name)
        if not (folder / f"{place}").exists():
            first = place - place % TOGETHER
            _run({i: CASES[names[i]] for i in range(first, min(first + TOGETHER, len(names)))}, folder)
        return folder / f"{place}"

    return of


def _run(cases: dict[int, Case], folder: Path) -> None:
    jobs = []
    for i, case in cases.items():
        results = folder / f"{i}"
        results.mkdir()
        for k in range(case.files):
            pq.write_table(case.frame[k :: case.files].to_arrow(), results / f"part{k}.parquet")
        typed = commands(str(results / "part*.parquet"), case.arguments)
        jobs.append({"folder": str(ROOT), "commands": typed, "results": str(results)})
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    script = Path(__file__).with_name("duckdb_alone.py")
    subprocess.run([sys.executable, "-I", str(script), str(folder / "jobs.json")], check=True, timeout=300)


@pytest.mark.parametrize("name", CASES)
def test_duckdb_alone_gives_the_tables_of_the_report(name: str, answers: Callable[[str], Path]) -> None:
    case = CASES[name]
    report = evaluate(case.frame, **{**USUAL, **case.arguments})
    assert report.groups.height > 0
    assert_same_table(pl.read_parquet(answers(name) / "groups.parquet"), report.groups)
    assert_same_table(pl.read_parquet(answers(name) / "gaps.parquet"), report.gaps)


@given(st.data())
@unshrunk(4)
@pytest.mark.parametrize("scale", ["probability", "logit", "rank"])
def test_any_table_gives_the_tables_of_the_report(scale: str, data: st.DataObject) -> None:
    by = data.draw(st.sampled_from([(), (2,), (2, 3)]))
    weights = data.draw(st.sampled_from([None, "whole"]))
    table: Table = data.draw(tables(scale=scale, by=by, weights=weights))
    arguments = dict(table.arguments)
    assume(not arguments.pop("bins", None))
    thresholds = [t for t in arguments["thresholds"] or [] if not isinstance(t, dict)]
    arguments["thresholds"] = sorted(thresholds, key=lambda t: as_number(t) is None) or None
    report = evaluate(table.frame, **arguments)
    groups, gaps = in_process(table.frame, arguments)
    assert_same_table(groups, report.groups)
    assert_same_table(gaps, report.gaps)


def test_an_enum_keeps_its_order_and_its_unused_levels() -> None:
    levels = ["never", "later", "it's", "a, 'b'", "first"]
    frame = wide(stage=pl.Series(column(30, levels[1:]), dtype=pl.Enum(levels)))
    arguments: dict[str, Any] = {"attributes": ["stage", "sex"], "intersections": 2}
    report = evaluate(frame, **{**USUAL, **arguments})
    groups, _ = in_process(frame, arguments)
    assert groups.filter(attribute="stage")["group"].unique(maintain_order=True).to_list() == levels
    assert_same_table(groups, report.groups)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sql\n(.*?)```", readme, flags=re.DOTALL)
    assert len(blocks) >= 3
    (tmp_path / "sql").symlink_to(ROOT / "sql")
    ages = pl.Series(column(31, ["<40", "40-60", ">=60"]))
    table = wide(age_group=ages, **KEYS)
    pq.write_table(table.to_arrow(), tmp_path / "predictions.parquet")
    pq.write_table(long(table, ["sex", "age_group"]).to_arrow(), tmp_path / "long.parquet")
    shell = shutil.which("duckdb")
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        with duckdb.connect() as connection:
            type_in(connection, block, tmp_path)
            assert connection.table("gaps").count("*").fetchall()[0][0] > 0
        if shell:  # the command line itself, where there is one
            subprocess.run([shell], input=block, text=True, check=True, timeout=60, stdout=subprocess.DEVNULL)
