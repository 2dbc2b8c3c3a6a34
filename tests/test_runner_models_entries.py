"""Entries: read from TOML with all faults at once, registered by users, listed; and the sizes they claim."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fmfair import FmfairError
from fmfair.runners.models import registry
from fmfair.runners.models.entry import entries_from, entry_from
from fmfair.runners.models.loading import LOADERS, load_model
from fmfair.runners.models.registry import find, models, register, table

MINE: dict[str, Any] = {
    "name": "mine",
    "image": {"steps": ["rgb", "resize:32:squash:bilinear:pil", "scale"], "size": 32},
    "feature": {"dim": 3},
}
# Everything that the issue of this package's models names.
NAMED = (
    "clip_b32 blip blip2 medclip pubmedclip biomedclip dinov2_base c2l lvm_med medmae moco_cxr plip siglip_b16 "
    "siglip2_b16 medsiglip conch rad_dino dinov3_base aimv2_large medgemma_tower retfound_cfp uni2_h virchow2 "
    "gigapath chexzero biovil biovil_t cxr_clip_r50 medimageinsight efficientnet_lite0"
)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    registry._added.clear()


def test_every_named_model_has_an_entry_with_a_loader_licence_and_steps() -> None:
    known = models()
    assert set(NAMED.split()) <= set(known)
    for entry in known.values():
        assert entry.loader.family in LOADERS, entry.name
        assert entry.model.title, entry.name
        assert entry.model.licence, entry.name
        assert entry.model.citation, entry.name
        assert entry.source.hub_id or entry.source.files, entry.name
        assert entry.model.gated <= (entry.model.access == "hub"), entry.name


def test_all_faults_of_an_entry_are_told_at_once() -> None:
    wrong = {
        "name": "mine",
        "modle": {},
        "image": {"steps": "rgb", "size": 2.5, "sizes": "fixd"},
        "feature": {"take": "clss"},
        "weights": {"rename": [["a"]], "droop": []},
    }
    with pytest.raises(FmfairError) as caught:
        entry_from(wrong)
    sizes = "'fixed', 'multiple_of_14', 'multiple_of_16', 'any'"
    takes = "'cls', 'pooler', 'patch_mean', 'cls_patch_mean', 'projected', 'spatial_mean', 'block_mean', 'first_query'"
    assert caught.value.problems == [
        "model 'mine': no field 'modle'; did you mean 'model'?",
        "model 'mine'.image.steps: expected a list, got 'rgb' (str)",
        "model 'mine'.image.size: expected a whole number, got 2.5 (float)",
        f"model 'mine'.image.sizes: 'fixd' is not known; expected one of {sizes}; did you mean 'fixed'?",
        "model 'mine'.feature: 'dim' is missing; expected a whole number",
        f"model 'mine'.feature.take: 'clss' is not known; expected one of {takes}; did you mean 'cls'?",
        "model 'mine'.weights: no field 'droop'; did you mean 'drop'?",
        "model 'mine'.weights.rename[0]: expected 2 values, got 1",
    ]


def test_sections_that_contradict_one_another_are_refused() -> None:
    with pytest.raises(FmfairError, match="needs a section 'text'"):
        entry_from(
            {
                **MINE,
                "model": {"kind": "image_text"},
                "loader": {"family": "conch"},
                "feature": {"dim": 3, "shared_dim": 2},
            }
        )
    with pytest.raises(FmfairError, match="shared_dim is given for kind 'image_text' and for no other"):
        entry_from({**MINE, "feature": {"dim": 3, "shared_dim": 2}})
    with pytest.raises(FmfairError, match=r"score\.scale 'constant' needs score.value"):
        entry_from({**MINE, "score": {"scale": "constant"}})


def test_like_takes_over_what_another_model_of_the_file_says() -> None:
    first = {key: value for key, value in MINE.items() if key != "name"}
    found = entries_from({"one": first, "two": {"like": "one", "feature": {"take": "cls"}}})
    assert (found[1].feature.dim, found[1].feature.take, found[1].image) == (3, "cls", found[0].image)
    with pytest.raises(FmfairError, match="like = 'on' is no other model; did you mean 'one'"):
        entries_from({"one": first, "two": {"like": "on"}})


def test_torchscript_is_only_read_from_a_file_that_was_named() -> None:
    marked = {name for name, entry in models().items() if entry.source.format == "torchscript"}
    assert marked == {"clip_b32_openai", "clip_b16_openai", "clip_l14_openai"}
    assert all("it is TorchScript, a program" in find(name).source.where for name in marked)
    with pytest.raises(FmfairError, match="TorchScript is a program, read only from a file that was named"):
        entry_from({**MINE, "source": {"format": "torchscript", "hub_id": "a/b"}})


def test_unknown_names_are_told_what_is_near() -> None:
    with pytest.raises(FmfairError, match="no model 'dinov2_bas'; did you mean 'dinov2_base'"):
        find("dinov2_bas")
    pytest.importorskip("torch")
    for wrong in ({"preprocess": "fairmed"}, {"feature": "clss"}, {"device": "gpu"}, {"dtype": "float8"}):
        register(MINE, builder=lambda _: __import__("torch").nn.Flatten(), replacing=True)
        with pytest.raises(FmfairError, match=str(next(iter(wrong)))):
            load_model("mine", **wrong)


def test_the_table_says_how_each_model_was_verified() -> None:
    found = table()
    assert found.height == len(models())
    assert found["verified"].is_in(["random weights", "real weights"]).all()
    assert found.filter(verified="real weights")["name"].to_list() == ["efficientnet_lite0"]
    assert found.filter(pl.col("kind") == "image_text")["shared_dim"].null_count() == 0


def test_the_registry_is_read_without_torch() -> None:
    code = (
        "import sys; from fmfair.runners.models.registry import models; models();"
        "from fmfair.runners.models import encoder, loading;"
        "print([m for m in ('torch', 'transformers', 'timm', 'open_clip', 'PIL', 'tokenizers') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def readme_rows() -> list[str]:
    """The table of models in the README: models of one paper and licence share a row."""
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for entry in models().values():
        model = entry.model
        licence = model.licence + (", gated" if model.gated else "")
        key = (model.domain, model.kind, model.citation, licence, model.verified)
        rows.setdefault(key, []).append(entry)
    said = []
    for (domain, kind, _, licence, verified), group in sorted(rows.items(), key=lambda item: item[1][0].name):
        names = ", ".join(f"`{entry.name}`" for entry in group)
        sizes, dims = (
            ", ".join(map(str, sorted(set(values))))
            for values in ([e.image.size for e in group], [e.feature.dim for e in group])
        )
        texts = "yes" if kind == "image_text" else "no"
        said.append(f"| {names} | {domain} | {sizes} | {dims} | {texts} | {licence} | {verified} |")
    return said


def test_the_readme_says_of_every_model_how_it_was_verified_and_no_more() -> None:
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    assert "\n".join(readme_rows()) in readme
