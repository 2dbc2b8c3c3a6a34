from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pandas as pd
import polars as pl
import pytest
from reports import BY_KEYS, CASE_56, HOSTILE, assert_same_report, by_key_report, evaluate, sites, with_frames

from fmfair import export
from fmfair.errors import FmfairError
from fmfair.report import Report
from fmfair.version import installed_version


def strict(text: str) -> Any:
    def refuse(name: str) -> NoReturn:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def case_56() -> Report:
    return evaluate(CASE_56)


def test_fc56_json_passes_a_strict_parser_with_null_and_its_reason_and_untouched_names(case_56: Report) -> None:
    read = strict(case_56.to_json())

    auc = {row["group"]: (row["value"], row["note"]) for row in read["groups"] if row["metric"] == "auc"}
    assert auc == {"BaNaNa": (None, "no positives"), "Infinity": (1.0, None), "NaN": (1.0, None)}
    assert all(row["group_parts"] == [row["group"]] for row in read["groups"])


def test_json_has_the_documented_keys_and_says_which_version_wrote_it(case_56: Report) -> None:
    read = strict(case_56.to_json())

    assert list(read) == [
        *("fmfair_version", "schema_version", "task", "metadata", "notes"),
        *("summary", "groups", "gaps", "overall", "curves"),
    ]
    assert (read["fmfair_version"], read["schema_version"], read["task"]) == (installed_version(), 1, "classification")
    assert read["notes"] == list(case_56.notes)
    assert read["metadata"]["conventions"] == "standard"
    assert {name: len(read[name]) for name in export.FRAMES} == {n: case_56.to_frame(n).height for n in export.FRAMES}


def test_json_numbers_keep_their_full_precision() -> None:
    report = evaluate(CASE_56.with_columns(y_score=pl.col("y_score") / 3))

    read = strict(report.to_json())

    values = report.groups["value"].drop_nulls()
    assert (values.round(12) != values).any()
    for name in ("groups", "gaps", "overall"):
        assert [row["value"] for row in read[name]] == report.to_frame(name)["value"].to_list()


def test_json_on_file_is_the_returned_text_in_utf8_and_parent_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "report.json"

    text = sites().to_json(path)

    assert path.read_bytes() == (text + "\n").encode("utf-8")
    assert list(path.parent.iterdir()) == [path]


def test_by_keys_of_every_type_become_json_values_or_text() -> None:
    rows = strict(by_key_report(BY_KEYS).to_json())["overall"]

    keys = [{name: row[name] for name in BY_KEYS} for row in rows if row["metric"] == "auc"]
    assert keys == [
        {
            "day": "2024-05-01", "level": "low", "kind": "b", "fold": 1, "external": True, "severity": 0.5,
            "dose": "1.50", "model": "NaN", "nothing": None,
        },
        {
            "day": "2024-05-02", "level": "high", "kind": "a", "fold": 2, "external": False, "severity": 1.0,
            "dose": "2.00", "model": None, "nothing": None,
        },
    ]  # fmt: skip


def test_a_by_key_that_is_nan_or_infinite_becomes_text_since_it_names_the_row() -> None:
    by = {"severity": pl.Series([1.0, math.inf, -math.inf, math.nan])}

    rows = strict(by_key_report(by).to_json())["overall"]

    assert {row["severity"] for row in rows} == {1.0, "Infinity", "-Infinity", "NaN"}


def test_a_value_that_is_not_finite_is_null_in_json(case_56: Report) -> None:
    broken = case_56.groups.with_columns(value=pl.lit(math.nan), threshold=pl.lit(math.inf))

    rows = strict(with_frames(case_56, groups=broken).to_json())["groups"]

    assert {(row["value"], row["threshold"]) for row in rows} == {(None, None)}


def test_metadata_of_any_kind_is_written_as_strict_json(case_56: Report) -> None:
    metadata = {"cuts": (40, math.inf), "path": Path("a"), 3: {"x": math.nan}, "ok": True, "none": None}

    read = strict(with_frames(case_56, metadata=metadata).to_json())

    assert read["metadata"] == {"cuts": [40, "Infinity"], "path": "a", "3": {"x": "NaN"}, "ok": True, "none": None}
    assert read["task"] is None


def test_fc56_polars_reads_the_csv_back_with_nan_and_the_empty_name_as_text(tmp_path: Path) -> None:
    report = sites(["NaN", "", "Infinity", "null", "NA"])

    report.write_csv(tmp_path / "groups.csv")

    read = pl.read_csv(tmp_path / "groups.csv")
    expected = report.groups.drop("attribute_parts", "group_parts")
    assert read.columns == expected.columns
    for name in ("attribute", "group", "metric", "threshold", "threshold_rule", "value", "n", "n_pos", "note"):
        assert read[name].to_list() == expected[name].to_list()


def test_fc56_pandas_reads_the_csv_back_as_documented(case_56: Report) -> None:
    text = case_56.write_csv()
    assert text is not None

    read = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])

    assert read["group"].unique().tolist() == ["BaNaNa", "Infinity", "NaN"]
    values = [None if math.isnan(v) else v for v in read["value"]]
    assert values == case_56.groups["value"].to_list()


def test_fc56_duckdb_reads_the_csv_back_with_the_names_as_text(tmp_path: Path, case_56: Report) -> None:
    path = tmp_path / "groups.csv"
    case_56.write_csv(path)

    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT \"group\", value FROM read_csv('{path.as_posix()}') WHERE metric = 'auc' ORDER BY 1"
        ).fetchall()

    assert found == [("BaNaNa", None), ("Infinity", 1.0), ("NaN", 1.0)]


@pytest.mark.parametrize("which", ["groups", "gaps", "overall", "summary"])
def test_csv_holds_each_frame_in_full_but_for_its_list_columns(case_56: Report, which: str) -> None:
    text = case_56.write_csv(which=which)
    assert text is not None

    read = pl.read_csv(io.StringIO(text), infer_schema_length=None)

    frame = case_56.to_frame(which)
    assert read.columns == [name for name, dtype in frame.schema.items() if dtype != pl.List]
    assert read.height == frame.height
    floats = [name for name, dtype in frame.schema.items() if dtype == pl.Float64 and frame[name].count()]
    assert floats
    assert all(read[name].to_list() == frame[name].to_list() for name in floats)


def test_csv_of_hostile_names_reads_back_unchanged() -> None:
    text = sites().write_csv()
    assert text is not None

    read = pl.read_csv(io.StringIO(text), schema_overrides={"group": pl.String})

    assert set(read["group"]) == set(HOSTILE)


def test_csv_takes_by_keys_of_every_type() -> None:
    by = {**BY_KEYS, "took": pl.Series([1, 2]).cast(pl.Duration("ms"))}

    text = by_key_report(by).write_csv(which="overall")

    assert text is not None
    assert text.splitlines()[1].startswith('"2024-05-01","low","b",1,"true",0.5,"1.50","NaN",,"0:00:00.001000","auc"')


@pytest.mark.parametrize(
    "make",
    [lambda: evaluate(CASE_56), sites, lambda: by_key_report(BY_KEYS)],
    ids=["case 56", "hostile names", "by-keys"],
)
def test_a_parquet_folder_reads_back_as_the_same_report(tmp_path: Path, make: Any) -> None:
    report = make()

    report.write_parquet(tmp_path / "results")

    assert_same_report(Report.read_parquet(tmp_path / "results"), report)
    assert sorted(p.name for p in tmp_path.rglob("*")) == [
        *("curves.parquet", "gaps.parquet", "groups.parquet", "overall.parquet", "results", "summary.parquet"),
    ]


def test_a_report_without_notes_and_metadata_reads_back_and_prints(tmp_path: Path, case_56: Report) -> None:
    report = with_frames(case_56, notes=(), metadata={})

    report.write_parquet(tmp_path / "results")

    assert_same_report(Report.read_parquet(tmp_path / "results"), report)
    assert strict(report.to_json())["notes"] == []
    assert "Notes" not in str(report)
    assert "<ul>" not in report._repr_html_()


@pytest.mark.parametrize("name", ["model=CLIP", "a*b", "[x]", "~", "{y}"])
def test_a_folder_of_any_name_reads_back_without_being_taken_for_a_pattern(
    tmp_path: Path, case_56: Report, name: str
) -> None:
    case_56.write_parquet(tmp_path / name)

    assert_same_report(Report.read_parquet(tmp_path / name), case_56)


def test_duckdb_reads_every_frame_and_its_metadata(tmp_path: Path, case_56: Report) -> None:
    case_56.write_parquet(tmp_path)  # an empty folder may be filled

    for name in export.FRAMES:
        path = (tmp_path / f"{name}.parquet").as_posix()
        with duckdb.connect() as connection:
            count = connection.execute(f"SELECT count(*) FROM '{path}'").fetchall()
            found = connection.execute(
                f"SELECT decode(key), decode(value) FROM parquet_kv_metadata('{path}')"
            ).fetchall()
        entries = dict(found)
        assert count == [(case_56.to_frame(name).height,)]
        assert (entries["fmfair_version"], entries["schema_version"]) == (installed_version(), "1")
        assert entries["task"] == "classification"
        assert json.loads(entries["notes"]) == list(case_56.notes)
        assert json.loads(entries["metadata"]) == case_56.metadata


def test_a_folder_that_fmfair_wrote_is_replaced_as_a_whole(tmp_path: Path, case_56: Report) -> None:
    sites().write_parquet(tmp_path / "results")

    case_56.write_parquet(tmp_path / "results")

    assert_same_report(Report.read_parquet(tmp_path / "results"), case_56)
    assert [p.name for p in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize("name", ["thesis.docx", "groups.parquet", "summary.parquet"])
def test_a_folder_with_a_file_of_somebody_else_is_left_alone(tmp_path: Path, case_56: Report, name: str) -> None:
    foreign = tmp_path / name
    pl.DataFrame({"mine": [1]}).write_parquet(foreign)

    with pytest.raises(FmfairError, match=rf"holds files that fmfair did not write \({name}\)"):
        case_56.write_parquet(tmp_path)

    assert pl.read_parquet(foreign)["mine"].to_list() == [1]
    assert list(tmp_path.iterdir()) == [foreign]


def test_a_failure_in_the_middle_of_a_parquet_folder_leaves_the_old_one(
    tmp_path: Path, case_56: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sites()
    before.write_parquet(tmp_path / "results")
    written: list[str] = []
    write = pl.DataFrame.write_parquet

    def fail_at_the_third(frame: pl.DataFrame, file: Path, **options: Any) -> None:
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(file.name)
        write(frame, file, **options)

    with monkeypatch.context() as patched:
        patched.setattr(pl.DataFrame, "write_parquet", fail_at_the_third)
        for folder in ("results", "other"):
            written.clear()
            with pytest.raises(FmfairError, match=f"cannot write .*{folder}: No space left on device"):
                case_56.write_parquet(tmp_path / folder)

    assert [p.name for p in tmp_path.iterdir()] == ["results"]
    assert_same_report(Report.read_parquet(tmp_path / "results"), before)


def test_an_error_of_polars_while_writing_is_ours_and_leaves_nothing(tmp_path: Path, case_56: Report) -> None:
    broken = case_56.groups.with_columns(value=pl.Series([object()] * case_56.groups.height, dtype=pl.Object))

    with pytest.raises(FmfairError, match=r"cannot write .*results"):
        with_frames(case_56, gaps=broken).write_parquet(tmp_path / "results")

    assert list(tmp_path.iterdir()) == []


def test_reading_names_the_missing_files_and_refuses_what_is_no_report(tmp_path: Path, case_56: Report) -> None:
    with pytest.raises(FmfairError, match=r"'summary\.parquet', 'groups\.parquet', .* not found"):
        Report.read_parquet(tmp_path / "nowhere")

    case_56.write_parquet(tmp_path / "cut")
    path = tmp_path / "cut" / "gaps.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FmfairError, match=r"cannot read the report in .*cut"):
        Report.read_parquet(tmp_path / "cut")

    for name in export.FRAMES:
        pl.DataFrame({"x": [1]}).write_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(FmfairError, match="were not written by fmfair"):
        Report.read_parquet(tmp_path)


def test_reading_a_newer_schema_says_to_update(
    tmp_path: Path, case_56: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(export, "SCHEMA_VERSION", 2)
        case_56.write_parquet(tmp_path / "results")

    with pytest.raises(FmfairError, match=r"newer than this one .*update fmfair"):
        Report.read_parquet(tmp_path / "results")
