"""Weights into a model: rules for keys, and a report in which nothing is passed over in silence."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError, Problems, listing, plural
from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.sections import WeightRules
from fmfair.runners.models.state import State, checked, nested, read_state

SHOWN_KEYS = 10
# How far a count of parameters may be off, as a share: published counts are rounded.
COUNT_TOLERANCE = 0.01


@dataclass(frozen=True)
class LoadReport:
    """What became of the keys of a checkpoint.

    Attributes:
        file: The file of weights.
        loaded: Keys of the model that were set.
        missing: Keys of the model that the file need not have and has not.
        unexpected: Keys of the file that the model need not have and has not.
        dropped: Keys of the file that are not wanted.
        renamed: Keys of the file and what they became.
        params: How many parameters the model has.
    """

    file: Path | None = None
    loaded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    params: int = 0

    def __str__(self) -> str:
        """One line."""
        names = ("loaded", "missing", "unexpected", "dropped", "renamed")
        parts = [f"{len(keys)} {name}" for name in names if (keys := getattr(self, name))]
        return f"keys: {', '.join(parts)}; {self.params / 1e6:.1f} M parameters"


def state_of(entry: Entry, checkpoint: Checkpoint) -> tuple[State, LoadReport]:
    """The tensors of a checkpoint under the keys of the model, and what was dropped and renamed on the way."""
    rules = entry.weights
    prefixes = tuple(p for p in rules.keep_prefix if p)
    # Nested files are read whole; of others no key is read that is not kept.
    skip = prefixes and "" not in rules.keep_prefix and not rules.state_key
    found = read_state(
        checkpoint.weights,
        wanted=(lambda key: key.startswith(prefixes)) if skip else (lambda _: True),
        torchscript=entry.source.format == "torchscript",
        safe_globals=rules.safe_globals,
    )
    return renamed_state(nested(found, rules.state_key, checkpoint.weights), rules, checkpoint.weights)


def renamed_state(state: State, rules: WeightRules, path: Path) -> tuple[State, LoadReport]:
    """A state dict after the rules for its keys."""
    prefix = _prefix(state, rules.keep_prefix, path)
    kept: State = {}
    dropped, renamed = [], []
    for key, value in state.items():
        inner = key[len(prefix) :]
        if not key.startswith(prefix) or matches(inner, rules.drop):
            dropped.append(key)
            continue
        new = inner
        for pattern, other in rules.rename:
            new = re.sub(pattern, other, new)
        if new in kept:
            raise FmfairError(f"{path}: two keys become {new!r} after the renames of weights.rename")
        if new != key:
            renamed.append((key, new))
        kept[new] = value
    return checked(kept, path), LoadReport(file=path, dropped=tuple(dropped), renamed=tuple(renamed))


def _prefix(state: State, prefixes: Sequence[str], path: Path) -> str:
    if not prefixes:
        return ""
    first = next((p for p in prefixes if any(key.startswith(p) for key in state)), None)
    if first is None:
        raise FmfairError(
            f"{path}: no key starts with {' or '.join(map(repr, prefixes))}; it has {listing(state, SHOWN_KEYS)}. "
            "Is it the checkpoint of another model?"
        )
    return first


def matches(key: str, patterns: Iterable[str]) -> bool:
    """Whether a key starts as a pattern says, or matches it where it has `*`."""
    return any(fnmatch.fnmatchcase(key, p) if "*" in p else key.startswith(p) for p in patterns)


def load_into(module: Any, state: State, entry: Entry, report: LoadReport) -> LoadReport:
    """Sets the weights of a model; raises where a key is missing, left over, or of another shape, unless allowed."""
    own = module.state_dict()
    shapes = {
        k: (tuple(state[k].shape), tuple(own[k].shape)) for k in state if k in own and state[k].shape != own[k].shape
    }
    if shapes:
        told = "; ".join(f"{key} is {got}, expected {due}" for key, (got, due) in list(shapes.items())[:SHOWN_KEYS])
        raise FmfairError(f"{entry.name}: {report.file}: {plural(len(shapes), 'tensor')} of another shape: {told}")
    result = module.load_state_dict(state, strict=False)
    return settled(entry, report, module, missing=result.missing_keys, unexpected=result.unexpected_keys)


def settled(
    entry: Entry, report: LoadReport, module: Any, *, missing: Iterable[str], unexpected: Iterable[str]
) -> LoadReport:
    """The report of a load, if all that is missing and left over is allowed, and the model has its published size."""
    missing, unexpected = tuple(missing), tuple(unexpected)
    rules, problems = entry.weights, Problems()
    for keys, allowed, told, advice in (
        (missing, rules.missing_ok, "of the model are not in the checkpoint", "they would stay random"),
        (unexpected, rules.unexpected_ok, "of the checkpoint are not in the model", "the model would be another one"),
    ):
        if bad := [key for key in keys if not matches(key, allowed)]:
            problems.add(
                f"{entry.name}: {report.file}: {plural(len(bad), 'key')} {told}: {listing(bad, SHOWN_KEYS)}; {advice}. "
                f"Is it the checkpoint of {entry.title}? An entry of your own may say weights.keep_prefix, rename, "
                "drop, missing_ok or unexpected_ok"
            )
    params = sum(p.numel() for p in module.parameters())
    due = entry.loader.params_m
    if due is not None and abs(params / 1e6 - due) > COUNT_TOLERANCE * due:
        problems.add(f"{entry.name}: {params / 1e6:.1f} M parameters, expected {due} M; is it a model of another size?")
    own = module.state_dict()
    if broken := [k for k, value in own.items() if value.is_floating_point() and not value.isfinite().all()]:
        problems.add(
            f"{entry.name}: {report.file}: {plural(len(broken), 'tensor')} with values that are NaN or infinite: "
            f"{listing(broken, SHOWN_KEYS)}; download it again"
        )
    problems.raise_if_any()
    loaded = tuple(sorted(set(own) - set(missing)))
    return replace(report, loaded=loaded, missing=missing, unexpected=unexpected, params=params)
