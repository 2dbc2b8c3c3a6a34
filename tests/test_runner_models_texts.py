"""Texts: what each model is fed, and that its vectors are those of its authors' protocol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("open_clip")
pytest.importorskip("transformers")

import torch
from stand_ins import TEXTS, registered, stand_in
from test_runner_models_traps import ids_of, loaded, pictures

from fmfair import FmfairError
from fmfair.notes import Notes
from fmfair.runners.description import Prompts
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import find
from fmfair.runners.models.sections import TextRules
from fmfair.runners.models.tokens import cleaned
from fmfair.runners.texts import Texts, read_texts

LONG = " ".join(["pneumonia"] * 400)


def test_clip_ids_are_padded_by_zero_and_keep_the_end_where_cut(tmp_path: Path) -> None:
    model = loaded("chexzero", tmp_path)
    tokens = ids_of(model, ("a photo of a cat", LONG))
    assert tokens.ids[0, :8].tolist() == [49406, 320, 1125, 539, 320, 2368, 49407, 0]
    assert tokens.mask[0].sum() == 7
    assert tokens.ids[1, -1] == 49407
    assert tokens.mask[1].sum() == 77


@pytest.mark.parametrize("name", ["clip_b32", "chexzero"])
def test_padding_does_not_change_clip(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path)
    ids, mask = ids_of(model).ids, ids_of(model).mask
    other = torch.where(mask == 1, ids, torch.full_like(ids, 5))
    torch.testing.assert_close(model.tower.texts(other, mask), model.encode_texts(TEXTS))  # type: ignore[misc]


def test_clip_in_both_libraries_is_one_model(tmp_path: Path) -> None:
    """The weights of one as those of the other: the same activation, pooling and projection."""
    from transformers import CLIPConfig, CLIPModel

    ours = loaded("clip_b32_openai", tmp_path)
    layer = {"num_hidden_layers": 2, "num_attention_heads": 2}
    config = CLIPConfig(
        text_config={"hidden_size": 32, "intermediate_size": 128, **layer},
        vision_config={"hidden_size": 64, "intermediate_size": 256, "image_size": 224, "patch_size": 32, **layer},
        projection_dim=16,
    )
    theirs = CLIPModel(config).eval()
    _copy(ours.tower.module, theirs)
    torch.testing.assert_close(
        theirs.get_image_features(pixel_values=pictures(224)).pooler_output,
        ours.encode_images(pictures(224)).shared,
        atol=1e-4,
        rtol=1e-4,
    )
    ids = ids_of(ours).ids
    torch.testing.assert_close(
        theirs.get_text_features(input_ids=ids).pooler_output, ours.encode_texts(TEXTS), atol=1e-4, rtol=1e-4
    )


def _copy(ours: torch.nn.Module, theirs: torch.nn.Module) -> None:
    """open_clip's weights under transformers' names."""
    state = {"logit_scale": ours.state_dict()["logit_scale"]}
    for key, value in ours.state_dict().items():
        image = key.startswith("visual.")
        tower = "vision_model" if image else "text_model"
        new = key.removeprefix("visual.").replace("transformer.resblocks.", f"{tower}.encoder.layers.")
        new = new.replace("ln_1", "layer_norm1").replace("ln_2", "layer_norm2")
        new = (
            new.replace("mlp.c_fc", "mlp.fc1")
            .replace("mlp.c_proj", "mlp.fc2")
            .replace("attn.out_proj", "self_attn.out_proj")
        )
        if "in_proj_" in new:
            for part, tensor in zip("qkv", value.chunk(3), strict=True):
                state[new.replace("attn.in_proj_", f"self_attn.{part}_proj.")] = tensor
            continue
        state[new] = value
    moved = {
        "class_embedding": "vision_model.embeddings.class_embedding",
        "conv1.weight": "vision_model.embeddings.patch_embedding.weight",
        "ln_pre.weight": "vision_model.pre_layrnorm.weight",
        "ln_pre.bias": "vision_model.pre_layrnorm.bias",
        "ln_post.weight": "vision_model.post_layernorm.weight",
        "ln_post.bias": "vision_model.post_layernorm.bias",
        "ln_final.weight": "text_model.final_layer_norm.weight",
        "ln_final.bias": "text_model.final_layer_norm.bias",
        "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    }
    state = {moved.get(key, key): value for key, value in state.items()}
    own = ours.state_dict()
    state["vision_model.embeddings.position_embedding.weight"] = own["visual.positional_embedding"]
    state["text_model.embeddings.position_embedding.weight"] = own["positional_embedding"]
    state["visual_projection.weight"] = own["visual.proj"].T
    state["text_projection.weight"] = own["text_projection"].T
    found = theirs.load_state_dict(state, strict=False)
    assert not [key for key in found.missing_keys if "position_ids" not in key]


def test_medclip_encodes_each_prompt_alone_so_that_padding_changes_nothing(tmp_path: Path) -> None:
    model = loaded("medclip", tmp_path)
    vectors = model.encode_texts(TEXTS)
    assert vectors is not None
    for number, text in enumerate(TEXTS):
        torch.testing.assert_close(model.encode_texts([text]), vectors[number : number + 1])
    tokens = ids_of(model, TEXTS[1:2])
    padded = torch.nn.functional.pad(tokens.ids, (0, 3)), torch.nn.functional.pad(tokens.mask, (0, 3))
    assert (model.tower.texts(*padded) - vectors[1]).abs().max() > 1e-3  # type: ignore[misc]


@pytest.mark.parametrize("name", ["cxr_clip_r50", "biovil", "blip", "blip2", "biomedclip", "conch"])
def test_a_text_s_vector_does_not_depend_on_its_batch(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path)
    vectors = model.encode_texts([*TEXTS, "a photo of a normal chest x ray"])
    assert vectors is not None
    torch.testing.assert_close(model.encode_texts(TEXTS[1:2]), vectors[1:2], atol=1e-4, rtol=1e-4)


def test_cxr_clip_takes_the_last_token_that_is_not_padding(tmp_path: Path) -> None:
    model = loaded("cxr_clip_r50", tmp_path)
    tokens = ids_of(model)
    module = model.tower.module
    states = module.bert(input_ids=tokens.ids, attention_mask=tokens.mask).last_hidden_state
    ends = [row.tolist().index(3) for row in tokens.ids]  # [SEP]
    expected = module.text_head(torch.stack([states[i, end] for i, end in enumerate(ends)]))
    torch.testing.assert_close(model.encode_texts(TEXTS), expected)


def test_cxr_clip_s_swin_takes_its_first_token_and_medclip_s_the_mean(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name, folder, pooled in (("cxr_clip_swint", "a", False), ("medclip", "b", True)):
        model = loaded(name, tmp_path / folder)
        output = model.tower.module.swin(pixel_values=pictures())
        expected = output.pooler_output if pooled else output.last_hidden_state[:, 0]
        torch.testing.assert_close(model.encode_images(pictures()).feature, expected)


def test_conch_has_start_and_end_and_room_for_its_cls(tmp_path: Path) -> None:
    model = loaded("conch", tmp_path)
    ids = ids_of(model, ("no pneumonia", LONG)).ids
    assert ids.shape == (2, 127)
    assert ids[0, 0] == 1
    assert ids[0, 3] == 2
    assert (ids[0, 4:] == 0).all()
    assert ids[1, -1] == 2


def test_medimageinsight_looks_past_padding_and_never_at_an_exclamation_mark(tmp_path: Path) -> None:
    model = loaded("medimageinsight", tmp_path)
    torch.testing.assert_close(model.encode_texts(["no pneumonia!!"]), model.encode_texts(["no pneumonia"]))
    text, ids = model.tower.module.text, ids_of(model, ("no pneumonia",)).ids
    assert text.attn_mask is None
    with_more = ids.clone()
    with_more[0, 50] = 7  # what is not padding is looked at, also after the end
    assert (text(with_more) - text(ids)).abs().max() > 1e-4


def test_biovil_strips_the_end_of_a_prompt(tmp_path: Path) -> None:
    model = loaded("biovil", tmp_path)
    torch.testing.assert_close(model.encode_texts(["no pneumonia.!?"]), model.encode_texts(["no pneumonia"]))


def test_biovil_t_has_a_constant_half_for_the_earlier_image(tmp_path: Path) -> None:
    feature = loaded("biovil_t", tmp_path).encode_images(pictures()).feature
    torch.testing.assert_close(feature[0, 16:], feature[1, 16:])
    assert not torch.allclose(feature[0, :16], feature[1, :16])


@pytest.mark.parametrize("name", ["blip", "blip2"])
def test_blip_scores_are_those_of_its_class_without_matching_head(name: str, tmp_path: Path) -> None:
    model = loaded(name, tmp_path)
    tokens, module = ids_of(model), model.tower.module
    found = model.encode_images(pictures())
    vectors = model.encode_texts(TEXTS)
    assert vectors is not None
    assert found.shared is not None
    shared = found.shared.reshape(2, model.entry.feature.vectors, -1)
    cosines = torch.nn.functional.normalize(shared, dim=-1) @ torch.nn.functional.normalize(vectors, dim=-1).T
    inputs = {"pixel_values": pictures(), "input_ids": tokens.ids, "attention_mask": tokens.mask}
    if name == "blip":
        expected = module(**inputs, use_itm_head=False).itm_score
    else:
        expected = module(**inputs, use_image_text_matching_head=False).logits_per_image
    torch.testing.assert_close(cosines.amax(dim=1), expected)


def test_cleaning_is_each_model_s_own() -> None:
    said = 'Pleural_Thickening/Effusion, "left" (mild).'
    for name, expected in {
        "siglip_b16": "pleural thickening effusion left mild",
        "siglip2_b16": 'pleural thickening effusion, "left" (mild).',
        "blip": "pleural_thickening/effusion, left mild",
        "conch": said,
    }.items():
        rules = find(name).text
        assert rules is not None
        assert cleaned(said, rules) == expected, name
    assert cleaned("a b c d", TextRules("json", 9, max_words=2)) == "a b"


def test_ids_that_a_model_does_not_have_are_told(tmp_path: Path) -> None:
    model = loaded("siglip_b16", tmp_path)
    with pytest.raises(FmfairError, match=r"ids \(1, 64\) up to 9999 can be encoded: .*tokenizer another model's"):
        model._vectors(torch.full((1, 64), 9999), None)


@pytest.mark.parametrize("name", ["chexzero", "clip_b32", "siglip_b16"])
def test_an_image_tower_alone_needs_no_texts(name: str, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(name, tmp_path)
    feature = replace(entry.feature, shared_dim=0)
    alone = replace(entry, model=replace(entry.model, kind="image"), feature=feature, text=None)
    with registered(alone):
        model = load_model(alone.name, checkpoint, device="cpu")
    found = model.encode_images(pictures(entry.image.size))
    assert found.feature.shape == (2, feature.dim)
    assert found.shared is model.encode_texts(TEXTS) is None


def test_a_tokenizer_of_another_model_or_none_is_an_error(tmp_path: Path) -> None:
    entry, folder = stand_in("blip", tmp_path)
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text().replace("[CLS]", "[XYZ]"))
    with registered(entry), pytest.raises(FmfairError, match=r"has no token '\[CLS\]'"):
        load_model(entry.name, folder, device="cpu")
    (folder / "tokenizer.json").unlink()
    with registered(entry), pytest.raises(FmfairError, match=r"no tokenizer\.json or vocab\.txt in "):
        load_model(entry.name, folder, device="cpu")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nno\npneumonia\n")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    with registered(entry):
        assert ids_of(load_model(entry.name, folder, device="cpu"), ("No pneumonia",)).ids.tolist() == [[2, 4, 5, 3]]


@pytest.mark.parametrize(("name", "reads"), [("clip_b32", "77"), ("biomedclip", "256"), ("blip", "50 words or 35")])
def test_prompts_that_are_cut_are_told_also_where_their_vectors_are_kept(name: str, reads: str, tmp_path: Path) -> None:
    short = Prompts(("normal",), ("pneumonia",))
    model, file = loaded(name, tmp_path), tmp_path / "texts.parquet"
    Texts.of({"x": short, "y": replace(short, templates=("{}", LONG + " {}"))}, model).keep(file)
    kept = read_texts(file, model.identity)
    assert kept is not None
    notes = Notes()
    kept.similarity(lambda published: published, notes)
    told = f"y: 2 of 4 prompts are longer than the {reads} tokens that tiny_{name} reads; their ends are lost"
    assert [note for note in notes.warnings if "longer" in note] == [told]
