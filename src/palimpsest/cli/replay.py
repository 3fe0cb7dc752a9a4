"""``palimpsest replay``: recorded sessions in, what each policy would have done out."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from palimpsest.cli.replay_text import Summary
    from palimpsest.core.errors import NotARecordingError
    from palimpsest.transcripts import FoundPath

EXAMPLES = """\b
Examples:
  palimpsest replay session.jsonl
  palimpsest replay ~/.claude/projects --html report.html
  palimpsest replay 'runs/*.traj' --model claude-sonnet-4-5 --json > runs.json
"""


def replay(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="Recorded sessions: files, folders, patterns."),
    ],
    *,
    format: Annotated[
        str | None, typer.Option(help="The recordings' format, instead of telling it.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Take prices and window of this model of the price table.")
    ] = None,
    window: Annotated[
        int | None, typer.Option(help="Context window in tokens, 1,000 or more.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write a page with charts, one file.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 1,
) -> None:
    """Show what compaction would have done to recorded sessions. Works offline, without a key.

    Plays several policies over each recording, request by request, and counts what every one sends,
    costs and loses. The recordings are never changed.
    """
    from palimpsest.cli.replay_text import Progress, Summary, print_summary
    from palimpsest.core.errors import NotARecordingError
    from palimpsest.lab.replay import ReplaySettings
    from palimpsest.lab.report import Report, check_page
    from palimpsest.lab.results import as_object
    from palimpsest.lab.stream import StreamSettings, replay_files
    from palimpsest.lab.whole_file import check_output

    files = _files(paths)
    if html is not None:
        check_output(html, [found.path for found in files])
        check_page(html)
    settings = StreamSettings(
        format=format, replay=ReplaySettings(model=model, window=window), jobs=jobs
    )
    summary = Summary()
    with ExitStack() as stack:
        report = None if html is None else stack.enter_context(Report())
        progress = stack.enter_context(Progress(len(files), quiet=as_json and sys.stdout.isatty()))

        def skip(error: NotARecordingError) -> None:
            summary.skipped.append(error)
            progress.say(f"skipped: {error}")

        sessions = replay_files(files, settings, on_skipped=skip, on_file=progress.advance)
        if as_json:
            stack.callback(_close, summary)
        for session in sessions:
            if as_json:
                typer.echo(_opening(summary) + json.dumps(as_object(session)), nl=False)
            if report is not None:
                report.add(session)
            summary.add(session)
            del session  # the next one is replayed without it
        if not summary.totals.sessions:
            raise NotARecordingError(" ".join(paths), "no file in it is one.")
        if report is not None and html is not None:
            report.write(html)
    if not as_json:
        print_summary(summary)
        if html is not None:
            typer.echo(f"\nThe page with charts: {html}")


def _files(paths: list[str]) -> list[FoundPath]:
    """Find everything first, so that a mistyped name is not told after minutes of work."""
    from palimpsest.core.errors import NotARecordingError
    from palimpsest.transcripts.detect import check_text
    from palimpsest.transcripts.read import expand_paths

    files = list(expand_paths(paths))
    for found in files:
        if found.named:
            try:
                check_text(found.path)
            except OSError as error:
                reason = f"it cannot be read ({error.strerror or error})."
                raise NotARecordingError(str(found.path), reason) from error
    return files


def _opening(summary: Summary) -> str:
    return ",\n" if summary.totals.sessions else '{"sessions": [\n'


def _close(summary: Summary) -> None:
    """End the object that was begun, also when a file in the middle ends the command."""
    if summary.totals.sessions:
        typer.echo(_closing(summary))


def _closing(summary: Summary) -> str:
    skipped = [{"path": error.path, "reason": error.reason} for error in summary.skipped]
    totals = json.dumps(summary.totals.to_json())
    return f'\n], "totals": {totals}, "skipped": {json.dumps(skipped)}}}'
