"""Numbers as the words of a reading or a step: parsed, and written so that they parse to the same."""

from __future__ import annotations

import math

from fmfair.errors import FmfairError


def as_text(number: float) -> str:
    """The shortest text that is read back as the same number.

    Examples:
        >>> as_text(-1250.0), as_text(0.252), as_text(1e300)
        ('-1250', '0.252', '1e+300')
    """
    whole = abs(number) < 2**53 and number == int(number)
    return str(int(number)) if whole else repr(float(number))


def as_number(word: str, name: str) -> float:
    """A finite number.

    Raises:
        FmfairError: The word is none.
    """
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in word:
        raise FmfairError(f"{name}: {word!r} is no number")
    return number


def as_whole(word: str, name: str, least: int = 1, most: int = 10_000) -> int:
    """A whole number.

    Raises:
        FmfairError: The word is none, or out of range.
    """
    if not (word.isascii() and word.isdigit()) or not least <= int(word) <= most:
        raise FmfairError(f"{name}: {word!r} must be a whole number from {least} to {most:,}")
    return int(word)
