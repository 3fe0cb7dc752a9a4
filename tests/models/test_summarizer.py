from __future__ import annotations

from typing import cast

import anyio
import pytest
from pydantic_ai.exceptions import FallbackExceptionGroup
from pydantic_ai.messages import NativeToolCallPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from palimpsest.core.calibration import Calibration
from palimpsest.core.errors import (
    ContextBudgetExceededError,
    SummaryRejectedError,
    SummaryTimeoutError,
)
from palimpsest.core.excerpt import UserText
from palimpsest.core.extractive import is_extractive
from palimpsest.core.ledger import LedgerBuilder
from palimpsest.core.records import SummaryUsage
from palimpsest.core.summary import NO_HEADING_WARNING, summary_instructions
from palimpsest.core.summary_input import SummaryRow, summary_row
from palimpsest.models import (
    ExtractiveSummarizer,
    GeneratedSummary,
    LimitChoices,
    ModelSummarizer,
    ModelSummarizerSettings,
    Summarizer,
    SummaryJob,
)
from palimpsest.testing import Call, Gate, Reply, ScriptedModel
from palimpsest.testing.provider_errors import (
    OVERFLOWS,
    connection_lost,
    openai_responses_overflow,
    overloaded,
    rate_limited,
)
from tests.models.wire import ModelMaker, Wire, anthropic, google, openai_chat, openrouter

pytestmark = pytest.mark.anyio

GOOD = Reply(text="## Goal\nShip it.", usage=RequestUsage(input_tokens=100, output_tokens=9))


def rows(count: int, characters: int = 40) -> tuple[SummaryRow, ...]:
    return tuple(
        summary_row(UserText(text=f"wish {number} " + "x" * characters)) for number in range(count)
    )


def job(count: int = 3, characters: int = 40, **fields: object) -> SummaryJob:
    return SummaryJob(rows=rows(count, characters), **fields)  # type: ignore[arg-type]


def summarizer(model: ScriptedModel, **settings: object) -> ModelSummarizer:
    return ModelSummarizer(
        model=model,
        settings=ModelSummarizerSettings(**settings),  # type: ignore[arg-type]
    )


async def test_a_summary_is_one_separate_request() -> None:
    model = ScriptedModel([GOOD], name="acme:large", window=32_000)
    writer: Summarizer = summarizer(model)
    summary = await writer.summarise(job(previous_summary="Before.", focus="the bug"))
    assert summary == GeneratedSummary(
        text="## Goal\nShip it.",
        provider="acme",
        model="large",
        usage=SummaryUsage(input=100, output=9),
        calls=1,
    )
    (request,) = model.requests
    assert not request.streamed
    assert not request.parameters.function_tools
    assert request.settings["max_tokens"] == 4096
    (message,) = request.messages
    system, document = message.parts
    assert getattr(system, "content", "") == summary_instructions(focus="the bug")
    assert getattr(document, "content", "").startswith('{"previousSummary":"Before.",')


@pytest.mark.parametrize(
    ("window", "max_output", "max_tokens", "cap"),
    [
        (200_000, 64_000, 4_096, 4_096),
        (200_000, 1_000, 4_096, 1_000),
        (8_000, 4_000, 4_096, 2_000),
        (200_000, 64_000, 700, 700),
    ],
)
async def test_the_cap_fits_the_model_and_the_session(
    window: int, max_output: int, max_tokens: int, cap: int
) -> None:
    model = ScriptedModel([GOOD])
    limits = LimitChoices(window=window, max_output=max_output)
    await summarizer(model, limits=limits).summarise(job(max_tokens=max_tokens))
    assert model.requests[0].settings["max_tokens"] == cap


async def test_a_model_that_cannot_stop_thinking_gets_room_for_it() -> None:
    model = ScriptedModel(
        [GOOD], window=200_000, profile=ModelProfile(thinking_always_enabled=True)
    )
    await summarizer(model).summarise(job())
    assert model.requests[0].settings["max_tokens"] == 8192
    assert model.requests[0].parameters.thinking is False


def settings_of(**fields: object) -> ModelSettings:
    return cast("ModelSettings", fields)


@pytest.mark.parametrize(
    ("maker", "name", "own", "absent", "cap"),
    [
        (
            anthropic,
            "claude-haiku-4-5",
            settings_of(
                thinking="high",
                anthropic_thinking={"type": "enabled", "budget_tokens": 9_000},
                extra_body={"thinking": {"type": "enabled", "budget_tokens": 1}, "max_tokens": 5},
            ),
            "thinking",
            4096,
        ),
        (
            google,
            "gemini-2.5-flash",
            settings_of(google_thinking_config={"thinking_budget": 900}),
            "900",
            4096,
        ),
        (google, "gemini-2.5-pro", settings_of(thinking="high"), "24576", 4096 + 4096 + 128),
        (
            openrouter,
            "anthropic/claude-haiku-4-5",
            settings_of(openrouter_reasoning={"max_tokens": 5_000}, max_tokens=9),
            "5000",
            4096,
        ),
        (
            openai_chat,
            "gpt-4o",
            settings_of(tool_choice="required", extra_body={"seed": 1, "max_tokens": 5}),
            "tool_choice",
            4096,
        ),
    ],
)
async def test_the_models_own_settings_cannot_spoil_a_summary(
    maker: ModelMaker, name: str, own: ModelSettings, absent: str, cap: int
) -> None:
    wire = Wire()
    with pytest.raises(SummaryRejectedError):
        await ModelSummarizer(model=maker(wire, name, own)).summarise(job())
    (body,) = wire.sent
    settings = {key: value for key, value in body.items() if key not in ("messages", "contents")}
    assert absent not in str(settings)
    assert "tools" not in body
    config = body.get("generationConfig", {})
    assert body.get("max_tokens", body.get("max_completion_tokens")) == cap or (
        config["maxOutputTokens"] == cap
    )


async def test_reasoning_effort_of_the_model_is_overridden() -> None:
    wire = Wire()
    model = openai_chat(wire, "gpt-5", settings_of(openai_reasoning_effort="high"))
    with pytest.raises(SummaryRejectedError):
        await ModelSummarizer(model=model).summarise(job())
    assert wire.sent[0]["reasoning_effort"] == "minimal"


async def test_an_answer_without_headings_is_accepted_with_a_warning() -> None:
    model = ScriptedModel([Reply(text="all fine")])
    summary = await summarizer(model).summarise(job())
    assert (summary.text, summary.warnings) == ("all fine", (NO_HEADING_WARNING,))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(text="## Goal", finish_reason="length"), "output limit"),
        (Reply(text="## Goal", finish_reason="content_filter"), "'content_filter'"),
        (Reply(text="## Goal", finish_reason="error"), "'error'"),
        (Reply(text="## Goal", calls=(Call(tool="read"),)), "calls a tool"),
        (
            Reply(parts=(NativeToolCallPart(tool_name="web_search", args={}),)),
            "calls a tool",
        ),
        (Reply(text=" \n"), "blank"),
        (Reply(thinking="hm"), "blank"),
        (rate_limited(), "too many requests"),
        (overloaded(), "cannot answer just now"),
        (connection_lost(), "could not be reached"),
    ],
)
async def test_what_cannot_be_used_is_rejected(reply: Reply | Exception, reason: str) -> None:
    model = ScriptedModel([reply])
    with pytest.raises(SummaryRejectedError, match=reason) as caught:
        await summarizer(model).summarise(job())
    assert (caught.value.usage is None) is isinstance(reply, Exception)
    assert len(model.requests) == 1


async def test_an_interrupted_reply_is_rejected() -> None:
    class Interrupted(ScriptedModel):
        async def request(self, *arguments: object) -> object:  # type: ignore[override]
            response = await super().request(*arguments)  # type: ignore[arg-type]
            response.state = "interrupted"
            return response

    with pytest.raises(SummaryRejectedError, match="interrupted"):
        await summarizer(Interrupted([GOOD])).summarise(job())


async def test_all_models_of_a_fallback_may_fail() -> None:
    model = FallbackModel(ScriptedModel([overloaded()]), ScriptedModel([rate_limited()]))
    with pytest.raises(SummaryRejectedError) as caught:
        await ModelSummarizer(model=model).summarise(job())
    assert isinstance(caught.value.__cause__, FallbackExceptionGroup)
    assert len(caught.value.reason) < 400


async def test_nothing_to_summarise_is_never_asked_for() -> None:
    model = ScriptedModel([GOOD])
    with pytest.raises(SummaryRejectedError, match="nothing to summarise"):
        await summarizer(model).summarise(SummaryJob(rows=()))
    assert model.requests == []


# --- input that is too large ---------------------------------------------------------------------

PART = Reply(text="## Goal\npart", usage=RequestUsage(input_tokens=10, output_tokens=1))


async def test_large_input_is_summarised_in_chunks_and_merged() -> None:
    model = ScriptedModel([PART, PART, PART, GOOD], window=8_000)
    summary = await summarizer(model).summarise(job(40, 1_000))
    assert len(model.requests) == 4
    assert '"part":"1 of 3"' in str(model.requests[0].messages)
    assert '"partialSummaries"' in str(model.requests[3].messages)
    assert all(
        "partialSummaries" not in str(one.messages[0].parts[1]) for one in model.requests[:3]
    )
    assert summary.text == "## Goal\nShip it."
    assert summary.warnings == ("The input was summarised in 3 parts.",)
    assert summary.usage == SummaryUsage(input=130, output=12)
    assert summary.calls == 4
    assert all(one.tokens <= 8_000 for one in model.requests)


async def test_with_splitting_off_large_input_is_refused_before_sending() -> None:
    model = ScriptedModel([GOOD], window=8_000)
    with pytest.raises(ContextBudgetExceededError) as caught:
        await summarizer(model, split_input=False).summarise(job(40, 1_000))
    assert model.requests == []
    assert caught.value.budget.window == 8_000
    assert caught.value.estimate_tokens > 10_000


async def test_input_that_just_fits_is_not_split() -> None:
    model = ScriptedModel([GOOD], window=8_000)
    summary = await summarizer(model, split_input=False).summarise(job(10, 1_000))
    assert summary.calls == 1


async def test_a_window_too_small_for_any_chunk_is_refused() -> None:
    model = ScriptedModel([GOOD], window=1_500)
    with pytest.raises(ContextBudgetExceededError):
        await summarizer(model).summarise(job(40, 1_000))
    assert model.requests == []


async def test_calibration_makes_chunks_smaller() -> None:
    model = ScriptedModel([PART] * 20, window=8_000, count_ratio=2, overflow=OVERFLOWS["openai"])
    calibration = Calibration(ratio=2.0, observations=1)
    summary = await summarizer(model).summarise(job(30, 1_000, calibration=calibration))
    assert summary.calls == len(model.requests) == 5


async def test_a_chunk_that_the_provider_finds_too_long_is_made_smaller() -> None:
    model = ScriptedModel([PART] * 20, window=8_000, count_ratio=2, overflow=OVERFLOWS["openai"])
    summary = await summarizer(model).summarise(job(30, 1_000))
    assert summary.text == "## Goal\npart"
    assert summary.calls < len(model.requests)


@pytest.mark.parametrize(("split", "requests"), [(True, 3), (False, 1)])
async def test_a_provider_that_never_takes_it_is_given_up(split: bool, requests: int) -> None:
    errors = [openai_responses_overflow(1, 2) for _ in range(9)]
    model = ScriptedModel(errors, window=100_000)
    with pytest.raises(SummaryRejectedError, match="too long"):
        await summarizer(model, split_input=split).summarise(job())
    assert len(model.requests) == requests


async def test_a_failing_chunk_leaves_nothing_but_its_cost() -> None:
    model = ScriptedModel([PART, Reply(text=" ", usage=RequestUsage(input_tokens=7))], window=8_000)
    with pytest.raises(SummaryRejectedError) as caught:
        await summarizer(model).summarise(job(40, 1_000))
    assert caught.value.usage == SummaryUsage(input=17, output=1)


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [[], [PART]])
async def test_a_call_times_out(first: list[Reply]) -> None:
    model = ScriptedModel([*first, Reply(text="late", before=Gate())], window=8_000)
    writer = summarizer(model, call_timeout_s=0)
    with pytest.raises(SummaryTimeoutError) as caught:
        await writer.summarise(job(40, 1_000))
    assert (caught.value.timeout_s, caught.value.limit) == (0, "call")
    assert caught.value.usage == (SummaryUsage(input=10, output=1) if first else None)


async def test_a_generation_times_out() -> None:
    model = ScriptedModel([PART, Reply(text="late", before=Gate())], window=8_000)
    writer = summarizer(model, total_timeout_s=0)
    with pytest.raises(SummaryTimeoutError) as caught:
        await writer.summarise(job(40, 1_000))
    assert (caught.value.timeout_s, caught.value.limit) == (0, "generation")
    assert caught.value.usage == SummaryUsage(input=10, output=1)


async def test_cancellation_passes_through() -> None:
    gate = Gate()
    model = ScriptedModel([Reply(text="late", before=gate)])
    results: list[GeneratedSummary] = []

    async def write() -> None:
        results.append(await summarizer(model).summarise(job()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await gate.reached.wait()
        tasks.cancel_scope.cancel()
    assert results == []


# --- without a model -----------------------------------------------------------------------------


async def test_the_extractive_summary_comes_from_the_ledger() -> None:
    builder = LedgerBuilder()
    builder.add(0, [UserText(text="Never touch the vendor folder.")])
    writer: Summarizer = ExtractiveSummarizer()
    summary = await writer.summarise(SummaryJob(rows=(), ledger=builder.snapshot()))
    assert is_extractive(summary.text)
    assert "Never touch the vendor folder." in summary.text
    assert (summary.provider, summary.model, summary.usage) == ("extractive", "", SummaryUsage())
    quoted = await writer.summarise(
        SummaryJob(rows=(), ledger=builder.snapshot(), previous_summary="By a model before.")
    )
    assert "By a model before." in quoted.text


async def test_no_room_for_an_extractive_summary() -> None:
    with pytest.raises(SummaryRejectedError, match="no room"):
        await ExtractiveSummarizer().summarise(job(max_tokens=1))
