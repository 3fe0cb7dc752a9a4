from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.estimate import (
    MEDIA_TOKENS,
    MESSAGE_TOKENS,
    pdf_tokens,
    system_tokens,
    text_bytes,
    text_tokens,
    tool_call_text,
    tools_tokens,
)
from tests.tables import shared_cases

ANY_TEXT = st.text(alphabet=st.characters(codec=None))


@pytest.mark.parametrize("case", shared_cases("estimate_text"))
def test_text_table(case: tuple[str, int]) -> None:
    text, tokens = case
    assert text_tokens(text) == tokens


@pytest.mark.parametrize("case", shared_cases("estimate_message"))
def test_message_table(case: dict[str, Any]) -> None:
    match case["kind"]:
        case "system":
            tokens = system_tokens(case["text"])
        case "tools":
            tokens = tools_tokens(case["tools"])
        case "tool_return":
            texts = (case["content"], case["name"], case["id"])
            tokens = MESSAGE_TOKENS + sum(map(text_tokens, texts))
        case _:
            tokens = MESSAGE_TOKENS + sum(map(_part_tokens, case["parts"]))
    assert tokens == case["tokens"]


def _part_tokens(part: dict[str, Any]) -> int:
    if "call" in part:
        call = part["call"]
        return text_tokens(tool_call_text(call["id"], call["name"], call["arguments"]))
    if "image" in part:
        return MEDIA_TOKENS
    return text_tokens(part.get("text", part.get("thinking")))


def test_a_lone_surrogate_costs_two() -> None:
    assert text_tokens("\ud800") == 2
    assert text_bytes("\ud800") == 3


@given(ANY_TEXT)
def test_text_estimate_is_its_definition(text: str) -> None:
    quarters = sum(1 for character in text if ord(character) <= 0x7F)
    others = 0
    for character in text:
        if ord(character) > 0x7F:
            others += -(-len(character.encode("utf-8", "surrogatepass")) // 2)
    assert text_tokens(text) == -(-quarters // 4) + others
    assert text_bytes(text) == len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(("pages", "size", "tokens"), [(3, 9, 3600), (None, 101, 3), (None, 0, 0)])
def test_pdf(pages: int | None, size: int, tokens: int) -> None:
    assert pdf_tokens(pages, size) == tokens
