"""Google ADK: compaction adds an event; requests are built from all events, each time anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps._configs import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.compaction import _run_compaction_for_token_threshold_config
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.flows.llm_flows.context._contents import _get_contents
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from peers.histories import REPLY, Item, Prompt
from peers.library import SUMMARY, MakeLibrary


class Stub(BaseEventsSummarizer):
    """Summarises without a model."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        content = types.Content(role="model", parts=[types.Part(text=SUMMARY)])
        return Event(
            author="user",
            actions=EventActions(
                compaction=EventCompaction(
                    start_timestamp=events[0].timestamp,
                    end_timestamp=events[-1].timestamp,
                    compacted_content=content,
                )
            ),
        )


class Events:
    """Compacts from 80 % of the window on, and keeps 20 events."""

    def __init__(self, window: int) -> None:
        self._agent = LlmAgent(name="bench")
        self._service = InMemorySessionService()
        self._config = EventsCompactionConfig(
            summarizer=Stub(), token_threshold=window * 4 // 5, event_retention_size=20
        )
        self._session: Session | None = None
        self._contents: list[types.Content] = []
        self._waiting: list[Event] = []
        self._time = 0.0

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._waiting += self._converted(item)

    async def manage(self) -> None:
        if self._session is None:
            self._session = await self._service.create_session(app_name="bench", user_id="u")
        for event in self._waiting:
            await self._service.append_event(self._session, event)
        self._waiting.clear()
        await _run_compaction_for_token_threshold_config(
            config=self._config,
            session=self._session,
            session_service=self._service,
            agent=self._agent,
            agent_name=self._agent.name,
        )
        self._contents = _get_contents(None, self._session.events, self._agent.name)

    def _converted(self, item: Item) -> list[Event]:
        if isinstance(item, Prompt):
            return [self._event("user", "user", [types.Part(text=item.text)])]
        call = types.FunctionCall(id=item.call_id, name="read", args={"n": item.number})
        response = types.FunctionResponse(
            id=item.call_id, name="read", response={"result": item.result}
        )
        parts = [types.Part(text=REPLY), types.Part(function_call=call)]
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=item.input_tokens)
        return [
            self._event("bench", "model", parts, None if item.input_tokens is None else usage),
            self._event("bench", "user", [types.Part(function_response=response)]),
        ]

    def _event(self, author: str, role: str, parts: list[Any], usage: Any = None) -> Event:
        self._time += 1.0
        return Event(
            author=author,
            content=types.Content(role=role, parts=parts),
            usage_metadata=usage,
            timestamp=self._time,
            invocation_id="run",
        )

    def sent(self) -> list[str]:
        return ["\n".join(map(_part_text, one.parts or [])) for one in self._contents]

    def declared(self) -> int:
        return sum(one.actions.compaction is not None for one in self._all())

    def held(self) -> list[str]:
        answers = (answer for one in self._all() for answer in one.get_function_responses())
        return [str((answer.response or {})["result"]) for answer in answers]

    def _all(self) -> list[Event]:
        return [] if self._session is None else self._session.events


def _part_text(part: types.Part) -> str:
    if part.function_response is not None:
        return str((part.function_response.response or {}).get("result"))
    return part.text or str(part.function_call)


LIBRARIES: dict[str, MakeLibrary] = {"EventsCompactionConfig": Events}
