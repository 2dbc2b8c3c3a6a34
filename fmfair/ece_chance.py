"""The error of calibration against chance: a perfect model has an ECE above 0 too, and the more so in small groups."""

from __future__ import annotations

import numpy as np
import polars as pl

from fmfair.spread import NO_SPREAD

# The metric that this is known of.
ECE = "ece"

# Every engine draws the same numbers.
SEED = 20_250_101


def ece_chance(bins: pl.DataFrame) -> pl.DataFrame:
    """`expected`, `debiased` and `p` of the ECE of every cell, among the facts of its spread.

    Args:
        bins: Sums per `cell` and `bin`: `weight`, `sum_y`, `sum_p`, `sum_pq`, and `sum_ww` where rows have weights.
    """
    from fmfair.statistics.calibration import ScoreBins, calibration_p, debiased_ece, expected_ece

    cells = bins["cell"].unique().sort()
    weight = bins["weight"].to_numpy()
    squares = bins["sum_ww"].to_numpy() if "sum_ww" in bins.columns else weight
    sums = ScoreBins(
        n=weight,
        positives=bins["sum_y"].cast(pl.Float64).to_numpy(),
        scores=bins["sum_p"].to_numpy(),
        variance=bins["sum_pq"].to_numpy(),
        effective=weight**2 / np.where(squares > 0, squares, 1.0),
        cell=np.searchsorted(cells.to_numpy(), bins["cell"].to_numpy()),
        bin=bins["bin"].to_numpy().astype(np.intp),
    )
    facts = {
        "expected": expected_ece(sums, len(cells)),
        "debiased": debiased_ece(sums, len(cells)),
        "p": calibration_p(sums, len(cells), seed=SEED),
    }
    found = pl.DataFrame({"cell": cells, **facts}).with_columns(pl.exclude("cell").fill_nan(None))
    return pl.concat([NO_SPREAD, found.with_columns(metric=pl.lit(ECE))], how="diagonal")
