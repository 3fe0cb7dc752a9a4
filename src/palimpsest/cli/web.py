"""``palimpsest web``: the page of this folder's sessions, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from palimpsest.core.errors import PalimpsestError
    from palimpsest.session.agent_session import AgentSession
    from palimpsest.session.host import SessionHost
    from palimpsest.session.manager import SessionManager

EXAMPLES = """\b
Examples:
  palimpsest web
  palimpsest web --port 9000 --no-browser
  palimpsest web --model anthropic:claude-sonnet-4-5
  palimpsest web --demo
  palimpsest web --host 0.0.0.0 --no-browser
"""

LOOPBACK_ADDRESSES = frozenset({"127.0.0.1", "::1"})

SCRIPTED = "The agent is scripted: whatever you type, it goes on with the next task of its story."

ELSEWHERE = """\
Other machines reach it by that link, or by another address of this machine in its place, no name.
Whoever opens the link first works as you do on this machine, and nothing is encrypted on the way:
use it in a network you trust, or --host 127.0.0.1 and a tunnel (ssh -L)."""


def web(
    *,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65_535,
            metavar="PORT",
            help="Where to listen; the first free port from 8420 on if not given.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; 0.0.0.0 lets other machines in, too."
        ),
    ] = "127.0.0.1",
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Model of new sessions, as provider:model.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a scripted agent at work; needs no key.")
    ] = False,
) -> None:
    """Work with the agent in a browser: sessions, context, compactions, originals.

    The link holds a token that works once; the browser keeps a cookie for it.
    """
    import asyncio

    from palimpsest.core.errors import MissingExtraError

    try:
        from palimpsest.web.app import require_page
        from palimpsest.web.server import listen, serve
    except ModuleNotFoundError as error:
        raise MissingExtraError("web", "palimpsest-ai[web]") from error

    if not demo:
        _check_model(model)
    require_page()

    def ready(link: str) -> None:
        typer.echo(f"Palimpsest listens. Open {link}")
        if listening.getsockname()[0] not in LOOPBACK_ADDRESSES:
            typer.echo(ELSEWHERE)
        if browser:
            typer.launch(link)

    def unsaved(error: PalimpsestError) -> None:
        typer.echo(str(error), err=True)

    listening = listen(host, port)
    if demo:
        from palimpsest.lab.stage import stage

        with stage() as (sessions, first, act):

            def ready_on_first(link: str) -> None:
                typer.echo(SCRIPTED)
                ready(f"{link}#{first}")

            def failed(error: BaseException) -> None:
                typer.echo(f"palimpsest: the demo's agent goes on no further: {error}", err=True)

            asyncio.run(
                serve(
                    sessions, listening, ready_on_first, unsaved=unsaved, beside=act, failed=failed
                )
            )
    else:
        asyncio.run(serve(_sessions(model), listening, ready, unsaved=unsaved))


def _check_model(model: str | None) -> None:
    """Say here, not only in the browser, what is wrong with the model of new sessions.

    One that was not asked for on the command line ends nothing: stored sessions have their own.
    """
    from palimpsest.cli.open import check_default_model
    from palimpsest.core.errors import UsageError
    from palimpsest.models.resolve import resolve_model

    if model is not None:
        resolve_model(model)
        return
    try:
        check_default_model()
    except UsageError as error:
        typer.echo(f"palimpsest: no new session can begin yet. {error}", err=True)


def _sessions(model: str | None) -> SessionHost:
    from palimpsest.cli.open import Choices, open_session
    from palimpsest.session.host import SessionHost

    async def open_stored_or_new(manager: SessionManager) -> AgentSession:
        is_stored = manager.path is not None and manager.path.exists()
        choices = Choices(session=str(manager.path)) if is_stored else Choices(model=model)
        return await open_session(manager, choices)

    return SessionHost(open_stored_or_new, Path.cwd())
