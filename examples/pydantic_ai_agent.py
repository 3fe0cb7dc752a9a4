"""A pydantic-ai agent: wrap it, and keep what it remembers beside your own history."""

from __future__ import annotations

import asyncio
import os

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model

import palimpsest
from palimpsest.models import resolve_model


async def talk(prompts: list[str], model: str | Model) -> list[ModelMessage]:
    """Answer prompts one by one; the history keeps every word."""
    agent = palimpsest.wrap(Agent(model, instructions="Be brief."))
    history: list[ModelMessage] = []
    for prompt in prompts:
        result = await agent.run(prompt, message_history=history)
        history = result.all_messages()

    # In a service: store both, and go on in another process.
    remembered = agent.dump(history)
    later = palimpsest.wrap(Agent(model, instructions="Be brief."))
    later.load(history, remembered)
    return (await later.run("And now?", message_history=history)).all_messages()


if __name__ == "__main__":
    name = os.environ.get("PALIMPSEST_MODEL")
    if name is None:
        raise SystemExit(
            "Set PALIMPSEST_MODEL, as in PALIMPSEST_MODEL=anthropic:claude-sonnet-4-5."
        )
    print(asyncio.run(talk(["Hello."], resolve_model(name).model))[-1])
