"""A real server with a real, very small model: plumbing only, never meaning."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelRequestRejectedError
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from palimpsest.core.errors import SummaryRejectedError
from palimpsest.core.excerpt import UserText
from palimpsest.core.summary_input import summary_row
from palimpsest.models import (
    LimitChoices,
    ModelSummarizer,
    ModelSummarizerSettings,
    Overflow,
    ResolvedModel,
    SummaryJob,
    cap_request,
    classify_overflow,
    model_limits,
    resolve_model,
    silent_overflow,
)
from tests.local_model import local_server

pytestmark = [pytest.mark.anyio, pytest.mark.local_model]

WINDOW = 1024
SHORT = ModelSettings(max_tokens=8, temperature=0)


@pytest.fixture(scope="module")
def local() -> Iterator[ResolvedModel]:
    with local_server(WINDOW) as endpoint:
        yield resolve_model(endpoint)


@pytest.fixture
async def model(local: ResolvedModel) -> AsyncIterator[Model]:
    """The model with its connections, which are closed after the test."""
    async with local.model as entered:
        yield entered


def prompt(text: str) -> list[Any]:
    return [ModelRequest.user_text_prompt(text)]


async def test_a_plain_request_reports_its_usage(model: Model) -> None:
    response = await model_request(model, prompt("Say hello."), model_settings=SHORT)
    assert response.text
    assert 0 < response.usage.input_tokens < 100
    assert 0 < response.usage.output_tokens <= 8
    assert not silent_overflow(response, WINDOW)


async def test_a_stream_ends_with_its_usage(model: Model) -> None:
    async with model_request_stream(model, prompt("Say hello."), model_settings=SHORT) as stream:
        events = [event async for event in stream]
    assert len(events) > 2
    assert stream.get().state == "complete"
    assert 0 < stream.usage.output_tokens <= 8


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_overflow_names_both_numbers(model: Model, streamed: bool) -> None:
    too_long = prompt("word " * 1500)
    with pytest.raises(ModelRequestRejectedError) as caught:
        if streamed:
            async with model_request_stream(model, too_long, model_settings=SHORT) as stream:
                _ = [event async for event in stream]
        else:
            await model_request(model, too_long, model_settings=SHORT)
    found = classify_overflow(caught.value)
    assert found is not None
    assert found.window == WINDOW
    assert found.request is not None
    assert 1500 <= found.request < 1600
    assert found == Overflow(window=found.window, request=found.request)


async def test_an_answer_that_reaches_the_window_is_a_silent_overflow(model: Model) -> None:
    response = await model_request(
        model,
        prompt("Count: " + "one two three " * 310),
        model_settings=ModelSettings(
            max_tokens=WINDOW, temperature=0, extra_body={"ignore_eos": True}
        ),
    )
    assert response.finish_reason == "length"
    assert silent_overflow(response, WINDOW)


async def test_the_budget_of_an_endpoint_comes_from_what_it_names(model: Model) -> None:
    limits = model_limits(model)
    assert (limits.window.tokens, limits.window.source) == (WINDOW, "model_profile")
    capped = cap_request(model, None, ModelRequestParameters(), limits)
    assert capped.settings == {"max_tokens": 256}


async def test_a_summary_goes_all_the_way(model: Model) -> None:
    rows = tuple(
        summary_row(UserText(text=f"Please rename file {n} to module_{n}.py.")) for n in range(3)
    )
    writer = ModelSummarizer(
        model=model,
        settings=ModelSummarizerSettings(limits=LimitChoices(window=WINDOW, max_output=64)),
    )
    try:
        summary = await writer.summarise(SummaryJob(rows=rows))
    except SummaryRejectedError as error:  # so small a model may run into its cap, and may not stop
        assert "output limit" in error.reason
        assert error.usage is not None
        usage = error.usage
    else:
        assert summary.text
        usage = summary.usage
    assert usage.input > 300
    assert 0 < usage.output <= 64
