from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder; its sessions stand beside it."""
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
