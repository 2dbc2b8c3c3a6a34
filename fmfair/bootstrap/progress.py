"""A bar on the terminal's standard error while replicates are drawn, once that has taken a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Work that takes no longer than this is not worth a bar.
SHOWN_AFTER_S = 2.0


@contextmanager
def progress(
    what: str, total: int, *, console: Console | None = None, after: float = SHOWN_AFTER_S
) -> Iterator[Callable[[int], None]]:
    """Gives what is to be called with each amount done; shows nothing where standard error is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = console or Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(what, total=total)
    began, started = time.monotonic(), False

    def advance(amount: int) -> None:
        nonlocal started
        if not started and time.monotonic() - began >= after:
            started = True
            bar.start()
        bar.advance(task, amount)

    try:
        yield advance
    finally:
        if started:
            bar.stop()
