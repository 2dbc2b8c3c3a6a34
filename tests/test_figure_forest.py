"""The forest plot: its values are those of the frames, small and undefined groups are texts, no name is lost."""

from __future__ import annotations

import polars as pl
import pytest
from figure_support import by_model, data_of, dice_report, drawn, points, report, rows, texts, written
from reports import HOSTILE, sites

import fmfair
from fmfair.errors import FmfairError
from fmfair.figures.forest import forest
from fmfair.figures.text import name_of
from fmfair.figures.theme import Look


@pytest.mark.parametrize("width", [390, 720])
@pytest.mark.parametrize("metric", ["auc", "tpr", "ppv", "bce", "mcc"])
@pytest.mark.parametrize("ci", [0.95, None])
def test_points_and_limits_are_those_of_the_frames(metric: str, ci: float | None, width: int) -> None:
    made = report(ci)
    chart = made.plot.forest(metric, width=width)
    first = pl.col("threshold_rule").is_null() | (pl.col("threshold") == 0.5)
    rows = made.groups.filter((pl.col("metric") == metric) & first & (pl.col("attribute_parts").list.len() == 1))
    whole = made.overall.filter((pl.col("metric") == metric) & first).row(0, named=True)
    limits = ("value", "ci_low", "ci_high") if ci else ("value",)

    shown = points(chart)

    assert {name: tuple(row[c] for c in limits) for name, row in shown.items() if name[0]} == {
        (row["attribute"], row["group"]): tuple(row[c] for c in limits)
        for row in rows.iter_rows(named=True)
        if (row["attribute"], row["group"]) in shown
    }
    assert {name for name in shown if name[0]} >= {("sex", "F"), ("sex", "M"), ("site", "north"), ("site", "south")}
    assert tuple(shown["", "all rows"][c] for c in limits) == tuple(whole[c] for c in limits)


def test_groups_with_fewer_than_ten_carriers_are_counts_and_undefined_ones_say_why() -> None:
    for ci in (0.95, None):
        made = report(ci)
        chart = made.plot.forest("tpr")
        found = made.groups.filter((pl.col("group") == "tiny") & (pl.col("metric") == "tpr"))["value"][0]

        assert ("site", "tiny") not in points(chart)
        assert ("site", "healthy") not in points(chart)
        said = " ".join(texts(chart))
        assert f"{round(9 * found)} of 9 positives: counts only" in said
        assert "not defined: no positives" in said
        assert not any("tiny" in line for line in chart.to_dict()["title"]["text"])


def test_the_rarer_class_carries_the_auc() -> None:
    made = report()

    shown = " ".join(texts(made.plot.forest("auc")))

    assert "9 positives: counts only" in shown


def test_no_name_of_a_group_is_lost_or_becomes_markup() -> None:
    made = sites()
    for width in (390, 1280):
        root = drawn(made.plot.forest("auc", width=width))

        assert root.attrib["width"] == str(width)
        for name in HOSTILE:
            assert "".join(name_of(name).split()) in written(root)


def test_long_names_are_broken_and_whole() -> None:
    names = ["University hospital of a town with a long name, department of radiology", "x" * 120, "漢字" * 40]
    made = sites(names)
    for width in (390, 720):
        root = drawn(made.plot.forest("auc", width=width))

        for name in names:
            assert "".join(name.split()) in written(root)


def test_by_keys_are_picked_and_never_pooled() -> None:
    made = by_model()
    chart = made.plot.forest("auc", where={"model": "b"})
    one = made.groups.filter((pl.col("model") == "b") & (pl.col("metric") == "auc") & (pl.col("attribute") == "sex"))

    assert [points(chart)["sex", group]["value"] for group in "FM"] == one["value"].to_list()
    with pytest.raises(FmfairError, match=r"shows one 'model' and there are 2: 'a', 'b'; say which"):
        made.plot.forest("auc")
    with pytest.raises(FmfairError, match="no value 'c'"):
        made.plot.forest("auc", where={"model": "c"})
    with pytest.raises(FmfairError, match="no by-key 'modell'; did you mean 'model'"):
        made.plot.forest("auc", where={"modell": "b"})


@pytest.mark.parametrize("width", [356, 720])
def test_rates_of_negatives_stand_beside_negatives(width: int) -> None:
    made = report()
    row = made.groups.filter((pl.col("metric") == "tnr") & (pl.col("group") == "F")).row(0, named=True)
    negatives = f"{row['n'] - row['n_pos']:,}"

    shown = texts(made.plot.forest("tnr", width=width))

    assert (f"n {row['n']:,}, {negatives} negative" if width < 560 else negatives) in shown
    assert not any("positive" in said and "counts only" not in said for said in shown if "false" not in said)


def test_a_threshold_can_be_named() -> None:
    made = report()
    chart = made.plot.forest("tpr", where={"threshold": 0.3})
    there = (pl.col("metric") == "tpr") & (pl.col("threshold") == 0.3) & (pl.col("group") == "F")

    assert points(chart)["sex", "F"]["value"] == made.groups.filter(there)["value"].first()
    assert "Threshold 0.3" in chart.to_dict()["title"]["subtitle"][0]
    with pytest.raises(FmfairError, match="not measured at this threshold"):
        made.plot.forest("tpr", where={"threshold": 0.7})


def test_groups_stand_in_their_order_or_by_value() -> None:
    levels = ["early", "middle", "late"]
    stage = pl.Series([["late", "early", "middle"][k % 3] for k in range(rows().height)], dtype=pl.Enum(levels))
    made = fmfair.evaluate(rows().drop("model").with_columns(stage=stage), attributes="stage", metrics="auc")

    natural = [group for attribute, group in points(made.plot.forest()) if attribute]
    values = [row["value"] for name, row in points(made.plot.forest(by_value=True)).items() if name[0]]

    assert natural == levels
    assert values == sorted(values)


def test_the_reference_is_the_named_group_or_the_largest() -> None:
    frame = rows().filter(pl.col("model") == "a").drop("model")
    largest = frame["site"].value_counts(sort=True)["site"][0]
    named = fmfair.evaluate(frame, attributes="site", metrics="auc", reference={"site": "south"})
    unnamed = fmfair.evaluate(frame, attributes="site", metrics="auc")

    for made, expected in ((named, "south"), (unnamed, largest)):
        assert [name[1] for name, row in points(made.plot.forest()).items() if row["reference"]] == [expected]


def test_all_blocks_of_a_metric_have_one_scale() -> None:
    made = report()

    def scale(attributes: list[str] | None) -> list[float]:
        spec = made.plot.forest("auc", attributes=attributes).to_dict()
        domain: list[float] = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        return domain

    assert scale(["sex"]) == scale(["site"]) == scale(None)


def test_dice_and_intersections() -> None:
    dice = dice_report()
    shown = points(dice.plot.forest())
    assert shown["scanner", "A"]["value"] == dice.groups.filter(pl.col("group") == "A")["value"].first()
    assert "5 rows: counts only" in texts(dice.plot.forest())
    assert "positives" not in texts(dice.plot.forest())

    cells = points(report().plot.forest("accuracy", attributes=["sex & site"]))
    assert ("sex & site", "F & north") in cells
    assert ("sex", "F") not in cells


def test_suppressed_groups_say_so_and_tell_nothing() -> None:
    frame = rows().filter(pl.col("model") == "a").drop("model")
    made = fmfair.evaluate(frame, attributes=["site"], metrics=["auc", "tpr"], suppress_below=11)
    hidden = made.groups.filter((pl.col("metric") == "tpr") & (pl.col("note") == "suppressed"))

    chart = made.plot.forest("tpr")

    assert hidden.height > 0
    assert texts(chart).count("suppressed") == hidden.height
    for row in data_of(chart):
        if row.get("group") in hidden["group"].to_list():
            assert row["value"] is None


def test_an_interval_that_would_hide_the_others_ends_in_an_arrow_and_its_limits_are_told() -> None:
    made = report()
    wide = pl.col("metric").eq("bce") & pl.col("group").eq("tiny")
    stretched = made.groups.with_columns(
        ci_high=pl.when(wide).then(pl.lit(500.0)).otherwise("ci_high"), mark=pl.when(~wide).then("mark")
    )
    figure = forest({**made._frames(), "groups": stretched}, "bce", Look())
    rows = [row for layer in figure["layer"] for row in layer["data"]["values"] if "above" in row and "group" in row]
    scale = figure["layer"][0]["encoding"]["x"]["scale"]["domain"]

    assert [row["group"] for row in rows if row["above"]] == ["tiny"] * sum(row["above"] for row in rows)
    assert any(row["to"] == scale[1] for row in rows if row["group"] == "tiny")
    assert scale[1] < 10
    assert any(layer["mark"].get("shape") == "triangle-right" for layer in figure["layer"])
    assert any("500.000)" in row.get("text", "") for layer in figure["layer"] for row in layer["data"]["values"])
    assert any("arrow: the interval goes on" in line for line in figure["title"]["subtitle"])
    plain = forest(made._frames(), "bce", Look())
    assert not any("triangle" in layer["mark"].get("shape", "") for layer in plain["layer"])


def test_what_there_is_not_is_refused_by_name() -> None:
    made = report()
    with pytest.raises(FmfairError, match=r"no metric 'aucc' in the report; did you mean 'auc'"):
        made.plot.forest("aucc")
    with pytest.raises(FmfairError, match=r"no attribute 'race' in the report"):
        made.plot.forest(attributes=["race"])
