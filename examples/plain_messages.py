"""A loop of your own over the OpenAI chat API: two lines, and it never outgrows the window.

For Anthropic, OpenAI Responses or Google the two lines are the same; only ``ask`` differs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from palimpsest import compact_messages, run_sync

Message = dict[str, Any]
MODEL = "gpt-5"


def talk(prompts: Iterable[str], ask: Callable[[list[Message]], Message]) -> list[Message]:
    """Answer prompts one by one; the history keeps every word."""
    history: list[Message] = []
    state = None
    for prompt in prompts:
        history.append({"role": "user", "content": prompt})
        compacted = run_sync(compact_messages(history, model=MODEL, state=state))
        state = compacted.state
        history.append(ask(compacted.messages))
    return history


def ask_openai(messages: list[Message]) -> Message:
    """Ask the provider; needs OPENAI_API_KEY."""
    from openai import OpenAI  # noqa: PLC0415 - only where it is used

    reply: Any = OpenAI().chat.completions.create(model=MODEL, messages=messages)  # type: ignore[arg-type]
    return {"role": "assistant", "content": reply.choices[0].message.content}


if __name__ == "__main__":
    print(talk(sys.argv[1:] or ["Hello."], ask_openai)[-1]["content"])
