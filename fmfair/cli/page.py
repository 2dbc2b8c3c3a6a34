"""`fmfair report` and `fmfair score --html`: a report as one HTML document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fmfair.cli import output
from fmfair.errors import FmfairError
from fmfair.page.plan import plan_of
from fmfair.report import Report


def document(
    path: str | None, plan: str | None, inputs: Sequence[str | None], flag: str = "--html"
) -> Callable[[Report], None] | None:
    """How to write the document of a report; None where there is no path. The plan is read before anything is computed.

    Args:
        path: The file to write.
        plan: The TOML file with what the user knows of the evaluation.
        inputs: The tables that are read.
        flag: The option that names the path.

    Raises:
        FmfairError: The path does not end in .html or is one of the tables, or the plan cannot be used.
    """
    if path is None:
        if plan is not None:
            raise FmfairError("--plan is part of the HTML document; name the document too, with --html report.html")
        return None
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FmfairError(f"{flag} {path}: the document is HTML; name a file that ends in .html")
    output.refuse_inputs(path, [*inputs, plan], flag)
    stated = plan_of(plan)
    return lambda report: report.write_html(path, plan=stated)


def report(folder: str, output_path: str | None, plan: str | None, *, quiet: bool) -> int:
    """Writes the document of a report that was stored as Parquet.

    Args:
        folder: The folder with the report's Parquet files.
        output_path: The file to write; `report.html` where left out.
        plan: The TOML file with what the user knows of the evaluation.
        quiet: Whether not to say where the document is.

    Returns:
        The exit status 0.

    Raises:
        FmfairError: The folder holds no report, or the plan or the path cannot be used.
    """
    path = output_path or "report.html"
    write = document(path, plan, [], flag="--output")
    if write is not None:
        write(Report.read_parquet(folder))
    if not quiet:
        output.say_note(f"written: {path}")
    return 0
