"""Print constraints.txt for the environment this runs in: one pin per installed package but fmfair and pip itself.

A pin that an older supported Python cannot install carries a marker, and that Python then takes what fits.
"""

from __future__ import annotations

import re
from importlib.metadata import distributions

from packaging.specifiers import SpecifierSet
from packaging.version import Version

OLDEST_MINOR, NEWEST_MINOR = 10, 14
HEADER = """\
# The releases with which the tests were last run, so that today's checkout still passes tomorrow.
# They bind only `make` and the CI run; whoever installs fmfair gets the ranges of pyproject.toml.
# Made by `make constraints`: run it to move to the newest releases, then `make test lint`.
"""


def pin(name: str, version: str, requires_python: str | None) -> str:
    """One line of the file."""
    supported = SpecifierSet(requires_python or "")
    minors = range(OLDEST_MINOR, NEWEST_MINOR + 1)
    oldest = next(m for m in minors if supported.contains(f"3.{m}.20"))
    marker = "" if oldest == OLDEST_MINOR else f' ; python_version >= "3.{oldest}"'
    return f"{name}=={Version(version).public}{marker}"


def main() -> None:
    """Print the file."""
    pins = {
        re.sub(r"[-_.]+", "-", d.name).lower(): pin(d.name, d.version, d.metadata["Requires-Python"])
        for d in distributions()
        if d.name not in ("fmfair", "pip")
    }
    print(HEADER + "\n".join(pins[name] for name in sorted(pins)))


if __name__ == "__main__":
    main()
