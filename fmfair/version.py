"""The version of the installed package."""

from __future__ import annotations

from functools import cache


@cache
def installed_version() -> str:
    """The version, from the metadata of the installed package; `0+unknown` where it runs from bare sources.

    Examples:
        >>> installed_version()[0].isdigit()
        True
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fmfair")
    except PackageNotFoundError:
        return "0+unknown"
