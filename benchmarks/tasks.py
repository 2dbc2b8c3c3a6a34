"""The tasks that are timed: fmfair, the packages beside it, and the floors.

A task loads the table of a file (its first rows to warm up) and returns what is timed. A new one is a function here
and a line in `TASKS`; `cases.py` says what it is compared with.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

from benchmarks import runner_tasks
from benchmarks.measuring import Task

ATTRIBUTES = ("sex", "race", "age_group", "site")
SAMPLES = {"y_true": "y_true", "y_score": "y_score"}
WARM_UP_ROWS = 2_000


def _read(path: Path, columns: tuple[str, ...], *, warm: bool) -> pl.DataFrame:
    if not warm:
        return pl.read_parquet(path, columns=list(columns), memory_map=False)
    few = pl.read_parquet(path, columns=list(columns), n_rows=WARM_UP_ROWS)
    # So few rows of very many clinics would be refused: each would be a group of its own.
    return few.with_columns(pl.lit("clinic 0").alias("clinic")) if "clinic" in columns else few


def _options(attributes: tuple[str, ...], *, full: bool, thresholds: int, **options: Any) -> dict[str, Any]:
    """Arguments of `fmfair.evaluate`: the intersection of all attributes where `full`, that many thresholds."""
    intersections = {"intersections": [attributes]} if full else {}
    cuts = {"thresholds": [(k + 1) / (thresholds + 1) for k in range(thresholds)]} if thresholds else {}
    # What is promised of time is promised of the values alone.
    return {**SAMPLES, "attributes": list(attributes), "ci": None, **intersections, **cuts, **options}


def evaluate(
    path: Path,
    *,
    warm: bool,
    attributes: Sequence[str] = ATTRIBUTES,
    full: bool = False,
    thresholds: int = 0,
    by: Sequence[str] = (),
    **options: Any,
) -> Callable[[], object]:
    """`fmfair.evaluate` of a table in memory."""
    import fmfair

    frame = _read(path, (*SAMPLES, *attributes, *by), warm=warm)
    arguments = _options(tuple(attributes), full=full, thresholds=thresholds, by=list(by), **options)
    return lambda: fmfair.evaluate(frame, **arguments)


def engine(path: Path, *, warm: bool, **options: Any) -> Callable[[], object]:
    """The same without the building of the result: every cell is measured, and nothing is named or compared."""
    from fmfair import evaluation
    from fmfair.groupings import Grouping, groupings

    def measured_only(*arguments: Any) -> Any:
        _, samples, _, asked, _, backend = arguments
        divided = [*groupings(samples.attributes, asked.intersections), Grouping()]
        return backend.measure(divided, [g.cells(samples) for g in divided])

    call = evaluate(path, warm=warm, **options)

    def timed() -> object:
        with mock.patch.object(evaluation, "make_report", measured_only):
            return call()

    return timed


def evaluate_in_duckdb(
    path: Path, *, warm: bool, full: bool = False, address_space: int | None = None, **options: Any
) -> Callable[[], object]:
    """`fmfair.evaluate(path, engine="duckdb")`; the rows stay in the file, which is read while the clock runs.

    `address_space` is a limit in GiB on what the process may ask for, as `ulimit -v` sets it.
    """
    import fmfair

    if address_space is not None:
        resource.setrlimit(resource.RLIMIT_AS, (address_space * 2**30, address_space * 2**30))
    source = _read(path, (*SAMPLES, *ATTRIBUTES), warm=True) if warm else path
    arguments = _options(ATTRIBUTES, full=full, thresholds=0, **options)
    return lambda: fmfair.evaluate(source, engine="duckdb", **arguments)


def counts(path: Path, *, warm: bool, **options: Any) -> Callable[[], object]:
    """`fmfair.counts(path)`, in a stream; the file is read while the clock runs."""
    import fmfair

    source = _read(path, (*SAMPLES, *ATTRIBUTES), warm=True) if warm else path
    return lambda: fmfair.counts(source, y_true="y_true", y_score="y_score", attributes=list(ATTRIBUTES), **options)


def scalar(path: Path, *, warm: bool, name: str) -> Callable[[], object]:
    """One of the twelve scalar functions on arrays and one attribute."""
    import fmfair

    frame = _read(path, (*SAMPLES, "race"), warm=warm)
    y_true, y_score = frame["y_true"].to_numpy(), frame["y_score"].to_numpy()
    groups = frame["race"].to_numpy()
    return lambda: getattr(fmfair, name)(y_true, y_score, sensitive_features=groups)


def fairmedfm(path: Path, *, warm: bool, full: bool = False) -> Callable[[], object]:
    """FairMedFM's `evaluate`; it takes a pandas frame and NumPy arrays, as its users have them."""
    import fairmedfm as package

    table = _read(path, (*SAMPLES, *ATTRIBUTES), warm=warm).to_pandas()
    y_true, y_score, groups = table["y_true"].to_numpy(), table["y_score"].to_numpy(), table[list(ATTRIBUTES)]
    # the warm-up has too few rows for the combination of all attributes
    return lambda: package.evaluate(y_true, y_score, groups, intersectional=full and not warm)


def fairlearn(path: Path, *, warm: bool) -> Callable[[], object]:
    """`MetricFrame` of fairlearn: scikit-learn's AUC by one attribute, and the gap."""
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import roc_auc_score

    table = _read(path, (*SAMPLES, "race"), warm=warm).to_pandas()

    def gap() -> object:
        frame = MetricFrame(
            metrics=roc_auc_score, y_true=table["y_true"], y_pred=table["y_score"], sensitive_features=table["race"]
        )
        return frame.difference()

    return gap


def replicates(path: Path, *, warm: bool, count: int) -> Callable[[], object]:
    """Bootstrap replicates of all default metrics by the attributes, and of the gaps between their groups."""
    from fmfair import evaluation
    from fmfair.bootstrap.classification import resample
    from fmfair.groupings import Grouping, groupings
    from fmfair.measures import Engine, long_table
    from fmfair.options import Bootstrap

    frame = _read(path, (*SAMPLES, *ATTRIBUTES), warm=warm)
    options = _options(ATTRIBUTES, full=False, thresholds=0, by=[], ci=0.95)
    seen: list[Any] = []
    with mock.patch.object(evaluation, "report_of", lambda *arguments: seen.extend(arguments)):
        evaluation.evaluate(frame, **options)
    samples, _, asked, notes = seen
    engine = Engine(samples, asked, notes)
    divided = [*groupings(samples.attributes, asked.intersections), Grouping()]
    listed = [grouping.cells(samples) for grouping in divided]
    measured = engine.measure(divided, listed)
    long = long_table(measured, asked.metrics, probability=True, scored=True)
    compared = long.with_row_index("row").filter(pl.col("grouping") < len(ATTRIBUTES)).sort("grouping", "order", "row")
    family = compared.select(pl.struct("grouping", "order").rle_id()).to_series()

    def timed() -> object:
        drawn = resample(engine, divided, listed, long, Bootstrap(count))
        low, high = drawn.extremes(compared["row"].to_numpy(), family.to_numpy())
        with np.errstate(invalid="ignore", divide="ignore"):
            return high - low, low / high

    return timed


def argsort(path: Path, *, warm: bool) -> Callable[[], object]:
    """A floor: the order of all scores."""
    scores = _read(path, ("y_score",), warm=warm)["y_score"].to_numpy()
    return lambda: np.argsort(scores)


def read(path: Path, *, warm: bool) -> Callable[[], object]:
    """A floor: the needed columns into memory, by `pl.read_parquet` from a file that the system holds in its cache."""
    return lambda: _read(path, (*SAMPLES, *ATTRIBUTES), warm=warm)


def five_sorts(path: Path, *, warm: bool) -> Callable[[], object]:
    """A floor: Polars sorts packed keys (group, score rank, label), for each attribute and their intersection."""
    frame = _read(path, (*SAMPLES, *ATTRIBUTES), warm=warm)
    labelled = frame.select(pl.col("y_score").rank("dense").cast(pl.UInt64) * 2 + pl.col("y_true").cast(pl.UInt64))
    codes = [frame[name].rank("dense").cast(pl.UInt64) for name in ATTRIBUTES]
    together = codes[0]
    for code in codes[1:]:
        together = together * (code.n_unique() + 1) + code
    keys = [code * 2**40 + labelled.to_series() for code in (*codes, together)]
    return lambda: [key.sort() for key in keys]


def two_sorts(path: Path, *, warm: bool) -> Callable[[], object]:
    """A floor: Polars sorts packed keys (group, score rank, label) twice."""
    frame = _read(path, (*SAMPLES, *ATTRIBUTES), warm=warm)
    labelled = frame.select(pl.col("y_score").rank("dense").cast(pl.UInt64) * 2 + pl.col("y_true").cast(pl.UInt64))
    keys = [frame[name].rank("dense").cast(pl.UInt64) * 2**40 + labelled.to_series() for name in ATTRIBUTES[:2]]
    return lambda: [key.sort() for key in keys]


def five_windows(path: Path, *, warm: bool) -> Callable[[], object]:
    """A floor: DuckDB's window over each attribute and their intersection, ordered by score, summed up per group."""
    import duckdb

    connection = duckdb.connect()
    frame = _read(path, (*SAMPLES, *ATTRIBUTES), warm=warm)
    groups = [*(pl.col(name) for name in ATTRIBUTES), pl.concat_str(ATTRIBUTES, separator="&")]
    codes = [(group.rank("dense").cast(pl.Int32) - 1).alias(f"g{i}") for i, group in enumerate(groups)]
    keys = frame.select(pl.col("y_true").cast(pl.Int8).alias("y"), pl.col("y_score").alias("score"), *codes)
    connection.register("arrow", keys.to_arrow())
    connection.execute("CREATE TABLE keys AS FROM arrow")
    connection.unregister("arrow")
    window = (
        "SELECT grp, sum(tp) FROM (SELECT {0} AS grp, sum(y) OVER (PARTITION BY {0} ORDER BY score) AS tp FROM keys)"
    )
    queries = [f"{window.format(f'g{i}')} GROUP BY grp" for i in range(len(codes))]
    return lambda: [connection.execute(query).fetchall() for query in queries]


TASKS: Mapping[str, Task] = runner_tasks.TASKS | {
    task.__name__: task
    for task in (
        evaluate,
        engine,
        evaluate_in_duckdb,
        counts,
        scalar,
        fairmedfm,
        fairlearn,
        replicates,
        argsort,
        read,
        five_sorts,
        two_sorts,
        five_windows,
    )
}
