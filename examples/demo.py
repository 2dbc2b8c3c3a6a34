"""The main job on real data: chest X-ray labels by sex, age and view, and a prostate cancer score by race."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import fmfair

HERE = Path(__file__).parent
DATA = HERE / "data"
RESULTS = Path("results")


def chest_xrays() -> fmfair.Report:
    """Labels that text mining took from the reports, read as decisions, against labels by radiologists."""
    return fmfair.evaluate(
        DATA / "nih_expert_labels.csv",
        labels={
            "pneumothorax": ("expert_pneumothorax", "nlp_pneumothorax"),
            "nodule or mass": ("expert_nodule_or_mass", "nlp_nodule_or_mass"),
            "opacity": ("expert_airspace_opacity", "nlp_opacity_wide"),
        },
        attributes=["sex", "age", "view"],
        bins={"age": [40, 60]},
        intersections=2,
        metrics=["accuracy", "tpr", "tnr", "fpr", "ppv", "npv", "f1"],
        cluster="patient",
        ci=0.95,
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
        ci=0.95,
        reference={"AA": "0"},
        margins={"auc": 0.1},
    )


def values(report: fmfair.Report, metric: str, **where: str) -> dict[str, str]:
    """The value of each group of one attribute, with its interval."""
    rows = report.groups.filter(pl.col("metric") == metric, **where).select("group", "value", "ci_low", "ci_high")
    return {group: f"{value:.3f} [{low:.3f}, {high:.3f}]" for group, value, low, high in rows.iter_rows()}


def show(title: str, sentences: list[str], report: fmfair.Report, name: str) -> None:
    """Print who is worse served, then the report, and write its frames and its document."""
    print("\n".join(["", title, "=" * len(title), *sentences, "", str(report), ""]))
    report.write_parquet(RESULTS / name)
    report.write_html(RESULTS / f"{name}.html", plan=HERE / f"{name}.toml")
    print(f"written: {RESULTS / name}/*.parquet, and for a browser {RESULTS / name}.html")


def main() -> None:
    """Print both reports and write their frames as Parquet and their documents as HTML."""
    xrays = chest_xrays()
    found = values(xrays, "tpr", label="pneumothorax", attribute="view")
    show(
        "Chest X-rays: text-mined labels against radiologists",
        [
            "Pneumothorax is missed more often in AP views, usually those of patients who cannot stand:",
            f"sensitivity {found['AP']} in AP views against {found['PA']} in PA views.",
        ],
        xrays,
        "chest_xrays",
    )
    prostate = prostate_cancer()
    ranked = values(prostate, "auc", attribute="AA")
    overall = prostate.summary["overall-auc"].item()
    show(
        "Prostate cancer: PSA before the operation for recurrence",
        [
            "PSA tells recurrence less well in African American patients (AA is 1):",
            f"AUC {ranked['1']} against {ranked['0']} in all others, {overall:.3f} overall.",
        ],
        prostate,
        "prostate_cancer",
    )


if __name__ == "__main__":
    main()
