"""Checkpoints from the Hugging Face hub, for users who named no path."""

from __future__ import annotations

from pathlib import Path

from fmfair.errors import FmfairError
from fmfair.runners.models.checkpoint import USUAL, instructions
from fmfair.runners.models.entry import Entry

# Configurations and tokenizers; no code.
_TEXTS = ("*.json", "*.txt", "*.model", "*.yaml")


def fetch(entry: Entry) -> Path:
    """The folder of the model's repository, downloaded where it is not in the cache."""
    return _folder(entry, entry.source.hub_id, entry.source.revision or None, _wanted(entry))


def fetch_texts(entry: Entry, repository: str, *, local: bool) -> Path:
    """The folder with the configuration and tokenizer files of another repository; from the cache alone if `local`."""
    return _folder(entry, repository, None, _TEXTS, local=local)


def _folder(
    entry: Entry, repository: str, revision: str | None, patterns: tuple[str, ...], *, local: bool = False
) -> Path:
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError as error:
        raise FmfairError('downloading models needs huggingface_hub: pip install "fmfair[runners]"') from error
    try:
        found = huggingface_hub.snapshot_download(
            repository, revision=revision, allow_patterns=list(patterns), local_files_only=local
        )
        return Path(found)
    except errors.GatedRepoError as error:
        raise FmfairError(
            f"{entry.name}: {repository} is gated and access was refused. {instructions(entry)}"
        ) from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        reason = type(error).__name__
        raise FmfairError(
            f"{entry.name}: {repository} could not be fetched ({reason}) and is not in the cache. {instructions(entry)}"
        ) from error


def _wanted(entry: Entry) -> tuple[str, ...]:
    """The names to download: one set of weights, safetensors where there are any."""
    if entry.source.files:
        return (*entry.source.files, *entry.source.beside, *_TEXTS)
    import huggingface_hub

    try:
        there = set(huggingface_hub.list_repo_files(entry.source.hub_id, revision=entry.source.revision or None))
    except Exception:  # noqa: BLE001 - no network, or refused: what is in the cache, or the error of the download
        return (*_patterns(USUAL), *_TEXTS)
    first = next((name for name in USUAL if name in there), None)
    return (*_patterns((first,) if first else USUAL), *_TEXTS)


def _patterns(names: tuple[str, ...]) -> tuple[str, ...]:
    """The files of each name: an index stands for its shards."""
    shards = {
        "model.safetensors.index.json": "model-*.safetensors",
        "pytorch_model.bin.index.json": "pytorch_model-*.bin",
    }
    return tuple(shards.get(name, name) for name in names)
