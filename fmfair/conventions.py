"""The two sets of conventions: fmfair's own, and those that reproduce the published FairMedFM numbers."""

from __future__ import annotations

from dataclasses import dataclass

from fmfair.errors import check_choice


@dataclass(frozen=True)
class Conventions:
    """What differs between the two sets, as data; the README's Semantics section says each in words."""

    name: str
    # A sample is called positive when score > threshold, not >=.
    strict: bool
    # A rule such as best_f1 picks its threshold per attribute, on the rows with that attribute, not once per by-key.
    threshold_per_attribute: bool
    # 1e-8 in the denominator of the F1 that is searched, from precision and recall.
    smoothed_f1: bool
    # ECE bins span each group's own scores (right-closed), not [0, 1] (left-closed).
    ece_on_group_range: bool
    # AUC is computed on the probabilities, saturated or not, not on the logits.
    rank_on_probability: bool
    # A group with one class is left out of every metric and gap, not only of those undefined there.
    skip_one_class_groups: bool
    # An attribute with fewer than two usable groups has no worst and no best group, and an empty row in the summary.
    empty_below_two_groups: bool
    # The input is taken as the package takes it. Missing labels and scores are an error whatever missing_labels= and
    # missing_scores= say, and weights are not supported; repeated sample ids and nearly distinct attributes are not
    # looked at; ages are not cut unasked, 20 distinct numbers are the limit for any attribute, and groups are in its
    # order; scores outside [0, 1] are logits, and so are class columns whose rows do not sum to 1.
    strict_input: bool
    # Bin edges are printed with this many significant digits; None for as many as tell them apart.
    edge_digits: int | None
    # The thresholds where none are named.
    thresholds: tuple[float | str, ...]

    @property
    def decision(self) -> str:
        """The decision rule as the report prints it."""
        return self.decision_on("y_score")

    def decision_on(self, score: str) -> str:
        """The decision rule on something else than the score itself, such as its sigmoid."""
        return f"{score} {'>' if self.strict else '>='} threshold"


STANDARD = Conventions(
    name="standard",
    strict=False,
    threshold_per_attribute=False,
    smoothed_f1=False,
    ece_on_group_range=False,
    rank_on_probability=False,
    skip_one_class_groups=False,
    empty_below_two_groups=False,
    strict_input=False,
    edge_digits=None,
    thresholds=(0.5,),
)

FAIRMEDFM = Conventions(
    name="fairmedfm",
    strict=True,
    threshold_per_attribute=True,
    smoothed_f1=True,
    ece_on_group_range=True,
    rank_on_probability=True,
    skip_one_class_groups=True,
    empty_below_two_groups=True,
    strict_input=True,
    edge_digits=4,
    thresholds=(0.5, "best_f1"),
)

_BY_NAME = {c.name: c for c in (STANDARD, FAIRMEDFM)}


def conventions_named(name: str) -> Conventions:
    """The conventions of that name; an error lists the names there are."""
    check_choice("conventions", name, _BY_NAME)
    return _BY_NAME[name]
