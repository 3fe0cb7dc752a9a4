"""Real adapters of pydantic-ai over a transport that answers from a function: the wire, offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider
from pydantic_ai.settings import ModelSettings


class Wire:
    """Answers every request with one status and body, and keeps what was sent."""

    def __init__(self, status: int = 400, body: object = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self._status = status
        self._body = body if body is not None else {"error": {"message": "enough"}}

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content))
        return httpx2.Response(self._status, json=self._body)

    @property
    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))


ModelMaker = Callable[[Wire, str, ModelSettings | None], Model]


def openai_chat(wire: Wire, name: str, settings: ModelSettings | None = None) -> Model:
    provider = OpenAIProvider(api_key="k", http_client=wire.client)
    return OpenAIChatModel(name, provider=provider, settings=settings)


def openai_responses(wire: Wire, name: str, settings: ModelSettings | None = None) -> Model:
    provider = OpenAIProvider(api_key="k", http_client=wire.client)
    return OpenAIResponsesModel(name, provider=provider, settings=settings)


def openrouter(wire: Wire, name: str, settings: ModelSettings | None = None) -> Model:
    provider = OpenRouterProvider(api_key="k", http_client=wire.client)
    return OpenRouterModel(name, provider=provider, settings=settings)


def anthropic(wire: Wire, name: str, settings: ModelSettings | None = None) -> Model:
    provider = AnthropicProvider(api_key="k", http_client=wire.client)
    return AnthropicModel(name, provider=provider, settings=settings)


def google(wire: Wire, name: str, settings: ModelSettings | None = None) -> Model:
    provider = GoogleProvider(api_key="k", http_client=wire.client)
    return GoogleModel(name, provider=provider, settings=settings)
