"""Messages of the Python API in the words of the command line: `y_true=` is `--label`."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping

_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_VALUE = rf"{_QUOTED}(?:(?:, or|,| or) {_QUOTED})*|\[[^\]]*\]|\{{[^}}]*\}}|-?\w+(?:\.\w+)*"

# Roles in prose, by the argument that names their column.
_ROLES = {"y_true": "label", "y_score": "score", "y_pred": "decision", "y_logit": "logit"}

# Sentences that speak of Python, and what they are on the command line.
_PHRASES = (
    ("leave out the other y_ arguments", "leave out --label, --score, --pred and --logit"),
    (" (or fmfair.metrics.list_metrics())", ""),
    (", a mapping from by-key to number", ""),
    ("; a list in by= chooses them", "; --no-by switches this off"),
    (" of Roles", ""),
    ("leave out roles=", "leave out --labels and --sensitive"),
    ("register() adds a model of your own", "--register adds models of your own"),
    ("; None leaves the intervals out", "; none leaves the intervals out"),
)


def in_flags(message: str, flags: Mapping[str, str]) -> str:
    """A message in the words of the command line.

    Whatever is quoted stays as it is, so that a column called `y_true` keeps its name.

    Args:
        message: What the Python API says.
        flags: The option that stands for each argument.

    Examples:
        >>> flags = {"y_true": "--label", "bins": "--bins"}
        >>> in_flags("several columns could be y_true: 'label' and 'y_true'; choose one with y_true= (--label)", flags)
        "several columns could be the label: 'label' and 'y_true'; choose one with --label"
        >>> in_flags("group it with bins={'age': [40, 60]} or bins={'age': 4}", flags)
        'group it with --bins age=40,60 or --bins age=q4'
    """
    for python, command in _PHRASES:
        message = message.replace(python, command)
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    roles = "|".join(_ROLES)
    # A name after a slash is part of a path, such as runs/model=a; but dice=/iou= are two names.
    pattern = re.compile(
        rf"(?P<quoted>{_QUOTED})"
        rf"|\blabels\[(?P<pair>{_QUOTED})\]"
        rf"|(?<!\w)(?<![^=][/\\])(?P<name>{names})=(?P<value>{_VALUE})?(?P<same> \(--[^()]*\))?"
        rf"|(?m:^(?P<lead>  - )?(?P<prefix>{names}):(?=(?P<column> column)?))"
        rf"|\b(?P<role>{roles})\b(?P<before> column)?"
        r"|\b\w+ \(command line: (?P<spelled>[^()]*)\)"
        r"|(?P<again> \(--[^()]*\))"
    )
    return pattern.sub(lambda match: _replaced(match, flags), message)


def _replaced(match: re.Match[str], flags: Mapping[str, str]) -> str:
    if match["pair"]:
        return f"{flags['labels']} {_shell(match['pair'])}"
    if match["name"]:
        return _flag(match["name"], match["value"] or "", flags)
    if match["prefix"]:
        ours = match["column"] or match["prefix"] in (*_ROLES, "score_type", "thresholds", "intersections")
        return f"{match['lead'] or ''}{flags[match['prefix']]}:" if ours else match[0]
    if match["role"]:
        return _ROLES[match["role"]] + " column" if match["before"] else f"the {_ROLES[match['role']]}"
    if match["spelled"]:
        return match["spelled"]
    return "" if match["again"] else match[0]


def _flag(name: str, value: str, flags: Mapping[str, str]) -> str:
    """An option with its value, spelled as one types it."""
    if name == "by" and value == "[]":
        return "--no-by"
    spelled = {"{": _mapping, "[": _list}.get(value[:1], _shell)(value) if value else ""
    if name == "labels" and value.startswith("{"):
        spelled = "NAME=Y_TRUE,Y_SCORE"
    return f"{flags[name]} {spelled}".rstrip()


def _shell(value: str) -> str:
    """`'a' or 'b'` as `a or b`, quoted where a shell needs it."""
    return re.sub(_QUOTED, lambda quoted: shlex.quote(str(ast.literal_eval(quoted[0]))), value)


def _list(value: str) -> str:
    return "VALUE" if value == "[...]" else _shell(value.strip("[]")).replace(",", "")


def _mapping(value: str) -> str:
    """`{'age': [40, 60]}` as `age=40,60`, `{'age': 4}` as `age=q4`."""
    try:
        found = dict(ast.literal_eval(value))
    except (SyntaxError, ValueError, TypeError):
        return "COLUMN=..."
    items = [(k, ",".join(map(str, v)) if isinstance(v, list | tuple) else f"q{v}") for k, v in found.items()]
    return " ".join(shlex.quote(f"{column}={spec}") for column, spec in items)
