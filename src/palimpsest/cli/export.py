"""``palimpsest export``: one session in a shape that other programs read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.cli import suggestions

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from palimpsest.storage.header import SessionHeader

EXAMPLES = """\b
Examples:
  palimpsest export 1f3a > session.md
  palimpsest export 1f3a --format openai -o messages.json
"""


class ExportFormat(StrEnum):
    """Shapes of an export."""

    markdown = "markdown"
    json = "json"
    openai = "openai"
    anthropic = "anthropic"


def export(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="Its file, or four characters or more of its id (palimpsest sessions).",
            autocompletion=suggestions.sessions,
        ),
    ],
    *,
    format: Annotated[
        ExportFormat,
        typer.Option(
            help="markdown is for people, json holds all, the others are messages of a provider."
        ),
    ] = ExportFormat.markdown,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="Where to write; standard output if not given."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file.")] = False,
) -> None:
    """Write every original message of a session; also of a broken one, as far as it can be read."""
    from palimpsest.core.errors import UnsupportedSessionError, WouldOverwriteError
    from palimpsest.lab.whole_file import check_output, whole_file
    from palimpsest.session.doctor import examine, export_messages
    from palimpsest.session.finding import find_session

    path = find_session(session, Path.cwd())
    if output is not None:
        check_output(output, [path])
        if output.exists() and (output.samefile(path) or not force):
            raise WouldOverwriteError(str(output), output.samefile(path))
    found, messages = examine(path), list(export_messages(path))
    if not found.is_healthy:
        rest = "the rest is here" if messages else "nothing of it can be read"
        worst = found.findings[0]
        if worst.code == UnsupportedSessionError.code and not messages:
            raise UnsupportedSessionError(str(path), worst.line, worst.text)
        complaint = f"palimpsest: {path} is broken at line {worst.line}: {worst.text}; {rest}"
        typer.echo(complaint, err=True)
        if not messages:
            raise typer.Exit(1)
    text = _rendered(format, found.header, messages)
    if output is None:
        for piece in text:
            sys.stdout.buffer.write(piece.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    else:
        with whole_file(output) as partial, partial.open("w", encoding="utf-8") as file:
            file.writelines(piece.encode("utf-8", "replace").decode() for piece in text)


def _rendered(
    format: ExportFormat, header: SessionHeader | None, messages: list[ModelMessage]
) -> Iterator[str]:
    import json

    match format:
        case ExportFormat.markdown:
            from palimpsest.cli.transcript import transcript

            yield from transcript(header, messages)
        case ExportFormat.json:
            yield from _whole(header, messages)
        case ExportFormat.openai:
            from palimpsest.formats.openai_chat import openai_messages

            document = {"messages": list(openai_messages(messages))}
            yield json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        case ExportFormat.anthropic:
            from palimpsest.formats.anthropic_messages import anthropic_request

            yield json.dumps(anthropic_request(messages), ensure_ascii=False, indent=1) + "\n"


def _whole(header: SessionHeader | None, messages: list[ModelMessage]) -> Iterator[str]:
    """Give the header and pydantic-ai's own messages."""
    import json

    from pydantic_ai.messages import ModelMessagesTypeAdapter

    about: dict[str, object] = {}
    if header is not None:
        about = {
            "id": header.id,
            "cwd": header.cwd,
            "created": header.created,
            "updated": header.updated,
            "model": header.model,
            "title": header.title,
        }
    dumped = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    yield json.dumps({"session": about, "messages": dumped}, indent=1) + "\n"
