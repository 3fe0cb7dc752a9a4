"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from palimpsest.core.errors import UnwritableOutputError, WouldOverwriteError


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Find out before the work whether its output has a place.

    Raises:
        UnwritableOutputError: the folder is missing, or something that is no file stands there.
        WouldOverwriteError: the output is one of the inputs, whatever name it goes by.
    """
    if any(path.exists() and one.exists() and path.samefile(one) for one in inputs):
        raise WouldOverwriteError(str(path), is_input=True)
    if path.is_dir():
        raise UnwritableOutputError(str(path), "it is a folder")
    if path.exists() and not path.is_file():
        raise UnwritableOutputError(str(path), "it is no file")
    if not path.parent.is_dir():
        raise UnwritableOutputError(str(path), f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UnwritableOutputError(str(path), f"the folder {path.parent} may not be written to")


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Give a path to write to; it takes the place of ``path`` when the block ends well.

    Raises:
        OSError: there is no such folder, or the file cannot be written.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    partial = path.with_name(f".palimpsest-{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
