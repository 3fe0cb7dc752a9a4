"""A LangChain agent: one middleware; the thread's messages stay whole."""

from __future__ import annotations

import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from palimpsest.integrations.langchain import CompactionMiddleware


def talk(prompts: list[str], model: Any) -> list[BaseMessage]:  # noqa: ANN401 - name or model
    """Answer prompts one by one; the thread keeps every word."""
    agent: Any = create_agent(
        model, [], middleware=[CompactionMiddleware()], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "a"}}
    result: Any = {"messages": []}
    for prompt in prompts:
        result = agent.invoke({"messages": [("user", prompt)]}, config)
    return list(result["messages"])


if __name__ == "__main__":
    name = os.environ.get("LANGCHAIN_MODEL")
    if name is None:
        raise SystemExit("Set LANGCHAIN_MODEL, as in LANGCHAIN_MODEL=openai:gpt-5.")
    print(talk(["Hello."], name)[-1].content)
