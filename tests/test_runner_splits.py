"""Splits: whole patients, stable, seeded, balanced; and the published rule beside scikit-learn's own call."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from sklearn.model_selection import train_test_split

from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.runners.shares import shared_out
from fmfair.runners.splits import drawn, groups_of, split_as_fairmedfm, split_by_patient
from fmfair.runners.tables import SPLITS

RATIOS = st.sampled_from([(0.7, 0.1, 0.2), (0.8, 0.0, 0.2), (0.5, 0.25, 0.25), (0.0, 0.0, 1.0), (6.0, 2.0, 2.0)])


@st.composite
def data_sets(draw: st.DrawFn, most_images: int = 4) -> pl.DataFrame:
    images = draw(st.lists(st.integers(1, most_images), min_size=3, max_size=60))
    patients = [f"p{n}" for n, count in enumerate(images) for _ in range(count)]
    people = {p: (draw(st.sampled_from("FM")), draw(st.integers(18, 90))) for p in dict.fromkeys(patients)}
    return pl.DataFrame(
        {
            "sample_id": [f"i{n}" for n in range(len(patients))],
            "patient_id": patients,
            "sex": [people[p][0] for p in patients],
            "age": [float(people[p][1]) for p in patients],
            "label": draw(st.lists(st.sampled_from([0, 1, None]), min_size=len(patients), max_size=len(patients))),
        },
        schema_overrides={"label": pl.Int8},
    )


def by_sample(table: pl.DataFrame, split: pl.Series) -> dict[str, str]:
    return dict(zip(table["sample_id"], split, strict=True))


@given(data_sets(), RATIOS, st.integers(0, 5), st.sampled_from([(), ("sex",), ("sex", "label"), ("age",)]))
@examples(60)
def test_a_patient_is_in_one_split_whatever_the_order_of_rows(
    table: pl.DataFrame, ratio: tuple[float, float, float], seed: int, balance: tuple[str, ...]
) -> None:
    split = split_by_patient(table, ratio=ratio, seed=seed, balance=balance)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)

    assert table.with_columns(split).group_by("patient_id").agg(pl.col("split").n_unique())["split"].max() == 1
    assert {SPLITS[i] for i in range(3) if ratio[i] > 0} == set(split)
    again = split_by_patient(shuffled, ratio=ratio, seed=seed, balance=balance)
    assert by_sample(shuffled, again) == by_sample(table, split)


@given(st.integers(10, 300), RATIOS, st.integers(0, 3))
@examples(60)
def test_each_split_gets_its_share_of_patients(count: int, ratio: tuple[float, float, float], seed: int) -> None:
    table = pl.DataFrame({"patient_id": [str(n) for n in range(count)]})

    counts = Counter(split_by_patient(table, ratio=ratio, seed=seed))

    for name, share in zip(SPLITS, ratio, strict=True):
        assert abs(counts[name] - count * share / sum(ratio)) <= 1
        assert (counts[name] > 0) == (share > 0)


@given(data_sets(most_images=1), st.integers(0, 3))
@examples(40)
def test_balanced_splits_share_out_every_combination(table: pl.DataFrame, seed: int) -> None:
    """With one image a patient each combination is shared out to less than one image, but for filling empty splits."""
    split = split_by_patient(table, ratio=(0.5, 0.25, 0.25), seed=seed, balance=("sex", "label"))

    for _, cell in table.with_columns(split).group_by("sex", "label"):
        for name, share in zip(SPLITS, (0.5, 0.25, 0.25), strict=True):
            assert abs(cell.filter(pl.col("split") == name).height - share * cell.height) <= 1 + (table.height < 12)


def nearest(groups: list[int], shares: tuple[float, ...]) -> float:
    """How near to the ratio, in squares, the splits can come where each group is within one patient of its share."""
    reached = {(0,) * len(shares)}
    for count in groups:
        either = [{math.floor(share * count + 1e-9), math.ceil(share * count - 1e-9)} for share in shares]
        found = [counts for counts in product(*either) if sum(counts) == count]
        reached = {tuple(a + b for a, b in zip(r, counts, strict=True)) for r in reached for counts in found}
    return min(off(counts, shares) for counts in reached)


def off(counts: tuple[int, ...], shares: tuple[float, ...]) -> float:
    return sum((count - share * sum(counts)) ** 2 for count, share in zip(counts, shares, strict=True))


@given(
    st.lists(st.integers(1, 9), min_size=3, max_size=9).filter(lambda groups: sum(groups) >= 12),
    st.sampled_from([(0.5, 0.25, 0.25), (0.7, 0.1, 0.2), (0.8, 0.2), (0.6, 0.3, 0.1), (1 / 3, 1 / 3, 1 / 3)]),
    st.randoms(use_true_random=False),
)
@examples(100)
def test_all_together_are_as_near_to_the_ratio_as_groups_within_one_patient_can_be(
    groups: list[int], shares: tuple[float, ...], random: Random
) -> None:
    order = random.sample(range(sum(groups)), sum(groups))
    of_patient = [group for group, count in enumerate(groups) for _ in range(count)]

    split = shared_out(order, [[(group, 1.0)] for group in of_patient], shares)

    counts = tuple(split.count(s) for s in range(len(shares)))
    assert off(counts, shares) == pytest.approx(nearest(groups, shares))
    assert all(abs(count - share * len(split)) < 1 for count, share in zip(counts, shares, strict=True))
    for group, count in enumerate(groups):
        here = Counter(s for s, g in zip(split, of_patient, strict=True) if g == group)
        assert all(abs(here[s] - share * count) < 1 for s, share in enumerate(shares))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), min_size=12, max_size=60),
    st.sampled_from([(0.5, 0.25, 0.25), (0.7, 0.1, 0.2), (0.8, 0.2)]),
)
@examples(100)
def test_patients_of_several_images_leave_groups_and_all_together_within_one_patient(
    patients: list[tuple[int, int]], shares: tuple[float, ...]
) -> None:
    split = shared_out(range(len(patients)), [[(group, float(images))] for group, images in patients], shares)

    for groups in (*({group} for group, _ in patients), {group for group, _ in patients}):
        some = [(s, images) for s, (group, images) in zip(split, patients, strict=True) if group in groups]
        images, largest = sum(n for _, n in some), max(n for _, n in some)
        for s, share in enumerate(shares):
            assert abs(sum(n for found, n in some if found == s) - share * images) < largest + (
                images * share < largest
            )


def test_what_groups_are_rounded_by_is_carried_from_one_to_the_other() -> None:
    groups = ["F0", "F1", "M0", "M1"]
    table = pl.DataFrame({"patient_id": [f"{n // 2}" for n in range(24)], "group": [groups[n // 6] for n in range(24)]})

    assert Counter(split_by_patient(table, ratio=(0.5, 0.25, 0.25), balance=["group"])) == {
        "train": 12,
        "validation": 6,
        "test": 6,
    }


@given(st.integers(1, 5), st.integers(0, 3), st.sampled_from([(), ("sex",)]), st.booleans())
@examples(60)
def test_few_patients_fill_every_split_or_are_refused(
    count: int, seed: int, balance: tuple[str, ...], with_giant: bool
) -> None:
    """Each split gets a patient, whole, even where one has nearly all images and each group but one has one patient."""
    images = [1000 if with_giant and n == 0 else 1 + n % 2 for n in range(count)]
    patients = [f"p{n}" for n, many in enumerate(images) for _ in range(many)]
    sexes = ["F" if patient == "p0" else "M" for patient in patients]
    table = pl.DataFrame({"patient_id": patients, "sex": sexes})

    if count < 3:
        with pytest.raises(FmfairError, match="cannot be shared out over 3 splits; give those that you can do without"):
            split_by_patient(table, seed=seed, balance=balance)
    for ratio in [
        (0.0, 0.0, 1.0),
        *([(0.5, 0.0, 0.5)] if count > 1 else []),
        *([(0.7, 0.1, 0.2)] if count > 2 else []),
    ]:
        split = split_by_patient(table, ratio=ratio, seed=seed, balance=balance)
        assert set(split) == {name for name, share in zip(SPLITS, ratio, strict=True) if share}
        assert table.with_columns(split).group_by("patient_id").agg(pl.col("split").n_unique())["split"].max() == 1


def test_a_giant_patient_goes_where_most_images_are_wanted_and_the_others_fill_up_the_rest() -> None:
    images = {"giant": 700, **{f"p{n}": 1 for n in range(300)}}
    patients = [patient for patient, count in images.items() for _ in range(count)]
    table = pl.DataFrame({"patient_id": patients, "sex": "F"})

    counted = Counter(split_by_patient(table, balance=["sex"]))

    assert counted == {"train": 700, "validation": 100, "test": 200}


@pytest.mark.parametrize("seed", range(4))
def test_a_group_of_one_patient_is_for_training_and_leaves_the_shares_of_the_others_as_they_are(seed: int) -> None:
    table = pl.DataFrame({"patient_id": [str(n) for n in range(61)], "race": ["rare"] + ["common"] * 60})

    split = split_by_patient(table, seed=seed, balance=["race"])

    assert split[0] == "train"
    assert Counter(split[1:]) == {"train": 42, "validation": 6, "test": 12}


def test_no_rows_are_refused_and_numbers_that_are_none_are_a_missing_group() -> None:
    with pytest.raises(FmfairError, match="0 patients cannot be shared out"):
        split_by_patient(pl.DataFrame({"patient_id": []}, schema={"patient_id": pl.String}))
    assert groups_of(pl.Series("age", [math.nan, None, 60.0, math.inf])).to_list() == [
        *("missing", "missing"),
        *("60-80", ">=80"),
    ]


def test_another_seed_gives_other_splits() -> None:
    table = pl.DataFrame({"patient_id": [str(n) for n in range(200)]})

    found = [tuple(split_by_patient(table, seed=seed)) for seed in (0, 0, 1, 2, 3)]

    assert found[0] == found[1]
    assert len(set(found)) == 4
    for splits in found:  # of neighbours as many are parted as by lot: 2 * 0.7 * 0.3 of 199
        assert 65 < sum((a == "train") != (b == "train") for a, b in pairwise(splits)) < 105


def test_the_shares_of_rare_groups_come_near_the_ratio_with_many_images_a_patient() -> None:
    random = np.random.default_rng(0)
    patients = random.integers(0, 400, 1500)
    rare = random.random(400) < 0.05
    table = pl.DataFrame({"patient_id": [f"{p}" for p in patients], "race": np.where(rare[patients], "rare", "common")})

    split = split_by_patient(table, balance=["race"])

    shares = table.with_columns(split).group_by("race").agg((pl.col("split") == "test").mean())
    assert shares["split"].to_list() == pytest.approx([0.2, 0.2], abs=0.02)


def test_many_combinations_of_one_patient_each_do_not_all_go_to_one_split() -> None:
    table = pl.DataFrame({"patient_id": [str(n) for n in range(40)], "race": [f"race {n}" for n in range(40)]})

    assert Counter(split_by_patient(table, ratio=(1, 0, 1), balance=["race"])) == {"train": 20, "test": 20}


def test_ages_are_balanced_between_their_cut_points_and_exactly_sixty_is_in_the_older_group() -> None:
    ages = pl.Series("age", [59.9, 60.0, 79.0, 80.0, 17.0, None])

    assert groups_of(ages).to_list() == ["40-60", "60-80", "60-80", ">=80", "<18", "missing"]
    assert groups_of(ages, [60]).to_list() == ["<60", ">=60", ">=60", ">=60", "<60", "missing"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ratio": (0.8, 0.2)}, "must be three shares"),
        ({"ratio": (0.8, -0.1, 0.3)}, "must be three shares"),
        ({"ratio": (0.8, math.nan, 0.2)}, "must be three shares"),
        ({"ratio": (0, 0, 0)}, "must be three shares"),
        ({"balance": ["sexx"]}, r"no column 'sexx' \(balance=\); did you mean 'sex'\?"),
        ({"balance": ["weight"]}, r"'weight' holds many numbers; give its cut points: bins=\{'weight'"),
        ({"balance": ["sex"], "bins": {"sex": [1]}}, "'sex' needs cut points and numbers"),
        ({"balance": ["weight"], "bins": {"weight": []}}, "'weight' needs cut points and numbers"),
    ],
)
def test_what_cannot_be_split_is_refused(options: dict[str, object], expected: str) -> None:
    table = pl.DataFrame({"patient_id": [str(n) for n in range(40)], "sex": "F", "weight": np.arange(40) / 3})

    with pytest.raises(FmfairError, match=expected):
        split_by_patient(table, **options)  # type: ignore[arg-type]


def test_there_must_be_enough_patients_and_each_must_be_known() -> None:
    with pytest.raises(FmfairError, match="2 patients cannot be shared out over 3 splits"):
        split_by_patient(pl.DataFrame({"patient_id": ["a", "b", "b", "b"]}))
    with pytest.raises(FmfairError, match="patient_id is missing in 1 row"):
        split_by_patient(pl.DataFrame({"patient_id": ["a", None, "b"]}))


@pytest.mark.parametrize(("count", "size"), [(5, 1), (17, 3), (122, 24), (5631, 873)])
def test_the_draw_is_that_of_scikit_learn(count: int, size: int) -> None:
    ids = np.array([f"I{n:05}" for n in range(count)])

    _, test = train_test_split(ids, test_size=size, random_state=0)

    assert ids[drawn(count, size)].tolist() == test.tolist()


def published(ids: pl.Series, sex: pl.Series) -> dict[str, str]:
    """The published rule with scikit-learn's own call."""
    by_sex = [np.unique(ids.filter(sex == value).to_numpy()) for value in ("F", "M")]
    size = min(int(0.2 * len(by_sex[0])), int(0.2 * len(by_sex[1])))
    found: dict[str, str] = {}
    for group in by_sex:
        train, test = train_test_split(group, test_size=size, random_state=0)
        found |= dict.fromkeys(train.tolist(), "train") | dict.fromkeys(test.tolist(), "test")
    return found


def test_the_published_rule_by_hand() -> None:
    """Ten men and five women: one of each, as a fifth of five, and each time the third of the sorted ids."""
    women = [(f"w{n}", f"w{n}", "F") for n in (4, 0, 3, 2, 1)]
    men = [(f"m{n}", f"m{n // 5}", "M") for n in (9, 8, 7, 6, 5, 0, 1, 2, 3, 4)]
    table = pl.DataFrame([*men, *women], schema=["sample_id", "patient_id", "sex"], orient="row")
    notes = Notes()

    split = by_sample(table, split_as_fairmedfm(table, notes))

    assert [sample for sample, name in split.items() if name == "test"] == ["m2", "w2"]
    assert Counter(split.values()) == {"train": 13, "test": 2}
    assert "1 of 7 patients here are in both" in notes.warnings[0]  # m0, whose images are m0 to m4


@given(data_sets().filter(lambda t: min(t["sex"].value_counts()["count"]) >= 5 and t["sex"].n_unique() == 2))
@examples(25)
def test_the_published_rule_is_repeated(table: pl.DataFrame) -> None:
    split = split_as_fairmedfm(table, Notes())

    assert by_sample(table, split) == published(table["sample_id"], table["sex"])


@pytest.mark.parametrize(
    ("name", "women", "men", "test"),
    [("FairVLMed10k", 5631, 4369, 1746), ("COVID-CT-MD", 122, 183, 48), ("ADNI", 261, 289, 104)],
)
def test_the_published_sizes_of_tests_are_reached(name: str, women: int, men: int, test: int) -> None:
    ids = [f"{name}{n:05}" for n in range(women + men)]
    table = pl.DataFrame({"sample_id": ids, "patient_id": ids, "sex": ["F"] * women + ["M"] * men})

    assert (split_as_fairmedfm(table, Notes()) == "test").sum() == test


def test_the_published_rule_says_whom_it_puts_on_both_sides_and_leaves_out_who_has_no_sex() -> None:
    people = [(f"i{n:02}", f"p{n // 2}", "FM"[n // 2 % 2]) for n in range(40)] + [("i99", "p99", None)]
    table = pl.DataFrame(people, schema=["sample_id", "patient_id", "sex"], orient="row")
    notes = Notes()

    split = split_as_fairmedfm(table, notes)

    both = table.with_columns(split).drop_nulls("split").group_by("patient_id").agg(pl.col("split").n_unique())
    count = both.filter(pl.col("split") == 2).height
    assert count > 0
    assert split.to_list()[-1] is None
    assert f"{count} of 20 patients here are in both" in notes.warnings[0]


def test_the_published_rule_needs_two_sexes() -> None:
    ids = [str(n) for n in range(10)]
    table = pl.DataFrame({"sample_id": ids, "patient_id": ids, "sex": ["F"] * 5 + ["M"] * 5})

    with pytest.raises(FmfairError, match="no column 'sex'"):
        split_as_fairmedfm(table.drop("sex"), Notes())
    with pytest.raises(FmfairError, match="'sex' has 1"):
        split_as_fairmedfm(table.head(5), Notes())
    with pytest.raises(FmfairError, match="five images of each sex"):
        split_as_fairmedfm(table.head(9), Notes())
