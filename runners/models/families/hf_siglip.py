"""SigLIP, SigLIP 2 of fixed size, and MedSigLIP: transformers' `SiglipModel`.

Texts are padded on the right to the full context and no mask is passed: the last position is pooled, so anything else
gives another vector.
"""

from __future__ import annotations

from typing import Any

from fmfair.errors import FmfairError
from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.families.hf import built, config_of, named_class
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import state_of


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a folder with config.json, tokenizer.json and weights."""
    model_class = named_class(entry, ("SiglipModel",))
    if entry.feature.take not in ("pooler", "patch_mean"):
        raise no_such_feature(entry, ("pooler", "patch_mean"))
    config = config_of(entry, checkpoint, model_class.config_class)
    _check_text(entry, config)
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    model, report = built(model_class, config, state, entry, report)

    def images(batch: Any) -> tuple[Any, Any]:
        found = model.vision_model(pixel_values=batch)
        shared = found.pooler_output
        return shared if entry.feature.take == "pooler" else found.last_hidden_state.mean(dim=1), shared

    def texts(ids: Any, _mask: Any) -> Any:
        return model.get_text_features(input_ids=ids).pooler_output

    scale, learned = scales(entry, state)
    return Tower(model, images, texts, tokenizer, scale, learned, report)


def _check_text(entry: Entry, config: Any) -> None:
    """Raises where texts would not be padded as the checkpoint was trained."""
    rules = entry.text
    if rules is None:
        return
    positions = config.text_config.max_position_embeddings
    if rules.pad != "max_length" or rules.pass_mask or rules.context != positions:
        raise FmfairError(
            f"{entry.name}: texts of SigLIP are padded to the full length, here {positions}, and no mask is passed; "
            "set text.context, text.pad = 'max_length' and text.pass_mask = false"
        )
