from __future__ import annotations

import math
import random
from html.parser import HTMLParser

import polars as pl
import pytest
from reports import BY_KEYS, CASE_56, HOSTILE, by_key_report, sites, with_frames

from fmfair.digest import MAX_NOTES, MAX_ROWS
from fmfair.errors import FmfairError
from fmfair.evaluate import evaluate
from fmfair.render import WIDTH, visible
from fmfair.report import Report
from fmfair.segmentation import evaluate_segmentation


def rows_of(text: str, title: str) -> list[list[str]]:
    """The lines of one section, split at two or more blanks, up to the next section."""
    section = text.split(f"{title}\n", 1)[1].split("\n\n", 1)[0]
    return [[cell for cell in line.split("  ") if cell.strip()] for line in section.splitlines()]


def groups_of(report: Report) -> dict[str, list[str]]:
    """The cells of the table of groups, by the group's name."""
    lines = [[c.strip() for c in row] for row in rows_of(str(report), "Groups")]
    return {row[1]: row[2:] for row in lines[1:] if len(row) > 2}


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


@pytest.fixture(scope="module")
def big() -> Report:
    """Two models, three attributes with all pairs, 2,000 samples."""
    rng = random.Random(1)
    n = 2000
    frame = pl.DataFrame(
        {
            "model": [rng.choice(["CLIP", "BiomedCLIP"]) for _ in range(n)],
            "y_true": [rng.randint(0, 1) for _ in range(n)],
            "y_score": [rng.random() for _ in range(n)],
            "sex": [rng.choice("FM") for _ in range(n)],
            "race": [rng.choice(["Asian", "Black", "White", None]) for _ in range(n)],
            "site": [rng.choice("abcdefgh") for _ in range(n)],
        }
    )
    return evaluate(frame, intersections=2, thresholds=["best_f1", 0.5])


def test_the_text_says_task_samples_by_keys_attributes_and_conventions(big: Report) -> None:
    title = " ".join(str(big).split("\n\n", 1)[0].split())

    assert title == (
        "fmfair report: classification, 2,000 samples; by model (2); attributes sex, race, site, sex & race, "
        "sex & site, race & site; standard conventions (y_score >= threshold)"
    )
    assert repr(big) == str(big)


def test_fc56_the_text_shows_undefined_as_a_dash_with_its_reason_and_never_nan() -> None:
    report = evaluate(CASE_56, metrics=["auc", "tpr", "tnr"])

    assert groups_of(report) == {
        "BaNaNa": ["2", "0", "-", "-", "2/2"],
        "Infinity": ["2", "1", "n_pos=1", "1/1", "1/1"],
        "NaN": ["2", "1", "n_pos=1", "1/1", "1/1"],
    }
    assert "- undefined: no positives" in str(report)
    assert [line for line in str(report).splitlines() if "NaN" in line.replace("BaNaNa", "")] == [
        "site       NaN       2      1  n_pos=1  1/1  1/1"
    ]


def test_values_have_four_decimals_with_n_and_positives_beside_them_and_the_worst_group_starred() -> None:
    y_true = [0] * 10 + [1] * 10 + [0] * 12 + [1] * 10
    y_score = [0.1] * 9 + [0.9] + [0.2] * 2 + [0.8] * 8 + [0.1] * 12 + [0.9] * 10
    frame = pl.DataFrame({"y_true": y_true, "y_score": y_score, "sex": ["F"] * 20 + ["M"] * 22})

    report = evaluate(frame)

    # F: of 100 pairs, 90 are ordered right; M: all.
    assert groups_of(report) == {
        "F": ["20", "10", "0.9000*", "0.8000*", "0.9000*"],
        "M": ["22", "10", "1.0000", "1.0000", "1.0000"],
    }
    assert "* worst group of its attribute" in str(report)
    assert "counts only" not in str(report)


def test_no_group_is_called_worst_where_all_are_equal() -> None:
    assert "*" not in str(sites(["a", "b"]))


@pytest.mark.parametrize(
    ("positives", "negatives", "shown"),
    [(9, 40, ["n_pos=9", "9/9", "1.0000"]), (40, 9, ["n_neg=9", "1.0000", "9/9"]), (10, 10, ["1.0000"] * 3)],
)
def test_fewer_than_ten_samples_behind_a_value_are_shown_as_counts(
    positives: int, negatives: int, shown: list[str]
) -> None:
    n = positives + negatives
    frame = pl.DataFrame({"y_true": [1] * positives + [0] * negatives, "sex": ["F"] * n}).with_columns(
        y_score=pl.col("y_true") * 0.8 + 0.1
    )

    assert groups_of(evaluate(frame))["F"][2:] == shown


def test_a_weighted_rate_of_few_samples_shows_how_many_and_no_fraction_of_rows() -> None:
    frame = pl.DataFrame({"y_true": [1, 1, 0], "y_score": [0.9, 0.2, 0.1], "sex": ["F"] * 3, "w": [1.0, 3.0, 1.0]})

    assert groups_of(evaluate(frame, weight="w", metrics="tpr"))["F"] == ["3", "2", "n=2"]


def test_the_rates_shown_are_those_at_the_threshold_of_the_summary(big: Report) -> None:
    best = big.groups.filter(
        pl.col("model") == "CLIP",
        pl.col("group") == "F",
        pl.col("metric") == "tnr",
        pl.col("threshold_rule") == "best_f1",
    )
    fixed = big.groups.filter(
        pl.col("model") == "CLIP",
        pl.col("group") == "F",
        pl.col("metric") == "tnr",
        pl.col("threshold_rule") == "fixed",
    )

    row = next(r for r in rows_of(str(big), "Groups") if [c.strip() for c in r[:3]] == ["CLIP", "sex", "F"])

    assert row[-1].strip().rstrip("*") == f"{best['value'][0]:.4f}"
    assert f"{best['value'][0]:.4f}" != f"{fixed['value'][0]:.4f}"
    assert "tpr, tnr at the threshold of the summary" in str(big)


def test_the_summary_shows_every_column_with_four_decimals(big: Report) -> None:
    summary = str(big).split("Summary\n", 1)[1].split("Groups\n")[0]

    for name in set(big.summary.columns) - {"threshold_rule"}:
        assert name in summary
    for row in big.summary.iter_rows(named=True):
        assert f"{row['auc-gap']:.4f}" in summary
        assert f"best_f1 {row['threshold']:.4g}" in summary


def test_long_tables_are_cut_and_say_where_the_rest_is_but_keep_every_worst_group(big: Report) -> None:
    shown = [[c.strip() for c in row] for row in rows_of(str(big), "Groups")]
    groups = big.groups.unique(["model", "attribute", "group"]).height

    listed = {tuple(row[:3]): row[5] for row in shown if row[0] in ("CLIP", "BiomedCLIP")}
    assert len(listed) == MAX_ROWS
    assert f"... {groups - MAX_ROWS} more groups; report.groups holds all {groups}" in str(big)
    worst = big.gaps.filter(pl.col("metric") == "auc", pl.col("statistic") == "worst")
    starred = {cell for cell, auc in listed.items() if auc.endswith("*")}
    assert starred == set(worst.select("model", "attribute", "worst_group").rows())


def test_a_summary_of_many_rows_is_cut_and_says_where_the_rest_is() -> None:
    report = by_key_report({"fold": pl.Series(range(100))})

    listed = [row for row in rows_of(str(report), "Summary") if row[0].isdigit()]
    assert [row[0] for row in listed] == [str(i) for i in range(MAX_ROWS)]
    assert "... 70 more rows; report.summary holds all 100" in str(report)


def test_the_text_fits_into_about_a_hundred_columns(big: Report) -> None:
    assert max(len(line) for line in str(big).splitlines()) <= WIDTH == 100


def test_many_by_keys_are_repeated_in_every_piece_of_the_summary_and_constant_ones_named_once() -> None:
    report = by_key_report({**BY_KEYS, "dataset": pl.Series(["NIH", "NIH"])})

    text = str(report)

    assert "dataset=NIH" in text
    assert "nothing=(missing)" in text
    header = next(line for line in text.splitlines() if line.startswith("day"))
    assert header.split()[:9] == [*list(BY_KEYS)[:8], "attribute"]
    assert len([line for line in text.splitlines() if line.startswith("2024-05-01  low")]) >= 3


def test_the_text_does_not_depend_on_how_polars_is_set_up_to_print(big: Report) -> None:
    before = str(big)

    with pl.Config(tbl_rows=1, tbl_cols=1, float_precision=1, fmt_str_lengths=1, tbl_width_chars=20) as config:
        state = config.state()
        during = str(big)
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


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        (None, ["auc", "tpr", "tnr"]),
        (["ppv", "auc"], ["auc", "ppv"]),
        (["tp", "ppv"], ["ppv"]),
        (["tp"], ["tp"]),
    ],
)
def test_the_main_metrics_are_shown_or_else_those_that_were_asked_for(
    metrics: list[str] | None, shown: list[str]
) -> None:
    report = evaluate(CASE_56, metrics=metrics)

    assert [c.strip() for c in rows_of(str(report), "Groups")[0]] == ["attribute", "group", "n", "n_pos", *shown]


def test_a_segmentation_shows_dice_with_its_usable_samples() -> None:
    frame = pl.DataFrame({"dice": [0.8] * 10 + [None] + [0.6] * 10 + [0.5], "site": ["x"] * 11 + ["y"] * 10 + ["z"]})

    report = evaluate_segmentation(frame)

    assert [c.strip() for c in rows_of(str(report), "Groups")[0]] == ["attribute", "group", "n", "dice"]
    assert groups_of(report) == {"x": ["10", "0.8000"], "y": ["10", "0.6000"], "z": ["1", "n=1*"]}
    assert str(report).startswith("fmfair report: segmentation")


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

    assert "<b>0.0000</b>" in html
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
