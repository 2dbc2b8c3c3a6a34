"""Every convention of similarity against an oracle in plain Python, over random vectors and for every model."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from test_cases_multiclass import COSINE, GROUP, PROMPT_TRUTH

import fmfair
from fmfair.runners.description import About, Prompts
from fmfair.runners.manifest import Manifest
from fmfair.runners.models.encoder import Scale, scales
from fmfair.runners.models.registry import find
from fmfair.runners.prompts import read_prompts
from fmfair.runners.similarity import ENSEMBLES, LINKS, Similarity, probabilities
from fmfair.runners.texts import embed_texts, published_convention, published_similarity
from fmfair.runners.zero_shot import zero_shot

Vector = list[float]


def dot(a: Vector, b: Vector) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def unit(a: Vector) -> Vector:
    length = math.sqrt(dot(a, a))
    return [x / length for x in a] if length else a


def mean(vectors: list[Vector]) -> Vector:
    return [math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def of_class(image: list[Vector], prompts: list[Vector], how: Similarity) -> float:
    """The similarity of an image, of one vector or several, to the prompts of a class."""
    vectors = [unit(v) if how.normalise_images else v for v in image]
    units = [unit(p) if how.normalise_texts else p for p in prompts]
    if how.ensemble in ("mean_norm", "mean_then_norm"):
        one = mean(units if how.ensemble == "mean_norm" else prompts)
        assume(math.sqrt(dot(one, one)) > 1e-6 or not how.normalise_texts)
        units = [unit(one) if how.normalise_texts else one]
    each = [max(dot(v, t) for v in vectors) for t in units]
    return max(each) if how.ensemble == "max_logit" else math.fsum(each) / len(each)


def by_hand(image: list[Vector], classes: list[list[Vector]], how: Similarity) -> list[float]:
    """The probability of each class."""
    scores = [how.scale * of_class(image, prompts, how) + how.bias for prompts in classes]
    if how.link == "sigmoid":
        return [1 / (1 + math.exp(-z)) if z > -700 else 0.0 for z in scores]
    powers = [math.exp(z - max(scores)) for z in scores]
    return [power / math.fsum(powers) for power in powers]


def vectors(count: int, dim: int) -> st.SearchStrategy[list[Vector]]:
    number = st.integers(-40, 40).map(lambda k: k / 8)
    return st.lists(st.lists(number, min_size=dim, max_size=dim), min_size=count, max_size=count)


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[list[Vector]], list[list[Vector]], Similarity]:
    dim, of_image = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    scale = draw(
        st.builds(
            Scale, st.just("log"), st.floats(-2, 6), times=st.sampled_from([1.0, math.exp(0.01) / math.exp(0.07)]),
            limits=st.sampled_from([None, (0.0, 4.6052)]),
        )
        | st.builds(Scale, st.just("divisor"), st.floats(0.01, 0.5))
        | st.just(Scale())
    )  # fmt: skip
    how = Similarity(
        scale.factor,
        draw(st.sampled_from([0.0, -12.7])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from(ENSEMBLES)),
        draw(st.sampled_from(LINKS)),
        of_image,
    )
    images = [draw(vectors(of_image, dim)) for _ in range(draw(st.integers(1, 3)))]
    classes = [draw(vectors(draw(st.integers(1, 3)), dim)) for _ in range(draw(st.integers(2, 4)))]
    return images, classes, how


@given(situations())
def test_probabilities_equal_sums_by_hand(situation: tuple[list[list[Vector]], list[list[Vector]], Similarity]) -> None:
    images, classes, how = situation
    expected = [by_hand(image, classes, how) for image in images]

    raw = how.raw([[x for v in image for x in v] for image in images], classes)

    assert probabilities(how.logits(raw)) == pytest.approx(np.array(expected), abs=1e-9)
    assert raw == pytest.approx(np.array([[of_class(i, c, how) for c in classes] for i in images]), abs=1e-12)


@given(value=st.floats(-5, 6), limited=st.booleans())
def test_a_scale_is_read_as_it_is_stored(*, value: float, limited: bool) -> None:
    limits = (0.0, 4.6052) if limited else None
    state = {"logit_scale": torch.tensor(value), "temp": torch.tensor([0.05])}
    entry = find("medclip" if limited else "clip_b32")
    stored = float(np.float32(value))

    cut = min(max(stored, 0.0), 4.6052) if limited else stored

    assert entry.score.limits == limits
    assert scales(entry, state)[0].factor == pytest.approx(math.e**cut, rel=1e-12)
    assert scales(find("pubmedclip"), state)[0].factor == pytest.approx(math.e ** (stored + 0.01 - 0.07), rel=1e-12)
    assert scales(find("blip2"), state)[0].factor == pytest.approx(20.0, rel=1e-6)


# What the authors publish, of a checkpoint whose scale is stored as ln(1 / 0.07) and whose bias is -12.7.
LEARNED = 1 / 0.07
PUBLISHED = {
    "clip_b32": Similarity(LEARNED),
    "plip": Similarity(LEARNED),
    "biomedclip": Similarity(LEARNED),
    "pubmedclip": Similarity(LEARNED * math.exp(0.01) / math.exp(0.07)),
    "medclip": Similarity(LEARNED, ensemble="mean_logit"),
    "medimageinsight": Similarity(LEARNED),
    "conch": Similarity(LEARNED),
    "siglip_b16": Similarity(LEARNED, -12.7),
    "medsiglip": Similarity(LEARNED, -12.7),
    "blip": Similarity(1 / 0.05),
    "blip2": Similarity(1 / 0.05, vectors=32),
    "biovil": Similarity(1.0, ensemble="mean_then_norm"),
    "biovil_t": Similarity(1.0, ensemble="mean_then_norm"),
    "chexzero": Similarity(1.0),
    "cxr_clip_r50": Similarity(1.0),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_model_has_the_convention_of_its_authors(name: str) -> None:
    state = {"logit_scale": math.log(1 / 0.07), "logit_bias": -12.7, "temp": 0.05}
    entry = find(name)
    scale, learned = scales(entry, {key: torch.tensor(value, dtype=torch.float64) for key, value in state.items()})
    encoder: Any = SimpleNamespace(entry=entry, scale=scale, tower=SimpleNamespace(learned=learned))

    published = published_convention(encoder)

    def rounded(how: Similarity) -> Similarity:
        return replace(how, scale=round(how.scale, 5), bias=round(how.bias, 5))

    assert rounded(published_similarity(published)) == rounded(PUBLISHED[name])
    if name in ("chexzero", "cxr_clip_r50"):  # the protocol leaves the learned scale unused
        assert published_similarity(published, learned=True).scale == pytest.approx(LEARNED, rel=1e-6)


@pytest.mark.parametrize("value", [{"bias": math.nan}, {"bias": math.inf}, {"vectors": 0}, {"scale": math.nan}])
def test_conventions_of_no_number_are_refused(value: dict[str, Any]) -> None:
    with pytest.raises(fmfair.FmfairError, match=next(iter(value))):
        Similarity(**value)


def test_vectors_of_texts_that_are_no_numbers_are_refused() -> None:
    def encode(texts: list[str]) -> Any:
        return torch.tensor([[1.0, math.inf if "x" in text else 0.0] for text in texts])

    encoder: Any = SimpleNamespace(entry=find("clip_b32"), encode_texts=encode)

    assert embed_texts({"y": Prompts(("a",), ("b",))}, encoder)["vector"].to_list() == [[1.0, 0.0]] * 2
    with pytest.raises(fmfair.FmfairError, match="vectors of 1 text are not finite"):
        embed_texts({"y": Prompts(("a",), ("x",))}, encoder)


def compared(folder: Path, similarity: Similarity, among: str, cosines: list[float]) -> pl.DataFrame:
    """Zero-shot predictions of images that have these cosines to the one text."""
    ids = [str(i) for i in range(len(cosines))]
    table = pl.DataFrame({"sample_id": ids, "patient_id": ids, "path": ids, "split": "test", "finding": PROMPT_TRUTH,
                          "sex": GROUP})  # fmt: skip
    manifest = Manifest(table, ("finding",), ("sex",), folder, About("x"))
    shared = pl.Series([[c, math.sqrt(1 - c * c)] for c in cosines], dtype=pl.Array(pl.Float32, 2))
    images = pl.LazyFrame({"sample_id": ids, "slice": pl.Series([None] * len(ids), dtype=pl.Int32), "status": "ok",
                           "reason": pl.Series([None] * len(ids), dtype=pl.String), "shared": shared})  # fmt: skip
    texts = pl.DataFrame({"label": "finding", "positive": [False, True], "prompt": ["no", "yes"],
                          "vector": pl.Series([[0.0, -1.0], [1.0, 0.0]], dtype=pl.Array(pl.Float32, 2))})  # fmt: skip
    return zero_shot(manifest, images, texts, model="m", similarity=similarity, among=among)


def by_sex(table: pl.DataFrame, score: str) -> dict[str, float]:
    report = fmfair.evaluate(table, attributes=["sex"], y_score=score, y_logit=None, metrics=["auc"], ci=None)
    return dict(report.groups.filter(pl.col("attribute") == "sex").select("group", "value").iter_rows())


def test_fc40_a_single_prompt_is_refused_and_its_cosine_is_kept_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[finding]\npositive = "a finding"\n')

    with pytest.raises(fmfair.FmfairError, match="'negative' is missing"):
        read_prompts(tmp_path / "p.toml")
    with pytest.raises(fmfair.FmfairError, match="at least one negative"):
        Prompts((), ("a finding",))
    with pytest.raises(fmfair.FmfairError, match="compares classes, and there is one"):
        compared(tmp_path, Similarity(100.0), "classes", COSINE)
    found = compared(tmp_path, Similarity(100.0), "pairs", COSINE)
    assert found["similarity"].to_list() == pytest.approx(COSINE)
    assert by_sex(found, "similarity") == {"a": 1.0, "b": 0.75}


def test_fc10_scores_that_are_all_one_are_still_ranked_by_their_log_odds(tmp_path: Path) -> None:
    found = compared(tmp_path, Similarity(500.0), "pairs", COSINE)

    assert found["y_score"].unique().to_list() == [1.0]
    report = fmfair.evaluate(found, attributes=["sex"], metrics=["auc"], ci=None)
    assert report.groups.filter(pl.col("attribute") == "sex")["value"].to_list() == [1.0, 0.75]
