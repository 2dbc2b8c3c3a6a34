"""What the engines say of the numbers that they find, in the same words whichever engine runs."""

from __future__ import annotations

import polars as pl

from fmfair.notes import Notes
from fmfair.options import Options, Threshold, as_number
from fmfair.scores import ScoreScale


def wanted_thresholds(
    options: Options, scale: ScoreScale | None, *, decided: bool, notes: Notes
) -> tuple[Threshold, ...]:
    """The thresholds asked for, or the default ones; none where scores are no probabilities or decisions are given."""
    wanted = options.thresholds
    if not wanted and not decided and scale is not None and scale.is_probability:
        wanted = options.conventions.thresholds
    for rule in (w for w in wanted if isinstance(w, str) and as_number(w) is None):
        notes.say(f"threshold {rule}: tuned on these labels, so the rates at it are optimistic")
    return wanted


def note_one_sided(confusion: pl.DataFrame, n_by: int, notes: Notes) -> None:
    """Says at which cuts everybody is called the same, so that every rate is 0 or 1 and every gap 0.

    Args:
        confusion: The counts of all rows of every by-key, as from `confusion.confusion_at`.
        n_by: How many by-keys there are.
        notes: Takes the sentences.
    """
    called, passed = pl.col("tp") + pl.col("fp"), pl.col("fn") + pl.col("tn")
    for which, others, some in (("no", called, passed), ("every", passed, called)):
        alike = confusion.filter((others == 0) & (some > 0))
        if alike.height:
            cuts = pl.coalesce(pl.format("threshold {}", pl.col("threshold").round_sig_figs(4)), "threshold_rule")
            names = alike.select(cuts.unique(maintain_order=True)).to_series().to_list()
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            where = f" (in {alike['cell'].n_unique()} of {n_by} by-keys)" if n_by > 1 else ""
            notes.warn(
                f"{', '.join(names[:3])}{more}: {which} sample is called positive{where}, so that gaps of 0 say nothing"
            )
