"""DICOM files for tests, written by pydicom: grey values of one frame or several, and the slices of a CT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import UID, CTImageStorage, ExplicitVRLittleEndian, SecondaryCaptureImageStorage

Values = npt.NDArray[Any]


def write_dicom(path: Path, stored: Values, kind: str = SecondaryCaptureImageStorage, **attributes: Any) -> Path:
    """A DICOM file of a patient whose name must be in no message."""
    data = Dataset()
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data.file_meta.MediaStorageSOPClassUID = data.SOPClassUID = UID(kind)
    data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID = UID("1.2.3")
    data.PatientName, data.PatientBirthDate = "DOE^JOHN", "19500101"
    bits = 8 * stored.dtype.itemsize
    data.Rows, data.Columns = stored.shape[-2:]
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated, data.BitsStored, data.HighBit = bits, bits, bits - 1
    data.PixelRepresentation = int(stored.dtype.kind == "i")
    if stored.ndim == 3:
        data.NumberOfFrames = stored.shape[0]
    data.PixelData = stored.tobytes()
    for name, value in attributes.items():
        setattr(data, name, value)
    data.save_as(path, enforce_file_format=True)
    return path


def write_slice(
    path: Path, value: int, place: Sequence[float] | None, turn: Sequence[float] = (1, 0, 0, 0, 1, 0), **attributes: Any
) -> Path:
    """A slice of a CT of 2 x 3 voxels of one value in Hounsfield units, somewhere in the patient."""
    where = {} if place is None else {"ImagePositionPatient": list(place), "ImageOrientationPatient": list(turn)}
    said = {"SeriesInstanceUID": "1.2.5", "RescaleSlope": 1, "RescaleIntercept": -2048, **where, **attributes}
    return write_dicom(path, np.full((2, 3), value + 2048, np.int16), CTImageStorage, **said)
