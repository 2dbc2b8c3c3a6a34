"""The published schedule, and what becomes of trainings that diverge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_runner_probe import X, embeddings, manifest  # noqa: F401 (a fixture)

import fmfair
from fmfair.runners.manifest import Manifest
from fmfair.runners.probe import Probe, linear_probe
from fmfair.runners.sgd import Head, Schedule, train


def test_the_defaults_are_the_benchmarks() -> None:
    assert Schedule() == Schedule(
        epochs=100, learning_rate=1e-4, lowest=1e-5, warmup=5, batch_size=1024, weight_decay=1e-4, balanced=True
    )


def test_the_rates_are_those_of_the_published_run() -> None:
    run = Schedule(epochs=10, learning_rate=2.5e-4)

    log = [5e-5, 1e-4, 1.5e-4, 2e-4, 2.5e-4, 2.27e-4, 1.67e-4, 9.3e-5, 3.3e-5, 1e-5]
    assert [float(f"{run.rate(e):.3g}") for e in range(1, 11)] == pytest.approx(log, rel=5e-3)


@pytest.mark.parametrize(("epochs", "warmup"), [(3, 5), (5, 5), (6, 5), (4, 0), (1, 0)])
def test_rates_rise_and_fall_in_any_number_of_epochs(epochs: int, warmup: int) -> None:
    for rate in (1e-3, 1e-5, 1e-6):
        run = Schedule(epochs=epochs, learning_rate=rate, warmup=warmup)
        rates = [run.rate(e) for e in range(1, epochs + 1)]
        peak = min(warmup, epochs)
        assert max(rates) <= rate
        assert rates[:peak] == sorted(rates[:peak])
        assert rates[max(peak - 1, 0) :] == sorted(rates[max(peak - 1, 0) :], reverse=True)
        if epochs > warmup:
            assert rates[-1] == pytest.approx(min(1e-5, rate))


@pytest.mark.parametrize("given", [{"lowest": -1.0}, {"lowest": float("nan")}, {"warmup": -1}])
def test_schedules_below_nothing_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(fmfair.FmfairError, match=next(iter(given))):
        Schedule(**given)


def test_one_step_is_gradient_descent_by_hand() -> None:
    """Two outputs, the classes weighted by n / (2 n_k), the decay on the weights alone, no momentum."""
    x, y, rate, decay = X[:5].astype(np.float64), np.array([0, 1, 1, 0, 1]), 0.3, 0.1
    run = Schedule(epochs=2, learning_rate=rate, lowest=rate, warmup=0, batch_size=5, weight_decay=decay)
    generator, bound = torch.Generator().manual_seed(4), 6**-0.5
    w, b = (torch.empty(s).uniform_(-bound, bound, generator=generator).double().numpy().copy() for s in ((2, 6), (2,)))

    head = train(lambda at: torch.from_numpy(X[:5])[at], y, np.ones(5, np.int64), 6, run, seed=4)

    weight = np.where(y == 1, 5 / (2 * 3), 5 / (2 * 2))[:, None]
    for _ in range(2):
        power = np.exp(x @ w.T + b)
        wrong = weight * (power / power.sum(1, keepdims=True) - np.eye(2)[y]) / weight.sum()
        w, b = w - rate * (wrong.T @ x + decay * w), b - rate * wrong.sum(0)
    assert head.coef == pytest.approx(w[1] - w[0], abs=1e-6)
    assert head.intercept == pytest.approx(b[1] - b[0], abs=1e-6)


def test_a_training_that_diverges_is_refused_or_told_of(manifest: Manifest) -> None:  # noqa: F811 (a fixture)
    wild = Schedule(epochs=30, learning_rate=1e30, lowest=1e30, batch_size=1024)

    for select in ("last", "loss"):
        with pytest.raises(fmfair.FmfairError, match="label 'finding': the weights are no longer finite"):
            linear_probe(
                manifest, embeddings(X * np.float32(1e30)), model="m", probe=Probe("sgd", select, schedule=wild)
            )
    _, (one,) = linear_probe(manifest, embeddings(), model="m", probe=Probe("sgd", schedule=wild))
    assert one.head.finite
    assert one.note.startswith("training diverged after the chosen epoch; a learning_rate below 1e+30 may help")


def test_heads_that_are_no_numbers_are_told_apart() -> None:
    assert Head(np.zeros(2), 0.0).finite
    assert not Head(np.array([0.0, np.inf]), 0.0).finite
    assert not Head(np.zeros(2), float("nan")).finite
