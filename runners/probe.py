"""The linear probe: one linear head per label on features that are there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fmfair.errors import FmfairError, Problems, check_choice, listing, plural
from fmfair.runners.description import SLICES, About
from fmfair.runners.manifest import Manifest
from fmfair.runners.predictions import Embedded, pooled, predictions, to_predict
from fmfair.runners.selection import Judge, better
from fmfair.runners.sgd import Floats, Head, Schedule, train
from fmfair.runners.splits import HOW_TO_SPLIT
from fmfair.runners.typed import check_texts, check_type

SOLVERS = ("lbfgs", "sgd")
# What decides between heads: nothing (the last epoch, strength 1), or on the validation split the mean cross-entropy
# or the AUC of the group where that is lowest; of equal AUCs the lower cross-entropy, of equals in all the strongest
# penalty or the earliest epoch.
SELECT = ("last", "loss", "worst_auc")
# scikit-learn's C, the inverse strengths of the penalty (L2, not on the intercept) between which the validation split
# decides.
STRENGTHS = tuple(10.0**k for k in range(-4, 3))
MOST_STEPS = 1000

# What the validation split says of a head.
Value = Callable[[Head], dict[str, float]]


@dataclass(frozen=True)
class Probe:
    """How a linear probe is fitted.

    Attributes:
        solver: `lbfgs`, scikit-learn's logistic regression on standardised features, or `sgd`, the published schedule.
        select: One of `SELECT`.
        groups: The attributes whose groups `worst_auc` looks at.
        slices: `mean` averages the features of a volume's slices, `max` lets the slice with the highest score speak;
            `every` is fitted and chosen as `max` and predicts each slice. None: as the data set says, else `mean`.
        schedule: That of `sgd`.
        seed: Of the first weights and the order of images.
    """

    solver: str = "lbfgs"
    select: str = "loss"
    groups: tuple[str, ...] = ()
    slices: str | None = None
    schedule: Schedule = field(default_factory=Schedule)
    seed: int = 0

    def __post_init__(self) -> None:
        problems = Problems()
        choices_of = {"solver": SOLVERS, "select": SELECT, **({} if self.slices is None else {"slices": SLICES})}
        for name, choices in choices_of.items():
            with problems.collecting():
                check_choice(name, getattr(self, name), choices)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**32:
            problems.add(f"seed={self.seed!r} must be a whole number between 0 and {2**32 - 1}")
        with problems.collecting():
            check_texts("groups", self.groups, "attributes", "sex")
        with problems.collecting():
            check_type("schedule", self.schedule, Schedule)
        if isinstance(self.groups, Sequence) and (self.select == "worst_auc") != bool(self.groups):
            problems.add("select='worst_auc' and groups= (the attributes it looks at) go together")
        problems.raise_if_any()

    def of(self, about: About) -> Probe:
        """The same with how this data set's slices become predictions."""
        return replace(self, slices=about.pooling(self.slices, "mean"))


@dataclass(frozen=True)
class Fitted:
    """A head and how it was chosen.

    Attributes:
        label: What it predicts.
        head: The head, on features as they are.
        chosen: The strength or epoch, and what decided on the validation split, if one did.
        note: What to know of how it was fitted; empty where nothing.
    """

    label: str
    head: Head
    chosen: dict[str, Any]
    note: str = ""

    @property
    def told(self) -> dict[str, Any]:
        """How it was chosen and what to know of it, as predictions keep it."""
        return {**self.chosen, "note": self.note} if self.note else self.chosen


@dataclass(frozen=True)
class _Rows:
    """The images of a split that one label is known of, with the features of their slices."""

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
        FmfairError: Labels have one class in the training split, there is no validation split to choose by, or the
            embeddings lack images.
    """
    probe = (probe or Probe()).of(manifest.about)
    by = needed_splits(manifest, probe)
    embedded = {split: Embedded.of(rows, embeddings, "feature") for split, rows in by.items()}
    judges = _checked(manifest.labels, by, embedded, probe)
    rows = to_predict(manifest, splits)
    wanted = Embedded.of(rows, embeddings, "feature")
    fitted, tables = [], []
    for label in manifest.labels:
        known = {split: _known(by[split], embedded[split], label, probe) for split in embedded}
        one = _fit(label, known["train"], known.get("validation"), judges.get(label), probe)
        fitted.append(one)
        found = pooled(wanted, {"y_logit": one.head.logits(wanted.vectors)}, probe.slices or "mean")
        tables.append(predictions(manifest, rows, label, found, usage="linear-probe", model=model))
    return pl.concat(tables), fitted


def needed_splits(manifest: Manifest, probe: Probe) -> dict[str, pl.DataFrame]:
    """The rows to fit on and to choose by."""
    by = {s: manifest.of_split(s) for s in ("train", "validation") if s == "train" or probe.select != "last"}
    problems = Problems()
    if by["train"].is_empty():
        problems.add("no image is in the split 'train'; " + HOW_TO_SPLIT)
    if "validation" in by and by["validation"].is_empty():
        problems.add(
            f"select={probe.select!r} needs images in the split 'validation', select='last' none; {HOW_TO_SPLIT}"
        )
    lacking = [name for name in probe.groups if name not in manifest.attributes]
    if lacking:
        problems.add(f"groups: no attribute {listing(lacking)}; there is {listing(manifest.attributes)}")
    problems.raise_if_any()
    return by


def _checked(
    labels: Sequence[str], by: dict[str, pl.DataFrame], embedded: dict[str, Embedded], probe: Probe
) -> dict[str, Judge]:
    """The judge of each label, if there are any, once all labels are known to have what a fit needs."""
    problems, judges = Problems(), dict[str, Judge]()
    for label in labels:
        known = {split: by[split].filter(_usable(by[split], embedded[split], label)) for split in embedded}
        counts = np.bincount(_truth(known["train"], label), minlength=2)
        if not counts.all():
            problems.add(
                f"label {label!r}: the split 'train' has {plural(int(counts[1]), 'positive')} among "
                f"{plural(int(counts.sum()), 'usable image')}; both classes are needed to fit a probe; "
                "choose other labels with labels="
            )
        if "validation" in known:
            table = known["validation"]
            with problems.collecting():
                judges[label] = Judge.of(label, table, _truth(table, label), probe.select, probe.groups)
    problems.raise_if_any()
    return judges


def _usable(rows: pl.DataFrame, embedded: Embedded, label: str) -> pl.Series:
    """Whether the label is known and at least one slice could be encoded."""
    counts = np.bincount(embedded.of_vector.to_numpy(), minlength=rows.height)
    return rows[label].is_not_null() & pl.Series(counts > 0)


def _truth(rows: pl.DataFrame, label: str) -> npt.NDArray[np.int64]:
    return rows[label].to_numpy().astype(np.int64)


def _known(rows: pl.DataFrame, embedded: Embedded, label: str, probe: Probe) -> _Rows:
    """The usable images of a label."""
    of_vector = embedded.of_vector.to_numpy()
    usable = _usable(rows, embedded, label).to_numpy()
    features = embedded.vectors[usable[of_vector]]
    slices = np.bincount(of_vector, minlength=rows.height)[usable]
    if probe.slices == "mean" and (slices > 1).any():
        sums = np.add.reduceat(features, np.cumsum(slices) - slices, axis=0)
        features, slices = sums / slices[:, None].astype(np.float32), np.ones_like(slices)
    return _Rows(_truth(rows.filter(pl.Series(usable)), label), features, slices)


def _fit(label: str, rows: _Rows, validation: _Rows | None, judge: Judge | None, probe: Probe) -> Fitted:
    def value(head: Head) -> dict[str, float]:
        assert judge is not None
        assert validation is not None
        return judge.value(np.maximum.reduceat(head.logits(validation.features), validation.starts))

    judged = None if judge is None else value
    return _logistic(label, rows, judged) if probe.solver == "lbfgs" else _published(label, rows, probe, judged)


def _logistic(label: str, rows: _Rows, value: Value | None) -> Fitted:
    """The best of several penalties; a volume counts once, however many slices it has."""
    from sklearn.preprocessing import StandardScaler

    x, y = rows.features.astype(np.float64), np.repeat(rows.y, rows.slices)
    weight = np.repeat(1 / rows.slices, rows.slices)
    scaler = StandardScaler().fit(x, sample_weight=weight)
    scaled = scaler.transform(x)
    best: tuple[dict[str, float], Fitted] | None = None
    for strength in (1.0,) if value is None else STRENGTHS:
        fit, converged = _converged(scaled, y, weight, strength)
        coef = fit.coef_[0] / scaler.scale_
        head = Head(coef, float(fit.intercept_[0] - scaler.mean_ @ coef))
        found, steps = {} if value is None else value(head), plural(int(fit.n_iter_[0]), "step")
        note = "" if converged else f"scikit-learn's solver stopped after {steps}, not yet converged"
        if best is None or better(found, best[0]):
            best = (found, Fitted(label, head, {"strength": strength, **found}, note))
    assert best is not None
    return best[1]


def _converged(x: Floats, y: npt.NDArray[np.int64], weight: Floats, strength: float) -> tuple[Any, bool]:
    """scikit-learn's logistic regression, and whether it converged."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        fit = LogisticRegression(C=strength, max_iter=MOST_STEPS).fit(x, y, weight)
    return fit, not any(issubclass(one.category, ConvergenceWarning) for one in told)


def _published(label: str, rows: _Rows, probe: Probe, value: Value | None) -> Fitted:
    """The head after the last epoch, or after the best."""
    import torch

    features = torch.from_numpy(np.ascontiguousarray(rows.features))
    best: list[tuple[dict[str, float], int, Head]] = []

    def watch(epoch: int, head: Head) -> None:
        if value is None or not head.finite:
            return
        found = value(head)
        if not best or better(found, best[0][0]):
            best[:] = [(found, epoch, head)]

    dim = rows.features.shape[1]
    last = train(lambda at: features[at], rows.y, rows.slices, dim, probe.schedule, seed=probe.seed, watch=watch)
    found, epoch, head = best[0] if best else ({}, probe.schedule.epochs, last)
    rate = f"a learning_rate below {probe.schedule.learning_rate:g} may help"
    if not head.finite:
        raise FmfairError(f"label {label!r}: the weights are no longer finite at the end of training; {rate}")
    note = "" if last.finite else f"training diverged after the chosen epoch; {rate}"
    return Fitted(label, head, {"epoch": epoch, **found}, note)
