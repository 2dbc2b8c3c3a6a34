"""DICOM files: stored values to values of the modality, windows and curves, frames, and what cannot be decoded."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from dicom_files import Values, write_dicom
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut
from pydicom.uid import UID, JPEGLSLossless

from fmfair.runners.images import ImageError, Picture, Reading, Transform, read
from fmfair.runners.images.windowing import Window8

PACKAGED = Path(pydicom.__file__).parent / "data" / "test_files"
STORED = np.arange(12, dtype=np.uint16).reshape(3, 4) * 300


def written(folder: Path, stored: Values, **attributes: Any) -> Path:
    """A DICOM file with grey values of one frame or several, named so that nothing tells what it is."""
    return write_dicom(folder / "1.2.840.10008", stored, **attributes)


def item(**attributes: Any) -> list[Dataset]:
    data = Dataset()
    for name, value in attributes.items():
        setattr(data, name, value)
    return [data]


def one(path: Path, reading: str = "") -> Picture:
    picture = read(path, Reading.of(reading))
    assert isinstance(picture, Picture)
    return picture


def grey(picture: Picture) -> Values:
    return Window8()(picture).pixels


def test_stored_values_stay_as_deep_as_they_are(tmp_path: Path) -> None:
    picture = one(written(tmp_path, STORED))

    assert (picture.pixels.dtype.name, picture.window, picture.inverted) == ("uint16", None, False)
    assert picture.pixels.tolist() == STORED.tolist()
    assert grey(picture).tolist() == np.floor(STORED / 3300 * 255).tolist()


def test_rescaling_gives_values_of_the_modality_whole_where_it_keeps_them_whole(tmp_path: Path) -> None:
    whole = one(written(tmp_path, STORED, RescaleSlope=2, RescaleIntercept=-1024))
    assert (whole.pixels.dtype.name, whole.pixels.tolist()) == ("int32", (STORED * 2 - 1024.0).tolist())

    fractions = one(written(tmp_path, STORED, RescaleSlope="0.25", RescaleIntercept="-10.5"))
    assert (fractions.pixels.dtype.name, fractions.pixels.tolist()) == ("float32", (STORED * 0.25 - 10.5).tolist())


@pytest.mark.parametrize(
    ("attributes", "window"),
    [
        ({"WindowCenter": 1000, "WindowWidth": 501}, (749.5, 1249.5)),
        ({"WindowCenter": [40, 1000], "WindowWidth": [401, 9]}, (-160.5, 239.5)),
        ({"WindowCenter": 1000, "WindowWidth": 500, "VOILUTFunction": "LINEAR_EXACT"}, (750, 1250)),
        ({"WindowCenter": 1000}, None),
        ({"WindowCenter": None, "WindowWidth": None}, None),
    ],
)
def test_the_first_window_is_kept_beside_the_values(tmp_path: Path, attributes: Any, window: Any) -> None:
    picture = one(written(tmp_path, STORED, **attributes))

    assert picture.window == window
    assert picture.pixels.tolist() == STORED.tolist()


@pytest.mark.parametrize("function", ["LINEAR", "LINEAR_EXACT", "SIGMOID"])
def test_windows_give_the_greys_that_pydicom_gives(tmp_path: Path, function: str) -> None:
    signed = STORED.astype(np.int16) - 1500
    path = written(
        tmp_path, signed, RescaleSlope=2, RescaleIntercept=-24, WindowCenter=-100, WindowWidth=2000,
        VOILUTFunction=function,
    )  # fmt: skip

    result = grey(one(path))

    data = pydicom.dcmread(path)
    shown = apply_voi_lut(apply_modality_lut(data.pixel_array, data), data)
    low, high = (
        -(2**15) * 2 - 24,
        (2**15 - 1) * 2 - 24,
    )  # pydicom shows over the range of all values that can be stored
    assert np.abs(result - (shown - low) / (high - low) * 255).max() <= 1


def test_a_window_without_width_is_a_reason_and_another_one_helps(tmp_path: Path) -> None:
    path = written(tmp_path, STORED, WindowCenter=40, WindowWidth=0)

    with pytest.raises(ImageError, match="names a window without width; say window= to read it by another one"):
        read(path)
    assert one(path, "window=0:3300").window == (0, 3300)


def test_a_window_one_wide_is_a_threshold(tmp_path: Path) -> None:
    picture = one(written(tmp_path, STORED, WindowCenter=1000, WindowWidth=1))

    assert grey(picture).tolist() == np.where(STORED > 999.5, 255, 0).tolist()


def test_a_curve_takes_the_place_of_a_window(tmp_path: Path) -> None:
    table = (np.arange(4000, dtype=np.float64) ** 2 / 4000**2 * 4095).astype(np.uint16)
    lut = item(LUTDescriptor=[4000, 0, 12], LUTData=table.tobytes())

    picture = one(written(tmp_path, STORED, VOILUTSequence=lut, WindowCenter=1, WindowWidth=2))

    assert picture.pixels.tolist() == table[STORED].tolist()
    assert picture.window == (0, 4095)


def test_a_table_of_the_modality_takes_the_place_of_rescaling(tmp_path: Path) -> None:
    table = np.arange(4000, dtype=np.uint16)[::-1]
    lut = item(LUTDescriptor=[4000, 0, 16], LUTData=table.tobytes(), ModalityLUTType="US")

    assert one(written(tmp_path, STORED, ModalityLUTSequence=lut)).pixels.tolist() == table[STORED].tolist()


@pytest.mark.parametrize("window", [{}, {"WindowCenter": 1650.5, "WindowWidth": 3301}])
def test_monochrome1_is_white_where_it_is_low(tmp_path: Path, window: Any) -> None:
    inverted = one(written(tmp_path, STORED, PhotometricInterpretation="MONOCHROME1", **window))

    assert inverted.inverted
    assert inverted.pixels.tolist() == STORED.tolist()
    assert grey(inverted).tolist() == np.floor((3300 - STORED.astype(float)) / 3300 * 255).tolist()
    eight = one(written(tmp_path, (STORED // 20).astype(np.uint8), PhotometricInterpretation="MONOCHROME1"))
    assert grey(eight).tolist() == (255 - STORED // 20).tolist()


def test_what_is_set_aside_for_the_surroundings_does_not_stretch_the_greys(tmp_path: Path) -> None:
    stored = np.array([[-2000, -1990, 0, 50, 100]], np.int16)

    exact = one(written(tmp_path, stored, PixelPaddingValue=-2000))
    ranged = one(written(tmp_path, stored, PixelPaddingValue=-2000, PixelPaddingRangeLimit=-1900))
    nothing = one(written(tmp_path, np.full((2, 2), 7, np.int16), PixelPaddingValue=7))

    assert exact.window == (-1990.0, 100.0)
    assert ranged.window == (0.0, 100.0)
    assert grey(ranged).tolist() == [[0, 0, 0, 127, 255]]
    assert nothing.window is None


@pytest.mark.parametrize("kind", ["u", "i"])
def test_bits_above_those_that_are_stored_are_no_part_of_a_value(tmp_path: Path, kind: str) -> None:
    meant = np.array([[1, 4095, 2048, 5]], np.uint16) if kind == "u" else np.array([[1, -1, -2048, 5]], np.int16)
    overlay = np.array([[0xF000, 0x3000, 0x8000, 0]], np.uint16)  # as old files keep their graphics there
    stored = (meant.view(np.uint16) & 0x0FFF | overlay).view(meant.dtype)

    picture = one(written(tmp_path, stored, BitsStored=12, HighBit=11))

    assert picture.pixels.tolist() == meant.tolist()


@pytest.mark.parametrize("slope", [{}, {"RescaleSlope": None}, {"RescaleSlope": 1}])
def test_a_slope_that_is_missing_is_one(tmp_path: Path, slope: Any) -> None:
    picture = one(written(tmp_path, STORED, RescaleIntercept=-1024, **slope))

    assert (picture.pixels.dtype.name, picture.pixels.tolist()) == ("int32", (STORED - 1024.0).tolist())


def test_pixels_are_squares_whatever_the_spacing(tmp_path: Path) -> None:
    spaced = one(written(tmp_path, STORED, PixelSpacing=[0.5, 2.0], PixelAspectRatio=[1, 4]))

    assert spaced.pixels.tolist() == STORED.tolist()


def coloured(folder: Path, samples: Values, kind: str, **attributes: Any) -> Path:
    """A DICOM file of three samples for a pixel, or in planes."""
    path = written(folder, samples[..., 0])
    data = pydicom.dcmread(path)
    data.SamplesPerPixel, data.PhotometricInterpretation = 3, kind
    data.PlanarConfiguration = attributes.pop("PlanarConfiguration", 0)
    planes = samples.transpose(2, 0, 1) if data.PlanarConfiguration else samples
    data.PixelData = planes.tobytes()
    for name, value in attributes.items():
        setattr(data, name, value)
    data.save_as(path)
    return path


def test_colours_are_red_green_and_blue_however_they_are_stored(tmp_path: Path) -> None:
    colours = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [90, 60, 30]]], np.uint8)
    luminance = np.asarray(Image.fromarray(colours).convert("YCbCr"))

    assert one(coloured(tmp_path, colours, "RGB")).pixels.tolist() == colours.tolist()
    assert one(coloured(tmp_path, colours, "RGB", PlanarConfiguration=1)).pixels.tolist() == colours.tolist()
    turned = one(coloured(tmp_path, luminance, "YBR_FULL")).pixels
    assert np.abs(turned.astype(int) - colours).max() <= 2


def test_colours_of_more_than_8_bits_are_shown_over_those_that_are_stored(tmp_path: Path) -> None:
    colours = np.array([[[4095, 2048, 0], [16, 160, 1600]]], np.uint16)

    picture = one(coloured(tmp_path, colours, "RGB", BitsStored=12, HighBit=11))

    assert picture.pixels.tolist() == colours.tolist()
    assert grey(picture).tolist() == np.floor(colours / 4095 * 255).tolist()


def test_numbers_of_a_palette_are_its_colours(tmp_path: Path) -> None:
    table = np.array([[0, 65535, 30000], [1000, 2000, 3000], [65535, 0, 257]], np.uint16)
    names = [f"{colour}PaletteColorLookupTable" for colour in ("Red", "Green", "Blue")]
    described = {f"{name}Descriptor": [3, 0, 16] for name in names}
    tables = {f"{name}Data": values.tobytes() for name, values in zip(names, table, strict=True)}
    stored = np.array([[0, 1, 2, 2]], np.uint8)

    picture = one(written(tmp_path, stored, PhotometricInterpretation="PALETTE COLOR", **described, **tables))

    assert picture.pixels.tolist() == table.T[stored].tolist()
    assert grey(picture).tolist() == np.floor(table.T[stored] / 65535 * 255).tolist()


def test_frames_are_the_slices_that_are_asked_for(tmp_path: Path) -> None:
    volume = np.arange(5 * 6, dtype=np.uint16).reshape(5, 2, 3)
    path = written(tmp_path, volume)

    for said, numbers in (("", [0, 1, 2, 3, 4]), ("every=2", [0, 2, 4]), ("count=2", [1, 3]), ("axis=0 count=1", [2])):
        pictures = read(path, Reading.of(said))
        assert isinstance(pictures, list)
        assert [p.slice for p in pictures] == numbers
        assert [p.pixels.tolist() for p in pictures] == volume[numbers].tolist()
    with pytest.raises(ImageError, match="is read frame by frame: axis=0, not axis=2"):
        read(path, Reading.of("axis=2"))


def test_rescaling_and_windows_of_single_frames_come_before_those_of_all(tmp_path: Path) -> None:
    first, shared = Dataset(), Dataset()
    first.PixelValueTransformationSequence = item(RescaleSlope=1, RescaleIntercept=-5)
    shared.PixelValueTransformationSequence = item(RescaleSlope=1, RescaleIntercept=100)
    shared.FrameVOILUTSequence = item(WindowCenter=50, WindowWidth=11)
    groups = {"PerFrameFunctionalGroupsSequence": [first, Dataset()], "SharedFunctionalGroupsSequence": [shared]}

    pictures = read(written(tmp_path, np.ones((2, 1, 2), np.uint16), RescaleIntercept=7, RescaleSlope=1, **groups))

    assert isinstance(pictures, list)
    assert [p.pixels.tolist() for p in pictures] == [[[-4, -4]], [[101, 101]]]
    assert [p.window for p in pictures] == [(44.5, 54.5)] * 2


@pytest.mark.parametrize(
    ("name", "shape", "window"),
    [
        ("CT_small.dcm", (128, 128), (-896, 1167)),
        ("MR_small.dcm", (64, 64), (-200, 1399)),
        ("MR_small_RLE.dcm", (64, 64), (-200, 1399)),
        ("MR_small_jp2klossless.dcm", (64, 64), (-200, 1399)),
        ("MR_small_bigendian.dcm", (64, 64), (-200, 1399)),
        ("693_J2KI.dcm", (512, 512), (-10, 89)),
        ("image_dfl.dcm", (512, 512), None),
        ("examples_rgb_color.dcm", (240, 320, 3), None),
        ("examples_palette.dcm", (350, 800, 3), None),
        ("SC_rgb_rle_16bit.dcm", (100, 100, 3), (0, 65535)),
        ("SC_rgb_jpeg_dcmtk.dcm", (100, 100, 3), None),
    ],
)
def test_real_files_are_read_and_feed_a_model(name: str, shape: Any, window: Any) -> None:
    picture = one(PACKAGED / name)

    result = Transform.of("rgb, resize:32:squash:bicubic, scale")(picture)

    assert (picture.pixels.shape, picture.window) == (shape, window)
    assert tuple(result.shape) == (3, 32, 32)
    assert result.max() > result.min()


def test_compressed_files_hold_what_the_plain_one_does() -> None:
    plain = one(PACKAGED / "MR_small.dcm").pixels

    for name in ("MR_small_RLE.dcm", "MR_small_jp2klossless.dcm", "MR_small_bigendian.dcm", "MR_small_expb.dcm"):
        assert one(PACKAGED / name).pixels.tolist() == plain.tolist()


def test_a_film_of_colours_is_a_volume() -> None:
    pictures = read(PACKAGED / "examples_ybr_color.dcm", Reading.of("count=3"))

    assert isinstance(pictures, list)
    assert [(p.slice, p.pixels.shape, p.pixels.dtype.name) for p in pictures] == [
        (n, (240, 320, 3), "uint8") for n in (5, 15, 25)
    ]


def without_syntax(path: Path) -> Path:
    """The file with an element of its header made another: what names the transfer syntax."""
    content = path.read_bytes()
    assert content.count(b"\x02\x00\x10\x00UI") == 1
    path.write_bytes(content.replace(b"\x02\x00\x10\x00UI", b"\x02\x00\x11\x00UI"))
    return path


def of_syntax(path: Path, syntax: str) -> Path:
    data = pydicom.dcmread(path)
    data.file_meta.TransferSyntaxUID = UID(syntax)
    data["PixelData"].is_undefined_length = True
    data.PixelData = pydicom.encaps.encapsulate([b"\0" * 8])
    data.save_as(path, enforce_file_format=True)
    return path


def test_what_holds_no_picture_says_so_in_one_line_without_values(tmp_path: Path) -> None:
    def refused(path: Path) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ImageError) as caught:
                read(path)
        assert "\n" not in str(caught.value)
        assert "DOE" not in str(caught.value)
        return str(caught.value)

    plain = written(tmp_path, STORED)
    content = plain.read_bytes()
    named = tmp_path / "a.dcm"
    named.write_bytes(b"DOE^JOHN")
    cut = tmp_path / "cut.dcm"
    cut.write_bytes(content[:-7])
    header = tmp_path / "header.dcm"
    header.write_bytes(content[:140])

    assert refused(named) == "is no DICOM file: the mark DICM is not where it must be"
    assert refused(cut) == "ends too early: it was cut off"
    assert "pixels" in refused(header) or "damaged" in refused(header)
    assert refused(PACKAGED / "rtplan.dcm") == "is a DICOM file without pixels"
    assert refused(PACKAGED / "MR_truncated.dcm") == "ends too early: it was cut off"
    assert refused(PACKAGED / "badVR.dcm").startswith("is damaged")
    assert refused(written(tmp_path, STORED, Rows=0)) == "has no pixels"
    assert refused(written(tmp_path, STORED, Rows=60_000, Columns=60_000)).startswith("unpacks to 3,600,000,000 values")
    assert refused(written(tmp_path, STORED, WindowCenter=5, WindowWidth=-4)).startswith("names a window without width")
    assert refused(without_syntax(written(tmp_path, STORED))).startswith("does not say how its pixels are stored")
    assert refused(written(tmp_path, STORED, Rows=1, Columns=1, NumberOfFrames=10**9)).startswith("has 1,000,000,000 s")
    assert refused(of_syntax(written(tmp_path, STORED), "1.9.1950")).startswith(
        "is compressed (in a way that the stand"
    )
    assert refused(of_syntax(written(tmp_path, STORED), JPEGLSLossless)) == (
        "is compressed (JPEG-LS Lossless Image Compression), and no decoder for that is installed; "
        'most are in: pip install "pylibjpeg[all]"'
    )
    assert re.fullmatch(
        r"is compressed \(MPEG2 .*\), which nothing here decodes; unpack it first",
        refused(of_syntax(written(tmp_path, STORED), pydicom.uid.MPEG2MPML)),
    )
    assert refused(of_syntax(written(tmp_path, STORED), pydicom.uid.JPEGBaseline8Bit)) == (
        "holds pixels (JPEG Baseline (Process 1)) that the installed decoders cannot read; "
        'most are in: pip install "pylibjpeg[all]"'
    )


def test_every_packaged_file_is_read_or_has_a_reason_and_none_warns() -> None:
    paths, count = sorted(PACKAGED.glob("*.dcm")), 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in paths:
            with suppress(ImageError):
                read(path, Reading.of("count=1"))
                count += 1

    assert 45 <= count < len(paths)
