"""The public surface: its names are frozen, and every public docstring shows an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import fmfair

SCALARS = (
    "auc_gap",
    "worst_group_auc",
    "accuracy_gap",
    "bce_gap",
    "ece_gap",
    "equal_opportunity_difference",
    "equalized_odds_score",
    "dice_gap",
    "worst_group_dice",
    "dice_std",
    "dice_skewness",
    "equity_scaled_dice",
)

NAMES = {
    "Bootstrap",
    "Comparison",
    "FmfairError",
    "Report",
    "compare",
    "connect",
    "counts",
    "evaluate",
    "evaluate_arrays",
    "evaluate_counts",
    "evaluate_segmentation",
    "merge_counts",
    "metrics",
    *SCALARS,
}


def test_public_names_are_frozen() -> None:
    assert set(fmfair.__all__) == NAMES
    assert all(hasattr(fmfair, name) for name in NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        _ = fmfair.evaluat


def test_names_are_what_they_say_after_every_module_was_imported() -> None:
    for module in pkgutil.iter_modules(fmfair.__path__):
        if module.name != "__main__":
            importlib.import_module(f"fmfair.{module.name}")
    others = {"Bootstrap", "Comparison", "FmfairError", "Report", "metrics"}
    assert all(inspect.isfunction(getattr(fmfair, n)) for n in NAMES - others)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"metrics"}))
def test_public_docstrings_have_an_example(name: str) -> None:
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(fmfair, name)) or "")
    assert examples, f"the docstring of fmfair.{name} shows no example"


@pytest.mark.parametrize("name", [n for n in fmfair.metrics.__all__ if n not in ("Metric", "REGISTRY")])
def test_metric_docstrings_have_an_example(name: str) -> None:
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(fmfair.metrics, name)) or "")
    assert examples, f"the docstring of fmfair.metrics.{name} shows no example"


@pytest.mark.parametrize("name", SCALARS[:7])
def test_classification_scalars_share_their_arguments(name: str) -> None:
    assert list(inspect.signature(getattr(fmfair, name)).parameters) == [
        "y_true",
        "y_score",
        "sensitive_features",
        "pos_label",
        "threshold",
        "score_type",
        "bins",
        "sample_weight",
        "conventions",
    ]


@pytest.mark.parametrize("name", SCALARS[7:])
def test_dice_scalars_share_their_arguments(name: str) -> None:
    parameters = list(inspect.signature(getattr(fmfair, name)).parameters)
    assert parameters[:4] == ["dice", "sensitive_features", "pred_masks", "true_masks"]
    assert parameters == list(inspect.signature(fmfair.dice_gap).parameters)
