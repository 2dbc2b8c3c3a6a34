"""One figure: the best time of a job and the peak memory of the process that ran it.

Every job runs in a process of its own, so that its peak memory is its own. What it needs is loaded before the clock
starts, in the form that the package takes, and anew for every repeat, so that nothing is left over from before.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Loads what a task needs and returns what is timed: (files by name, options) -> () -> anything.
Task = Callable[..., Callable[[], object]]

# Settings of a machine that slow down NumPy, or keep Python from storing what it has compiled of fmfair.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")

SHOWN = ("fmfair", "fairmedfm", "fairlearn", "polars", "duckdb", "numpy", "pandas", "scikit-learn")


@dataclass(frozen=True)
class Job:
    """What is measured.

    Attributes:
        task: A name in `benchmarks.tasks.TASKS`.
        data: Arguments of `generate.write_predictions`: which table the task reads.
        options: Further arguments of the task.
        repeats: How often it is timed; the best counts.
    """

    task: str
    data: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    repeats: int = 3

    @property
    def key(self) -> str:
        """The job as text, the same for the same job."""
        return json.dumps(asdict(self), sort_keys=True)

    def file(self, folder: Path) -> Path:
        """Where its table lies."""
        return folder / ("_".join(f"{k}{v}" for k, v in sorted(self.data.items())) + ".parquet")


@dataclass(frozen=True)
class Figure:
    """What came out: seconds, megabytes that loading added, and that running added on top at the peak."""

    seconds: float
    loaded: float
    added: float


def measure(job: Job, folder: Path, task: Task) -> Figure:
    """Measures in this process."""
    task(job.file(folder), warm=True, **job.options)()  # imports and first-use set-up are not what is measured
    start = _resident()
    loaded, times = 0.0, []
    for _ in range(job.repeats):
        call = task(job.file(folder), warm=False, **job.options)
        loaded = loaded or _resident() - start
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return Figure(min(times), loaded, _peak() - start - loaded)


def in_a_process(job: Job, folder: Path) -> Figure:
    """Makes the table where it is not there yet, and measures in a process of its own."""
    path = job.file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        run("-m", "benchmarks.generate", str(path), "--data", json.dumps(job.data))
    print(f"{job.task} {job.data} {job.options or ''}", file=sys.stderr, flush=True)
    return Figure(**json.loads(run("-m", "benchmarks", "--measure", job.key, "--folder", str(folder))))


def run(*arguments: str) -> str:
    """What Python prints, without the settings that slow it down."""
    clean = {name: value for name, value in os.environ.items() if name not in UNSET}
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, check=True, env=clean).stdout


def _resident() -> float:
    """Megabytes in memory now."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return _peak()
    return int(status.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)  # bytes on macOS, kilobytes elsewhere


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
    found = [pool.get("architecture") or "unknown" for pool in json.loads(run("-c", code))]
    return ", ".join(found) or "unknown"
