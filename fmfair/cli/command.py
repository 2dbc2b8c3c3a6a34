"""The command as a report remembers it: what decides the numbers, and no folder of the machine that it ran on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Tables, of which only the name is told.
_TABLES = ("predictions", "table_option", "metadata")
# Decide where results go, or what the machine spends, but no number.
_ELSEWHERE = (
    *("output_path", "html_path", "plan", "form", "quiet", "fail_if", "temp_dir", "memory_limit"),
    *("predictions", "table_option"),
)


def command(name: str, given: Mapping[str, Any], flags: Mapping[str, str]) -> str:
    """The command line that gives the same numbers in the folder of the tables.

    Args:
        name: Of the command.
        given: The value of every option; None where left out.
        flags: The options as they are typed.

    Examples:
        >>> given = {"predictions": "/data/my preds.csv", "attributes": ["sex", "age"], "no_by": False, "ci": None}
        >>> command("score", given | {"quiet": True}, {"attributes": "--sensitive", "no_by": "--no-by", "ci": "--ci"})
        "fmfair score 'my preds.csv' --sensitive sex age"
    """
    table = given.get("predictions") or given.get("table_option") or ""
    words = ["fmfair", name, Path(table).name]
    for option, value in given.items():
        if option in _ELSEWHERE or value in (None, [], False):
            continue
        values = value if isinstance(value, list | tuple) else [] if value is True else [value]
        words += [flags[option], *(Path(v).name if option in _TABLES else str(v) for v in values)]
    return shlex.join(words)
