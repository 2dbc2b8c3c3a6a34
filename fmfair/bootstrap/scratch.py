"""Arrays to work in, one set per thread: memory that was touched before costs half of what fresh memory costs."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt


class Scratch(threading.local):
    """Arrays by name, which a caller has for itself until it asks for that name again."""

    def __init__(self) -> None:
        self._held: dict[str, npt.NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """An array with anything in it."""
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or len(held) < size or held.dtype != dtype:
            held = self._held[name] = np.empty(size, dtype)
        return held[:size].reshape(shape)
