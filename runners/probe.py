"""The linear probe: one linear head per label on features that are there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.errors import FmfairError, Problems, check_choice, listing, plural
from fmfair.runners.manifest import Manifest
from fmfair.runners.predictions import Embedded, pooled, predictions, stacked, to_predict
from fmfair.runners.selection import Judge
from fmfair.runners.sgd import Floats, Head, Schedule, train

SOLVERS = ("lbfgs", "sgd")
# What decides between heads: nothing (the last epoch, strength 1), or on the validation split the mean cross-entropy
# or the AUC of the group where that is lowest.
SELECT = ("last", "loss", "worst_auc")
# Inverse strengths of the penalty between which the validation split decides.
STRENGTHS = tuple(10.0**k for k in range(-4, 3))


@dataclass(frozen=True)
class Probe:
    """How a linear probe is fitted.

    Attributes:
        solver: `lbfgs`, scikit-learn's logistic regression on standardised features, or `sgd`, the published schedule.
        select: One of `SELECT`.
        groups: The attributes whose groups `worst_auc` looks at.
        slices: `mean` averages the features of a volume's slices, `max` lets the slice with the highest score speak.
        schedule: That of `sgd`.
        seed: Of the first weights and the order of images.
    """

    solver: str = "lbfgs"
    select: str = "loss"
    groups: tuple[str, ...] = ()
    slices: str = "mean"
    schedule: Schedule = field(default_factory=Schedule)
    seed: int = 0

    def __post_init__(self) -> None:
        problems = Problems()
        for name, choices in (("solver", SOLVERS), ("select", SELECT), ("slices", ("mean", "max"))):
            with problems.collecting():
                check_choice(name, getattr(self, name), choices)
        if not 0 <= self.seed < 2**32:
            problems.add(f"seed={self.seed} must be between 0 and {2**32 - 1}")
        if (self.select == "worst_auc") != bool(self.groups):
            problems.add("select='worst_auc' and groups= (the attributes it looks at) go together")
        problems.raise_if_any()


@dataclass(frozen=True)
class Fitted:
    """A head and how it was chosen.

    Attributes:
        label: What it predicts.
        head: The head, on features as they are.
        chosen: The strength or epoch, and its value on the validation split (NULL without one).
    """

    label: str
    head: Head
    chosen: dict[str, Any]


@dataclass(frozen=True)
class _Rows:
    """The images of a split that one label is known of, with the features of their slices."""

    table: pl.DataFrame
    y: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32]
    slices: npt.NDArray[np.int64]

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where the slices of every image start."""
        return np.cumsum(self.slices) - self.slices


def linear_probe(
    manifest: Manifest,
    embeddings: pl.LazyFrame,
    *,
    model: str,
    probe: Probe | None = None,
    splits: Sequence[str] = ("test",),
) -> tuple[pl.DataFrame, list[Fitted]]:
    """Fit a head per label on the training split, and predict others.

    Args:
        manifest: The data set, with its splits.
        embeddings: Its embeddings.
        model: The name of the model, for the column `model`.
        probe: How heads are fitted and chosen.
        splits: Which images are predicted.

    Returns:
        The predictions table, and the heads.

    Raises:
        FmfairError: A label has one class in the training split, there is no validation split to choose by, or the
            embeddings lack images.
    """
    probe = probe or Probe()
    by = {s: manifest.of_split(s) for s in ("train", "validation")}
    problems = Problems()
    if by["train"].is_empty():
        problems.add("no image is in the split 'train'; split the manifest first")
    if probe.select != "last" and by["validation"].is_empty():
        problems.add(f"select={probe.select!r} needs images in the split 'validation'; make one, or select='last'")
    lacking = [name for name in probe.groups if name not in manifest.attributes]
    if lacking:
        problems.add(f"groups: no attribute {listing(lacking)}; there is {listing(manifest.attributes)}")
    problems.raise_if_any()
    embedded = {split: Embedded.of(rows, embeddings, "feature") for split, rows in by.items() if rows.height}
    rows = to_predict(manifest, splits)
    wanted = Embedded.of(rows, embeddings, "feature")
    fitted, tables = [], []
    for label in manifest.labels:
        known = {split: _known(by[split], embedded[split], label, probe) for split in embedded}
        one = _fit(label, known["train"], known.get("validation"), probe)
        fitted.append(one)
        found = pooled(wanted, {"y_logit": one.head.logits(wanted.vectors)}, probe.slices)
        tables.append(predictions(manifest, rows, label, found, model))
    return stacked(tables), fitted


def _known(rows: pl.DataFrame, embedded: Embedded, label: str, probe: Probe) -> _Rows:
    """The images whose label is known and of which at least one slice could be encoded."""
    of_vector = embedded.of_vector.to_numpy()
    counts = np.bincount(of_vector, minlength=rows.height)
    usable = rows[label].is_not_null().to_numpy() & (counts > 0)
    features = embedded.vectors[usable[of_vector]]
    slices = counts[usable]
    if probe.slices == "mean" and (slices > 1).any():
        sums = np.add.reduceat(features, np.cumsum(slices) - slices, axis=0)
        features, slices = sums / slices[:, None].astype(np.float32), np.ones_like(slices)
    table = rows.filter(pl.Series(usable))
    return _Rows(table, table[label].to_numpy().astype(np.int64), features, slices)


def _fit(label: str, train_rows: _Rows, validation: _Rows | None, probe: Probe) -> Fitted:
    counts = np.bincount(train_rows.y, minlength=2)
    if not counts.all():
        raise FmfairError(
            f"label {label!r}: the split 'train' has {plural(int(counts[1]), 'positive')} among "
            f"{plural(len(train_rows.y), 'usable image')}; both classes are needed to fit a probe"
        )
    judge = None
    if probe.select != "last" and validation is not None:
        judge = Judge.of(label, validation.table, validation.y, probe.select, probe.groups)

    def value(head: Head) -> float:
        assert judge is not None
        assert validation is not None
        scores = head.logits(validation.features)
        return judge.value(np.maximum.reduceat(scores, validation.starts))

    fit = _logistic if probe.solver == "lbfgs" else _published
    head, chosen = fit(train_rows, probe, None if judge is None else value)
    return Fitted(label, head, chosen)


def _logistic(rows: _Rows, probe: Probe, value: Any) -> tuple[Head, dict[str, Any]]:
    """The best of several penalties."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    x = rows.features.astype(np.float64)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    scaled, y = (x - mean) / spread, np.repeat(rows.y, rows.slices)
    weight = np.repeat(1 / rows.slices, rows.slices)  # a volume counts once
    best: tuple[float, Head, float] | None = None
    for strength in (1.0,) if value is None else STRENGTHS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of weak penalties; the validation split decides
            fit = LogisticRegression(C=strength, max_iter=1000, random_state=probe.seed).fit(scaled, y, weight)
        coef = fit.coef_[0] / spread
        head = Head(coef, float(fit.intercept_[0] - mean @ coef))
        found = np.nan if value is None else value(head)
        if best is None or found > best[0]:
            best = (found, head, strength)
    assert best is not None
    return best[1], {"strength": best[2], probe.select: None if value is None else best[0]}


def _published(rows: _Rows, probe: Probe, value: Any) -> tuple[Head, dict[str, Any]]:
    """The head after the last epoch, or after the best."""
    import torch

    features = torch.from_numpy(np.ascontiguousarray(rows.features))
    best: list[tuple[float, int, Head]] = []

    def watch(epoch: int, head: Head) -> None:
        found = value(head)
        if not best or found > best[0][0]:
            best[:] = [(found, epoch, head)]

    dim, watched = rows.features.shape[1], None if value is None else watch
    last = train(lambda at: features[at], rows.y, rows.slices, dim, probe.schedule, seed=probe.seed, watch=watched)
    found, epoch, head = best[0] if best else (None, probe.schedule.epochs, last)
    if not np.isfinite([*head.coef, head.intercept]).all():
        raise FmfairError(
            f"the weights are no longer finite after epoch {epoch}; a learning_rate below "
            f"{probe.schedule.learning_rate:g} may help"
        )
    return head, {"epoch": epoch, probe.select: found}


def heads(fitted: Sequence[Fitted]) -> dict[str, Floats]:
    """The weights of all heads by label, the intercept last."""
    return {one.label: np.append(one.head.coef, one.head.intercept) for one in fitted}
