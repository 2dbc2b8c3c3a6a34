"""Checks of what is given to a study."""

from __future__ import annotations

from fmfair.errors import FmfairError
from fmfair.runners.predictions import as_folder

# What most systems take as the name of a folder, with percent signs in place of what is no plain letter; and what of a
# longer one is told.
LONGEST, SHOWN = 255, 40


def check_type(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    """Refuses an argument of another type; the type of None is for what may be left out."""
    if not isinstance(value, kind):
        kinds = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)) if k is not type(None))
        raise FmfairError(f"{name}= is of the type {type(value).__name__}; expected {kinds}")


def check_folder(what: str, name: str) -> None:
    """Refuses a name that no folder can have."""
    try:
        usable = len(str(as_folder({what: name}))) <= LONGEST
    except UnicodeEncodeError:
        usable = False
    if not usable:
        shown = repr(name if len(name) <= SHOWN else f"{name[:SHOWN]}...")
        raise FmfairError(f"the {what} is called {shown}, which no folder can be called; give it a shorter, plain name")
