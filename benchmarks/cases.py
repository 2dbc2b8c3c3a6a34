"""What is compared with what, and the ratio that the project promises.

A case is two jobs and a promise. `SECTIONS` holds them under the names that `--only` takes; a new one is a line there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.measuring import Job

MILLION = 1_000_000


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Attributes:
        what: What is measured, in words.
        job: It.
        beside: What it is compared with, in words.
        other: That; None compares the memory that the job adds with the size of what it loaded.
        promised: The largest ratio of the job to the other one that the project promises; None for no promise.
        faster: The ratio is the other way round: how many times faster the job is, and `promised` the least.
        scale: The other's time counts this many times, where it ran on that many times fewer rows.
    """

    what: str
    job: Job
    beside: str
    other: Job | None
    promised: float | None = None
    faster: bool = False
    scale: float = 1.0


def _table(rows: int, **data: object) -> dict[str, object]:
    return {"rows": rows, **data}


def _everything(rows: int, kind: str = "float64") -> Job:
    return Job("evaluate", _table(rows, float32=kind == "float32"), {"full": True})


def _floor(task: str, kind: str = "float64", repeats: int = 3) -> Job:
    return Job(task, _table(10 * MILLION, float32=kind == "float32"), {}, repeats)


FAIRMEDFM = Job("fairmedfm", _table(100_000, float32=False), {"full": True}, 1)
KINDS = ("float32", "float64")
GROUPS = {"attributes": ["clinic"]}
BY_KEYS = _table(5_000, models=20, labels=14, clinics=3)
PAIRS = {"attributes": ["sex", "race", "age_group", "site", "clinic"], "intersections": 2}

EVALUATE = (
    *(
        Case(f"10M rows, {kind}", _everything(10 * MILLION, kind), "five Polars sorts", _floor("five_sorts", kind), 3)
        for kind in KINDS
    ),
    Case("10M rows", _everything(10 * MILLION), "1M rows, ten times", _everything(MILLION), 1.5, scale=10),
    Case("1M rows", _everything(MILLION), "FairMedFM, 100k rows, ten times", FAIRMEDFM, 200, faster=True, scale=10),
    Case("100k rows", _everything(100_000), "FairMedFM", FAIRMEDFM, 100, faster=True),
    Case(
        "100k rows, all metrics",
        Job("evaluate", _table(100_000, float32=False), {"full": True, "metrics": "all"}),
        "FairMedFM",
        FAIRMEDFM,
        40,
        faster=True,
    ),
    Case("10M rows", _everything(10 * MILLION), "np.argsort of the scores", _floor("argsort")),
    Case("10M rows", _everything(10 * MILLION), "reading the file", _floor("read")),
)
MEMORY = tuple(
    Case(f"10M rows, {kind}: memory added", _everything(10 * MILLION, kind), "its columns", None, 4) for kind in KINDS
)
SCALARS = tuple(
    Case(
        f"fmfair.{name}, 100k rows",
        Job("scalar", _table(100_000, float32=False), {"name": name}),
        "MetricFrame, AUC",
        Job("fairlearn", _table(100_000, float32=False)),
        faster=True,
    )
    for name in ("auc_gap", "worst_group_auc", "ece_gap", "equalized_odds_score")
)
MANY = (
    Case(
        "10,000 groups, 1M rows",
        Job("engine", _table(MILLION, clinics=10_000), GROUPS),
        "2 groups",
        Job("engine", _table(MILLION, clinics=2), GROUPS),
        2,
    ),
    Case(
        "1,000 thresholds, 1M rows",
        Job("engine", _table(MILLION, clinics=2), {**GROUPS, "thresholds": 1000}),
        "one threshold",
        Job("engine", _table(MILLION, clinics=2), {**GROUPS, "thresholds": 1}),
        2,
    ),
    Case(
        "20 models x 14 labels x 5,000 samples, all pairs",
        Job("evaluate", BY_KEYS, {**PAIRS, "by": ["model", "label"]}),
        "without by-keys",
        Job("evaluate", BY_KEYS, PAIRS),
        2,
    ),
)
SQL = (
    Case(
        "DuckDB engine, 10M rows",
        Job("evaluate_in_duckdb", _table(10 * MILLION, float32=False), {"full": True}, 1),
        "five DuckDB windows",
        _floor("five_windows", repeats=1),
        1.5,
    ),
)

COUNTS = (
    Case(
        "fmfair.counts, 10M rows",
        Job("counts", _table(10 * MILLION, float32=False)),
        "reading the columns",
        _floor("read"),
        12,
    ),
    Case(
        "fmfair.counts, 10M rows, first call",
        Job("counts", _table(10 * MILLION, float32=False), {}, 1),
        "reading the columns, first call",
        _floor("read", repeats=1),
    ),
)
REPLICATES = 100
DRAWN = Job("replicates", _table(MILLION, float32=False), {"count": REPLICATES})
BOOTSTRAP = (
    Case(
        f"{REPLICATES} bootstrap replicates, 1M rows",
        DRAWN,
        f"two Polars sorts, {REPLICATES} times",
        Job("two_sorts", _table(MILLION, float32=False)),
        1,
        scale=REPLICATES,
    ),
    Case(
        f"{REPLICATES} bootstrap replicates, 1M rows",
        DRAWN,
        f"MetricFrame, AUC, {REPLICATES} times",
        Job("fairlearn", _table(MILLION, float32=False), {}, 1),
        100,
        faster=True,
        scale=REPLICATES,
    ),
)
NO_TABLE = _table(1, float32=False)  # the tasks of the runners make their own images
RUNNERS = (
    Case(
        "embedding 256 decoded images, EfficientNet-Lite0",
        Job("embedding", NO_TABLE),
        "the bare model",
        Job("bare_model", NO_TABLE),
        round(1 / 0.9, 2),
    ),
    Case(
        "50 epochs of a probe on embeddings, 2,000 images",
        Job("probe", NO_TABLE, {}, 1),
        "encoding in every epoch (one, 50 times)",
        Job("probe_encoding", NO_TABLE, {}, 1),
        20,
        faster=True,
        scale=50,
    ),
)
LARGE = (
    Case(
        "DuckDB engine, 100M rows, under a ulimit -v of 6 GiB",
        Job("evaluate_in_duckdb", _table(100 * MILLION, float32=False), {"address_space": 6}, 1),
        "10M rows, ten times",
        Job("evaluate_in_duckdb", _table(10 * MILLION, float32=False), {}, 1),
        scale=10,
    ),
    Case(
        "fmfair.counts, 100M rows",
        Job("counts", _table(100 * MILLION, float32=False), {}, 1),
        "10M rows, ten times",
        Job("counts", _table(10 * MILLION, float32=False)),
        scale=10,
    ),
)

SECTIONS: Mapping[str, tuple[Case, ...]] = {
    "evaluate": EVALUATE,
    "memory": MEMORY,
    "scalars": SCALARS,
    "many": MANY,
    "sql": SQL,
    "counts": COUNTS,
    "bootstrap": BOOTSTRAP,
    "runners": RUNNERS,
    "large": LARGE,
}
