"""aider's chat history: markdown, in which only the first characters of a line tell who speaks."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse, TextPart

from palimpsest.formats.content import EPOCH, as_list, as_record, as_text, as_time
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "aider"

_START = "# aider chat started at "
_PERSON, _SCREEN, _BREAK = "#### ", "> ", "  "
_MODEL = re.compile(r"> (?:Main model|Model): (\S+)")
_ASKING = ("/ask ", "/code ", "/architect ", "/context ")
"""Commands whose text goes to the model; every other command is for the client."""


def is_history(text: str) -> bool:
    """Whether the beginning of a file looks like a chat history."""
    lines = text.split("\n")
    if any(line.startswith(_START) for line in lines):
        return True
    return all(any(_is_marked(line, mark) for line in lines) for mark in (_PERSON, _SCREEN))


def is_marked(text: str) -> bool:
    """Whether any line of a file starts a chat, or is what a person typed in one."""
    return any(line.startswith((_START, _PERSON)) for line in text.splitlines())


def _is_marked(line: str, mark: str) -> bool:
    """Whether aider wrote a line: it ends each as markdown ends one, which models hardly do."""
    return line.startswith(mark) and line.endswith(_BREAK)


def sessions_in(text: str) -> list[Json]:
    """One document a session that says anything: when it started, and its blocks of lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    # Some editors take away what ends a line.
    ending = _BREAK if any(_is_marked(line, _PERSON) for line in lines) else ""
    starts, speaker = [""], ""
    spoken: list[tuple[int, str, str]] = []
    for line in lines:
        if line.startswith(_START):
            starts.append(line.removeprefix(_START).strip())
            speaker = ""
        else:
            speaker = _speaker(line, ending, before=speaker)
            spoken.append((len(starts) - 1, speaker, line))
    blocks: dict[int, list[Json]] = {}
    for (session, by), group in groupby(spoken, key=itemgetter(0, 1)):
        block = "\n".join(line for _, _, line in group).strip("\n")
        if block.strip():
            blocks.setdefault(session, []).append({"by": by, "text": block})
    return [{"started": starts[session], "blocks": found} for session, found in blocks.items()]


def _speaker(line: str, ending: str, *, before: str) -> str:
    """Who a line is from; an empty one belongs to what stands before it."""
    if not line.strip():
        return before
    if line.endswith(ending):
        spaced = f"{line} "  # An empty line of the person's is only the mark.
        if spaced.startswith(_PERSON):
            return "person"
        if spaced.startswith(_SCREEN):
            return "screen"
    return "model"


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a document that ``sessions_in`` gives."""
    fields = as_record(document)
    blocks = [as_record(block) for block in as_list(fields.get("blocks"))]
    builder = HistoryBuilder(path, range(len(blocks)), has_lines=False)
    started = as_text(fields.get("started"))
    at = as_time(started)
    messages = 0
    model = _MODEL.search("\n".join(as_text(b.get("text")) for b in blocks if _is(b, "screen")))
    for index, block in enumerate(blocks):
        text = as_text(block.get("text"))
        if _is(block, "screen"):
            builder.set_aside("shown to the person")
        elif _is(block, "person"):
            said = _typed(text)
            if said.startswith("/") and not said.startswith(_ASKING):
                builder.set_aside("command")
                continue
            builder.user(said, [Origin(index)], at, typed=True)
            messages += 1
        else:
            reply = ModelResponse(parts=[TextPart(content=text)], timestamp=EPOCH)
            reply.model_name = model[1] if model else None
            builder.reply(reply, [Origin(index)])
            messages += 1
    return [
        builder.build(
            format=FORMAT,
            session_id=started or path.stem,
            counts=RecordingCounts(messages=messages, calls=0, results=0, images=0, interrupted=0),
        )
    ]


def _is(block: Record, speaker: str) -> bool:
    return block.get("by") == speaker


def _typed(text: str) -> str:
    """What the person typed: each line is marked, and ended as markdown ends a line."""
    lines = [line.removeprefix("####").removeprefix(" ") for line in text.split("\n")]
    return "\n".join(line.removesuffix("  ") for line in lines).strip()


def markdown(document: Json) -> str:
    """A session as a history file."""
    fields = as_record(document)
    texts = [_written(as_record(block)) for block in as_list(fields.get("blocks"))]
    started = as_text(fields.get("started"))
    return "\n\n".join([*([_START + started] if started else []), *texts]) + "\n"


def _written(block: Record) -> str:
    text = as_text(block.get("text"))
    if _is(block, "model"):
        return text
    return "\n".join(line.rstrip() + _BREAK for line in text.split("\n"))


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    del replaced
    marked = "\n".join(f"{_PERSON}{line}" for line in text.split("\n"))
    # A line for the screen stands between what the person typed and the summary.
    return [{"by": "person", "text": marked}, {"by": "screen", "text": "> Summary"}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    del kept
    return record


def _leads(record: Record) -> bool:
    del record
    return False


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
