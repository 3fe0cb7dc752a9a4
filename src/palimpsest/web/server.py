"""The server of one launch: a socket, the application, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

import uvicorn

from palimpsest.core.errors import PalimpsestError
from palimpsest.session.host import SessionHost
from palimpsest.web.access import Access, in_url
from palimpsest.web.app import create_app
from palimpsest.web.problems import WebError
from palimpsest.web.rooms import Rooms

DEFAULT_PORT = 8420
PORTS_TRIED = 20
DRAIN_S = 5
"""How long connections may take to end, once the server was asked to and the runs are saved."""


_FAR = {4: (socket.AF_INET, "192.0.2.1"), 6: (socket.AF_INET6, "2001:db8::1")}
"""Addresses of no machine, set aside for documentation."""


class PortTakenError(WebError):
    """The port that was asked for is in use."""

    code = "port_taken"


class CannotListenError(WebError):
    """The operating system does not let this process listen there."""

    code = "cannot_listen"


def listen(host: str, port: int | None) -> socket.socket:
    """Bind a socket.

    Args:
        host: name or address of this machine.
        port: the one to take; None takes the first free one from ``DEFAULT_PORT`` on.

    Raises:
        PortTakenError: the port is in use, or none of those tried is free.
        CannotListenError: the host is none of this machine, or the port is not for everybody.
    """
    if not host.strip() or host != host.encode("utf-8", "replace").decode():
        raise CannotListenError(f"Cannot listen on {host!r}: name an address with --host.")
    ports = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in ports:
        try:
            return socket.create_server((host, candidate), family=family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                reason = (error.strerror or str(error)).partition(" (while")[0]
                raise CannotListenError(
                    f"Cannot listen on {host}, port {candidate}: {reason}; name an address of this "
                    "machine with --host, or another port with --port."
                ) from error
    tried = f"{ports[0]}" if port is not None else f"{ports[0]} to {ports[-1]}"
    raise PortTakenError(f"Port {tried} of {host} is in use; name a free one with --port.")


def reachable(address: str) -> str:
    """Give an address of this machine under which a server that listens on ``address`` is found.

    One that listens on every address is found, by other machines too, under the one that this
    machine sends from; nothing is sent to learn it.
    """
    if not ip_address(address).is_unspecified:
        return address
    family, far = _FAR[ip_address(address).version]
    with socket.socket(family, socket.SOCK_DGRAM) as route:
        try:
            route.connect((far, 9))
        except OSError:  # no network
            return "::1" if family is socket.AF_INET6 else "127.0.0.1"
        own: str = route.getsockname()[0]
        return own


class _Server(uvicorn.Server):
    """Ends the runs before it waits for the connections: what those wait for ends with them."""

    def __init__(
        self, config: uvicorn.Config, rooms: Rooms, unsaved: Callable[[PalimpsestError], None]
    ) -> None:
        super().__init__(config)
        self._rooms = rooms
        self._unsaved = unsaved

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, end the runs, then do as ever."""
        for server in self.servers:
            server.close()
        # Said here: a signal takes effect again as soon as the server has stopped.
        for error in await self._rooms.shut_down():
            self._unsaved(error)
        await super().shutdown(sockets)


async def serve(
    host: SessionHost,
    listening: socket.socket,
    ready: Callable[[str], None],
    *,
    unsaved: Callable[[PalimpsestError], None] = lambda _: None,
    beside: Callable[[], Awaitable[None]] | None = None,
    failed: Callable[[BaseException], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM, SIGINT or cancelled; then runs are aborted and saved, streams end.

    Args:
        host: holds the sessions; shut down at the end.
        listening: from ``listen``; closed at the end.
        ready: called once with the link that opens the page.
        unsaved: called at the end for each session that could not be saved.
        beside: runs meanwhile, and no longer than the server; an error that ends it is told by
            ``failed``, and the server goes on.
        failed: see ``beside``.
    """
    name, port = listening.getsockname()[:2]
    access = Access()
    app = create_app(host, access=access)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=DRAIN_S
    )
    ready(f"http://{in_url(reachable(name))}:{port}/?token={access.token}")
    server = _Server(config, app.state.rooms, unsaved)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    acting = None if beside is None else asyncio.ensure_future(beside())

    def on_acted(task: asyncio.Future[None]) -> None:
        # What the end of the server does to it, or somebody's Stop, is no failure.
        error = None if task.cancelled() else task.exception()
        if error is not None and not server.should_exit:
            failed(error)

    if acting is not None:
        acting.add_done_callback(on_acted)
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
