"""From a model's name to a model: pydantic-ai finds it, and failures are named in our terms."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TypeAlias

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model, parse_model_id

from palimpsest.core.errors import (
    InvalidSettingError,
    MissingExtraError,
    MissingKeyError,
    UnknownModelError,
)

OLLAMA_DEFAULT_URL = "http://localhost:11434/v1"
COMPATIBLE_PREFIX = "openai-compatible:"

EXTRAS = frozenset(
    {
        "anthropic",
        "bedrock",
        "cohere",
        "google",
        "groq",
        "huggingface",
        "mistral",
        "openai",
        "openrouter",
        "xai",
    }
)
"""Our optional dependency groups of providers; each is pydantic-ai's group of the same name."""

_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)`")
_GROUP = re.compile(r"pydantic-ai-slim\[([a-z0-9-]+)\]")
_SUGGESTION = re.compile(r"Did you mean '([^']+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleEndpoint:
    """A server that speaks the OpenAI chat API.

    Attributes:
        model: name the server knows the model by.
        base_url: up to and with the version, as ``http://localhost:8080/v1``.
        api_key: empty for servers that want none.
        context_window: tokens, where known; such a server rarely tells.
    """

    model: str
    base_url: str
    api_key: str = ""
    context_window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """A model ready for requests.

    Attributes:
        model: pydantic-ai's model.
        name: ``provider:model``, as shown to people and stored with sessions.
        provider: whose API is spoken.
    """

    model: Model
    name: str
    provider: str


ModelChoice: TypeAlias = str | Model | CompatibleEndpoint


def resolve_model(choice: ModelChoice) -> ResolvedModel:
    """Find a model by name; no request is made.

    Args:
        choice: ``provider:model``; ``openai-compatible:NAME@http://host:port/v1`` (the key, if
            any, in OPENAI_COMPATIBLE_API_KEY); an endpoint; or a model, which is taken as it is.

    Raises:
        UnknownModelError: no provider is known by that name.
        MissingKeyError: an environment variable that the provider needs is not set.
        MissingExtraError: the provider's package is not installed.
        InvalidSettingError: the address of an endpoint is none, or the provider refuses its
            settings for another reason.
    """
    match choice:
        case Model():
            model = choice
        case CompatibleEndpoint():
            return _resolved_endpoint(choice)
        case _ if choice.startswith(COMPATIBLE_PREFIX):
            return _resolved_endpoint(_parse_endpoint(choice))
        case _:
            model = _named_model(choice)
    return ResolvedModel(model=model, name=model.model_id, provider=model.system)


def _resolved_endpoint(endpoint: CompatibleEndpoint) -> ResolvedModel:
    """Name the address as well: by its name alone, another provider's model would be found."""
    model = _compatible_model(endpoint)
    name = f"{COMPATIBLE_PREFIX}{endpoint.model}@{endpoint.base_url}"
    return ResolvedModel(model=model, name=name, provider=model.system)


def _parse_endpoint(name: str) -> CompatibleEndpoint:
    model, found, url = name.removeprefix(COMPATIBLE_PREFIX).rpartition("@")
    if not found or not model:
        raise InvalidSettingError("model", name, f"of the form {COMPATIBLE_PREFIX}NAME@URL")
    key = os.environ.get("OPENAI_COMPATIBLE_API_KEY", "")
    return CompatibleEndpoint(model=model, base_url=url, api_key=key)


def _compatible_model(endpoint: CompatibleEndpoint) -> Model:
    if not endpoint.base_url.startswith(("http://", "https://")):
        raise InvalidSettingError("base_url", endpoint.base_url, "an http or https address")
    try:
        from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - loads the SDK
        from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
        from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    except ImportError as error:
        raise _missing_extra("openai-compatible", error) from error
    # Old servers know only the older name of the cap; it is the one all of them accept.
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    if endpoint.context_window is not None:
        profile["context_window"] = endpoint.context_window
    provider = OpenAIProvider(base_url=endpoint.base_url, api_key=endpoint.api_key or "none")
    return OpenAIChatModel(endpoint.model, provider=provider, profile=profile)


def _named_model(name: str) -> Model:
    provider, model_name = parse_model_id(name)
    if provider is not None and not model_name:
        raise UnknownModelError(name)
    try:
        if provider == "ollama" and not os.environ.get("OLLAMA_BASE_URL"):
            return _local_ollama(model_name)
        return infer_model(name)
    except ImportError as error:
        raise _missing_extra(provider or name, error) from error
    except UserError as error:
        raise _refused(name, provider or name, str(error)) from error


def _local_ollama(model_name: str) -> Model:
    from pydantic_ai.models.ollama import OllamaModel  # noqa: PLC0415 - loads the SDK
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415

    return OllamaModel(model_name, provider=OllamaProvider(base_url=OLLAMA_DEFAULT_URL))


def _missing_extra(provider: str, error: ImportError) -> MissingExtraError:
    """Name our group where we have one of that name, else pydantic-ai's own."""
    found = _GROUP.search(str(error))
    group = found[1] if found else provider if provider in EXTRAS else "openai"
    package = "palimpsest-ai" if group in EXTRAS else "pydantic-ai-slim"
    return MissingExtraError(f"The provider {provider!r}", f"{package}[{group}]")


def _refused(
    name: str, provider: str, reason: str
) -> UnknownModelError | MissingKeyError | InvalidSettingError:
    if reason.startswith("Unknown model"):
        suggestion = _SUGGESTION.search(reason)
        return UnknownModelError(name, suggestion[1] if suggestion else "")
    variable = _VARIABLE.search(reason)
    if variable is not None and "environment variable" in reason:
        return MissingKeyError(provider, variable[1])
    return InvalidSettingError("model", name, f"one that its provider accepts ({reason})")
