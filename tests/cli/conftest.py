from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def without_sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that has a shell and no bubblewrap: commands are asked about."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "bash"):
        found = shutil.which(name)
        if found is not None:
            (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
