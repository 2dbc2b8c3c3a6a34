"""Models of a user's own: TOML entries, models like those of fmfair, and functions that build them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fmfair import FmfairError
from fmfair.runners.models import registry
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import find, register

MINE: dict[str, Any] = {
    "name": "mine",
    "image": {"steps": ["rgb", "resize:32:squash:bilinear:pil", "scale"], "size": 32},
    "feature": {"dim": 3},
}


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    registry._added.clear()


def test_like_takes_over_what_fmfair_says_of_a_model_but_not_whose_weights_it_has(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[tuned]\nlike = "biomedclip"\nweights = { keep_prefix = ["module."] }\n')
    register(path)
    register({"name": "other", "like": "dinov3_small", "model": {"title": "Mine"}})
    tuned, other, biomedclip = find("tuned"), find("other"), find("biomedclip")
    assert (tuned.image, tuned.text, tuned.score) == (biomedclip.image, biomedclip.text, biomedclip.score)
    assert (tuned.weights.drop, tuned.weights.keep_prefix) == (("*position_ids",), ("module.",))
    assert (other.feature, other.loader.arch, other.title) == (find("dinov3_small").feature, "DINOv3ViTModel", "Mine")
    for entry in (tuned, other):
        assert (entry.model.verified, entry.model.gated, entry.source.hub_id) == ("nothing", False, "")
    with pytest.raises(FmfairError, match=r"no checkpoint was named\. .*file or folder"):
        load_model("other")
    with pytest.raises(FmfairError, match="like = 'dinov2_bas' is no other model; did you mean 'dinov2_base'"):
        register({"name": "third", "like": "dinov2_bas"})


def test_steps_are_checked_where_they_are_registered() -> None:
    for steps, said in (
        (["rgb", "resise:32:squash", "scale"], r"steps: step 2 of 3, 'resise:32:squash': no such step"),
        (["rgb", "scale"], r"steps: .* the sides depend on the picture"),
        (["rgb", "resize:64:squash:bilinear:pil", "scale"], "make pictures of 64 pixels, and image.size is 32"),
        ([], r"image\.steps is empty"),
    ):
        with pytest.raises(FmfairError, match=said):
            register({**MINE, "image": {"steps": steps, "size": 32}}, builder=lambda _: None)


def test_sections_outside_of_a_model_are_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('loader = { family = "timm", arch = "x" }\nfeature = { dim = 3 }\n')
    with pytest.raises(FmfairError, match=r"^'loader', 'feature' of no model: write \[NAME\] above"):
        register(path)


def test_what_a_library_says_of_an_entry_is_told_in_words(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    timm = pytest.importorskip("timm")
    sizes = {"num_classes": 0, "depth": 1, "embed_dim": 12, "num_heads": 3}
    torch.save(timm.create_model("vit_tiny_patch16_224", **sizes).state_dict(), tmp_path / "x.pth")
    for kwargs, said in (
        ({"num_clases": 1}, r"timm cannot build vit_tiny_patch16_224 .*unexpected keyword argument 'num_clases'"),
        ({"pretrained": True}, r"loader\.kwargs has 'pretrained'; the weights are those of the checkpoint"),
    ):
        loader = {"family": "timm", "arch": "vit_tiny_patch16_224", "kwargs": {**sizes, **kwargs}}
        register({**MINE, "loader": loader}, replacing=True)
        with pytest.raises(FmfairError, match=said):
            load_model("mine", tmp_path / "x.pth")


def test_a_module_that_returns_no_tensor_is_told() -> None:
    torch = pytest.importorskip("torch")

    net = torch.nn.Identity()
    net.forward = lambda pixels: {"features": pixels}
    register(MINE, builder=lambda _: net)
    with pytest.raises(FmfairError, match=r"the model gives dict, expected a tensor of shape \(2, 3\)"):
        load_model("mine", device="cpu").encode_images(torch.rand(2, 3, 32, 32))


def test_a_user_registers_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[mine_r18]\nloader = { family = "torchvision", arch = "resnet18" }\n'
        'feature = { dim = 512, take = "spatial_mean" }\n'
        'image = { steps = ["rgb", "resize:64:squash:bilinear:pil", "scale", "normalise:imagenet"], size = 64 }\n'
    )
    assert register(path) == ("mine_r18",)
    assert find("Mine-R18").title == "mine_r18"
    with pytest.raises(FmfairError, match="there is a model 'mine_r18' already"):
        register(path)
    path.write_text("[mine")
    with pytest.raises(FmfairError, match="is not TOML"):
        register(path)
    with pytest.raises(FmfairError, match=r"cannot read the models of .*nowhere\.toml: No such file"):
        register(tmp_path / "nowhere.toml")


def test_a_user_registers_ten_lines_of_python(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def build(checkpoint: Path | None) -> Any:
        net = torch.nn.Conv2d(3, 3, 1)
        if checkpoint is not None:
            net.load_state_dict(torch.load(checkpoint, weights_only=True))
        return torch.nn.Sequential(net, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Dropout(0.9))

    torch.save(torch.nn.Conv2d(3, 3, 1).state_dict(), tmp_path / "x.pt")
    assert register(MINE, builder=build) == ("mine",)
    model = load_model("mine", tmp_path / "x.pt", device="cpu")
    pixels = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(model.encode_images(pixels).feature, model.encode_images(pixels).feature)
    assert model.encode_images(pixels).shared is None
    assert model.checkpoint == tmp_path / "x.pt"
    assert model.report.params == 12
    with pytest.raises(FmfairError, match="mine: no checkpoint at"):
        load_model("mine", tmp_path / "y.pt")
    register({**MINE, "feature": {"dim": 4}}, builder=build, replacing=True)
    with pytest.raises(
        FmfairError, match=r"gives \(2, 3\) for 2 inputs, expected \(2, 4\); the entry's feature.dim is 4"
    ):
        load_model("mine", device="cpu").encode_images(pixels)
    register(MINE, builder=lambda _: 5, replacing=True)
    with pytest.raises(FmfairError, match="its builder returned int; expected a torch module or a Tower"):
        load_model("mine")
    with pytest.raises(FmfairError, match=r"loader\.family is missing"):
        register(MINE, replacing=True)
