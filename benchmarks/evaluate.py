"""Time and peak memory of `fmfair.evaluate` beside FairMedFM's `evaluate`, on the same data in the same run.

    python -m benchmarks.evaluate
    python -m benchmarks.evaluate --rows 10000 --only fairmedfm

Each figure comes from a process of its own, so that its peak memory is its own. Inside it the table is read before
the clock starts, in the form that the package takes; fmfair gets a freshly read table every time, so that nothing is
left over from the time before. Prints a Markdown table, and how long `import fmfair` takes beside `import polars`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

ATTRIBUTES = ["sex", "race", "age_group", "site"]

# Settings of a machine that slow down NumPy, or keep Python from storing what it has compiled of fmfair.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")

SHOWN = ("fmfair", "fairmedfm", "polars", "numpy", "pandas", "scikit-learn")
COLUMNS = (
    *("rows", "full intersection", "metrics", "fmfair s", "FairMedFM s", "ratio", "promised"),
    *("fmfair peak MB (added)", "FairMedFM peak MB (added)"),
)
IMPORT_ROUNDS = 9
FMFAIR_REPEATS = 3
WARM_UP_ROWS = 2_000


@dataclass(frozen=True)
class Case:
    """One line of the table, with the ratio that the project promises."""

    rows: int
    intersection: bool
    metrics: str
    promised: int | None


CASES = (
    Case(100_000, intersection=True, metrics="default", promised=100),
    Case(100_000, intersection=True, metrics="all", promised=40),
    Case(1_000_000, intersection=False, metrics="default", promised=30),
)


def fmfair_call(path: Path, case: Case) -> Callable[[int | None], Callable[[], object]]:
    """Reads the table anew for every call."""
    import polars as pl

    import fmfair

    options: dict[str, Any] = {"intersections": [tuple(ATTRIBUTES)]} if case.intersection else {}
    if case.metrics == "all":
        options["metrics"] = "all"

    def prepare(rows: int | None) -> Callable[[], object]:
        frame = pl.read_parquet(path, n_rows=rows, memory_map=False)
        return lambda: fmfair.evaluate(frame, y_true="y_true", y_score="y_score", attributes=ATTRIBUTES, **options)

    return prepare


def fairmedfm_call(path: Path, case: Case) -> Callable[[int | None], Callable[[], object]]:
    """Takes a pandas frame and NumPy arrays, as its users have them."""
    import fairmedfm
    import pandas as pd

    def prepare(rows: int | None) -> Callable[[], object]:
        table = pd.read_parquet(path).head(rows or case.rows)
        y_true, y_score, groups = table["y_true"].to_numpy(), table["y_score"].to_numpy(), table[ATTRIBUTES]
        # the warm-up has too few rows for the combination of all attributes
        return lambda: fairmedfm.evaluate(y_true, y_score, groups, intersectional=case.intersection and rows is None)

    return prepare


CALLS = {"fmfair": fmfair_call, "fairmedfm": fairmedfm_call}


def measure(system: str, path: Path, case: Case, repeats: int) -> dict[str, float]:
    """Best time in seconds, and peak memory in MB with and without what was there when the table had been read."""
    prepare = CALLS[system](path, case)
    prepare(WARM_UP_ROWS)()  # imports and first-use set-up are not what is measured
    times = []
    before = 0.0
    for _ in range(repeats):
        call = prepare(None)
        before = before or _peak_mb()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {"seconds": min(times), "peak_mb": _peak_mb(), "added_mb": _peak_mb() - before}


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)  # bytes on macOS, kilobytes elsewhere


def in_a_process(system: str, path: Path, case: Case, repeats: int) -> dict[str, float]:
    """`measure` in a process of its own."""
    print(f"{system}: {case.rows:,} rows, intersection {case.intersection}, metrics {case.metrics}", file=sys.stderr)
    spec = json.dumps([system, str(path), vars(case), repeats])
    result: dict[str, float] = json.loads(_run("-m", "benchmarks.evaluate", "--measure", spec))
    return result


def _run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def import_ratio() -> str:
    """How long `import fmfair` takes beside `import polars`, measured by turns in new processes."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    seconds: dict[str, list[float]] = {"polars": [], "fmfair": []}
    for turn in range(IMPORT_ROUNDS + 1):
        for module, times in seconds.items():
            taken = float(_run("-c", code.format(module)))
            if turn:  # the first turn fills the disk cache and compiles
                times.append(taken)
    polars, ours = (statistics.median(times) for times in seconds.values())
    return (
        f"`import fmfair`: {ours * 1000:.0f} ms, `import polars`: {polars * 1000:.0f} ms, ratio {ours / polars:.2f} "
        f"(promised: at most 2; medians of {IMPORT_ROUNDS})"
    )


def table(cases: tuple[Case, ...], folder: Path, only: str | None) -> list[str]:
    """The lines of the Markdown table; a FairMedFM figure is measured once for the cases that share it."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---:|---|---|" + "---:|" * (len(COLUMNS) - 3)]
    peers: dict[tuple[int, bool], dict[str, float]] = {}
    for case in cases:
        path = folder / f"{case.rows}.parquet"
        if not path.exists():
            _run("-m", "benchmarks.generate", str(path), "--scale", str(case.rows / 1_000_000))
        ours = in_a_process("fmfair", path, case, FMFAIR_REPEATS) if only != "fairmedfm" else None
        key = (case.rows, case.intersection)
        if only != "fmfair" and key not in peers:
            peers[key] = in_a_process("fairmedfm", path, case, 1)
        lines.append(_line(case, ours, peers.get(key)))
    return lines


def _line(case: Case, ours: dict[str, float] | None, peer: dict[str, float] | None) -> str:
    ratio = f"{peer['seconds'] / ours['seconds']:.0f}" if ours and peer else "-"
    cells = [
        f"{case.rows:,}",
        "yes" if case.intersection else "no",
        case.metrics,
        f"{ours['seconds']:.3f}" if ours else "-",
        f"{peer['seconds']:.2f}" if peer else "-",
        ratio,
        str(case.promised or "-"),
        *(f"{m['peak_mb']:.0f} ({m['added_mb']:.0f})" if m else "-" for m in (ours, peer)),
    ]
    return f"| {' | '.join(cells)} |"


def machine() -> str:
    """What the figures were measured on, when and with what."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    versions = ", ".join(f"{name} {version(name)}" for name in SHOWN)
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    return (
        f"{today}, {cpu}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}, BLAS {_blas()}"
    )


def _blas() -> str:
    """The kernel that NumPy's BLAS really runs, asked in a process like those that are measured."""
    code = "import json, numpy, threadpoolctl as t; print(json.dumps(t.threadpool_info()))"
    found = [pool.get("architecture") or "unknown" for pool in json.loads(_run("-c", code))]
    return ", ".join(found) or "unknown"


def main() -> None:
    """Measure and print."""
    if any(name in os.environ for name in UNSET):
        clean = {name: value for name, value in os.environ.items() if name not in UNSET}
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.evaluate", *sys.argv[1:]], clean)
    parser = argparse.ArgumentParser(description="Measure fmfair.evaluate beside FairMedFM's evaluate.")
    parser.add_argument("--rows", type=int, help="this many rows instead of the sizes of the table")
    parser.add_argument("--only", choices=sorted(CALLS), help="measure one of the two")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        system, path, case, repeats = json.loads(args.measure)
        print(json.dumps(measure(system, Path(path), Case(**case), repeats)))
        return
    cases = tuple(replace(c, rows=args.rows, promised=None) for c in CASES) if args.rows else CASES
    with tempfile.TemporaryDirectory() as folder:
        lines = table(cases, Path(folder), args.only)
    print(machine(), "", *lines, sep="\n")
    if args.only != "fairmedfm":
        print("", import_ratio(), sep="\n")


if __name__ == "__main__":
    main()
