"""The linear probe's schedule of the FairMedFM benchmark, on features that are there or are made again every epoch.

Plain SGD without momentum on the cross-entropy of two outputs, classes weighted by their inverse frequency; the
learning rate is set once an epoch: a linear warm-up, then half a cosine down to its smallest value. The bias is not
decayed. The benchmark takes the last epoch; here a validation split may choose one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, inf, pi
from typing import Any

import numpy as np
import numpy.typing as npt

from fmfair.errors import FmfairError

Floats = npt.NDArray[np.float64]
# Positions among the images (or slices) -> their features, a tensor with a row each.
Features = Callable[[Any], Any]


@dataclass(frozen=True)
class Schedule:
    """How the probe is trained; the defaults are the benchmark's.

    Attributes:
        epochs: How many times all images are seen.
        learning_rate: The highest learning rate.
        lowest: The last one, where it is below the highest.
        warmup: In how many epochs it rises to the highest.
        batch_size: Images of a step.
        weight_decay: Of the weights, not of the bias.
        balanced: Whether a class counts by its inverse frequency.
    """

    epochs: int = 100
    learning_rate: float = 1e-4
    lowest: float = 1e-5
    warmup: int = 5
    batch_size: int = 1024
    weight_decay: float = 1e-4
    balanced: bool = True

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or not 0 < self.learning_rate < inf:
            raise FmfairError("epochs and batch_size must be at least 1, and learning_rate above 0 and finite")
        for name in ("lowest", "warmup", "weight_decay"):
            if not 0 <= getattr(self, name) < inf:
                raise FmfairError(f"{name}={getattr(self, name)} must be a finite number, at least 0")

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1.

        Examples:
            >>> ten = Schedule(epochs=10, learning_rate=2.5e-4)
            >>> [float(f"{ten.rate(e):.2e}") for e in (1, 5, 6, 8, 10)]
            [5e-05, 0.00025, 0.000227, 9.29e-05, 1e-05]
        """
        if epoch <= self.warmup:
            return self.learning_rate * epoch / self.warmup
        done = (epoch - self.warmup) / (self.epochs - self.warmup)
        lowest = min(self.lowest, self.learning_rate)
        return lowest + (self.learning_rate - lowest) * 0.5 * (1 + cos(pi * done))


@dataclass(frozen=True)
class Head:
    """A linear head: the log-odds of the positive class are `features @ coef + intercept`."""

    coef: Floats
    intercept: float

    @property
    def finite(self) -> bool:
        """Whether all weights are numbers; those of a training that diverged are not."""
        return bool(np.isfinite([*self.coef, self.intercept]).all())

    def logits(self, features: npt.ArrayLike) -> Floats:
        """The log-odds of rows of features."""
        found: Floats = np.asarray(features, dtype=np.float64) @ self.coef + self.intercept
        return found


def train(
    features: Features,
    y: npt.NDArray[np.int64],
    slices: npt.NDArray[np.int64],
    dim: int,
    schedule: Schedule,
    *,
    seed: int = 0,
    watch: Callable[[int, Head], None] | None = None,
) -> Head:
    """Train a head, and return it as it is after the last epoch.

    Args:
        features: Gives the features of slices by their positions.
        y: The label of each image, 0 or 1.
        slices: How many slices each image has, in order; 1 of a picture. The slice with the highest score speaks for
            a volume.
        dim: The length of a feature.
        schedule: Epochs, rates, batches.
        seed: Of the first weights and of the order of images.
        watch: Told the number of every epoch and the head after it.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    bound = dim**-0.5  # as torch starts a linear layer
    weight, bias = (
        torch.empty(shape).uniform_(-bound, bound, generator=generator).requires_grad_() for shape in ((2, dim), (2,))
    )
    groups = [{"params": [weight], "weight_decay": schedule.weight_decay}, {"params": [bias], "weight_decay": 0.0}]
    optimiser = torch.optim.SGD(groups, lr=schedule.learning_rate)
    label, starts = torch.from_numpy(y), np.concatenate([[0], np.cumsum(slices)])
    pictures = bool((slices == 1).all())
    counts = np.bincount(y, minlength=2)
    balance = torch.tensor(len(y) / (2 * counts), dtype=torch.float32) if schedule.balanced else None
    for epoch in range(1, schedule.epochs + 1):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(epoch)
        order = torch.randperm(len(y), generator=generator)
        for images in order.split(schedule.batch_size):
            found = features(images if pictures else _positions(images, starts)) @ weight.T + bias
            speaking = found if pictures else _speaking(found, slices[images.numpy()])
            loss = torch.nn.functional.cross_entropy(speaking, label[images], weight=balance)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if watch is not None:
            watch(epoch, _head(weight, bias))
    return _head(weight, bias)


def _head(weight: Any, bias: Any) -> Head:
    w, b = (v.detach().double().numpy() for v in (weight, bias))
    return Head(w[1] - w[0], float(b[1] - b[0]))


def _positions(images: Any, starts: npt.NDArray[np.int64]) -> Any:
    """The positions of all slices of some images, one image after another."""
    import torch

    return torch.cat([torch.arange(int(starts[i]), int(starts[i + 1])) for i in images.tolist()])


def _speaking(found: Any, slices: npt.NDArray[np.int64]) -> Any:
    """The outputs of the slice of every image with the highest score."""
    import torch

    image = torch.from_numpy(np.repeat(np.arange(len(slices)), slices))
    score = (found[:, 1] - found[:, 0]).detach()
    highest = torch.full((len(slices),), -torch.inf).scatter_reduce(0, image, score, "amax")
    place = torch.arange(len(score))
    first = torch.full((len(slices),), len(score)).scatter_reduce(
        0, image, torch.where(score == highest[image], place, len(score)), "amin"
    )
    return found[first]
