from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from palimpsest.core.errors import (
    NoSessionYetError,
    SessionFileError,
    SessionLockedError,
    SessionNotFoundError,
    UnknownModelError,
)
from palimpsest.models.limits import LimitChoices
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.permissions import PermissionPreset
from palimpsest.session.places import session_path
from palimpsest.session.settings import SessionSettings
from palimpsest.testing import Call, Reply, ScriptedModel
from tests.session.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Always answer in verse.\n")
    (folder / "app.py").write_text("def parse_date(text):\n    return text\n")
    return folder


async def opened(
    manager: SessionManager,
    script: list[Reply],
    *,
    preset: PermissionPreset = "full-access",
    sandboxes_commands: bool = True,
) -> tuple[AgentSession, ScriptedModel]:
    model = ScriptedModel(script, window=64_000)
    session = await create_agent_session(
        session_manager=manager,
        model=model,
        settings=SessionSettings(
            permission_preset=preset,
            sandboxes_commands=sandboxes_commands,
            summarizer="extractive",
            limits=LimitChoices(window=64_000, max_output=2_000),
        ),
    )
    return session, model


def call(tool: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(tool=tool, arguments=arguments),))


def results(session: AgentSession) -> list[tuple[str, str, str]]:
    return [
        (part.tool_name, part.outcome, str(part.content))
        for message in session.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def test_real_tools_work_on_a_real_project(project: Path) -> None:
    script = [
        call("read_file", path="app.py"),
        call("write_file", path="notes.txt", content="seen\n"),
        call("run_command", command="grep -c parse_date app.py"),
        Reply(text="done"),
    ]
    session, model = await opened(SessionManager.create(project), script)
    async with session:
        assert await session.prompt("look around") == "done"
        assert (project / "notes.txt").read_text() == "seen\n"
        names = [name for name, outcome, _ in results(session) if outcome == "success"]
        assert names == ["read_file", "write_file", "run_command"]
        assert "parse_date" in results(session)[0][2]
    assert "Always answer in verse." in model.requests[0].text


async def test_instruction_files_are_read_anew_for_each_prompt(project: Path) -> None:
    session, model = await opened(
        SessionManager.create(project), [Reply(text="one"), Reply(text="two")]
    )
    async with session:
        await session.prompt("first")
        (project / "AGENTS.md").write_text("Always answer in prose.\n")
        await session.prompt("second")
    assert "in verse" in model.requests[0].text
    assert "in prose" not in model.requests[0].text
    assert "in prose" in model.requests[1].text


async def test_without_a_sandbox_commands_ask_first_unless_access_is_full(project: Path) -> None:
    script = [call("run_command", command="echo hi"), Reply(text="done")]
    session, _ = await opened(
        SessionManager.create(project), script, preset="workspace-write", sandboxes_commands=False
    )
    async with session:
        running = asyncio.ensure_future(session.prompt("go"))
        await until(session, lambda: bool(session.state.pending_approvals))
        (request,) = session.state.pending_approvals
        assert request.tool_name == "run_command"
        assert "echo hi" in request.arguments
        session.answer_approval(request.request_id, approved=False)
        await running
        assert results(session)[0][1] == "denied"


async def test_read_only_neither_writes_nor_runs(project: Path) -> None:
    session, model = await opened(
        SessionManager.create(project), [Reply(text="done")], preset="read-only"
    )
    async with session:
        await session.prompt("go")
    tools = set(model.requests[0].parameters.declared_tool_defs)
    assert "read_file" in tools
    assert not tools & {"write_file", "edit_file", "run_command", "start_command"}


async def test_mistakes_in_a_row_are_told_to_the_model_and_do_not_end_the_run(
    project: Path,
) -> None:
    wrong = call("edit_file", path="app.py", old_text="not there", new_text="x")
    script = [*[wrong] * 4, call("edit_file", path="app.py", old_text="text\n", new_text="date\n")]
    session, _ = await opened(SessionManager.create(project), [*script, Reply(text="done")])
    async with session:
        assert await session.prompt("go") == "done"
        outcomes = [outcome for _, outcome, _ in results(session)]
        assert outcomes == ["retried"] * 4 + ["success"]


async def test_too_many_mistakes_in_a_row_end_the_run(project: Path) -> None:
    wrong = call("edit_file", path="app.py", old_text="not there", new_text="x")
    session, _ = await opened(SessionManager.create(project), [wrong] * 20)
    async with session:
        with pytest.raises(UnexpectedModelBehavior, match="max retries"):
            await session.prompt("go")
        assert len(results(session)) == 11
        assert session.state.outcome == "error"


async def test_a_key_named_twice_is_refused(project: Path) -> None:
    twice = ToolCallPart(
        tool_name="write_file",
        args='{"path": "safe.txt", "content": "x", "path": "evil.txt"}',
        tool_call_id="c1",
    )
    session, _ = await opened(
        SessionManager.create(project), [Reply(parts=(twice,)), Reply(text="sorry")]
    )
    async with session:
        await session.prompt("go")
        assert results(session)[0][1] == "retried"
    assert not (project / "evil.txt").exists()
    assert not (project / "safe.txt").exists()


async def test_a_session_is_continued_where_it_stopped(project: Path) -> None:
    manager = SessionManager.draft(project)
    assert manager.path is not None
    session, _ = await opened(manager, [Reply(text="one")])
    assert not manager.path.exists()
    await session.prompt("first")
    assert manager.path.exists()
    with pytest.raises(SessionLockedError):
        await SessionManager.open(manager.path)
    await session.dispose()
    again, model = await opened(await SessionManager.continue_recent(project), [Reply(text="two")])
    async with again:
        assert again.id == session.id
        assert await again.prompt("second") == "two"
        assert "first" in model.requests[0].text
        replies = [reply.text for reply in again.messages if isinstance(reply, ModelResponse)]
        assert replies == ["one", "two"]
    (listed,) = SessionManager.list(project)
    assert listed.kind == "session"
    assert listed.message_count == len(again.messages)


async def test_a_manager_serves_one_session_on_file_at_a_time(project: Path) -> None:
    manager = SessionManager.create(project)
    first, _ = await opened(manager, [Reply(text="one")])
    await first.prompt("first")
    await first.dispose()
    assert manager.path is not None
    manager = await SessionManager.open(manager.path)
    again, _ = await opened(manager, [Reply(text="two")])
    with pytest.raises(SessionLockedError):
        await opened(manager, [])
    await again.prompt("second")
    before = list(again.messages)
    await again.dispose()
    third, _ = await opened(manager, [])
    assert list(third.messages) == before
    await third.dispose()


async def test_what_cannot_be_opened_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoSessionYetError, match=f"no session of {re.escape(str(project))} yet"):
        await SessionManager.continue_recent(project)
    broken = session_path(project, "broken")
    broken.parent.mkdir(parents=True)
    broken.write_text("{}\n")
    with pytest.raises(SessionFileError, match=r"broken\.jsonl, line 1"):
        await SessionManager.continue_recent(project)
    with pytest.raises(SessionNotFoundError):
        await SessionManager.open(project / "none.jsonl")
    monkeypatch.delenv("PALIMPSEST_MODEL", raising=False)
    with pytest.raises(UnknownModelError, match="PALIMPSEST_MODEL"):
        await create_agent_session(session_manager=SessionManager.in_memory(project))
