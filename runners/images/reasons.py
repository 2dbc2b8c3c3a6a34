"""Why a file gives no picture, in words of our own: those of the libraries quote paths and values of headers."""

from __future__ import annotations

import os
from pathlib import Path

from fmfair.runners.images.picture import ImageError

# What libraries say of a file that ends too early.
_CUT_OFF = ("truncated", "end of file", "end-of-stream", "less than expected", "bytes, got")


def why(error: Exception) -> str:
    """A reason for an error of any library.

    Examples:
        >>> why(EOFError()), why(KeyError("DOE^JOHN"))
        ('ends too early: it was cut off', 'is damaged, or is not what its name says (KeyError)')
    """
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError) and error.errno:
        return f"cannot be read: {os.strerror(error.errno)}"
    if isinstance(error, MemoryError):
        return "needs more memory than there is"
    text = str(error).lower()
    if isinstance(error, EOFError) or any(sign in text for sign in _CUT_OFF):
        return "ends too early: it was cut off"
    return f"is damaged, or is not what its name says ({type(error).__name__})"


def check_file(path: Path) -> None:
    """Before a file is opened.

    Raises:
        ImageError: There is no such file, it is something else, or it is empty.
    """
    if not path.is_file():
        raise ImageError("is no regular file" if path.exists() else "does not exist")
    if path.stat().st_size == 0:
        raise ImageError("is empty")
