"""A process killed while it writes leaves the old or the new, a file or a folder, never a mixture or nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fmfair import Report, atomic

# Writes two reports in turns, whose every table tells them apart, until it is killed.
WRITER = """
import sys
import polars as pl
import fmfair
reports = [
    fmfair.evaluate(pl.DataFrame({"y_true": [0, 1] * n, "y_score": [0.2, 0.8] * n, "sex": ["F", "M"] * n}))
    for n in (4, 6)
]
path = sys.argv[1]
def write(report):
    report.to_json(path) if path.endswith(".json") else report.write_parquet(path)
write(reports[0])
print("ready", flush=True)
while True:
    for report in reversed(reports):
        write(report)
"""


def killed_after(path: Path, seconds: float) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    with writer:
        assert writer.stdout.readline() == "ready\n"
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("round_", range(4))
def test_a_folder_of_results_is_that_of_one_run(tmp_path: Path, round_: int) -> None:
    folder = tmp_path / "results"
    killed_after(folder, random.Random(round_).uniform(0.0, 0.05))

    report = Report.read_parquet(folder)

    rows = {report.metadata["n_samples"], report.summary["n"][0], report.overall["n"][0], 2 * report.groups["n"][0]}
    assert rows in ({8}, {12})


@pytest.mark.parametrize("round_", range(4))
def test_a_file_is_that_of_one_run(tmp_path: Path, round_: int) -> None:
    path = tmp_path / "report.json"
    killed_after(path, random.Random(round_).uniform(0.0, 0.02))

    report = json.loads(path.read_text(encoding="utf-8"))

    assert {report["metadata"]["n_samples"], report["summary"][0]["n"]} in ({8}, {12})


def test_two_folders_change_places_in_one_step(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table").write_text(name, encoding="utf-8")
    if not atomic._exchange(tmp_path / "new", tmp_path / "old"):
        assert not sys.platform.startswith(("linux", "darwin"))
        return
    assert (tmp_path / "old" / "table").read_text(encoding="utf-8") == "new"
    assert (tmp_path / "new" / "table").read_text(encoding="utf-8") == "old"
