"""The shared table of message sizes, through the adapter that really measures."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage

from palimpsest.core.outline import Outline
from palimpsest.formats.pydantic_ai import outline
from tests.formats.messages import IMAGE, assistant, returns, user
from tests.tables import shared_cases


@pytest.mark.parametrize("case", shared_cases("estimate_message"))
def test_message_table(case: dict[str, Any]) -> None:
    message = _message(case)
    if message is None:
        pytest.skip("system text and tools are no message")
    assert Outline([outline(message)]).measure_between(0, 1).tokens == case["tokens"]


def _message(case: dict[str, Any]) -> ModelMessage | None:
    match case["kind"]:
        case "user":
            return user([IMAGE if "image" in part else part["text"] for part in case["parts"]])
        case "assistant":
            texts = [part for part in case["parts"] if "text" in part]
            thoughts = [part["thinking"] for part in case["parts"] if "thinking" in part]
            calls = [part["call"] for part in case["parts"] if "call" in part]
            return assistant(
                texts[0]["text"] if texts else "",
                *((call["id"], call["name"], call["arguments"]) for call in calls),
                thinking=thoughts[0] if thoughts else "",
            )
        case "tool_return":
            return returns((case["id"], case["name"], case["content"]))
        case _:
            return None
