"""Where session files stand: one folder a project, under the data directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from platformdirs import user_data_path

SUFFIX = ".jsonl"

HOME_VARIABLE = "PALIMPSEST_HOME"
"""Names the data directory, where the platform's is not wanted."""


def data_directory() -> Path:
    """Give the data directory: ``PALIMPSEST_HOME``, else the platform's for this user."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen) if chosen else user_data_path("palimpsest", appauthor=False)


def project_directory(cwd: Path) -> Path:
    """Give the folder for the sessions of a project: its name, and a hash of its whole path."""
    whole = str(cwd.absolute())
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", cwd.absolute().name).strip("-.") or "root"
    digest = sha256(os.fsencode(whole)).hexdigest()[:12]
    return data_directory() / "sessions" / f"{name[:40]}-{digest}"


def session_files() -> Iterator[Path]:
    """Find the session files of every project, in no order."""
    return (data_directory() / "sessions").glob(f"*/*{SUFFIX}")


def session_path(cwd: Path, session_id: str) -> Path:
    """Give the file of a session of a project."""
    return project_directory(cwd) / f"{session_id}{SUFFIX}"


def is_session_id(name: str) -> bool:
    """Whether a name is a UUID as sessions are named, and so no path to somewhere else."""
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name) is not None
