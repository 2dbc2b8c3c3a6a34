"""The tables of `benchmarks.coverage`: rows of text, from seeded samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from benchmarks.covered import (
    dice_values,
    error,
    exact_coverage,
    group_gaps,
    group_values,
    held,
    in_chunks,
    shares,
    uniformity,
    with_truth,
)
from benchmarks.simulated import Model, Patients, scored

SIZES = (30, 100, 1000)
PREVALENCES = (0.1, 0.5)
COUNTS = (2, 5, 10)

MODELS = {
    "AUC .75": Model(0.75),
    "AUC .85": Model(0.85),
    "AUC .95": Model(0.95),
    "AUC .95, positives spread twice as wide": Model(0.95, spread=2.0),
}

Row = Mapping[str, Any]


def judged(coverage: float, samples: int, asked: float) -> str:
    """The coverage in per cent, in bold where it is below what is asked by more than two Monte Carlo errors."""
    text = f"{100 * coverage:.1f}"
    return f"**{text}**" if coverage + error(coverage, samples) < asked else text


def noted(cell: Row) -> str:
    """The most frequent note, with the share of samples that carry one."""
    return f"{cell['note']} ({100 * cell['noted']:.0f} %)" if cell["note"] else ""


def single_groups(
    rng: np.random.Generator, models: Sequence[Model], size: int, prevalence: float, runs: int
) -> pl.DataFrame:
    """Intervals of single groups."""
    frame = scored(rng, runs, size, prevalence, models)
    return with_truth(group_values(frame, ["auc", "accuracy"]), models, prevalence)


def value_rows(samples: int, seed: int) -> Iterator[Row]:
    """AUC and accuracy of single groups."""
    models = list(MODELS.values())
    for at, (size, prevalence) in enumerate(product(SIZES, PREVALENCES)):
        rng = np.random.default_rng([seed, 1, at])
        measure = partial(single_groups, rng, models, size, prevalence)
        found = shares(in_chunks(samples, size * len(models), measure), ["metric", "group"])
        for cell in found.sort("metric", "group").iter_rows(named=True):
            yield {
                "metric": cell["metric"],
                "scores": list(MODELS)[cell["group"]],
                "rows": size,
                "prevalence": prevalence,
                "coverage %": judged(cell["coverage"], cell["samples"], 0.93),
                "mean width": f"{cell['width']:.3f}",
                "note of the interval": noted(cell),
            }


def rate_rows(samples: int, seed: int) -> Iterator[Row]:
    """Rates, exactly."""
    del samples, seed
    for size in (3, 10, 15, 30, 50, 100, 500, 1000):
        found = exact_coverage(size).group_by("metric").agg(pl.col("coverage").mean(), worst=pl.col("coverage").min())
        cells = {cell["metric"]: cell for cell in found.iter_rows(named=True)}
        mean = cells["tpr"]["coverage"]
        text = f"{100 * mean:.1f}"
        yield {
            "rows of the rate": size,
            "mean of TPR %": text if 0.94 <= mean <= 0.97 else f"**{text}**",
            "smallest of TPR %": f"{100 * cells['tpr']['worst']:.1f}",
            "mean of accuracy %": judged(cells["accuracy"]["coverage"], 10**9, 0.93),
            "smallest of accuracy %": f"{100 * cells['accuracy']['worst']:.1f}",
        }


def dice_rows(samples: int, seed: int) -> Iterator[Row]:
    """Mean Dice of single groups."""
    for at, size in enumerate(SIZES):
        rng = np.random.default_rng([seed, 2, at])
        measure = partial(dice_values, rng, size)
        found = shares(in_chunks(samples, 2 * size, measure), ["group"])
        for cell in found.sort("group").iter_rows(named=True):
            yield {
                "Dice of a sample": cell["group"],
                "rows": size,
                "coverage %": judged(cell["coverage"], cell["samples"], 0.93),
                "mean width": f"{cell['width']:.3f}",
                "note of the interval": noted(cell),
            }


BASES = (Model(0.85, 0.80), Model(0.95, 0.95))
GAP_COLUMNS = ("metric", "k", "value", "ci_low", "ci_high", "ci_note", "p_value", "chance_gap", "chance_gap_95")


def gap_designs() -> Iterator[tuple[Model, int, float, float]]:
    """The better groups' model, rows per group, prevalence, and by how much one group is worse."""
    yield from ((BASES[0], *design) for design in product(SIZES, PREVALENCES, (0.0, 0.05, 0.15)))
    yield from ((BASES[1], *design) for design in product((100,), PREVALENCES, (0.0, 0.05, 0.15)))


def gaps_of_groups(
    rng: np.random.Generator, models: Sequence[Model], size: int, prevalence: float, runs: int
) -> pl.DataFrame:
    """Intervals of gaps."""
    return group_gaps(scored(rng, runs, size, prevalence, models), ["auc", "tpr"], COUNTS)


@cache
def measured_gaps(samples: int, seed: int, base: Model, size: int, prevalence: float, lower: float) -> pl.DataFrame:
    """The gaps of 2, 5 and 10 groups of which the first is worse; kept, since two tables tell of them."""
    assert base.tpr is not None
    rng = np.random.default_rng([seed, 3, size, *(round(100 * share) for share in (base.auc, prevalence, lower))])
    models = [Model(base.auc - lower, base.tpr - lower), *[base] * (max(COUNTS) - 1)]
    measure = partial(gaps_of_groups, rng, models, size, prevalence)
    return held(in_chunks(samples, size * len(models), measure), lower).select(*GAP_COLUMNS, "held")


def gap_rows(samples: int, seed: int) -> Iterator[Row]:
    """Gaps of AUC and TPR."""
    for base, size, prevalence, lower in gap_designs():
        found = shares(measured_gaps(samples, seed, base, size, prevalence, lower), ["metric", "k"])
        for metric, best in (("auc", base.auc), ("tpr", base.tpr)):
            cells = {c["k"]: c for c in found.filter(pl.col("metric") == metric).iter_rows(named=True)}
            yield {
                "metric": metric,
                "best": best,
                "true gap": lower,
                "rows per group": size,
                "prevalence": prevalence,
                **{f"{k} groups %": judged(cells[k]["coverage"], cells[k]["samples"], 0.94) for k in COUNTS},
                "note of the interval, 2 groups": noted(cells[2]),
            }


def equal_rows(samples: int, seed: int) -> Iterator[Row]:
    """Tests and chance gaps of equal groups."""
    for size, prevalence in ((200, 0.5), (1000, 0.1), (1000, 0.5)):
        gaps = measured_gaps(samples, seed, BASES[0], size, prevalence, 0.0)
        for (metric, k), rows in gaps.sort("metric", "k").group_by("metric", "k", maintain_order=True):
            p = rows["p_value"].drop_nulls().to_numpy()
            distance, chance, step = uniformity(p)
            beyond = (rows["value"] > rows["chance_gap_95"]).mean()
            above = (rows["value"] > rows["chance_gap"]).mean()
            yield {
                "metric": metric,
                "groups": k,
                "positives, negatives": f"{round(size * prevalence)}, {size - round(size * prevalence)}",
                "p < .05 %": f"{100 * float((p < 0.05).mean()):.1f}",
                "KS distance": f"{distance:.3f}",
                "p of KS": f"{chance:.3f}",
                "largest step of p": f"{step:.3f}" if step > 2 / p.size else "none",
                "gap above chance_gap_95 %": _percent(beyond),
                "gap above chance_gap %": _percent(above),
            }


def _percent(share: object) -> str:
    assert isinstance(share, float)
    return f"{100 * share:.1f}"


CLUSTERED = ("auc", "accuracy", "tpr")


def clustered_groups(
    rng: np.random.Generator, models: Sequence[Model], patients: Patients, size: int, prevalence: float, runs: int
) -> pl.DataFrame:
    """Intervals of single groups, with patients (`known`) and without."""
    frame = scored(rng, runs, size, prevalence, models, patients)
    known, naive = (group_values(frame, CLUSTERED, cluster) for cluster in ("patient", None))
    both = pl.concat([known.with_columns(known=True), naive.with_columns(known=False)])
    return with_truth(both, models, prevalence)


def cluster_rows(samples: int, seed: int) -> Iterator[Row]:
    """Single groups whose patients have five images each, with intervals that know it and that do not."""
    models = [MODELS["AUC .75"], MODELS["AUC .95"]]
    for at, (alike, people, prevalence) in enumerate(product((True, False), (30, 100, 200), PREVALENCES)):
        rng = np.random.default_rng([seed, 5, at])
        patients = Patients(alike=alike)
        size = people * patients.images
        measure = partial(clustered_groups, rng, models, patients, size, prevalence)
        found = shares(in_chunks(samples, size * len(models), measure), ["metric", "group", "known"])
        cells = {(c["metric"], c["group"], c["known"]): c for c in found.iter_rows(named=True)}
        for metric, group in product(CLUSTERED, range(len(models))):
            known, naive = cells[metric, group, True], cells[metric, group, False]
            yield {
                "metric": metric,
                "AUC": models[group].auc,
                "label": "per patient" if alike else "per image",
                "patients": people,
                "prevalence": prevalence,
                "clustered %": judged(known["coverage"], known["samples"], 0.93),
                "rows as if independent %": f"{100 * naive['coverage']:.1f}",
                "note of the interval": noted(known),
            }


def clustered_gaps(rng: np.random.Generator, patients: Patients, size: int, runs: int) -> pl.DataFrame:
    """Intervals of the gaps of equal groups, with patients (`known`) and without."""
    frame = scored(rng, runs, size, 0.5, [BASES[0]] * 5, patients)
    known, naive = (group_gaps(frame, ["auc", "tpr"], (2, 5), cluster) for cluster in ("patient", None))
    return held(pl.concat([known.with_columns(known=True), naive.with_columns(known=False)]), 0.0)


def clustered_gap_rows(samples: int, seed: int) -> Iterator[Row]:
    """Gaps between equal groups of patients with five images each."""
    for at, (alike, people) in enumerate(product((True, False), (30, 100))):
        rng = np.random.default_rng([seed, 6, at])
        patients = Patients(alike=alike)
        size = people * patients.images
        measure = partial(clustered_gaps, rng, patients, size)
        gaps = in_chunks(samples, size * 5, measure)
        tested = gaps.group_by("metric", "k", "known").agg(
            p=(pl.col("p_value") < 0.05).mean(), beyond=(pl.col("value") > pl.col("chance_gap_95")).mean()
        )
        found = shares(gaps, ["metric", "k", "known"]).join(tested, on=["metric", "k", "known"])
        cells = {(c["metric"], c["k"], c["known"]): c for c in found.iter_rows(named=True)}
        for metric, k in product(("auc", "tpr"), (2, 5)):
            known, naive = cells[metric, k, True], cells[metric, k, False]
            yield {
                "metric": metric,
                "groups": k,
                "label": "per patient" if alike else "per image",
                "patients per group": people,
                "clustered %": judged(known["coverage"], known["samples"], 0.94),
                "rows as if independent %": _percent(naive["coverage"]),
                "p < .05 %, clustered": _percent(known["p"]),
                "independent": _percent(naive["p"]),
                "gap above chance_gap_95 %, clustered": _percent(known["beyond"]),
            }
