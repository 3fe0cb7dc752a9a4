"""The first screen of somebody who has no model yet."""

from __future__ import annotations

import os
from collections.abc import Mapping

KEYS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-5",
    "OPENAI_API_KEY": "openai:gpt-5",
    "GOOGLE_API_KEY": "google:gemini-2.5-pro",
    "OPENROUTER_API_KEY": "openrouter:anthropic/claude-sonnet-4.5",
    "GROQ_API_KEY": "groq:openai/gpt-oss-120b",
    "MISTRAL_API_KEY": "mistral:mistral-large-latest",
}
"""A model for each provider whose key may be set already."""

_TEXT = """\
Palimpsest needs a model to talk to. {reason}

{found}Choose one, and set its key:
  export ANTHROPIC_API_KEY=…
  palimpsest --model anthropic:claude-sonnet-4-5
A server on this machine needs no key:
  palimpsest --model ollama:qwen3
  palimpsest --model openai-compatible:NAME@http://localhost:8080/v1
To keep the choice:
  palimpsest config set model anthropic:claude-sonnet-4-5

Without any model or key:
  palimpsest demo            see what compaction does to a sample
  palimpsest replay FILE…    see what it would do to your own sessions
"""


def first_steps(reason: str) -> str:
    """Say what to set, and what works without it; keys that are there come first."""
    ready = [(key, model) for key, model in KEYS.items() if os.environ.get(key)]
    lines = [f"  palimpsest --model {model:<34} {key} is set\n" for key, model in ready]
    found = "".join(["Ready to use:\n", *lines, "\n"]) if lines else ""
    return _TEXT.format(reason=reason, found=found)
