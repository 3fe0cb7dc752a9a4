"""deepagents: LangChain's summaries as an event in the state, older messages on a backend."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage

from peers.histories import Item
from peers.langchain_messages import as_texts, converted, results
from peers.library import SUMMARY, MakeLibrary


class Summarization:
    """The state keeps every message; an event says which of them a summary stands for."""

    def __init__(self, window: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._model = FakeListChatModel(responses=[SUMMARY])
        self._middleware = SummarizationMiddleware(
            self._model,
            backend=FilesystemBackend(root_dir=self._folder.name, virtual_mode=True),
            trigger=("tokens", window * 4 // 5),
            keep=("tokens", window // 5),
        )
        self._messages: list[Any] = []
        self._state: dict[str, Any] = {}
        self._sent: list[Any] = []
        self._events = 0

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._messages += converted(item)

    async def manage(self) -> None:
        request = ModelRequest(
            model=self._model,
            messages=self._messages,
            state=self._state,  # type: ignore[arg-type]
        )
        response = await self._middleware.awrap_model_call(request, self._answered)
        if isinstance(response, ExtendedModelResponse) and response.command is not None:
            self._state = {**self._state, **response.command.update}
            self._events += 1

    async def _answered(self, request: ModelRequest) -> ModelResponse:
        self._sent = request.messages
        return ModelResponse(result=[AIMessage("")])

    def sent(self) -> list[str]:
        return as_texts(self._sent)

    def declared(self) -> int:
        return self._events

    def held(self) -> list[str]:
        return results(self._messages)


LIBRARIES: dict[str, MakeLibrary] = {"SummarizationMiddleware": Summarization}
