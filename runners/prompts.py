"""Prompts from a file of the user's."""

from __future__ import annotations

from pathlib import Path

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.runners.description import Prompts
from fmfair.toml import read_toml

FIELDS = ("negative", "positive", "templates", "names")


def read_prompts(file: Path | str) -> dict[str, Prompts]:
    """The prompts of each label, from a TOML file with one table a label.

    Raises:
        FmfairError: The file cannot be read, or a table says something else; everything of it at once.
    """
    found = read_toml(file, "the prompts")
    problems, prompts = Problems(), dict[str, Prompts]()
    for label, said in found.items():
        with problems.collecting():
            prompts[label] = _of(label, said)
    if not found:
        problems.add(f"{file} names no label; a table such as [glaucoma] with negative and positive is expected")
    problems.raise_if_any()
    return prompts


def _of(label: str, said: object) -> Prompts:
    if not isinstance(said, dict):
        raise FmfairError(f"prompts of {label!r}: expected a table [{label}] with negative and positive")
    unknown = [key for key in said if key not in FIELDS]
    if unknown:
        raise FmfairError(
            f"prompts of {label!r}: {unknown[0]!r} is not known; expected {listing(FIELDS)}{near(unknown[0], FIELDS)}"
        )
    texts = {key: _texts(label, key, value) for key, value in said.items()}
    lacking = [key for key in ("negative", "positive") if not texts.get(key)]
    if lacking:
        raise FmfairError(f"prompts of {label!r}: {listing(lacking)} is missing")
    try:
        return Prompts(**texts)
    except FmfairError as error:
        raise FmfairError(f"prompts of {label!r}: {error}") from error


def _texts(label: str, key: str, value: object) -> tuple[str, ...]:
    """One text, or several in a list."""
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, list) or not all(isinstance(text, str) and text.strip() for text in several):
        raise FmfairError(f"prompts of {label!r}: {key} must be a text or a list of texts")
    return tuple(several)
