"""One prompt: runs the agent over the live tail and keeps history as it grows.

pydantic-ai's agent loop runs the tools; what it appends to its own list after the prompt is what
is new, and is stored step by step: a reply and the results of all its calls are one commit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import takewhile
from typing import cast

from pydantic_ai import Agent, AgentRun
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    InstructionBaselinePart,
    InstructionDeltaPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelSettingsDeltaPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolAvailabilityDeltaPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.result import AgentStream
from pydantic_ai.usage import UsageLimits
from pydantic_graph import End

from palimpsest.core.view import REPAIR_TEXT
from palimpsest.formats.encodable import Pieces, encodable
from palimpsest.formats.projection import project
from palimpsest.formats.prompts import mark, mark_truncated
from palimpsest.formats.pydantic_ai import tool_return_text
from palimpsest.models.overflow import silent_overflow
from palimpsest.models.timeline import Timeline
from palimpsest.session.events import (
    Channel,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SessionEvent,
    ToolEnd,
    ToolStart,
)
from palimpsest.session.journal import Journal
from palimpsest.storage.framing import MalformedError, encode_message

_DELTAS = (
    InstructionBaselinePart,
    InstructionDeltaPart,
    ModelSettingsDeltaPart,
    ToolAvailabilityDeltaPart,
)

_NO_LIMITS = UsageLimits(request_limit=None)
"""A task takes as many steps as it takes: compaction is there so that none is the last."""


class PromptRun:
    """Runs one accepted prompt, which is the newest message of the history already."""

    def __init__(
        self,
        timeline: Timeline,
        journal: Journal,
        emit: Callable[[SessionEvent], None],
        window_tokens: Callable[[], int],
        count_reply: Callable[[ModelResponse], None],
    ) -> None:
        self._timeline = timeline
        self._journal = journal
        self._emit = emit
        self._window_tokens = window_tokens
        self._count_reply = count_reply
        self._tools: dict[str, str] = {}
        self._run: AgentRun[None, str] | None = None
        # Messages of the agent's list that were taken in; and where in the history it begins.
        self._seen: int | None = None
        self._cut = 0
        self._results: dict[str, ToolReturnPart[object]] = {}

    @property
    def running_tools(self) -> tuple[str, ...]:
        """Names of the tools that were called and gave no result yet, oldest first."""
        return tuple(self._tools.values())

    async def run(self, agent: Agent[None, str], model: Model) -> str:
        """Run until the model answers without calling a tool; give that answer."""
        self._cut = self._timeline.view.cut
        tail = self._timeline.history[self._cut :]
        run_of = agent.iter(
            None,
            message_history=[*self._lasting(), *tail],
            model=model,
            usage_limits=_NO_LIMITS,
            capabilities=[ProcessHistory[None](self._live_tail)],
        )
        async with run_of as run:
            self._run = run
            node = run.next_node
            while not isinstance(node, End):
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        await self._follow_reply(stream)
                elif Agent.is_call_tools_node(node):
                    async with node.stream(run.ctx) as events:
                        await self._follow_tools(events)
                node = await run.next(node)
                self.take_in()
        await self._journal.save()
        return encodable(node.data.output)

    async def save_step(self) -> None:
        """Store the step that is complete; called before every main request."""
        self.take_in()
        await self._journal.save()

    def take_in(self) -> None:
        """Add to the history what the agent's list has that it has not."""
        run = self._run
        if run is None:
            return
        messages = run.ctx.state.message_history
        if self._seen is None:
            self._seen = self._find_prompt(messages)
        if self._seen is None:
            return
        for message in messages[self._seen :]:
            if isinstance(message, ModelResponse):
                self._count_reply(message)
            if isinstance(message, ModelRequest) and message.state == "interrupted":
                self._hold_results(message)
            elif message.parts:
                self._results.clear()  # of an earlier step; a provider may use its ids again
                self._add(message)
        self._seen = len(messages)

    async def _live_tail(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Leave out what a summary stands for by now: at each step the agent goes through all.

        A coroutine, since a plain function would be run in a thread, and cancelled halfway.
        """
        cut = self._timeline.view.cut
        if self._seen is None or cut == self._cut:
            return messages
        self._cut = cut
        start = _index_of(self._timeline.history[cut], messages)
        if start is None:  # a repaired or merged one; it is given as it was
            return messages
        lasting = self._lasting()
        self._seen += len(lasting) - start
        return [*lasting, *messages[start:]]

    def _lasting(self) -> list[ModelMessage]:
        """Give what stands above the summary: the agent reads its instructions and tools off it."""
        folded = takewhile(lambda row: row.kind != "summary", self._timeline.view.settled_rows())
        return project(self._timeline.history, folded) if self._cut else []

    def _hold_results(self, batch: ModelRequest) -> None:
        """Keep what an interrupted batch gave until the step is closed, as one message."""
        for part in batch.parts:
            if isinstance(part, ToolReturnPart):
                self._results[part.tool_call_id] = cast("ToolReturnPart[object]", part)

    def _find_prompt(self, messages: list[ModelMessage]) -> int | None:
        """Give the count of messages up to the prompt, or None before the agent took it over.

        What pydantic-ai added to the prompt's message is stored as a message of its own.
        """
        index = _index_of(self._timeline.history[-1], messages)
        if index is None:
            return None
        added = [part for part in messages[index].parts if isinstance(part, _DELTAS)]
        if added:
            self._add(ModelRequest(parts=cast("list[ModelRequestPart]", added)))
        return index + 1

    def _add(self, message: ModelMessage) -> None:
        if isinstance(message, ModelRequest):
            # Instructions are given anew with every request; copies in history would be stale.
            parts = [_storable(part) for part in message.parts]
            message = dataclasses.replace(message, instructions=None, parts=parts)
            message = mark(message, prompt=False)
        elif self._is_truncated(message):
            message = mark_truncated(message)
        self._timeline.append(message)
        self._journal.add(message)

    def _is_truncated(self, response: ModelResponse) -> bool:
        complete = response.state == "complete"
        return complete and silent_overflow(response, self._window_tokens())

    async def _follow_reply(self, stream: AgentStream[None, str]) -> None:
        index = len(self._timeline.history)
        started = False
        arriving: dict[Channel, Pieces] = {"text": Pieces(), "thinking": Pieces()}
        try:
            async for event in stream:
                if not started:
                    index = len(self._timeline.history)
                    self._emit(MessageStart(index=index, role="assistant"))
                    started = True
                update = _update(index, event)
                if update is not None and (delta := arriving[update.channel].add(update.delta)):
                    self._emit(dataclasses.replace(update, delta=delta))
        finally:
            if started:
                for channel, pieces in arriving.items():
                    if rest := pieces.rest():
                        self._emit(MessageUpdate(index=index, channel=channel, delta=rest))
                response = stream.response
                self._emit(
                    MessageEnd(
                        index=index,
                        interrupted=response.state != "complete",
                        truncated=self._is_truncated(response),
                    )
                )

    async def _follow_tools(self, events: AsyncIterator[object]) -> None:
        async for event in events:
            match event:
                case FunctionToolCallEvent(part=part):
                    self._tools[part.tool_call_id] = part.tool_name
                    self._emit(
                        ToolStart(
                            call_id=part.tool_call_id,
                            tool_name=part.tool_name,
                            arguments=encodable(part).args_as_json_str(),
                        )
                    )
                case FunctionToolResultEvent(part=ToolReturnPart() as part):
                    self._note_result(part)
                case _:
                    pass

    def _note_result(self, part: ToolReturnPart[object]) -> None:
        self._results[part.tool_call_id] = part
        self._tools.pop(part.tool_call_id, None)
        self._emit(
            ToolEnd(
                call_id=part.tool_call_id,
                tool_name=part.tool_name,
                outcome=part.outcome,
                characters=len(tool_return_text(part)),
            )
        )

    def close_step(self) -> None:
        """Complete the step under way: each call without a result gets one that says so."""
        self.take_in()
        missing = [
            cast("ToolCallPart[object]", self._timeline.history[call.message].parts[call.part])
            for call in self._timeline.outline.unanswered()
        ]
        if missing:
            results = list(self._closing_results(missing))
            self._add(ModelRequest(parts=results, state="interrupted"))

    def _closing_results(
        self, calls: Iterable[ToolCallPart[object]]
    ) -> Iterable[ToolReturnPart[object]]:
        for call in calls:
            finished = self._results.get(call.tool_call_id)
            if finished is not None:
                yield finished
                continue
            interrupted: ToolReturnPart[object] = ToolReturnPart(
                tool_name=call.tool_name,
                content=REPAIR_TEXT,
                tool_call_id=call.tool_call_id,
                outcome="interrupted",
            )
            self._emit(
                ToolEnd(
                    call_id=call.tool_call_id,
                    tool_name=call.tool_name,
                    outcome="interrupted",
                    characters=len(REPAIR_TEXT),
                )
            )
            yield interrupted


def _index_of(stored: ModelMessage, messages: Sequence[ModelMessage]) -> int | None:
    """Find a message of the history in the agent's list, where copies hold the same parts."""
    for index in range(len(messages) - 1, -1, -1):
        if any(part is own for part in messages[index].parts for own in stored.parts):
            return index
    return None


def _storable(part: ModelRequestPart) -> ModelRequestPart:
    """Replace a tool's result that is no data: it would keep the session from being saved."""
    if not isinstance(part, ToolReturnPart) or isinstance(part.content, str):
        return part
    output = cast("ToolReturnPart[object]", part)
    try:
        encode_message(ModelRequest(parts=[output]))
    except MalformedError as error:
        said = f"The tool's result cannot be stored: {error}"
        return dataclasses.replace(output, content=said, outcome="failed")
    return part


def _update(index: int, event: object) -> MessageUpdate | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return MessageUpdate(index=index, channel="text", delta=text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return MessageUpdate(index=index, channel="thinking", delta=text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return MessageUpdate(index=index, channel="text", delta=text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
            return MessageUpdate(index=index, channel="thinking", delta=text)
        case _:
            return None
