"""From vectors of images and texts to scores, with every convention said rather than assumed.

Published protocols differ in what is normalised, in the scale, in how several prompts become one class, and in the
link. Rank measures of a pair of prompts do not depend on the scale and the link; calibration and thresholds do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fmfair.errors import FmfairError, Problems, check_choice

Floats: TypeAlias = npt.NDArray[np.float64]

# How several prompts make a class: vectors normalised, averaged and normalised again (open_clip, CONCH); averaged as
# they are, then normalised (BioViL); the mean (MedCLIP) or the largest of their similarities.
ENSEMBLES = ("mean_norm", "mean_then_norm", "mean_logit", "max_logit")
LINKS = ("softmax", "sigmoid")


@dataclass(frozen=True)
class Similarity:
    """How images and texts are compared.

    Attributes:
        scale: What similarities are multiplied by.
        bias: What is added after that; it cancels in a softmax.
        normalise_images: Whether vectors of images get length 1.
        normalise_texts: Whether those of texts do.
        ensemble: How several prompts make a class, one of `ENSEMBLES`.
        link: `softmax` over the classes, or `sigmoid` of each alone.
        vectors: How many vectors an image has, the most similar of which counts (BLIP-2 has 32).
    """

    scale: float = 1.0
    bias: float = 0.0
    normalise_images: bool = True
    normalise_texts: bool = True
    ensemble: str = "mean_norm"
    link: str = "softmax"
    vectors: int = 1

    def __post_init__(self) -> None:
        problems = Problems()
        with problems.collecting():
            check_choice("ensemble", self.ensemble, ENSEMBLES)
        with problems.collecting():
            check_choice("link", self.link, LINKS)
        if not (np.isfinite(self.scale) and self.scale > 0):
            problems.add(
                f"scale={self.scale} must be a positive number; a scale stored as its logarithm is given as exp"
            )
        if not np.isfinite(self.bias):
            problems.add(f"bias={self.bias} must be a finite number")
        if self.vectors < 1:
            problems.add(f"vectors={self.vectors} must be at least 1")
        problems.raise_if_any()

    def raw(self, images: npt.ArrayLike, classes: Sequence[npt.ArrayLike]) -> Floats:
        """The similarity of every image to every class, before scale and bias, shape (images, classes).

        Args:
            images: A row per image.
            classes: The vectors of the prompts of each class, a row per prompt.

        Examples:
            >>> one, other = [[3.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]
            >>> Similarity().raw(one, [[t] for t in other]).round(3).tolist()
            [[0.6, 0.8]]
            >>> Similarity(normalise_texts=False).raw(one, [[t] for t in other]).round(3).tolist()
            [[0.6, 1.6]]
        """
        image = np.asarray(images, dtype=np.float64)
        image = image.reshape(len(image), self.vectors, image.shape[1] // self.vectors)
        if self.normalise_images:
            image = unit(image)
        return np.stack([self._to_class(image, np.asarray(prompts, dtype=np.float64)) for prompts in classes], axis=1)

    def logits(self, raw: Floats) -> Floats:
        """The log-odds of every class, of the same shape.

        By `softmax` of a class against all the others, by `sigmoid` of the class alone.
        """
        scores: Floats = self.scale * raw + self.bias
        if self.link == "sigmoid":
            return scores
        if raw.shape[1] < 2:
            raise FmfairError(
                "link='softmax' compares classes, and there is one; give a negative prompt or link='sigmoid'"
            )
        others = [np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1) for k in range(scores.shape[1])]
        odds: Floats = scores - np.stack(others, axis=1)
        return odds

    def _to_class(self, image: Floats, prompts: Floats) -> Floats:
        if self.ensemble in ("mean_norm", "mean_then_norm"):
            each = unit(prompts) if self.normalise_texts and self.ensemble == "mean_norm" else prompts
            prompts = each.mean(axis=0, keepdims=True)
        if self.normalise_texts:
            prompts = unit(prompts)
        similar = (image @ prompts.T).max(axis=1)  # of an image's vectors the most similar
        chosen: Floats = similar.max(axis=1) if self.ensemble == "max_logit" else similar.mean(axis=1)
        return chosen


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; one of zeros stays as it is, similar to nothing.

    Examples:
        >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Floats = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return found


def probabilities(logits: Floats) -> Floats:
    """The probabilities behind log-odds."""
    half = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1.0, half) / (1.0 + half)
