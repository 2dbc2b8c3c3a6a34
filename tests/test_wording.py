"""The sentences of the page: the table of what to write, and that none says more than the numbers do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmfair import numerals
from fmfair.metrics.registry import REGISTRY
from fmfair.page import gap_wording, wording
from fmfair.page.gap_wording import Gap

# Verdicts, and words that make of a failure to show a difference a proof that there is none.
BANNED = re.compile(
    r"\b(un)?fair(ly|ness)?\b|\bbias(ed)?\b|\bequal(ly|s|ity)?\b|\bcomparable\b|\bsignifican(t|ce|tly)\b|discriminat|"
    r"\btrend(s|ed)?\b|numerically|\bsafe\b|\bcompliant\b|(?-i:\bNaN\b|\bNone\b)|\binf(inity)?\b|\bnull\b",
    re.IGNORECASE,
)

VIEW = Gap(
    *("tpr", 0.22005, (0.0845, 0.34473), 0.95, ("AP", 0.3608), ("PA", 0.5809)),
    counts=(97, 141),
    denominator="n_pos",
    chance=0.046,
    p=0.0015,
)
SEX = Gap(
    *("tpr", 0.0402, (0.0, 0.174), 0.95, ("F", 0.4364), ("M", 0.4766)),
    counts=(110, 128),
    denominator="n_pos",
    p=0.56,
    signed=(-0.174, 0.0954),
)
SITES = Gap(
    *("auc", 0.081, (0.021, 0.139), 0.95, ("north", 0.741), ("south", 0.822)),
    n_groups=5,
    counts=(41, 60),
    denominator="n_pos",
    chance=0.0312,
    p=0.004,
)

SITUATIONS = {
    "interval includes 0": (
        gap_wording.gap(replace(SEX, signed=None)),
        (
            "No difference in sensitivity was shown between F (44%) and M (48%); 110 and 128 positives. "
            "Differences up to 17 percentage points (95% interval) cannot be ruled out."
        ),
    ),
    "interval includes 0, within the margin": (
        gap_wording.gap(replace(SEX, limits=(0.0, 0.0241), margin=0.05, signed=None)),
        (
            "No difference in sensitivity was shown between F (43.6%) and M (47.7%); 110 and 128 positives. A "
            "difference larger than 2.4 percentage points (95% interval) is excluded; the margin is 5 percentage "
            "points."
        ),
    ),
    "interval leaves out 0": (
        gap_wording.gap(VIEW),
        (
            "Sensitivity was lower in AP (36%) than in PA (58%) by 22 percentage points (95% interval 8 to 34; p "
            "= 0.0015; 97 and 141 positives)."
        ),
    ),
    "interval beyond the margin": (
        gap_wording.gap(replace(VIEW, margin=0.05)).partition(". ")[2],
        "The whole interval lies beyond the margin of 5 percentage points.",
    ),
    "interval across the margin": (
        gap_wording.gap(replace(VIEW, margin=0.125)).partition(". ")[2],
        "Whether it exceeds the margin of 12.5 percentage points, the data cannot tell.",
    ),
    "interval leaves out 0, within the margin": (
        gap_wording.gap(replace(VIEW, margin=0.4)).partition(". ")[2],
        "The whole interval lies within the margin of 40 percentage points.",
    ),
    "interval beyond the margin on both sides": (
        gap_wording.gap(replace(SEX, margin=0.05)),
        (
            "The data cannot tell: against M (48%), sensitivity in F (44%) may be from 17 lower to 10 percentage "
            "points higher (95% interval; 110 and 128 positives); the margin is 5 percentage points."
        ),
    ),
    "several groups, shown": (
        gap_wording.gap(SITES),
        (
            "AUC was lowest in north (0.74) and highest in south (0.82). The largest gap of 5 groups was 0.08 "
            "(95% interval 0.02 to 0.14; p = 0.0040; 41 and 60 positives); a gap of 0.03 is expected by chance at "
            "these sizes."
        ),
    ),
    "several groups, not shown": (
        gap_wording.gap(replace(SITES, limits=(0.0, 0.139), p=0.11)),
        (
            "No difference in AUC was shown; it was lowest in north (0.74) and highest in south (0.82). The "
            "largest gap of 5 groups was 0.08 (95% interval 0.00 to 0.14; p = 0.11; 41 and 60 positives); a gap "
            "of 0.03 is expected by chance at these sizes. Differences up to 0.14 (95% interval) cannot be ruled "
            "out."
        ),
    ),
    "pre-specified": (wording.pre_specified(6), "Pre-specified, 6 comparisons, adjusted by Holm's method."),
    "no interval": (
        gap_wording.gap(replace(VIEW, limits=None)),
        (
            "Sensitivity differed most between AP (36.1%) and PA (58.1%), by 22.0 percentage points (97 and 141 "
            "positives); without an interval this cannot be told from chance."
        ),
    ),
    "no gap": (
        gap_wording.not_compared("auc", "1 of 2 groups can be compared: no positives"),
        "AUC was not compared: 1 of 2 groups can be compared: no positives.",
    ),
    "too small": (wording.too_few(7, "n_pos"), "7 positives: counts only."),
    "undefined": (wording.undefined("no positives"), "not defined: no positives"),
    "suppressed": (wording.undefined("suppressed"), "suppressed"),
    "exploratory": (wording.exploratory(12, 0.1), "Exploratory, 12 comparisons, screen at q = 0.10."),
    "p value": (numerals.p_text(0.0004), "p < 0.001"),
    "tuned threshold": (
        wording.tuned(0.35241, "best_f1"),
        "Threshold 0.3524 was chosen on these labels (for the best F1); rates are optimistic.",
    ),
    "model comparison": (
        wording.model_difference("tpr", ("A", "B"), (-0.031, -0.062, 0.002), 0.95),
        "A minus B, same patients: sensitivity -3.1 percentage points (95% interval -6.2 to 0.2).",
    ),
    "share below 100": (wording.share(0.8, 0.4902, 0.9433, 10, "n_pos"), "8 of 10 (80%; 49 to 94)"),
    "share from 100": (wording.share(0.8, 0.7628, 0.8327, 500, "n_pos"), "80.0% (76.3 to 83.3; 500 positives)"),
    "per 1,000": (
        wording.of_a_thousand(0.1, (0.8, 0.71, 0.87), (0.9, None, None)),
        "Of 1,000 such patients with 100 cases, the model finds 80 (71 to 87), misses 20 and wrongly flags 90.",
    ),
    "per 10,000 where cases are rare": (
        wording.of_a_thousand(0.002, (0.5, None, None), (0.99, None, None), "image"),
        "Of 10,000 such images with 20 cases, the model finds 10, misses 10 and wrongly flags 100.",
    ),
    "a group that is too small": (
        gap_wording.gap(replace(VIEW, counts=(8, 141), p=None)),
        (
            "Sensitivity was lower in AP (8 positives: counts only) than in PA (58%) by 22 percentage points (95% "
            "interval 8 to 34; 8 and 141 positives)."
        ),
    ),
    "names that are no plain text": (
        gap_wording.gap(replace(VIEW, worst=("a\nb", 0.36), best=("", 0.58))).partition(" by ")[0],
        'Sensitivity was lower in a\\nb (36%) than in "" (58%)',
    ),
    "no gap at all": (
        gap_wording.gap(replace(SITES, value=0.0, limits=(0.0, 0.05), best=("north", 0.741), chance=None, p=1.0)),
        (
            "No difference in AUC was shown; it was 0.741 in every group. The largest gap of 5 groups was 0.000 "
            "(95% interval 0.000 to 0.050; p > 0.99; 41 and 60 positives). Differences up to 0.050 (95% interval) "
            "cannot be ruled out."
        ),
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_situation_has_its_sentence(situation: str) -> None:
    said, expected = SITUATIONS[situation]
    assert said == expected


def test_where_lower_is_better_the_worst_group_is_the_higher() -> None:
    worse = Gap("brier", 0.06, (0.01, 0.11), 0.95, ("north", 0.21), ("south", 0.15), counts=(80, 90), rows="image")
    assert gap_wording.gap(worse) == (
        "Brier score was higher in north (0.21) than in south (0.15) by 0.06 (95% interval 0.01 to 0.11; 80 and 90 "
        "images)."
    )


def test_a_difference_as_large_as_the_margin_is_not_excluded() -> None:
    at_the_margin = replace(SEX, limits=(0.0, 0.05), margin=0.05, signed=None)
    assert "cannot be ruled out" in gap_wording.gap(at_the_margin)
    assert "is excluded" in gap_wording.gap(replace(at_the_margin, margin=0.0501))


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "p < 0.001"),
        (0.001, "p = 0.0010"),
        (0.00994, "p = 0.0099"),
        (0.00996, "p = 0.010"),
        (0.0994, "p = 0.099"),
        (0.0996, "p = 0.10"),
        (0.99, "p = 0.99"),
        (1.0, "p > 0.99"),
    ],
)
def test_p_values_have_two_digits(p: float, text: str) -> None:
    assert numerals.p_text(p) == text


@pytest.mark.parametrize(
    ("metric", "numbers", "width", "texts"),
    [
        ("tpr", [0.1234], None, ["12.3"]),
        ("tpr", [0.1234], 0.1, ["12"]),
        ("tpr", [0.1234], 0.09, ["12.3"]),
        ("auc", [0.1234], 0.3, ["0.12"]),
        ("tpr", [0.004, 0.3], 0.296, ["0.4", "30.0"]),  # 0 would read as if the interval included it
        ("tpr", [0.996], 0.2, ["99.6"]),
        ("tpr", [0.0004], 0.2, ["below 0.1"]),
        ("tpr", [0.9996], 0.2, ["above 99.9"]),
        ("auc", [-0.0001, 0.0, 1.0], 0.2, ["above -0.001", "0.000", "1.000"]),
        ("bce", [1.00002], None, ["below 1.001"]),
    ],
)
def test_digits_are_those_that_the_interval_supports(
    metric: str, numbers: list[float], width: float | None, texts: list[str]
) -> None:
    assert numerals.figures(metric, numbers, width) == texts


def test_metrics_are_named_without_their_other_names() -> None:
    assert all("(" not in numerals.spoken(name) or "partial" in name or "ece" in name for name in REGISTRY)


names = st.sampled_from(["F", "M", "AP", "<40", ">=60", "", "not recorded", "<script>", "a\x00b", "1.5"])
metrics = st.sampled_from([m.name for m in REGISTRY.values() if m.family != "count"])
shares = st.floats(0, 1)
counts = st.one_of(st.none(), st.integers(0, 10**7))
maybe = st.one_of(st.none(), shares)


@st.composite
def gaps(draw: st.DrawFn) -> Gap:
    worst, best = draw(shares), draw(shares)
    value = abs(worst - best)
    limits = (draw(st.floats(0, value)), draw(st.floats(value, 1)))
    return Gap(
        *(draw(metrics), value, draw(st.sampled_from([None, limits])), draw(st.sampled_from([None, 0.95, 0.9]))),
        *((draw(names), worst), (draw(names), best), draw(st.integers(2, 30)), (draw(counts), draw(counts))),
        *(draw(st.sampled_from(["n", "n_pos", "n_neg", "n_pred_pos"])), draw(st.sampled_from(["row", "image"]))),
        *(draw(maybe), draw(maybe), draw(maybe)),
        signed=draw(st.sampled_from([None, (-limits[1], limits[0])])),
    )


def check(sentence: str) -> None:
    """No verdict, no missing value, and no more digits than a reader may rely on."""
    assert not BANNED.search(sentence), sentence
    for number in re.findall(r"\d[\d,]*\.\d+(?=%| percentage)", sentence):
        assert len(number.partition(".")[2]) == 1 or "margin" in sentence, sentence
    for number in re.findall(r"(?<![<>=\d.])\b\d+\.\d+", re.sub(r"p = \d\.\d+|margin (is|of) [\d.e-]+", "", sentence)):
        assert len(number.partition(".")[2]) <= 3, sentence
    assert "  " not in sentence
    assert ".." not in sentence


@given(gaps())
def test_no_sentence_on_a_gap_says_more_than_the_numbers(of: Gap) -> None:
    sentence = gap_wording.gap(of)
    check(sentence)
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    # whoever reads that a difference was shown reads an interval that does not begin at 0
    if of.limits is not None and of.limits[0] > 0:
        assert "No difference" not in sentence
        assert "interval 0 to" not in sentence
        assert "interval 0.0" not in sentence or re.search(r"interval 0\.0\d*[1-9]", sentence)
    elif of.limits is not None:
        assert "No difference" in sentence or "cannot tell" in sentence
        assert "was lower in" not in sentence


@given(metrics, shares, maybe, maybe, counts, st.sampled_from(["n_pos", "n", "image"]))
def test_no_sentence_on_a_value_says_more_than_the_numbers(
    metric: str, number: float, low: float | None, high: float | None, count: int | None, of: str
) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    check(wording.value(metric, number, low, high, 0.95))
    check(wording.share(number, low, high, count or 0, of))
    check(wording.model_difference(metric, ("A", "B"), (number - 0.5, low, high), 0.95))
    check(wording.exploratory(count or 0, low))
    check(wording.of_a_thousand(number, (number, low, high), (number, low, high)))
    check(wording.too_few(count or 0, of))


@given(st.floats(0, 1), shares, shares)
def test_those_found_and_missed_are_the_cases(prevalence: float, sensitivity: float, specificity: float) -> None:
    sentence = wording.of_a_thousand(prevalence, (sensitivity, None, None), (specificity, None, None))
    size, cases, found, missed, flagged = (int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", sentence))
    assert found + missed == cases
    assert flagged <= size - cases
