"""The commands; the options are in `options`, the work is done in `score` and `metrics`.

Those two are imported when they are needed, so that `--help` and `--version` need not wait for Polars.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from fmfair.cli import output
from fmfair.cli.argv import SeveralValues
from fmfair.cli.data_options import DATA_EPILOG, DATA_OPTIONS, DATA_SET
from fmfair.cli.options import (
    COMPARE_EPILOG,
    COMPARE_OPTIONS,
    COUNT_EPILOG,
    COUNT_OPTIONS,
    EPILOG,
    MERGE_EPILOG,
    REPORT_EPILOG,
    with_options,
)
from fmfair.cli.run_options import (
    EMBED_EPILOG,
    EMBED_OPTIONS,
    PROBE_EPILOG,
    PROBE_OPTIONS,
    ZERO_SHOT_EPILOG,
    ZERO_SHOT_OPTIONS,
)
from fmfair.cli.run_options import MANIFEST as RUN_MANIFEST
from fmfair.cli.wording import in_flags
from fmfair.errors import FmfairError
from fmfair.version import installed_version

# The base of all usage errors; typer has it from click or from its own copy of click, depending on its version.
_UsageError: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        argv: The arguments, `sys.argv[1:]` where left out.

    Returns:
        The exit status: 0 done, 1 nothing could be computed or a condition of `--fail-if` holds, 2 the input or an
        option cannot be used, 130 interrupted.

    Examples:
        >>> main(["metrics", "auc"])
        auc
        ...
        0
    """
    output.prepare_streams()
    try:
        status = _command().main(args=None if argv is None else list(argv), prog_name="fmfair", standalone_mode=False)
    except (FmfairError, OSError) as error:
        output.say_error(str(error))
        return 2
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        output.say_error(_worded(error.format_message(), context.command_path if context else "fmfair"))
        return 2
    except (typer.Abort, KeyboardInterrupt):
        return 130
    return int(status or 0)


@cache
def _command() -> Any:
    """All commands as click has them, which takes longer to make than a small table to evaluate."""
    return typer.main.get_command(app)


def _worded(message: str, command: str) -> str:
    """A usage error; that of several tables, as an unquoted glob gives them, says what to do."""
    if "unexpected extra argument" in message:
        message += (
            f". {command} takes one table: quote a glob, so that its files are read as one table, or add tables of "
            "counts up with fmfair merge first"
        )
    return f"{message} (see {command} --help)"


def _version(asked: bool) -> None:
    if asked:
        output.say(f"fmfair {installed_version()}\n", sys.stdout)
        raise typer.Exit


@app.callback()
def _fmfair(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measures how the performance of a medical-imaging model differs between groups of patients."""


@app.command(cls=SeveralValues, epilog=EPILOG)
@with_options
def score(context: typer.Context, **given: Any) -> None:
    """Measures how performance differs between groups, from a table of predictions, or of counts that were merged."""
    from fmfair.cli.score import score as score_table

    _run(score_table, context, given)


def _count(context: typer.Context, **given: Any) -> None:
    """Counts a table of predictions per group and score bin: a small table that adds up, for fmfair merge and score."""
    from fmfair.cli.count import count

    _run(count, context, given)


app.command("count", cls=SeveralValues, epilog=COUNT_EPILOG)(with_options(_count, COUNT_OPTIONS))


def _compare(context: typer.Context, **given: Any) -> None:
    """Compares models on the same samples: which is better, which is fairer, and for whom one is worse."""
    from fmfair.cli.compare import compare

    _run(compare, context, given)


app.command("compare", cls=SeveralValues, epilog=COMPARE_EPILOG)(with_options(_compare, COMPARE_OPTIONS))


def _run(command: Callable[..., int], context: typer.Context, given: Mapping[str, Any]) -> None:
    """Runs a command with its options; errors name the options as they are typed."""
    flags = {str(p.name): p.opts[0] for p in context.command.params if p.param_type_name == "option"}
    try:
        status = command(given, flags)
    except FmfairError as error:
        raise FmfairError(in_flags(str(error), flags)) from None
    raise typer.Exit(status)


def _data(context: typer.Context, **given: Any) -> None:
    """Makes a manifest, images with patients, splits, labels and attributes, of a public data set or your own table."""
    from fmfair.cli.data import data

    _run(data, context, given)


app.command("data", cls=SeveralValues, epilog=DATA_EPILOG)(with_options(_data, DATA_OPTIONS, DATA_SET))


runs = typer.Typer(add_completion=False, help="Runs models: embeddings, linear probes, zero-shot predictions.")
app.add_typer(runs, name="run")


def _embed(context: typer.Context, **given: Any) -> None:
    """Encodes every image once: its embeddings go to Parquet, and the other usages start from them."""
    from fmfair.cli.run import embed

    _run(embed, context, given)


def _linear_probe(context: typer.Context, **given: Any) -> None:
    """Fits a linear head per label on embeddings of the training split, and predicts the test split."""
    from fmfair.cli.run import linear_probe

    _run(linear_probe, context, given)


def _zero_shot(context: typer.Context, **given: Any) -> None:
    """Predicts by the similarity of images to prompts."""
    from fmfair.cli.run import zero_shot

    _run(zero_shot, context, given)


for _name, _run_model, _options, _epilog in (
    ("embed", _embed, EMBED_OPTIONS, EMBED_EPILOG),
    ("linear-probe", _linear_probe, PROBE_OPTIONS, PROBE_EPILOG),
    ("zero-shot", _zero_shot, ZERO_SHOT_OPTIONS, ZERO_SHOT_EPILOG),
):
    runs.command(_name, cls=SeveralValues, epilog=_epilog)(with_options(_run_model, _options, RUN_MANIFEST))


@app.command("models")
def list_models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One model; without it all are listed.")] = None,
    register: Annotated[
        str | None, typer.Option(metavar="FILE", help="A TOML file that describes models of your own.")
    ] = None,
) -> None:
    """Lists the models, or tells of one what it is fed, where its weights are and what was verified."""
    from fmfair.cli.models import models

    raise typer.Exit(models(name, register))


@app.command("merge", epilog=MERGE_EPILOG)
def merge_tables(
    tables: Annotated[list[str], typer.Argument(metavar="COUNTS...", help="Files, globs or folders of counts.")],
    output_path: Annotated[
        str | None, typer.Option("--output", metavar="PATH", help="Write the sum: all.parquet")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no notes.")] = False,
) -> None:
    """Adds tables of counts that fmfair count made: of hospitals, of shards, of nights."""
    from fmfair.cli.count import merge

    raise typer.Exit(merge(tables, output_path, quiet=quiet))


@app.command("report", epilog=REPORT_EPILOG)
def write_report(
    results: Annotated[str, typer.Argument(metavar="RESULTS", help="Folder that --output results/ wrote.")],
    output_path: Annotated[
        str | None, typer.Option("--output", metavar="PATH", help="The document to write; default report.html")
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="What you know of it; see fmfair plan")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
) -> None:
    """Writes stored results as one HTML document for people, which needs no network and no program but a browser."""
    from fmfair.cli.page import report

    raise typer.Exit(report(results, output_path, plan, quiet=quiet))


@app.command("plan")
def print_plan() -> None:
    """Prints an empty plan: a TOML file with what only you know, for fmfair score --plan and fmfair report --plan."""
    from fmfair.page.plan import template

    output.say(template(), sys.stdout)


@app.command("metrics")
def list_metrics(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One metric: auc, or 'partial_auc(fpr=(0, 0.2))'.")
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="table|json", help="How to print.")] = "table",
) -> None:
    """Lists every metric with its definition, range and direction, and when it is undefined."""
    from fmfair.cli.metrics import describe_metrics

    output.say(describe_metrics(name, form), sys.stdout)
