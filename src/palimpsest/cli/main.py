"""The ``palimpsest`` command: declares the commands, starts one, ends it with a sentence.

Each command is a function in a module of its own and imports what it needs when it is called.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from enum import StrEnum
from typing import Annotated

import typer

from palimpsest._version import __version__
from palimpsest.cli import (
    compact,
    config_command,
    demo,
    doctor,
    export,
    replay,
    sessions,
    show,
    suggestions,
    web,
)
from palimpsest.cli.usage import PlainCommand, PlainGroup
from palimpsest.core.errors import PalimpsestError

_EXAMPLES = """\b
Examples:
  palimpsest                                     work with an agent
  palimpsest --continue                          go on where you stopped
  palimpsest -p "Why does the date test fail?"   one answer, for a script
  git diff | palimpsest -p "Review this."
  palimpsest demo                                see it without a model
  palimpsest replay session.jsonl --html report.html
  palimpsest compact session.jsonl -o compacted.jsonl
"""


class OutputFormat(StrEnum):
    """What print mode writes."""

    text = "text"
    json = "json"
    stream_json = "stream-json"


app = typer.Typer(
    name="palimpsest",
    cls=PlainGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"palimpsest {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=_EXAMPLES)
def palimpsest(
    context: typer.Context,
    *,
    prompt: Annotated[
        str | None,
        typer.Option(
            "-p",
            "--print",
            metavar="PROMPT",
            help="Print the answer to one prompt and end. What is piped in is put behind the "
            "prompt; - alone takes only that.",
        ),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option(help="With -p: the answer, one object, or every event.")
    ] = OutputFormat.text,
    goes_on: Annotated[
        bool,
        typer.Option("-c", "--continue", help="Go on with this project's newest session."),
    ] = False,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Go on with this session: its file, or four characters or more of its id.",
            autocompletion=suggestions.sessions,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="The model, as provider:model (anthropic:claude-sonnet-4-5)."
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="TOKENS", help="Size of the model's context window, if you know better."
        ),
    ] = None,
    permission_preset: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="What tools may do without asking: read-only, workspace-write or full-access.",
            autocompletion=suggestions.presets,
        ),
    ] = None,
    tools: Annotated[
        bool, typer.Option("--tools/--no-tools", help="Give the agent its coding tools.")
    ] = True,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Work with a coding agent whose context is compacted without losing a word.

    Without a command: a chat in this terminal, about the project in this folder.
    """
    if context.invoked_subcommand is not None:
        given = [
            option.opts[-1]
            for option in context.command.params
            if _was_given(context, option.name or "")
        ]
        if given:
            raise typer.BadParameter(f"{given[0]} belongs to the chat, not to a command.")
        return
    if goes_on and session is not None:
        raise typer.BadParameter("--continue and --session both choose a session; give one.")
    if output_format is not OutputFormat.text and prompt is None:
        raise typer.BadParameter("--output-format belongs to -p.")
    from palimpsest.cli.start import Asked, start

    asked = Asked(
        prompt=prompt,
        output_format=output_format.value,
        session=session,
        goes_on=goes_on,
        model=model,
        window=window,
        preset=permission_preset,
        with_tools=tools,
    )
    raise typer.Exit(start(asked))


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


app.command(cls=PlainCommand, epilog=demo.EXAMPLES)(demo.demo)
app.command(cls=PlainCommand, epilog=replay.EXAMPLES)(replay.replay)
app.command(
    cls=PlainCommand,
    epilog=compact.EXAMPLES,
    short_help="Compact one recording, and print the receipt.",
)(compact.compact)
app.command(cls=PlainCommand, epilog=web.EXAMPLES, short_help="Work with the agent in a browser.")(
    web.web
)
app.add_typer(sessions.app, name="sessions")
app.command(
    cls=PlainCommand, epilog=show.EXAMPLES, short_help="Show a session; nothing is changed."
)(show.show)
app.command(
    cls=PlainCommand,
    epilog=export.EXAMPLES,
    short_help="Write every message of a session for other programs.",
)(export.export)
app.add_typer(config_command.app, name="config")
app.command(cls=PlainCommand, epilog=doctor.EXAMPLES)(doctor.doctor)


def run(commands: typer.Typer = app) -> None:
    """Run this process's command line and exit with its status.

    An error of ours, or of the operating system, ends in one sentence on stderr. A reader that
    closed the pipe ends in status 1 and silence, an interrupt in status 130; Typer sees to both.

    Raises:
        SystemExit: always.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        commands()
    except PalimpsestError as error:
        _exit(str(error), error.exit_status)
    except OSError as error:
        _forget_output()
        reason = error.strerror or str(error)
        _exit(reason if error.filename is None else f"{error.filename}: {reason}", 1)


def _forget_output() -> None:
    """Let nothing be written at exit that could not be written before."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit(sentence: str, status: int) -> None:
    """End with one line; names and values in it may come from a recording."""
    from palimpsest.lab.plain import one_line

    typer.echo(f"palimpsest: {one_line(sentence)}", err=True)
    sys.exit(status)
