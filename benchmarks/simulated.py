"""Many samples of groups whose true values are known, as one table with the number of the sample as `run`.

Scores are normal: those of negatives around 0, those of positives around the mean that gives the wanted AUC. The
numbers of positives and negatives are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Truth = dict[str, float]

# Dice as models for organs have it: most samples near .9, a long tail below. The third number is the share of samples
# where the model found nothing.
DICE_SHAPES = {"beta(9, 1.5)": (9.0, 1.5, 0.0), "beta(9, 1.5), 5 % of samples 0": (9.0, 1.5, 0.05)}


@dataclass(frozen=True)
class Model:
    """How well a model does in a group.

    Attributes:
        auc: Its true AUC.
        tpr: Its true rate of positives found; None cuts midway between the means of both classes.
        spread: Standard deviation of the scores of positives; that of negatives is 1.
    """

    auc: float
    tpr: float | None = None
    spread: float = 1.0

    @property
    def mean(self) -> float:
        """Mean score of the positives."""
        return float(np.sqrt(1 + self.spread**2) * ndtri(self.auc))

    @property
    def threshold(self) -> float:
        """From where on a score is called positive."""
        return self.mean / 2 if self.tpr is None else self.mean - self.spread * float(ndtri(self.tpr))

    def truth(self, prevalence: float) -> Truth:
        """The true value of each metric."""
        found = float(ndtr((self.mean - self.threshold) / self.spread))
        rejected = float(ndtr(self.threshold))
        accuracy = prevalence * found + (1 - prevalence) * rejected
        return {"auc": self.auc, "tpr": found, "accuracy": accuracy}


@dataclass(frozen=True)
class Patients:
    """Images of patients who share a part of their scores.

    Attributes:
        images: Per patient.
        alike: Whether all images of a patient have one label; else labels fall on images at random.
        shared: The part of the variance of scores that lies between patients.
    """

    images: int = 5
    alike: bool = True
    shared: float = 0.5


def scored(
    rng: np.random.Generator,
    runs: int,
    size: int,
    prevalence: float,
    models: Sequence[Model],
    patients: Patients | None = None,
) -> pl.DataFrame:
    """Samples of one group per model.

    Args:
        rng: Where chance comes from.
        runs: How many samples.
        size: Rows per group; a multiple of the images per patient.
        prevalence: Share of positive rows, or of positive patients where their images are alike.
        models: The model of each group.
        patients: Where several rows are one patient's.

    Returns:
        Columns `run`, `group` (the position of the model), `label`, `score`, `flag` (the decision), `patient`.
    """
    shape = (runs, len(models), size)
    run, group, row = np.indices(shape, dtype=np.int32)
    images = patients.images if patients else 1
    patient = (run * len(models) + group) * (size // images) + row // images
    if patients and not patients.alike:
        label = rng.permuted(row < round(size * prevalence), axis=2)
    else:
        label = row // images < round(size // images * prevalence)
    score = _noise(rng, shape, patients)
    mean, spread, threshold = (
        np.array([getattr(model, name) for model in models])[None, :, None] for name in ("mean", "spread", "threshold")
    )
    score = np.where(label, mean + spread * score, score)
    columns: dict[str, NDArray[np.generic]] = {
        "run": run,
        "group": group,
        "label": label.astype(np.int8),
        "score": score,
    }
    columns |= {"flag": (score >= threshold).astype(np.int8), "patient": patient}
    return pl.DataFrame({name: column.ravel() for name, column in columns.items()})


def _noise(rng: np.random.Generator, shape: tuple[int, int, int], patients: Patients | None) -> NDArray[np.float64]:
    """Standard normal values, of which those of a patient share a part."""
    own: NDArray[np.float64] = rng.standard_normal(shape)
    if patients is None:
        return own
    between = rng.standard_normal((*shape[:2], shape[2] // patients.images)).repeat(patients.images, axis=2)
    own *= np.sqrt(1 - patients.shared)
    own += np.sqrt(patients.shared) * between
    return own


def first_groups(frame: pl.DataFrame, counts: tuple[int, ...]) -> pl.DataFrame:
    """With a column per number of groups, such as `5 groups`, that is NULL in the rows of further groups."""
    group = pl.col("group")
    return frame.with_columns(pl.when(group < k).then(group).alias(f"{k} groups") for k in counts)


def overlaps(rng: np.random.Generator, runs: int, size: int) -> pl.DataFrame:
    """Samples of Dice values, a group per shape: columns `run`, `group`, `dice`."""
    parts = []
    for name, (a, b, failed) in DICE_SHAPES.items():
        dice = rng.beta(a, b, (runs, size)) * (rng.random((runs, size)) >= failed)
        run = np.arange(runs, dtype=np.int32).repeat(size)
        parts.append(pl.DataFrame({"run": run, "group": [name] * run.size, "dice": dice.ravel()}))
    return pl.concat(parts)


def mean_overlap(shape: str) -> float:
    """The true mean Dice of a shape."""
    a, b, failed = DICE_SHAPES[shape]
    return (1 - failed) * a / (a + b)


def all_counts(size: int) -> pl.DataFrame:
    """Every number of hits that `size` positives can have, each as one `run`, with `group`, `label` and `flag`."""
    run, row = np.indices((size + 1, size), dtype=np.int32)
    flag = (row < run).astype(np.int8).ravel()
    return pl.DataFrame({"run": run.ravel(), "flag": flag}).with_columns(label=1, group=0)
