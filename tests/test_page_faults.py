"""What the HTML document and the figures make of texts, plans and options that nobody should have given."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import fmfair
from fmfair.errors import FmfairError
from fmfair.page.plan import plan_of

ROWS = pl.DataFrame({"y_true": [0, 1] * 20, "y_score": [0.2, 0.7, 0.6, 0.9] * 10, "sex": ["F", "M"] * 20})


def page(report: fmfair.Report, folder: Path, plan: object = None) -> str:
    report.write_html(folder / "report.html", plan=plan)  # type: ignore[arg-type]
    return (folder / "report.html").read_text(encoding="utf-8")


def test_what_no_page_can_show_is_an_escape(tmp_path: Path) -> None:
    names = ["a\0b", "\x1b[31m", "\u202eabc", "a\rb", "\ufffe"]
    rows = pl.concat(ROWS.with_columns(site=pl.lit(name)) for name in names)
    hidden = {"title": "\ud800 one", "intended_use": "t\0wo", "limits": ["\u2066three"], "groups": {"\x7f": "\x85"}}

    text = page(fmfair.evaluate(rows, attributes="site", metrics="tpr"), tmp_path, hidden)

    for character in "\0\x1b\u202e\r\ufffe\u2066\x7f\x85":
        assert character not in text, repr(character)
    for escape in ("a\\x00b", "\\x1b[31m", "\\u202eabc", "a\\rb", "\\ufffe", "\\ud800 one", "t\\x00wo", "\\u2066three"):
        assert escape in text, escape


def test_signs_made_of_several_are_left_whole(tmp_path: Path) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

    assert family in page(fmfair.evaluate(ROWS, metrics="tpr"), tmp_path, {"title": family})


@pytest.mark.parametrize("source", [5, 2.5, b"plan.toml", ["title"], True, ROWS])
def test_what_is_neither_mapping_nor_path_is_no_plan(source: object) -> None:
    with pytest.raises(FmfairError, match="expected a mapping, or the path of a TOML file"):
        plan_of(source)  # type: ignore[arg-type]


def test_a_path_with_a_zero_byte_is_no_plan() -> None:
    with pytest.raises(FmfairError, match=r"cannot read the plan 'a\\x00b': no path holds a zero byte"):
        plan_of("a\0b")


@pytest.mark.parametrize("text", [f"title = {'[' * 20_000}", f"title = {'9' * 5_000}"])
def test_toml_that_python_cannot_hold_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")

    with pytest.raises(FmfairError, match=r"cannot read the plan .*plan\.toml: it is not TOML"):
        plan_of(tmp_path / "plan.toml")


def test_a_byte_order_mark_is_no_part_of_a_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_bytes(b"\xef\xbb\xbftitle = 'one'\r\nauthor = 'two'\r\n")

    assert (plan_of(tmp_path / "plan.toml").title, plan_of(tmp_path / "plan.toml").author) == ("one", "two")


@pytest.mark.parametrize(
    ("criteria", "problem"),
    [
        ({"tpr": {"at_least": 80}}, "criteria: tpr: at_least is 80; expected a number from 0 to 1"),
        ({"tpr": {"at_most": 10**400}}, "expected a number"),
        ({"tpr": {"at_least": 0.9, "at_most": 0.1}}, "at_least is 0.9 and at_most 0.1, which no value reaches"),
        ({1: {"at_least": 0.8}}, "plan: criteria: metrics: 1 is not the name of a metric"),
        ({"sensitivty": "high"}, "plan: criteria: no metric 'sensitivty'"),
    ],
)
def test_criteria_that_nothing_can_reach_are_refused(criteria: object, problem: str) -> None:
    with pytest.raises(FmfairError) as caught:
        plan_of({"criteria": criteria})

    assert problem in str(caught.value)


def test_a_limit_may_be_beyond_one_where_the_metric_is() -> None:
    assert plan_of({"criteria": {"calibration_slope": {"at_most": 1.2}}}).criteria["calibration_slope"].at_most == 1.2


@pytest.mark.parametrize("figure", ["models", "slope"])
def test_a_report_without_groups_has_no_figure_of_groups(figure: str) -> None:
    nobody = ROWS.with_columns(sex=pl.lit(None, pl.String))
    report = fmfair.evaluate(nobody, attributes="sex", metrics="tpr")

    with pytest.raises(FmfairError, match="no group to show"):
        getattr(report.plot, figure)()


def test_one_attribute_may_be_a_text() -> None:
    report = fmfair.evaluate(ROWS, metrics="tpr")

    assert report.plot.forest(attributes="sex").to_dict() == report.plot.forest(attributes=["sex"]).to_dict()
    with pytest.raises(FmfairError, match="no attribute 'Sex' in the report; did you mean 'sex'"):
        report.plot.forest(attributes="Sex")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metric": 5}, "metric=5; expected the name of a metric"),
        ({"metric": ["auc"]}, "metric=.*; expected the name"),
        ({"where": "a"}, "where='a'; expected a mapping"),
        ({"width": "wide"}, "width='wide'; expected a number of pixels"),
        ({"width": float("nan")}, "width=nan; expected a number"),
        ({"attributes": 5}, "attributes=5; expected names"),
        ({"where": {"threshold": "x"}}, "where: threshold is 'x'"),
    ],
)
def test_options_of_another_kind_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(FmfairError, match=problem):
        fmfair.evaluate(ROWS, metrics="tpr").plot.forest(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: frame.drop("value"), "has no column 'value'"),
        (lambda frame: frame.with_columns(value=float("nan")), "'value' holds NaN or infinity"),
        (lambda frame: frame.with_columns(metric=pl.lit(None, pl.String)), "'metric' has missing values"),
        (lambda frame: frame.select(pl.lit(1).alias("model"), pl.all()), "has other by-keys"),
        (lambda frame: frame.select(reversed(frame.columns)), "has other by-keys"),
        (lambda frame: frame.with_columns(n=pl.lit("many")), "cannot read the report"),
    ],
)
def test_stored_frames_that_others_changed_are_refused(change: object, problem: str, tmp_path: Path) -> None:
    fmfair.evaluate(ROWS, metrics="tpr").write_parquet(tmp_path / "results")
    rewrite(tmp_path / "results" / "groups.parquet", change)

    with pytest.raises(FmfairError, match=problem):
        fmfair.Report.read_parquet(tmp_path / "results")


def test_stored_frames_with_other_dtypes_of_the_same_values_are_read(tmp_path: Path) -> None:
    report = fmfair.evaluate(ROWS, metrics="tpr")
    report.write_parquet(tmp_path / "results")
    for path in (tmp_path / "results").iterdir():
        rewrite(
            path,
            lambda frame: (
                frame.with_columns(pl.col(pl.Int64).cast(pl.Int32), pl.col("metric", "note").cast(pl.Categorical))
                if "note" in frame.columns and "metric" in frame.columns
                else frame
            ),
        )

    assert fmfair.Report.read_parquet(tmp_path / "results").groups.equals(report.groups)


def rewrite(path: Path, change: object) -> None:
    entries = {key: text for key, text in pl.read_parquet_metadata(path).items() if key != "ARROW:schema"}
    change(pl.read_parquet(path)).write_parquet(path, metadata=entries)  # type: ignore[operator]
