"""Servers of the Model Context Protocol: real programs and a real address of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic_ai.messages import ToolReturnPart

from palimpsest import McpHttpServer, McpStdioServer, SessionManager, SessionSettings
from palimpsest.core.errors import InvalidSettingError, McpServerError, MissingExtraError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.mcp import McpServer
from palimpsest.session.permissions import PermissionPreset
from palimpsest.testing import Reply, ScriptedModel
from tests.session.mcp_program import respond
from tests.session.test_create import call
from tests.session.waiting import until

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("mcp_program.py")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def numbers(**choices: Any) -> McpStdioServer:
    return McpStdioServer(command=sys.executable, arguments=(str(PROGRAM),), **choices)


async def opened(
    script: list[Reply],
    server: McpServer,
    *,
    preset: PermissionPreset = "full-access",
    name: str = "numbers",
) -> tuple[AgentSession, ScriptedModel]:
    model = ScriptedModel(script, window=64_000)
    session = await create_agent_session(
        session_manager=SessionManager.in_memory(PROGRAM.parent),
        model=model,
        tools=[],
        settings=SessionSettings(
            summarizer="extractive", permission_preset=preset, mcp_servers={name: server}
        ),
    )
    return session, model


def results(session: AgentSession) -> list[tuple[str, str]]:
    return [
        (part.outcome, str(part.content))
        for message in session.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_one_program_serves_all_prompts_and_ends_with_the_session(
    capfd: pytest.CaptureFixture[str],
) -> None:
    use = call("numbers_double", n=21)
    script = [use, Reply(text="one"), use, Reply(text="two")]
    session, model = await opened(script, numbers(environment={"NUMBERS_KEY": "a key"}))
    async with session:
        assert await session.prompt("go") == "one"
        assert await session.prompt("go") == "two"
        first, second = results(session)
        assert first == second == ("success", first[1])
        assert first[1].startswith("42 from ") and first[1].endswith("with a key")
        pid = int(first[1].split()[2])
        assert is_alive(pid)
        assert set(model.requests[0].parameters.declared_tool_defs) == {
            "numbers_double",
            "numbers_die",
        }
    assert not is_alive(pid)
    assert "ready" not in capfd.readouterr().err


async def test_nothing_is_started_before_the_first_prompt() -> None:
    gone = McpStdioServer(command="/no/such/program")
    session, _ = await opened([], gone)
    async with session:
        assert session.state.message_count == 0


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (McpStdioServer(command="/no/such/program"), "No such file or directory"),
        (
            McpStdioServer(command=sys.executable, arguments=("-c", "import not_here")),
            "it said: ModuleNotFoundError: No module named 'not_here'",
        ),
        (
            McpStdioServer(
                command=sys.executable,
                arguments=("-c", "import sys; sys.stdin.read()"),
                start_timeout_s=0.1,
            ),
            "Failed to initialize",
        ),
        (McpHttpServer(url="http://127.0.0.1:9/mcp"), "connection attempts failed"),
    ],
    ids=["no program", "a program that fails", "a program that is silent", "no address"],
)
async def test_a_server_that_does_not_start_is_named_and_the_prompt_not_accepted(
    server: McpServer, reason: str
) -> None:
    session, _ = await opened([], server)
    async with session:
        with pytest.raises(McpServerError, match=reason) as caught:
            await session.prompt("go")
        assert str(caught.value).startswith("The MCP server 'numbers' did not start: ")
        assert session.state.message_count == 0
        assert session.state.outcome == "error"
        assert not session.state.has_pending_save


async def test_calls_ask_unless_access_is_full() -> None:
    script = [call("numbers_double", n=1), Reply(text="done")]
    session, _ = await opened(script, numbers(), preset="workspace-write")
    async with session:
        running = asyncio.ensure_future(session.prompt("go"))
        await until(session, lambda: bool(session.state.pending_approvals))
        (request,) = session.state.pending_approvals
        assert (request.tool_name, json.loads(request.arguments)) == ("numbers_double", {"n": 1})
        session.answer_approval(request.request_id, approved=False)
        await running
        assert [outcome for outcome, _ in results(session)] == ["denied"]


@pytest.mark.parametrize("preset", ["read-only", "workspace-write"])
async def test_a_trusted_server_need_not_ask(preset: PermissionPreset) -> None:
    script = [call("numbers_double", n=1), Reply(text="done")]
    session, _ = await opened(script, numbers(trusted=True), preset=preset)
    async with session:
        await session.prompt("go")
        assert [outcome for outcome, _ in results(session)] == ["success"]


async def test_a_server_that_dies_is_told_to_the_model_and_started_anew() -> None:
    use = call("numbers_double", n=4)
    script = [use, call("numbers_die"), Reply(text="It died."), use, Reply(text="Back.")]
    session, _ = await opened(script, numbers())
    async with session:
        assert await session.prompt("go") == "It died."
        assert await session.prompt("again") == "Back."
        before, death, after = results(session)
    assert death[0] != "success"
    assert before[1].split()[2] != after[1].split()[2]


class _Handler(BaseHTTPRequestHandler):
    """The protocol over HTTP: one JSON answer a request."""

    keys: list[str | None]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.keys.append(self.headers.get("X-Key"))
        if "id" not in body:
            self.send_response(202)
            self.end_headers()
            return
        data = json.dumps(respond(body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.send_response(405)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    _Handler.keys = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_server_at_an_address(address: str) -> None:
    script = [call("numbers_double", n=8), Reply(text="done")]
    session, _ = await opened(script, McpHttpServer(url=address, headers={"X-Key": "a key"}))
    async with session:
        await session.prompt("go")
        assert results(session)[0][1].startswith("16 from ")
    assert set(_Handler.keys) == {"a key"}


async def test_a_name_that_no_tool_could_have_is_refused() -> None:
    with pytest.raises(InvalidSettingError, match="mcp_servers"):
        await opened([], numbers(), name="my server")


async def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.mcp", None)
    with pytest.raises(MissingExtraError, match=r"palimpsest-ai\[mcp\]"):
        await opened([], numbers())
