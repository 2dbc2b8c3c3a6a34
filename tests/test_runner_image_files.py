"""Picture files: every depth and colour that they hold, and one reason in our own words where there is no picture."""

from __future__ import annotations

import importlib
import io
import os
import re
import shutil
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pydicom
import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_bytes import png, tiff
from PIL import Image
from property_tests import examples
from runner_pictures import RADIOGRAPH, radiograph, ramp

from fmfair.errors import FmfairError
from fmfair.runners.images import ImageError, Picture, Reading, Transform, files, read

nibabel: Any = importlib.import_module("nibabel")  # its types say less than it does
Values = npt.NDArray[Any]


def one(path: Path, reading: Reading | None = None) -> Picture:
    picture = read(path, reading)
    assert isinstance(picture, Picture)
    return picture


def saved(folder: Path, name: str, image: Any, **options: Any) -> Path:
    image.save(folder / name, **options)
    return folder / name


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.TIFF", "a.bmp", "a.webp", "a.jp2"])
def test_colours_of_8_bits_are_as_they_were_stored(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, name, Image.fromarray(ramp()), **({"lossless": True} if name.endswith("webp") else {}))

    picture = one(path)

    assert picture.pixels.tolist() == ramp().tolist()
    assert picture.pixels.dtype == np.uint8
    assert not picture.inverted
    assert picture.window is None
    assert picture.slice is None


def test_a_radiograph_is_grey_as_png_and_nearly_the_same_as_jpeg(tmp_path: Path) -> None:
    jpeg = saved(tmp_path, "a.JPG", Image.fromarray(radiograph()), quality=95)

    assert one(RADIOGRAPH).pixels.shape == (150, 150)
    assert np.abs(one(jpeg).pixels.astype(int) - radiograph()).mean() < 2


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"])
def test_every_mode_becomes_the_colours_that_pillow_gives(tmp_path: Path, mode: str) -> None:
    source = Image.fromarray(ramp()[::8, ::8]).convert("RGB")
    image = source.convert("P").convert("PA") if mode == "PA" else source.convert(mode)
    try:
        path = saved(tmp_path, "a.tif", image)
    except OSError:
        path = saved(tmp_path, "a.png", image)

    result = Transform.of("rgb, resize:16:squash:nearest, scale:none")(one(path))

    with Image.open(path) as stored:
        expected = stored.convert("RGB").resize((16, 16), Image.Resampling.NEAREST)
    assert result.permute(1, 2, 0).byte().tolist() == np.asarray(expected).tolist()


def test_a_palette_is_its_colours_and_transparency_hides_nothing(tmp_path: Path) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putdata([0, 1])

    picture = one(saved(tmp_path, "a.png", image, transparency=bytes([0, 255])))

    assert picture.pixels.tolist() == [[[10, 20, 30], [200, 100, 50]]]


def test_the_window_of_a_reading_takes_the_place_of_any_other(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.png", Image.fromarray(np.arange(9, dtype=np.uint16).reshape(3, 3)))

    assert one(path, Reading.of("window=100:200")).window == (100, 200)


def test_a_name_that_lies_about_the_format_is_no_fault(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.png", Image.fromarray(ramp())).rename(tmp_path / "a.jpg")

    assert one(path).pixels.tolist() == ramp().tolist()


def test_a_photograph_with_a_smaller_copy_of_itself_is_the_photograph(tmp_path: Path) -> None:
    large, copy = Image.fromarray(ramp()), Image.fromarray(ramp()[::4, ::4])

    path = saved(tmp_path, "a.jpg", large, format="MPO", save_all=True, append_images=[copy])

    assert one(path).pixels.shape == ramp().shape


def broken(folder: Path, name: str) -> Path:
    """A file that gives no picture, by the name of what is wrong with it."""
    good = RADIOGRAPH.read_bytes()
    jpeg = io.BytesIO()
    Image.fromarray(ramp()).save(jpeg, "JPEG")
    contents = {
        "empty.png": b"",
        "text.png": b"PATIENT^NAME, 1950-01-01",
        "text.tif": b"PATIENT^NAME, 1950-01-01",
        "magic.png": good[:8],
        "cut.png": good[: len(good) // 2],
        "cut.jpg": jpeg.getvalue()[:2000],
        "changed.png": good[:300] + b"DOE^JOHN" + good[308:],
        "planes.tif": tiff(np.zeros((5, 7, 3), np.uint16), planes=True),
        "postscript.png": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "name.txt": good,
        "noname": good,
    }
    path = folder / name
    if name in contents:
        path.write_bytes(contents[name])
    elif name.startswith("pages"):
        Image.fromarray(ramp()).save(path, save_all=True, append_images=[Image.fromarray(ramp()[::k]) for k in (-1, 1)])
    elif name == "folder.png":
        path.mkdir()
    elif name == "pipe.png":
        os.mkfifo(path)
    elif name == "loop.png":
        path.symlink_to(path)
    return path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent.png", "does not exist"),
        ("loop.png", "does not exist"),
        ("a\0b.png", "does not exist"),
        (f"{'a' * 300}.png", "cannot be read: File name too long"),
        ("folder.png", "is a folder without DICOM images"),
        ("pipe.png", "is no regular file"),
        ("empty.png", "is empty"),
        ("text.png", "holds no picture of a format that is read, which are PNG, JPEG, TIFF"),
        ("text.tif", "holds no picture of a format that is read"),
        ("postscript.png", "holds no picture of a format that is read"),
        ("magic.png", "is a PNG file that is damaged, or of a kind that is not read; save 8 or 16 bits"),
        ("cut.png", "ends too early: it was cut off"),
        ("cut.jpg", "ends too early: it was cut off"),
        ("changed.png", r"is damaged, or is not what its name says \(\w+\)"),
        ("planes.tif", "has 16 bits per colour in an order that is not read"),
        ("pages.tif", "is a TIFF file of 3 pages; give each page that counts a file of its own"),
        ("pages.gif", "is a GIF file of 3 pages"),
        ("pages.png", "is a PNG file of 3 pages"),
        ("name.txt", r"is of no kind that is read, which are .png .jpg .* and DICOM of any name"),
        ("noname", "is of no kind that is read"),
    ],
)
def test_a_file_that_gives_no_picture_gives_one_reason(tmp_path: Path, name: str, reason: str) -> None:
    path = broken(tmp_path, name)

    with pytest.raises(ImageError, match=f"^(?:{reason})") as refused:
        read(path)

    text = str(refused.value)
    assert "\n" not in text
    assert not re.search(r"PATIENT|1950|DOE", text)
    assert str(tmp_path) not in text


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.npy", "a.nii", "a.dcm"])
def test_a_file_that_is_lost_while_it_is_read_is_a_reason(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = damageable(tmp_path, name)
    monkeypatch.setattr(files, "check_file", lambda path: path.unlink())

    with pytest.raises(ImageError, match=r"^does not exist$"):
        read(path)


def test_an_image_that_unpacks_to_far_too_much_is_refused_before_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png(20_000, 20_000, 8, 2, bytes(100)))
    with pytest.raises(ImageError, match="unpacks to more pixels than any picture should have"):
        read(path)

    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)  # as some programs set it, for all
    with pytest.raises(ImageError, match=r"unpacks to 20000 x 20000 pixels; more than 268,435,456 are not read"):
        read(path)


def test_a_large_image_that_pillow_warns_of_is_read_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 150 * 100)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert one(RADIOGRAPH).pixels.shape == (150, 150)
        with pytest.warns(UserWarning, match="after"):
            warnings.warn("after", stacklevel=1)
    assert not seen


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied", "/data/DOE"), "cannot be read: Permission denied"),
        (OSError(5, "DOE", "/data/DOE"), "cannot be read: Input/output error"),
        (MemoryError(), "needs more memory than there is"),
        (RecursionError("DOE"), r"is damaged, or is not what its name says \(RecursionError\)"),
        (EOFError(), "ends too early: it was cut off"),
    ],
)
def test_whatever_a_library_raises_is_worded_by_us(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def fail(*_: object) -> Picture:
        raise error

    monkeypatch.setitem(files._READERS, "image", fail)
    with pytest.raises(ImageError, match=f"^{reason}$"):
        read(RADIOGRAPH)


def test_an_absent_package_is_named_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)

    with pytest.raises(FmfairError, match=r'needs pillow: pip install "fmfair\[runners\]"') as refused:
        read(RADIOGRAPH)
    assert not isinstance(refused.value, ImageError)


def test_threads_read_side_by_side_and_leave_warnings_as_they_were(tmp_path: Path) -> None:
    paths = [saved(tmp_path, f"{k}.png", Image.new("L", (k + 1, 3), k)) for k in range(24)]
    before, sizes = list(warnings.filters), dict[int, tuple[int, ...]]()

    def work(k: int) -> None:
        sizes[k] = one(paths[k]).pixels.shape

    threads = [threading.Thread(target=work, args=(k,)) for k in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sizes == {k: (3, k + 1) for k in range(24)}
    assert warnings.filters == before


def damageable(folder: Path, name: str) -> Path:
    """A sound file of a kind."""
    path, values = folder / name, radiograph()[:24, :30]
    if name.endswith(("npy", "npz")):
        (np.save if name.endswith("npy") else np.savez_compressed)(path, values)
    elif ".nii" in name:
        nibabel.save(nibabel.Nifti1Image(np.stack([values] * 3, axis=-1), np.eye(4)), path)
    elif name.endswith("dcm"):
        shutil.copy(Path(pydicom.__file__).parent / "data" / "test_files" / "MR_small_RLE.dcm", path)
    else:
        Image.fromarray(values).save(path)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "a.npy", "a.npz", "a.nii", "a.nii.gz", "a.dcm"])
@given(data=st.data())
@examples(25, deadline=None)
def test_a_file_damaged_anywhere_is_read_or_refused(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = damageable(tmp_path_factory.mktemp("damaged"), name)
    content = bytearray(path.read_bytes())
    start = data.draw(st.sampled_from([0, len(content) // 2]))  # most of what can go wrong is in the header
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(start, min(start + 400, len(content) - 1)))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.sampled_from([len(content)] * 3 + [start + 1]))]))

    with suppress(ImageError):
        found = read(path)
        assert all(picture.pixels.size for picture in (found if isinstance(found, list) else [found]))
