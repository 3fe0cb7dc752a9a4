"""What providers accept, checked as strictly as the strictest of them: one function a dialect.

Written against the providers' documentation and apart from the code that writes requests, so that
it can tell on it. A violation says which message and why; no violation means the request is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

Message = Mapping[str, Any]


class Violation(NamedTuple):
    """A rule that a request breaks; ``message_index`` is 0-based."""

    message_index: int
    rule: str


def openai_chat_violations(messages: Sequence[Message]) -> list[Violation]:
    """Check messages of the OpenAI chat API: each batch of calls is answered at once and whole."""
    found: list[Violation] = []
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            call_id = message["tool_call_id"]
            if call_id not in waiting:
                found.append(Violation(index, f"result {call_id!r} answers no open call"))
            waiting.discard(call_id)
            continue
        found += _unanswered(index, waiting)
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        found += _repeated(index, ids)
        waiting = set(ids)
        if not message.get("content") and not ids and role != "assistant":
            found.append(Violation(index, f"{role} message without content"))
    return found + _unanswered(len(messages), waiting)


def anthropic_violations(messages: Sequence[Message]) -> list[Violation]:
    """Check messages of the Anthropic API.

    Roles alternate from a user message on; results stand first in the message right behind their
    calls; thinking stands in front and signed; at most four marks for the prompt cache.
    """
    found: list[Violation] = []
    waiting: set[str] = set()
    role, marks = "assistant", 0
    for index, message in enumerate(messages):
        if message["role"] == role:
            found.append(Violation(index, f"two {role} messages in a row"))
        role = message["role"]
        blocks = _blocks(message)
        if not blocks:
            found.append(Violation(index, "message without content"))
        marks += sum("cache_control" in block for block in blocks)
        found += [Violation(index, why) for why in _wrong_blocks(role, blocks)]
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if role == "user":
            found += _repeated(index, answers)
            found += [
                Violation(index, f"result {one!r} answers no call of the message before")
                for one in answers
                if one not in waiting
            ]
            found += _unanswered(index, waiting - set(answers))
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        found += _repeated(index, calls)
        waiting = set(calls)
    if marks > 4:
        found.append(Violation(len(messages) - 1, f"{marks} marks for the prompt cache"))
    return found + _unanswered(len(messages), waiting)


def openai_responses_violations(items: Sequence[Message]) -> list[Violation]:
    """Check items of the OpenAI Responses API.

    Each output has its call before it and each call an output, ids are unique, and reasoning stands
    right before something else of the same reply.
    """
    found: list[Violation] = []
    calls: dict[str, str] = {}
    answered: set[str] = set()
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind.endswith("_call") and "call_id" in item:
            found += _repeated(index, [*calls, item["call_id"]])
            calls[item["call_id"]] = kind
        if kind.endswith("_call_output"):
            call_id = item["call_id"]
            if calls.get(call_id) != kind.removesuffix("_output"):
                found.append(Violation(index, f"output {call_id!r} answers no call of its kind"))
            found += _repeated(index, [*answered, call_id])
            answered.add(call_id)
        if kind == "reasoning" and not _is_reply_item(items[index + 1 : index + 2]):
            found.append(Violation(index, "reasoning without what it led to"))
    return found + _unanswered(len(items), calls.keys() - answered)


def _is_reply_item(items: Sequence[Message]) -> bool:
    kinds = [item.get("type", "message") for item in items]
    return any(kind == "reasoning" or kind.endswith("_call") for kind in kinds) or any(
        item.get("role") == "assistant" for item in items
    )


def google_violations(contents: Sequence[Message]) -> list[Violation]:
    """Check contents of the Google Gemini API.

    Roles alternate from a user content on; the content behind calls has as many responses, for the
    same functions, and starts with them.
    """
    found: list[Violation] = []
    waiting: list[str] = []
    role = "model"
    for index, content in enumerate(contents):
        if content["role"] == role:
            found.append(Violation(index, f"two {role} contents in a row"))
        role = content["role"]
        parts = content["parts"]
        if not parts:
            found.append(Violation(index, "content without parts"))
        names = [_part(part, "functionResponse").get("name") for part in parts]
        answers = [name for name in names if name]
        if role == "user" and sorted(answers) != sorted(waiting):
            found.append(Violation(index, f"responses {answers} to the calls {waiting}"))
        if any(names[: len(answers)].count(None) for _ in answers):
            found.append(Violation(index, "a response behind something else"))
        calls = [_part(part, "functionCall").get("name") for part in parts]
        waiting = [name for name in calls if name]
        if waiting and role != "model":
            found.append(Violation(index, "a call that no reply makes"))
    return found + _unanswered(len(contents), set(waiting))


def _part(part: Message, name: str) -> Message:
    snake = {"functionCall": "function_call", "functionResponse": "function_response"}[name]
    return part.get(name) or part.get(snake) or {}


def _wrong_blocks(role: str, blocks: Sequence[Message]) -> Iterator[str]:
    others_seen = False
    native = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    for block in blocks:
        kind = block["type"]
        if kind == "text" and not block["text"]:
            yield "empty text block"
        if kind in {"thinking", "redacted_thinking"}:
            if role != "assistant" or not (block.get("signature") or block.get("data")):
                yield "thinking that is not a signed part of a reply"
            if "cache_control" in block:
                yield "thinking with a mark for the prompt cache"
        if kind == "tool_result":
            if role != "user" or others_seen:
                yield "a result behind something else"
        else:
            others_seen = True
        if kind == "tool_use" and role != "assistant":
            yield "a call that no reply makes"
        if kind.endswith("_tool_result") and block["tool_use_id"] not in native:
            yield "a provider's own result without its call"


def _blocks(message: Message) -> list[Message]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _repeated(index: int, ids: Sequence[str]) -> list[Violation]:
    return [
        Violation(index, f"id {one!r} stands twice")
        for number, one in enumerate(ids)
        if one in ids[:number]
    ]


def _unanswered(index: int, waiting: set[str]) -> list[Violation]:
    return [Violation(index, f"call {one!r} has no result") for one in sorted(waiting)]


PROVIDER_RULES: Mapping[str, Callable[[Sequence[Message]], list[Violation]]] = MappingProxyType(
    {
        "openai-chat": openai_chat_violations,
        "anthropic-messages": anthropic_violations,
        "openai-responses": openai_responses_violations,
        "google-contents": google_violations,
    }
)
"""The check of each dialect by its name."""
