"""Fairness audits of medical-imaging models: how performance differs between groups of patients.

`fmfair.evaluate` takes a table of predictions and gives a report; `fmfair.metrics` holds every metric as a Polars
expression. The README is the guide.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmfair import metrics
    from fmfair.array_api import evaluate_arrays
    from fmfair.class_scalars import (
        accuracy_gap,
        auc_gap,
        bce_gap,
        ece_gap,
        equal_opportunity_difference,
        equalized_odds_score,
        worst_group_auc,
    )
    from fmfair.comparison.compare import compare
    from fmfair.comparison.result import Comparison
    from fmfair.counting.count import counts
    from fmfair.counting.evaluation import evaluate_counts
    from fmfair.counting.merging import merge_counts
    from fmfair.dice_scalars import dice_gap, dice_skewness, dice_std, equity_scaled_dice, worst_group_dice
    from fmfair.errors import FmfairError
    from fmfair.evaluation import evaluate
    from fmfair.notebook import connect
    from fmfair.options import Bootstrap
    from fmfair.report import Report
    from fmfair.segmentation import evaluate_segmentation

__all__ = [
    "Bootstrap",
    "Comparison",
    "FmfairError",
    "Report",
    "accuracy_gap",
    "auc_gap",
    "bce_gap",
    "compare",
    "connect",
    "counts",
    "dice_gap",
    "dice_skewness",
    "dice_std",
    "ece_gap",
    "equal_opportunity_difference",
    "equalized_odds_score",
    "equity_scaled_dice",
    "evaluate",
    "evaluate_arrays",
    "evaluate_counts",
    "evaluate_segmentation",
    "merge_counts",
    "metrics",
    "worst_group_auc",
    "worst_group_dice",
]

# Where the names come from. They are imported when first used, so that `import fmfair` costs next to nothing, also for
# the command line; the functions on one number live in `dice_scalars` or `class_scalars`, by their names.
_HOMES = {
    "Bootstrap": "options",
    "Comparison": "comparison.result",
    "compare": "comparison.compare",
    "connect": "notebook",
    "FmfairError": "errors",
    "Report": "report",
    "counts": "counting.count",
    "evaluate": "evaluation",
    "evaluate_arrays": "array_api",
    "evaluate_counts": "counting.evaluation",
    "evaluate_segmentation": "segmentation",
    "merge_counts": "counting.merging",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'fmfair' has no attribute {name!r}")
    if name == "metrics":
        return import_module("fmfair.metrics")
    home = _HOMES.get(name, "dice_scalars" if "dice" in name else "class_scalars")
    value = getattr(import_module(f"fmfair.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
