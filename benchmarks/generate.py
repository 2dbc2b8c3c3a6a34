"""Prediction tables of any size, made from a seed: the same call gives the same table everywhere.

    python -m benchmarks.generate predictions.parquet --scale 0.1 --models 3 --labels 2 --decimals 2
    python -m benchmarks.generate predictions.parquet --data '{"rows": 5000, "clinics": 300, "float32": true}'

Labels are drawn from a true probability. A score is that probability seen through noise on the logit scale, and how
much noise depends on the groups of the sample: where it is small the score is well calibrated and ranks well, where
it is large neither. So there are real gaps to find, and none of the groups is degenerate unless it is very small.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

Floats: TypeAlias = npt.NDArray[np.float64]

ROWS_AT_SCALE_ONE = 1_000_000

# Samples that are made and written at once, so that a file may be larger than memory.
CHUNK = 1_000_000
ATTRIBUTES = ("sex", "race", "age_group", "site")

# Each group's share of the samples, shift of the true logit and noise of the score.
GROUPS: Mapping[str, Mapping[str, tuple[float, float, float]]] = MappingProxyType(
    {
        "sex": {"F": (0.48, -0.1, 0.0), "M": (0.52, 0.1, 0.1)},
        "race": {
            "Asian": (0.10, -0.1, 0.1),
            "Black": (0.17, 0.2, 0.5),
            "Hispanic": (0.12, 0.0, 0.3),
            "Other": (0.05, 0.1, 0.4),
            "White": (0.56, 0.0, 0.0),
        },
        "age_group": {
            "18-40": (0.15, -0.8, 0.0),
            "40-55": (0.22, -0.3, 0.1),
            "55-65": (0.24, 0.0, 0.1),
            "65-75": (0.22, 0.3, 0.3),
            ">=75": (0.17, 0.6, 0.5),
        },
        "site": {f"site {k}": (0.19 - 0.02 * k, 0.04 * k - 0.2, 0.05 * k) for k in range(10)},
    }
)


def predictions(
    rows: int,
    *,
    models: int = 1,
    labels: int = 1,
    decimals: int | None = None,
    clinics: int = 0,
    float32: bool = False,
    seed: int | Sequence[int] = 0,
) -> pl.DataFrame:
    """A table of predictions.

    Args:
        rows: Samples; the table has one row per sample, model and label.
        models: Models that score the same samples; with more than one there is a column `model`, and each is noisier
            than the one before.
        labels: Findings per sample; with more than one there is a column `label`, and each is rarer than the one
            before.
        decimals: Round the scores to this many decimals, which makes ties; None leaves all of them distinct.
        clinics: Add an attribute `clinic` with that many groups, which make no difference.
        float32: Store the scores in 32 bits.
        seed: Any integer, or several.

    Returns:
        `sample_id`, `model` and `label` where asked for, `y_true` (0 or 1), `y_score` in (0, 1), and the attributes
        `sex`, `race`, `age_group` and `site` with 2, 5, 5 and 10 groups.
    """
    rng = np.random.default_rng(seed)
    samples, shift, noise = _samples(rows, rng)
    if clinics:
        names = pl.Series("clinic", [f"clinic {k}" for k in range(clinics)])
        samples = samples.with_columns(names.gather(pl.Series(rng.integers(clinics, size=rows))))
    tables = []
    for label in range(labels):
        true_logit = -1.5 - 0.3 * label + shift + 1.5 * rng.standard_normal(rows)
        y_true = (rng.random(rows) < _sigmoid(true_logit)).astype(np.int8)
        for model in range(models):
            seen = true_logit + (noise + 0.2 * model) * rng.standard_normal(rows)
            score = _sigmoid(seen) if decimals is None else _sigmoid(seen).round(decimals)
            keys = {"model": (f"model {model}", models), "label": (f"finding {label}", labels)}
            tables.append(
                samples.with_columns(
                    *(pl.lit(value).alias(key) for key, (value, count) in keys.items() if count > 1),
                    y_true=pl.Series(y_true),
                    y_score=pl.Series(score, dtype=pl.Float32 if float32 else pl.Float64),
                )
            )
    return pl.concat(tables, rechunk=True)


def _samples(rows: int, rng: np.random.Generator) -> tuple[pl.DataFrame, Floats, Floats]:
    """Ids and attributes, with the shift and the noise that the groups of each sample add up to."""
    columns = {"sample_id": pl.Series(np.arange(rows))}
    shift, noise = np.zeros(rows), np.full(rows, 0.2)
    for attribute, groups in GROUPS.items():
        share, shifts, noises = (np.array(values) for values in zip(*groups.values(), strict=True))
        code = rng.choice(len(groups), size=rows, p=share / share.sum())
        columns[attribute] = pl.Series(list(groups)).gather(pl.Series(code))
        shift += shifts[code]
        noise += noises[code]
    return pl.DataFrame(columns), shift, noise


def write_predictions(path: Path, rows: int, *, seed: int = 0, **options: Any) -> None:
    """Writes a table of predictions, a million samples at once; each part has its own seed made from `seed`."""
    writer: pq.ParquetWriter | None = None
    for part, start in enumerate(range(0, rows, CHUNK)):
        frame = predictions(min(CHUNK, rows - start), seed=[seed, part], **options)
        table = frame.with_columns(pl.col("sample_id") + start).to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _sigmoid(logit: Floats) -> Floats:
    result: Floats = 1.0 / (1.0 + np.exp(-logit))
    return result


def main() -> None:
    """Write a table to a Parquet file."""
    parser = argparse.ArgumentParser(description="Write a generated table of predictions to a Parquet file.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is a million samples")
    parser.add_argument("--models", type=int, default=1)
    parser.add_argument("--labels", type=int, default=1)
    parser.add_argument("--decimals", type=int, help="round the scores, which makes ties")
    parser.add_argument("--clinics", type=int, default=0, help="add an attribute with that many groups")
    parser.add_argument("--float32", action="store_true", help="store the scores in 32 bits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=json.loads, default={}, help="all of these as a JSON object, with `rows`")
    args = vars(parser.parse_args())
    path, data = args.pop("path"), args.pop("data")
    args["rows"] = round(args.pop("scale") * ROWS_AT_SCALE_ONE)
    write_predictions(path, **{**args, **data})


if __name__ == "__main__":
    main()
