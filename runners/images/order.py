"""Which step may follow which, and what is known of the result before any picture is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from fmfair.errors import FmfairError
from fmfair.runners.images.resizing import Crop, PadSquare, Resize
from fmfair.runners.images.values import Colours, MultipleOf, Normalise

# What a picture is on its way to a model, in the order in which it becomes that.
STORED, EIGHT_BIT, IMAGE, LEVELS, SCALED, NORMALISED = range(6)

# After which of these each step makes sense, and what it then gives; None for the same as before.
_MOVES: Mapping[str, tuple[tuple[int, ...], int | None]] = MappingProxyType(
    {
        "window8": ((STORED,), EIGHT_BIT),
        "rgb": ((STORED, EIGHT_BIT), IMAGE),
        "grey": ((STORED, EIGHT_BIT), IMAGE),
        "pad_square": ((IMAGE,), None),
        "resize": ((IMAGE, LEVELS, SCALED), None),
        "crop": ((IMAGE, LEVELS, SCALED), None),
        "round8": ((LEVELS,), None),
        "scale": ((IMAGE, LEVELS), SCALED),
        "normalise": ((SCALED,), NORMALISED),
        "repeat3": ((SCALED, NORMALISED), None),
        "tensor_resize": ((NORMALISED,), None),
        "multiple_of": ((IMAGE, LEVELS, SCALED, NORMALISED), None),
    }
)
_WANTS: Mapping[str, str] = MappingProxyType(
    {
        "window8": "it comes first",
        "rgb": "it comes first, or after window8, and once",
        "grey": "it comes first, or after window8, and once",
        "pad_square": "it comes after rgb or grey, and before any step that makes a tensor",
        "resize": "it comes after rgb or grey, and before normalise; after that it is tensor_resize",
        "crop": "it comes after rgb or grey, and before normalise",
        "round8": "it comes after a resize with tensor, and before scale",
        "scale": "it comes after rgb or grey, and once",
        "normalise": "it comes once and after scale, which is scale:none where the statistics are of 0 to 255",
        "repeat3": "it comes after scale",
        "tensor_resize": "it comes after normalise; before that it is resize with tensor",
        "multiple_of": "it comes after rgb or grey",
    }
)


@dataclass(frozen=True)
class State:
    """What is known of a picture between two steps.

    Attributes:
        stage: One of the six above.
        channels: One or three; 0 while that depends on the picture.
        short: The shorter side in pixels; 0 while that depends on the picture.
        long: The longer one.
        square: Whether the two are equal, whatever they are.
    """

    stage: int = STORED
    channels: int = 0
    short: int = 0
    long: int = 0
    square: bool = False

    def after(self, name: str, step: object) -> State:
        """What is known after a step.

        Raises:
            FmfairError: The step makes no sense here.
        """
        stages, gives = _MOVES[name]
        if self.stage not in stages:
            raise FmfairError(f"it cannot stand here: {_WANTS[name]}")
        state = self if gives is None else replace(self, stage=gives)
        if isinstance(step, Colours):
            return replace(state, channels=3 if step.mode == "RGB" else 1)
        if isinstance(step, (Resize, Crop, PadSquare)):
            return _resized(state, step)
        if isinstance(step, Normalise) and len(step.mean) == 3 and state.channels == 1:
            raise FmfairError("it has statistics of three channels, and there is one; use one value, or rgb")
        if name == "repeat3":
            if state.channels != 1:
                raise FmfairError("it needs the one channel of grey")
            return replace(state, channels=3)
        if isinstance(step, MultipleOf):
            _check_divisible(state, step.size)
        return state

    def unfinished(self) -> list[str]:
        """What is still missing for a model to be fed with it."""
        missing = []
        if self.stage < SCALED:
            missing.append("the values are never scaled; end with scale, or with scale:none for 0 to 255")
        if self.stage >= IMAGE and self.channels != 3:
            missing.append("there is one channel; add repeat3")
        if self.stage >= IMAGE and not (self.square and self.short):
            missing.append("the sides depend on the picture, so that no batch can be made; add crop, or resize squash")
        return missing


def _resized(state: State, step: Resize | Crop | PadSquare) -> State:
    if isinstance(step, PadSquare):
        side = max(state.long, step.least) if state.long else 0
        return replace(state, short=side, long=side, square=True)
    if isinstance(step, Crop):
        if state.short < step.size:
            known = f"the shorter side is {state.short}" if state.short else "it may be larger than the picture"
            raise FmfairError(f"{known}; resize to at least {step.size} first")
        return replace(state, short=step.size, long=step.size, square=True)
    if step.backend == "pil" and state.stage != IMAGE:
        raise FmfairError("it works on a tensor here: say tensor, or put it before scale")
    stage = LEVELS if step.backend == "tensor" and state.stage == IMAGE else state.stage
    # The longer side may become a pixel less, so that a square need not have the size that is asked for.
    both = step.mode == "squash" or (state.square and step.mode == "short")
    short = step.size if both or step.mode == "short" else 0
    long = step.size if both or step.mode == "longest" else 0
    return replace(state, stage=stage, short=short, long=long, square=both)


def _check_divisible(state: State, size: int) -> None:
    if not state.square or not state.short:
        raise FmfairError("the sides are not known here; put it after the last change of size")
    if state.short % size:
        below = state.short // size * size
        raise FmfairError(f"a side of {state.short} is no multiple of {size}; {below} and {below + size} are")
