"""The image on the clipboard, by whichever tool of the desktop is there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_TOOLS: Sequence[Sequence[str]] = (
    ("wl-paste", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)

_PNG = b"\x89PNG\r\n"
_PATIENCE_S = 5.0


def save_clipboard_image() -> Path | None:
    """Write the image to a file of its own and give that; None where there is none."""
    for command in _TOOLS:
        if shutil.which(command[0]) is None:
            continue
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE_S)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.startswith(_PNG):
            with tempfile.NamedTemporaryFile(
                prefix="palimpsest-", suffix=".png", delete=False
            ) as file:
                file.write(done.stdout)
            return Path(file.name)
    return None
