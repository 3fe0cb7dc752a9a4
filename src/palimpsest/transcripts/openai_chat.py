"""OpenAI chat-completions messages: bare lists, OpenHands completions, tau-bench results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    FinishReason,
    ModelResponse,
)
from pydantic_ai.usage import RequestUsage

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import (
    EPOCH,
    as_count,
    as_list,
    as_record,
    as_text,
    as_time,
    content_of,
    image_count,
    text_of,
)
from palimpsest.formats.openai_chat import reply_parts
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordingCounts
from palimpsest.transcripts.view import Writing, is_system, kept_content

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "openai-chat"

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
}
# Results of models without function calling, and what frameworks say about an unusable reply.
_INJECTED = (
    "EXECUTION RESULT of [",
    "<returncode>",
    "Observation:",
    "OBSERVATION:",
    "Tool call error:",
    "Format error:",
)


def results_in(document: Json) -> list[Json]:
    """The results in a list of tau-bench results, one session each; empty for anything else."""
    results = as_list(document)
    return results if all("traj" in as_record(item) for item in results) else []


def read(path: Path, document: Json) -> list[Built]:
    """The sessions of one JSON document: several for a list of tau-bench results."""
    if results := results_in(document):
        return [_tau(path, as_record(result)) for result in results]
    if isinstance(document, list):
        return [_session(path, document, path.stem, {})]
    fields = as_record(document)
    if "traj" in fields:
        return [_tau(path, fields)]
    response = as_record(fields.get("response"))
    session_id = as_text(fields.get("id")) or as_text(response.get("id")) or path.stem
    return [_session(path, as_list(fields.get("messages")), session_id, fields)]


def _tau(path: Path, result: Record) -> Built:
    task, trial = compact_json(result.get("task_id")), compact_json(result.get("trial"))
    return _session(path, as_list(result.get("traj")), f"{path.stem}-{task}-{trial}", {})


def _session(path: Path, messages: list[Json], session_id: str, fields: Record) -> Built:
    builder = HistoryBuilder(path, range(len(messages) + 1), has_lines=False)
    add_messages(builder, messages)
    response = as_record(fields.get("response"))
    answer = final_answer(fields)
    if answer:
        choice = as_record(as_list(response.get("choices"))[0])
        built = reply(answer, response, choice, as_time(fields.get("timestamp")))
        builder.reply(built, [Origin(len(messages))])
    return builder.build(
        format=FORMAT,
        session_id=session_id,
        counts=counts(messages),
        tools=tools_of(fields.get("tools") or as_record(fields.get("kwargs")).get("tools")),
        model=as_text(response.get("model")) or as_text(fields.get("model")) or None,
    )


def final_answer(fields: Record) -> Record:
    """The reply a request log holds beside its messages; empty where it is among them."""
    choices = as_list(as_record(fields.get("response")).get("choices"))
    answer = as_record(as_record(choices[0] if choices else None).get("message"))
    messages = as_list(fields.get("messages"))
    last = as_record(messages[-1] if messages else None)
    repeated = last.get("role") == "assistant" and all(
        (last.get(key) or None) == (answer.get(key) or None) for key in ("content", "tool_calls")
    )
    return {} if repeated else answer


def add_messages(
    builder: HistoryBuilder, messages: Sequence[Json], *, except_role: str = ""
) -> None:
    """Add a list of messages; records of the role ``except_role`` are set aside."""
    for index, item in enumerate(messages):
        message = as_record(item)
        if except_role and message.get("role") == except_role:
            builder.set_aside(except_role)
        elif not (
            is_system(message)
            and builder.take_leading_system(index, text_of(message.get("content")))
        ):
            add_message(builder, index, item)


def add_message(builder: HistoryBuilder, index: int, item: Json) -> None:
    """Add one message of any role; an unknown role is injected text."""
    message = as_record(item)
    extra = as_record(message.get("extra"))
    at = as_time(extra.get("timestamp") or message.get("timestamp"))
    content = message.get("content")
    match message.get("role"):
        case "user":
            text = text_of(content)
            typed = not text.lstrip().startswith(_INJECTED) and "interrupt_type" not in extra
            builder.user(content_of(content), [Origin(index)], at, typed=typed)
        case "assistant":
            response = as_record(extra.get("response"))
            choices = as_list(response.get("choices"))
            choice = as_record(choices[0] if choices else None)
            if at == EPOCH:
                at = as_time(response.get("created"))
            builder.reply(reply(message, response, choice, at), [Origin(index)])
        case "tool":
            builder.result(_call_id(message), content_of(content), Origin(index), at, _end(extra))
        case _:
            shown = content_of(content) if isinstance(content, str | list) else compact_json(item)
            builder.user(shown, [Origin(index)], at, typed=False)


def _call_id(message: Record) -> str:
    ids = as_list(message.get("tool_call_ids"))
    return as_text(message.get("tool_call_id")) or as_text(ids[0] if ids else None)


def _end(extra: Record) -> Outcome:
    """How a command ended where the recording kept that beside the text."""
    failed = bool(extra.get("exception_info")) or extra.get("returncode") not in (None, 0)
    return "failed" if failed else "success"


def reply(message: Record, response: Record, choice: Record, at: datetime) -> ModelResponse:
    """A reply; ``response`` and ``choice`` are the API's answer around it, or empty."""
    return ModelResponse(
        parts=reply_parts(message),
        usage=_usage(response.get("usage")),
        model_name=as_text(response.get("model")) or None,
        timestamp=at,
        provider_response_id=as_text(response.get("id")) or None,
        finish_reason=_FINISH_REASONS.get(as_text(choice.get("finish_reason"))),
    )


def _usage(value: Json) -> RequestUsage:
    usage = as_record(value)
    details = as_record(usage.get("prompt_tokens_details"))
    return RequestUsage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        cache_read_tokens=as_count(details.get("cached_tokens")),
        cache_write_tokens=as_count(usage.get("cache_creation_input_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
    )


def tools_of(value: Json) -> list[Json]:
    """Tool declarations as {name, description, parameters}."""
    functions = [as_record(as_record(tool).get("function", tool)) for tool in as_list(value)]
    return [
        {key: function.get(key) for key in ("name", "description", "parameters")}
        for function in functions
        if function.get("name")
    ]


def counts(messages: Sequence[Json], *, interrupted: int = 0) -> RecordingCounts:
    """Every element of the list counts as a message, the system text included."""
    records = [as_record(message) for message in messages]
    return RecordingCounts(
        messages=len(messages),
        calls=sum(len(as_list(record.get("tool_calls"))) for record in records),
        results=sum(record.get("role") == "tool" for record in records),
        images=sum(image_count(record.get("content")) for record in records),
        interrupted=interrupted,
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    del replaced
    return [{"role": "user", "content": text}]


def shown(record: Record, kept: KeptRecord) -> Json:
    """A message as a view keeps it."""
    if "content" not in record:
        return record
    return {**record, "content": kept_content(record["content"], kept)}


def _leads(record: Record) -> bool:
    del record
    return True


WRITING = Writing(summary=_summary, shown=shown, leads=_leads)
