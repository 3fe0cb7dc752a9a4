"""Numbers, times and tool calls in a few words; pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from palimpsest.core.excerpt import Json
from palimpsest.lab.plain import one_line

_TELLING_KEYS = (
    "command",
    "path",
    "file_path",
    "pattern",
    "query",
    "url",
    "name",
    "directory",
    "glob",
)
"""Arguments that say best what a call is about, the most telling first."""

LONGEST_CALL = 400
"""Characters of a call's description at most; the terminal's width shortens it further."""


def short_tokens(tokens: int) -> str:
    """Give a number of tokens as people say it: ``812``, ``84.1k``, ``200k``, ``1.2M``."""
    if tokens < 1_000:
        return str(tokens)
    unit, divisor = ("k", 1_000) if tokens < 999_950 else ("M", 1_000_000)
    text = f"{tokens / divisor:.1f}"
    return text.removesuffix(".0") + unit


def seconds(duration_ms: int) -> str:
    """Give a duration: ``6 s``, ``2 min 5 s``."""
    whole = max(0, duration_ms) // 1_000
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def when(timestamp_ms: int) -> str:
    """Give a moment in the machine's own time zone, to the minute."""
    moment = datetime.fromtimestamp(timestamp_ms / 1_000, tz=UTC).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M")


def call_words(tool_name: str, arguments: str) -> str:
    """Give a tool call on one line: its name, and the arguments that say what it is about."""
    try:
        parsed: Json = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return _bounded(f"{tool_name} {arguments}")
    if not isinstance(parsed, dict):
        return _bounded(f"{tool_name} {json.dumps(parsed, ensure_ascii=False)}")
    told = [key for key in _TELLING_KEYS if key in parsed]
    others = [key for key in parsed if key not in told and _is_short(parsed[key])]
    words = [_word(parsed[key]) for key in told] + [f"{key}={_word(parsed[key])}" for key in others]
    return _bounded(" ".join([tool_name, *words]))


def _is_short(value: Json) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 40)


def _word(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bounded(text: str) -> str:
    line = one_line(text[: 2 * LONGEST_CALL])
    return line if len(line) <= LONGEST_CALL else line[: LONGEST_CALL - 1] + "…"
