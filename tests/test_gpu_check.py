"""The check of a GPU, on a CPU: it passes what is right, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks import gpu_check
from benchmarks.gpu_check import Found, Sizes, check, row

SMALL = Sizes(4, 2, ("mixed",))


def pooled() -> Any:
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 8))


def test_a_model_is_as_near_to_itself_as_its_number_type_allows() -> None:
    mixed, exact = (check(pooled, dtype, "cpu", SMALL) for dtype in ("mixed", "float32"))

    assert 0 < mixed.distance < 0.02
    assert exact.distance < 1e-6
    assert mixed.apart > 0.1
    assert min(mixed.embed, mixed.bare) > 0
    assert row("pooled", "mixed", "cpu", mixed)[1]


@pytest.mark.parametrize(
    "bad",
    [Found(2e-2, 1.0, 1, 1), Found(float("nan"), 1.0, 1, 1), Found(0.0, 1e-4, 1, 1), Found(0.0, float("nan"), 1, 1)],
    ids=["far", "NaN", "blind", "blind of NaN"],
)
def test_what_is_far_or_blind_is_not_as_promised(bad: Found) -> None:
    line, good = row("model", "mixed", "cuda", bad)

    assert not good
    assert line.endswith("| NO |")


def test_a_model_that_fails_and_checks_that_are_left_out_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Any:
        raise RuntimeError("out | of memory\nand more")

    monkeypatch.setattr(gpu_check, "towers", lambda: {"broken": broken, "pooled": pooled})
    monkeypatch.setitem(gpu_check.SIZES, "cpu", SMALL)

    for minutes, told in (("4", "RuntimeError: out / of memory |"), ("-1", "not checked: the time is over")):
        monkeypatch.setattr("sys.argv", ["gpu_check", "--device", "cpu", "--minutes", minutes])
        assert gpu_check.main() == 1
        assert told in (said := capsys.readouterr().out)
        assert "NOT as promised" in said
    monkeypatch.setattr(gpu_check, "towers", lambda: {"pooled": pooled})
    monkeypatch.setattr("sys.argv", ["gpu_check", "--device", "cpu"])
    assert gpu_check.main() == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
