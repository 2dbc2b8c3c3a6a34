"""BLIP and BLIP-2 with their matching head off: cosines of projected vectors, divided by a temperature."""

from __future__ import annotations

from typing import Any

from fmfair.runners.models.checkpoint import Checkpoint
from fmfair.runners.models.encoder import Tower, scales
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.families.hf import built, config_of, named_class
from fmfair.runners.models.features import no_such_feature
from fmfair.runners.models.tokens import tokenizer_for
from fmfair.runners.models.weights import state_of


def load(entry: Entry, checkpoint: Checkpoint) -> Tower:
    """The model of a folder with config.json, weights and tokenizer."""
    known = ("cls", "patch_mean", "projected") if entry.loader.family == "blip" else ("patch_mean", "first_query")
    if entry.feature.take not in known:
        raise no_such_feature(entry, known)
    model_class = named_class(entry, ("BlipForImageTextRetrieval", "Blip2ForImageTextRetrieval"))
    tokenizer = tokenizer_for(entry, checkpoint)
    state, report = state_of(entry, checkpoint)
    scale, learned = scales(entry, state)
    state.pop(entry.score.parameter, None)
    model, report = built(model_class, config_of(entry, checkpoint, model_class.config_class), state, entry, report)
    images, texts = (_blip if entry.loader.family == "blip" else _blip2)(entry, model)
    return Tower(model, images, texts, tokenizer, scale, learned, report)


def _blip(entry: Entry, model: Any) -> tuple[Any, Any]:
    def images(batch: Any) -> tuple[Any, Any]:
        # The class's own pooled output is normalised a second time.
        tokens = model.vision_model(pixel_values=batch).last_hidden_state
        shared = model.vision_proj(tokens[:, 0])
        taken = {"cls": tokens[:, 0], "patch_mean": tokens[:, 1:].mean(dim=1), "projected": shared}
        return taken[entry.feature.take], shared

    def texts(ids: Any, mask: Any) -> Any:
        output = model.text_encoder(input_ids=ids, attention_mask=mask)
        return model.text_proj(output.last_hidden_state[:, 0])

    return images, texts


def _blip2(entry: Entry, model: Any) -> tuple[Any, Any]:
    def images(batch: Any) -> tuple[Any, Any]:
        tokens = model.vision_model(pixel_values=batch).last_hidden_state
        queries = model.query_tokens.expand(len(tokens), -1, -1)
        mask = tokens.new_ones(tokens.shape[:2], dtype=int)
        found = model.qformer(
            query_embeds=queries, encoder_hidden_states=tokens, encoder_attention_mask=mask
        ).last_hidden_state
        feature = found[:, 0] if entry.feature.take == "first_query" else found.mean(dim=1)
        # One vector per query; the best of them is the image's for a text.
        return feature, model.vision_projection(found).flatten(1)

    def texts(ids: Any, mask: Any) -> Any:
        embedded = model.embeddings(input_ids=ids)
        output = model.qformer(query_embeds=embedded, query_length=0, attention_mask=mask)
        return model.text_projection(output.last_hidden_state[:, 0])

    return images, texts
