"""One-way dialects: what every part of a history becomes for OpenAI and for Anthropic."""

from __future__ import annotations

from inline_snapshot import snapshot
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.formats.anthropic_messages import anthropic_request
from palimpsest.formats.openai_chat import openai_messages

HISTORY: list[ModelMessage] = [
    ModelRequest(
        parts=[
            SystemPromptPart("Be brief."),
            UserPromptPart(
                [
                    "Look:",
                    TextContent("more"),
                    CachePoint(),
                    BinaryContent(data=b"png", media_type="image/png"),
                    BinaryContent(data=b"pdf", media_type="application/pdf"),
                    ImageUrl("https://example.org/a.png"),
                ]
            ),
        ]
    ),
    ModelResponse(
        parts=[
            ThinkingPart("hm", signature="s"),
            ThinkingPart("unsigned"),
            TextPart("I see."),
            ToolCallPart("read", {"path": "a"}, "c1"),
            ToolCallPart("read", "[1]", "c2"),
        ]
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("read", "text", "c1"),
            ToolReturnPart("read", {"code": 1}, "c2", outcome="failed"),
            RetryFeedbackPart("Try again.", retry=RetryInfo(cause="model_retry")),
        ]
    ),
    ModelResponse(parts=[ThinkingPart("only")]),
    ModelRequest(parts=[UserPromptPart("Thanks.")]),
]


def test_openai() -> None:
    assert list(openai_messages(HISTORY)) == snapshot(
        [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "text", "text": "more"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
                    {"type": "text", "text": "[document application/pdf, 3 bytes]"},
                    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                ],
            },
            {
                "role": "assistant",
                "content": "I see.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path":"a"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "read", "arguments": "[1]"},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "text"},
            {"role": "tool", "tool_call_id": "c2", "content": '{"code":1}'},
            {
                "role": "user",
                "content": """\
Your previous response failed the application's validation (this is automated feedback, not a message from the user):
<retry_feedback>
Try again.
</retry_feedback>\
""",
            },
            {"role": "user", "content": "Thanks."},
        ]
    )


def test_anthropic() -> None:
    assert anthropic_request(HISTORY) == snapshot(
        {
            "system": "Be brief.",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look:"},
                        {"type": "text", "text": "more"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
                        },
                        {
                            "type": "document",
                            "source": {
                                "type": "base64",
                                "media_type": "application/pdf",
                                "data": "cGRm",
                            },
                        },
                        {
                            "type": "image",
                            "source": {"type": "url", "url": "https://example.org/a.png"},
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"type": "text", "text": "I see."},
                        {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                        {
                            "type": "tool_use",
                            "id": "c2",
                            "name": "read",
                            "input": {"arguments": [1]},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": "text",
                            "is_error": False,
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "c2",
                            "content": '{"code":1}',
                            "is_error": True,
                        },
                        {
                            "type": "text",
                            "text": """\
Your previous response failed the application's validation (this is automated feedback, not a message from the user):
<retry_feedback>
Try again.
</retry_feedback>\
""",
                        },
                        {"type": "text", "text": "Thanks."},
                    ],
                },
            ],
        }
    )
    assert anthropic_request(HISTORY[4:]) == {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Thanks."}]}]
    }
