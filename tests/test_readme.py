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
from fmfair.runners.models.registry import register, unregister
from fmfair.runners.prompts import read_prompts
from fmfair.toml import read_toml

ROOT = Path(__file__).parent.parent
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]}
BLOCKS = {name: re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL) for name, text in PAGES.items()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_is_of_a_kind_that_is_run() -> None:
    kinds = {language for blocks in BLOCKS.values() for language, _ in blocks}
    assert kinds == {"python", "sh", "text", "toml"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_one_after_another_and_print_what_is_shown(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    printed = ""
    try:
        for language, text in BLOCKS[page]:
            if language == "python":
                exec(compile(text, page, "exec"), names)
                printed = capsys.readouterr().out
            elif language == "sh":
                printed = "".join(run_line(line) for line in lines(text))
            elif language == "text":
                assert text in printed, printed
    finally:
        with suppress(FmfairError):
            unregister("pixels")  # the README's own model


def lines(text: str) -> list[str]:
    """The commands of a shell block, without comments."""
    said = (line.split("  #")[0].strip() for line in text.splitlines())
    return [line for line in said if line and not line.startswith("#")]


def run_line(line: str) -> str:
    """What a command prints; of make, what it would do: running the tests from inside the tests would never end."""
    name, *words = shlex.split(line)
    if name == "make":
        return done(["make", "-n", *words], ROOT)
    assert name == "fmfair"
    return done([sys.executable, "-m", "fmfair", *words])


def done(command: list[str], cwd: Path | None = None) -> str:
    # as from a shell of its own, not from the make that may run this test
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    return ended.stdout


@pytest.mark.parametrize("text", [text for language, text in BLOCKS["running.md"] if language == "toml"])
def test_files_of_prompts_and_of_models_are_read(text: str, tmp_path: Path) -> None:
    """The plan of report.md has tests of its own."""
    file = tmp_path / "shown.toml"
    file.write_text(text, encoding="utf-8")
    tables = read_toml(file, "the block")
    if not any(tables[name].keys() & {"image", "feature", "like"} for name in tables):
        assert list(read_prompts(file)) == list(tables)
        return
    try:
        assert list(register(file)) == list(tables)
    finally:
        for name in tables:
            unregister(name)


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
            assert (place / target.partition("#")[0]).exists(), target
