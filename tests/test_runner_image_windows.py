"""Deep grey levels to 8 bits, beside the rules of the published pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fmfair.runners.images import ImageError, Picture
from fmfair.runners.images.windowing import Window8

Values = npt.NDArray[Any]
RNG = np.random.default_rng(11)
DEEP = RNG.integers(0, 4096, (40, 50), dtype=np.uint16)


def grey(values: Values, said: str = "", **kept: Any) -> Values:
    picture = Window8.of(said.split(":") if said else [])(Picture.of(values, **kept))
    assert (picture.window, picture.inverted, picture.pixels.dtype.name) == (None, False, "uint8")
    return picture.pixels


def remapped(values: Values, percentiles: tuple[float, float] | None = None) -> Values:
    """BioViL's rule: from the lowest value to the highest, or between two percentiles, then a cast."""
    values = values.astype(float)
    if percentiles is not None:
        values = np.clip(values, *np.percentile(values, percentiles))
    values -= values.min()
    values /= values.max()
    return (values * 255).astype(np.uint8)


@pytest.mark.parametrize("values", [DEEP, DEEP.astype(np.int16) - 2000, RNG.normal(size=(9, 9)).astype(np.float32)])
def test_minmax_and_percentiles_are_those_of_biovil(values: Values) -> None:
    assert grey(values, "minmax").tolist() == remapped(values).tolist() == grey(values).tolist()
    assert grey(values, "percentiles:1:99.5").tolist() == remapped(values, (1, 99.5)).tolist()


def test_eight_bits_are_stretched_only_where_that_is_said() -> None:
    dull = np.array([[50, 60, 150]], np.uint8)

    assert grey(dull).tolist() == dull.tolist()
    assert grey(dull, "minmax").tolist() == remapped(dull).tolist()
    assert grey(dull, window=(50, 150)).tolist() == [[0, 25, 255]]
    assert grey(dull, "type").tolist() == dull.tolist()


def test_windows_are_those_of_the_benchmark() -> None:
    hounsfield = RNG.integers(-2000, 1000, (30, 30)).astype(np.int16)
    clipped = np.clip(hounsfield.astype(np.float64), -1250, 250)
    assert grey(hounsfield, "window:-1250:250").tolist() == ((clipped + 1250) / 1500 * 255).astype(np.uint8).tolist()

    thickness = RNG.uniform(-2, 350, (20, 20)).astype(np.float32)
    expected = ((thickness.astype(np.float64) + 2) / 352 * 255).astype(np.uint8)
    assert grey(thickness, window=(-2, 350)).tolist() == expected.tolist()


def test_the_window_of_the_picture_goes_before_its_range_and_one_that_is_said_before_both() -> None:
    values = np.array([[0, 100, 200, 300]], np.uint16)

    assert grey(values, window=(100, 200)).tolist() == [[0, 0, 255, 255]]
    assert grey(values, "window", window=(100, 200)).tolist() == [[0, 0, 255, 255]]
    assert grey(values, "window:0:200", window=(100, 200)).tolist() == [[0, 127, 255, 255]]
    assert grey(values, "minmax", window=(100, 200)).tolist() == [[0, 85, 170, 255]]


def test_the_range_of_the_type_is_the_same_for_every_picture() -> None:
    values = np.array([[0, 256, 32768, 65535]], np.uint16)

    assert grey(values, "type").tolist() == [[0, 0, 127, 255]]
    assert grey(values, "type", inverted=True).tolist() == [[255, 254, 127, 0]]


def test_what_is_no_number_is_black_and_infinity_is_an_end() -> None:
    values = np.array([[np.nan, -np.inf, 0, 5, 10, np.inf]], np.float32)

    assert grey(values).tolist() == [[0, 0, 0, 127, 255, 255]]
    assert grey(values, "percentiles:0:50").tolist() == [[0, 0, 0, 255, 255, 255]]


def test_one_value_alone_is_black_whatever_it_is() -> None:
    assert grey(np.full((2, 2), 7, np.uint16)).tolist() == [[0, 0], [0, 0]]
    assert grey(np.full((2, 2), 7, np.uint16), inverted=True).tolist() == [[255, 255], [255, 255]]
    assert grey(np.array([[6, 7, 8]], np.uint16), window=(7, 7)).tolist() == [[0, 0, 255]]


def test_colours_of_16_bits_keep_their_tint() -> None:
    colours = np.array([[[65535, 32768, 0], [1000, 1000, 1000]]], np.uint16)

    assert grey(colours, window=(0, 65535)).tolist() == [[[255, 127, 0], [3, 3, 3]]]
    with_opacity = np.concatenate([colours, np.full((1, 2, 1), 9, np.uint16)], axis=-1)
    assert grey(with_opacity, window=(0, 65535)).tolist() == [[[255, 127, 0], [3, 3, 3]]]


def test_colours_without_a_window_are_shown_as_they_are() -> None:
    deep = np.array([[[1000, 2000, 3000]]], np.uint16)
    fractions = np.array([[[0.25, np.nan, 0.5]]], np.float32)

    assert grey(deep).tolist() == [[[3, 7, 11]]]
    assert grey(fractions).tolist() == [[[63, 0, 127]]]
    assert grey(deep, "minmax").tolist() == [[[0, 127, 255]]]
    assert grey(fractions * 255, window=(0, 255)).tolist() == [[[63, 0, 127]]]
    for values in (fractions * 255, fractions - 1, deep.astype(np.int32)):
        with pytest.raises(ImageError, match=r"holds colours that are no fractions; say .*, as window=0:255"):
            grey(values)


@pytest.mark.parametrize(
    ("values", "said", "reason"),
    [
        (np.full((2, 2), np.nan, np.float32), "", "holds no value that is a number"),
        (DEEP, "window", "names no window; say one, as window8:window:-1250:250"),
        (DEEP.astype(np.int16), "type", "holds int16 values, whose type has no first and last grey level"),
        (DEEP.astype(np.float32), "type", "holds float32 values"),
    ],
)
def test_a_picture_without_what_the_rule_needs_is_a_reason(values: Values, said: str, reason: str) -> None:
    with pytest.raises(ImageError, match=f"^{reason}"):
        grey(values, said)


PICTURES = st.sampled_from([np.uint8, np.uint16, np.int16, np.int32, np.float32]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
)
RULES = st.sampled_from(["", "minmax", "percentiles:5:95", "window:-100:1000"])


@given(values=PICTURES, said=RULES, inverted=st.booleans())
def test_a_higher_value_is_never_darker_unless_the_picture_is_inverted(
    values: Values, said: str, inverted: bool
) -> None:
    try:
        result = grey(values, said, inverted=inverted).ravel().astype(int)
    except ImageError:
        assert not np.isfinite(values).any()
        return
    known = ~np.isnan(values.ravel())
    steps = np.diff(result[known][np.argsort(values.ravel()[known], kind="stable")])

    assert (steps <= 0).all() if inverted else (steps >= 0).all()


@given(values=PICTURES, said=RULES)
def test_an_inverted_picture_is_the_negative(values: Values, said: str) -> None:
    if np.isfinite(values).all():
        plain, inverted = (grey(values, said, inverted=side).astype(int) for side in (False, True))
        assert np.abs(plain + inverted - 255).max() <= 1
