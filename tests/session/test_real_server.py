"""Sessions against a real server with a real, very small model: plumbing only, never meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai.settings import ModelSettings

from palimpsest.core.errors import SummaryRejectedError
from palimpsest.models.limits import LimitChoices
from palimpsest.models.resolve import CompatibleEndpoint
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from tests.local_model import local_server

pytestmark = [pytest.mark.anyio, pytest.mark.local_model]

WINDOW = 2_048


@pytest.fixture(scope="module")
def endpoint() -> Iterator[CompatibleEndpoint]:
    with local_server(WINDOW) as found:
        yield found


async def opened(endpoint: CompatibleEndpoint, events: list[Any], **choices: Any) -> AgentSession:
    settings = SessionSettings(
        summarizer=choices.pop("summarizer", "extractive"),
        instructions="Answer briefly.",
        model_settings=ModelSettings(max_tokens=24, temperature=0),
        **choices,
    )
    session = await create_agent_session(
        session_manager=SessionManager.in_memory(), model=endpoint, tools=[], settings=settings
    )
    session.subscribe(events.append)
    return session


async def test_a_session_streams_and_learns_how_the_server_counts(
    endpoint: CompatibleEndpoint,
) -> None:
    events: list[Any] = []
    async with await opened(endpoint, events) as session:
        counted: list[int] = []
        estimated: list[int] = []
        for turn in range(4):
            before = session.state.totals.input_tokens
            await session.prompt(f"Name a colour that begins with the letter {'rgby'[turn]}.")
            counted.append(session.state.totals.input_tokens - before)
            budgets = [event for event in events if event.kind == "context_budget"]
            estimated.append(budgets[-1].size.tokens)
        assert any(event.kind == "message_update" for event in events)
        assert session.state.context_budget.calibrated
        assert session.state.totals.requests == 4
    for seen, real in list(zip(estimated, counted, strict=True))[2:]:
        assert seen == pytest.approx(real, rel=0.05)


async def test_a_real_overflow_is_recovered_by_one_compaction_and_one_resend(
    endpoint: CompatibleEndpoint,
) -> None:
    events: list[Any] = []
    # The session believes in a window that the server has not.
    limits = LimitChoices(window=8_192, max_output=256)
    async with await opened(endpoint, events, limits=limits, calibrates=False) as session:
        for _ in range(3):
            await session.prompt("Repeat: " + "one two three " * 170)
        await session.prompt("Repeat: " + "four five six " * 170)
        starts = [event for event in events if event.kind == "compaction_start"]
        assert [event.trigger for event in starts] == ["overflow"]
        assert session.get_compactions()[0].provider == "extractive"
        assert session.state.context_budget.budget.window == WINDOW
        assert "named by the provider" in session.state.context_budget.window_source
        assert len(session.get_compactions()) == 1
        assert session.state.outcome == "success"


async def test_summaries_by_the_model_itself(endpoint: CompatibleEndpoint) -> None:
    events: list[Any] = []
    async with await opened(endpoint, events, summarizer="model") as session:
        for turn in range(3):
            await session.prompt(f"Rename file {turn} to module {turn}. " + "Please do it. " * 60)
        try:
            checkpoint = await session.compact()
        except SummaryRejectedError as error:  # so small a model may not stop by itself
            assert error.usage is not None
            assert not session.get_compactions()
        else:
            assert checkpoint.usage.input > 300
            assert session.state.compaction is not None
        assert session.state.totals.summary_input_tokens > 300
        assert any(event.kind == "compaction_progress" for event in events)
