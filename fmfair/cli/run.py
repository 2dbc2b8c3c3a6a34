"""`fmfair run`: embeddings, linear probes and zero-shot predictions."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmfair.cli import output, parsing
from fmfair.errors import FmfairError, plural
from fmfair.notes import Notes

if TYPE_CHECKING:
    from fmfair.runners.embedding import How, Tally
    from fmfair.runners.manifest import Manifest
    from fmfair.runners.similarity import Similarity
    from fmfair.runners.usages import Study

Given = Mapping[str, Any]

# Options as the arguments of functions.
_STUDY = ("name", "variant", "checkpoint", "device", "preprocess", "dtype", "feature")
_SCHEDULE = {
    "epochs": "epochs",
    "learning_rate": "learning_rate",
    "train_batch": "batch_size",
    "weight_decay": "weight_decay",
}


def _until_stopped(command: Callable[[Given, Mapping[str, str]], int]) -> Callable[[Given, Mapping[str, str]], int]:
    """The command, which says in one line what is kept where it is stopped from the keyboard."""

    @wraps(command)
    def run(given: Given, flags: Mapping[str, str]) -> int:
        from fmfair.cli.wording import in_flags
        from fmfair.runners.usages import UnfinishedError

        try:
            return command(given, flags)
        except UnfinishedError as left:
            if given["shard"] is None:
                raise
            output.say(f"{in_flags(str(left), flags)}\n", sys.stdout)  # this share is done
            return 0
        except KeyboardInterrupt as stop:
            output.say(f"fmfair: {str(stop) or 'stopped'}\n", sys.stderr)
            return 130

    return run


@_until_stopped
def embed(given: Given, flags: Mapping[str, str]) -> int:
    """Encodes the images of a manifest.

    Raises:
        FmfairError: The input or an option cannot be used.
    """
    study, how = _study(given, flags), _how(given)
    tally = study.embed(how, retry=given["retry"])
    output.say(f"{study.embeddings}: {_told(tally)}\n", sys.stdout)
    return int(0 < tally.faults.images == tally.faults.unusable)


@_until_stopped
def linear_probe(given: Given, flags: Mapping[str, str]) -> int:
    """Predicts by a linear probe.

    Raises:
        FmfairError: The input or an option cannot be used.
    """
    from fmfair.runners.probe import Probe
    from fmfair.runners.sgd import Schedule

    schedule = {name: given[key] for key, name in _SCHEDULE.items() if given[key] is not None}
    choices = {name: given[name] for name in ("solver", "select", "slices", "seed") if given[name] is not None}
    if schedule and choices.get("solver") != "sgd":
        named = ", ".join(flags[key] for key in _SCHEDULE if given[key] is not None)
        raise FmfairError(f"{named}: only for --solver sgd; leave it out, or choose that solver")
    study = _study(given, flags)
    groups = parsing.column_names(given["groups"] or [], study.manifest.attributes)
    probe = Probe(**choices, groups=tuple(groups), schedule=Schedule(**schedule))
    file, fitted = study.linear_probe(probe, _how(given), _splits(given))
    for one in [] if given["quiet"] else fitted:
        chosen = ", ".join(f"{name} {value:.6g}" for name, value in one.chosen.items())
        output.say_note(f"{one.label}: {chosen}")
        if one.note:
            output.say_note(f"{one.label}: {one.note}", warning=True)
    return _ended(study, file, flags, quiet=given["quiet"])


@_until_stopped
def zero_shot(given: Given, flags: Mapping[str, str]) -> int:
    """Predicts by prompts.

    Raises:
        FmfairError: The input or an option cannot be used.
    """
    from fmfair.runners.models.registry import find
    from fmfair.runners.similarity import Similarity
    from fmfair.runners.texts import check_reads_text

    _convention(given, Similarity())  # what cannot be used is told before anything is encoded
    choices = {name: given[name] for name in ("among", "slices") if given[name] is not None}
    study = _study(given, flags)
    check_reads_text(find(given["model"]))
    file = study.zero_shot(
        partial(_convention, given),
        learned_scale=given["scale"] == "learned",
        how=_how(given),
        splits=_splits(given),
        **choices,
    )
    return _ended(study, file, flags, quiet=given["quiet"])


def _study(given: Given, flags: Mapping[str, str]) -> Study:
    from fmfair.runners.models.registry import register
    from fmfair.runners.usages import Study

    if given["manifest"] is None or given["model"] is None:
        raise FmfairError(
            "name the manifest and the model, for example: fmfair run embed papila.parquet --model biomedclip; fmfair "
            "data makes manifests, fmfair models lists models"
        )
    if given["register"] is not None:
        register(Path(given["register"]))
    study = {name: given[name] for name in _STUDY if given.get(name) is not None}
    return Study.of(_manifest(given, flags), given["model"], given["output_path"] or "runs", **study)


def _manifest(given: Given, flags: Mapping[str, str]) -> Manifest:
    from fmfair.cli import own_table
    from fmfair.cli.wording import in_flags
    from fmfair.runners.prompts import read_prompts

    prompts, notes = given.get("prompts"), Notes()
    manifest = own_table.read(
        given["manifest"],
        given,
        notes,
        prompts=None if prompts is None else read_prompts(prompts),
        reading=given["reading"],
    )
    for note in [] if given["quiet"] else notes:
        output.say_note(in_flags(note, flags), warning=note in notes.warnings)
    return manifest


def _how(given: Given) -> How:
    from fmfair.runners.embedding import BATCH, How

    job, jobs = 1, 1
    if given["shard"] is not None:
        found = re.fullmatch(r"([0-9]+)/([0-9]+)", given["shard"])
        job, jobs = (int(number) for number in found.groups()) if found else (0, 0)
        if not 1 <= job <= jobs:
            raise FmfairError(f"--shard {given['shard']}: expected I/N with I from 1 to N, such as 2/4")
    size = BATCH if given["batch_size"] is None else given["batch_size"]
    return How(size, given["workers"], job - 1, jobs, progress=not given["quiet"])


def _convention(given: Given, published: Similarity) -> Similarity:
    """The published convention with what was asked for in place of its parts."""
    changes: dict[str, Any] = {name: given[name] for name in ("link", "ensemble") if given[name] is not None}
    changes |= {f"normalise_{side}": False for side in ("images", "texts") if given[f"raw_{side}"]}
    if given["scale"] not in (None, "published", "learned"):
        try:
            changes["scale"] = float(given["scale"])
        except ValueError:
            raise FmfairError(f"--scale {given['scale']}: expected published, learned or a number") from None
    return replace(published, **changes)


def _splits(given: Given) -> tuple[str, ...]:
    return tuple(parsing.column_names(given["splits"] or [], ())) or ("test",)


def _told(tally: Tally) -> str:
    """What became of the images of a call, and what could not be encoded of all that is there."""
    speed = f"{tally.images / tally.seconds:,.1f} images a second" if tally.seconds else ""
    did = f"{plural(tally.images, 'image')} encoded in {tally.seconds:.0f} s ({speed})"
    told = [did if tally.images else "nothing was left to do"]
    if tally.left:
        told = [did] if tally.images else []
        told.append(f"{plural(tally.left, 'part')} left to other jobs")
    if tally.faults.reasons:
        told.append(f"{tally.faults}: --retry reads them again")
    return "; ".join(told)


def _ended(study: Study, file: Path, flags: Mapping[str, str], *, quiet: bool) -> int:
    """Names the file of predictions, and the command that evaluates it."""
    import polars as pl

    from fmfair.cli.wording import in_flags

    for note in [] if quiet else study.notes:
        output.say_note(in_flags(note, flags), warning=note in study.notes.warnings)
    table = pl.scan_parquet(file, hive_partitioning=False, glob=False)
    rows, missing = table.select(pl.len(), pl.col("y_score").null_count().alias("missing")).collect().row(0)
    words = ["fmfair", "score", str(file), "--cluster", "patient_id"]
    words += ["--missing-scores", "drop"] if missing else []
    if study.manifest.attributes:
        words += ["--sensitive", *study.manifest.attributes]
    said = f", {missing:,} without a score" if missing else ""
    output.say(f"{file}: {plural(rows, 'prediction')}{said}\n\n{shlex.join(words)}\n", sys.stdout)
    return 0
