"""PNG and TIFF files as bytes, also of kinds that Pillow does not write."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy.typing as npt

Values = npt.NDArray[Any]

# How a TIFF file says whether its samples have a sign, or are fractions.
_SAMPLE_FORMATS = {"u": 1, "i": 2, "f": 3}


def png16(values: Values, exif: bytes = b"") -> bytes:
    """A PNG file of 16 bits per sample: grey and opacity, colours, or colours and opacity."""
    height, width, channels = values.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    return png(width, height, 16, {2: 4, 3: 2, 4: 6}[channels], rows, exif)


def png(width: int, height: int, bits: int, kind: int, rows: bytes, exif: bytes = b"") -> bytes:
    """A PNG file that says so much of its content, whatever that is."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + (chunk(b"eXIf", exif) if exif else b"")
    return b"\x89PNG\r\n\x1a\n" + chunks + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff(
    values: Values,
    *,
    end: str = "<",
    deflated: bool = False,
    planes: bool = False,
    photometric: int | None = None,
    orientation: int = 1,
) -> bytes:
    """A TIFF file in one strip, in either byte order, with samples of the type of the values."""
    height, width = values.shape[:2]
    channels = 1 if values.ndim == 2 else values.shape[2]
    data = (values if end == "<" else values.byteswap()).tobytes()
    data = zlib.compress(data) if deflated else data
    photometric = photometric if photometric is not None else 1 if channels <= 2 else 2
    tags: list[tuple[int, list[int]]] = [
        (256, [width]), (257, [height]), (258, [8 * values.dtype.itemsize] * channels), (259, [8 if deflated else 1]),
        (262, [photometric]), (273, [0]), (274, [orientation]), (277, [channels]), (278, [height]), (279, [0]),
        (284, [2 if planes else 1]), (338, [2]), (339, [_SAMPLE_FORMATS[values.dtype.kind]] * channels),
    ]  # fmt: skip
    tags = [(tag, said) for tag, said in tags if tag != 338 or channels in (2, 4)]
    after = 8 + 2 + 12 * len(tags) + 4
    lists = sum(2 * len(said) for _, said in tags if len(said) > 2)
    entries, more = b"", b""
    for tag, said in tags:
        if tag in (273, 279):
            entries += struct.pack(f"{end}HHII", tag, 4, 1, after + lists if tag == 273 else len(data))
            continue
        words = struct.pack(f"{end}{len(said)}H", *said)
        if len(said) > 2:
            entries += struct.pack(f"{end}HHII", tag, 3, len(said), after + len(more))
            more += words
        else:
            entries += struct.pack(f"{end}HHI", tag, 3, len(said)) + words.ljust(4, b"\0")
    head = (b"II" if end == "<" else b"MM") + struct.pack(f"{end}HIH", 42, 8, len(tags))
    return head + entries + struct.pack(f"{end}I", 0) + more + data
