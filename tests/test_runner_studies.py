"""Studies: what is refused before anything is encoded, and prompts that change between runs.

These are encoded anew, by the model of the images and by no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import Result
from runner_tiny import painted, pixels, prompts, ran, refused, tiny_models, towers

from fmfair.errors import FmfairError
from fmfair.runners import embedding
from fmfair.runners.embedding import How
from fmfair.runners.manifest import read_manifest
from fmfair.runners.models.loading import load_model
from fmfair.runners.models.registry import register, unregister
from fmfair.runners.parts import Parts
from fmfair.runners.probe import Probe
from fmfair.runners.prompts import read_prompts
from fmfair.runners.roles import Roles
from fmfair.runners.usages import Study

ENTRY = {
    "name": "weighted",
    "model": {"kind": "image_text"},
    "image": {"steps": ["rgb", "resize:8:squash:nearest:pil", "scale"], "size": 8},
    "feature": {"dim": 12, "shared_dim": 12},
}


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with tiny_models():
        yield


@pytest.fixture
def table(tmp_path: Path) -> pl.DataFrame:
    return painted(tmp_path)


def texts(folder: Path, model: str = "tiny_towers") -> pl.DataFrame:
    return pl.read_parquet(folder / "runs/embeddings/dataset=table" / f"model={model}" / "texts.parquet")


def scores(out: str) -> pl.Series:
    return pl.read_parquet(out.partition(": ")[0], hive_partitioning=False)["y_score"]


def test_changed_prompts_are_encoded_anew(table: pl.DataFrame, tmp_path: Path) -> None:
    def predicted(positive: str) -> pl.Series:
        given = ("--prompts", prompts(tmp_path, positive))
        return scores(ran("zero-shot", table, tmp_path, *given, model="tiny_towers").out)

    first = predicted("bc")
    assert not first.equals(predicted("longer"))
    assert texts(tmp_path)["prompt"].to_list() == ["a", "longer"]
    assert first.equals(predicted("bc"))


def test_both_usages_leave_prompts_that_are_there(table: pl.DataFrame, tmp_path: Path) -> None:
    study = a_study(table, tmp_path)
    for usage in (study.embed, study.zero_shot):
        usage(how=How(progress=False))
        when = study.texts.stat().st_mtime_ns
        usage(how=How(progress=False))
        assert study.texts.stat().st_mtime_ns == when
    a_study(table, tmp_path, "other").embed(How(progress=False))
    assert texts(tmp_path)["prompt"].to_list() == ["a", "other"]


def a_study(table: pl.DataFrame, folder: Path, positive: str = "bc", load: Any = None) -> Study:
    table.write_csv(folder / "table.csv")
    given = read_prompts(prompts(folder, positive))
    manifest = read_manifest(folder / "table.csv", roles=Roles(labels=["y"]), prompts=given)
    return Study(manifest, "tiny_towers", folder / "runs", load or (lambda: load_model("tiny_towers")))


def test_prompts_that_need_a_model_which_is_not_there_say_so(table: pl.DataFrame, tmp_path: Path) -> None:
    def weighted(checkpoint: Path | None) -> Any:
        if checkpoint is None:
            raise FmfairError("weighted: name its checkpoint")
        tower = towers(None)
        tower.module.register_buffer("size", pixels(None)[0](1.0 * _number(checkpoint))[0, 0])
        return tower

    def _number(checkpoint: Path) -> Any:
        import torch

        return torch.full((1, 1, 4, 4), float(checkpoint.read_text()))

    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    register(ENTRY, builder=weighted)
    try:
        given = ("--prompts", prompts(tmp_path))
        one = ("--checkpoint", tmp_path / "one")
        assert ran("zero-shot", table, tmp_path, *given, *one, model="weighted").status == 0
        assert ran("zero-shot", table, tmp_path, *given, model="weighted").status == 0
        prompts(tmp_path, "new")
        told = refused("zero-shot", table, tmp_path, *given, model="weighted")
        assert "these prompts are not encoded yet, which needs the model that the images were encoded with" in told
        assert "name its checkpoint" in told
        unregister("weighted")
        register(ENTRY, builder=lambda path: weighted(path or tmp_path / "two"))
        told = refused("zero-shot", table, tmp_path, *given, model="weighted")
        assert "and this is another: weights was" in told
        assert "--checkpoint" in told
        assert texts(tmp_path, "weighted")["prompt"].to_list() == ["a", "bc"]
        assert ran("zero-shot", table, tmp_path, *given, *one, model="weighted").status == 0
    finally:
        unregister("weighted")


def test_texts_of_another_model_are_refused_before_images_are_encoded(table: pl.DataFrame, tmp_path: Path) -> None:
    study = a_study(table, tmp_path)
    study.embed(How(progress=False))
    for file in study.embeddings.iterdir():
        if file.name != "texts.parquet":
            file.unlink()
    about = pl.read_parquet_metadata(study.texts)["fmfair"].replace('"tiny_towers"', '"another"')
    pl.read_parquet(study.texts).write_parquet(study.texts, metadata={"fmfair": about})

    with pytest.raises(FmfairError, match=r'holds texts of another model than the images.: name was "another"'):
        study.embed(How(progress=False))
    assert not list(study.embeddings.glob("part-*"))
    study.texts.write_bytes(b"PAR1")
    with pytest.raises(FmfairError, match=r"is damaged: .*remove it, and the prompts are encoded anew"):
        study.zero_shot(how=How(progress=False))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--among", "labels"), "--among labels is not known"),
        (("--slices", "min"), "--slices min is not known"),
        (("--link", "tanh"), "--link tanh is not known"),
        (("--scale", "-1"), "must be a positive number"),
        (("--labels", "y", "dark"), "no prompts for 'dark'; there are some for 'y'"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_images_are_encoded(
    table: pl.DataFrame, tmp_path: Path, given: tuple[str, ...], told: str
) -> None:
    two = table.with_columns(dark=1 - pl.col("y"))
    more = ("--prompts", prompts(tmp_path), *given)

    assert told in refused("zero-shot", two, tmp_path, *more, model="tiny_towers")
    assert not (tmp_path / "runs").exists()


def test_models_without_texts_and_probes_without_groups_are_refused_before_images_are_encoded(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    study = a_study(table, tmp_path, load=lambda: load_model("tiny_pixels"))

    with pytest.raises(FmfairError, match="tiny_pixels has no text tower"):
        study.zero_shot(how=How(progress=False))
    given = ("--select", "worst_auc", "--groups", "race")
    assert "no attribute 'race'" in refused("linear-probe", table, tmp_path, *given)
    assert "needs images in the split 'validation'" in refused(
        "linear-probe", table.filter(pl.col("split") != "validation"), tmp_path
    )
    assert not (tmp_path / "runs").exists()


def test_texts_are_encoded_before_images(table: pl.DataFrame, tmp_path: Path) -> None:
    def broken(_: Any, __: Any) -> Any:
        raise IndexError("index out of range in self")

    register({**ENTRY, "name": "broken"}, builder=lambda path: replace(towers(path), texts=broken))
    try:
        told = refused("zero-shot", table, tmp_path, "--prompts", prompts(tmp_path), model="broken")
        assert "broken: no texts of ids" in told
        assert told.count("\n") == 1
        with pytest.raises(FmfairError, match="broken: no texts of ids"):
            Study.of(a_study(table, tmp_path).manifest, "broken", tmp_path / "runs").embed(How(progress=False))
    finally:
        unregister("broken")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("usage", ["linear-probe", "zero-shot"])
def test_embeddings_serve_manifests_of_fewer_images_in_another_order_and_grow(
    table: pl.DataFrame, tmp_path: Path, usage: str
) -> None:
    given = ("--prompts", prompts(tmp_path)) if usage == "zero-shot" else ("--select", "last")

    def predicted(some: pl.DataFrame) -> Result:
        return ran(usage, some, tmp_path, *given, model="tiny_towers")

    first = scores(predicted(table[:20]).out)
    embeddings = tmp_path / "runs/embeddings/dataset=table/model=tiny_towers"
    parts = {p: p.stat().st_mtime_ns for p in embeddings.glob("part-*")}
    assert scores(predicted(table[:20].reverse()).out).to_list() == pytest.approx(first.reverse().to_list(), abs=1e-6)
    fewer = table[:20].filter((pl.col("split") != "test") | (pl.int_range(pl.len()) < 9))
    assert scores(predicted(fewer).out).to_list() == pytest.approx(first.head(2).to_list(), abs=1e-6)
    assert scores(predicted(table).out).len() == 6
    assert all(p.stat().st_mtime_ns == when for p, when in parts.items())
    moved = table.with_columns(image_id="path").with_columns(path=pl.lit("3.png"))
    assert "23 of 24 images have another path than then" in refused(usage, moved, tmp_path, *given, model="tiny_towers")


def test_shares_of_a_probe_say_how_it_goes_on(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PART", 4)

    share = ran("linear-probe", table, tmp_path, "--shard", "1/2")
    assert share.status == 0
    told = share.out

    assert "3 parts of" in told
    assert "once they are done, the same without --shard predicts" in told
    assert "12 images encoded" in ran("embed", table, tmp_path, "--shard", "2/2").out
    assert "6 predictions" in ran("linear-probe", table, tmp_path, "--shard", "1/2").out
    assert "6 predictions" in ran("linear-probe", table, tmp_path).out


@pytest.mark.parametrize("usage", ["embed", "linear-probe", "zero-shot"])
def test_a_run_that_is_stopped_says_what_is_kept(
    table: pl.DataFrame, tmp_path: Path, usage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--prompts", prompts(tmp_path)) if usage == "zero-shot" else ()
    claimed = Parts.claimed

    def stopping(parts: Parts, number: int, *, there: bool = False) -> Any:
        if number == 2:
            raise KeyboardInterrupt
        return claimed(parts, number, there=there)

    with monkeypatch.context() as patch:
        patch.setattr(embedding, "PART", 4)
        patch.setattr(Parts, "claimed", stopping)
        result = ran(usage, table, tmp_path, *given, model="tiny_towers")

    assert (result.status, result.out) == (130, "")
    assert result.err == "fmfair: stopped; 8 of 24 images are kept, the same command goes on\n"
    assert ran(usage, table, tmp_path, *given, model="tiny_towers").status == 0


def test_a_study_of_a_model_of_the_registry(table: pl.DataFrame, tmp_path: Path) -> None:
    manifest, output = a_study(table, tmp_path).manifest, tmp_path / "runs"

    study = Study.of(manifest, "Tiny Pixels", output, name="mine", variant="seed 1", feature=None, device="cpu")
    file, _ = study.linear_probe(Probe(seed=1), How(progress=False))

    assert file.parent.name == "model=mine (seed 1)"
    assert study.embeddings.name == "model=mine"
    assert study.loaded.entry.name == "tiny_pixels"
    with pytest.raises(FmfairError, match='feature was "pooler" and is "cls"'):
        Study.of(manifest, "tiny_pixels", output, name="mine", feature="cls").linear_probe()
    with pytest.raises(FmfairError, match=r"checkpont= is not known; did you mean 'checkpoint'"):
        Study.of(manifest, "tiny_pixels", output, checkpont="a.pt")
    with pytest.raises(FmfairError, match="no model 'tiny_pixel'"):
        Study.of(manifest, "tiny_pixel", output)
    with pytest.raises(FmfairError, match="manifest= is of the type str; expected Manifest"):
        Study.of("papila.parquet", "tiny_pixels", output)  # type: ignore[arg-type]
    with pytest.raises(FmfairError, match="variant= is of the type int"):
        Study.of(manifest, "tiny_pixels", output, variant=1)  # type: ignore[arg-type]


def test_a_study_says_what_it_is_made_of(table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match="load= returned NoneType; expected a model"):
        a_study(table, tmp_path, load=lambda: None).embed()
    with pytest.raises(FmfairError, match=r"(?s)manifest= is of the type str; expected Manifest.*load= must be"):
        Study("papila.parquet", "m", tmp_path, load_model("tiny_pixels"))  # type: ignore[arg-type]
    with pytest.raises(FmfairError, match="how= is of the type dict; expected How"):
        a_study(table, tmp_path).embed({"batch_size": 3})  # type: ignore[arg-type]
    with pytest.raises(FmfairError, match="probe= is of the type How; expected Probe"):
        a_study(table, tmp_path).linear_probe(How())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--name", "\udcff"), "the model is called '\\udcff', which no folder can be called"),
        (("--name", "x" * 300), "x...', which no folder can be called"),
        (("--output", "runs\udcff"), "is no text, which Parquet files need"),
    ],
)
def test_names_that_no_folder_has_are_refused(
    table: pl.DataFrame, tmp_path: Path, given: tuple[str, str], told: str
) -> None:
    assert told in refused("embed", table, tmp_path, *given)


@pytest.mark.parametrize("usage", ["embed", "linear-probe", "zero-shot"])
def test_parts_that_only_their_content_shows_to_be_damaged_are_named(
    table: pl.DataFrame, tmp_path: Path, usage: str
) -> None:
    given = ("--prompts", prompts(tmp_path)) if usage == "zero-shot" else ()
    assert ran(usage, table, tmp_path, *given, model="tiny_towers").status == 0
    part = tmp_path / "runs/embeddings/dataset=table/model=tiny_towers/part-00000.parquet"
    content = bytearray(part.read_bytes())
    length = int.from_bytes(content[-8:-4], "little")
    content[4 : len(content) - length - 8] = bytes(len(content) - length - 12)
    part.write_bytes(content)

    told = refused(usage, table, tmp_path, *given, model="tiny_towers")

    assert "part-00000.parquet is damaged: " in told
    assert "remove it, and the same command makes it again" in told
    part.unlink()
    assert ran(usage, table, tmp_path, *given, model="tiny_towers").status == 0
