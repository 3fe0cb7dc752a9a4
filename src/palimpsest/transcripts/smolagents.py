"""smolagents: runs as messages that name their calls in text, and memories as lists of steps."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import (
    EPOCH,
    as_arguments,
    as_count,
    as_list,
    as_record,
    as_text,
    content_of,
    image_count,
    text_of,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordingCounts
from palimpsest.transcripts.view import Writing, is_system, kept_content

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "smolagents"

_CALLS = "Calling tools:\n"
_CALL_ID = re.compile(r"Call id: (\S+)\n")
_INJECTED = ("Now proceed and carry out this plan",)
_LARGEST_REPR = 200_000
"""Characters of calls written as Python that are still parsed."""


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a run, of a memory, or of a bare list of its steps."""
    records = records_of(document)
    builder = HistoryBuilder(path, range(len(records)), has_lines=False)
    reader = _Reader(builder)
    for index, item in enumerate(records):
        reader.add(index, as_record(item))
    reader.end_reply()
    fields = as_record(document)
    name = fields.get("task_id")
    model = as_text(fields.get("model_id")) or as_text(fields.get("agent_name"))
    return [
        builder.build(
            format=FORMAT,
            session_id=as_text(name) or (path.stem if name is None else compact_json(name)),
            counts=_counts(records),
            model=model or None,
        )
    ]


def list_key(document: Record) -> str:
    """Under which key a document keeps its steps; empty where it does not."""
    keys = ("intermediate_steps", "steps")
    return next((key for key in keys if isinstance(document.get(key), list)), "")


def records_of(document: Json) -> list[Json]:
    """The steps or messages in a document."""
    fields = as_record(document)
    return as_list(fields[key]) if (key := list_key(fields)) else as_list(document)


def is_step(value: Json) -> bool:
    """Whether a value is a step of a memory."""
    fields = as_record(value)
    return "role" not in fields and (
        {"task", "task_images"} <= fields.keys()
        or {"model_output", "observations"} <= fields.keys()
        or {"plan", "model_output_message"} <= fields.keys()
    )


class _Reader:
    """Adds messages and steps; what the assistant says and the calls after it are one reply."""

    def __init__(self, builder: HistoryBuilder) -> None:
        self._builder = builder
        self._parts = list[ModelResponsePart]()
        self._origins = list[Origin]()
        self._open = list[str]()

    def add(self, index: int, record: Record) -> None:
        """Add one message or step."""
        if "role" in record:
            self._add_message(index, record)
        else:
            self.end_reply()
            self._add_step(index, record)

    def end_reply(self) -> None:
        """Nothing more belongs to the reply that was begun."""
        if self._origins:
            reply = ModelResponse(parts=self._parts, timestamp=EPOCH)
            self._builder.reply(reply, self._origins)
            self._parts, self._origins = [], []

    def _add_message(self, index: int, message: Record) -> None:
        content = message.get("content")
        role = as_text(message.get("role"))
        if role == "assistant" and any(isinstance(p, ToolCallPart) for p in self._parts):
            self.end_reply()
        if role in {"assistant", "tool-call"}:
            self._origins.append(Origin(index))
            self._parts += self._calls(index, text_of(content)) if role == "tool-call" else []
            if role == "assistant":
                self._parts.append(TextPart(content=text_of(content)))
            return
        self.end_reply()
        if role == "tool-response":
            self._add_result(index, text_of(content))
        elif not (
            is_system(message) and self._builder.take_leading_system(index, text_of(content))
        ):
            typed = role == "user" and not text_of(content).startswith(_INJECTED)
            shown = content_of(content) if content is not None else compact_json(message)
            self._builder.user(shown, [Origin(index)], EPOCH, typed=typed)

    def _calls(self, index: int, text: str) -> list[ModelResponsePart]:
        """The calls that a text lists; the text itself where it lists none."""
        found = [as_record(call) for call in _listed(text)]
        if not found or not all("function" in call for call in found):
            return [TextPart(content=text)]
        parts: list[ModelResponsePart] = []
        self._open = list[str]()
        for number, call in enumerate(found):
            made = _call(call, f"call-{index}-{number}")
            parts.append(made)
            self._open.append(made.tool_call_id)
        return parts

    def _add_result(self, index: int, text: str) -> None:
        """A text answers the call that it names, else the first that is open."""
        named = _CALL_ID.match(text)
        call_id = named[1] if named else next(iter(self._open), "")
        self._open = [name for name in self._open if name != call_id]
        if not call_id:
            self._builder.user(text, [Origin(index)], EPOCH, typed=False)
            return
        body = text[named.end() :] if named else text
        outcome: Outcome = "failed" if body.startswith("Error:") else "success"
        self._builder.result(call_id, body, Origin(index), EPOCH, outcome)

    def _add_step(self, index: int, step: Record) -> None:
        if isinstance(step.get("system_prompt"), str):
            self._builder.system(as_text(step.get("system_prompt")))
        elif "task" in step:
            task = text_of(step.get("task"))
            self._builder.user(task, [Origin(index)], EPOCH, typed=True)
        elif isinstance(step.get("plan"), str):
            reply = ModelResponse(parts=[TextPart(content=as_text(step["plan"]))], timestamp=EPOCH)
            self._builder.reply(reply, [Origin(index)])
        elif {"model_output", "observations", "tool_calls", "error"} & step.keys():
            self._add_action(index, step)
        elif step.keys() == {"output"}:
            self._builder.set_aside("final answer")
        else:
            self._builder.user(compact_json(step), [Origin(index)], EPOCH, typed=False)

    def _add_action(self, index: int, step: Record) -> None:
        calls = [
            _call(as_record(call), f"call-{index}-{number}")
            for number, call in enumerate(as_list(step.get("tool_calls")))
        ]
        said = step.get("model_output")
        parts: list[ModelResponsePart] = [TextPart(content=text_of(said))] if said else []
        usage = as_record(step.get("token_usage"))
        response = ModelResponse(
            parts=[*parts, *calls],
            usage=RequestUsage(
                input_tokens=as_count(usage.get("input_tokens")),
                output_tokens=as_count(usage.get("output_tokens")),
            ),
            timestamp=EPOCH,
        )
        self._builder.reply(response, [Origin(index)])
        error = step.get("error")
        seen = [text for text in (as_text(step.get("observations")), _error_text(error)) if text]
        if not seen:
            return
        origin, text = Origin(index, 0), "\n".join(seen)
        if calls:
            outcome: Outcome = "failed" if error else "success"
            self._builder.result(calls[0].tool_call_id, text, origin, EPOCH, outcome)
        else:
            self._builder.user(text, [origin], EPOCH, typed=False)


def _error_text(error: Json) -> str:
    message = as_record(error).get("message", error)
    return message if isinstance(message, str) else compact_json(error) if error else ""


def _listed(text: str) -> list[Json]:
    """The calls in a text, which are written as Python writes a list."""
    if not text.startswith(_CALLS) or len(text) > _LARGEST_REPR:
        return []
    try:
        with warnings.catch_warnings(action="ignore"):
            found: object = ast.literal_eval(text.removeprefix(_CALLS).strip())
        # Python knows values that JSON does not.
        return as_list(json.loads(json.dumps(found)))
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        return []


def _call(call: Record, otherwise: str) -> ToolCallPart:
    function = as_record(call.get("function"))
    return ToolCallPart(
        tool_name=as_text(function.get("name")) or "unknown",
        args=as_arguments(function.get("arguments")),
        tool_call_id=as_text(call.get("id")) or otherwise,
    )


def _counts(records: Sequence[Json]) -> RecordingCounts:
    """Every message or step counts once."""
    found = [as_record(record) for record in records]
    roles = [record.get("role") for record in found]
    return RecordingCounts(
        messages=len(records),
        calls=roles.count("tool-call") + sum(len(as_list(r.get("tool_calls"))) for r in found),
        results=roles.count("tool-response") + sum(bool(r.get("observations")) for r in found),
        images=sum(image_count(record.get("content")) for record in found),
        interrupted=0,
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    if any(is_step(record) for record in replaced):
        return [{"task": text, "task_images": None}]
    return [{"role": "user", "content": [{"type": "text", "text": text}]}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    if "role" not in record:
        if not kept.cleared:
            return record
        copies = {"action_output", "observations_images", "error"}
        bare = {key: value for key, value in record.items() if key not in copies}
        error: Json = {"message": ""} if record.get("error") else None
        return {**bare, "observations": next(iter(kept.cleared.values())), "error": error}
    if None not in kept.cleared:
        return {**record, "content": kept_content(record.get("content"), kept)}
    named = _CALL_ID.match(text_of(record.get("content")))
    text = f"{named[0] if named else ''}{kept.cleared[None]}"
    return {**record, "content": [{"type": "text", "text": text}]}


def _leads(record: Record) -> bool:
    return is_system(record) or "system_prompt" in record


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
