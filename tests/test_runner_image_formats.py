"""Picture files of every depth, kind of sample and compression, and turned ones: the pixels that are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from image_bytes import png16, tiff
from PIL import Image, ImageOps
from runner_pictures import ramp

from fmfair.runners.images import ImageError, Picture, Transform, read
from fmfair.runners.images.windowing import Window8

RNG = np.random.default_rng(3)
Values = npt.NDArray[Any]


def one(path: Path) -> Picture:
    picture = read(path)
    assert isinstance(picture, Picture)
    return picture


def saved(folder: Path, name: str, image: Any, **options: Any) -> Path:
    image.save(folder / name, **options)
    return folder / name


def written(folder: Path, content: bytes, name: str = "a.tif") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def deep(*shape: int) -> Values:
    return RNG.integers(0, 65536, shape, dtype=np.uint16)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_grey_of_16_bits_keeps_all_of_them_until_window8(tmp_path: Path, name: str) -> None:
    values = deep(5, 7)

    picture = one(saved(tmp_path, name, Image.fromarray(values)))

    assert picture.pixels.dtype == np.uint16
    assert picture.pixels.tolist() == values.tolist()


@pytest.mark.parametrize("end", ["<", ">"])
def test_grey_of_16_bits_in_either_byte_order_and_with_white_as_zero(tmp_path: Path, end: str) -> None:
    values = deep(5, 7)
    path = tmp_path / "a.tif"
    path.write_bytes(tiff(values, end=end, photometric=1))

    picture = one(path)

    assert picture.pixels.tolist() == values.tolist()
    assert (picture.pixels.dtype.isnative, picture.inverted) == (True, False)
    if end == "<":  # Pillow has no big-endian one
        path.write_bytes(tiff(values, photometric=0))
        assert one(path).inverted
        assert one(path).pixels.tolist() == values.tolist()


def test_white_as_zero_of_8_bits_is_turned_by_pillow_already(tmp_path: Path) -> None:
    image = Image.fromarray(np.array([[0, 100, 255]], np.uint8))

    picture = one(saved(tmp_path, "a.tif", image, tiffinfo={262: 0}))

    with Image.open(tmp_path / "a.tif") as stored:
        assert picture.pixels.tolist() == np.asarray(stored).tolist()
    assert not picture.inverted


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_values_of_32_bits_stay(tmp_path: Path, dtype: Any) -> None:
    values = (RNG.normal(size=(4, 3)) * 1000).astype(dtype)

    assert one(saved(tmp_path, "a.tif", Image.fromarray(values))).pixels.tolist() == values.tolist()


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_colours_of_16_bits_in_png_keep_all_of_them(tmp_path: Path, channels: int) -> None:
    values = deep(5, 7, channels)
    path = tmp_path / "a.png"
    path.write_bytes(png16(values))

    picture = one(path)

    assert picture.pixels.tolist() == (values[..., 0] if channels == 2 else values).tolist()
    if channels > 2:  # colours are not stretched to the range of one picture
        assert Window8()(picture).pixels.tolist() == np.floor(values[..., :3] / 65535 * 255).tolist()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("deflated", [False, True])
@pytest.mark.parametrize("end", ["<", ">"])
def test_colours_of_16_bits_in_tiff_keep_all_of_them(tmp_path: Path, end: str, deflated: bool, channels: int) -> None:
    values = deep(5, 7, channels)
    path = tmp_path / "a.tif"
    path.write_bytes(tiff(values, end=end, deflated=deflated))

    assert one(path).pixels.tolist() == values.tolist()


@pytest.mark.parametrize("end", ["<", ">"])
@pytest.mark.parametrize(
    ("dtype", "kept"),
    [("int8", "int16"), ("int16", "int32"), ("int32", "int32"), ("uint32", "float32"), ("float32", "float32")],
)
def test_every_kind_of_sample_is_the_number_that_it_is(tmp_path: Path, dtype: str, kept: str, end: str) -> None:
    values = np.array([[0, 100, 5]], dtype)
    values[0, 0] = np.iinfo(dtype).min if dtype.startswith("int") else 3e9
    path = written(tmp_path, tiff(values, end=end))
    if (dtype, end) == ("uint32", ">"):
        with pytest.raises(ImageError, match="is a TIFF file that is damaged, or of a kind that is not read; save 8"):
            read(path)
        return

    picture = one(path)

    assert (picture.pixels.dtype.name, picture.inverted) == (kept, False)
    assert picture.pixels.astype(float).tolist() == values.astype(float).tolist()


def test_fractions_whose_lowest_value_is_white_are_inverted(tmp_path: Path) -> None:
    picture = one(written(tmp_path, tiff(np.array([[0.0, 0.5, 1.0]], np.float32), photometric=0)))

    assert Window8()(picture).pixels.tolist() == [[255, 127, 0]]


@pytest.mark.parametrize("values", [np.zeros((2, 3)), np.zeros((2, 3), np.float16), np.zeros((2, 3, 3), np.float32)])
def test_kinds_of_samples_that_pillow_does_not_know_say_what_to_do(tmp_path: Path, values: Values) -> None:
    with pytest.raises(ImageError, match=r"^is a TIFF file that .* not read; save 8 or 16 bits, or 32-bit grey$"):
        read(written(tmp_path, tiff(values)))


# What the eight ways to hold a camera say is to be done to the pixels.
TURNS: dict[int, Any] = {
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.rot90(a.swapaxes(0, 1), 2),
    8: np.rot90,
}
COLOURS = ramp()[::40, ::40]


def exif(orientation: int) -> Any:
    said = Image.Exif()
    said[0x0112] = orientation
    return said


def held(folder: Path, orientation: int, kind: str) -> Path:
    """An image file whose camera was held in one of eight ways."""
    if kind == "deep.png":
        note = (
            b"MM\0*\0\0\0\x08\0\x01" + bytes.fromhex("0112 0003 00000001") + bytes([0, orientation, 0, 0, 0, 0, 0, 0])
        )
        return written(folder, png16(COLOURS.astype(np.uint16) * 251, note), kind)
    if kind.endswith("tif"):
        values: Values = COLOURS if kind == "a.tif" else COLOURS[..., 0]
        values = values.astype(np.uint16) * 251 if kind.startswith("deep") else values
        return written(folder, tiff(values, orientation=orientation, deflated="packed" in kind), kind)
    lossless = {"lossless": True} if kind == "a.webp" else {}
    return saved(folder, kind, Image.fromarray(COLOURS), exif=exif(orientation), **lossless)


@pytest.mark.parametrize(
    "kind",
    ["a.jpg", "a.png", "a.webp", "deep.png", "grey.tif", "grey_packed.tif", "deep.tif", "deep_packed.tif", "a.tif"],
)
def test_a_picture_is_turned_as_the_camera_was_held(tmp_path: Path, kind: str) -> None:
    upright = one(held(tmp_path, 1, kind)).pixels
    assert upright.shape[:2] == (11, 8)

    for orientation, turn in TURNS.items():
        assert one(held(tmp_path, orientation, kind)).pixels.tolist() == turn(upright).tolist()


def test_a_turned_photograph_is_the_one_that_viewers_show_and_feeds_a_model_so(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.jpg", Image.fromarray(ramp()), exif=exif(6))
    steps = "rgb, resize:32:short:bicubic, crop:32, scale"

    with Image.open(path) as stored:
        plain, shown = np.asarray(stored.convert("RGB")), np.asarray(ImageOps.exif_transpose(stored))

    assert one(path).pixels.tolist() == shown.tolist()
    assert shown.shape == (300, 401, 3) != plain.shape  # which is what a pipeline on Image.open alone is fed
    assert Transform.of(steps)(one(path)).tolist() == Transform.of(steps)(Picture.of(shown)).tolist()


@pytest.mark.parametrize("said", [0, 9, 65535])
def test_a_way_to_hold_a_camera_that_there_is_not_turns_nothing(tmp_path: Path, said: int) -> None:
    assert one(saved(tmp_path, "a.png", Image.fromarray(COLOURS), exif=exif(said))).pixels.tolist() == COLOURS.tolist()


def test_a_damaged_note_of_the_camera_does_not_damage_the_picture(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.png", Image.fromarray(COLOURS), exif=b"Exif\0\0DOE^JOHN" * 3)

    assert one(path).pixels.tolist() == COLOURS.tolist()


@pytest.mark.parametrize("options", [{"progressive": True}, {"subsampling": 0}, {"mode": "CMYK"}, {"mode": "L"}])
def test_jpeg_of_every_kind_is_nearly_what_was_stored(tmp_path: Path, options: dict[str, Any]) -> None:
    mode = options.pop("mode", "RGB")
    source = Image.fromarray(ramp()[::4, ::4] // 2 + 60).convert("RGB")
    path = saved(tmp_path, "a.jpg", source.convert(mode), quality=100, **options)

    difference = one(path).pixels.astype(int) - np.asarray(source.convert("L" if mode == "L" else "RGB")).astype(int)

    assert np.abs(difference).mean() < 3
