"""``palimpsest doctor``: what is wrong with session files, and what can be saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.core.wording import count

if TYPE_CHECKING:
    from palimpsest.session.doctor import Examination

EXAMPLES = """\b
Examples:
  palimpsest doctor
  palimpsest doctor session.jsonl --tidy
  palimpsest doctor broken.jsonl --export originals.jsonl
"""

MOST_FINDINGS = 20
"""Findings of one file that are printed; the rest are counted."""


def doctor(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE…", help="Session files; without one, all of yours."),
    ] = None,
    *,
    tidy: Annotated[
        bool, typer.Option("--tidy", help="Bring sound sessions into the canonical layout.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write every message that can be read, one a line."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the exported file.")] = False,
) -> None:
    """Check session files whole: every line, record and hash. Changes nothing unless asked.

    Exit status 1: a session cannot be opened, or could not be tidied.
    """
    from palimpsest.session.places import data_directory, session_files

    files = paths or sorted(session_files())
    if export is not None:
        _export(paths, export, force=force)
    if not files:
        typer.echo(f"There are no sessions in {data_directory()}.")
    results = [_look(path, tidies=tidy, named=bool(paths)) for path in files]
    if not all(results):
        raise typer.Exit(1)


def _look(path: Path, *, tidies: bool, named: bool) -> bool:
    """Print what a file turned out to be; give whether all is well."""
    from palimpsest.core.errors import SessionNotFoundError, UnsupportedSessionError
    from palimpsest.session.doctor import examine
    from palimpsest.session.jsonl_file import os_reason

    try:
        seen = examine(path)
    except SessionNotFoundError:
        if named:
            raise
        _say(f"✗ {path}: it leads nowhere")
        return False
    except OSError as error:
        _say(f"✗ {path}: it cannot be read ({os_reason(error)})")
        return False
    if not seen.is_healthy and seen.findings[0].code == UnsupportedSessionError.code:
        _say(f"✗ {path}: {seen.findings[0].text} ({UnsupportedSessionError.code})")
        return False
    size = ", ".join(
        (
            count(seen.message_count, "message"),
            count(seen.record_count, "record"),
            count(seen.bytes, "byte"),
        )
    )
    if seen.is_healthy:
        _say(f"✓ {path}: {size}")
    else:
        _say(f"✗ {path}: {size}; it cannot be opened")
    for detail in _details(seen):
        _say(detail, indent="  ")
    return seen.is_healthy and (not tidies or seen.canonical or _tidy(path))


def _details(seen: Examination) -> Iterator[str]:
    for finding in seen.findings[:MOST_FINDINGS]:
        notice = "notice: " if finding.severity == "notice" else ""
        yield f"line {finding.line:,}: {notice}{finding.text}"
    more = len(seen.findings) - MOST_FINDINGS
    if more > 0:
        yield f"and {more:,} more"
    if seen.torn_bytes:
        yield f"the last {seen.torn_bytes:,} bytes are a commit that was never finished"
    if seen.is_healthy and not seen.sealed:
        yield "its hashes are not those of its lines: it is read whole whenever it is opened"


def _tidy(path: Path) -> bool:
    from palimpsest.core.errors import PalimpsestError
    from palimpsest.session.doctor import tidy

    try:
        tidy(path)
    except PalimpsestError as error:
        _say(f"not tidied: {error}", indent="  ")
        return False
    _say("tidied", indent="  ")
    return True


def _say(text: str, *, indent: str = "") -> None:
    from palimpsest.lab.plain import one_line

    typer.echo(indent + one_line(text))


def _export(paths: list[Path] | None, output: Path, *, force: bool) -> None:
    from palimpsest.core.errors import WouldOverwriteError
    from palimpsest.lab.whole_file import check_output, whole_file
    from palimpsest.session.doctor import export_messages
    from palimpsest.storage.framing import encode_message

    if paths is None or len(paths) != 1:
        raise typer.BadParameter("--export writes the messages of one file; name that file.")
    check_output(output, paths)
    if output.exists() and not force:
        raise WouldOverwriteError(str(output), is_input=False)
    written = 0
    with whole_file(output) as partial, partial.open("wb") as file:
        for message in export_messages(paths[0]):
            file.write(encode_message(message))
            written += 1
    _say(f"{output} holds {count(written, 'message')}.")
