"""What a loaded model can do: images to features, texts to vectors, and the scale of their similarity."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from fmfair.errors import FmfairError
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.sections import ScoreRules
from fmfair.runners.models.tokens import Tokenizer
from fmfair.runners.models.weights import LoadReport

if TYPE_CHECKING:
    from fmfair.runners.images.steps import Transform

# Texts per forward pass.
TEXTS_AT_ONCE = 64


@dataclass(frozen=True)
class Features:
    """What an image tower says of a batch, as float32 and not normalised.

    Attributes:
        feature: A row per image, for a linear probe.
        shared: A row per image in the space that texts share; None of models without a text tower. Where the entry has
            `feature.vectors` above 1, a row holds that many vectors one after the other.
    """

    feature: Any
    shared: Any | None = None


@dataclass(frozen=True)
class Scale:
    """What a similarity is multiplied by, and what is added.

    Attributes:
        kind: How the value stands in the checkpoint: as a logarithm, a divisor, a plain factor, or not at all.
        value: The value as stored.
        bias: What is added to the scaled similarity.
        times: A further factor of the published protocol.
        limits: Between which the logarithm is cut.
        stored: Whether the value is the checkpoint's, rather than the entry's.
    """

    kind: Literal["log", "divisor", "constant", "none"] = "none"
    value: float = 1.0
    bias: float | None = None
    times: float = 1.0
    limits: tuple[float, float] | None = None
    stored: bool = False

    @property
    def factor(self) -> float:
        """The multiplier.

        Examples:
            >>> round(Scale("log", 4.6052).factor), Scale("divisor", 0.05).factor, Scale().factor
            (100, 20.0, 1.0)
        """
        if self.kind == "log":
            low, high = self.limits or (-math.inf, math.inf)
            return self.times * math.exp(min(max(self.value, low), high))
        return self.times * (1 / self.value if self.kind == "divisor" else self.value)


class ImageEncoder(Protocol):
    """A model that turns images into vectors."""

    @property
    def entry(self) -> Entry:
        """What is declared of the model."""

    @property
    def device(self) -> Any:
        """Where it runs."""

    @property
    def dim(self) -> int:
        """How many numbers a feature has."""

    @property
    def shared_dim(self) -> int | None:
        """How many numbers a row of `Features.shared` has; None of models without a text tower."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that the features depend on, as plain values."""

    def encode_images(self, batch: Any) -> Features:
        """Features of a batch of transformed images."""


class Encoder(ImageEncoder, Protocol):
    """A model that turns texts into vectors too."""

    @property
    def transform(self) -> Transform:
        """The preprocessing that its images get."""

    @property
    def scale(self) -> Scale:
        """The scale of the published protocol."""

    def encode_texts(self, texts: Sequence[str]) -> Any | None:
        """A vector per text, float32 and not normalised; None of models without a text tower."""


@dataclass
class Tower:
    """What a loader returns.

    Attributes:
        module: Everything that moves to a device.
        images: A batch to the feature and the shared vector, or None.
        texts: Ids and mask to vectors.
        tokenizer: Texts to ids and mask.
        scale: The scale of the published protocol.
        learned: The scale that the checkpoint has and the published protocol does not use.
        report: What became of the keys of the checkpoint.
    """

    module: Any
    images: Callable[[Any], tuple[Any, Any | None]]
    texts: Callable[[Any, Any], Any] | None = None
    tokenizer: Tokenizer | None = None
    scale: Scale = field(default_factory=Scale)
    learned: Scale | None = None
    report: LoadReport = field(default_factory=LoadReport)


@dataclass(frozen=True)
class LoadedModel:
    """A model of the registry, loaded: an `Encoder`.

    Attributes:
        entry: What is declared of it, with the chosen feature.
        tower: The model.
        steps: The preprocessing, as text.
        preprocess: Whose preprocessing that is.
        device: Where it runs.
        dtype: The number type of its weights.
        checkpoint: The file of weights, if any.
        mixed: Whether images are encoded in mixed precision.
    """

    entry: Entry
    tower: Tower
    steps: tuple[str, ...]
    preprocess: str
    device: Any
    dtype: Any
    checkpoint: Path | None
    mixed: bool = False

    @cached_property
    def transform(self) -> Transform:
        """The preprocessing that its images get."""
        from fmfair.runners.images.steps import Transform

        return Transform.of(list(self.steps))

    @property
    def scale(self) -> Scale:
        """The scale of the published protocol."""
        return self.tower.scale

    @property
    def dim(self) -> int:
        """How many numbers a feature has."""
        return self.entry.feature.dim

    @property
    def shared_dim(self) -> int | None:
        """How many numbers a row of `Features.shared` has; None of models without a text tower."""
        return self.entry.feature.shared_dim * self.entry.feature.vectors or None

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """What features of images depend on: the weights as they are used, the preprocessing, and what is taken."""
        return {
            "name": self.entry.name,
            "feature": self.entry.feature.take,
            "preprocess": self.preprocess,
            "steps": list(self.steps),
            "dtype": "mixed" if self.mixed else str(self.dtype).removeprefix("torch."),
            "weights": _digest(self.tower.module),
        }

    @property
    def report(self) -> LoadReport:
        """What became of the keys of the checkpoint."""
        return self.tower.report

    def encode_images(self, batch: Any) -> Features:
        """Features of a batch of transformed images, shape (n, 3, height, width), on the model's device."""
        import torch

        half = torch.float16 if self.device.type == "cuda" else torch.bfloat16
        with torch.no_grad(), torch.autocast(self.device.type, dtype=half, enabled=self.mixed):
            moved = batch.to(self.device, self.dtype, non_blocking=batch.is_pinned())
            feature, shared = self.tower.images(moved)
        count, width = len(batch), self.shared_dim or 0
        return Features(
            self._rows(feature, count, self.dim, "feature.dim"),
            None if shared is None or not width else self._rows(shared, count, width, "feature.shared_dim"),
        )

    def encode_texts(self, texts: Sequence[str]) -> Any | None:
        """A vector per text, on the model's device; None of models without a text tower."""
        import torch

        if self.tower.texts is None or self.tower.tokenizer is None:
            return None
        if not texts:
            raise FmfairError("there are no texts to encode")
        alone = self.entry.text is not None and self.entry.text.pad == "none"
        step = 1 if alone else TEXTS_AT_ONCE
        rows = []
        with torch.no_grad():
            for start in range(0, len(texts), step):
                tokens = self.tower.tokenizer(texts[start : start + step])
                rows.append(self._vectors(tokens.ids.to(self.device), tokens.mask.to(self.device)))
        return self._rows(torch.cat(rows), len(texts), self.entry.feature.shared_dim, "feature.shared_dim")

    def _vectors(self, ids: Any, mask: Any) -> Any:
        assert self.tower.texts is not None
        try:
            return self.tower.texts(ids, mask).float()
        except (RuntimeError, IndexError, ValueError) as error:
            said = str(error).strip().partition("\n")[0]
            raise FmfairError(
                f"{self.entry.name}: no texts of ids {tuple(ids.shape)} up to {int(ids.max())} can be encoded: {said}. "
                "Is text.context or the tokenizer another model's?"
            ) from error

    def _rows(self, values: Any, count: int, dim: int, name: str) -> Any:
        """Values as float32, if they are of the declared shape."""
        if not hasattr(values, "shape"):
            raise FmfairError(
                f"{self.entry.name}: the model gives {type(values).__name__}, expected a tensor of shape {(count, dim)}"
            )
        if tuple(values.shape) != (count, dim):
            raise FmfairError(
                f"{self.entry.name}: the model gives {tuple(values.shape)} for {count} inputs, expected "
                f"{(count, dim)}; the entry's {name} is {dim}"
            )
        return values.float()


def _digest(module: Any) -> str:
    """The SHA-256 of all weights and statistics of a model."""
    digest = hashlib.sha256()
    for key, value in sorted(module.state_dict().items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(_bytes()).numpy().data)
    return digest.hexdigest()


def _bytes() -> Any:
    import torch

    return torch.uint8


def scales(entry: Entry, state: Mapping[str, Any]) -> tuple[Scale, Scale | None]:
    """The scale of the published protocol, and the learned one where that protocol does not use it."""
    rules = entry.score
    bias = _number(entry, state, rules.bias_parameter) if rules.bias == "param" else None
    if rules.scale == "none":
        learned = Scale("log", _number(entry, state, rules.parameter), stored=True) if rules.learned else None
        return Scale(bias=bias, times=rules.times), learned
    if rules.scale == "constant":
        return Scale("constant", _given(rules), bias, rules.times), None
    kind: Literal["log", "divisor"] = "log" if rules.scale == "log_param" else "divisor"
    stored = rules.parameter in state
    value = _given(rules) if not stored and rules.value is not None else _number(entry, state, rules.parameter)
    return Scale(kind, value, bias, rules.times, rules.limits, stored), None


def _given(rules: ScoreRules) -> float:
    return 1.0 if rules.value is None else rules.value


def _number(entry: Entry, state: Mapping[str, Any], key: str) -> float:
    if key not in state:
        raise FmfairError(f"{entry.name}: the checkpoint has no {key!r}, which its scores are scaled by")
    return float(state[key].float().reshape(-1)[0])
