"""Volumes and arrays: which slices, which way round, and what is no volume."""

from __future__ import annotations

import gzip
import importlib
import io
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from fmfair.errors import FmfairError
from fmfair.runners.images import ImageError, Picture, Reading, Slices, read
from fmfair.runners.images.windowing import Window8

Values = npt.NDArray[Any]
nibabel: Any = importlib.import_module("nibabel")  # its types say less than it does
NIBABEL = Path(nibabel.__file__).parent / "tests" / "data"
BRAIN = Path(__file__).parents[1] / "examples" / "data" / "colin27_slices.npz"
RNG = np.random.default_rng(5)


def slices(path: Path, reading: str = "") -> list[Picture]:
    pictures = read(path, Reading.of(reading))
    assert isinstance(pictures, list)
    return pictures


def one(path: Path, reading: str = "") -> Picture:
    picture = read(path, Reading.of(reading))
    assert isinstance(picture, Picture)
    return picture


def nifti(path: Path, values: Values, *, scaling: tuple[float, float] | None = None) -> Path:
    image = nibabel.Nifti1Image(values, np.eye(4))
    if scaling is not None:
        image.header.set_slope_inter(*scaling)
    nibabel.save(image, path)
    return path


def without_third_axis(path: Path) -> Path:
    """Its affine puts all slices at one place."""
    content = bytearray(path.read_bytes())
    content[312:328] = bytes(16)
    path.write_bytes(bytes(content))
    return path


def patient() -> Values:
    """A volume with axes to the right, front and head: one voxel each at the right, the nose, and the top."""
    volume = np.zeros((4, 5, 6), np.int16)
    volume[-1, 2, 3], volume[1, -1, 3], volume[1, 2, -1] = 100, 200, 300
    return volume


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_slices_are_seen_as_a_radiologist_sees_them(tmp_path: Path, name: str) -> None:
    path = nifti(tmp_path / name, patient())

    axial, coronal, sagittal = (slices(path, f"axis={axis}") for axis in (2, 1, 0))

    assert [len(some) for some in (axial, coronal, sagittal)] == [6, 5, 4]
    assert [some[0].pixels.shape for some in (axial, coronal, sagittal)] == [(5, 4), (6, 4), (6, 5)]
    # The patient's right is at the left, the nose on top of an axial slice, the head on top of the others.
    assert axial[3].pixels[2, 0] == 100
    assert axial[3].pixels[0, 2] == 200
    assert axial[-1].pixels.max() == 300
    assert coronal[2].pixels[2, 0] == 100
    assert coronal[2].pixels[0, 2] == 300
    assert coronal[0].pixels.max() == 200  # the first coronal slice is the one at the nose
    assert sagittal[2].pixels[2, 0] == 200  # which a sagittal one has at the left
    assert sagittal[2].pixels[0, 2] == 300
    assert sagittal[0].pixels.max() == 100  # and the first sagittal slice is at the right
    assert [p.pixels.tolist() for p in slices(path)] == [p.pixels.tolist() for p in axial]
    assert [p.slice for p in axial] == list(range(6))


@given(order=st.permutations([0, 1, 2]), flips=st.tuples(*[st.booleans()] * 3), axis=st.integers(0, 2))
@examples(30)
def test_slices_do_not_depend_on_how_the_voxels_are_stored(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], flips: tuple[bool, ...], axis: int
) -> None:
    folder = tmp_path_factory.mktemp("turned")
    reference = nibabel.Nifti1Image(patient(), np.diag([2.0, 3.0, 4.0, 1.0]))
    turn = np.array([[order[k], -1 if flips[k] else 1] for k in range(3)])
    nibabel.save(reference.as_reoriented(turn), folder / "turned.nii")
    nibabel.save(reference, folder / "plain.nii")

    turned, plain = (slices(folder / f"{name}.nii", f"axis={axis}") for name in ("turned", "plain"))

    assert [p.pixels.tolist() for p in turned] == [p.pixels.tolist() for p in plain]


def test_values_are_those_that_are_meant_and_whole_ones_stay_whole(tmp_path: Path) -> None:
    values = RNG.integers(-900, 2000, (3, 4, 2), dtype=np.int16)

    whole = slices(nifti(tmp_path / "a.nii", values))
    scaled = slices(nifti(tmp_path / "b.nii", values, scaling=(0.5, -3)))

    meant = nibabel.load(tmp_path / "b.nii").get_fdata()
    assert not np.array_equal(meant, np.round(meant))
    assert (whole[0].pixels.dtype.name, scaled[0].pixels.dtype.name) == ("int16", "float32")
    assert whole[1].pixels.tolist() == values[::-1, ::-1, 1].T.tolist()
    assert scaled[1].pixels.tolist() == meant[::-1, ::-1, 1].T.tolist()


def test_a_window_of_hounsfield_units_holds_for_every_slice(tmp_path: Path) -> None:
    values = np.array([-3000, -1250, -500, 250, 3000], np.int16).reshape(1, 5, 1)

    (picture,) = slices(nifti(tmp_path / "a.nii", values), "window=-1250:250")

    assert picture.window == (-1250.0, 250.0)
    assert Window8()(picture).pixels.tolist() == [[255], [255], [127], [0], [0]]  # from the front to the back


def test_volumes_with_one_more_axis_of_one_are_volumes_and_a_plane_is_one_slice(tmp_path: Path) -> None:
    values = patient()

    assert len(slices(nifti(tmp_path / "a.nii", values[..., None]))) == 6
    assert len(slices(nifti(tmp_path / "b.nii", values[:, :, 3]))) == 1


@pytest.mark.parametrize(("name", "count", "shape"), [("anatomical.nii", 25, (41, 33)), ("standard.nii.gz", 7, (5, 4))])
def test_real_volumes(name: str, count: int, shape: tuple[int, int]) -> None:
    pictures = slices(NIBABEL / name)

    assert (len(pictures), pictures[0].pixels.shape) == (count, shape)
    canonical = nibabel.as_closest_canonical(nibabel.load(NIBABEL / name)).get_fdata()
    assert np.array_equal(pictures[3].pixels, canonical[::-1, ::-1, 3].T)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda p: p.write_bytes(b"DOE^JOHN" * 100), "is no NIfTI volume"),
        (
            lambda p: nifti(p, np.zeros((3, 4, 2, 5), np.int16)),
            r"holds 5 volumes \(shape 3 x 4 x 2 x 5\); save",
        ),
        (lambda p: nifti(p, np.zeros((3, 4, 2), np.complex64)), "holds values of the type complex64"),
        (lambda p: nifti(p, np.zeros((3, 0, 2), np.int16)), "has no pixels"),
        (lambda p: without_third_axis(nifti(p, patient())), "does not say how it lies in the patient"),
        (lambda p: p.write_bytes(nifti(p, patient()).read_bytes()[:-9]), "ends too early|is damaged"),
        (lambda p: p.write_bytes(nifti(p, patient()).read_bytes()[:200]), "ends too early|is damaged|is no NIfTI"),
        (lambda p: p.write_bytes(huge_nifti()), "unpacks to 27,000,000,000,000 values; more than 1,073,741,824"),
    ],
)
def test_what_is_no_volume_says_so(tmp_path: Path, make: Any, reason: str) -> None:
    path = tmp_path / "a.nii"
    make(path)

    with pytest.raises(ImageError, match=f"^(?:{reason})") as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert "DOE" not in str(refused.value)


def test_a_packed_volume_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = nifti(tmp_path / "a.nii.gz", RNG.integers(0, 999, (9, 9, 9), dtype=np.int16))
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(ImageError, match="ends too early: it was cut off"):
        read(path)


def huge_nifti() -> bytes:
    header = nibabel.Nifti1Header()
    header.set_data_shape((30_000,) * 3)
    header.set_data_dtype(np.uint8)
    return bytes(header.binaryblock) + bytes(4)


def archive(path: Path, **arrays: Values) -> Path:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    return path


def test_an_array_of_an_archive_is_named_or_the_only_one(tmp_path: Path) -> None:
    thickness = RNG.uniform(-2, 350, (6, 5))
    thickness[0, :3] = -2, 174, 350
    path = archive(tmp_path / "a.npz", rnflt=thickness, age=np.array(61.0))

    picture = one(path, "key=rnflt window=-2:350")

    assert picture.pixels.dtype == np.float32
    assert Window8()(picture).pixels[0, :3].tolist() == [0, 127, 255]
    assert one(archive(tmp_path / "b.npz", only=thickness)).pixels.tolist() == picture.pixels.tolist()
    with pytest.raises(ImageError, match=r"holds 2 arrays \('rnflt', 'age'\); say which with key="):
        read(path)
    with pytest.raises(ImageError, match="holds no array 'rnfl'; did you mean 'rnflt'"):
        read(path, Reading.of("key=rnfl"))


def test_a_real_archive_gives_its_slices() -> None:
    pictures = slices(BRAIN, "key=image axis=2 every=5")

    assert [p.slice for p in pictures] == [0, 5, 10]
    assert {p.pixels.shape for p in pictures} == {(181, 217)}


@pytest.mark.parametrize(
    ("shape", "reading", "expected"),
    [
        ((6, 5), "", (6, 5)),
        ((6, 5, 1), "", (6, 5)),
        ((6, 5, 3), "", (6, 5, 3)),
        ((6, 5, 4), "", (6, 5, 4)),
        ((6, 5, 3), "axis=2", [(6, 5)] * 3),
        ((6, 5, 3), "axis=0", [(5, 3)] * 6),
        ((2, 6, 5), "", [(6, 5)] * 2),
        ((6, 5, 2), "axis=2", [(6, 5)] * 2),
        ((1, 6, 5), "", [(6, 5)]),
        ((2, 6, 5, 3), "", [(6, 5, 3)] * 2),
        ((2, 6, 5, 3), "axis=1", [(2, 5, 3)] * 6),
        ((2, 6, 5, 1), "", [(6, 5)] * 2),
        ((2, 6, 5, 1), "axis=2", [(2, 6)] * 5),
    ],
)
def test_the_shape_of_an_array_says_what_it_is(tmp_path: Path, shape: Any, reading: str, expected: Any) -> None:
    values = RNG.integers(0, 256, shape, dtype=np.uint8)
    np.save(tmp_path / "a.npy", values)

    result = read(tmp_path / "a.npy", Reading.of(reading))

    assert (result.pixels.shape if isinstance(result, Picture) else [p.pixels.shape for p in result]) == expected
    if isinstance(result, list):
        axis = int(reading[-1]) if reading else 0
        assert [p.pixels.reshape(-1).tolist() for p in result] == [
            values.take(n, axis).reshape(-1).tolist() for n in range(shape[axis])
        ]


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("bool", "uint8"), ("uint8", "uint8"), ("int8", "int16"), ("uint16", "uint16"), (">u2", "uint16"),
        ("int16", "int16"), ("int32", "int32"), ("uint32", "float32"), ("int64", "float32"), ("float16", "float32"),
        (">f4", "float32"), ("float64", "float32"),
    ],
)  # fmt: skip
def test_every_type_of_number_is_kept_as_one_that_holds_it(tmp_path: Path, dtype: str, kept: str) -> None:
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    np.save(tmp_path / "a.npy", values)

    pixels = one(tmp_path / "a.npy").pixels

    assert (pixels.dtype.name, pixels.dtype.isnative) == (kept, True)
    assert pixels.tolist() == (values.astype(int) * (255 if dtype == "bool" else 1)).tolist()


def npy(values: Any, *, cut: int | None = None, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values, **options)
    return file.getvalue()[:cut]


HUGE = npy(np.zeros((2, 3), np.uint8)).replace(b"(2, 3)", b"(99999, 99999)").replace(b" " * 9 + b"\n", b" \n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy(np.zeros((0, 5))), "has no pixels"),
        (npy(np.zeros((5, 6)), cut=-1), "ends too early: it was cut off"),
        (npy(np.zeros((5, 6)), cut=20), "is damaged|ends too early"),
        (npy(np.zeros(5)), "has the shape 5; a picture is height x width"),
        (npy(np.array(5.0)), "has the shape of one number"),
        (npy(np.zeros((2, 3, 4, 5))), "has the shape 2 x 3 x 4 x 5, which is no picture and no volume"),
        (npy(np.zeros((5, 6), complex)), "holds values of the type complex128, which are no grey levels"),
        (npy(np.array([["DOE^JOHN"]])), "holds values of the type str"),
        (npy(np.array([[{"a": 1}]]), allow_pickle=True), "holds Python objects, which are not read"),
        (npy(np.zeros((2, 2), [("a", "u1")])), "holds values of the type void"),
        (b"DOE^JOHN" * 9, "is no NumPy array"),
        (HUGE, "unpacks to 9,999,800,001 values"),
    ],
)
def test_what_is_no_array_of_grey_levels_says_so(tmp_path: Path, content: bytes, reason: str) -> None:
    plain, packed = tmp_path / "a.npy", tmp_path / "a.npz"
    plain.write_bytes(content)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.npy", content)

    for path in (plain, packed):
        with pytest.raises(ImageError, match=f"^(?:{reason})") as refused:
            read(path)
        assert "\n" not in str(refused.value)
        assert "DOE" not in str(refused.value)


def test_what_is_no_archive_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for content, reason in ((b"DOE^JOHN" * 9, "is no npz archive"), (gzip.compress(b"a"), "is no npz archive")):
        path.write_bytes(content)
        with pytest.raises(ImageError, match=f"^{reason}$"):
            read(path)


def test_slices_are_chosen_evenly() -> None:
    assert Slices().chosen(4) == [0, 1, 2, 3]
    assert Slices(every=3).chosen(7) == [0, 3, 6]
    assert Slices(count=1).chosen(5) == [2]
    assert Slices(count=5).chosen(3) == [0, 1, 2]
    assert Slices(count=1).chosen(10**9) == [5 * 10**8]
    with pytest.raises(ImageError, match=r"has 1,000,000,000 slices to read; more than 65,536 are not read"):
        Slices().chosen(10**9)


@given(slices=st.integers(1, 400), count=st.integers(1, 60), every=st.integers(1, 60))
def test_chosen_slices_exist_once_and_in_order(slices: int, count: int, every: int) -> None:
    some, stepped = Slices(count=count).chosen(slices), Slices(every=every).chosen(slices)

    assert len(some) == min(count, slices)
    assert some == sorted(set(some))
    middles = [Fraction(slices * (2 * k + 1), 2 * len(some)) for k in range(len(some))]
    assert all(n <= middle < n + 1 for n, middle in zip(some, middles, strict=True))
    assert all(0 <= n < slices for n in some + stepped)
    assert stepped == list(range(0, slices, every))


@given(
    key=st.none() | st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
    window=st.none() | st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).filter(lambda w: w[0] < w[1]),
    slices=st.builds(Slices, every=st.integers(1, 50), axis=st.none() | st.integers(0, 2))
    | st.builds(Slices, count=st.integers(1, 50), axis=st.none() | st.integers(0, 2)),
)
@examples(50)
def test_a_reading_is_read_back_from_its_text(key: str | None, window: Any, slices: Slices) -> None:
    reading = Reading(key, window, slices)

    assert Reading.of(str(reading)) == reading


def test_everything_wrong_with_a_reading_is_told_at_once() -> None:
    with pytest.raises(FmfairError) as refused:
        Reading.of("kye=a window=5 every=0 axis=3 count=2 count=3")

    assert refused.value.problems == [
        "'kye=a' is not known; expected some of key= window= every= count= axis=; did you mean 'key'?",
        "window=5 must be two numbers, the lower first, as window=-1250:250",
        "every: '0' must be a whole number from 1 to 10,000",
        "axis: '3' must be a whole number from 0 to 2",
        "count= is said twice",
    ]
    for text, problem in (
        ("every=2 count=3", "said with every= or with count=, not with both"),
        ("window=5:1", r"window=\(5.0, 1.0\) must be two numbers, the lower first"),
        ("key=", "key='' must name an array"),
    ):
        with pytest.raises(FmfairError, match=problem):
            Reading.of(text)
    with pytest.raises(FmfairError, match=r"(?s)every=0 must be at least 1.*axis=3 must be 0, 1 or 2"):
        Slices(every=0, axis=3)
