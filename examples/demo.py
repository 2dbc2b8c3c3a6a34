"""The main job on real data: chest X-ray labels by sex, age and view, and a prostate cancer score by race."""

from __future__ import annotations

from pathlib import Path

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


def main() -> None:
    """Print both reports and write their frames as Parquet."""
    for title, name, report in (
        ("Chest X-rays: text-mined labels against radiologists", "chest_xrays", chest_xrays()),
        ("Prostate cancer: PSA before the operation for recurrence", "prostate_cancer", prostate_cancer()),
    ):
        print(f"\n{title}\n{'=' * len(title)}\n{report}\n")
        report.write_parquet(RESULTS / name)
        print(f"written: {RESULTS / name}/*.parquet")


if __name__ == "__main__":
    main()
