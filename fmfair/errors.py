"""The one error that fmfair raises for bad input, and the helpers that word its messages."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

SHOWN = 5


class FmfairError(ValueError):
    """Input or options that fmfair cannot use.

    The message says what is wrong, where (column, count, first rows), what was expected and what to do.
    Several problems found together are listed together, one a line.

    Examples:
        >>> raise FmfairError("no column 'Sex'; did you mean 'sex'?")
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: no column 'Sex'; did you mean 'sex'?
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.problems = [message]


class Problems:
    """Collects the problems of one step, so that the user sees all of them at once."""

    def __init__(self) -> None:
        self._messages: list[str] = []

    def add(self, message: str) -> None:
        """One more problem."""
        self._messages.append(message)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Adds the problems of a block that raises, and goes on after it."""
        try:
            yield
        except FmfairError as error:
            self._messages += error.problems

    def raise_if_any(self) -> None:
        """Raise one error that lists all problems, if there are any."""
        messages = list(dict.fromkeys(self._messages))
        if len(messages) == 1:
            raise FmfairError(messages[0])
        if messages:
            error = FmfairError(f"{len(messages)} problems:\n" + "\n".join(f"  - {m}" for m in messages))
            error.problems = messages
            raise error


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raises where an option has none of its possible values.

    Examples:
        >>> check_choice("empty", "ones", ("one", "zero"))
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: empty='ones' is not known; expected one of 'one', 'zero'; did you mean 'one'?
    """
    known = list(choices)
    if value not in known:
        raise FmfairError(f"{name}={value!r} is not known; expected one of {listing(known)}{near(str(value), known)}")


@contextmanager
def reworded(words: Mapping[str, str]) -> Iterator[None]:
    """Raises the errors of a block in the words of another set of arguments."""
    try:
        yield
    except FmfairError as error:
        problems = Problems()
        for message in error.problems:
            problems.add(in_words(message, words))
        problems.raise_if_any()


def in_words(text: str, words: Mapping[str, str]) -> str:
    """The text with each of the `words` replaced, where it does not stand inside a longer name.

    Examples:
        >>> in_words("say positive=1; sample_weight=", {"positive=": "pos_label=", "weight=": "w="})
        'say pos_label=1; sample_weight='
    """
    for word, other in words.items():
        start = r"(?<!\w)" if word[0].isalnum() else ""
        text = other.join(re.split(start + re.escape(word), text))
    return text


def listing(values: Iterable[object], limit: int = SHOWN) -> str:
    """The first values, quoted as Python would print them, and how many more there are."""
    items = list(values)
    text = ", ".join(repr(v) for v in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit} more"


def plural(count: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def rows_at(rows: Sequence[int], limit: int = SHOWN) -> str:
    """Row numbers for a message, counted from 0: `row 2` or `rows 2, 5, 8, ...`."""
    shown = ", ".join(str(r) for r in rows[:limit])
    more = ", ..." if len(rows) > limit else ""
    return f"row {shown}" if len(rows) == 1 else f"rows {shown}{more}, counted from 0"


def near(name: str, options: Iterable[str]) -> str:
    """A hint such as `; did you mean 'sex'?`, or an empty text when nothing is close."""
    choices = list(options)
    folded = {c.strip().lower(): c for c in reversed(choices)}
    match = folded.get(name.strip().lower())
    if match is None:
        close = difflib.get_close_matches(name, choices, n=1)
        match = close[0] if close else None
    return f"; did you mean {match!r}?" if match is not None else ""
