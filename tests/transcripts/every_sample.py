"""A recording in each form of each format."""

from __future__ import annotations

import json

from tests.transcripts.agent_samples import (
    AIDER,
    codex_lines,
    gemini_contents,
    gemini_lines,
    gemini_session,
    kimi_lines,
    opencode_export,
    opencode_records,
)
from tests.transcripts.framework_samples import (
    inspect_log,
    langchain_dumped,
    langchain_messages,
    openhands_events,
    openhands_line,
    openhands_sdk_events,
    pydantic_ai_messages,
    smolagents_run,
    smolagents_steps,
)
from tests.transcripts.own_samples import own_session
from tests.transcripts.samples import (
    claude_session,
    cline_session,
    lines,
    mini_swe,
    openai_messages,
    openhands,
    pi_entries,
    pi_tree,
    roo_messages,
    swe_agent,
    tau_results,
)


def sample_texts() -> dict[str, tuple[str, str]]:
    """Name → (format, text of the file)."""
    return {
        "claude": ("claude-code", claude_session()),
        "pi": ("pi", lines(*pi_entries())),
        "pi tree": ("pi", lines(*pi_tree())),
        "openai list": ("openai-chat", json.dumps(openai_messages(), indent=1)),
        "openhands": ("openai-chat", json.dumps(openhands())),
        "tau": ("openai-chat", json.dumps(tau_results(), indent=1)),
        "mini": ("mini-swe-agent", json.dumps(mini_swe(), indent=1)),
        "swe": ("swe-agent", json.dumps(swe_agent(), indent=1)),
        "roo": ("anthropic-messages", json.dumps(roo_messages(), indent=1)),
        "cline": ("anthropic-messages", json.dumps(cline_session(), indent=1)),
        "codex": ("codex", lines(*codex_lines())),
        "kimi": ("kimi", lines(*kimi_lines())),
        "own session": ("palimpsest", own_session().closed),
        "own session, open": ("palimpsest", own_session().open),
        "gemini": ("gemini-cli", json.dumps(gemini_session(), indent=1)),
        "gemini lines": ("gemini-cli", lines(*gemini_lines())),
        "contents": ("gemini-contents", json.dumps(gemini_contents(), indent=1)),
        "opencode": ("opencode", json.dumps(opencode_export(), indent=1)),
        "opencode records": ("opencode", "\n".join(map(json.dumps, opencode_records()))),
        "openhands events": ("openhands", json.dumps(openhands_events(), indent=1)),
        "openhands sdk": ("openhands", json.dumps(openhands_sdk_events(), indent=1)),
        "openhands line": ("openhands", lines(openhands_line())),
        "inspect": ("inspect-ai", json.dumps(inspect_log(), indent=1)),
        "smolagents": ("smolagents", lines(smolagents_run())),
        "smolagents steps": ("smolagents", json.dumps(smolagents_steps(), indent=1)),
        "aider": ("aider", AIDER),
        "pydantic-ai": ("pydantic-ai", json.dumps(pydantic_ai_messages(), indent=1)),
        "langchain": ("langchain", json.dumps(langchain_messages(), indent=1)),
        "langchain dumped": ("langchain", json.dumps(langchain_dumped(), indent=1)),
    }
