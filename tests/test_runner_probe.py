from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fmfair
from fmfair.runners import probe as probe_module
from fmfair.runners.description import About
from fmfair.runners.manifest import Manifest
from fmfair.runners.predictions import Embedded
from fmfair.runners.probe import Probe, linear_probe
from fmfair.runners.sgd import Head, Schedule, train

N, DIM = 240, 6
RNG = np.random.default_rng(11)
X = RNG.normal(size=(N, DIM)).astype(np.float32) * np.array([1, 3, 0.2, 1, 1, 1], np.float32) + 2
Y = (X[:, 0] + RNG.normal(size=N) > 2).astype(int)
SPLIT = np.array(["train", "train", "validation", "test"] * (N // 4))


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    table = pl.DataFrame(
        {
            "sample_id": [f"s{i}" for i in range(N)],
            "patient_id": [f"p{i}" for i in range(N)],
            "path": [f"{i}.png" for i in range(N)],
            "split": SPLIT,
            "finding": Y,
            "sex": np.where(np.arange(N) % 3 == 0, "F", "M"),
        }
    )
    return Manifest(table, ("finding",), ("sex",), tmp_path, About("x"))


def embeddings(x: Any = X, slices: int = 0) -> pl.LazyFrame:
    count = max(slices, 1)
    return pl.LazyFrame(
        {
            "sample_id": [f"s{i}" for i in range(N) for _ in range(count)],
            "slice": pl.Series([k if slices else None for _ in range(N) for k in range(count)], dtype=pl.Int32),
            "status": ["ok"] * (N * count),
            "reason": pl.Series([None] * (N * count), dtype=pl.String),
            "feature": pl.Series(np.repeat(x, count, axis=0), dtype=pl.Array(pl.Float32, DIM)),
        }
    )


def test_the_probe_is_scikit_learns_regression_on_standardised_features(manifest: Manifest) -> None:
    found, _ = linear_probe(manifest, embeddings(), model="m", probe=Probe(select="last"))

    peer = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=1000))
    at = {split: np.flatnonzero(split == SPLIT) for split in ("train", "test")}
    peer.fit(X[at["train"]].astype(float), Y[at["train"]])
    assert found["y_logit"].to_numpy() == pytest.approx(peer.decision_function(X[at["test"]]), abs=1e-6)
    assert found["y_score"].to_numpy() == pytest.approx(peer.predict_proba(X[at["test"]])[:, 1], abs=1e-6)
    assert found["sample_id"].to_list() == [f"s{i}" for i in at["test"]]
    assert found["y_true"].to_list() == Y[at["test"]].tolist()


def test_the_validation_split_chooses_the_penalty(manifest: Manifest) -> None:
    _, (one,) = linear_probe(manifest, embeddings(), model="m")

    at = {split: np.flatnonzero(split == SPLIT) for split in ("train", "validation")}
    losses = {}
    for c in [10.0**k for k in range(-4, 3)]:
        peer = make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=1000))
        p = peer.fit(X[at["train"]].astype(float), Y[at["train"]]).predict_proba(X[at["validation"]])
        losses[c] = -np.log(p[np.arange(len(p)), Y[at["validation"]]]).mean()
    assert one.chosen["strength"] == min(losses, key=losses.__getitem__)
    assert one.chosen["loss"] == pytest.approx(min(losses.values()), abs=1e-6)


def test_the_worst_group_may_choose(manifest: Manifest) -> None:
    _, (one,) = linear_probe(manifest, embeddings(), model="m", probe=Probe(select="worst_auc", groups=("sex",)))

    rows = manifest.of_split("validation")
    scores = one.head.logits(X[SPLIT == "validation"])
    by_hand = min(
        roc_auc_score(rows["finding"].to_numpy()[sex], scores[sex])
        for sex in ((rows["sex"] == s).to_numpy() for s in ("F", "M"))
    )
    assert one.chosen["worst_auc"] == pytest.approx(by_hand, abs=1e-12)


def own_loop(features: Callable[[Any], Any], dim: int, y: Any, schedule: Schedule, seed: int) -> Any:
    """The published schedule with a linear layer and the features made anew in every step."""
    generator, bound = torch.Generator().manual_seed(seed), dim**-0.5
    layer = torch.nn.Linear(dim, 2)
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    counts = torch.bincount(y)
    loss_of = torch.nn.CrossEntropyLoss(weight=len(y) / (2 * counts.float()))
    optimiser = torch.optim.SGD(
        [{"params": [layer.weight], "weight_decay": schedule.weight_decay}, {"params": [layer.bias]}], lr=1.0
    )
    for epoch in range(1, schedule.epochs + 1):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(epoch)
        for batch in torch.randperm(len(y), generator=generator).split(schedule.batch_size):
            optimiser.zero_grad()
            loss_of(layer(features(batch)), y[batch]).backward()
            optimiser.step()
    return layer


def encode(images: Any) -> Any:
    """A frozen encoder."""
    return torch.tanh(images @ torch.linspace(-1, 1, images.shape[1] * 4).reshape(images.shape[1], 4))


def test_features_that_are_there_give_what_encoding_in_every_epoch_gives() -> None:
    images, y = torch.from_numpy(X), torch.from_numpy(Y)
    schedule = Schedule(epochs=20, learning_rate=0.05, batch_size=32, weight_decay=0.05)
    cached = encode(images)

    head = train(lambda at: cached[at], Y, np.ones(N, np.int64), 4, schedule, seed=3)

    layer = own_loop(lambda at: encode(images[at]), 4, y, schedule, seed=3)
    with torch.no_grad():
        expected = torch.softmax(layer(encode(images)), dim=1)[:, 1].numpy()
    assert 1 / (1 + np.exp(-head.logits(cached.numpy()))) == pytest.approx(expected, abs=1e-5)


def test_the_last_epoch_is_taken_unless_a_split_chooses(manifest: Manifest) -> None:
    schedule = Schedule(epochs=8, learning_rate=0.5, batch_size=16)
    chosen = {}
    for select in ("last", "loss"):
        probe = Probe(solver="sgd", select=select, schedule=schedule)
        _, (one,) = linear_probe(manifest, embeddings(), model="m", probe=probe)
        chosen[select] = one.chosen
    assert chosen["last"] == {"epoch": 8}
    assert 1 <= chosen["loss"]["epoch"] <= 8
    assert 0 < chosen["loss"]["loss"] < 1


def test_a_seed_repeats_and_another_differs(manifest: Manifest) -> None:
    def run(seed: int) -> pl.DataFrame:
        schedule = Schedule(epochs=3, batch_size=16)
        probe = Probe(solver="sgd", select="last", schedule=schedule, seed=seed)
        return linear_probe(manifest, embeddings(), model="m", probe=probe)[0]

    assert run(0).equals(run(0))
    assert not run(0).equals(run(1))


@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
@pytest.mark.parametrize("slices", ["mean", "max"])
def test_equal_slices_say_what_one_picture_says(slices: str, solver: str, manifest: Manifest) -> None:
    probe = Probe(solver=solver, select="last", slices=slices, schedule=Schedule(epochs=3, batch_size=16))

    one, _ = linear_probe(manifest, embeddings(), model="m", probe=probe)
    three, _ = linear_probe(manifest, embeddings(slices=3), model="m", probe=probe)

    assert three["y_logit"].to_numpy() == pytest.approx(one["y_logit"].to_numpy(), abs=1e-4)


@pytest.mark.parametrize("said", ["max", "mean", ""])
def test_the_data_set_says_what_slices_say_together(said: str, manifest: Manifest) -> None:
    of_volumes = replace(manifest, about=replace(manifest.about, slices=said))
    second = embeddings(-X).collect().with_columns(slice=pl.lit(1, pl.Int32))
    volumes = pl.concat([embeddings().collect().with_columns(slice=pl.lit(0, pl.Int32)), second]).lazy()

    found, _ = linear_probe(of_volumes, volumes, model="m")
    asked, _ = linear_probe(manifest, volumes, model="m", probe=Probe(slices=said or "mean"))
    other, _ = linear_probe(manifest, volumes, model="m", probe=Probe(slices="mean" if said == "max" else "max"))

    assert found.equals(asked)
    assert not found.equals(other)


def test_every_slice_can_be_a_row(manifest: Manifest) -> None:
    second = embeddings(-X).collect().with_columns(slice=pl.lit(1, pl.Int32))
    volumes = pl.concat([embeddings().collect().with_columns(slice=pl.lit(0, pl.Int32)), second]).lazy()

    every, _ = linear_probe(manifest, volumes, model="m", probe=Probe(slices="every"))
    highest, _ = linear_probe(manifest, volumes, model="m", probe=Probe(slices="max"))

    assert every["slice"].to_list() == [0, 1] * highest.height
    assert every["sample_id"].to_list() == [f"{name}#{k}" for name in highest["sample_id"] for k in (0, 1)]
    logits = every["y_logit"].to_numpy().reshape(-1, 2)
    assert logits.max(axis=1) == pytest.approx(highest["y_logit"].to_numpy(), abs=1e-12)
    assert (logits.min(axis=1) < logits.max(axis=1)).any()


def test_the_slice_with_the_highest_score_trains_and_speaks() -> None:
    x = torch.tensor([[1.0], [5.0], [-2.0], [3.0]])
    seen: list[int] = []

    def features(at: Any) -> Any:
        seen.extend(at.tolist())
        return x[at]

    train(features, np.array([1, 0]), np.array([2, 2]), 1, Schedule(epochs=1, batch_size=2, warmup=0))

    assert sorted(seen) == [0, 1, 2, 3]


def test_a_volume_counts_once_however_often_its_slices_are_repeated(manifest: Manifest) -> None:
    once = embeddings().collect().with_columns(slice=pl.lit(0, pl.Int32))
    again = once.filter(pl.int_range(N) % 5 == 0).with_columns(slice=pl.lit(1, pl.Int32))
    often = pl.concat([once, again, again.with_columns(slice=pl.lit(2, pl.Int32))]).lazy()

    for probe in (Probe(slices="max"), Probe(slices="mean")):
        one, other = (linear_probe(manifest, e, model="m", probe=probe)[0] for e in (once.lazy(), often))
        assert other["y_logit"].to_numpy() == pytest.approx(one["y_logit"].to_numpy(), abs=1e-5)


@pytest.mark.parametrize("odd", ["constant", "copies", "huge", "far", "tiny"])
def test_features_of_any_scale_give_what_usual_ones_give(odd: str, manifest: Manifest) -> None:
    usual, there = X.copy(), X.astype(np.float64)
    if odd == "constant":
        usual[:, 1] = 0
        there[:, 1] = 0.1
    elif odd == "copies":  # at another scale and place, after standardising the same
        usual[:, 1] = usual[:, 0]
        there[:, 1] = 3 * there[:, 0] - 7
    else:
        there *= {"huge": 2.0**20, "far": 1.0, "tiny": 2.0**-90}[odd]
        there += 4096 if odd == "far" else 0

    found, expected = (linear_probe(manifest, embeddings(x), model="m")[0]["y_logit"] for x in (there, usual))

    assert found.to_numpy() == pytest.approx(expected.to_numpy(), abs=2e-3 if odd == "far" else 1e-5)


def test_two_images_are_enough_to_fit(manifest: Manifest) -> None:
    known = pl.when(pl.int_range(N).is_in([0, int(np.flatnonzero((Y[0] != Y) & (SPLIT == "train"))[0])])).then(
        "finding"
    )

    found, (one,) = linear_probe(changed(manifest, finding=known), embeddings(), model="m", probe=Probe(select="last"))

    assert found["y_score"].is_between(0, 1).all()
    assert one.chosen == {"strength": 1.0}


def test_a_solver_that_stops_early_is_told_of(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.note for one in linear_probe(manifest, embeddings(), model="m")[1]] == [""]
    monkeypatch.setattr(probe_module, "MOST_STEPS", 1)

    _, (one,) = linear_probe(manifest, embeddings(), model="m", probe=Probe(select="last"))

    assert one.note == "scikit-learn's solver stopped after 1 step, not yet converged"
    assert one.told == {"strength": 1.0, "note": one.note}


def test_images_without_a_label_or_embedding_are_left_out_of_the_fit(manifest: Manifest) -> None:
    unknown = manifest.table.with_columns(finding=pl.when(pl.int_range(pl.len()) < 8).then("finding"))
    some = Manifest(unknown, ("finding",), ("sex",), manifest.root, manifest.about)

    found, _ = linear_probe(some, embeddings(), model="m", probe=Probe(select="last"))

    assert found.height == (SPLIT == "test").sum()
    assert found["y_true"].null_count() == found.height - 2
    assert found["y_score"].null_count() == 0


def changed(manifest: Manifest, labels: Any = ("finding",), **columns: Any) -> Manifest:
    """The manifest with other columns."""
    table = manifest.table.with_columns(**columns)
    return Manifest(table, labels, manifest.attributes, manifest.root, manifest.about)


def test_what_cannot_be_fitted_is_said_together(manifest: Manifest) -> None:
    in_test = pl.when(pl.col("split") == "test").then("finding")
    labels = {"all_ill": pl.lit(1, pl.Int8), "unknown": pl.lit(None, pl.Int8), "tested": in_test}
    with pytest.raises(fmfair.FmfairError) as error:
        linear_probe(changed(manifest, ("finding", *labels), **labels), embeddings(), model="m")
    told = (
        "the split 'train' has {} positives among {} usable images; both classes are needed to fit a probe; choose "
        "other labels with labels="
    )
    assert list(error.value.problems) == [
        f"label 'all_ill': {told.format(120, 120)}",
        f"label 'unknown': {told.format(0, 0)}",
        "label 'unknown': no image of the split 'validation' is usable",
        f"label 'tested': {told.format(0, 0)}",
        "label 'tested': no image of the split 'validation' is usable",
    ]

    with pytest.raises(fmfair.FmfairError) as error:
        linear_probe(
            changed(manifest, split=pl.lit("test")),
            embeddings(),
            model="m",
            probe=Probe(select="worst_auc", groups=("race",)),
        )
    assert len(error.value.problems) == 3
    with pytest.raises(fmfair.FmfairError, match="go together"):
        Probe(select="worst_auc")


def test_a_validation_split_of_one_class_can_decide_by_the_loss(manifest: Manifest) -> None:
    ill = changed(manifest, finding=pl.when(pl.col("split") == "validation").then(1).otherwise("finding"))

    _, (one,) = linear_probe(ill, embeddings(), model="m")

    logits = one.head.logits(X[SPLIT == "validation"])
    assert one.chosen["loss"] == pytest.approx(np.log1p(np.exp(-logits)).mean(), abs=1e-12)
    by_group = Probe(select="worst_auc", groups=("sex",))
    with pytest.raises(fmfair.FmfairError, match="label 'finding': no group of 'sex' has both classes in 'validation'"):
        linear_probe(ill, embeddings(), model="m", probe=by_group)


def test_of_equal_worst_groups_the_lower_loss_decides(manifest: Manifest) -> None:
    apart = X + 50 * Y[:, None].astype(np.float32)
    by_group, by_loss = Probe(select="worst_auc", groups=("sex",)), Probe()

    (one,), (other,) = (linear_probe(manifest, embeddings(apart), model="m", probe=p)[1] for p in (by_group, by_loss))

    assert one.chosen == {"strength": 100.0, "worst_auc": 1.0, "loss": other.chosen["loss"]}


def test_the_head_is_linear() -> None:
    assert Head(np.array([2.0, -1.0]), 0.5).logits([[1.0, 1.0]]).tolist() == [1.5]


def test_vectors_keep_the_order_of_the_manifest(manifest: Manifest) -> None:
    shuffled = embeddings().collect().sample(fraction=1.0, shuffle=True, seed=1).lazy()

    found = Embedded.of(manifest.table, shuffled, "feature")

    assert np.array_equal(found.vectors, X)
