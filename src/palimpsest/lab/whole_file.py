"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from palimpsest.core.errors import UnwritableOutputError


def check_output(path: Path) -> None:
    """Find out before the work whether its output has a place.

    Raises:
        UnwritableOutputError: the folder is missing, or a folder stands there.
    """
    if path.is_dir():
        raise UnwritableOutputError(str(path), "it is a folder")
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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
