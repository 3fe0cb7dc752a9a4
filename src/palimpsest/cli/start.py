"""From the command line to a chat or to print mode."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from palimpsest.cli.typing_ahead import keeping_what_is_typed
from palimpsest.core.errors import (
    InvalidSettingError,
    MissingKeyError,
    NoTerminalError,
    UnknownModelError,
)

if TYPE_CHECKING:
    from palimpsest.cli.ask import OutputFormat
    from palimpsest.cli.open import Choices


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as they were typed; None where one was not.

    Attributes:
        prompt: of print mode; None is the interactive mode.
        goes_on: with the project's newest session.
        window: tokens.
    """

    prompt: str | None
    output_format: OutputFormat
    session: str | None
    goes_on: bool
    model: str | None
    window: int | None
    preset: str | None
    with_tools: bool


def start(asked: Asked) -> int:
    """Run what was asked for; give the exit status.

    Raises:
        PalimpsestError: it cannot be had; its sentence and status end the command.
    """
    _end_on_sigterm()
    try:
        if asked.prompt is not None:
            return _print(asked, asked.prompt)
        if not _has_terminal():
            raise NoTerminalError
        with keeping_what_is_typed():
            return _chat(asked)
    except (UnknownModelError, MissingKeyError) as error:
        unnamed = isinstance(error, UnknownModelError) and not error.name
        if asked.prompt is not None and not unnamed:
            raise
        from palimpsest.cli.welcome import first_steps

        reason = "None is set." if unnamed else str(error)
        typer.echo(first_steps(reason), err=asked.prompt is not None, nl=False)
        return error.exit_status


def _chat(asked: Asked) -> int:
    from palimpsest.cli.chat.run import run_chat

    return asyncio.run(run_chat(_choices(asked), Path.cwd()))


def _print(asked: Asked, prompt: str) -> int:
    from palimpsest.cli.ask import ask, read_prompt

    text = read_prompt(prompt, _piped())
    if not text.strip():
        raise InvalidSettingError("prompt", text, "some words")
    return asyncio.run(ask(text, _choices(asked), Path.cwd(), asked.output_format))


def _choices(asked: Asked) -> Choices:
    from palimpsest.cli.open import choices_of

    return choices_of(
        session=asked.session,
        goes_on=asked.goes_on,
        model=asked.model,
        window=asked.window,
        preset=asked.preset,
        with_tools=asked.with_tools,
    )


def _piped() -> bytes:
    """Read what was piped in; a terminal is not waited for."""
    return b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()


def _has_terminal() -> bool:
    return (
        sys.stdin is not None
        and sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM") != "dumb"
    )


def _end_on_sigterm() -> None:
    """End with 143 also while modules load and files are opened."""

    def end(number: int, frame: object) -> None:
        del frame
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)
