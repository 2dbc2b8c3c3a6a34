"""Models of open_clip: OpenAI's own files and what was fine-tuned from them, BiomedCLIP, copies of SigLIP."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import open_clip

from fmfair.errors import FmfairError, near
from fmfair.runners.models.checkpoint import Checkpoint, described
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import load_into, state_of

QUICK = "-quickgelu"


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a file of weights, or of a folder with `open_clip_config.json` beside them."""
    if entry.source.format == "torchscript" and not entry.loader.arch.endswith(QUICK):
        raise FmfairError(
            f"{entry.name}: OpenAI's files were trained with QuickGELU; loader.arch is {entry.loader.arch + QUICK!r}"
        )
    model = built(entry, checkpoint)
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    state = {key: value.float() for key, value in state.items()}
    report = load_into(model, state, entry, report)

    def images(batch: Any) -> tuple[Any, Any]:
        shared = model.encode_image(batch)
        return shared if entry.feature.take == "projected" else model.visual.trunk(batch), shared

    if entry.feature.take != "projected" and not (entry.feature.take == "cls" and hasattr(model.visual, "trunk")):
        raise no_such_feature(entry, ("projected", "cls"))

    def texts(ids: Any, _mask: Any) -> Any:
        return model.encode_text(ids)

    scale, learned = scales(entry, state)
    return Tower(model, images, texts, tokenizer, scale, learned, report)


def built(entry: Entry, checkpoint: Checkpoint) -> Any:
    """The architecture, not yet with weights."""
    config = _config(entry, checkpoint)
    custom = config.pop("custom_text", False)
    text = config["text_cfg"]
    config["vision_cfg"] = {**config["vision_cfg"], "timm_model_pretrained": False}  # nothing else is fetched
    if entry.loader.arch.endswith(QUICK):
        config["quick_gelu"] = True
    if "hf_model_name" not in text:
        return (open_clip.CustomTextCLIP if custom else open_clip.CLIP)(**config)
    text["hf_model_pretrained"] = False
    with tempfile.TemporaryDirectory() as folder:
        if described := entry.loader.kwargs.get("text_config"):
            # open_clip asks the hub for the sizes of the text tower, which the entry knows.
            (Path(folder) / "config.json").write_text(json.dumps(described), encoding="utf-8")
            text["hf_model_name"] = folder
        return open_clip.CustomTextCLIP(**config)


def _config(entry: Entry, checkpoint: Checkpoint) -> dict[str, Any]:
    """The sizes: of the folder where it says them, else of the architecture; then what the entry says."""
    beside = checkpoint.folder / "open_clip_config.json"
    own = entry.loader.kwargs.get("model", {})
    if beside.is_file():
        said = dict(described(beside).get("model_cfg", {}))
    else:
        said = deepcopy(open_clip.get_model_config(entry.loader.arch) or {}) if entry.loader.arch else {}
    if not said and not own:
        hint = near(entry.loader.arch, open_clip.list_models())
        raise FmfairError(f"{entry.name}: open_clip has no architecture {entry.loader.arch!r}{hint}")
    return merged(said, own)


def merged(config: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One nested mapping upon another."""
    result = dict(config)
    for key, value in other.items():
        base = result.get(key)
        result[key] = merged(base, value) if isinstance(base, Mapping) and isinstance(value, Mapping) else value
    return result
