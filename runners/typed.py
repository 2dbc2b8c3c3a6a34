"""What is given from Python is checked by type, so that a wrong one is told in words and where it was given."""

from __future__ import annotations

from collections.abc import Sequence

from fmfair.errors import FmfairError


def check_type(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    """Refuses an argument of another type; the type of None is for what may be left out."""
    if not isinstance(value, kind):
        kinds = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)) if k is not type(None))
        raise FmfairError(f"{name}= is of the type {type(value).__name__}; expected {kinds}")


def check_texts(name: str, value: object, what: str, example: str) -> None:
    """Refuses what is no list of texts.

    Args:
        name: The argument.
        value: What was given.
        what: What the texts are: `columns`.
        example: One of them.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        given = f"{name}={value!r}" if isinstance(value, (str, bytes, int, float, Sequence)) else f"{name}="
        raise FmfairError(f"{given} is no list of {what}; give one, such as {name}=[{example!r}]")
