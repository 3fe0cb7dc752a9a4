"""Small legal histories of pydantic-ai messages, the same every time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.testing.clock import DEFAULT_START

_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def short_history() -> list[ModelMessage]:
    """Two turns without tools."""
    return [
        _prompt("Which port does the server use?"),
        _answer("It listens on 8080."),
        _prompt("And behind the proxy?"),
        _answer("The proxy forwards 443 to 8080."),
    ]


def tool_history(*, turns: int = 12, result_characters: int = 4_000) -> list[ModelMessage]:
    """Turns that each read a file and run the tests; every call is answered.

    Args:
        turns: how many prompts, positive.
        result_characters: size of what each file holds.
    """
    messages: list[ModelMessage] = []
    for turn in range(1, turns + 1):
        path = f"src/module_{turn:03}.py"
        source = f"# {path}\n" + f"value_{turn} = {turn}\n" * (result_characters // 12)
        messages += [
            _prompt(f"Please fix the rounding in {path}."),
            _call("read_file", f"read-{turn}", path=path),
            _result("read_file", f"read-{turn}", source[:result_characters]),
            _call("run_tests", f"test-{turn}", target=f"tests/test_{turn:03}.py"),
            _result("run_tests", f"test-{turn}", f"{turn} passed in 0.{turn:02}s"),
            _answer(f"The rounding in {path} is fixed and its {turn} tests pass."),
        ]
    return messages


def image_history() -> list[ModelMessage]:
    """A prompt with an image, and a tool that returns one."""
    image = BinaryContent(data=_PIXEL, media_type="image/png")
    prompt = UserPromptPart(content=["What is on this page?", image], timestamp=DEFAULT_START)
    return [
        ModelRequest(parts=[prompt], timestamp=DEFAULT_START),
        _call("screenshot", "shot-1", url="http://localhost:8080"),
        _result("screenshot", "shot-1", image),
        _answer("A single transparent pixel."),
    ]


def unanswered_history() -> list[ModelMessage]:
    """An interrupted batch: of two calls, the second has no result."""
    both = ModelResponse(
        parts=[
            ToolCallPart(tool_name="read_file", args={"path": "a.py"}, tool_call_id="read-a"),
            ToolCallPart(tool_name="read_file", args={"path": "b.py"}, tool_call_id="read-b"),
        ],
        timestamp=DEFAULT_START,
    )
    return [_prompt("Compare a.py and b.py."), both, _result("read_file", "read-a", "a = 1\n")]


SAMPLE_HISTORIES: Mapping[str, Callable[[], list[ModelMessage]]] = MappingProxyType(
    {
        "short": short_history,
        "tools": tool_history,
        "image": image_history,
        "unanswered": unanswered_history,
    }
)


def _prompt(text: str) -> ModelRequest:
    part = UserPromptPart(content=text, timestamp=DEFAULT_START)
    return ModelRequest(parts=[part], timestamp=DEFAULT_START)


def _answer(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(content=text)], timestamp=DEFAULT_START)


def _call(tool: str, call_id: str, **arguments: str) -> ModelResponse:
    part = ToolCallPart(tool_name=tool, args=dict(arguments), tool_call_id=call_id)
    return ModelResponse(parts=[part], timestamp=DEFAULT_START)


def _result(tool: str, call_id: str, content: str | BinaryContent) -> ModelRequest:
    part = ToolReturnPart[object](
        tool_name=tool, content=content, tool_call_id=call_id, timestamp=DEFAULT_START
    )
    return ModelRequest(parts=[part], timestamp=DEFAULT_START)
