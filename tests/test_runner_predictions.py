"""Predictions on disk: of several usages, data sets and models in one folder, and of runs that were killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fmfair
from fmfair.cli import main
from fmfair.notes import Notes
from fmfair.runners.description import About
from fmfair.runners.manifest import Manifest
from fmfair.runners.predictions import ROW_GROUP, predictions, write_predictions
from fmfair.runners.tables import PREDICTIONS

USAGES, MODELS = ("linear-probe", "zero-shot"), ("1.1", "1.10", "clip")
ATTRIBUTES: dict[str, dict[str, list[Any]]] = {
    "chest": {"sex": ["F", "M"], "race": ["a", "b"]},
    "eyes": {"sex": ["F", "M"], "age": [30, 70]},
}


def predicted(dataset: str, usage: str, model: str, labels: tuple[str, ...] = ("one", "two")) -> pl.DataFrame:
    """The predictions of two images of each patient; those of zero-shot have similarities."""
    n, seed = 40, sorted(product(ATTRIBUTES, USAGES, MODELS)).index((dataset, usage, model))
    rng = np.random.default_rng(seed)
    manifest = Manifest(
        pl.DataFrame(
            {
                "sample_id": [f"s{i}" for i in range(n)],
                "patient_id": [f"p{i // 2}" for i in range(n)],
                "path": "",
                "split": "test",
                **{label: [i // 2 % 2 for i in range(n)] for label in labels},
                **{name: [values[i // 4 % 2] for i in range(n)] for name, values in ATTRIBUTES[dataset].items()},
            }
        ).with_columns(path="sample_id"),
        labels, tuple(ATTRIBUTES[dataset]), Path(), About(dataset),
    )  # fmt: skip
    tables = []
    for label in labels:
        logits = rng.normal(size=n) + manifest.table[label]
        found = pl.DataFrame({"row": range(n), "y_logit": logits, "status": "ok", "reason": None})
        if usage == "zero-shot":
            found = found.with_columns(similarity=pl.lit(0.5), similarity_negative=pl.lit(0.25))
        tables.append(predictions(manifest, manifest.table, label, found, usage=usage, model=model))
    return pl.concat(tables)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The predictions of two usages, two data sets with other attributes, and three models."""
    place = tmp_path_factory.mktemp("runs") / "predictions"
    for dataset, usage, model in product(ATTRIBUTES, USAGES, MODELS):
        write_predictions(predicted(dataset, usage, model), place, {})
    return place


def test_all_predictions_have_one_schema_but_for_the_attributes(folder: Path) -> None:
    for file in folder.rglob("*.parquet"):
        found = pl.read_parquet_schema(file)
        own = ATTRIBUTES[file.parent.parent.name.partition("=")[2]]
        assert list(found.items())[: len(PREDICTIONS)] == list(PREDICTIONS.items())
        assert list(found)[len(PREDICTIONS) :] == list(own)
    probe = pl.read_parquet(folder / "usage=linear-probe" / "dataset=eyes" / "model=clip")
    assert probe["similarity"].null_count() == 80


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_folder_of_usages_and_models_is_never_pooled(
    folder: Path, tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--cluster", "patient_id", "--metrics", "auc", "--ci", "none", "--engine", engine]
    assert main(["score", str(folder), "--sensitive", "sex", *common, "--output", str(tmp_path / "all")]) == 0
    assert "by-keys found by name: usage, dataset, model, label" in capsys.readouterr().err
    overall = pl.read_parquet(tmp_path / "all" / "overall.parquet")
    assert overall.height == 2 * 2 * 3 * 2
    assert overall["n"].unique().to_list() == [40]
    for usage, dataset, model in product(USAGES, ATTRIBUTES, MODELS):
        # As from that file alone.
        file = folder / f"usage={usage}" / f"dataset={dataset}" / f"model={model}"
        alone = fmfair.evaluate(file, attributes=["sex"], cluster="patient_id", metrics="auc", ci=None).overall
        here = overall.filter(usage=usage, dataset=dataset, model=model)
        assert here["value"].to_list() == pytest.approx(alone.sort("label")["value"].to_list(), abs=1e-12)

    # What only one data set has is for that one.
    assert main(["score", str(folder), "--sensitive", "race", *common]) == 2
    assert "'race' is missing from 6 of 12, such as" in capsys.readouterr().err
    chest = f"{folder}/usage=*/dataset=chest/model=*/*.parquet"
    assert main(["score", chest, "--sensitive", "race", *common, "--quiet"]) == 0


def test_usages_and_models_are_compared_in_one_call(folder: Path) -> None:
    named: dict[str, Any] = {"attributes": ["sex"], "cluster": "patient_id", "metrics": ["auc"]}
    models = fmfair.compare(folder, by="model", **named)
    assert any("compared within each usage and dataset and label" in note for note in models.notes)
    one = f"{folder}/usage=*/dataset=*/model=clip"
    alone = fmfair.compare(one, by=["usage", "dataset", "label", "split"], **named)
    usages = fmfair.compare(folder, by="usage", **named)
    assert "the by-key 'model' is called 'by_model' in the results, whose 'model' is what was compared" in usages.notes
    assert usages.differences.filter(by_model="clip").drop("by_model").equals(alone.differences)
    assert set(usages.differences["dataset"]) == set(ATTRIBUTES)
    assert set(usages.differences["model"]) | set(usages.differences["baseline"]) == set(USAGES)


def test_training_is_no_test() -> None:
    """Of predictions of several splits none are pooled."""
    new = predicted("chest", "linear-probe", "clip").drop("y_logit")
    seen = new.with_columns(split=pl.lit("train"), y_score=pl.col("y_true").cast(pl.Float64))
    both = fmfair.evaluate(pl.concat([seen, new.with_columns(split=pl.lit("test"))]), attributes="sex", metrics="auc")
    alone = fmfair.evaluate(new, attributes="sex", metrics="auc").overall

    test = both.overall.filter(split="test")
    assert test["value"].to_list() == alone["value"].to_list()
    assert set(both.overall.filter(split="train")["value"]) == {1.0}
    assert "split" not in fmfair.evaluate(new.drop("usage"), attributes="sex", metrics="auc").overall.columns


def test_many_rows_are_row_groups_of_bounded_size(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = predicted("chest", "zero-shot", "clip")
    many = pl.concat([table] * (2 * ROW_GROUP // table.height + 1))

    groups = pq.ParquetFile(write_predictions(many, tmp_path, {})).metadata

    assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) <= ROW_GROUP
    assert groups.num_rows == many.height


def test_temporary_files_that_a_killed_run_left_are_removed(tmp_path: Path) -> None:
    file = write_predictions(predicted("chest", "zero-shot", "clip"), tmp_path, {})
    left = file.with_name(f".{'0' * 32}.tmp")
    left.write_bytes(b"half")

    write_predictions(predicted("chest", "zero-shot", "clip"), tmp_path, {})
    assert left.exists(), "another process may be at it"
    os.utime(left, (0, 0))
    write_predictions(predicted("chest", "zero-shot", "clip"), tmp_path, {})
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_replaced_predictions_are_told_by_what_made_them(tmp_path: Path) -> None:
    def noted(provenance: dict[str, Any]) -> list[str]:
        notes = Notes()
        write_predictions(predicted("chest", "zero-shot", "clip"), tmp_path, provenance, notes)
        return list(notes)

    data = {"manifest": "0123456789"}
    made = {"configuration": {"seed": 0, "heads": {"one": {"loss": 0.5}}}, "model": {"dtype": "float32"}, **data}
    assert noted({}) == noted(made) == []  # those that say nothing of themselves are replaced
    assert noted({**made, "configuration": {"seed": 0, "heads": {}}, "date": "now"}) == []
    (told,) = noted({"configuration": {"seed": 1}, "model": {"dtype": "mixed"}, **data})
    assert 'model.dtype was "float32" and is "mixed"; seed was 0 and is 1; to keep both, tell one of them' in told
    (told,) = noted({"configuration": {"seed": 1}, "model": {"dtype": "mixed"}, "manifest": "9876543210"})
    assert 'manifest was "01234567" and is "98765432"' in told


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from test_runner_predictions import predicted, write_predictions
tables = [predicted("chest", "zero-shot", "clip", labels) for labels in (("one",), ("one", "two"))]
print("ready", flush=True)
while True:
    for table in tables:
        write_predictions(table, sys.argv[1], {})
"""


def test_a_killed_run_leaves_the_predictions_of_one_run(tmp_path: Path) -> None:
    for seed in range(2):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(Path(__file__).parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                process.wait(timeout=0.1 + random.Random(seed).random() / 10)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
        labels = pl.scan_parquet(f"{tmp_path}/**/*.parquet").select("label", "sample_id").collect()  # as others read it
        assert labels.group_by("label").len().sort("label").rows() in ([("one", 40)], [("one", 40), ("two", 40)])
