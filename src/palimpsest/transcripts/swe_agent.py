"""SWE-agent trajectories: a history whose replies name the command they run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ToolCallPart

from palimpsest.formats.content import (
    EPOCH,
    as_list,
    as_record,
    as_text,
    content_of,
    image_count,
    text_of,
)
from palimpsest.transcripts import openai_chat
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordingCounts

if TYPE_CHECKING:
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record

FORMAT = "swe-agent"

_MARKUP = re.compile(r"\s*(?:<command>|```[a-z]*)?\s*(?:</command>|```)?\s*")


# Commands of SWE-agent's own file viewer; what an edit changes is the file that is open.
_FILE_COMMANDS = frozenset({"open", "create"})
_OWN_COMMANDS = frozenset(
    {
        *_FILE_COMMANDS,
        *("edit", "goto", "scroll_up", "scroll_down", "submit"),
        *("find_file", "search_dir", "search_file"),
    }
)


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a trajectory: ``history``, which is what the model saw."""
    fields = as_record(document)
    history = as_list(fields.get("history"))
    info = as_record(fields.get("info"))
    status = as_text(info.get("exit_status"))
    builder = HistoryBuilder(path, range(len(history)), has_lines=False)
    _add_history(builder, history)
    steps = as_list(fields.get("trajectory"))
    return [
        builder.build(
            format=FORMAT,
            session_id=path.stem,
            counts=RecordingCounts(
                messages=len(history),
                calls=sum(bool(as_record(step).get("action")) for step in steps),
                results=len(steps),
                images=sum(image_count(as_record(item).get("content")) for item in history),
                interrupted=int("exit_" in status),
            ),
        )
    ]


def _add_history(builder: HistoryBuilder, history: list[Json]) -> None:
    awaited, in_demo = "", False
    for index, item in enumerate(history):
        message = as_record(item)
        role = message.get("role")
        if in_demo and message.get("is_demo") is not True:
            # The demonstration ends with a command whose output it does not show.
            awaited = ""
        in_demo = message.get("is_demo") is True
        if role == "system" and builder.take_leading_system(index, text_of(message.get("content"))):
            continue
        if role == "assistant" and not message.get("tool_calls"):
            parts, awaited = _reply_parts(message, f"step-{index}")
            builder.reply(ModelResponse(parts=parts, timestamp=EPOCH), [Origin(index)])
        elif role == "user":
            content = content_of(message.get("content"))
            if awaited:
                builder.result(awaited, content, Origin(index), EPOCH, "success")
            else:
                builder.user(content, [Origin(index)], EPOCH, typed=not in_demo)
            awaited = ""
        else:
            openai_chat.add_message(builder, index, item)
            awaited = ""


def _tool_of(action: str) -> tuple[str, dict[str, str]]:
    """Tell the agent's own commands, which look like a shell's, from the shell's."""
    word, _, rest = action.strip().partition(" ")
    if word in _FILE_COMMANDS and rest:
        return word, {"path": rest.split()[0], "arguments": rest}
    if word in _OWN_COMMANDS:
        return word, {"arguments": rest}
    return "bash", {"command": action}


def _reply_parts(message: Record, call_id: str) -> tuple[list[ModelResponsePart], str]:
    """Thought and command of a reply, and the id of the call (empty where there is none).

    The command is a call only where thought and command are all the reply says; otherwise its
    text stays whole.
    """
    content = text_of(message.get("content"))
    thought, action = as_text(message.get("thought")), as_text(message.get("action"))
    rest = content.replace(thought.strip(), "", 1).replace(action.strip(), "", 1)
    if not action.strip() or not _MARKUP.fullmatch(rest):
        return [TextPart(content=content)], ""
    name, arguments = _tool_of(action)
    call = ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id)
    return ([TextPart(content=thought), call] if thought else [call]), call_id
