"""Random legal pydantic-ai histories."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IMAGE = BinaryContent(data=b"x" * 30, media_type="image/png")


def user(text: str | list[str | BinaryContent], *, system: str = "") -> ModelRequest:
    parts: list[SystemPromptPart | UserPromptPart] = []
    if system:
        parts.append(SystemPromptPart(content=system, timestamp=NOW))
    parts.append(UserPromptPart(content=text, timestamp=NOW))
    return ModelRequest(parts=parts, timestamp=NOW)


def assistant(text: str, *calls: tuple[str, str, object], thinking: str = "") -> ModelResponse:
    parts: list[ThinkingPart | TextPart | ToolCallPart] = []
    if thinking:
        parts.append(ThinkingPart(content=thinking, signature="sig"))
    if text:
        parts.append(TextPart(content=text))
    parts += [
        ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id)  # type: ignore[arg-type]
        for call_id, name, arguments in calls
    ]
    return ModelResponse(parts=parts, timestamp=NOW)


def returns(*outputs: tuple[str, str, object], attached: str = "") -> ModelRequest:
    parts: list[ToolReturnPart[object] | UserPromptPart] = [
        ToolReturnPart(tool_name=name, content=content, tool_call_id=call_id, timestamp=NOW)
        for call_id, name, content in outputs
    ]
    if attached:
        parts.append(UserPromptPart(content=attached, timestamp=NOW))
    return ModelRequest(parts=parts, timestamp=NOW)


SIZES = st.sampled_from([0, 1, 40, 400, 4_000, 20_000])
WORDS = st.text(alphabet="abc d\n😀", max_size=30)


@st.composite
def turns(draw: st.DrawFn, first_call: int = 0) -> list[ModelMessage]:
    """One turn: a prompt, then steps whose calls are all answered, then perhaps prose."""
    messages: list[ModelMessage] = [
        user(draw(WORDS) or "go", system=draw(st.sampled_from(["", "", "rules"])))
    ]
    for step in range(draw(st.integers(0, 5))):
        count = draw(st.integers(0, 3))
        ids = [f"c{first_call + 10 * step + number}" for number in range(count)]
        messages.append(
            assistant(
                draw(WORDS) or "ok",
                *((call, "read", {"path": draw(WORDS)}) for call in ids),
                thinking=draw(st.sampled_from(["", "hm"])),
            )
        )
        if ids:
            outputs = [(call, "read", "x" * draw(SIZES)) for call in ids]
            messages.append(returns(*outputs, attached=draw(st.sampled_from(["", "", "file"]))))
    return messages


@st.composite
def histories(draw: st.DrawFn) -> list[ModelMessage]:
    """A whole legal history of up to eight turns."""
    messages: list[ModelMessage] = []
    for number in range(draw(st.integers(1, 8))):
        messages += draw(turns(first_call=1000 * number))
    return messages
