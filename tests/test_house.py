"""The house itself: what the wheel holds, what an import loads, who may import whom, what no file may say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
NOT_OURS = {"__pycache__", "build", "dist", "results"}
HIDDEN_OURS = {".ci", ".github", ".gitignore"}
MAX_LINES = 400

# Nothing that is only true on the machine where a file was written; in brackets so that this file may be searched too.
MACHINE_WORDS = re.compile(
    r"/[w]ork/|/[r]oot/|/[o]pt/|[.]library|shared/(DESIGN|facts|cases|data|hooks)|[.][.]/shared"
    r"|pypi[.]org|registry[.]npmjs|deb[.]debian|python[h]osted|DEVELOPERS[.]md"
)


def files_of_the_project(folder: Path = ROOT) -> Iterator[Path]:
    """Every file but those that tools, builds and environments leave; works without git, as in an unpacked archive."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in HIDDEN_OURS
        if hidden or path.name in NOT_OURS or path.name.endswith(".egg-info"):
            continue
        if path.is_file():
            yield path
        elif not (path / "pyvenv.cfg").exists():
            yield from files_of_the_project(path)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The built wheel, from a copy of the sources so that the build leaves nothing behind; needs no network."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("fmfair", "sql", "runners", "tests", "benchmarks", "examples"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.iterdir()
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_package_and_its_metadata_only(wheel: zipfile.ZipFile) -> None:
    top = {Path(name).parts[0] for name in wheel.namelist()}

    assert {name for name in top if not name.endswith(".dist-info")} == {"fmfair"}
    assert len(top) == 2


def test_the_wheel_holds_every_module_and_the_type_marker(wheel: zipfile.ZipFile) -> None:
    expected = {p.relative_to(ROOT).as_posix() for p in files_of_the_project(ROOT / "fmfair")}

    packed = {name for name in wheel.namelist() if name.startswith("fmfair/")}

    assert packed == expected
    assert "fmfair/py.typed" in packed


def test_the_wheel_carries_the_licence_and_the_command(wheel: zipfile.ZipFile) -> None:
    texts = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}

    assert texts["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "License-Expression: Apache-2.0" in texts["METADATA"]
    assert "fmfair = fmfair.cli:main" in texts["entry_points.txt"]


def test_each_layer_imports_only_what_lies_below(capsys: pytest.CaptureFixture[str]) -> None:
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)

    report = capsys.readouterr().out
    assert status == 0, report
    assert "3 kept, 0 broken" in report


def test_importing_fmfair_loads_no_optional_or_heavy_package() -> None:
    optional = ["PIL", "nibabel", "fastexcel", "altair", "jinja2", "vl_convert"]
    heavy = ["torch", "pandas", "sklearn", "scipy.stats", "duckdb", *optional]
    code = f"import sys, fmfair; print([name for name in {heavy!r} if name in sys.modules])"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout

    assert printed.strip() == "[]"


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in files_of_the_project():
        lines = path.read_bytes().decode("utf-8", errors="replace").splitlines()
        found += [f"{path.relative_to(ROOT)}:{n}" for n, line in enumerate(lines, 1) if MACHINE_WORDS.search(line)]

    assert found == []


def test_every_python_file_is_short_enough_to_know() -> None:
    python = [path for path in files_of_the_project() if path.suffix == ".py"]
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in python}

    assert {path: n for path, n in lengths.items() if n >= MAX_LINES} == {}
