"""Masks in JPEG files, whose compression adds grey levels that are no foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairmedfm._inputs import dice_scores
from PIL import Image

from fmfair.errors import FmfairError
from fmfair.mask_files import read_mask
from fmfair.masks import overlap


@pytest.fixture
def lesion() -> np.ndarray[Any, Any]:
    """A disc, whose edge leaves grey levels all around in a JPEG file."""
    y, x = np.ogrid[:64, :64]
    return np.asarray(((y - 30) ** 2 + (x - 35) ** 2 < 15**2) * np.uint8(255))


def jpeg(folder: Path, name: str, values: np.ndarray[Any, Any]) -> Path:
    """A file of any name that holds JPEG."""
    path = folder / name
    form = "TIFF" if path.suffix == ".tif" else "JPEG"
    Image.fromarray(values).save(path, form, quality=75, **({"compression": "jpeg"} if form == "TIFF" else {}))
    return path


# A JPEG is known by what is in it, not by its name.
JPEGS = ("m.jpg", "m.jpeg", "m.png", "m.tif")


@pytest.mark.parametrize("name", JPEGS)
def test_jpeg_masks_are_refused_where_no_grey_level_is_given(
    tmp_path: Path, lesion: np.ndarray[Any, Any], name: str
) -> None:
    path = jpeg(tmp_path, name, lesion)
    noise = np.count_nonzero(read_mask(path).values) - np.count_nonzero(lesion)
    assert noise > 100

    given: list[dict[str, Any]] = [{}, {"threshold": 0.5}, {"threshold": 1}, {"mask_type": "label"}]
    for options in given:
        with pytest.raises(FmfairError) as error:
            overlap([path, lesion], [lesion, path], **options)
        message = str(error.value)
        assert message.startswith("2 JPEG masks whose compression leaves stray grey levels in the background; save ")
        assert "save them as PNG, or give the grey level from which a pixel counts, e.g. mask_threshold=128" in message
        assert message.endswith(f"sample 0: {path} in pred_masks; sample 1: {path} in true_masks")


@pytest.mark.parametrize("name", JPEGS)
def test_a_grey_level_brings_back_the_mask_that_was_saved_as_jpeg(
    tmp_path: Path, lesion: np.ndarray[Any, Any], name: str
) -> None:
    path, none = jpeg(tmp_path, name, lesion), jpeg(tmp_path, f"none-{name}", np.full_like(lesion, 3))

    frame, notes = overlap([path, lesion, path, none], [lesion, path, path, none], threshold=128)

    pixels = np.count_nonzero(lesion)
    assert frame.rows() == [(1.0, 1.0, pixels, pixels, pixels)] * 3 + [(None, None, 0, 0, 0)]
    assert notes[0].endswith("foreground >= 128; true masks: foreground >= 128")
    assert notes.warnings == []


def test_jpeg_without_any_lesion_is_cut_on_the_true_side_too(tmp_path: Path, lesion: np.ndarray[Any, Any]) -> None:
    faint = jpeg(tmp_path, "m.jpg", np.full_like(lesion, 3))

    assert overlap([lesion], [faint], threshold=128).frame["true_pixels"].item() == 0


def test_other_masks_of_0_and_1_beside_jpeg_are_a_warning(tmp_path: Path, lesion: np.ndarray[Any, Any]) -> None:
    path = jpeg(tmp_path, "m.jpg", lesion)

    notes = overlap([lesion, lesion], [path, lesion // 255], threshold=128).notes

    assert [n for n in notes.warnings if n.startswith("1 mask in true_masks with values above 0, but none of mask_thr")]


def test_jpeg_has_no_class_labels(tmp_path: Path, lesion: np.ndarray[Any, Any]) -> None:
    path = jpeg(tmp_path, "m.jpg", lesion)

    for threshold in (None, 128):
        with pytest.raises(FmfairError, match="1 JPEG mask whose compression changes class labels, so that label="):
            overlap([lesion], [path], label=255, threshold=threshold)


def test_jpeg_may_hold_probabilities_but_is_no_reference_then(tmp_path: Path, lesion: np.ndarray[Any, Any]) -> None:
    path, none = jpeg(tmp_path, "m.jpg", lesion), jpeg(tmp_path, "none.jpg", np.ones_like(lesion))

    assert overlap([path], [lesion], mask_type="probability").frame["dice"].item() == 1.0
    # All of it noise, although it looks like 0 and 1.
    assert overlap([none], [lesion], mask_type="probability").frame["pred_pixels"].item() == 0
    with pytest.raises(FmfairError, match=r"1 JPEG mask .*; save them as PNG: sample 0: .*m\.jpg in true_masks"):
        overlap([path], [path], mask_type="probability")
    with pytest.raises(FmfairError, match=r"1 JPEG mask .*; save them as PNG: sample 0: .*m\.jpg in pred_masks"):
        overlap([path], [lesion], mask_type="logit")
    with pytest.raises(FmfairError, match=r"hold probabilities .*, and save the true masks as PNG instead of JPEG"):
        overlap([lesion / 255], [path], threshold=128)


def test_a_file_called_jpg_that_is_png_is_no_jpeg(tmp_path: Path, lesion: np.ndarray[Any, Any]) -> None:
    Image.fromarray(lesion).save(tmp_path / "m.jpg", "PNG")

    assert overlap([tmp_path / "m.jpg"], [lesion]).frame["dice"].item() == 1.0


def test_fairmedfm_convention_reads_jpeg_as_the_package_with_a_warning(
    tmp_path: Path, lesion: np.ndarray[Any, Any]
) -> None:
    path = jpeg(tmp_path, "m.jpg", lesion)

    frame, notes = overlap([path, path], [lesion, path], conventions="fairmedfm")

    expected = dice_scores([path, path], [lesion, path])
    assert expected[0] < 0.95
    assert frame["dice"].to_list() == expected.tolist()
    assert notes.warnings == ["3 JPEG masks read as FairMedFM does: compression noise above 0 is foreground"]
