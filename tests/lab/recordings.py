"""Small recordings, built by hand so that every figure can be computed by hand.

``words(n)`` is n tokens long; a message costs 16 more.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from palimpsest.transcripts.recording import (
    Problem,
    RecordedCompaction,
    RecordedMessage,
    Recording,
    RecordingCounts,
)

AT = datetime(1970, 1, 1, tzinfo=UTC)
MESSAGE = 16


def words(tokens: int, letter: str = "a") -> str:
    return letter * (4 * tokens)


def prompt(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content=text, timestamp=AT)], timestamp=AT)


def says(
    text: str, *, counted: int = 0, answered: int = 0, model: str | None = None
) -> ModelResponse:
    return ModelResponse(
        parts=[TextPart(content=text)],
        usage=RequestUsage(input_tokens=counted, output_tokens=answered),
        model_name=model,
        timestamp=AT,
    )


def calls(*calls: tuple[str, str], counted: int = 0) -> ModelResponse:
    """A reply that calls ``read`` with a path, for each (call id, path)."""
    return ModelResponse(
        parts=[ToolCallPart("read", {"path": path}, tool_call_id=call) for call, path in calls],
        usage=RequestUsage(input_tokens=counted, output_tokens=0),
        timestamp=AT,
    )


def results(*results: tuple[str, str]) -> ModelRequest:
    parts = [
        ToolReturnPart(tool_name="read", content=text, tool_call_id=call, timestamp=AT)
        for call, text in results
    ]
    return ModelRequest(parts=parts, timestamp=AT)


def recording(
    *messages: ModelMessage,
    model: str | None = None,
    system: str = "",
    path: str = "a.jsonl",
    session_id: str = "a",
    compactions: list[RecordedCompaction] | None = None,
    set_aside: dict[str, int] | None = None,
    problems: list[Problem] | None = None,
) -> Recording:
    recorded = [
        RecordedMessage(
            message=message,
            is_prompt=any(isinstance(part, UserPromptPart) for part in message.parts),
            records=(index + 1,),
        )
        for index, message in enumerate(messages)
    ]
    parts = [part for message in messages for part in message.parts]
    return Recording(
        path=Path(path),
        format="pi",
        session_id=session_id,
        model=model,
        system=system,
        tools=[],
        messages=recorded,
        compactions=compactions or [],
        set_aside=set_aside or {},
        problems=problems or [],
        counts=RecordingCounts(
            messages=len(messages),
            calls=sum(isinstance(part, ToolCallPart) for part in parts),
            results=sum(isinstance(part, ToolReturnPart) for part in parts),
            images=0,
            interrupted=0,
        ),
    )


def steps(count: int, *, tokens: int, turn_every: int = 5) -> list[ModelMessage]:
    """A long session: prompts, each followed by steps that read a file and use its name."""
    history: list[ModelMessage] = []
    for number in range(count):
        if number % turn_every == 0:
            history += [prompt(f"Now look at src/part_{number}.py"), says("I will.")]
        history += [
            calls((f"c{number}", f"src/part_{number}.py")),
            results((f"c{number}", f"def helper_{number}_of_it(): ...\n{words(tokens)}")),
        ]
    return [*history, says("Done.")]
