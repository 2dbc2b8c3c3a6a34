"""The main job on real data: chest X-ray labels by sex, age and view, and a prostate cancer score by race."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import fmfair

DATA = Path(__file__).parent / "data"
RESULTS = Path("results")


def chest_xrays() -> fmfair.Report:
    """Labels that text mining took from the reports, read as decisions, against labels by radiologists."""
    return fmfair.evaluate(
        DATA / "nih_expert_labels.csv",
        labels={
            "pneumothorax": ("expert_pneumothorax", "nlp_pneumothorax"),
            "nodule or mass": ("expert_nodule_or_mass", "nlp_nodule_or_mass"),
            "opacity (narrow)": ("expert_airspace_opacity", "nlp_opacity_narrow"),
            "opacity (wide)": ("expert_airspace_opacity", "nlp_opacity_wide"),
        },
        attributes=["sex", "age", "view"],
        bins={"age": [40, 60]},
        intersections="all",
        metrics=["accuracy", "tpr", "tnr", "fpr", "ppv", "npv", "f1"],
        cluster="patient",
    )


def prostate_cancer() -> fmfair.Report:
    """The PSA before the operation as a score for recurrence of the cancer."""
    return fmfair.evaluate(
        DATA / "blood_storage.csv",
        y_true="Recurrence",
        y_score="PreopPSA",
        attributes=["AA"],
        score_type="rank",
        missing_scores="drop",
    )


def value(report: fmfair.Report, metric: str, **where: str) -> float:
    """One group value of a report."""
    rows = report.groups if "group" in where else report.overall
    return float(rows.filter(pl.col("metric") == metric, **where)["value"].item())


def main() -> None:
    """Print both reports and write their frames as Parquet."""
    xrays, prostate = chest_xrays(), prostate_cancer()
    for title, name, report in (
        ("Chest X-rays: text-mined labels against radiologists", "chest_xrays", xrays),
        ("Prostate cancer: PSA before the operation for recurrence", "prostate_cancer", prostate),
    ):
        print(f"\n{title}\n{'=' * len(title)}\n{report}\n")
        report.write_parquet(RESULTS / name)
        print(f"written: {RESULTS / name}/*.parquet")
    by_view = {v: value(xrays, "tpr", label="pneumothorax", attribute="view", group=v) for v in ("AP", "PA")}
    print("\nSensitivity for pneumothorax: " + ", ".join(f"{v} views {s:.3f}" for v, s in by_view.items()))
    by_race = {g: value(prostate, "auc", attribute="AA", group=g) for g in ("0", "1")}
    print(
        f"AUC of PSA: all {value(prostate, 'auc'):.6f}, African American {by_race['1']:.6f}, others {by_race['0']:.6f}"
    )


if __name__ == "__main__":
    main()
