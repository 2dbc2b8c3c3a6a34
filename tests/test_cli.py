"""The command line from end to end: exit status, streams, formats, and the cases from the field."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command_line import (
    BLOOD,
    DATA,
    DICE,
    ROOT,
    TABLE,
    assert_same,
    process,
    refused,
    rows,
    run,
    scored,
    strict_json,
    written,
)

import fmfair
from fmfair.report import Report


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path)


def test_the_psa_example_gives_its_published_numbers_as_csv() -> None:
    done = process("score", DATA / "blood_storage.csv", *BLOOD, "--missing-scores", "drop", "--format", "csv")

    assert done.returncode == 0, done.stderr
    frame = pl.read_csv(done.stdout.encode()).filter(pl.col("metric") == "auc")
    assert [f"{v:.6f}" for v in frame["value"]] == ["0.747086", "0.590056"]
    assert "fmfair: warning: --score: 3 rows with 3 missing (NULL or NaN) in 'PreopPSA' left out" in done.stderr


def test_the_psa_example_gives_its_published_numbers_as_json_and_as_a_table() -> None:
    args = (DATA / "blood_storage.csv", *BLOOD, "--missing-scores", "drop")

    (overall,) = rows(scored(*args).report["overall"], metric="auc")
    shown = run("score", *args).out

    assert f"{overall['value']:.6f}" == "0.725980"
    assert all(number in shown for number in ("0.726", "0.747 [", "0.590 ["))


def test_the_chest_xray_example_gives_its_published_sensitivities() -> None:
    pair = "Pneumothorax=expert_pneumothorax,nlp_pneumothorax"

    done = process(
        *("score", DATA / "nih_expert_labels.csv", "--pair", pair, "--sensitive", "sex", "age", "view"),
        *("--bins", "age=40,60", "--intersections", "2", "--format", "json"),
    )

    assert done.returncode == 0, done.stderr
    groups = strict_json(done.stdout)["groups"]
    tpr = {row["group"]: row["value"] for row in rows(groups, metric="tpr", attribute="view", label="Pneumothorax")}
    assert {k: round(v, 3) for k, v in tpr.items()} == {"AP": 0.361, "PA": 0.581}
    assert {row["attribute"] for row in groups} == {"sex", "age", "view", "sex & age", "sex & view", "age & view"}


def test_json_on_standard_output_is_the_report_of_the_python_function(table: Path) -> None:
    options = {"attributes": ["sex", "site"], "intersections": 2, "thresholds": [0.4, "best_f1"]}
    expected = fmfair.evaluate(table, **options)  # type: ignore[arg-type]  # of a dictionary

    found = scored(table, "--sensitive", "sex", "site", "--intersections", 2, "--threshold", 0.4, "best_f1").report

    options_as_typed = "--sensitive sex site --intersections 2 --threshold 0.4 best_f1"
    assert found["metadata"].pop("command") == f"fmfair score {table.name} {options_as_typed}"
    assert_same(found, strict_json(expected.to_json()))


def test_json_of_a_segmentation_is_the_report_of_the_python_function(tmp_path: Path) -> None:
    path = written(tmp_path, DICE)

    found = scored(path, "--sensitive", "sex").report

    assert found["metadata"].pop("command") == f"fmfair score {path.name} --sensitive sex"
    assert found == strict_json(fmfair.evaluate_segmentation(path, attributes="sex").to_json())


def test_files_hold_what_is_printed(table: Path, tmp_path: Path) -> None:
    for name, form in (("new/report.json", "json"), ("groups.csv", "csv")):
        result = run("score", table, "--sensitive", "sex", "--output", tmp_path / name, "--format", form)

        assert result.status == 0
        assert (tmp_path / name).read_text(encoding="utf-8") == result.out


@pytest.mark.parametrize("name", ["results", "results/", "results.parquet/"])
def test_a_folder_holds_the_report_as_parquet(table: Path, tmp_path: Path, name: str) -> None:
    result = scored(table, "--sensitive", "sex", "--output", f"{tmp_path}/{name}")

    back = Report.read_parquet(f"{tmp_path}/{name}")
    assert strict_json(back.to_json()) == result.report


def test_notes_go_to_standard_error_and_rows_left_out_are_warnings(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(label=pl.when(pl.col("id") != "p3").then("label")))

    result = run("score", path, "--sensitive", "sex")

    lines = result.err.splitlines()
    assert "fmfair: warning: --label: 1 row with a missing label in 'label' left out" in lines
    assert all(line.startswith(("fmfair: note: ", "fmfair: warning: ")) for line in lines)
    assert "left out" not in result.out


def test_quiet_prints_the_result_only(table: Path) -> None:
    loud, quiet = run("score", table), run("score", table, "--quiet")

    assert loud.err
    assert quiet == (0, loud.out, "")


def test_the_default_format_is_the_table_also_in_a_pipe(table: Path) -> None:
    done = process("score", table, "--sensitive", "sex")

    assert done.stdout == run("score", table, "--sensitive", "sex").out
    assert done.stdout.startswith("fmfair report: classification, 12 samples")


def test_nothing_computed_is_exit_status_1_with_the_reason_and_the_report(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.filter(pl.col("sex") == "F"))

    result = run("score", path, "--sensitive", "sex", "--format", "json", "--output", tmp_path / "report.json")

    assert result.status == 1
    assert "fmfair: failed: nothing could be computed: no gap is defined (1 of 1 groups" in result.err
    assert result.summary["auc-gap"] is None
    assert (tmp_path / "report.json").exists()


def test_a_metric_outside_the_summary_counts_as_computed(table: Path) -> None:
    assert scored(table, "--sensitive", "sex", "--metrics", "ppv").summary["auc-gap"] is None


def test_version_and_help_are_printed_without_polars() -> None:
    code = "import sys; from fmfair.cli import main; print(main(sys.argv[1:]), 'polars' in sys.modules)"

    for args, expected in ((["--version"], "fmfair "), (["score", "--help"], "--sensitive"), (["--help"], "metrics")):
        done = subprocess.run([sys.executable, "-c", code, *args], cwd=ROOT, capture_output=True, text=True, check=True)
        assert expected in done.stdout
        assert done.stdout.splitlines()[-1] == "0 False"


def test_every_option_is_in_the_help_in_its_panel() -> None:
    text = process("score", "--help").stdout

    panels = [text.index(f"─ {name} ─") for name in ("Data", "Classification", "Segmentation", "Output")]
    assert panels == sorted(panels)
    for flag, panel in (("--bins", 0), ("--positive", 1), ("--empty-score", 2), ("--fail-if", 3)):
        assert panels[panel] < text.index(flag) < ([*panels, len(text)])[panel + 1]
    assert "auc.worst[sex]<0.8" in text


def test_a_reader_that_leaves_early_is_no_error(table: Path) -> None:
    command = (
        f"{sys.executable} -m fmfair score {table} --sensitive sex --format json | head -n 1; echo ${{PIPESTATUS[0]}}"
    )

    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["{", "0"]
    assert "Broken" not in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_is_exit_status_130(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fmfair.cli.score.evaluated", interrupted)

    assert run("score", table).status == 130


def test_text_that_the_output_cannot_encode_is_printed_all_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(sex=pl.col("sex").replace({"F": "Frau 🙂\n", "M": "Mann"})))
    code = "import sys, io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='ascii'); "
    code += f"from fmfair.cli import main; main(['score', {str(path)!r}, '--format', 'json'])"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)

    assert {row["group"] for row in strict_json(done.stdout.decode())["groups"]} >= {"Frau 🙂\n", "Mann"}


# --- the cases


def test_fc51_text_such_as_na_is_a_group_in_csv_as_in_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": range(1, 13),
            "label": [0, 1] * 6,
            "score": [0.1, 0.9, 0.2, 0.4, 0.8, 0.7, 0.3, 0.6, 0.5, 0.4, 0.2, 0.1],
            "region": ["NA"] * 4 + ["EU"] * 4 + ["None"] * 4,
        }
    )
    frame.write_parquet(tmp_path / "pred.parquet")

    for path in (written(tmp_path, frame, "pred.csv"), tmp_path / "pred.parquet"):
        result = scored(path, "--sensitive", "region")

        assert result.groups() == {"EU": 0.5, "NA": 1.0, "None": 0.25}
        assert result.summary["auc-gap"] == 0.75
        assert result.summary["worst-auc"] == 0.25
        assert {r["group"]: r["n"] for r in rows(result.report["groups"], metric="auc")} == dict.fromkeys(
            ("NA", "EU", "None"), 4
        )
        assert "warning" not in result.err


def test_fc53_a_patient_twice_in_the_metadata_is_refused_by_id(tmp_path: Path) -> None:
    images = pl.DataFrame({"id": [41, 41, 43, 44], "label": [0, 1, 0, 1], "score": [0.2, 0.9, 0.7, 0.6]})
    people = pl.DataFrame({"id": [41, 41, 42, 43, 44], "sex": ["F", "M", "F", "M", "M"]})
    path = written(tmp_path, images, "predictions.csv")

    message = refused(path, "--metadata", written(tmp_path, people, "demographics.csv"), "--sensitive", "sex")
    once = people.unique("id", keep="first", maintain_order=True)
    result = scored(path, "--metadata", written(tmp_path, once, "once.csv"), "--sensitive", "sex")

    assert message == "id 41 occurs 2 times in the metadata; it must identify one row"
    assert result.report["metadata"]["n_samples"] == 4
    assert result.groups() == {"F": 1.0, "M": 0.0}
    assert result.summary["auc-gap"] == 1.0


def test_fc54_two_label_columns_are_named_unchanged(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.with_columns(y_true="label"))

    message = refused(path, "--sensitive", "sex")

    assert message == "several columns could be the label: 'label' and 'y_true'; choose one with --label"


def test_fc54_a_space_after_a_header_is_seen_in_the_message(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE.rename({"sex": "Sex "}))

    message = refused(path, "--sensitive", "Sex")

    assert message.startswith("--sensitive Sex: no column 'Sex'; did you mean 'Sex '?")
    assert scored(path, "--sensitive", "Sex ").groups() == scored(written(tmp_path), "--sensitive", "sex").groups()


def test_fc54_a_semicolon_table_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "europe.csv"
    path.write_text("id;label;score;sex\n1;0;0,2;F\n2;1;0,8;F\n3;0;0,3;M\n4;1;0,7;M\n")

    message = refused(path, "--sensitive", "sex")

    assert "found one column named 'id;label;score;sex'" in message
    assert "separator" in message


def test_fc54_columns_may_bear_the_words_of_sql(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "select": [0, 1, 0, 1],
            "order": [0.2, 0.8, 0.3, 0.7],
            "group": ["F", "F", "M", "M"],
            'Patient "sex"': ["F", "F", "M", "M"],
            "count(*)": ["u", "u", "v", "v"],
        }
    )
    args = ("--label", "select", "--score", "order", "--sensitive", "group", 'Patient "sex"', "count(*)")

    result = scored(written(tmp_path, frame), *args)

    assert [row["auc-gap"] for row in result.report["summary"]] == [0.0, 0.0, 0.0]
    assert {row["value"] for row in rows(result.report["groups"], metric="auc")} == {1.0}


def test_fc56_sites_called_nan_and_infinity_survive_json_and_csv(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "y_true": [0, 1, 0, 1, 0, 0],
            "y_score": [0.1, 0.9, 0.3, 0.8, 0.2, 0.4],
            "site": ["NaN", "NaN", "Infinity", "Infinity", "BaNaNa", "BaNaNa"],
        }
    )
    path = written(tmp_path, frame)

    result = scored(path, "--sensitive", "site")
    table = pl.read_csv(run("score", path, "--sensitive", "site", "--format", "csv").out.encode())

    assert result.groups() == {"BaNaNa": None, "Infinity": 1.0, "NaN": 1.0}
    (undefined,) = rows(result.report["groups"], metric="auc", group="BaNaNa")
    assert undefined["note"] == "no positives"
    assert table.filter(pl.col("metric") == "auc")["group"].to_list() == ["BaNaNa", "Infinity", "NaN"]
