"""Prediction tables of any size, made from a seed: the same call gives the same table everywhere.

    python -m benchmarks.generate predictions.parquet --scale 0.1 --models 3 --labels 2 --decimals 2

Labels are drawn from a true probability. A score is that probability seen through noise on the logit scale, and how
much noise depends on the groups of the sample: where it is small the score is well calibrated and ranks well, where
it is large neither. So there are real gaps to find, and none of the groups is degenerate unless it is very small.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

Floats: TypeAlias = npt.NDArray[np.float64]

ROWS_AT_SCALE_ONE = 1_000_000
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
    rows: int, *, models: int = 1, labels: int = 1, decimals: int | None = None, seed: int = 0
) -> pl.DataFrame:
    """A table of predictions.

    Args:
        rows: Samples; the table has one row per sample, model and label.
        models: Models that score the same samples; with more than one there is a column `model`, and each is noisier
            than the one before.
        labels: Findings per sample; with more than one there is a column `label`, and each is rarer than the one
            before.
        decimals: Round the scores to this many decimals, which makes ties; None leaves all of them distinct.
        seed: Any integer.

    Returns:
        `sample_id`, `model` and `label` where asked for, `y_true` (0 or 1), `y_score` in (0, 1), and the attributes
        `sex`, `race`, `age_group` and `site` with 2, 5, 5 and 10 groups.
    """
    rng = np.random.default_rng(seed)
    samples, shift, noise = _samples(rows, rng)
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
                    y_score=pl.Series(score),
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
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows = round(args.scale * ROWS_AT_SCALE_ONE)
    predictions(rows, models=args.models, labels=args.labels, decimals=args.decimals, seed=args.seed).write_parquet(
        args.path
    )


if __name__ == "__main__":
    main()
