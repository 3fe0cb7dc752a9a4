"""Print mode: one prompt in, the answer out; for scripts and pipelines."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

import typer

from palimpsest.cli.mentions import attachments, mentioned_skills
from palimpsest.cli.open import Choices, manager_for, open_session, skill_loader
from palimpsest.cli.termination import terminated
from palimpsest.core.errors import MissingExtraError, PalimpsestError, SaveFailedError
from palimpsest.lab.plain import one_line
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.events import ApprovalRequested, SessionEvent, Settled

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]


async def ask(prompt: str, choices: Choices, cwd: Path, output_format: OutputFormat) -> int:
    """Run one prompt to its end; give the exit status.

    Standard output carries the answer, or JSON, and nothing else.

    Raises:
        PalimpsestError: the session cannot be opened, or refuses the prompt.
    """
    with terminated() as came:
        try:
            return await _run(prompt, choices, cwd, output_format)
        except asyncio.CancelledError:
            if came():
                return 143
            raise


async def _run(prompt: str, choices: Choices, cwd: Path, output_format: OutputFormat) -> int:
    session = await open_session(await manager_for(choices, cwd), choices)
    async with _saving_once(session):
        session.subscribe(_Refuser(session))
        writer = _Writer(session, streams=output_format == "stream-json")
        session.subscribe(writer)
        result = await _prompt(session, prompt, cwd)
        if writer.broken is not None:
            raise writer.broken
        settled = writer.settled
        if settled is None:
            assert isinstance(result, BaseException)
            raise result
        answer = result if isinstance(result, str) else ""
        if output_format != "text":
            _print_line(_result_object(session, answer, settled))
        elif settled.outcome == "success":
            typer.echo(answer)
        if settled.outcome == "error":
            typer.echo(f"palimpsest: {one_line(settled.error)}", err=True)
    match settled.outcome:
        case "success" | "idle":
            return 0
        case "cancelled":
            return 130
        case "error":
            return result.exit_status if isinstance(result, PalimpsestError) else 1
        case _:
            assert_never(settled.outcome)


@asynccontextmanager
async def _saving_once(session: AgentSession) -> AsyncGenerator[None]:
    """Close the session; a save that failed already and fails again is not told twice."""
    failed = False
    try:
        async with session:
            yield
            failed = session.state.outcome == "error"
    except SaveFailedError:
        if not failed:
            raise


class _Writer:
    """Writes events as they come, and notes how the run ended.

    A reader that left ends the run: nobody would see the rest.
    """

    def __init__(self, session: AgentSession, *, streams: bool) -> None:
        self.settled: Settled | None = None
        self.broken: OSError | None = None
        self._session = session
        self._streams = streams
        self._aborting: asyncio.Task[None] | None = None
        if streams:
            _print_line(_session_object(session))

    def __call__(self, event: SessionEvent) -> None:
        if isinstance(event, Settled):
            self.settled = event
        if not self._streams or self.broken is not None:
            return
        try:
            _print_line(_event_object(event))
        except OSError as error:
            self.broken = error
            self._aborting = asyncio.ensure_future(self._session.abort())


async def _prompt(session: AgentSession, prompt: str, cwd: Path) -> str | BaseException:
    files = await asyncio.to_thread(attachments, prompt, cwd)
    skills: tuple[str, ...] = ()
    if "$" in prompt:
        try:
            skills = mentioned_skills(prompt, await skill_loader(cwd).names())
        except MissingExtraError:
            skills = ()
    [result] = await asyncio.gather(
        session.prompt(prompt, attachments=files, skills=skills), return_exceptions=True
    )
    return result


class _Refuser:
    """Nobody can be asked here, so a call that needs approval is refused, and that is said."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session

    def __call__(self, event: SessionEvent) -> None:
        if isinstance(event, ApprovalRequested):
            self._session.answer_approval(event.request_id, approved=False)
            text = (
                f"palimpsest: {event.tool_name} was not allowed, as nobody can be asked; "
                "--permission-preset full-access allows it."
            )
            typer.echo(text, err=True)


def read_prompt(prompt: str, stdin: bytes) -> str:
    """Join what was given with ``-p`` and what came on standard input.

    ``-`` stands for standard input alone. Bytes that are no UTF-8 become replacement characters.
    """
    piped = stdin.decode("utf-8", "replace").strip("\n")
    typed = prompt.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if typed == "-":
        return piped
    return f"{typed}\n\n{piped}" if piped.strip() else typed


# --- JSON ----------------------------------------------------------------------------------------


def _session_object(session: AgentSession) -> dict[str, object]:
    state = session.state
    return {
        "kind": "session",
        "id": session.id,
        "path": None if session.path is None else str(session.path),
        "model": state.model,
        "message_count": state.message_count,
    }


def _event_object(event: SessionEvent) -> dict[str, object]:
    return {**dataclasses.asdict(event), "kind": event.kind}


def _result_object(session: AgentSession, answer: str, settled: Settled) -> dict[str, object]:
    state = session.state
    return {
        "kind": "result",
        "session": session.id,
        "text": answer,
        "outcome": settled.outcome,
        "error": settled.error,
        "error_code": settled.error_code,
        "context_tokens": state.context_budget.size.tokens,
        "window": state.context_budget.budget.window,
        "compactions": len(session.get_compactions()),
        "totals": dataclasses.asdict(state.totals),
    }


def _print_line(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=True) + "\n")
    sys.stdout.flush()
