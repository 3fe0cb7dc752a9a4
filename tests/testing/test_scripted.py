from __future__ import annotations

from datetime import timedelta
from itertools import count, repeat

import anyio
import pytest
from pydantic_ai import Agent
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from palimpsest.core.outline import Outline
from palimpsest.formats.pydantic_ai import outline
from palimpsest.models.overflow import Overflow, classify_overflow
from palimpsest.testing import (
    OVERFLOWS,
    SAMPLE_HISTORIES,
    Call,
    FrozenClock,
    Gate,
    Reply,
    ScriptedModel,
    ScriptEndedError,
    SeenRequest,
    image_history,
    short_history,
    tool_history,
    unanswered_history,
)
from palimpsest.testing.clock import DEFAULT_START
from palimpsest.testing.provider_errors import connection_lost, overloaded

pytestmark = pytest.mark.anyio

PROMPT = [ModelRequest.user_text_prompt("hi")]


async def streamed(model: ScriptedModel) -> tuple[list[str], ModelResponse]:
    """Give the text in the chunks in which it came, and the whole reply."""
    chunks: list[str] = []
    async with model_request_stream(model, PROMPT) as stream:
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    chunks.append(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    chunks.append(text)
                case _:
                    pass
        assert stream.provider_url is None
    return chunks, stream.get()


FULL = Reply(
    thinking="hm",
    text=("He", "", "llo"),
    calls=(Call(tool="read", arguments={"path": "a"}), Call(tool="stop", id="mine")),
    parts=(FilePart(content=BinaryContent(data=b"x", media_type="image/png")),),
)


async def test_a_reply_is_the_same_plain_and_streamed() -> None:
    clock = FrozenClock()
    clock.advance(60)
    model = ScriptedModel([FULL, FULL], name="acme:large", clock=clock)
    plain = await model_request(model, PROMPT)
    assert plain.parts == [
        ThinkingPart(content="hm"),
        TextPart(content="Hello"),
        ToolCallPart(tool_name="read", args='{"path":"a"}', tool_call_id="call-1-0"),
        ToolCallPart(tool_name="stop", args="{}", tool_call_id="mine"),
        *FULL.parts,
    ]
    chunks, stream = await streamed(model)
    assert chunks == ["He", "llo"]
    assert [part.part_kind for part in stream.parts] == [part.part_kind for part in plain.parts]
    for response in (plain, stream):
        assert (response.provider_name, response.model_name) == ("acme", "large")
        assert response.finish_reason == "tool_call"
        assert response.timestamp == DEFAULT_START + timedelta(minutes=1)
        assert response.usage.output_tokens == plain.usage.output_tokens > 1200
    assert [request.streamed for request in model.requests] == [False, True]


async def test_usage_and_finish_reason_may_be_scripted() -> None:
    usage = RequestUsage(input_tokens=7, output_tokens=8)
    model = ScriptedModel([Reply(text="x", usage=usage, finish_reason="length")] * 2)
    plain = await model_request(model, PROMPT)
    _, stream = await streamed(model)
    for response in (plain, stream):
        assert (response.usage, response.finish_reason) == (usage, "length")


async def test_usage_counts_system_text_tools_messages_and_what_the_cache_had() -> None:
    tool = ToolDefinition(name="read", description="Read", parameters_json_schema={})
    parameters = ModelRequestParameters(function_tools=[tool])
    model = ScriptedModel(repeat(Reply(text="yes")), count_ratio=2)
    first_prompt = ModelRequest.user_text_prompt("abcd", instructions="Be kind.")
    first = await model_request(model, [first_prompt], model_request_parameters=parameters)
    seen = model.requests[0]
    assert seen.tokens == seen.tokens_of(0) + 17
    assert first.usage.input_tokens == 2 * seen.tokens
    assert (first.usage.cache_read_tokens, first.usage.output_tokens) == (0, 2 * 17)
    next_prompt = ModelRequest.user_text_prompt("x", instructions="Be kind.")
    longer: list[ModelMessage] = [first_prompt, first, next_prompt]
    second = await model_request(model, longer, model_request_parameters=parameters)
    assert second.usage.cache_read_tokens == first.usage.input_tokens
    changed = await model_request(model, longer)
    assert changed.usage.cache_read_tokens == 0


async def test_a_script_may_end_repeat_or_decide() -> None:
    def echo(request: SeenRequest) -> Reply | Exception:
        return overloaded() if request.number == 2 else Reply(text=f"request {request.number}")

    model = ScriptedModel([echo, echo, echo])
    assert (await model_request(model, PROMPT)).text == "request 1"
    with pytest.raises(ModelHTTPError):
        await model_request(model, PROMPT)
    assert (await model_request(model, PROMPT)).text == "request 3"
    with pytest.raises(ScriptEndedError, match="no answer to request 4"):
        await model_request(model, PROMPT)
    endless = ScriptedModel(Reply(text=str(number)) for number in count())
    assert [(await model_request(endless, PROMPT)).text for _ in range(3)] == ["0", "1", "2"]


@pytest.mark.parametrize("provider", OVERFLOWS)
async def test_a_window_may_be_enforced_as_a_provider_does(provider: str) -> None:
    model = ScriptedModel([Reply(text="fits")], window=40, overflow=OVERFLOWS[provider])
    assert model.context_window == 40
    with pytest.raises(ModelAPIError) as caught:
        await model_request(model, [ModelRequest.user_text_prompt("x" * 400)])
    found = classify_overflow(caught.value)
    assert found is not None
    assert found in (Overflow(), Overflow(window=40, request=116))
    assert (await model_request(model, PROMPT)).text == "fits"


async def test_gates_hold_a_stream_back_without_time() -> None:
    before, midway = Gate(), Gate()
    model = ScriptedModel([Reply(text=("one", "two"), before=before, midway=midway)])
    got: list[str] = []

    async def consume() -> None:
        chunks, _ = await streamed(model)
        got.extend(chunks)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        assert (await model.received(1)).streamed
        await before.reached.wait()
        before.open()
        await midway.reached.wait()
        assert got == []
        midway.open()
    assert got == ["one", "two"]


async def test_a_stream_may_break_after_its_output() -> None:
    model = ScriptedModel([Reply(text="half", breaks_with=connection_lost())] * 2)
    texts: list[str] = []
    async with model_request_stream(model, PROMPT) as stream:
        with pytest.raises(ModelAPIError, match="Connection error"):
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    texts.append(event.part.content)
        assert texts == ["half"]
        partial = stream.get()
        assert (partial.state, partial.usage.has_values()) == ("incomplete", False)
    with pytest.raises(ModelAPIError, match="Connection error"):
        await model_request(model, PROMPT)


async def test_a_consumer_may_close_a_stream() -> None:
    model = ScriptedModel([Reply(text=("a", "b"))])
    async with model_request_stream(model, PROMPT) as stream:
        async for _ in stream:
            break
        await stream.cancel()
        assert stream.get().state == "interrupted"


async def test_it_drives_an_agent_and_sees_every_request() -> None:
    model = ScriptedModel(
        [Reply(calls=(Call(tool="add", arguments={"a": 2, "b": 3}),)), Reply(text="5")],
        settings=ModelSettings(temperature=0),
    )
    agent = Agent(model, instructions="Count.")

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    result = await agent.run("2 + 3?")
    assert result.output == "5"
    first, second = model.requests
    assert second.extends(first)
    assert not first.extends(second)
    assert second.shared_messages(first) == 1
    assert first.settings == {"temperature": 0}
    assert '"Count."' in first.text
    assert '"Add two numbers."' in first.text
    assert (first.instructions, first.number, second.number) == ("Count.", 1, 2)


def seen(*messages: ModelRequest | ModelResponse) -> SeenRequest:
    return SeenRequest(
        number=1,
        messages=messages,
        settings=ModelSettings(),
        parameters=ModelRequestParameters(),
        streamed=False,
    )


async def test_bytes_hold_what_is_sent_and_no_bookkeeping() -> None:
    early, late = short_history()[:2], short_history()[:2]
    late[0].timestamp = late[1].timestamp = DEFAULT_START + timedelta(days=1)
    late[1].usage = RequestUsage(input_tokens=5)  # type: ignore[union-attr]
    late[1].metadata = {"note": "local"}
    assert seen(*early).body == seen(*late).body
    with_usage_argument = ModelResponse(
        parts=[ToolCallPart(tool_name="t", args={"usage": 1}, tool_call_id="c")]
    )
    other = ModelResponse(parts=[ToolCallPart(tool_name="t", args={"usage": 2}, tool_call_id="c")])
    assert seen(with_usage_argument).body != seen(other).body
    assert seen(ModelResponse(parts=[])).instructions == ""


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = FrozenClock()
    assert clock() == clock() == DEFAULT_START
    assert clock.milliseconds == 1_767_225_600_000
    before = clock.monotonic_s
    clock.advance(1.5)
    assert (clock.milliseconds, clock.monotonic_s - before) == (1_767_225_601_500, 1.5)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)


@pytest.mark.parametrize("name", SAMPLE_HISTORIES)
def test_sample_histories_are_legal_and_the_same_every_time(name: str) -> None:
    make = SAMPLE_HISTORIES[name]
    assert make() == make()
    measured = Outline([outline(message) for message in make()])
    assert measured.orphans == []
    assert bool(measured.unanswered()) is (name == "unanswered")
    assert measured.prompts[0] == 0


def test_sample_histories_hold_what_they_promise() -> None:
    assert len(short_history()) == 4
    assert len(tool_history(turns=3)) == 18
    measured = Outline([outline(message) for message in tool_history(result_characters=800)])
    first = measured.part(measured.outputs[0])
    assert first.content is not None
    assert first.content.characters == 800
    assert "image/png" in str(image_history())
    assert len(unanswered_history()) == 3
