"""The progress of long work: a bar with images a second and the time left, where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


# The seconds of which the speed is the mean; a batch of a large model on a CPU takes a minute.
_WINDOW_S = 300


@contextmanager
def progress(title: str, total: int, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives a function that is told how many images are done more; the bar goes to standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(TextColumn):
        """Images a second."""

        def render(self, task: object) -> Text:
            speed = getattr(task, "speed", None)
            return Text("" if speed is None else f"{speed:,.1f} images/s", style="progress.data.speed")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Speed(""),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not shown, speed_estimate_period=_WINDOW_S) as bars:
        task = bars.add_task(title, total=total)
        yield lambda done: bars.advance(task, done)
