"""Models of the OpenAI SDK behind the filter: rejections are answered, counts are learned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("agents")

import httpx2
from agents import Agent, ModelProvider, RunConfig, Runner, SQLiteSession
from agents.models.interface import Model
from agents.testing import ModelStep, ScriptedModel, assistant_message
from agents.usage import Usage
from openai import APIConnectionError, APIError, BadRequestError, RateLimitError
from openai.types.responses import (
    Response,
    ResponseCreatedEvent,
    ResponseError,
    ResponseErrorEvent,
    ResponseFailedEvent,
    ResponseStreamEvent,
)

from palimpsest.core.errors import ContextBudgetExceededError
from palimpsest.integrations.compactor import CompactorSettings
from palimpsest.integrations.openai_agents import CompactingSession, CompactionFilter
from palimpsest.integrations.openai_agents_model import RecoveringModel
from palimpsest.models.limits import LimitChoices
from palimpsest.testing.provider_rules import openai_responses_violations
from tests.integrations.test_openai_agents import agent_of, inputs, script

pytestmark = pytest.mark.anyio

QUIET = RunConfig(tracing_disabled=True)
LARGE = LimitChoices(window=60_000, max_output=500)
CODE = "context_length_exceeded"
SAID = "This model's maximum context length is 9000 tokens."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Named(ModelProvider):
    """Gives one model, whatever it is called."""

    closed = False

    def __init__(self, model: Model) -> None:
        self.model = model

    def get_model(self, model_name: str | None) -> Model:
        return self.model

    async def aclose(self) -> None:
        self.closed = True


def rejected(status_code: int = 400, *, code: str = CODE, said: str = SAID) -> APIError:
    request = httpx2.Request("POST", "https://example.org")
    response = httpx2.Response(status_code, request=request)
    kind = RateLimitError if status_code == 429 else BadRequestError
    return kind(said, response=response, body={"code": code, "message": said})


async def talk(
    steps: list[Any], *, turns: int, stream: bool = False, events: list[Any] | None = None
) -> tuple[ScriptedModel, CompactingSession]:
    """Run prompts of a script in a session whose model is found by name."""
    model = ScriptedModel(steps)
    heard = [] if events is None else events
    settings = CompactorSettings(limits=LARGE, on_event=heard.append)
    session = CompactingSession(SQLiteSession("a"), settings)
    agent = replace(agent_of(model), model="gpt-x")
    config = session.run_config(replace(QUIET, model_provider=Named(model)))
    for turn in range(turns):
        if stream:
            result = Runner.run_streamed(
                agent, f"Prompt {turn}.", session=session, run_config=config
            )
            async for _ in result.stream_events():
                pass
        else:
            await Runner.run(agent, f"Prompt {turn}.", session=session, run_config=config)
    return model, session


@pytest.mark.parametrize("stream", [False, True])
async def test_a_rejected_request_is_sent_once_more(stream: bool) -> None:
    steps = script(20)
    steps.insert(36, {"error": rejected()})
    events: list[Any] = []
    model, session = await talk(steps, turns=20, stream=stream, events=events)
    requests = inputs(model)
    assert len(requests) == 41
    before, again = requests[36:38]
    assert len(again) < len(before)
    assert "<summary>" in str(again)
    assert [openai_responses_violations(request) for request in requests] == [[]] * 41
    assert sum(event.kind == "compaction_end" for event in events) >= 1
    # The window that the provider named counts from here on, and nothing was lost.
    assert session.dump()["window"] == 9_000
    assert len(await session.get_items()) == 6 * 20


@pytest.mark.parametrize("stream", [False, True])
async def test_a_second_rejection_is_final(stream: bool) -> None:
    steps = [*script(10), {"error": rejected()}, {"error": rejected()}]
    with pytest.raises(BadRequestError):
        await talk(steps, turns=11, stream=stream)


@pytest.mark.parametrize(
    "error",
    [
        rejected(429, said="Rate limit: too many tokens per minute."),
        rejected(code="invalid_value", said="Unknown parameter."),
        APIConnectionError(request=httpx2.Request("POST", "https://example.org")),
    ],
    ids=["rate limit", "mistake", "connection"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_other_failures_are_the_runners_to_tell(error: APIError, stream: bool) -> None:
    with pytest.raises(type(error)):
        await talk([*script(2), {"error": error}], turns=3, stream=stream)


async def test_what_no_compaction_makes_fit_is_refused() -> None:
    error = rejected(said="This model's maximum context length is 20 tokens.")
    with pytest.raises(ContextBudgetExceededError):
        await talk([{"error": error}], turns=1)


def failed(text: str = SAID) -> ResponseStreamEvent:
    response = Response.model_construct(
        error=ResponseError.model_construct(code=CODE, message=text)
    )
    return ResponseFailedEvent.model_construct(type="response.failed", response=response)


def told(text: str = SAID) -> ResponseStreamEvent:
    return ResponseErrorEvent.model_construct(type="error", code=CODE, message=text)


def opened() -> ResponseStreamEvent:
    return ResponseCreatedEvent.model_construct(type="response.created", response=None)


@pytest.mark.parametrize("event", [failed(), told()], ids=["failed", "error"])
async def test_a_rejection_inside_a_stream(event: ResponseStreamEvent) -> None:
    steps = script(20)
    steps.insert(36, ModelStep.stream([opened(), event]))
    model, _ = await talk(steps, turns=20, stream=True)
    assert len(inputs(model)) == 41
    assert "<summary>" in str(inputs(model)[37])


async def test_what_was_said_is_never_said_again() -> None:
    async def breaks_off(call: Any) -> AsyncIterator[Any]:
        async for event in ScriptedModel([[assistant_message("Half")]]).stream_response(
            call.system_instructions,
            call.input,
            call.model_settings,
            call.tools,
            call.output_schema,
            call.handoffs,
            call.tracing,
            previous_response_id=None,
            conversation_id=None,
            prompt=None,
        ):
            yield event
            if event.type == "response.output_text.delta":
                raise rejected()

    steps = [*script(10), ModelStep.stream(breaks_off)]
    with pytest.raises(BadRequestError):
        await talk(steps, turns=11, stream=True)


@pytest.mark.parametrize("stream", [False, True])
async def test_counts_are_learned_from(stream: bool) -> None:
    counted: list[int] = []
    for tokens in (4_000, 54_000):
        events: list[Any] = []
        steps = [dict(step) for step in script(8)]
        steps[13]["usage"] = Usage(requests=1, input_tokens=tokens, output_tokens=1, total_tokens=0)
        await talk(steps, turns=8, stream=stream, events=events)
        counted.append(sum(event.kind == "compaction_end" for event in events))
    calm, full = counted
    assert (calm, full > 0) == (0, True)


async def test_the_filter_alone_recovers_with_a_model_of_the_agents_own() -> None:
    steps = script(20)
    steps.insert(36, {"error": rejected()})
    scripted = ScriptedModel(steps)
    compaction = CompactionFilter(CompactorSettings(limits=LARGE))
    config = compaction.run_config(QUIET)
    history: list[Any] = []
    agent = replace(agent_of(scripted), model=RecoveringModel(scripted))
    for turn in range(20):
        prompt: Any = {"role": "user", "content": f"Prompt {turn}."}
        result = await Runner.run(agent, [*history, prompt], run_config=config)
        history = result.to_input_list()
    assert "<summary>" in str(inputs(scripted)[37])
    assert len(history) == 6 * 20


async def test_a_model_of_the_run_is_wrapped_once_and_passed_through_without_a_filter() -> None:
    scripted = ScriptedModel([[assistant_message("Yes.")], {"error": rejected()}])
    session = CompactingSession(SQLiteSession("a"))
    once = session.run_config(replace(QUIET, model=scripted))
    twice = session.run_config(once)
    assert isinstance(twice.model, RecoveringModel)
    assert twice.model.inner is scripted
    bare = replace(QUIET, model=twice.model)
    agent = Agent(name="a")
    assert (await Runner.run(agent, "One.", run_config=bare)).final_output == "Yes."
    with pytest.raises(BadRequestError):
        await Runner.run(agent, "Two.", run_config=bare)


async def test_what_is_wrapped_can_be_closed_and_asked() -> None:
    scripted = ScriptedModel([])
    provider = Named(scripted)
    config = CompactionFilter().run_config(replace(QUIET, model_provider=provider))
    await config.model_provider.get_model("x").close()
    await config.model_provider.aclose()
    assert provider.closed
    model = RecoveringModel(scripted)
    assert model.remaining_steps == 0
    with pytest.raises(AttributeError):
        _ = model.nothing
