"""mini-swe-agent: OpenAI messages with the run's own notes in ``extra``, and an exit record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.formats.content import as_list, as_record, as_text
from palimpsest.transcripts import openai_chat
from palimpsest.transcripts.history import HistoryBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.transcripts.history import Built

FORMAT = "mini-swe-agent"


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a trajectory, or of an old bare list of messages."""
    fields = as_record(document)
    messages = document if isinstance(document, list) else as_list(fields.get("messages"))
    builder = HistoryBuilder(path, range(len(messages)), has_lines=False)
    openai_chat.add_messages(builder, messages, except_role="exit")
    info = as_record(fields.get("info"))
    model = as_record(as_record(info.get("config")).get("model")).get("model_name")
    status = as_text(info.get("exit_status")).lower()
    stopped = bool(status) and not status.startswith("submitted")
    return [
        builder.build(
            format=FORMAT,
            session_id=as_text(fields.get("instance_id")) or path.stem,
            counts=openai_chat.counts(messages, interrupted=int(stopped)),
            model=as_text(model) or None,
        )
    ]
