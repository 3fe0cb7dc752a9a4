"""Servers of the Model Context Protocol: started with the first prompt, closed with the session."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Literal, Protocol, TextIO, TypeAlias, assert_never, cast

from pydantic_ai.toolsets import AbstractToolset

from palimpsest.core.errors import InvalidSettingError, McpServerError, MissingExtraError

if TYPE_CHECKING:
    from pydantic_ai.mcp import MCPToolset

    from palimpsest.session.permissions import PermissionPreset

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpStdioServer:
    """A server that is a program of this machine.

    Attributes:
        command: the program.
        arguments: what it is called with.
        environment: variables beside PATH, HOME and the like; nothing else is handed on.
        trusted: its tools need not ask, in any preset.
        start_timeout_s: seconds that it may take to answer first.
    """

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    trusted: bool = False
    start_timeout_s: float = 30.0
    kind: Literal["stdio"] = "stdio"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpHttpServer:
    """A server that is reached by HTTP.

    Attributes:
        url: its address.
        headers: sent with every request, a key for example.
        trusted: its tools need not ask, in any preset.
        start_timeout_s: seconds that it may take to answer first.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    trusted: bool = False
    start_timeout_s: float = 30.0
    kind: Literal["http"] = "http"


McpServer: TypeAlias = McpStdioServer | McpHttpServer


class _Program(Protocol):
    """What runs a program: it outlives connections, and is started anew if it died."""

    log_file: Path | TextIO | None

    async def disconnect(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A server and how it is spoken to; ``program`` is what runs it where it is one of ours."""

    server: McpServer
    toolset: MCPToolset[None]
    program: _Program | None = None


class McpServers:
    """The servers of one session. A tool is called by its server's name, ``_``, and its own."""

    def __init__(self, servers: Mapping[str, McpServer], *, cwd: Path) -> None:
        """Take servers by name; none is started yet.

        Args:
            servers: by a name of letters, digits and ``-``.
            cwd: where programs are started.

        Raises:
            InvalidSettingError: a name has other characters, or more than 32.
            MissingExtraError: the extra ``mcp`` is not installed.
        """
        for name in servers:
            if _NAME.fullmatch(name) is None:
                raise InvalidSettingError("mcp_servers", name, "a name of letters, digits and -")
        self._known = {name: _prepare(name, server, cwd) for name, server in servers.items()}
        self._said: dict[str, TextIO] = {}

    def toolsets(self, preset: PermissionPreset) -> list[AbstractToolset[None]]:
        """Give the servers' tools; unless access is full or a server trusted, each call asks."""
        return [
            known.toolset.prefixed(name)
            if preset == "full-access" or known.server.trusted
            else known.toolset.prefixed(name).approval_required()
            for name, known in self._known.items()
        ]

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[None]:
        """Hold connections to all servers; a program that does not run is started, and stays.

        Raises:
            McpServerError: one did not start.
        """
        async with AsyncExitStack() as stack:
            for name, known in self._known.items():
                await self._connect(stack, name, known)
            yield

    async def close(self) -> None:
        """End the programs."""
        try:
            for known in self._known.values():
                if known.program is not None:
                    await known.program.disconnect()
        finally:
            for file in self._said.values():
                file.close()

    async def _connect(self, stack: AsyncExitStack, name: str, known: _Known) -> None:
        from fastmcp.exceptions import McpError
        from httpx2 import HTTPError

        said = None if known.program is None else self._listen(name, known.program)
        try:
            await stack.enter_async_context(known.toolset)
        except (RuntimeError, OSError, McpError, HTTPError) as error:
            raise McpServerError(name, _reason(error, said)) from error

    def _listen(self, name: str, program: _Program) -> TextIO:
        """Keep what a program says on its standard error off the terminal."""
        if name not in self._said:
            file = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see close
            self._said[name] = program.log_file = cast("TextIO", file)
        return self._said[name]


NO_SERVERS = McpServers({}, cwd=Path())


def _prepare(name: str, server: McpServer, cwd: Path) -> _Known:
    try:
        from fastmcp.client.transports import StdioTransport
        from pydantic_ai.mcp import MCPToolset
    except ImportError as error:
        raise MissingExtraError("An MCP server", "palimpsest-ai[mcp]") from error
    match server:
        case McpStdioServer():
            program = StdioTransport(
                server.command,
                [*server.arguments],
                env=dict(server.environment),
                cwd=str(cwd),
                keep_alive=True,
            )
            toolset = MCPToolset[None](
                program,
                id=name,
                init_timeout=server.start_timeout_s,
                tool_error_behavior="failed",
            )
            return _Known(server=server, toolset=toolset, program=program)
        case McpHttpServer():
            toolset = MCPToolset[None](
                server.url,
                id=name,
                headers=dict(server.headers),
                init_timeout=server.start_timeout_s,
                tool_error_behavior="failed",
            )
            return _Known(server=server, toolset=toolset)
        case _:
            assert_never(server)


def _reason(error: Exception, said: TextIO | None) -> str:
    """Give the failure in the library's words, and the last that the program said."""
    reason = str(error).removeprefix("Client failed to connect: ") or type(error).__name__
    if said is None:
        return reason
    said.seek(0)
    lines = [line.strip() for line in said if line.strip()]
    return f"{reason}; it said: {lines[-1]}" if lines else reason
