"""Models of the OpenAI SDK behind the filter: rejections are answered, counts are learned."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("agents")

import anyio
import httpx2
from agents import Agent, ModelProvider, ModelResponse, RunConfig, Runner, SQLiteSession
from agents.models.interface import Model
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
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
from palimpsest.integrations.openai_agents_model import (
    NEWEST_REQUEST,
    FilteredRequest,
    RecoveringModel,
)
from palimpsest.models.limits import LimitChoices
from palimpsest.models.overflow import Overflow
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


class Paced(Model):
    """Answers from a script; the second request waits for the third, and is then rejected."""

    def __init__(self, inner: ScriptedModel) -> None:
        self.inner = inner
        self.requests = 0
        self.third = anyio.Event()

    async def get_response(self, *rest: Any, **named: Any) -> ModelResponse:
        self.requests += 1
        number = self.requests
        if number == 2:
            await self.third.wait()
            raise rejected()
        response = await self.inner.get_response(*rest, **named)
        if number >= 3:
            self.third.set()
        return response

    def stream_response(self, *rest: Any, **named: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def test_runs_that_say_the_same_share_a_filter() -> None:
    called = function_call("read", '{"path":"p"}', call_id="c", item_id="f")
    said = [[called], [assistant_message("One.")], [assistant_message("Two.")]]
    paced = Paced(ScriptedModel(said))
    config = CompactionFilter(CompactorSettings(limits=LARGE)).run_config(
        replace(QUIET, model_provider=Named(paced))
    )
    agent = replace(agent_of(paced.inner), model="gpt-x")
    history: list[Any] = [
        {"role": role, "content": "word " * 400} for _ in range(9) for role in ("user", "assistant")
    ]
    history.append({"role": "user", "content": "Read."})
    outputs: list[Any] = []

    async def run() -> None:
        outputs.append((await Runner.run(agent, history, run_config=config)).final_output)

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(run)
    assert sorted(outputs) == ["One.", "Two."]


@pytest.mark.parametrize(
    ("counted", "of_another", "is_believed"),
    [("Prompt.", False, True), ("Prompt.", True, False), ("Another prompt.", True, False)],
    ids=["its own", "of one that says the same", "of one that does not"],
)
async def test_a_count_belongs_to_the_run_that_was_told_it(
    counted: str, of_another: bool, is_believed: bool
) -> None:
    compaction = CompactionFilter(CompactorSettings(limits=LARGE))

    async def send(items: list[Any]) -> FilteredRequest:
        data = ModelInputData(input=items, instructions="Rules.")
        agent = Agent[Any](name="a", model="gpt-x")
        await compaction(CallModelData(model_data=data, agent=agent, context=None))
        request = NEWEST_REQUEST.get()
        assert request is not None
        return request

    talk = [{"role": "user", "content": "Prompt."}]
    request = await send([{"role": "user", "content": counted}])
    if of_another:
        await send(talk)
    request.counted(58_000)
    talk += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}]
    try:
        await send(talk)
    except ContextBudgetExceededError:
        assert is_believed
    else:
        assert not is_believed


class Watched(Model):
    """Streams rejections and answers, and notes what is opened and closed."""

    def __init__(self, *streams: list[Any]) -> None:
        self.streams = [*streams]
        self.noted: list[str] = []

    async def get_response(self, *rest: Any, **named: Any) -> ModelResponse:
        self.noted.append("asked")
        raise rejected()

    async def stream_response(self, *rest: Any, **named: Any) -> AsyncIterator[Any]:
        self.noted.append("opened")
        try:
            for event in self.streams.pop(0):
                yield event
        finally:
            self.noted.append("closed")


class Waiting:
    """A request in front of a model."""

    def __init__(self) -> None:
        self.view: list[Any] = [{"role": "user", "content": "Long."}]

    async def again(self, overflow: Overflow) -> list[Any]:
        return [{"role": "user", "content": "Short."}]

    def counted(self, tokens: int) -> None:
        raise NotImplementedError


async def test_every_stream_is_closed_before_another_is_opened() -> None:
    request = Waiting()
    NEWEST_REQUEST.set(request)
    watched = Watched([opened(), told(), opened()], [opened(), opened()])
    stream = RecoveringModel(watched).stream_response(None, request.view)
    assert (await anext(stream)).type == "response.created"
    assert (await anext(stream)).type == "response.created"
    assert watched.noted == ["opened", "closed", "opened"]
    assert isinstance(stream, AsyncGenerator)
    await stream.aclose()
    assert watched.noted == ["opened", "closed", "opened", "closed"]


async def test_a_model_that_was_wrapped_twice_recovers_once() -> None:
    request, watched = Waiting(), Watched()
    NEWEST_REQUEST.set(request)
    with pytest.raises(BadRequestError):
        await RecoveringModel(RecoveringModel(watched)).get_response(None, request.view)
    assert watched.noted == ["asked", "asked"]
