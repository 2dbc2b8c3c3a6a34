"""Reports of which the tests on the HTML document are made: every kind of content, names that are markup included."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import fmfair

DATA = Path(__file__).parents[1] / "examples" / "data"
HOSTILE = ("<script>alert(1)</script>", "<40", '"', "</style><img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "a & b")


@cache
def xrays() -> fmfair.Report:
    """Decisions on two findings, with patients as clusters."""
    return fmfair.evaluate(
        DATA / "nih_expert_labels.csv",
        labels={
            "pneumothorax": ("expert_pneumothorax", "nlp_pneumothorax"),
            "opacity": ("expert_airspace_opacity", "nlp_opacity_wide"),
        },
        attributes=["sex", "view"],
        metrics=["accuracy", "tpr", "tnr", "ppv", "npv"],
        intersections=2,
        cluster="patient",
    )


@cache
def pneumothorax() -> fmfair.Report:
    """Decisions on one finding."""
    return fmfair.evaluate(
        DATA / "nih_expert_labels.csv",
        y_true="expert_pneumothorax",
        y_pred="nlp_pneumothorax",
        attributes=["sex", "view"],
        metrics=["tpr", "tnr"],
        cluster="patient",
    )


@cache
def two_labels() -> fmfair.Report:
    """Decisions on two findings, of which one differs by view."""
    return fmfair.evaluate(
        DATA / "nih_expert_labels.csv",
        labels={
            name: (f"expert_{column}", f"nlp_{column}")
            for name, column in {"pneumothorax": "pneumothorax", "nodule": "nodule_or_mass"}.items()
        },
        attributes=["sex", "view"],
        metrics=["tpr", "tnr"],
        cluster="patient",
    )


def scores(seed: int, rows: int, names: dict[str, list[str]]) -> pl.DataFrame:
    """Labels and scores that tell them apart in part, with groups of unlike sizes."""
    rng = random.Random(seed)
    y = [int(rng.random() < 0.35) for _ in range(rows)]
    columns: dict[str, list[object]] = {
        "image_id": list(range(rows)),
        "y_true": list(y),
        "y_score": [min(0.999, max(0.0, rng.gauss(0.35 + 0.25 * label, 0.18))) for label in y],
    }
    for name, groups in names.items():
        weights = [2.0**-place for place in range(len(groups))]
        columns[name] = list(rng.choices(groups, weights, k=rows))
    return pl.DataFrame(columns)


@cache
def many() -> fmfair.Report:
    """20 models on 14 labels, with intersections."""
    groups = {"sex": ["F", "M"], "site": ["north", "south", "east"]}
    parts = [
        scores(100 * model + label, 90, groups).with_columns(
            model=pl.lit(f"net {model:02d}"), label=pl.lit(f"finding {label:02d}")
        )
        for model in range(20)
        for label in range(14)
    ]
    return fmfair.evaluate(
        pl.concat(parts),
        attributes=["sex", "site"],
        by=["model", "label"],
        metrics=["auc", "tpr", "tnr"],
        intersections=2,
        sample_id="image_id",
    )


@cache
def segmented() -> fmfair.Report:
    """Dice per image."""
    rng = random.Random(3)
    rows = [
        {
            "dice": min(1.0, max(0.0, rng.gauss(0.85 - 0.05 * (k % 3 == 0), 0.1))),
            "scanner": "ABC"[k % 3],
            "sex": "FM"[k % 2],
        }
        for k in range(240)
    ]
    return fmfair.evaluate_segmentation(pl.DataFrame(rows), attributes=["scanner", "sex"], intersections=2)


@cache
def hostile() -> fmfair.Report:
    """Scores with names of groups and columns that are markup."""
    table = scores(5, 800, {"<b>site</b>": list(HOSTILE), "sex": ["F", "M"]})
    return fmfair.evaluate(table, attributes=["<b>site</b>", "sex"], intersections=2)


REPORTS = {"xrays": xrays, "many": many, "segmented": segmented, "hostile": hostile}


@cache
def document(name: str) -> str:
    """The HTML document of one of the reports."""
    with TemporaryDirectory() as folder:
        REPORTS[name]().write_html(f"{folder}/report.html")
        return Path(f"{folder}/report.html").read_text(encoding="utf-8")
