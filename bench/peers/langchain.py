"""LangChain: two middlewares, one edits a copy for each request, one rewrites the state."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages.utils import count_tokens_approximately

from peers.histories import Item
from peers.langchain_messages import as_texts, converted, results
from peers.library import SUMMARY, MakeLibrary


class ContextEditing:
    """What ``ContextEditingMiddleware`` does: copies the messages, and edits the copy."""

    def __init__(self, window: int) -> None:
        self._edit = ClearToolUsesEdit(trigger=window * 4 // 5, keep=10)
        self._messages: list[Any] = []
        self._copy: list[Any] = []

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._messages += converted(item)

    async def manage(self) -> None:
        self._copy = copy.deepcopy(self._messages)
        self._edit.apply(self._copy, count_tokens=count_tokens_approximately)

    def sent(self) -> list[str]:
        return as_texts(self._copy)

    def declared(self) -> int:
        return 0  # no event, no record: the copy is thrown away

    def held(self) -> list[str]:
        return results(self._messages)


class Summarization:
    """``SummarizationMiddleware``: messages leave the state, a summary stands before the rest."""

    def __init__(self, window: int) -> None:
        self._middleware = SummarizationMiddleware(
            FakeListChatModel(responses=[SUMMARY]),
            trigger=("tokens", window * 4 // 5),
            keep=("tokens", window // 5),
        )
        self._messages: list[Any] = []
        self._updates = 0

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            self._messages += converted(item)

    async def manage(self) -> None:
        update = self._middleware.before_model({"messages": self._messages}, None)  # type: ignore[arg-type]
        if update is not None:
            self._updates += 1
            self._messages = update["messages"][1:]  # behind the removal of all

    def sent(self) -> list[str]:
        return as_texts(self._messages)

    def declared(self) -> int:
        return self._updates

    def held(self) -> list[str]:
        return results(self._messages)


LIBRARIES: dict[str, MakeLibrary] = {
    "ClearToolUsesEdit": ContextEditing,
    "SummarizationMiddleware": Summarization,
}
