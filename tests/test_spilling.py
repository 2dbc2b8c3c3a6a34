"""More data than DuckDB may hold: it spills to disk, the process stays under its limit, the numbers are exact."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from engines import FRAMES, assert_same_frames

import fmfair
from benchmarks.generate import predictions

ROWS = 1_500_000
ADDRESS_SPACE = 3 * 1024**3
ATTRIBUTES = ["sex", "race", "age_group", "site"]

# The limit on the address space is that of `ulimit -v`; a process that asks for more fails.
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
import fmfair
report = fmfair.evaluate(
    sys.argv[2], attributes=json.loads(sys.argv[4]), engine="duckdb", memory_limit="60MB", temp_dir=sys.argv[3]
)
report.write_parquet(sys.argv[5])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no limit on the address space")
def test_a_low_limit_spills_and_the_numbers_are_exact(tmp_path: Path) -> None:
    table, spill, results = tmp_path / "predictions.parquet", tmp_path / "spill", tmp_path / "results"
    frame = predictions(ROWS, seed=5)
    frame.write_parquet(table)

    arguments = [str(ADDRESS_SPACE), str(table), str(spill), json.dumps(ATTRIBUTES), str(results)]
    with subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stderr=subprocess.PIPE, text=True) as child:
        spilled = 0
        while child.poll() is None:
            spilled = max(spilled, bytes_in(spill))
            time.sleep(0.02)
        assert child.stderr is not None
        assert child.returncode == 0, child.stderr.read()

    assert spilled > 5_000_000
    assert list(spill.iterdir()) == []  # nothing is left behind
    found, expected = fmfair.Report.read_parquet(results), fmfair.evaluate(frame, attributes=ATTRIBUTES)
    for name in FRAMES:
        assert_same_frames(found.to_frame(name), expected.to_frame(name), 1e-12, name)


def bytes_in(folder: Path) -> int:
    """The size of its files; what is removed since they were listed counts nothing."""
    with suppress(FileNotFoundError):
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return 0
