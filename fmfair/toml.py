"""TOML files that users write: plans of audits, prompts, models, recipes of data sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fmfair.atomic import PathLike
from fmfair.errors import FmfairError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(path: PathLike, what: str) -> dict[str, Any]:
    """What a TOML file says; a byte order mark, with which some editors begin a file, is passed over.

    Args:
        path: The file.
        what: What it holds, for the message: `the plan`.

    Raises:
        FmfairError: It cannot be read, or is no TOML.
    """
    place = Path(path).expanduser()
    if "\0" in str(place):
        raise FmfairError(f"cannot read {what} {str(place)!r}: no path holds a zero byte")
    try:
        return tomllib.loads(place.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FmfairError(f"cannot read {what} {place}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FmfairError(f"cannot read {what} {place}: it is not TOML: it is no UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # no TOML, a number too long, tables too deep
        raise FmfairError(f"cannot read {what} {place}: it is not TOML: {error}") from error
