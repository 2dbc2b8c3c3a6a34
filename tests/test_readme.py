"""Every code block of the README runs, in order, in a folder that holds nothing but the examples."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fmfair.runners.models.registry import unregister

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL_LINES = [
    line
    for language, text in BLOCKS
    if language == "sh"
    for line in (line.split("  #")[0].strip() for line in text.splitlines())
    if line and not line.startswith("#")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_is_of_a_kind_that_is_run() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "sh", "text", "toml"}  # TOML by the tests of the plan


def test_python_blocks_run_one_after_another_and_print_what_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    printed = ""
    for language, text in BLOCKS:
        if language == "python":
            exec(compile(text, "README.md", "exec"), names)
            printed = capsys.readouterr().out
        elif language == "text":
            assert text in printed, printed
    unregister("pixels")  # its own model
    assert sorted(p.name for p in (folder / "results" / "pneumothorax").glob("*.parquet")) == [
        "gaps.parquet",
        "groups.parquet",
        "overall.parquet",
        "pairs.parquet",
        "summary.parquet",
    ]


@pytest.mark.parametrize("line", [line for line in SHELL_LINES if line.startswith("fmfair ")])
def test_commands_run(line: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)], check=False, capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("line", [line for line in SHELL_LINES if not line.startswith("fmfair ")])
def test_make_targets_exist(line: str) -> None:
    assert line.startswith("make ")
    # Only what make would do: running the tests from inside the tests would never end.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(
        ["make", "-n", *shlex.split(line)[1:]], check=False, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr
