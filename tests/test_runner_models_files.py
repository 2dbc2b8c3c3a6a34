"""Files that are not what they are called, and folders that ask for more than weights: refused, and never run."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("timm")
pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file, save_file
from stand_ins import registered, stand_in

from fmfair import FmfairError
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.loading import load_model


def refused(entry: Entry, checkpoint: Path) -> str:
    """What is said of a checkpoint that is not loaded."""
    with registered(entry), pytest.raises(FmfairError) as caught:
        load_model(entry.name, checkpoint, device="cpu")
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> tuple[Entry, Path]:
    """A model of one file of `torch.save`."""
    return stand_in("medmae", tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> tuple[Entry, Path]:
    """A model of a folder in the form of transformers."""
    return stand_in("dinov2_small", tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; download it again"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "is a Git LFS pointer"),
        (b"<!DOCTYPE html><title>Virus scan warning</title>", "is a web page, not weights"),
        (b'\n<?xml version="1.0"?><Error/>', "is a web page, not weights"),
        (b"Access to this model is restricted.\n", "is a text, not weights: 'Access to this model is restricted.'"),
        (b"\x89PNG\r\n\x1a\n0000", r"starts with b'\x89PNG"),
        (b"PK\x03\x04cut off", "is only a part of a file"),
        (b"\x80\x04.", "download it again"),
        (b"\x80", "download it again"),
    ],
)
def test_what_a_file_is_in_place_of_weights_is_said(
    content: bytes, said: str, file: tuple[Entry, Path], tmp_path: Path
) -> None:
    for name in ("weights.pth", "weights.safetensors"):
        (tmp_path / name).write_bytes(content)
        assert said in refused(file[0], tmp_path / name)
        assert str(tmp_path / name) in refused(file[0], tmp_path / name)


class Runs:
    """What a pickle could do."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".ckpt", ".safetensors"])
def test_no_file_is_run_whatever_its_name(suffix: str, file: tuple[Entry, Path], tmp_path: Path) -> None:
    mark, path = tmp_path / "it_ran", tmp_path / f"bad{suffix}"
    torch.save({"model": {"a": torch.ones(1), "b": Runs(mark)}}, path)
    assert "would run posix.system when it is opened, and was not read" in refused(file[0], path)
    path.write_bytes(pickle.dumps({"model": Runs(mark)}))
    assert "was not read" in refused(file[0], path)
    assert not mark.exists()


def test_an_archive_is_to_be_unpacked_first(file: tuple[Entry, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(file[1], "pytorch_model.bin")
    assert "is an archive of 'pytorch_model.bin', not weights; unpack it first" in refused(file[0], tmp_path / "x.zip")


def test_a_folder_s_pickle_is_not_run_either(folder: tuple[Entry, Path], tmp_path: Path) -> None:
    weights = folder[1] / "model.safetensors"
    torch.save({**load_file(weights), "x": Runs(tmp_path / "it_ran")}, folder[1] / "pytorch_model.bin")
    weights.unlink()
    assert "would run posix.system" in refused(*folder)
    assert not (tmp_path / "it_ran").exists()


def test_a_configuration_gives_sizes_and_nothing_else(folder: tuple[Entry, Path]) -> None:
    """Code of its own, kernels that transformers fetches and runs, quantisation: all is passed over."""
    entry, place = folder
    config = json.loads((place / "config.json").read_text())
    more = {
        "auto_map": {"AutoModel": "evil.Model"},
        "architectures": ["EvilModel"],
        "attn_implementation": "somebody/kernels",
        "_attn_implementation": "somebody/kernels",
        "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True},
        "dtype": "nonsense",
    }
    with registered(entry):
        expected = load_model(entry.name, place, device="cpu").identity
        (place / "config.json").write_text(json.dumps({**config, **more}))
        assert load_model(entry.name, place, device="cpu").identity == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_hidden_layers": 3}, "18 keys of the model are not in the checkpoint"),
        ({"hidden_size": 64}, r"tensors of another shape: embeddings.cls_token is (1, 1, 32), expected (1, 1, 64)"),
        ({"hidden_size": "many"}, "cannot build Dinov2Model as its entry and the files"),
        ({"hidden_act": "nonsense"}, "cannot build Dinov2Model as its entry and the files"),
        ({"model_type": "vit"}, "is of a model of type 'vit', expected 'dinov2'"),
    ],
)
def test_a_configuration_of_other_sizes_is_refused(
    change: dict[str, Any], said: str, folder: tuple[Entry, Path]
) -> None:
    path = folder[1] / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert said in refused(*folder)


@pytest.mark.parametrize(("content", "said"), [(b"{", "is no JSON"), (b"\xff", "is no JSON"), (b"[]", "holds a list")])
def test_a_configuration_that_is_none_is_named(content: bytes, said: str, folder: tuple[Entry, Path]) -> None:
    (folder[1] / "config.json").write_bytes(content)
    assert f"config.json {said}" in refused(*folder)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float8_e4m3fn", "complex64"])
def test_quantised_weights_are_refused_as_their_scales_are_elsewhere(dtype: str, folder: tuple[Entry, Path]) -> None:
    path = folder[1] / "model.safetensors"
    save_file({key: value.to(getattr(torch, dtype)) for key, value in load_file(path).items()}, path)
    assert f"of type '{dtype}'; expected float16, bfloat16 or float32" in refused(*folder)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_weights_of_other_precision_are_float32_on_a_cpu(dtype: str, folder: tuple[Entry, Path]) -> None:
    entry, place = folder
    state = load_file(place / "model.safetensors")
    save_file({key: value.to(getattr(torch, dtype)) for key, value in state.items()}, place / "model.safetensors")
    with registered(entry):
        model = load_model(entry.name, place, device="cpu")
    assert {p.dtype for p in model.tower.module.parameters()} == {torch.float32}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(value: float, file: tuple[Entry, Path]) -> None:
    entry, path = file
    found = torch.load(path, weights_only=False)
    found["model"]["blocks.0.mlp.fc1.weight"][0, 0] = value
    torch.save({"model": found["model"]}, path)
    assert "1 tensor with values that are NaN or infinite: 'blocks.0.mlp.fc1.weight'" in refused(entry, path)


def test_tensors_that_were_saved_alone_need_no_place(file: tuple[Entry, Path]) -> None:
    """As the refusal of a pickle with more than tensors advises; of another place the message says what is there."""
    entry, path = file
    inner = torch.load(path, weights_only=False)["model"]
    torch.save(inner, path)
    with registered(entry):
        assert load_model(entry.name, path, device="cpu").report.missing == ()
    torch.save({"state_dict": inner}, path)
    assert "has no weights at 'model'; it has 'state_dict'" in refused(entry, path)
    torch.save({"model": {f"module.{key}": value for key, value in inner.items()}}, path)
    assert "weights.keep_prefix" in refused(entry, path)
    nothings: tuple[Any, ...] = ({}, {"model": {}}, {"model": None}, {"model": {1: torch.ones(1)}}, [1], torch.ones(1))
    for nothing in nothings:
        torch.save(nothing, path)
        assert str(path) in refused(entry, path)


def test_an_index_of_shards_that_is_none_is_refused(folder: tuple[Entry, Path]) -> None:
    (folder[1] / "model.safetensors").unlink()
    for said in ({}, {"weight_map": [1]}, {"weight_map": {"a": 1}}):
        (folder[1] / "model.safetensors.index.json").write_text(json.dumps(said))
        assert "is no index of files of weights" in refused(*folder)
