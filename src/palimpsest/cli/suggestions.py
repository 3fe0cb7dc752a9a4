"""What the shell completes behind options and arguments; imported for that alone."""

from __future__ import annotations

from pathlib import Path


def formats(incomplete: str) -> list[str]:
    """Give the formats of recordings that begin so."""
    from palimpsest.transcripts import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


def presets(incomplete: str) -> list[str]:
    """Give the permission presets that begin so."""
    from palimpsest.session.permissions import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def sessions(incomplete: str) -> list[str]:
    """Give the ids of this project's sessions that begin so."""
    from palimpsest.session.places import SUFFIX, project_directory

    files = project_directory(Path.cwd()).glob(f"*{SUFFIX}")
    return sorted(file.stem for file in files if file.stem.startswith(incomplete))
