"""The server of one launch: a socket, the application, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable

import uvicorn

from palimpsest.session.host import SessionHost
from palimpsest.web.access import LOOPBACK_NAMES, Access
from palimpsest.web.app import create_app
from palimpsest.web.problems import WebError
from palimpsest.web.rooms import Rooms

DEFAULT_PORT = 8420
PORTS_TRIED = 20
DRAIN_S = 5
"""How long connections may take to end, once the server was asked to and the runs are saved."""


class PortTakenError(WebError):
    """The port that was asked for is in use."""

    code = "port_taken"


def listen(host: str, port: int | None) -> socket.socket:
    """Bind a socket.

    Args:
        host: name or address of this machine.
        port: the one to take; None takes the first free one from ``DEFAULT_PORT`` on.

    Raises:
        PortTakenError: the port is in use, or none of those tried is free.
        OSError: the host cannot be listened on.
    """
    ports = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in ports:
        try:
            return socket.create_server((host, candidate), family=family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    tried = f"{ports[0]}" if port is not None else f"{ports[0]} to {ports[-1]}"
    raise PortTakenError(f"Port {tried} of {host} is in use; name a free one with --port.")


class _Server(uvicorn.Server):
    """Ends the runs before it waits for the connections: what those wait for ends with them."""

    def __init__(self, config: uvicorn.Config, rooms: Rooms) -> None:
        super().__init__(config)
        self._rooms = rooms

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, end the runs, then do as ever."""
        for server in self.servers:
            server.close()
        await self._rooms.shut_down()
        await super().shutdown(sockets)


async def serve(
    host: SessionHost,
    listening: socket.socket,
    ready: Callable[[str], None],
    *,
    beside: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or cancelled; then runs are aborted and saved, streams end.

    Args:
        host: holds the sessions; shut down at the end.
        listening: from ``listen``; closed at the end.
        ready: called once with the link that opens the page.
        beside: runs meanwhile, and no longer than the server.
    """
    name, port = listening.getsockname()[:2]
    own = f"[{name}]" if ":" in name else name
    access = Access(names={own, *LOOPBACK_NAMES})
    app = create_app(host, access=access)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=DRAIN_S
    )
    ready(f"http://{own}:{port}/?token={access.token}")
    server = _Server(config, app.state.rooms)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    acting = None if beside is None else asyncio.ensure_future(beside())
    with listening:
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await serving
            raise
        finally:
            if acting is not None:
                acting.cancel()
