"""The example that `make demo` runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fmfair
from fmfair.render import WIDTH

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    """What the demo prints; warnings are errors."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "demo.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_each_report_begins_with_a_sentence_on_who_is_worse_served(printed: str) -> None:
    titles = ("Chest X-rays: text-mined labels against radiologists", "Prostate cancer: PSA before the operation")
    openings = [" ".join(part.split("fmfair report")[0].split()) for part in printed.split("=\n")[1:]]

    assert all(title in printed for title in titles)
    assert openings[0].startswith("Pneumothorax is missed more often in AP views")
    assert openings[0].endswith(
        "sensitivity 0.361 [0.277, 0.455] in AP views against 0.581 [0.483, 0.673] in PA views."
    )
    assert openings[1].startswith("PSA tells recurrence less well in African American patients")
    assert openings[1].endswith("AUC 0.590 [0.412, 0.744] against 0.747 [0.654, 0.820] in all others, 0.726 overall.")


def test_the_intervals_are_those_of_patients(printed: str) -> None:
    text = " ".join(printed.split())

    assert "interval (tpr, tnr, accuracy: Wilson, effective size" in text
    assert "clustered by patient" in text


def test_the_output_fits_two_screens(printed: str) -> None:
    lines = printed.splitlines()

    assert len(lines) <= 130
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("name", ["chest_xrays", "prostate_cancer"])
def test_the_frames_are_written_as_parquet_and_the_document_as_html(printed: str, folder: Path, name: str) -> None:
    assert f"written: {Path('results') / name}/*.parquet" in printed
    assert "<h1>" in (folder / "results" / f"{name}.html").read_text(encoding="utf-8")
    assert fmfair.Report.read_parquet(folder / "results" / name).summary.height > 0
