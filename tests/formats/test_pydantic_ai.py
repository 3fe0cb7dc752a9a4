"""Every part kind of a request and of a response: its size, its excerpt, whether it lasts."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    CompactionPart,
    FilePart,
    InstructionBaselinePart,
    InstructionDeltaPart,
    InstructionId,
    LoadCapabilityCallPart,
    LoadCapabilityReturnPart,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelSettingsDeltaPart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    RunInstructionSource,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolAvailabilityDeltaPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.estimate import text_tokens, tool_call_text
from palimpsest.core.excerpt import (
    AssistantText,
    Excerpt,
    Feedback,
    InjectedText,
    Marker,
    ToolCall,
    ToolResult,
    UserText,
)
from palimpsest.core.outline import Content, Part
from palimpsest.formats.pydantic_ai import excerpts, outline, output_text, tool_return_text
from tests.formats.messages import NOW

IMAGE = BinaryContent(data=b"x" * 30, media_type="image/png")
PICTURE = Marker(what="image", media_type="image/png", bytes=30)


@dataclass
class Future:
    """A part of a kind that does not exist yet."""

    content: str = "x" * 40
    part_kind: str = "from-the-future"


def request(*parts: Any) -> ModelRequest:
    return ModelRequest(parts=list(parts), timestamp=NOW)


def response(*parts: Any) -> ModelResponse:
    return ModelResponse(parts=list(parts), timestamp=NOW)


def result(content: Any, **more: Any) -> ToolReturnPart[Any]:
    return ToolReturnPart(
        tool_name="read", content=content, tool_call_id="c1", timestamp=NOW, **more
    )


def feedback(content: Any, cause: Literal["validation_error", "no_output"]) -> RetryFeedbackPart:
    return RetryFeedbackPart(content=content, retry=RetryInfo(cause=cause), timestamp=NOW)


def returned(characters: int, tokens: int, size: int, **more: Any) -> Part:
    """16 for the envelope, and one each for ``read`` and ``c1``."""
    return Part(
        kind="tool_return",
        tokens=18 + tokens,
        bytes=6 + size,
        content=Content(characters=characters, tokens=tokens, bytes=size),
        tool_name="read",
        call_id="c1",
        **{"clearable": True, **more},
    )


TOLD = feedback("Say something.", "no_output").model_response()
OPEN_CALL = tool_call_text("c1", "read", {"path": "a.py"})
RAW_CALL = tool_call_text("c1", "read", "{broken")

REQUESTS: list[tuple[Any, Part, list[Excerpt]]] = [
    (
        SystemPromptPart(content="x" * 40, timestamp=NOW),
        Part(kind="system", tokens=26, bytes=40, lasting=True),
        [InjectedText(text="x" * 40)],
    ),
    (
        SystemPromptPart(content="x" * 40, timestamp=NOW, scope="request"),
        Part(kind="system", tokens=26, bytes=40),
        [InjectedText(text="x" * 40)],
    ),
    (
        UserPromptPart(content="x" * 40, timestamp=NOW),
        Part(kind="user", tokens=26, bytes=40),
        [UserText(text="x" * 40)],
    ),
    (
        UserPromptPart(["x" * 40, IMAGE, CachePoint(), TextContent("y" * 4)], timestamp=NOW),
        Part(kind="user", tokens=16 + 10 + 1200 + 1, bytes=84),
        [UserText(text="x" * 40), PICTURE, UserText(text="yyyy")],
    ),
    (UserPromptPart(content="", timestamp=NOW), Part(kind="user", tokens=16), []),
    (
        result("x" * 40),
        returned(40, 10, 40),
        [ToolResult(call_id="c1", tool_name="read", text="x" * 40, is_error=False)],
    ),
    (
        result(["x" * 40, IMAGE], outcome="failed"),
        returned(4840, 1210, 80, is_error=True),
        [ToolResult(call_id="c1", tool_name="read", text="x" * 40, is_error=True), PICTURE],
    ),
    (
        result({"a": 1}, outcome="retried", retry=RetryInfo(cause="model_retry")),
        returned(7, 2, 7, is_error=True),
        [ToolResult(call_id="c1", tool_name="read", text='{"a":1}', is_error=True)],
    ),
    (
        feedback("Say something.", "no_output"),
        Part(kind="feedback", tokens=16 + text_tokens(TOLD), bytes=len(TOLD)),
        [Feedback(text=TOLD)],
    ),
    (
        InstructionDeltaPart(id=InstructionId(source=RunInstructionSource()), content="x" * 40),
        Part(kind="system", tokens=10, bytes=40, lasting=True),
        [],
    ),
    (
        InstructionDeltaPart(id=InstructionId(source=RunInstructionSource()), content=None),
        Part(kind="system", tokens=0, lasting=True),
        [],
    ),
    (InstructionBaselinePart(instructions=[]), Part(kind="system", tokens=0, lasting=True), []),
    (ModelSettingsDeltaPart(settings={}), Part(kind="system", tokens=0, lasting=True), []),
    (ToolAvailabilityDeltaPart(tools_added=["a"]), Part(kind="system", tokens=0, lasting=True), []),
    (
        SpeechPart(speaker="user", transcript="x" * 40),
        Part(kind="user", tokens=26, bytes=40),
        [UserText(text="x" * 40)],
    ),
]

RESPONSES: list[tuple[Any, Part, list[Excerpt]]] = [
    (
        TextPart(content="x" * 40),
        Part(kind="text", tokens=10, bytes=40),
        [AssistantText(text="x" * 40)],
    ),
    (
        ThinkingPart(content="x" * 40, signature="s" * 8),
        Part(kind="thinking", tokens=10, bytes=48),
        [Marker(what="thinking", media_type="text/plain", bytes=40)],
    ),
    (
        ThinkingPart(content=""),
        Part(kind="thinking", tokens=0),
        [Marker(what="thinking", media_type="text/plain", bytes=0)],
    ),
    (
        ToolCallPart("read", {"path": "a.py"}, tool_call_id="c1"),
        Part(
            kind="tool_call",
            tokens=text_tokens(OPEN_CALL),
            bytes=len(OPEN_CALL),
            tool_name="read",
            call_id="c1",
        ),
        [ToolCall(call_id="c1", tool_name="read", arguments={"path": "a.py"})],
    ),
    (
        ToolCallPart("read", "{broken", tool_call_id="c1"),
        Part(
            kind="tool_call",
            tokens=text_tokens(RAW_CALL),
            bytes=len(RAW_CALL),
            tool_name="read",
            call_id="c1",
        ),
        [ToolCall(call_id="c1", tool_name="read", arguments="{broken")],
    ),
    (
        SpeechPart(speaker="assistant", transcript="x" * 40),
        Part(kind="text", tokens=10, bytes=40),
        [AssistantText(text="x" * 40)],
    ),
    (
        CompactionPart(content="x" * 40),
        Part(kind="opaque", tokens=10, bytes=40),
        [InjectedText(text="x" * 40)],
    ),
    (
        FilePart(content=IMAGE),
        Part(kind="opaque", tokens=1200, bytes=40),
        [Marker(what="opaque", media_type="", bytes=40)],
    ),
]


@pytest.mark.parametrize(("part", "measured", "read"), REQUESTS)
def test_parts_of_requests(part: Any, measured: Part, read: list[Excerpt]) -> None:
    assert outline(request(part)).parts == (measured,)
    assert excerpts(request(part)) == read


@pytest.mark.parametrize(("part", "measured", "read"), RESPONSES)
def test_parts_of_responses(part: Any, measured: Part, read: list[Excerpt]) -> None:
    found = outline(response(part))
    assert found.parts == (measured,)
    assert (found.envelope_tokens, found.is_reply, found.starts_turn) == (16, True, False)
    assert excerpts(response(part)) == read


def test_calls_and_results_of_the_provider_itself_are_opaque_but_can_be_read() -> None:
    parts = [
        NativeToolCallPart("web_search", {"query": "x"}, tool_call_id="n1"),
        NativeToolReturnPart("web_search", "found", tool_call_id="n1", timestamp=NOW),
    ]
    message = outline(response(*parts))
    assert [part.kind for part in message.parts] == ["opaque", "opaque"]
    assert all(part.tokens > 0 and not part.clearable for part in message.parts)
    assert excerpts(response(*parts)) == [
        ToolCall(call_id="n1", tool_name="web_search", arguments={"query": "x"}),
        ToolResult(call_id="n1", tool_name="web_search", text="found", is_error=False),
    ]


@pytest.mark.parametrize(
    "part",
    [
        Future(),
        CompactionPart(),
        SpeechPart(speaker="user", audio=IMAGE),
        SpeechPart(speaker="user", transcript="words", audio=IMAGE),
        "not even a part",
    ],
)
def test_an_unknown_part_is_measured_and_named(part: object) -> None:
    [measured] = outline(request(part)).parts
    assert (measured.kind, measured.clearable, measured.lasting) == ("opaque", False, False)
    assert measured.tokens >= 4
    assert len(excerpts(request(part))) == 1


def test_loading_a_capability_lasts() -> None:
    call = LoadCapabilityCallPart(args={"id": "x"}, tool_call_id="c1")
    assert call.tool_kind == "capability-load"
    loaded = LoadCapabilityReturnPart(content={}, tool_call_id="c1", timestamp=NOW)  # type: ignore[typeddict-item]
    [asked] = outline(response(call)).parts
    [given] = outline(request(loaded)).parts
    assert (asked.kind, asked.lasting) == ("tool_call", True)
    assert (given.kind, given.lasting, given.clearable) == ("tool_return", True, False)


def test_every_kind_of_the_installed_union_has_a_row() -> None:
    covered = {part.part_kind for part, *_ in [*REQUESTS, *RESPONSES]}
    covered |= {"builtin-tool-call", "builtin-tool-return"}
    kinds = {
        kind
        for union in (ModelRequestPart, ModelResponsePart)
        for kind in _kinds(union)
        if kind != "retry-prompt"  # deprecated: building one warns; it is opaque like any other
    }
    assert kinds == covered


def _kinds(union: Any) -> set[str]:
    kinds = set[str]()
    for member in typing.get_args(typing.get_args(union)[0]):
        for inner in typing.get_args(member)[:1] or [member]:
            found = getattr(typing.get_origin(inner) or inner, "part_kind", None)
            if isinstance(found, str):
                kinds.add(found)
    return kinds


PROMPT = UserPromptPart(content="go", timestamp=NOW)


@pytest.mark.parametrize(
    ("parts", "is_prompt", "starts"),
    [
        ([PROMPT], None, True),
        ([PROMPT], False, False),
        ([result("x"), PROMPT], None, False),
        ([result("x"), PROMPT], True, True),
        ([feedback("x", "no_output"), PROMPT], None, False),
        ([result("x")], None, False),
        ([result("x")], True, False),
        ([SystemPromptPart(content="x", timestamp=NOW)], None, False),
        ([SystemPromptPart(content="x", timestamp=NOW), PROMPT], None, True),
        ([], None, False),
    ],
)
def test_what_starts_a_turn(parts: list[Any], is_prompt: bool | None, starts: bool) -> None:
    assert outline(request(*parts), is_prompt=is_prompt).starts_turn is starts


@pytest.mark.parametrize("part", [PROMPT, SpeechPart(speaker="user", transcript="go")])
def test_text_of_no_prompt_is_injected(part: Any) -> None:
    assert excerpts(request(part), is_prompt=False) == [InjectedText(text="go")]
    assert excerpts(request(result(""), part))[-1] == InjectedText(text="go")


def test_the_text_of_an_output() -> None:
    message = request(PROMPT, result("text"))
    assert output_text(message, 1) == "text"
    with pytest.raises(TypeError, match="part 0 is no tool return but a UserPromptPart"):
        output_text(message, 0)


@pytest.mark.parametrize("content", [{"a": "\ud800"}, ["\udfff", 1], object(), {"a": object()}])
def test_an_output_that_has_no_json_is_measured_all_the_same(content: object) -> None:
    part = result(content)
    assert tool_return_text(part) == repr(content)
    assert outline(request(part)).parts[0].tokens > 18


def test_an_error_is_no_part_of_the_text() -> None:
    assert tool_return_text(result("no", outcome="failed")) == "no"
