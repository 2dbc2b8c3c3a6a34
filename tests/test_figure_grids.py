"""Heat map, dot matrix, and all rows beside the worst group: their values are those of the frames."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from figure_support import by_model, data_of, dice_report, drawn, report, rows, texts, written
from reports import HOSTILE

import fmfair
from fmfair.errors import FmfairError
from fmfair.figures.heat_map import CLASSES, LIMITS, class_of
from fmfair.figures.text import name_of
from fmfair.report import Report


@pytest.mark.parametrize("ci", [0.95, None])
def test_cells_are_those_of_the_intersection_with_their_difference_to_all_rows(ci: float | None) -> None:
    made = report(ci)
    cells = [row for row in data_of(made.plot.heat_map("tpr", attribute="sex & site")) if "difference" in row]
    there = (pl.col("metric") == "tpr") & (pl.col("threshold") == 0.5)
    whole = made.overall.filter(there)["value"][0]
    wanted = made.groups.filter(there & (pl.col("attribute") == "sex & site"))

    found = sorted((c["group"], c["value"], c["n"]) for c in cells)
    assert found == sorted(wanted.select("group", "value", "n").rows())
    for cell in cells:
        assert cell["difference"] == (cell["value"] - whole if cell["kind"] == "point" else None)
    assert {cell["kind"] for cell in cells} == {"point", "counts", "undefined"}


@pytest.mark.parametrize("width", [390, 1280])
def test_a_cell_shows_value_and_rows_and_a_small_one_counts_only(width: int) -> None:
    made = report()
    chart = made.plot.heat_map("tpr", width=width)
    cells = {row["group"]: row for row in data_of(chart) if "fill" in row and "group" in row}

    for cell in cells.values():
        if cell["kind"] == "point":
            assert cell["shown"] == f"{100 * cell['value']:.1f}%\nn {cell['n']:,}"
            assert cell["fill"] == CLASSES[class_of(cell["difference"], LIMITS)]
        else:
            assert cell["fill"] is None
    assert cells["F & tiny"]["shown"] == "n 30"
    assert cells["F & healthy"]["shown"] == "·\nn 20"
    shown = written(drawn(chart))
    for name in ("F", "M", "north", "south", "tiny", "healthy"):
        assert name in shown


def test_differences_are_classed_the_same_on_both_sides() -> None:
    for difference in (0.005, 0.01, 0.049, 0.05, 0.1, 0.19, 0.2, 0.9):
        assert class_of(difference, LIMITS) + class_of(-difference, LIMITS) == 8
    assert class_of(0.0, LIMITS) == 4


def test_three_attributes_and_hostile_names_are_all_there() -> None:
    names = pl.DataFrame({"site": HOSTILE, "k": range(len(HOSTILE))})
    frame = names.join(rows().select("y_true", "y_score", "sex").head(40), how="cross")
    frame = frame.with_columns(age=(pl.col("k") % 2).replace_strict({0: "<40", 1: ">=40"}))
    made = fmfair.evaluate(
        frame, attributes=["age", "sex", "site"], intersections=[("age", "sex", "site")], metrics="tpr"
    )

    for width in (390, 720):
        shown = written(drawn(made.plot.heat_map(width=width)))
        for name in HOSTILE:
            assert "".join(name_of(name).split()) in shown
        assert "<40&F" in shown


def test_a_report_without_intersections_has_no_heat_map() -> None:
    with pytest.raises(FmfairError, match=r"no intersections; evaluate with intersections=2"):
        dice_report().plot.heat_map()
    with pytest.raises(FmfairError, match="'sex' is no intersection; expected one of 'sex & site'"):
        report().plot.heat_map(attribute="sex")


@pytest.mark.parametrize("ci", [0.95, None])
def test_the_dot_matrix_holds_every_model_and_group(ci: float | None) -> None:
    made = by_model(ci)
    chart = made.plot.models("auc", attribute="site", width=390)
    cells = {(row["label"], row["group"]): row for row in data_of(chart) if "whole" in row}
    groups = made.groups.filter((pl.col("metric") == "auc") & (pl.col("attribute") == "site"))

    for row in groups.iter_rows(named=True):
        cell = cells[row["model"], row["group"]]
        assert (cell["value"], cell["n"]) == (row["value"], row["n"])
        assert not ci or (cell["ci_low"], cell["ci_high"]) == (row["ci_low"], row["ci_high"])
    for row in made.overall.filter(pl.col("metric") == "auc").iter_rows(named=True):
        assert cells[row["model"], None]["value"] == row["value"]
        assert {cell["whole"] for (label, _), cell in cells.items() if label == row["model"]} == {row["value"]}
    assert len(cells) == groups.height + 2
    assert {"n 30", "·", "a", "b", "all rows"} <= {*texts(chart)}


def test_points_of_the_dot_matrix_lie_on_one_scale() -> None:
    made = by_model()
    cells = [r for r in data_of(made.plot.models("auc")) if r.get("kind") == "point"]
    column = {group: [c for c in cells if c["group"] == group] for group in {c["group"] for c in cells}}
    for there in column.values():
        one, other = there[:2]
        slope = (one["x"] - other["x"]) / (one["value"] - other["value"])
        first = cells[0]
        assert slope == pytest.approx((first["to"] - first["from"]) / (first["ci_high"] - first["ci_low"]))


@pytest.mark.parametrize("make", [by_model, report, dice_report])
@pytest.mark.parametrize("ci", [0.95, None])
def test_all_rows_beside_the_worst_group(make: Callable[[float | None], Report], ci: float | None) -> None:
    made = make(ci)
    metric = "dice" if "dice" in made.overall["metric"] else "tpr"
    chart = made.plot.overall_against_worst(metric)
    shown = {row["label"]: row for row in data_of(chart) if "worst_group" in row}
    first = made.gaps["attribute"][0]
    at = pl.col("threshold").is_null() | (pl.col("threshold") == 0.5)
    worst = made.gaps.filter(
        at, pl.col("metric") == metric, pl.col("statistic") == "worst", pl.col("attribute") == first
    )
    whole = made.overall.filter(at, pl.col("metric") == metric)

    for frame, side in ((worst, "worst"), (whole, "overall")):
        for row in frame.iter_rows(named=True):
            there = shown[row.get("model", "")]
            assert there[side] == row["value"]
            assert not ci or (there[f"{side}_low"], there[f"{side}_high"]) == (row["ci_low"], row["ci_high"])
    assert {row["worst_group"] for row in shown.values()} == set(worst["worst_group"])


def test_several_by_keys_are_named_together_or_held() -> None:
    both = pl.concat(rows().with_columns(label=pl.lit(name)) for name in ("nodule", "mass"))
    made = fmfair.evaluate(both, attributes="sex", by=["model", "label"], metrics="auc")

    assert {"a, nodule", "b, mass"} <= {*texts(made.plot.models())}
    held = texts(made.plot.models(where={"label": "mass"}))
    assert {"a", "b"} <= {*held}
    assert not any("nodule" in text for text in held)


@pytest.mark.parametrize("width", [390, 1280])
def test_every_figure_is_as_wide_as_asked_for(width: int) -> None:
    made = report()
    for chart in (made.plot.heat_map(width=width), made.plot.overall_against_worst(width=width)):
        assert drawn(chart).attrib["width"] == str(width)
    assert drawn(by_model().plot.models(width=width)).attrib["width"] == str(width)


def test_a_metric_without_a_direction_has_no_worst_group() -> None:
    with pytest.raises(FmfairError, match="selection_rate has no worst group"):
        report().plot.overall_against_worst("selection_rate")


@pytest.mark.parametrize("name", ["forest", "models", "heat_map"])
def test_where_nothing_is_defined_the_reason_is_drawn(name: str) -> None:
    frame = rows().drop("model").with_columns(y_true=pl.lit(0))
    made = fmfair.evaluate(frame, attributes=["sex", "site"], intersections=2, metrics=["auc"])

    shown = written(drawn(getattr(made.plot, name)("auc", width=390)))

    assert ("notdefined:nopositives" if name == "forest" else "·") in shown


def test_a_missing_by_key_can_be_picked() -> None:
    named = rows().with_columns(model=pl.when(pl.col("model") == "a").then("model"))
    made = fmfair.evaluate(named, attributes="sex", by="model", metrics="auc")
    wanted = made.overall.filter(pl.col("model").is_null())["value"][0]

    shown = data_of(made.plot.forest(where={"model": None}))

    assert any(row.get("group") == "all rows" and row["value"] == wanted for row in shown)
    assert "(missing)" in texts(made.plot.models())
