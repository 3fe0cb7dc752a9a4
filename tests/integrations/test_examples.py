"""The examples run, with scripted models, and keep every word."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

from palimpsest.core.errors import UnknownModelError
from palimpsest.testing import Reply, ScriptedModel

EXAMPLES = Path(__file__).parents[2] / "examples"
PROMPTS = [f"Prompt {number}: " + "word " * 4_000 for number in range(60)]


def talk_of(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["talk"]


def test_plain_messages() -> None:
    sizes: list[int] = []

    def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
        sizes.append(sum(len(message["content"]) for message in messages) // 4)
        return {"role": "assistant", "content": "Yes. " * 5_000}

    history = talk_of("plain_messages")(PROMPTS, ask)
    assert [message["content"] for message in history[::2]] == PROMPTS
    assert max(sizes) < 400_000
    assert sizes != sorted(sizes)


def test_pydantic_ai_agent() -> None:
    model = ScriptedModel([Reply(text=f"Yes {number}.") for number in range(61)], window=64_000)
    history = asyncio.run(talk_of("pydantic_ai_agent")(PROMPTS, model))
    assert len(history) == 2 * 61
    assert "<summary>" in model.requests[-1].text
    assert model.requests[-1].extends(model.requests[-2])


def test_langchain_agent() -> None:
    pytest.importorskip("langchain")
    from tests.integrations.test_langchain import Scripted  # noqa: PLC0415

    model = Scripted(profile={"max_input_tokens": 64_000, "max_output_tokens": 1_000})
    model.replies_without_calls = True
    thread = talk_of("langchain_agent")(PROMPTS, model)
    assert len(thread) == 2 * 60
    assert "<summary>" in str(model.requests[-1])


def test_openai_agents_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agents")
    from agents.testing import ScriptedModel as AgentsModel  # noqa: PLC0415
    from agents.testing import assistant_message  # noqa: PLC0415
    from agents.tracing import set_tracing_disabled  # noqa: PLC0415

    set_tracing_disabled(True)
    model = AgentsModel([{"output": [assistant_message(f"Yes {n}.")]} for n in range(60)])
    items = asyncio.run(talk_of("openai_agents_sdk")(PROMPTS, model))
    assert len(items) == 2 * 60
    assert "<summary>" in str(model.calls[-1].input)


def test_nothing_is_left_out() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == {
        name.removeprefix("test_") for name in globals() if name.removeprefix("test_") in names
    }


@pytest.mark.parametrize("name", ["pydantic_ai_agent", "langchain_agent"])
def test_an_example_says_which_variable_it_needs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain")
    for variable in ("PALIMPSEST_MODEL", "LANGCHAIN_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(SystemExit, match=r"Set (PALIMPSEST|LANGCHAIN)_MODEL, as in "):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def test_an_example_takes_the_names_that_the_command_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_MODEL", "nowhere:model")
    with pytest.raises(UnknownModelError):
        runpy.run_path(str(EXAMPLES / "pydantic_ai_agent.py"), run_name="__main__")
