"""``workspace-write``: commands run in a real sandbox, or ask."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from palimpsest.session.manager import SessionManager
from palimpsest.session.sandbox import SANDBOX_NOTE, can_sandbox
from palimpsest.testing import Reply
from tests.session.test_create import call, opened, results
from tests.session.waiting import until

pytestmark = pytest.mark.anyio


def _sandbox_reason() -> str:
    """Why there is no sandbox here, or empty."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    tried = subprocess.run(
        [
            "bwrap",
            "--unshare-user",
            "--unshare-net",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "true",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else f"no user namespaces: {tried.stderr.strip()}"


REASON = _sandbox_reason()
needs_sandbox = pytest.mark.skipif(bool(REASON), reason=REASON)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@needs_sandbox
async def test_commands_write_in_the_project_without_asking(project: Path) -> None:
    script = [call("run_command", command="echo hi > new.txt && cat new.txt"), Reply(text="done")]
    session, model = await opened(SessionManager.create(project), script, preset="workspace-write")
    async with session:
        assert await session.prompt("go") == "done"
        assert "hi" in results(session)[0][2]
    assert (project / "new.txt").read_text() == "hi\n"
    assert SANDBOX_NOTE in model.requests[0].instructions


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder, and a home in it, that are not under /tmp: the sandbox has a /tmp of its own."""
    with TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "home" / ".ssh").mkdir(parents=True)
        (folder / "home" / ".ssh" / "id").write_text("the key")
        (folder / "home" / "notes").write_text("the notes")
        (folder / "project").mkdir()
        monkeypatch.setenv("HOME", str(folder / "home"))
        yield folder


@needs_sandbox
async def test_commands_reach_nothing_else(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    connect = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9), 1)'"
    commands = (f"echo no > {elsewhere}/file", "cat ~/notes", "cat ~/.ssh/id", connect)
    script = [*(call("run_command", command=one) for one in commands), Reply(text="done")]
    manager = SessionManager.create(elsewhere / "project")
    session, _ = await opened(manager, script, preset="workspace-write")
    async with session:
        await session.prompt("go")
        wrote, notes, key, network = (text for _, _, text in results(session))
    assert "Read-only file system" in wrote
    assert not (elsewhere / "file").exists()
    assert "the notes" in notes
    assert "the key" not in key
    assert "Operation not permitted" in network


@needs_sandbox
async def test_files_are_written_and_read_there_too(project: Path) -> None:
    script = [
        call("write_file", path="a.txt", content="one\n"),
        call("edit_file", path="a.txt", old_text="one", new_text="two"),
        call("read_file", path="a.txt"),
        Reply(text="done"),
    ]
    session, _ = await opened(SessionManager.create(project), script, preset="workspace-write")
    async with session:
        await session.prompt("go")
        assert [outcome for _, outcome, _ in results(session)] == ["success"] * 3
    assert (project / "a.txt").read_text() == "two\n"


@needs_sandbox
async def test_the_preset_decides_anew_when_it_changes(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    script = [
        call("run_command", command=f"echo no > {outside}"),
        Reply(text="one"),
        call("run_command", command=f"echo yes > {outside}"),
        Reply(text="two"),
    ]
    session, model = await opened(SessionManager.create(project), script, preset="workspace-write")
    async with session:
        await session.prompt("go")
        assert not outside.exists()
        await session.set_permission_preset("full-access")
        await session.prompt("go")
    assert outside.read_text() == "yes\n"
    assert SANDBOX_NOTE not in model.requests[-1].instructions


async def test_where_there_is_no_sandbox_commands_ask(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    shell = shutil.which("sh")
    assert shell is not None
    (tmp_path / "bin" / "sh").symlink_to(shell)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    script = [call("run_command", command="echo hi"), Reply(text="done")]
    session, _ = await opened(SessionManager.create(project), script, preset="workspace-write")
    async with session:
        running = asyncio.ensure_future(session.prompt("go"))
        await until(session, lambda: bool(session.state.pending_approvals))
        (request,) = session.state.pending_approvals
        session.answer_approval(request.request_id, approved=True)
        await running
        assert results(session)[0][1] == "success"


async def test_a_sandbox_that_cannot_start_is_none(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    fake = folder / "bwrap"
    fake.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert not await can_sandbox(project)


async def test_a_folder_that_holds_the_home_folder_gets_none() -> None:
    assert not await can_sandbox(Path.home())
    assert not await can_sandbox(Path.home().parent)
    assert not (Path.home() / ".bashrc").exists()
