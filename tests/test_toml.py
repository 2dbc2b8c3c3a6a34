"""TOML files of users: what cannot be read is one error that names the file, whatever it holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fmfair.errors import FmfairError
from fmfair.page.plan import plan_of
from fmfair.runners.datasets import recipe
from fmfair.runners.models.registry import register
from fmfair.runners.prompts import read_prompts
from fmfair.toml import read_toml


def test_a_byte_order_mark_and_a_home_folder_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.toml").write_text("x = 'ä'", encoding="utf-8-sig")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert read_toml("~/a.toml", "the plan") == {"x": "ä"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"x = ", "it is not TOML: "),
        (b"x = '\xff'", "it is not TOML: it is no UTF-8 text"),
        (b"x = " + b"[" * 20_000, "it is not TOML: "),
        (b"x = " + b"9" * 5_000, "it is not TOML: "),
        (None, "No such file"),
    ],
    ids=["cut", "latin", "deep", "long", "missing"],
)
@pytest.mark.parametrize(
    ("reader", "what"),
    [(plan_of, "the plan"), (read_prompts, "the prompts"), (register, "the models of"), (recipe, "the recipe")],
)
def test_whoever_reads_one_says_why_it_cannot(
    reader: Callable[[Path], object], what: str, content: bytes | None, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.toml"
    if content is not None:
        file.write_bytes(content)

    for path, reason in ((file, why), (tmp_path / "b\0.toml", "no path holds a zero byte")):
        with pytest.raises(FmfairError) as caught:
            reader(path)
        assert str(caught.value).startswith(f"cannot read {what} ")
        assert reason in str(caught.value)
