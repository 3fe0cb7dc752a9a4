"""What an OpenHands event means, in the naming of the SDK and in the one before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import (
    as_arguments,
    as_list,
    as_record,
    as_text,
    as_time,
    block_content,
    joined,
    linked_image,
    text_of,
)
from palimpsest.transcripts import openai_chat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.messages import UserContent

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Content, Record
    from palimpsest.transcripts.history import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSaid:
    """System text and tool declarations."""

    text: str
    tools: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSaid:
    """Text in the user role; ``typed`` by the person, or injected."""

    content: Content
    typed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """What the model gave, all of a reply or one call of it.

    Attributes:
        reply_id: events with the same one are one reply; empty for a reply of its own.
        parts: what this event shows of the reply.
        whole: the whole reply, where the event holds it.
    """

    reply_id: str
    parts: list[ModelResponsePart] = field(default_factory=list[ModelResponsePart])
    whole: ModelResponse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The result of a call."""

    call_id: str
    content: Content
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """A compaction, and which events it took out of the context: ids as text."""

    summary: str
    forgotten: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Nothing of it reaches the model."""

    reason: str


Event: TypeAlias = SystemSaid | UserSaid | Acted | Observed | Condensed | Aside

_SDK_MESSAGES = frozenset({"MessageEvent", "SystemPromptEvent", "ActionEvent", "Condensation"})
_SDK_RESULTS = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})
# Events that only the interface and the runtime read.
_SILENT_ACTIONS = frozenset(
    {"change_agent_state", "null", "recall", "pause", "resume", "condensation_request"}
)
_SILENT_OBSERVATIONS = frozenset({"agent_state_changed", "null", "recall", "condense"})


def is_sdk(event: Record) -> bool:
    """Whether an event is in the SDK's naming, told by its ``kind``."""
    return isinstance(event.get("kind"), str)


def is_event(value: Json) -> bool:
    """Whether a value looks like an event."""
    fields = as_record(value)
    if is_sdk(fields):
        return fields["kind"] in _SDK_MESSAGES | _SDK_RESULTS
    return "source" in fields and bool({"action", "observation"} & fields.keys())


def event_of(event: Record) -> Event:
    """What an event means; one that nothing is known of says its JSON."""
    if is_sdk(event):
        return _sdk_event(event)
    if "observation" in event:
        return _observation(event)
    return _action(event)


def _action(event: Record) -> Event:
    name = as_text(event.get("action"))
    args = as_record(event.get("args"))
    by_agent = event.get("source") == "agent"
    match name:
        case "system":
            return SystemSaid(text=as_text(args.get("content")), tools=args.get("tools"))
        case "condensation":
            return Condensed(summary=as_text(args.get("summary")), forgotten=_forgotten(args))
        case "message" if not by_agent:
            content = _with_images(args.get("content"), args.get("image_urls"))
            return UserSaid(content=content, typed=event.get("source") == "user")
        case _ if name in _SILENT_ACTIONS:
            return Aside(reason=name)
        case _ if not by_agent:
            return UserSaid(content=compact_json(event), typed=False)
        case _:
            return _acted(event, name, args)


def _forgotten(args: Record) -> frozenset[str]:
    ids = {str(name) for name in as_list(args.get("forgotten_event_ids")) if _is_id(name)}
    first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    if isinstance(first, int) and isinstance(last, int):
        # Only the end matters for what was kept, and a range may be as long as it likes.
        ids |= {str(first), str(last)}
    return frozenset(ids)


def _is_id(value: Json) -> bool:
    return isinstance(value, str | int)


def _acted(event: Record, name: str, args: Record) -> Acted:
    metadata = as_record(event.get("tool_call_metadata"))
    response = as_record(metadata.get("model_response"))
    choices = as_list(response.get("choices"))
    choice = as_record(choices[0] if choices else None)
    message = as_record(choice.get("message"))
    if message:
        whole = openai_chat.reply(message, response, choice, as_time(event.get("timestamp")))
        return Acted(reply_id=as_text(response.get("id")), whole=whole)
    parts: list[ModelResponsePart] = []
    said = as_text(args.get("content" if name == "message" else "thought"))
    if said:
        parts.append(TextPart(content=said))
    if name != "message":
        call = ToolCallPart(
            tool_name=as_text(metadata.get("function_name")) or name,
            args={key: value for key, value in args.items() if key != "thought"},
            tool_call_id=as_text(metadata.get("tool_call_id")) or _own_id(event.get("id")),
        )
        parts.append(call)
    return Acted(reply_id="", parts=parts)


def _own_id(value: Json) -> str:
    return f"event-{compact_json(value)}"


def _observation(event: Record) -> Event:
    name = as_text(event.get("observation"))
    if name in _SILENT_OBSERVATIONS:
        return Aside(reason=name)
    extras = as_record(event.get("extras"))
    content = _with_images(event.get("content"), extras.get("image_urls"))
    call_id = as_text(as_record(event.get("tool_call_metadata")).get("tool_call_id"))
    if not call_id and event.get("cause") is None:
        return UserSaid(content=content, typed=False)
    code = as_record(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
    outcome: Outcome = "denied" if name == "user_rejected" else "success"
    if name == "error" or _is_failure(code):
        outcome = "failed"
    return Observed(
        call_id=call_id or _own_id(event.get("cause")), content=content, outcome=outcome
    )


def _is_failure(exit_code: Json) -> bool:
    """-1 stands for a command that still runs."""
    return exit_code not in (None, 0, -1)


def _with_images(text: Json, urls: Json) -> Content:
    said = text if isinstance(text, str) else text_of(text)
    images = [linked_image(as_text(url)) for url in as_list(urls)]
    return joined([said, *(image for image in images if image is not None)])


def _sdk_event(event: Record) -> Event:
    kind = as_text(event["kind"])
    match kind:
        case "SystemPromptEvent":
            prompt = event.get("system_prompt")
            return SystemSaid(text=_sdk_text(prompt), tools=event.get("tools"))
        case "MessageEvent":
            return _sdk_message(event)
        case "ActionEvent":
            return _sdk_acted(event)
        case "Condensation":
            ids = frozenset(as_text(name) for name in as_list(event.get("forgotten_event_ids")))
            return Condensed(summary=as_text(event.get("summary")), forgotten=ids)
        case _ if kind in _SDK_RESULTS:
            return _sdk_observed(event, kind)
        case _:
            return Aside(reason=kind)


def _sdk_text(prompt: Json) -> str:
    return as_text(as_record(prompt).get("text")) or as_text(prompt)


def _sdk_message(event: Record) -> Event:
    message = as_record(event.get("llm_message"))
    if message.get("role") == "assistant":
        whole = openai_chat.reply(message, {}, {}, as_time(event.get("timestamp")))
        return Acted(reply_id=as_text(event.get("llm_response_id")), whole=whole)
    blocks = [*as_list(message.get("content")), *as_list(event.get("extended_content"))]
    content = _sdk_content(blocks or message.get("content"))
    return UserSaid(content=content, typed=event.get("source") == "user")


def _sdk_content(content: Json) -> Content:
    if isinstance(content, str) or content is None:
        return content or ""
    pieces: list[UserContent] = []
    for block in content if isinstance(content, list) else [content]:
        urls = as_list(as_record(block).get("image_urls"))
        images = [linked_image(as_text(url)) for url in urls]
        shown: Sequence[UserContent] = [image for image in images if image is not None]
        pieces.extend(shown or [block_content(block)])
    return joined(pieces)


def _sdk_acted(event: Record) -> Acted:
    parts: list[ModelResponsePart] = []
    thinking = [as_record(block) for block in as_list(event.get("thinking_blocks"))]
    parts += [
        ThinkingPart(
            content=as_text(block.get("thinking")),
            signature=as_text(block.get("signature")) or None,
            provider_name="anthropic",
        )
        for block in thinking
    ]
    if not thinking and (reasoning := as_text(event.get("reasoning_content"))):
        parts.append(ThinkingPart(content=reasoning))
    if thought := text_of(event.get("thought")):
        parts.append(TextPart(content=thought))
    call = as_record(event.get("tool_call"))
    function = as_record(call.get("function")) or call
    made = ToolCallPart(
        tool_name=as_text(function.get("name")) or as_text(event.get("tool_name")) or "unknown",
        args=as_arguments(function.get("arguments", event.get("action"))),
        tool_call_id=as_text(event.get("tool_call_id")) or as_text(call.get("id")),
    )
    return Acted(reply_id=as_text(event.get("llm_response_id")), parts=[*parts, made])


def _sdk_observed(event: Record, kind: str) -> Observed:
    call_id = as_text(event.get("tool_call_id"))
    if kind != "ObservationEvent":
        outcome: Outcome = "failed" if kind == "AgentErrorEvent" else "denied"
        said = event.get("error" if outcome == "failed" else "rejection_reason")
        return Observed(call_id=call_id, content=as_text(said), outcome=outcome)
    seen = as_record(event.get("observation"))
    content = seen.get("content", seen.get("output"))
    shown = _sdk_content(content) if isinstance(content, str | list) else compact_json(seen)
    failed = seen.get("is_error") is True or _is_failure(seen.get("exit_code"))
    return Observed(call_id=call_id, content=shown, outcome="failed" if failed else "success")
