"""``palimpsest compact``: one recording in, the compacted conversation out."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palimpsest.cli import suggestions

if TYPE_CHECKING:
    from palimpsest.transcripts import Recording

EXAMPLES = """\b
Examples:
  palimpsest compact session.jsonl -o compacted.jsonl
  palimpsest compact run.traj --window 64000 > compacted.traj
"""


def compact(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recorded session.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="Where to write; standard output if not given."
        ),
    ] = None,
    *,
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Which one, where the file holds several sessions."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="The recording's format, if it is not found out rightly.",
            autocompletion=suggestions.formats,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Take the context window of this model.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="Size of the context window, 1,000 or more."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file.")] = False,
) -> None:
    """Write a recording's compacted conversation in its own format, and print the receipt.

    Old tool outputs are cleared, older turns summarised without a model. The recording itself is
    never changed.
    """
    from palimpsest.cli.receipt import print_receipt
    from palimpsest.core.errors import WouldOverwriteError
    from palimpsest.lab.compact import compact_recording
    from palimpsest.lab.whole_file import check_output, whole_file
    from palimpsest.transcripts import rewrite

    if output is not None:
        check_output(output, [file])
    recording = _chosen(file, session, format)
    if output is not None and output.exists():
        is_input = output.samefile(file)
        if is_input or not force:
            raise WouldOverwriteError(str(output), is_input)
    compacted = compact_recording(recording, model=model, window=window)
    text = io.StringIO()
    rewrite(recording, compacted.view, text)
    data = text.getvalue().encode("utf-8", "surrogatepass")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        with whole_file(output) as partial:
            partial.write_bytes(data)
    print_receipt(compacted, to_stderr=output is None)


def _chosen(file: Path, session: str | None, format: str | None) -> Recording:
    from palimpsest.core.errors import SeveralSessionsError
    from palimpsest.transcripts import read_recordings

    recordings = list(read_recordings(file, format=format))
    chosen = [item for item in recordings if session in {None, item.session_id}]
    if len(chosen) != 1:
        raise SeveralSessionsError(
            str(file), tuple(item.session_id for item in recordings), session
        )
    return chosen[0]
