"""pydantic-ai-harness: capabilities that rewrite the run's messages before a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from opentelemetry.trace import INVALID_SPAN, NoOpTracer, Span
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import ClearToolResults, SummarizingCompaction

from peers.histories import Item
from peers.library import SUMMARY, MakeLibrary
from peers.native import as_texts, native, results


class CountingTracer(NoOpTracer):
    """Counts the spans that an instrumented program would see."""

    def __init__(self) -> None:
        self.spans = 0

    @contextmanager
    def start_as_current_span(self, name: str, *arguments: Any, **named: Any) -> Iterator[Span]:
        del arguments, named
        self.spans += name == "compact_messages"
        yield INVALID_SPAN


class Capability:
    """One compaction capability; what it gives back is the history from then on."""

    def __init__(self, make: Any, window: int) -> None:
        self._capability = make(window)
        self._messages: list[ModelMessage] = []
        self._model = TestModel(custom_output_text=SUMMARY, call_tools=[])
        self._tracer = CountingTracer()

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._messages += native(item)

    async def manage(self) -> None:
        context = RunContext(
            deps=None,
            model=self._model,
            usage=RunUsage(),
            messages=self._messages,
            tracer=self._tracer,
        )
        request = ModelRequestContext(
            model=self._model,
            messages=self._messages,
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        await self._capability.before_model_request(context, request)

    def sent(self) -> list[str]:
        return as_texts(self._messages)

    def declared(self) -> int:
        return self._tracer.spans

    def held(self) -> list[str]:
        return results(self._messages)


def clearing(window: int) -> Any:
    return ClearToolResults(max_tokens=window * 4 // 5, keep_pairs=10)


def summarizing(window: int) -> Any:
    return SummarizingCompaction(max_tokens=window * 4 // 5, keep_tokens=window // 5)


LIBRARIES: dict[str, MakeLibrary] = {
    "ClearToolResults": partial(Capability, clearing),
    "SummarizingCompaction": partial(Capability, summarizing),
}
