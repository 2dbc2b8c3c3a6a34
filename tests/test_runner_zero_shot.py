"""Zero-shot scores against sums by hand, for every published convention."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fmfair
from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.runners.description import About, Prompts
from fmfair.runners.manifest import Manifest
from fmfair.runners.predictions import write_predictions
from fmfair.runners.similarity import Similarity, probabilities
from fmfair.runners.texts import Texts, read_texts
from fmfair.runners.zero_shot import check_zero_shot, zero_shot

IMAGE = np.array([[3.0, 4.0, 0.0]])
NEGATIVE, POSITIVE = [1.0, 1.0, 0.0], [0.0, 2.0, 0.0]


def by_hand(image: list[float], negative: list[float], positive: list[float], scale: float, unit_texts: bool) -> float:
    """exp(s <i, t+>) / (exp(s <i, t+>) + exp(s <i, t->)) with the image at length 1."""
    length = math.sqrt(sum(x * x for x in image))
    dots = []
    for text in (negative, positive):
        norm = math.sqrt(sum(x * x for x in text)) if unit_texts else 1.0
        dots.append(sum(a * b for a, b in zip(image, text, strict=True)) / length / norm)
    low, high = (math.exp(scale * dot) for dot in dots)
    return high / (low + high)


# Of each model of the study of CLIP models on chest X-rays: the scale, and whether texts are normalised. A scale that
# is stored as its logarithm, ln(1 / 0.07), is 14.2857.
@pytest.mark.parametrize(
    ("scale", "unit_texts"),
    [(math.exp(math.log(1 / 0.07)), True), (1.0, False), (1.0, True), (100.0, True)],
    ids=["learned: medclip, medimageinsight", "biovil, biovil-t", "chexzero, cxrclip", "clip"],
)
def test_the_published_conventions_equal_sums_by_hand(scale: float, *, unit_texts: bool) -> None:
    similarity = Similarity(scale=scale, normalise_texts=unit_texts)

    logits = similarity.logits(similarity.raw(IMAGE, [[NEGATIVE], [POSITIVE]]))

    expected = by_hand([3.0, 4.0, 0.0], NEGATIVE, POSITIVE, scale, unit_texts)
    assert probabilities(logits)[0, 1] == pytest.approx(expected, abs=1e-12)
    assert probabilities(logits).sum() == pytest.approx(1.0)


def test_a_sigmoid_takes_each_class_alone_with_its_bias() -> None:
    similarity = Similarity(scale=10.0, bias=-7.0, link="sigmoid")

    logits = similarity.logits(similarity.raw(IMAGE, [[POSITIVE]]))

    assert logits[0, 0] == pytest.approx(10 * 0.8 - 7)
    assert probabilities(logits)[0, 0] == pytest.approx(1 / (1 + math.exp(-1.0)))


def test_the_bias_cancels_in_a_softmax() -> None:
    raw = Similarity().raw(IMAGE, [[NEGATIVE], [POSITIVE]])

    assert Similarity(scale=5.0, bias=-10.0).logits(raw) == pytest.approx(Similarity(scale=5.0).logits(raw))


@pytest.mark.parametrize(
    ("ensemble", "expected"),
    [
        # prompts (1, 0) and (0, 3) against the image (0.6, 0.8)
        ("mean_norm", (0.6 + 0.8) / math.sqrt(2)),
        ("mean_then_norm", (0.6 * 1 + 0.8 * 3) / math.sqrt(10)),
        ("mean_logit", (0.6 + 0.8) / 2),
        ("max_logit", 0.8),
    ],
)
def test_prompt_ensembles(ensemble: str, expected: float) -> None:
    raw = Similarity(ensemble=ensemble).raw([[3.0, 4.0]], [[[1.0, 0.0], [0.0, 3.0]]])

    assert raw[0, 0] == pytest.approx(expected, abs=1e-12)


def test_of_several_vectors_of_an_image_the_most_similar_counts() -> None:
    raw = Similarity(vectors=2).raw([[1.0, 0.0, 3.0, 4.0]], [[[0.0, 1.0]]])

    assert raw[0, 0] == pytest.approx(0.8)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.floats(0.01, 200))
def test_log_odds_of_a_softmax_are_those_of_its_probabilities(raw: list[float], scale: float) -> None:
    scores = np.array(raw) * scale
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()

    assert probabilities(Similarity(scale=scale).logits(np.array([raw])))[0] == pytest.approx(shares, abs=1e-9)


def test_impossible_conventions_are_refused_together() -> None:
    with pytest.raises(fmfair.FmfairError) as error:
        Similarity(scale=-1.0, link="soft", ensemble="mean")

    assert len(error.value.problems) == 3
    with pytest.raises(fmfair.FmfairError, match="compares classes, and there is one"):
        Similarity().logits(np.array([[0.3]]))


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    table = pl.DataFrame(
        {
            "sample_id": ["a", "b", "c", "d"],
            "patient_id": ["1", "1", "2", "3"],
            "path": ["a", "b", "c", "d"],
            "split": ["test", "test", "test", "train"],
            "glaucoma": [1, 0, None, 1],
            "sex": ["F", "F", "M", "M"],
        }
    )
    about = About("eyes", prompts={"glaucoma": Prompts(("normal",), ("glaucoma",))})
    return Manifest(table, ("glaucoma",), ("sex",), tmp_path, about)


def images(vectors: dict[str, list[list[float] | None]]) -> pl.LazyFrame:
    rows = [(name, i, vector) for name, slices in vectors.items() for i, vector in enumerate(slices)]
    return pl.LazyFrame(
        {
            "sample_id": [name for name, *_ in rows],
            "slice": pl.Series([i if len(vectors[name]) > 1 else None for name, i, _ in rows], dtype=pl.Int32),
            "status": ["ok" if v else "unreadable" for *_, v in rows],
            "reason": [None if v else "cut off" for *_, v in rows],
            "shared": pl.Series([v or None for *_, v in rows], dtype=pl.Array(pl.Float32, 2)),
        }
    )


TEXTS = pl.DataFrame(
    {
        "label": ["glaucoma", "glaucoma"],
        "positive": [False, True],
        "prompt": ["normal", "glaucoma"],
        "vector": pl.Series([[1.0, 0.0], [0.0, 1.0]], dtype=pl.Array(pl.Float32, 2)),
    }
)


def test_predictions_carry_the_attributes_and_what_could_not_be_read(manifest: Manifest) -> None:
    vectors: dict[str, list[list[float] | None]] = {"a": [[0.6, 0.8]], "b": [None], "c": [[1.0, 0.0]], "d": [[1, 1]]}

    found = zero_shot(manifest, images(vectors), TEXTS, model="m", similarity=Similarity(scale=10.0))

    assert found["sample_id"].to_list() == ["a", "b", "c"]
    assert found["sex"].to_list() == ["F", "F", "M"]
    assert found["y_true"].to_list() == [1, 0, None]
    assert found["status"].to_list() == ["ok", "unreadable", "ok"]
    assert found["reason"].to_list() == [None, "cut off", None]
    assert found["y_logit"].to_list() == [pytest.approx(2.0, abs=1e-6), None, pytest.approx(-10.0)]
    assert found["y_score"][0] == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-6)
    assert found["y_score"][1] is None
    assert found["similarity"][0] == pytest.approx(0.8, abs=1e-6)
    assert found["similarity_negative"][0] == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize(("slices", "logit"), [("max", 0.8 - 0.6), ("mean", (0.2 - 1.0) / 2)])
def test_slices_become_one_prediction(slices: str, logit: float, manifest: Manifest) -> None:
    vectors: dict[str, list[list[float] | None]] = {"a": [[1, 0], [0.6, 0.8], None], "b": [[1, 0]], "c": [[1, 0]]}

    found = zero_shot(manifest, images(vectors), TEXTS, model="m", slices=slices)

    assert found["y_logit"][0] == pytest.approx(logit, abs=1e-6)
    assert found["reason"][0] == "1 of 3 slices left out: cut off"
    assert found["status"][0] == "ok"


def test_labels_that_do_not_exclude_each_other_are_told(manifest: Manifest) -> None:
    said = Prompts(("normal",), ("glaucoma",))
    table = manifest.table.with_columns(cataract=pl.Series([1, 0, 1, 1], dtype=pl.Int8))
    both = Manifest(
        table,
        ("glaucoma", "cataract"),
        (),
        manifest.root,
        About("x", prompts=dict.fromkeys(("glaucoma", "cataract"), said)),
    )
    notes = Notes()

    check_zero_shot(both, ["test"], "classes", "max", notes)
    assert notes.warnings == [
        "1 of 3 images have several of the labels; among='classes' takes them to exclude each other"
    ]
    with pytest.raises(FmfairError, match="there is one; leave it out"):
        check_zero_shot(manifest, ["test"], "classes", "max", notes)


def test_every_slice_can_be_a_row(manifest: Manifest) -> None:
    vectors: dict[str, list[list[float] | None]] = {"a": [[1, 0], [0.6, 0.8], None], "b": [[1, 0]], "c": [None]}

    found = zero_shot(manifest, images(vectors), TEXTS, model="m", slices="every")

    assert found["sample_id"].to_list() == ["a#0", "a#1", "a#2", "b", "c"]
    assert found["slice"].to_list() == [0, 1, 2, None, None]
    assert found["sex"].to_list() == ["F", "F", "F", "F", "M"]
    assert found["y_true"].to_list() == [1, 1, 1, 0, None]
    assert found["y_logit"].to_list() == [pytest.approx(x, abs=1e-6) if x else None for x in (-1, 0.2, None, -1, None)]
    assert found["status"].to_list() == ["ok", "ok", "unreadable", "ok", "unreadable"]
    assert found["reason"].to_list() == [None, None, "cut off", None, "cut off"]


@pytest.mark.parametrize(("said", "logit"), [("max", 0.2), ("mean", (0.2 - 1.0) / 2), ("", 0.2)])
def test_the_data_set_says_what_slices_say_together(said: str, logit: float, manifest: Manifest) -> None:
    vectors: dict[str, list[list[float] | None]] = {"a": [[1, 0], [0.6, 0.8]], "b": [[1, 0]], "c": [[1, 0]]}
    of_volumes = replace(manifest, about=replace(manifest.about, slices=said))

    found = zero_shot(of_volumes, images(vectors), TEXTS, model="m")

    assert found["y_logit"][0] == pytest.approx(logit, abs=1e-6)
    assert found["slice"].to_list() == [None, None, None]


def test_labels_that_exclude_each_other_share_one_softmax(manifest: Manifest) -> None:
    table = manifest.table.rename({"glaucoma": "zero"}).with_columns(one=pl.lit(0, pl.Int8))
    digits = Manifest(table, ("zero", "one"), ("sex",), manifest.root, About("digits"))
    texts = TEXTS.with_columns(label=pl.Series(["zero", "one"]), positive=pl.lit(value=True))
    vectors: dict[str, list[list[float] | None]] = {"a": [[0.6, 0.8]], "b": [[1, 0]], "c": [[0, 1]]}

    found = zero_shot(digits, images(vectors), texts, model="m", among="classes")

    assert found["label"].to_list() == ["zero"] * 3 + ["one"] * 3
    total = found.group_by("sample_id", maintain_order=True).agg(pl.col("y_score").sum())["y_score"]
    assert total.to_list() == pytest.approx([1.0] * 3)


def test_images_without_embeddings_and_labels_without_prompts_are_refused(manifest: Manifest) -> None:
    with pytest.raises(fmfair.FmfairError, match="lack 2 images of the manifest"):
        zero_shot(manifest, images({"a": [[1, 0]]}), TEXTS, model="m")
    with pytest.raises(fmfair.FmfairError, match="no prompts for 'glaucoma'"):
        zero_shot(manifest, images({"a": [[1, 0]]}), TEXTS.with_columns(label=pl.lit("x")), model="m")
    with pytest.raises(fmfair.FmfairError, match="no column 'shared'"):
        zero_shot(manifest, images({"a": [[1, 0]]}).drop("shared"), TEXTS, model="m")


def test_texts_of_another_model_are_refused(tmp_path: Path) -> None:
    file, prompts = tmp_path / "texts.parquet", {"glaucoma": Prompts(("normal",), ("glaucoma",))}
    texts = {"tokenizer": "json", "file": "vocab.txt"}
    Texts(TEXTS, {"name": "m", "steps": "rgb", "texts": texts}, {"scale": 2.0}).keep(file)

    found = read_texts(file, {"name": "m", "steps": "rgb"})
    assert found is not None
    assert found.table.equals(TEXTS)
    assert (found.published, found.kept) == ({"scale": 2.0}, True)
    assert found.said == {"glaucoma": {"negative": ["normal"], "positive": ["glaucoma"]}}
    with pytest.raises(fmfair.FmfairError, match='another model than the images\': steps was "rgb" and is "grey"'):
        read_texts(file, {"name": "m", "steps": "grey"})
    assert found.are(prompts, {})
    assert found.are(prompts, {"texts": texts})
    assert not found.are(prompts, {"texts": texts | {"file": "other.txt"}})
    assert not found.are({"glaucoma": Prompts(("healthy",), ("glaucoma",))}, {})
    assert read_texts(tmp_path / "none.parquet", {}) is None


def test_written_predictions_are_what_evaluate_reads(manifest: Manifest, tmp_path: Path) -> None:
    vectors: dict[str, list[list[float] | None]] = {"a": [[0.6, 0.8]], "b": [[1, 0]], "c": [[1, 0]]}
    found = zero_shot(manifest, images(vectors), TEXTS, model="a/b c")

    file = write_predictions(found, tmp_path, {"seed": 0})

    assert file.parent.relative_to(tmp_path).as_posix() == "usage=zero-shot/dataset=eyes/model=a%2Fb c"
    report = fmfair.evaluate(tmp_path, attributes=["sex"], cluster="patient_id", metrics=["auc"], ci=None)
    assert report.overall["model"].to_list() == ["a/b c"]
    assert report.overall["label"].to_list() == ["glaucoma"]
    assert report.overall["value"].to_list() == [1.0]
