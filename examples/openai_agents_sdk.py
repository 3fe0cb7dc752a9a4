"""An agent of the OpenAI SDK: wrap its session, and run with the session's configuration."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, Runner, SQLiteSession
from agents.models.interface import Model

from palimpsest.integrations.openai_agents import CompactingSession


async def talk(prompts: list[str], model: str | Model) -> list[Any]:
    """Answer prompts one by one; the session keeps every item."""
    agent = Agent(name="helper", instructions="Be brief.", model=model)
    session = CompactingSession(SQLiteSession("a"))
    for prompt in prompts:
        await Runner.run(agent, prompt, session=session, run_config=session.run_config())
    return list(await session.get_items())


if __name__ == "__main__":
    print(asyncio.run(talk(["Hello."], "gpt-5"))[-1])
