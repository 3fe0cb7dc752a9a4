from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.core.errors import InvalidSettingError
from palimpsest.core.estimate import text_tokens
from palimpsest.core.excerpt import (
    AssistantText,
    Excerpt,
    Feedback,
    InjectedText,
    Json,
    Marker,
    ToolCall,
    ToolResult,
    UserText,
)
from palimpsest.core.summary_input import (
    MIN_DOCUMENT_TOKENS,
    merge_documents,
    summary_documents,
    summary_row,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS: list[tuple[Excerpt, dict[str, Any]]] = [
    (UserText(text="a\n中"), {"role": "user", "text": "a\n中"}),
    (InjectedText(text="b"), {"role": "attached", "text": "b"}),
    (AssistantText(text="c"), {"role": "assistant", "text": "c"}),
    (Feedback(text="d"), {"role": "framework", "text": "d"}),
    (
        ToolCall(call_id="1", tool_name="Read", arguments={"path": "a.py"}),
        {"role": "assistant", "call": "Read", "id": "1", "arguments": {"path": "a.py"}},
    ),
    (
        ToolCall(call_id="1", tool_name="Read", arguments="{broken"),
        {"role": "assistant", "call": "Read", "id": "1", "arguments": "{broken"},
    ),
    (
        ToolResult(call_id="1", tool_name="Read", text="e", is_error=False),
        {"role": "tool", "tool": "Read", "id": "1", "text": "e"},
    ),
    (
        ToolResult(call_id="1", tool_name="Read", text="e", is_error=True),
        {"role": "tool", "tool": "Read", "id": "1", "error": True, "text": "e"},
    ),
    (
        Marker(what="image", media_type="image/png", bytes=9),
        {"role": "marker", "what": "image", "media_type": "image/png", "bytes": 9},
    ),
]


def documents(
    excerpts: Sequence[Excerpt], limit_tokens: int, previous: str = ""
) -> list[dict[str, Any]]:
    rows = [summary_row(excerpt) for excerpt in excerpts]
    texts = summary_documents(rows, previous_summary=previous, limit_tokens=limit_tokens)
    assert all(text_tokens(text) <= limit_tokens for text in texts)
    return [json.loads(text) for text in texts]


@pytest.mark.parametrize(("excerpt", "row"), ROWS)
def test_rows(excerpt: Excerpt, row: dict[str, Any]) -> None:
    assert json.loads(summary_row(excerpt).json) == row


def test_a_kept_user_message_is_marked() -> None:
    row = json.loads(summary_row(UserText(text="a"), kept=True).json)
    assert row == {"role": "user", "kept": True, "text": "a"}


def test_what_fits_is_one_document() -> None:
    excerpts = [excerpt for excerpt, _ in ROWS]
    assert documents(excerpts, 4_000, "before") == [
        {"previousSummary": "before", "conversation": [row for _, row in ROWS]}
    ]
    assert list(documents(excerpts, 4_000)[0]) == ["conversation"]


def test_a_document_can_be_encoded_whatever_it_holds() -> None:
    (text,) = summary_documents(
        [summary_row(UserText(text="\ud800x"))], previous_summary="", limit_tokens=4_000
    )
    assert text.encode() == b'{"conversation":[{"role":"user","text":"?x"}]}'


def test_a_limit_too_small_for_any_row_is_refused() -> None:
    with pytest.raises(InvalidSettingError):
        documents([UserText(text="a")], MIN_DOCUMENT_TOKENS - 1)
    with pytest.raises(InvalidSettingError):
        merge_documents(["a"], limit_tokens=MIN_DOCUMENT_TOKENS - 1)


def test_chunks_name_their_part_and_the_first_holds_the_previous_summary() -> None:
    chunks = documents([UserText(text="x" * 3_000) for _ in range(4)], 1_100, "before")
    assert [chunk["part"] for chunk in chunks] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    assert [chunk.get("previousSummary") for chunk in chunks] == ["before", None, None, None]


def test_a_large_previous_summary_is_split_like_a_row() -> None:
    previous = "é" * 3_000
    chunks = documents([UserText(text="new")], MIN_DOCUMENT_TOKENS, previous)
    rows = [row for chunk in chunks for row in chunk["conversation"]]
    assert "".join(row["text"] for row in rows if row["role"] == "previousSummary") == previous
    assert rows[-1] == {"role": "user", "text": "new"}
    assert rows[0]["piece"] == f"1 of {len(rows) - 1}"


def test_large_arguments_are_split_as_json_text() -> None:
    arguments: Json = {"content": "line\n" * 3_000}
    call = ToolCall(call_id="1", tool_name="Write", arguments=arguments)
    rows = [
        row for chunk in documents([call], MIN_DOCUMENT_TOKENS) for row in chunk["conversation"]
    ]
    assert json.loads("".join(row["arguments"] for row in rows)) == arguments


_TEXT = st.text(alphabet=st.sampled_from('ab\n"\\\x00é中😀'), max_size=40)
_TEXTS = st.lists(st.tuples(_TEXT, st.integers(0, 400)), min_size=1, max_size=6)


@settings(deadline=None)
@given(_TEXTS, _TEXT, st.integers(0, 120), st.integers(MIN_DOCUMENT_TOKENS, 3_000))
def test_chunks_hold_every_row_in_order_exactly_once(
    texts: list[tuple[str, int]], previous: str, repeat: int, limit_tokens: int
) -> None:
    excerpts = [UserText(text=f"{number}:{text * times}") for number, (text, times) in
                enumerate(texts)]  # fmt: skip
    chunks = documents(excerpts, limit_tokens, previous * repeat)
    rows = [row for chunk in chunks for row in chunk["conversation"]]
    earlier = chunks[0].get("previousSummary", "")
    earlier += "".join(row["text"] for row in rows if row["role"] == "previousSummary")
    assert earlier == previous * repeat
    said = "".join(row["text"] for row in rows if row["role"] == "user")
    assert said == "".join(excerpt.text for excerpt in excerpts)


@settings(deadline=None)
@given(_TEXTS, st.integers(MIN_DOCUMENT_TOKENS, 3_000))
def test_merging_ends_and_every_document_fits(
    texts: list[tuple[str, int]], limit_tokens: int
) -> None:
    partials = [text * times for text, times in texts]
    rounds = 0
    merged = merge_documents(partials, limit_tokens=limit_tokens)
    while len(merged) > 1:
        assert all(text_tokens(text) <= limit_tokens for text in merged)
        merged = merge_documents([*merged], limit_tokens=limit_tokens)
        rounds += 1
    assert rounds <= 3
    assert text_tokens(merged[0]) <= limit_tokens


def test_partial_summaries_that_fit_are_merged_whole() -> None:
    (merged,) = merge_documents(["one", "two"], limit_tokens=MIN_DOCUMENT_TOKENS)
    assert json.loads(merged) == {"partialSummaries": ["one", "two"]}


def test_partial_summaries_too_long_to_merge_lose_their_ends_with_a_marker() -> None:
    (merged,) = merge_documents(["x" * 9_000, "y" * 9_000], limit_tokens=MIN_DOCUMENT_TOKENS)
    one, two = json.loads(merged)["partialSummaries"]
    assert one.startswith("xxx")
    assert two.endswith("[9,000 characters in all; the end is left out]")
