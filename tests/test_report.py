from __future__ import annotations

import math
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest
from reports import (
    BY_KEYS,
    HOSTILE,
    big_report,
    by_key_report,
    decided,
    evaluate,
    evaluate_segmentation,
    groups_of,
    rows_of,
    sites,
    with_frames,
)

from fmfair.digest import MAX_NOTES
from fmfair.errors import FmfairError
from fmfair.render import WIDTH, visible
from fmfair.report import Report
from fmfair.shown import MAX_ROWS


class Parsed(HTMLParser):
    """The tags and the text of a fragment."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"class", "style"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def title_of(report: Report) -> str:
    return " ".join(str(report).split("\n\n", 1)[0].split())


def summary_of(report: Report) -> str:
    return " ".join(str(report).split("Summary\n", 1)[1].split("\n\nGroups\n")[0].split())


def test_the_title_says_task_rows_by_keys_attributes_and_conventions() -> None:
    assert title_of(big_report()) == (
        "fmfair report: classification, 2,000 rows; by model (2); attributes sex, race, site, sex & race, "
        "sex & site, race & site; standard conventions (y_score >= threshold)"
    )
    assert repr(big_report()) == str(big_report())


@pytest.mark.parametrize(
    ("by", "size"),
    [
        ({}, "4 samples; attributes"),
        ({"model": ["m"]}, "4 samples; model=m; attributes"),
        ({"model": ["m", "n", "o"]}, "4 samples x 3 models; attributes"),
        ({"severity": [1, 2]}, "4 samples x 2 severities; attributes"),
        ({"net": ["m", "n"]}, "4 samples x 2 values of net; attributes"),
        ({"model": ["m", "m", "n", "n"], "label": ["a", "b"] * 2}, "4 samples x 2 models x 2 labels; attributes"),
        ({"model": ["m", "m", "n"], "fold": [1, 2, 1]}, "12 rows; by model (2), fold (2); attributes"),
        ({"model": ["m", "m", "n"]}, "12 rows; by model (2); attributes"),
    ],
)
def test_the_title_counts_samples_where_every_by_key_has_as_many_and_else_rows(
    by: dict[str, list[object]], size: str
) -> None:
    rows = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.6, 0.7, 0.2], "sex": ["F", "F", "M", "M"]})
    frame = pl.DataFrame(by).join(rows, how="cross") if by else rows

    assert size in title_of(evaluate(frame, by=list(by), attributes="sex"))


def test_the_summary_shows_every_column_with_four_decimals() -> None:
    report = big_report()

    for name in set(report.summary.columns) - {"threshold_rule"}:
        assert name in summary_of(report)
    for row in report.summary.iter_rows(named=True):
        assert f"{row['auc-gap']:.4f}" in summary_of(report)
        assert f"{row['threshold']:.4g} (best_f1)" in summary_of(report)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, "0.5"),
        ({"thresholds": 0.25}, "0.25"),
        ({"thresholds": "best_f1"}, "0.9 (best_f1)"),
        ({"thresholds": "tnr=1"}, "- (tnr=1)"),
        ({"score_type": "rank"}, "-"),
        ({"score_type": "rank", "thresholds": 0.5}, "0.5"),
        ({"score_type": "rank", "metrics": ["auc", "net_benefit"], "thresholds": 0.5}, "0.5"),
    ],
)
def test_the_summary_says_the_threshold_and_the_rule_that_chose_it(options: dict[str, Any], shown: str) -> None:
    report = evaluate(decided({"a": (9, 1, 9, 1), "b": (9, 1, 9, 1)}), **options)

    header, row = rows_of(report, "Summary")[:2]
    assert row[header.index("threshold")] == shown


def test_decisions_that_were_given_have_no_threshold_number() -> None:
    frame = decided({"a": (9, 1, 9, 1), "b": (9, 1, 9, 1)}).select("site", "y_true", y_pred=pl.col("y_score") > 0.5)

    header, row = rows_of(evaluate(frame), "Summary")[:2]

    assert row[header.index("threshold")] == "y_pred"


def test_a_line_says_which_way_the_columns_of_the_summary_are_fair_or_better() -> None:
    assert (
        "gaps, eo: 0 is fair; eod: 1 is fair; worst-auc, overall-auc, overall-acc: higher is better; overall-bce, "
        "overall-ece: lower is better"
    ) in summary_of(big_report())


def test_the_line_speaks_of_the_columns_that_are_shown_only() -> None:
    frame = decided({"a": (9, 1, 9, 1), "b": (9, 1, 9, 1)})

    assert "gaps, eo: 0 is fair; eod" not in summary_of(evaluate(frame, metrics="auc"))
    assert "gaps: 0 is fair; worst-auc, overall-auc: higher is better empty in" in summary_of(
        evaluate(frame, metrics="auc")
    )


def test_a_line_says_which_way_the_columns_of_dice_are_fair_or_better() -> None:
    report = evaluate_segmentation(pl.DataFrame({"dice": [0.8, 0.7, 0.5], "site": ["x", "x", "y"]}))

    assert (
        "delta_dice, std_dice: 0 is fair; skewness_dice: 1 is fair; mean_dice, min_dice, max_dice, es_dice: higher is "
        "better"
    ) in summary_of(report)


def test_a_summary_of_many_rows_is_cut_and_says_where_the_rest_is() -> None:
    report = by_key_report({"fold": pl.Series(range(100))})

    listed = [row for row in rows_of(report, "Summary") if row[0].isdigit()]
    assert [row[0] for row in listed] == [str(i) for i in range(MAX_ROWS)]
    assert "... 70 more rows; report.summary holds all 100" in str(report)


def test_the_text_fits_into_about_a_hundred_columns() -> None:
    assert max(len(line) for line in str(big_report()).splitlines()) <= WIDTH == 100


def test_many_by_keys_are_repeated_in_every_piece_of_the_summary_and_constant_ones_named_once() -> None:
    report = by_key_report({**BY_KEYS, "dataset": pl.Series(["NIH", "NIH"])})

    text = str(report)

    assert "dataset=NIH" in text
    assert "nothing=(missing)" in text
    header = next(line for line in text.splitlines() if line.startswith("day"))
    assert header.split()[:9] == [*list(BY_KEYS)[:8], "attribute"]
    assert len([line for line in text.splitlines() if line.startswith("2024-05-01  low")]) >= 3


def test_the_text_does_not_depend_on_how_polars_is_set_up_to_print() -> None:
    before = str(big_report())

    with pl.Config(tbl_rows=1, tbl_cols=1, float_precision=1, fmt_str_lengths=1, tbl_width_chars=20) as config:
        state = config.state()
        during = str(big_report())
        assert config.state() == state

    assert during == before


def test_names_cannot_break_lines_columns_or_the_terminal() -> None:
    text = str(sites())

    assert "\x1b" not in text
    assert r"\x1b[31m" in text
    assert r"line\nbreak" in text
    lines = text.split("Groups\n", 1)[1].splitlines()[1 : 1 + len(HOSTILE)]
    assert {line.split("  ")[0] for line in lines} == {"site"}
    assert any('""' in line for line in lines)


def test_wide_characters_keep_the_columns_aligned() -> None:
    lines = str(sites(["漢字", "ab", "é" + "\u0301"])).split("Groups\n", 1)[1].splitlines()[1:4]

    narrow = [line.replace("漢字", "xxxx").replace("\u0301", "") for line in lines]
    assert len({len(line) for line in narrow}) == 1


def test_a_long_name_loses_its_middle_in_the_text_and_nothing_in_the_html() -> None:
    name = "University Hospital of a Town with a Long Name, North"
    report = sites([name, "b"])

    assert name not in str(report)
    assert any(g.startswith("University") and g.endswith("North") for g in groups_of(report))
    assert name in report._repr_html_()


def test_the_notes_follow_as_bullets_and_many_are_cut() -> None:
    report = with_frames(sites(["a", "b"]), notes=tuple(f"note {i}" for i in range(MAX_NOTES + 3)))

    text = str(report)

    assert text.endswith(f"- note {MAX_NOTES - 1}\n- 3 more in report.notes")
    assert "<li>note 0</li>" in report._repr_html_()


def test_columns_that_nobody_asked_for_are_named_once_instead_of_shown_empty() -> None:
    frame = pl.DataFrame({"y_true": [0, 1], "y_score": [0.1, 0.9], "sex": ["F", "F"]})

    text = " ".join(str(evaluate(frame, metrics="auc")).split())

    assert "empty in every row, undefined or not asked for: overall-acc, overall-bce" in text


def test_numbers_that_are_not_finite_print_as_a_dash_and_a_rounded_zero_has_no_sign() -> None:
    report = sites(["a", "b"])
    gaps = [math.nan]

    changed = with_frames(
        report, summary=report.summary.with_columns(pl.Series("auc-gap", gaps), pl.lit(-1e-9).alias("eo"))
    )

    assert "nan" not in str(changed).lower()
    assert "-0.0000" not in str(changed)


def test_the_html_is_well_formed_and_escapes_every_name() -> None:
    html = sites()._repr_html_()

    parsed = Parsed(html)
    assert parsed.open == []
    assert "script" not in parsed.tags
    assert set(parsed.tags) <= {
        *("div", "p", "strong", "small", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "b")
    }
    assert {visible(name) for name in HOSTILE} <= set(parsed.text)
    assert "&lt;script&gt;alert(&quot;1&quot;)" in html


def test_the_html_holds_the_cells_of_the_text_and_marks_the_worst_in_bold() -> None:
    frame = pl.DataFrame({"y_true": [0] * 10 + [1] * 10, "sex": ["F"] * 20}).with_columns(
        y_score=pl.col("y_true") * 0.5
    )
    worse = frame.with_columns(y_score=1.0 - pl.col("y_score"), sex=pl.lit("M"))

    html = evaluate(pl.concat([frame, worse]))._repr_html_()

    assert "<b>0.0000</b>*" in html
    assert ">1.0000</td>" in html
    assert "<b>1.0000</b>" not in html


def test_hostile_notes_by_keys_and_metadata_are_escaped_too() -> None:
    report = with_frames(
        by_key_report({"<i>": pl.Series(["<em>1", "<em>2"])}),
        notes=("<u>&",),
        metadata={"task": "<img>", "conventions": "'\""},
    )

    html = report._repr_html_()

    assert Parsed(html).open == []
    assert [tag for tag in ("<i>", "<em>", "<u>", "<img>") if tag in html] == []
    assert "&lt;u&gt;&amp;" in html


def test_to_frame_gives_a_copy_and_an_unknown_name_lists_the_frames() -> None:
    report = sites(["a", "b"])

    copy = report.to_frame("gaps")
    copy.insert_column(0, pl.Series("x", [0] * copy.height))

    assert report.gaps.columns[0] == "attribute"
    assert report.to_frame().equals(report.groups)
    with pytest.raises(FmfairError, match=r"no frame 'group'; did you mean 'groups'.*summary, groups, gaps, overall"):
        report.to_frame("group")
