"""What the command line writes: results to standard output and files, notes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, TextIO

from fmfair.errors import FmfairError, near
from fmfair.render import visible

if TYPE_CHECKING:
    from rich.console import Console

    from fmfair.comparison.result import Comparison
    from fmfair.report import Report

FORMATS = ("table", "json", "csv")
# Those of a report of one model.
REPORT_FORMATS = ("table", "pairs", "json", "csv")
# Words of notes on rows that do not count and on intervals that are too short.
WARNING_SIGNS = ("left out", "too narrow")
# Work that takes no longer than this is not worth a spinner.
SPIN_AFTER_S = 1.0


def destination(output: str | None, inputs: Sequence[str | None]) -> Callable[[Report | Comparison], object] | None:
    """How to write the report to the path, by its ending; None where there is no path.

    Raises:
        FmfairError: The ending says no format, or the path is one of the tables that are read.
    """
    if output is None:
        return None
    if not output.strip():
        raise FmfairError("--output is empty; name a file that ends in .json or .csv, or a folder")
    path = Path(output).expanduser()
    refuse_inputs(output, inputs)
    ending, is_folder = path.suffix.lower(), output.endswith(("/", os.sep))
    if ending == ".parquet" and not is_folder:
        raise FmfairError(
            f"--output {output}: a report is several tables, and a Parquet file holds one; name a folder such as "
            f"{path.with_suffix('')}{os.sep}, where each becomes a Parquet file"
        )
    if not ending or is_folder or path.is_dir():
        return lambda report: report.write_parquet(path)
    if ending == ".json":
        return lambda report: report.to_json(path)
    if ending == ".csv":
        return lambda report: report.write_csv(path)
    raise FmfairError(
        f"--output {output}: cannot tell the format by {ending!r}; end it in .json (the whole report) or .csv (the "
        "groups), or name a folder such as results/ (every table as Parquet)"
    )


def refuse_inputs(path: str, inputs: Sequence[str | None], flag: str = "--output") -> None:
    """Refuses a path that is one of the files that are read."""
    for read in inputs:
        if read is not None and Path(path).expanduser().resolve() == Path(read).expanduser().resolve():
            raise FmfairError(f"{flag} {path} would replace the table that is read; name another path")


def formatted(report: Report | Comparison, form: str) -> str:
    """The report as it is printed: tables for people, or the JSON or CSV that the files hold."""
    if form == "json":
        return report.to_json() + "\n"
    if form == "csv":
        return str(report.write_csv())
    return f"{replace(report, notes=())!r}\n"


def check_format(form: str, known: Sequence[str] = FORMATS) -> None:
    """Refuses a format that is not known."""
    if form not in known:
        raise FmfairError(f"--format {form} is not known{near(form, known)}; expected {', '.join(known)}")


def prepare_streams() -> None:
    """Makes sure that no text can fail to be printed: what the terminal's encoding lacks is escaped.

    Redirected output is UTF-8, so that JSON and CSV are what they are in files.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            encoding: Mapping[str, str] = {} if stream.isatty() else {"encoding": "utf-8"}
            reconfigure(errors="backslashreplace", **encoding)


def say(text: str, stream: TextIO | None) -> None:
    """Prints a text; a reader who has left, or a stream that was closed from the start (None), is no error."""
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # Whatever is printed from here on goes nowhere, the interpreter's last flush included.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say_error(message: str) -> None:
    """Prints why the command could not do its work."""
    lines = [visible(line) if line else "" for line in message.split("\n")]
    say("fmfair: error: " + "\n".join(lines) + "\n", sys.stderr)


def say_note(note: str, *, warning: bool = False) -> None:
    """Prints a note on one line, as a warning where it is one or says what changes how the numbers must be read."""
    kind = "warning" if warning or any(sign in note for sign in WARNING_SIGNS) else "note"
    say(f"fmfair: {kind}: {visible(note)}\n", sys.stderr)


@contextmanager
def spinner(
    what: str, *, shown: bool, console: Console | None = None, after: float = SPIN_AFTER_S
) -> Iterator[Timer | None]:
    """Shows on a terminal's standard error that work goes on, once it has taken a while; gives the timer for that."""
    from rich.console import Console

    console = console or Console(stderr=True)
    if not (shown and console.is_terminal):
        yield None
        return
    status = console.status(what)
    timer = Timer(after, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield timer
    finally:
        timer.cancel()
        timer.join()
        status.stop()
