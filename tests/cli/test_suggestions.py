"""What the shell is told to complete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palimpsest.cli.main import app
from palimpsest.session.places import session_path

FIRST = "0f0e0d0c-0000-4000-8000-000000000000"
SECOND = "1f0e0d0c-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("replay x --format claude", ["claude-code"]),
        ("compact x --format open", ["openai-chat", "opencode", "openhands"]),
        ("--permission-preset ", ["read-only", "workspace-write", "full-access"]),
        ("show 1f", [SECOND]),
        ("export ", [FIRST, SECOND]),
        ("sessions delete 0", [FIRST]),
        ("--session 2", []),
    ],
)
def test_what_is_completed(
    typed: str, offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    for name in (FIRST, SECOND):
        path = session_path(tmp_path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    asked = {
        "_PALIMPSEST_COMPLETE": "complete_bash",
        "COMP_WORDS": f"palimpsest {typed}",
        "COMP_CWORD": str(len(typed.split(" "))),
    }
    done = CliRunner().invoke(app, [], prog_name="palimpsest", env={**os.environ, **asked})
    assert sorted(done.output.split()) == sorted(offered)
