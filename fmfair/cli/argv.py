"""Several values after one flag, as in `--sensitive sex age`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

# What begins with a dash and is a value all the same: a number such as -1.5.
_NEGATIVE = re.compile(r"-\.?\d.*")


class SeveralValues(TyperCommand):
    """A command whose repeatable options also take several values after one flag.

    `--sensitive sex age` is `--sensitive sex --sensitive age`: values are read up to the next option. Where this
    swallows the table (`--sensitive sex age table.csv`), the last value is taken as the table if it looks like one.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the flags, then parse as ever."""
        options = [p for p in self.params if p.param_type_name == "option"]
        several = {flag for p in options if getattr(p, "multiple", False) for flag in p.opts}
        known = {flag for p in options for flag in p.opts} | {"--help"}
        single = {f for p in options if not getattr(p, "is_flag", False) for f in p.opts} - several
        table_options = {flag for p in options if p.name == "table_option" for flag in p.opts}
        expanded = repeat_flags(args, several=several, single=single, known=known, table_options=table_options)
        return super().parse_args(ctx, expanded)


def repeat_flags(
    args: Sequence[str],
    *,
    several: Collection[str],
    single: Collection[str],
    known: Collection[str],
    table_options: Collection[str] = (),
) -> list[str]:
    """The arguments with one flag per value.

    Args:
        args: The arguments as typed.
        several: Flags that take one value or more.
        single: Flags that take one value.
        known: All flags.
        table_options: Flags that name the table, which is then not looked for among the values.

    Examples:
        >>> repeat_flags(["a.csv", "--by", "model", "fold", "-q"], several={"--by"}, single=(), known={"--by", "-q"})
        ['a.csv', '--by=model', '--by=fold', '-q']
        >>> repeat_flags(["--by", "model", "a.csv"], several={"--by"}, single=(), known={"--by"})
        ['--by=model', 'a.csv']
    """
    rest, out, ends, has_table = list(args), [], [], False
    while rest:
        token = rest.pop(0)
        flag, equals, value = token.partition("=")
        if token == "--":
            has_table = has_table or bool(rest)
            out += [token, *rest]
            break
        if flag in several:
            values = ([value] if equals else []) + _values(rest, known, first=not equals)
            out += [f"{flag}={v}" for v in values] or [flag]
            ends += [len(out) - 1] * (len(values) > 1)
        elif token in single and rest:
            out += [token, rest.pop(0)]
        else:
            out.append(token)
            has_table = has_table or not _is_option(token)
        has_table = has_table or flag in table_options
    return out if has_table or not ends else _with_table(out, ends)


def _values(rest: list[str], known: Collection[str], *, first: bool) -> list[str]:
    """Takes the values up to the next option off the rest; the first may look like an unknown option."""
    values: list[str] = []
    while rest and rest[0].partition("=")[0] not in known and (first or not _is_option(rest[0])):
        values.append(rest.pop(0))
        first = False
    return values


def _is_option(token: str) -> bool:
    return len(token) > 1 and token.startswith("-") and not _NEGATIVE.fullmatch(token)


def _with_table(out: list[str], ends: Sequence[int]) -> list[str]:
    """The last value of a run becomes the table, where it looks like one."""
    from fmfair.formats import format_of

    for i in reversed(ends):
        value = out[i].partition("=")[2]
        if format_of(Path(value)) or "*" in value or Path(value).is_dir():
            return [*out[:i], value, *out[i + 1 :]]
    return out
