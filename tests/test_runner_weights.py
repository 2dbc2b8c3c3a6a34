"""Reading of checkpoints: what is in the file, what becomes of each key, and what is refused."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch
from safetensors.torch import save_file
from stand_ins import registered, stand_in

from fmfair import FmfairError
from fmfair.runners.models.checkpoint import MODELS, Checkpoint, locate
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import find
from fmfair.runners.models.sections import WeightRules
from fmfair.runners.models.state import read_state
from fmfair.runners.models.weights import load_into, matches, renamed_state, state_of

STATE = {"net.a.weight": torch.ones(2, 2), "net.b": torch.zeros(3), "head.c": torch.ones(1)}


def read(path: Path, **rules: Any) -> Any:
    entry = replace(find("c2l"), weights=WeightRules(**rules))
    return state_of(entry, Checkpoint(path, path.parent))


def test_a_file_is_told_by_its_content_not_its_name(tmp_path: Path) -> None:
    save_file(STATE, tmp_path / "really_safetensors.pt")
    torch.save(STATE, tmp_path / "really_torch.safetensors")
    for name in ("really_safetensors.pt", "really_torch.safetensors"):
        state, report = read(tmp_path / name)
        assert set(state) == set(STATE)
        assert report.dropped == ()


def test_keys_follow_prefix_drop_and_rename_in_this_order(tmp_path: Path) -> None:
    torch.save({"epoch": 1, "model": {"teacher": STATE}}, tmp_path / "x.pth")
    state, report = read(
        tmp_path / "x.pth", state_key="model.teacher", keep_prefix=["no.", "net."], drop=["b"], rename=[(r"^a\.", "z.")]
    )
    assert list(state) == ["z.weight"]
    assert report.renamed == (("net.a.weight", "z.weight"),)
    assert report.dropped == ("net.b", "head.c")


def test_the_first_prefix_that_occurs_wins_and_an_empty_one_keeps_all(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "x.pth")
    assert len(read(tmp_path / "x.pth", keep_prefix=("module.", ""))[0]) == 3
    with pytest.raises(FmfairError, match=r"no key starts with 'module\.' or 'x\.'; it has 'net\.a\.weight'"):
        read(tmp_path / "x.pth", keep_prefix=("module.", "x."))


def test_two_keys_never_become_one() -> None:
    with pytest.raises(FmfairError, match="two keys become 'a'"):
        renamed_state({"a": torch.ones(1), "b": torch.ones(1)}, WeightRules(rename=(("b", "a"),)), Path("x"))


def test_patterns_are_beginnings_or_have_a_star() -> None:
    assert matches("fc.weight", ["fc."])
    assert not matches("efc.weight", ["fc."])
    assert matches("text.embeddings.position_ids", ["*position_ids"])


def test_a_missing_place_says_what_is_there(tmp_path: Path) -> None:
    torch.save({"state_dict": STATE, "epoch": 3}, tmp_path / "x.pth")
    with pytest.raises(FmfairError, match="no weights at 'model'; it has 'state_dict', 'epoch'"):
        read(tmp_path / "x.pth", state_key="model")
    with pytest.raises(FmfairError, match="state_key says where they are"):
        read(tmp_path / "x.pth")


def test_a_pickle_of_more_than_tensors_is_refused_unless_its_class_is_named(tmp_path: Path) -> None:
    torch.save({"model": STATE, "args": argparse.Namespace(lr=1)}, tmp_path / "args.pth")
    with pytest.raises(FmfairError, match=r"holds more than tensors, and was not read: .*argparse\.Namespace"):
        read(tmp_path / "args.pth", state_key="model")
    state, _ = read(tmp_path / "args.pth", state_key="model", safe_globals=("argparse.Namespace",))
    assert set(state) == set(STATE)
    with pytest.raises(FmfairError, match="cannot be imported"):
        read(tmp_path / "args.pth", state_key="model", safe_globals=("nowhere.Thing",))


class Dangerous:
    """What a pickle could do."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("/tmp/fmfair_must_not_exist"),))


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    torch.save({"model": STATE, "x": Dangerous()}, tmp_path / "bad.pth")
    with pytest.raises(FmfairError, match="was not read"):
        read(tmp_path / "bad.pth", state_key="model")
    assert not Path("/tmp/fmfair_must_not_exist").exists()


def test_a_broken_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_bytes(b"\x80\x02nonsense")
    with pytest.raises(FmfairError, match=r"x\.pth"):
        read(tmp_path / "x.pth")
    save_file(STATE, tmp_path / "y.safetensors")
    whole = (tmp_path / "y.safetensors").read_bytes()
    (tmp_path / "y.safetensors").write_bytes(whole[:-8])
    with pytest.raises(FmfairError, match="no whole safetensors file"):
        read(tmp_path / "y.safetensors")


def test_of_shards_only_those_with_wanted_keys_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({"vision.a": torch.ones(1), "text.a": torch.ones(1)}, tmp_path / "1.safetensors")
    places = {"vision.a": "1.safetensors", "text.a": "1.safetensors", "text.b": "2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    opened: Counter[str] = Counter()
    from fmfair.runners.models import state as module

    def counted(path: Path, wanted: Any) -> Any:
        opened[path.name] += 1
        return real(path, wanted)

    real = module._safetensors
    monkeypatch.setattr(module, "_safetensors", counted)
    index = tmp_path / "model.safetensors.index.json"
    found = read_state(index, wanted=lambda k: k.startswith("vision."), torchscript=False, safe_globals=())
    assert isinstance(found, dict)
    assert list(found) == ["vision.a"]
    assert opened == {"1.safetensors": 1}
    with pytest.raises(FmfairError, match=r"files that are not beside it: '2\.safetensors'"):
        read_state(index, wanted=lambda _: True, torchscript=False, safe_globals=())


def test_an_archive_of_torchscript_is_read_where_the_entry_says_so(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 3)
    with pytest.warns((FutureWarning, DeprecationWarning)):
        torch.jit.save(torch.jit.script(module), tmp_path / "x.pt")
    found = read_state(tmp_path / "x.pt", wanted=lambda _: True, torchscript=True, safe_globals=())
    assert isinstance(found, dict)
    assert torch.equal(found["weight"], module.weight)
    with pytest.raises(FmfairError, match="is TorchScript, a program with its weights, which is not run"):
        read_state(tmp_path / "x.pt", wanted=lambda _: True, torchscript=False, safe_globals=())


def test_missing_left_over_and_wrong_shapes_are_errors_with_the_first_keys() -> None:
    entry = replace(find("c2l"), loader=replace(find("c2l").loader, params_m=None))
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    report = renamed_state({}, WeightRules(), Path("file.pth"))[1]
    state = {"0.weight": torch.ones(2, 2), "0.bias": torch.ones(2), "extra": torch.ones(1)}
    with pytest.raises(FmfairError) as caught:
        load_into(module, state, entry, report)
    assert len(caught.value.problems) == 2
    assert "2 keys of the model are not in the checkpoint: '1.weight', '1.bias'; they would stay random" in str(
        caught.value
    )
    assert "1 key of the checkpoint are not in the model: 'extra'" in str(caught.value)
    allowed = replace(entry, weights=WeightRules(missing_ok=("1.",), unexpected_ok=("extra",)))
    settled = load_into(module, state, allowed, report)
    assert (settled.missing, settled.unexpected) == (("1.weight", "1.bias"), ("extra",))
    assert settled.loaded == ("0.bias", "0.weight")
    assert settled.params == 12
    with pytest.raises(FmfairError, match=r"0\.weight is \(3, 3\), expected \(2, 2\)"):
        load_into(module, {"0.weight": torch.ones(3, 3)}, allowed, report)
    with pytest.raises(FmfairError, match=r"0\.0 M parameters, expected 5\.0 M; is it a model of another size"):
        load_into(module, state, replace(allowed, loader=replace(allowed.loader, params_m=5.0)), report)


@pytest.mark.parametrize("name", ["medmae", "plip", "siglip_b16", "dinov2_small", "pubmedclip", "conch", "blip"])
def test_a_prefix_that_is_left_on_makes_the_load_fail(name: str, tmp_path: Path) -> None:
    """Random layers with no more than a printed remark are what libraries would give."""
    entry, checkpoint = stand_in(name, tmp_path)
    with registered(entry):
        file = locate(entry, checkpoint).weights
        state, _ = state_of(
            replace(entry, weights=replace(entry.weights, drop=(), rename=())), locate(entry, checkpoint)
        )
        wrong = {f"vision_tower.{key}": value.contiguous() for key, value in state.items()}
        found: Any = {entry.weights.state_key: wrong} if entry.weights.state_key else wrong
        if file.suffix == ".safetensors":
            save_file(found, file)
        else:
            torch.save(found, file)
        with pytest.raises(FmfairError, match=r"not in the checkpoint|has no 'logit_scale'"):
            load_model(entry.name, checkpoint, device="cpu")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("conch", ""),
        ("biovil_t", ""),
        ("biovil_t", "pytorch_model.bin"),
        ("medclip", ""),
        ("cxr_clip_r50", ""),
    ],
)
def test_a_key_that_one_of_several_parts_lacks_makes_the_load_fail(name: str, file: str, tmp_path: Path) -> None:
    entry, checkpoint = stand_in(name, tmp_path)
    path = tmp_path / file if file else locate(entry, checkpoint).weights
    whole = torch.load(path, weights_only=True)
    inner = whole[entry.weights.state_key] if entry.weights.state_key else whole
    wanted = [
        key for key in inner if not matches(key, (*entry.weights.drop, "cls.", "*position_ids", "*num_batches_tracked"))
    ]
    last = {".".join(key.split(".")[:2]): key for key in wanted}  # of every part
    with registered(entry):
        load_model(entry.name, checkpoint, device="cpu")
        for lost in last.values():
            lacking = {key: value for key, value in inner.items() if key != lost}
            torch.save({entry.weights.state_key: lacking} if entry.weights.state_key else lacking, path)
            with pytest.raises(FmfairError, match=r"not in the checkpoint|has no '|are not in the model|expected \("):
                load_model(entry.name, checkpoint, device="cpu")


def test_a_path_wins_then_the_folder_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MODELS, raising=False)
    entry = find("c2l")
    torch.save({}, tmp_path / "any.pth")
    assert locate(entry, tmp_path / "any.pth").weights == tmp_path / "any.pth"
    folder = tmp_path / "all" / "c2l"
    folder.mkdir(parents=True)
    torch.save({}, folder / "res18_C2L.pth")
    assert locate(entry, folder).weights == folder / "res18_C2L.pth"
    monkeypatch.setenv(MODELS, str(tmp_path / "all"))
    assert locate(entry, None).weights == folder / "res18_C2L.pth"


def test_a_checkpoint_that_is_not_there_says_what_to_download_and_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(FmfairError) as caught:
        locate(find("moco_cxr"), None)
    for word in (
        "r8w-00001.pth.tar",
        "stanfordmlgroup/MoCo-CXR",
        "CC BY-NC 4.0",
        "checkpoint=",
        "$FMFAIR_MODELS/moco_cxr/",
    ):
        assert word in str(caught.value)
    with pytest.raises(FmfairError, match=r"huggingface\.co/google/medsiglip-448, after accepting its terms"):
        locate(find("medsiglip"), tmp_path / "nowhere")
    with pytest.raises(FmfairError, match=r"holds no file of weights; looked for 'model\.safetensors'"):
        locate(find("medsiglip"), tmp_path)
    for name in ("best_1.pt", "best_2.pt"):
        torch.save({}, tmp_path / name)
    with pytest.raises(FmfairError, match=r"holds 'best_1\.pt', 'best_2\.pt'; name one of the files"):
        locate(find("chexzero"), tmp_path)


def test_the_hub_is_asked_only_where_no_path_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[tuple[str, Any]] = []

    def snapshot(repository: str, **options: Any) -> str:
        asked.append((repository, options))
        return str(tmp_path)

    monkeypatch.delenv(MODELS, raising=False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda *_, **__: ["pytorch_model.bin", "model.safetensors"])
    (tmp_path / "model.safetensors").touch()
    assert locate(find("plip"), tmp_path) == Checkpoint(tmp_path / "model.safetensors", tmp_path)
    assert asked == []
    assert locate(find("plip"), None).fetched
    assert asked[0][0] == "vinid/plip"
    patterns = asked[0][1]["allow_patterns"]
    assert "model.safetensors" in patterns
    assert "pytorch_model.bin" not in patterns
    assert not any(pattern.endswith("py") for pattern in patterns)


def test_no_network_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def refused(*_: Any, **__: Any) -> Any:
        raise LocalEntryNotFoundError("no network")

    monkeypatch.delenv(MODELS, raising=False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", refused)
    monkeypatch.setattr(huggingface_hub, "list_repo_files", refused)
    with pytest.raises(FmfairError, match=r"could not be fetched \(LocalEntryNotFoundError\).*Licence: not stated"):
        locate(find("plip"), None)


def test_a_file_of_a_package_is_found_without_the_folder_that_it_has_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, name = find("efficientnet_lite0"), "efficientnet-lite0-57934424.pth"
    file = tmp_path / entry.name / name
    file.parent.mkdir()
    with pytest.raises(FmfairError, match=f"which holds '?{name}"):
        locate(entry, file.parent)
    file.touch()
    assert locate(entry, file.parent) == locate(entry, tmp_path) == Checkpoint(file, file.parent)
    monkeypatch.setenv(MODELS, str(tmp_path))
    assert locate(entry, None).weights == file
