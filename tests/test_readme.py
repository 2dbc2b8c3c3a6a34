"""Every code block of the README and of docs/ runs, in order, in a folder that holds nothing but the examples."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fmfair.errors import FmfairError
from fmfair.runners.models.registry import unregister

ROOT = Path(__file__).parent.parent
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]}
BLOCKS = {name: re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL) for name, text in PAGES.items()}
SHELL_LINES = [
    line
    for blocks in BLOCKS.values()
    for language, text in blocks
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
    kinds = {language for blocks in BLOCKS.values() for language, _ in blocks}
    assert kinds == {"python", "sh", "text", "toml"}  # TOML by the tests of the plan


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_one_after_another_and_print_what_is_shown(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    printed = ""
    try:
        for language, text in BLOCKS[page]:
            if language == "python":
                exec(compile(text, page, "exec"), names)
                printed = capsys.readouterr().out
            elif language == "text":
                assert text in printed, printed
    finally:
        with suppress(FmfairError):
            unregister("pixels")  # the README's own model


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    place = ROOT if page == "README.md" else ROOT / "docs"
    anchors = {
        re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", PAGES[page], re.MULTILINE)
    }
    prose = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", prose)
    for target in (one or other for one, other in targets):
        if target.startswith("#"):
            assert target[1:] in anchors
        elif not target.startswith("https://"):
            assert (place / target).exists(), target


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
