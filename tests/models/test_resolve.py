from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic_ai.models import Model

from palimpsest.core.errors import (
    InvalidSettingError,
    MissingExtraError,
    MissingKeyError,
    PalimpsestError,
    UnknownModelError,
)
from palimpsest.models.resolve import EXTRAS, CompatibleEndpoint, resolve_model
from palimpsest.testing import ScriptedModel


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "OPENROUTER"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("name", "resolved", "provider"),
    [
        ("openai:gpt-5", "openai:gpt-5", "openai"),
        ("openai-chat:gpt-4o", "openai:gpt-4o", "openai"),
        ("anthropic:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5", "anthropic"),
        ("google:gemini-2.5-pro", "google:gemini-2.5-pro", "google"),
        ("openrouter:x/y", "openrouter:x/y", "openrouter"),
        ("ollama:llama3.2", "ollama:llama3.2", "ollama"),
        (
            "openai-compatible:a@b@http://[::1]:8/v1",
            "openai-compatible:a@b@http://[::1]:8/v1",
            "openai",
        ),
    ],
)
def test_a_name_becomes_a_model(name: str, resolved: str, provider: str) -> None:
    found = resolve_model(name)
    assert (found.name, found.provider) == (resolved, provider)
    assert resolve_model(found.model).model is found.model


@pytest.mark.usefixtures("keys")
def test_ollama_is_looked_for_on_this_machine_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert resolve_model("ollama:x").model.base_url == "http://localhost:11434/v1/"
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://gpu:1/v1")
    assert resolve_model("ollama:x").model.base_url == "http://gpu:1/v1/"


def test_an_endpoint_becomes_a_model_with_the_window_it_names() -> None:
    endpoint = CompatibleEndpoint(
        model="local", base_url="http://127.0.0.1:8080/v1", context_window=2048
    )
    model = resolve_model(endpoint).model
    assert (model.model_name, model.context_window) == ("local", 2048)
    assert model.base_url == "http://127.0.0.1:8080/v1/"


def test_a_model_is_taken_as_it_is() -> None:
    model: Model = ScriptedModel(name="acme:large")
    found = resolve_model(model)
    assert (found.model, found.name, found.provider) == (model, "acme:large", "acme")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai:gpt-5", MissingKeyError("openai", "OPENAI_API_KEY")),
        ("anthropic:claude-sonnet-4-5", MissingKeyError("anthropic", "ANTHROPIC_API_KEY")),
        ("google:gemini-2.5-pro", MissingKeyError("google", "GOOGLE_API_KEY")),
        ("openrouter:x/y", MissingKeyError("openrouter", "OPENROUTER_API_KEY")),
        ("deepseek:x", MissingKeyError("deepseek", "DEEPSEEK_API_KEY")),
        ("azure:x", MissingKeyError("azure", "AZURE_OPENAI_ENDPOINT")),
        ("nope:x", UnknownModelError("nope:x")),
        ("gpt-5", UnknownModelError("gpt-5", "openai-chat:gpt-5")),
        ("openai:", UnknownModelError("openai:")),
        ("", UnknownModelError("")),
        (
            "openai-compatible:local",
            InvalidSettingError(
                "model", "openai-compatible:local", "of the form openai-compatible:NAME@URL"
            ),
        ),
        (
            "openai-compatible:local@ftp://x",
            InvalidSettingError("base_url", "ftp://x", "an http or https address"),
        ),
    ],
)
def test_what_is_missing_is_said(name: str, expected: PalimpsestError) -> None:
    with pytest.raises(type(expected)) as caught:
        resolve_model(name)
    assert vars(caught.value) == vars(expected)


@pytest.mark.usefixtures("keys")
def test_a_provider_may_refuse_for_another_reason() -> None:
    with pytest.raises(InvalidSettingError, match="one that its provider accepts"):
        resolve_model("openai-chatgpt:x")


@pytest.mark.parametrize(
    ("package", "name", "requirement"),
    [
        ("groq", "groq:x", "palimpsest-ai[groq]"),
        ("boto3", "bedrock:x", "palimpsest-ai[bedrock]"),
        ("openai", "openai-compatible:x@http://y", "palimpsest-ai[openai]"),
        ("openai", "ollama:x", "palimpsest-ai[openai]"),
        ("openai", "zai:x", "pydantic-ai-slim[zai]"),
    ],
)
def test_a_missing_package_is_named_as_an_extra(package: str, name: str, requirement: str) -> None:
    script = f"""
import sys
sys.modules[{package!r}] = None
from palimpsest.core.errors import MissingExtraError
from palimpsest.models import resolve_model
try:
    resolve_model({name!r})
except MissingExtraError as error:
    print(error.requirement)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == requirement


@pytest.mark.parametrize(
    ("module", "name", "requirement"),
    [
        ("pydantic_ai.providers.groq", "groq:x", "palimpsest-ai[groq]"),
        (
            "pydantic_ai.models.openai",
            "openai-compatible:x@http://y",
            "palimpsest-ai[openai]",
        ),
    ],
)
def test_a_failing_import_that_names_no_group_is_named_after_the_provider(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, requirement: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        resolve_model(name)
    assert caught.value.requirement == requirement


def test_extras_are_those_of_the_project() -> None:
    from importlib.metadata import metadata  # noqa: PLC0415

    declared = set(metadata("palimpsest-ai").get_all("Provides-Extra") or ())
    assert declared >= EXTRAS
    assert issubclass(MissingExtraError, PalimpsestError)


@pytest.mark.parametrize(
    "module",
    [
        "palimpsest.models",
        "palimpsest.models.resolve",
        "palimpsest.models.cap",
        "palimpsest.models.overflow",
        "palimpsest.models.model_summarizer",
        "palimpsest.models.scripted",
    ],
)
def test_importing_pulls_in_no_provider(module: str) -> None:
    script = f"import sys, {module}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    providers = {"openai", "anthropic", "google", "groq", "mistralai", "boto3", "cohere"}
    assert providers.isdisjoint(done.stdout.split())
    if module == "palimpsest.models":
        assert "pydantic_ai" not in done.stdout.split()
