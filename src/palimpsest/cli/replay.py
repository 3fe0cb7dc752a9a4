"""``palimpsest replay``: recorded sessions in, what each policy would have done out."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.cli import suggestions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from palimpsest.cli.replay_text import Summary
    from palimpsest.core.errors import NotARecordingError
    from palimpsest.lab.places import Place
    from palimpsest.lab.results import Replayed, SessionFigures
    from palimpsest.transcripts import FoundPath

EXAMPLES = """\b
Examples:
  palimpsest replay session.jsonl
  palimpsest replay ~/.claude/projects --html report.html
  palimpsest replay 'runs/*.traj' --model claude-sonnet-4-5 --json > runs.json
  palimpsest replay corpus/ --parquet figures/ --jobs 8
"""


def replay(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="Recorded sessions: files, folders, patterns."),
    ],
    *,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="The recordings' format, if it is not found out rightly.",
            autocompletion=suggestions.formats,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Take prices and window of this model of the price table."
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="Size of the context window, 1,000 or more."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write a page with charts, one file.")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the figures into a folder, and go on where it was."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Processes that share the work.")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work on a Dask cluster, as tcp://host:8786."),
    ] = None,
) -> None:
    """Show what compaction would have done to recorded sessions. Works offline, without a key.

    Plays several policies over each recording, request by request, and counts what every one sends,
    costs and loses. The recordings are never changed.
    """
    from palimpsest.cli.replay_text import Progress, Summary, print_summary
    from palimpsest.core.errors import NotARecordingError
    from palimpsest.lab.replay import ReplaySettings
    from palimpsest.lab.report import Report, check_page
    from palimpsest.lab.results import SessionReplay, as_object
    from palimpsest.lab.stream import StreamSettings, replay_files, whole
    from palimpsest.lab.whole_file import check_output

    if parquet is not None and (as_json or html is not None):
        raise typer.BadParameter("--parquet holds no single requests; --json and --html need them.")
    files = _files(paths)
    if html is not None:
        check_output(html, [found.path for found in files])
        check_page(html)
    settings = StreamSettings(
        format=format,
        replay=ReplaySettings(model=model, window=window),
        place=_place(jobs, scheduler),
    )
    summary = Summary()
    with ExitStack() as stack:
        report = None if html is None else stack.enter_context(Report())
        progress = stack.enter_context(Progress(len(files), quiet=as_json and sys.stdout.isatty()))

        def skip(error: NotARecordingError) -> None:
            summary.skip(error)
            progress.say(f"skipped: {error}")

        sessions: Iterator[Replayed]
        if parquet is not None:
            sessions = _corpus(parquet)(files, settings, on_skipped=skip, on_file=progress.advance)
        else:
            keep: Callable[[SessionReplay], Replayed] = (
                whole if as_json or html is not None else SessionReplay.figures
            )
            sessions = replay_files(
                files, settings, keep=keep, on_skipped=skip, on_file=progress.advance
            )
        if as_json:
            stack.callback(_close, summary)
        for session in sessions:
            if as_json:
                typer.echo(_opening(summary) + json.dumps(as_object(session)), nl=False)
            if report is not None and isinstance(session, SessionReplay):
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
        if parquet is not None:
            typer.echo(f"\nThe figures, a row for each session and policy: {parquet}")


def _place(jobs: int, scheduler: str | None) -> Place:
    from palimpsest.lab.places import Cluster, Here, Processes

    if scheduler is None:
        return Here() if jobs == 1 else Processes(jobs=jobs)
    if jobs > 1:
        raise typer.BadParameter("--jobs and --scheduler both say who works; give one.")
    return Cluster(address=scheduler)


def _corpus(folder: Path) -> Callable[..., Iterator[SessionFigures]]:
    """The replay into a folder of parts.

    Raises:
        MissingExtraError: the extra ``corpus`` is not installed.
    """
    from palimpsest.core.errors import MissingExtraError

    try:
        from palimpsest.lab.corpus import replay_corpus
    except ModuleNotFoundError as error:
        raise MissingExtraError("--parquet", "palimpsest-ai[corpus]") from error
    return partial(replay_corpus, folder)


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
    totals = json.dumps(summary.totals.to_json())
    return f'\n], "totals": {totals}, "skipped": {json.dumps(summary.skipped)}}}'
