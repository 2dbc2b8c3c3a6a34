"""Steps as text: what is read, what is refused and with which words, and that text and steps are the same."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from fmfair.errors import FmfairError
from fmfair.runners.images import ImageError, Picture, Transform
from fmfair.runners.images.resizing import Crop, PadSquare, Resize
from fmfair.runners.images.values import Normalise, Round8
from fmfair.runners.images.windowing import Window8

SCALED = "rgb, resize:8:squash:bicubic:pil, scale"


@pytest.mark.parametrize(
    ("said", "canonical"),
    [
        ("resize:8:bicubic:squash", "resize:8:squash:bicubic:pil"),
        ("resize:8:squash:bilinear:aa:tensor", "resize:8:squash:bilinear:tensor"),
        ("resize:8:squash:bilinear:noaa:tensor", "resize:8:squash:bilinear:tensor:noaa"),
        ("resize:9:short:nearest, crop:8:even", "resize:9:short:nearest:pil, crop:8"),
        ("pad_square, resize:8:squash:bicubic", "pad_square:0, resize:8:squash:bicubic:pil"),
        ("pad_square:255:300, resize:8:squash:bicubic", "pad_square:255:300, resize:8:squash:bicubic:pil"),
        ("resize:8:longest:lanczos, pad_square:7", "resize:8:longest:lanczos:pil, pad_square:7:8"),
    ],
)
def test_every_way_to_say_a_step_is_written_in_one(said: str, canonical: str) -> None:
    transform = Transform.of(f"rgb, {said}, scale")

    assert str(transform) == f"rgb, {canonical}, scale"
    assert Transform.of(str(transform)) == Transform.of(transform.texts) == transform
    assert pickle.loads(pickle.dumps(transform)) == transform
    assert transform.size == 8


@pytest.mark.parametrize(
    ("said", "canonical"),
    [
        ("normalise:0.5:0.5", "normalise:half"),
        ("normalise:0.485,0.456,0.406:0.229,0.224,0.225", "normalise:imagenet"),
        ("normalise:0.43,0.411,0.296:0.213,0.156,0.143", "normalise:0.43,0.411,0.296:0.213,0.156,0.143"),
        ("normalise:.5056:.2520", "normalise:0.5056:0.252"),
    ],
)
def test_statistics_have_their_name_where_they_have_one(said: str, canonical: str) -> None:
    assert Transform.of(f"{SCALED}, {said}").texts[-1] == canonical


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("resize", "size: '' must be a whole number from 1 to 10,000"),
        ("resize:0:squash:bicubic", "size: '0' must be a whole number"),
        ("resize:٣:squash:bicubic", "size: '٣' must be a whole number"),
        ("resize:224", "it names no mode; expected one of short, squash, longest"),
        ("resize:224", "it names no interpolation"),
        ("resize:224:short:squash:bicubic", "both 'short' and 'squash'"),
        ("resize:224:short:bicubic:noaa", "noaa needs tensor: Pillow always smooths"),
        ("resize:224:short:lanczos:tensor", "lanczos needs pil"),
        ("resize:224:shrot:bicubic", "'shrot' is not known; .*did you mean 'short'"),
        ("crop:224:up", "'up' is not known; expected nothing, even or down"),
        ("pad_square:256", "grey level: '256' must be a whole number from 0 to 255"),
        ("pad_square:0:1:2", "'0:1:2' is too much"),
        ("round8:up", "'up' is not known; expected nothing, or nearest"),
        ("scale:255", "'255' is not known; expected nothing, or none"),
        ("normalise", "'' names no statistics; expected clip, imagenet, half"),
        ("normalise:imagnet", "did you mean 'imagenet'"),
        ("normalise:0.5:0.5:0.5", "names no statistics"),
        ("normalise:0.5,0.5:0.5,0.5", "one mean and one standard deviation, or three of each"),
        ("normalise:0.5:0.5,0.5,0.5", "one mean and one standard deviation, or three of each"),
        ("normalise:0.5:0", "a standard deviation of 0 must be above 0"),
        ("normalise:nan:1", "'nan' is no number"),
        ("normalise:1_0:1", "'1_0' is no number"),
        ("rgb:3", "'3' is too much; the name is all"),
        ("repeat3:3", "'3' is too much; the name is all"),
        ("multiple_of", "size: '' must be a whole number"),
        ("window8:windw", "did you mean 'window'"),
        ("window8:window:1", "'window' with 1 numbers; percentiles has two, window two or none"),
        ("window8:minmax:0:1", "'minmax' with 2 numbers"),
        ("window8:window:5:5", "'window' needs the lower number first"),
        ("window8:percentiles:1:101", "percentiles are between 0 and 100"),
        ("crops:224", "no such step; expected one of window8, rgb.*did you mean 'crop'"),
        ("", "no such step"),
    ],
)
def test_a_step_that_cannot_be_read_says_why(step: str, message: str) -> None:
    with pytest.raises(FmfairError, match=message) as refused:
        Transform.of(["rgb", step])

    assert all(problem.startswith(f"step 2 of 2, {step!r}: ") for problem in refused.value.problems)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(FmfairError) as refused:
        Transform.of("rbg, resize:0:shrot:bicubic, scale, normalise:imagnet")

    assert [problem.split(",")[0] for problem in refused.value.problems] == [
        "step 1 of 4",
        "step 2 of 4",
        "step 4 of 4",
    ]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("scale", "step 1 of 1, 'scale': it cannot stand here: it comes after rgb or grey"),
        ("rgb, grey", "it comes first, or after window8, and once"),
        ("rgb, window8", "it comes first"),
        ("rgb, resize:8:squash:bicubic, normalise:clip", "after scale, which is scale:none where"),
        ("rgb, resize:8:squash:bicubic, scale, scale", "it comes after rgb or grey, and once"),
        (f"{SCALED}, normalise:clip, normalise:clip", "it comes once and after scale"),
        (f"{SCALED}, resize:8:squash:bicubic", "it works on a tensor here: say tensor, or put it before scale"),
        (f"{SCALED}, tensor_resize:8:bicubic", "it comes after normalise; before that it is resize with tensor"),
        (f"{SCALED}, normalise:clip, resize:8:squash:bicubic:tensor", "after that it is tensor_resize"),
        ("rgb, round8", "it comes after a resize with tensor, and before scale"),
        (f"{SCALED}, pad_square", "before any step that makes a tensor"),
        ("rgb, crop:8", "it may be larger than the picture; resize to at least 8 first"),
        ("rgb, resize:8:short:bicubic, crop:9", "the shorter side is 8; resize to at least 9 first"),
        ("rgb, resize:8:longest:bicubic, crop:8", "it may be larger than the picture"),
        ("rgb, pad_square, resize:8:longest:bicubic, scale", "the sides depend on the picture"),
        (f"{SCALED}, repeat3", "it needs the one channel of grey"),
        ("grey, repeat3", "it comes after scale"),
        ("grey, resize:8:squash:bicubic, scale, normalise:clip", "statistics of three channels, and there is one"),
        ("rgb, resize:8:short:bicubic, multiple_of:8", "the sides are not known here"),
        (f"{SCALED}, multiple_of:7", "a side of 8 is no multiple of 7; 7 and 14 are"),
        ("rgb, resize:8:squash:bicubic", "the values are never scaled; end with scale"),
        ("grey, resize:8:squash:bicubic, scale", "there is one channel; add repeat3"),
        ("rgb, scale", "the sides depend on the picture, so that no batch can be made; add crop"),
        ("rgb, resize:8:short:bicubic, scale", "the sides depend on the picture"),
        ("window8", "the values are never scaled"),
        ([], "the values are never scaled"),
    ],
)
def test_steps_in_an_order_that_makes_no_sense_are_refused(steps: str, message: str) -> None:
    with pytest.raises(FmfairError, match=message):
        Transform.of(steps)


def test_normalising_without_scaling_must_be_meant() -> None:
    values = Transform.of("rgb, resize:8:squash:nearest, scale:none, normalise:100:50")(
        Picture.of(np.full((3, 4), 150, np.uint8))
    )

    assert values.tolist() == torch.ones(3, 8, 8).tolist()


def test_a_cast_cuts_fractions_off_and_nearest_rounds_them() -> None:
    values = np.array([-3.0, 0.9, 1.5, 254.6, 300.0], np.float32)

    assert Round8()(values).tolist() == [0, 0, 1, 254, 255]
    assert Round8(nearest=True)(values).tolist() == [0, 1, 2, 255, 255]


def test_padding_is_centred_and_has_its_grey_level() -> None:
    steps = "rgb, pad_square:9:5, resize:5:squash:nearest, scale:none"

    result = Transform.of(steps)(Picture.of(np.full((1, 2), 200, np.uint8)))

    assert result[0].tolist() == [[9] * 5, [9] * 5, [9, 200, 200, 9, 9], [9] * 5, [9] * 5]


def test_a_longer_side_that_is_a_pixel_short_leaves_the_square_as_it_is() -> None:
    short = [side for side in range(300, 1000) if Resize(320, "longest", "lanczos").sides(side, side) != (320, 320)]
    transform = Transform.of("rgb, resize:320:longest:bilinear, pad_square:7, scale:none")

    result = transform(Picture.of(np.full((short[0], short[0] // 2), 200, np.uint8)))

    assert (tuple(result.shape), result[0, -1].unique().tolist()) == ((3, 320, 320), [7])


def test_grey_is_weighed_as_pillow_does_and_opacity_is_dropped() -> None:
    red = np.zeros((2, 2, 4), np.uint8)
    red[..., 0] = 255

    result = Transform.of("grey, resize:2:squash:nearest, scale:none, repeat3")(Picture.of(red))

    assert torch.equal(result, torch.full((3, 2, 2), 76.0))


def test_deep_pictures_are_windowed_before_they_become_colours() -> None:
    deep = np.linspace(1000, 3000, 64).reshape(8, 8).astype(np.uint16)

    result = Transform.of("rgb, resize:8:squash:nearest, scale:none")(Picture.of(deep))

    assert (result.min(), result.max(), len(result.unique())) == (0, 255, 64)


def test_a_picture_that_is_all_length_is_refused_before_it_fills_the_memory() -> None:
    line = Picture.of(np.zeros((1, 100_000), np.uint8))

    for steps in ("rgb, resize:224:short:bicubic, crop:224, scale", "rgb, pad_square, resize:8:squash:bicubic, scale"):
        with pytest.raises(ImageError, match=r"it would be resized to .* pixels"):
            Transform.of(steps)(line)


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 10_000), (900, 1)])
@pytest.mark.parametrize(
    "resize",
    [
        *(f"resize:9:short:{how}, crop:8" for how in ("nearest", "bilinear", "bicubic", "lanczos", "bicubic:tensor")),
        *(f"resize:8:squash:{how}" for how in ("bicubic", "bicubic:tensor", "bilinear:tensor:noaa", "nearest:tensor")),
        "resize:8:longest:lanczos, pad_square:200",
        "resize:8:longest:bilinear:tensor, resize:8:squash:nearest:tensor",
        "pad_square:200:8, resize:8:squash:bilinear",
    ],
)
def test_a_picture_that_is_a_line_or_a_point_keeps_its_grey(shape: tuple[int, int], resize: str) -> None:
    whole = "round8:nearest, " if "tensor" in resize else ""

    result = Transform.of(f"rgb, {resize}, {whole}scale:none")(Picture.of(np.full(shape, 200, np.uint8)))

    assert torch.equal(result, torch.full((3, 8, 8), 200.0))


SIZES = st.integers(1, 96)
RESIZES = st.builds(
    Resize, SIZES, st.sampled_from(["short", "squash"]), st.sampled_from(["nearest", "bilinear", "bicubic"])
)
TENSOR_RESIZES = st.builds(
    Resize,
    SIZES,
    st.sampled_from(["short", "squash"]),
    st.sampled_from(["nearest", "bilinear", "bicubic"]),
    st.just("tensor"),
    st.booleans(),
)
NUMBERS = st.floats(-300, 300, allow_nan=False)
STATISTICS = st.builds(
    lambda mean, std: Normalise((mean,), (std,)), NUMBERS, st.floats(1e-3, 300, allow_nan=False, exclude_min=True)
)


@st.composite
def transforms(draw: st.DrawFn) -> str:
    """The text of a transform that is in order."""
    windows = draw(st.sampled_from([[], ["window8"], ["window8:minmax"], ["window8:percentiles:1:99.5"]]))
    grey = draw(st.booleans())
    pads = draw(st.lists(st.builds(PadSquare, st.integers(0, 255), SIZES), max_size=1))
    tensor = draw(st.booleans())
    resize = draw(TENSOR_RESIZES if tensor else RESIZES)
    crop = Crop(draw(st.integers(1, resize.size)), draw(st.sampled_from(["even", "down"])))
    said = [*windows, "grey" if grey else "rgb", *(":".join(["pad_square", *p.words()]) for p in pads)]
    said += [":".join(["resize", *resize.words()]), ":".join(["crop", *crop.words()])]
    said += ["round8"] if tensor and draw(st.booleans()) else []
    said += [draw(st.sampled_from(["scale", "scale:none"])), ":".join(["normalise", *draw(STATISTICS).words()])]
    said += ["repeat3"] if grey else []
    if draw(st.booleans()):
        said.append(":".join(["tensor_resize", *draw(TENSOR_RESIZES).words(backend=False)]))
    return ", ".join(said)


@given(said=transforms(), height=st.integers(1, 60), width=st.integers(1, 60), deep=st.booleans())
@examples(80, deadline=None)
def test_any_steps_in_order_are_read_back_and_feed_every_picture_alike(
    said: str, height: int, width: int, deep: bool
) -> None:
    pixels = np.arange(height * width).reshape(height, width) * (97 if deep else 1) % (60_000 if deep else 256)
    transform = Transform.of(said)

    result = transform(Picture.of(pixels.astype(np.uint16 if deep else np.uint8)))

    assert Transform.of(str(transform)) == transform
    assert (tuple(result.shape), result.dtype) == ((3, transform.size, transform.size), torch.float32)
    assert torch.isfinite(result).all()


@given(height=st.integers(1, 5000), width=st.integers(1, 5000), size=st.integers(1, 1000))
def test_resized_sides_keep_the_shape_and_never_vanish(height: int, width: int, size: int) -> None:
    long = Resize(size, "longest", "bicubic").sides(height, width)
    assert max(long) in (size, size - 1, 1)
    assert min(long) >= 1
    if max(height, width) * size / min(height, width) * size < 2**28:
        short = Resize(size, "short", "bicubic").sides(height, width)
        assert min(short) == size
        assert abs(max(short) - size * max(height, width) / min(height, width)) <= 1


@given(
    words=st.lists(st.text(max_size=8), max_size=4), name=st.sampled_from(["resize", "crop", "normalise", "window8"])
)
@examples(50)
def test_no_text_is_more_than_an_error_of_ours(words: list[str], name: str) -> None:
    with pytest.raises(FmfairError):
        Transform.of([":".join([name, *words])])


def test_rules_of_window8_are_read_back() -> None:
    for text in ("window8", "window8:minmax", "window8:type", "window8:window", "window8:window:-1250:250.5"):
        step = Window8.of(text.split(":")[1:])
        assert ":".join(["window8", *step.words()]) == text
        assert re.fullmatch(r"[a-z0-9:.-]+", text)


def test_images_import_nothing_that_takes_long() -> None:
    heavy = ("torch", "torchvision", "PIL", "pydicom", "nibabel")
    code = f"import sys, fmfair.runners.images; print([m for m in {heavy} if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_picture_that_fills_the_memory_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Resize, "__call__", full)
    with pytest.raises(ImageError, match="needs more memory than there is"):
        Transform.of(SCALED)(Picture.of(np.zeros((2, 2), np.uint8)))
