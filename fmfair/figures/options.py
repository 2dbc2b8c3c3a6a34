"""The options of figures: what each may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmfair.errors import Problems

# What an option may be, and in words.
KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "metric": (str, "the name of a metric"),
    "width": ((int, float), "a number of pixels"),
    "where": (Mapping, 'a mapping such as {"model": "a"}'),
    "attribute": (str, "the name of an attribute"),
    "attributes": (Sequence, "names of attributes"),
    "across": (str, "the name of a by-key"),
    "order": (Sequence, "a list of values"),
    "limit": ((int, float), "a number"),
}


def check_kinds(options: Mapping[str, object]) -> None:
    """Raises where an option is not of its kind; most may be left out."""
    problems = Problems()
    for name, value in options.items():
        kind, said = KINDS[name]
        absent = value is None and name not in ("width", "limit")
        if not absent and (isinstance(value, bool) or not isinstance(value, kind) or value != value):  # noqa: PLR0124
            problems.add(f"{name}={value!r}; expected {said}")
    problems.raise_if_any()
