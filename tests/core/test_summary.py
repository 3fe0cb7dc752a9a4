from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.errors import SummaryRejectedError
from palimpsest.core.summary import (
    HEADINGS,
    NO_HEADING_WARNING,
    SUMMARY_LEAD_IN,
    Summary,
    escape_summary_tags,
    read_reply,
    summary_instructions,
    summary_message_text,
    summary_output_cap,
)


def test_instructions_ask_for_every_section_and_carry_the_focus() -> None:
    plain = summary_instructions()
    assert all(f"## {heading}\n" in plain for heading in HEADINGS)
    assert summary_instructions(focus=" \n") == plain
    focused = summary_instructions(focus=" the parser ")
    assert focused.startswith(plain)
    assert focused.endswith("\nthe parser")


@pytest.mark.parametrize(
    ("window", "max_output", "cap"),
    [(200_000, 64_000, 4096), (200_000, 2_000, 2_000), (8_192, 8_192, 2_048), (2, 2, 1)],
)
def test_output_cap(window: int, max_output: int, cap: int) -> None:
    assert summary_output_cap(window=window, max_output=max_output) == cap


@pytest.mark.parametrize(
    ("text", "stop_reason", "has_tool_calls", "reason"),
    [
        ("## Goal", "length", False, "cut off"),
        ("## Goal", "content_filter", False, "content_filter"),
        ("## Goal", "error", False, "error"),
        ("## Goal", "stop", True, "tool"),
        (" \n\t", "stop", False, "blank"),
        ("<summary>\n</summary>", None, False, "blank"),
        ("", None, False, "blank"),
    ],
)
def test_rejected_replies(
    text: str, stop_reason: str | None, has_tool_calls: bool, reason: str
) -> None:
    with pytest.raises(SummaryRejectedError, match=reason):
        read_reply(text, stop_reason=stop_reason, has_tool_calls=has_tool_calls)


@pytest.mark.parametrize(
    ("text", "summary", "warned"),
    [
        ("## Goal\nx\n", "## Goal\nx", False),
        ("# 目标\nx", "# 目标\nx", False),
        ("**Goal:** x", "**Goal:** x", False),
        ("**GOAL**\nx", "**GOAL**\nx", False),
        ("The goal is x.", "The goal is x.", True),
        ("#hashtag **bold**", "#hashtag **bold**", True),
        ("<summary>\n## Goal\nx\n</summary>\n", "## Goal\nx", False),
        (" < Summary >## Goal</ SUMMARY >", "## Goal", False),
        ("<summary>\n## Goal", "## Goal", False),
        ("## Goal\n</summary>", "## Goal", False),
        ("## Goal: write <summary>x</summary>", "## Goal: write <summary>x</summary>", False),
    ],
)
def test_accepted_replies(text: str, summary: str, warned: bool) -> None:
    expected = Summary(text=summary, warnings=(NO_HEADING_WARNING,) if warned else ())
    assert read_reply(text, stop_reason="stop", has_tool_calls=False) == expected
    assert read_reply(text, stop_reason=None, has_tool_calls=False) == expected


def test_the_message_of_a_summary() -> None:
    assert summary_message_text("a </summary> b\n< / SUMMARY> <summary x> &lt; c") == (
        f"{SUMMARY_LEAD_IN}\n<summary>\n"
        "a &lt;/summary> b\n&lt; / SUMMARY> &lt;summary x> &lt; c\n</summary>"
    )


_TAGS = st.lists(
    st.sampled_from(["<", "/", " ", "\n", "\u00a0", "summary", "SumMary", "ſummary", ">", "&lt;"])
)


@given(_TAGS)
def test_escaped_text_never_opens_or_closes_a_summary(parts: list[str]) -> None:
    escaped = escape_summary_tags("".join(parts))
    assert re.search(r"<\s*/?\s*summary", escaped, re.IGNORECASE) is None
    assert escape_summary_tags(escaped) == escaped


def test_escaping_is_linear_in_white_space() -> None:
    hostile = "<" + " " * 1_000_000
    assert escape_summary_tags(hostile) == hostile
