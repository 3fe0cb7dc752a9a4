from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    DocumentUrl,
    FilePart,
    ImageUrl,
    TextContent,
    UploadedFile,
    VideoUrl,
)

from palimpsest.core.excerpt import Marker
from palimpsest.formats.media import is_media, measure_item, measure_opaque, media_marker

URL = "https://example.invalid/a"
PDF = b"%PDF-1.4 /Type /Pages /Type /Page >> /Type/Page\n"


def binary(data: bytes, media_type: str) -> BinaryContent:
    return BinaryContent(data=data, media_type=media_type)


@pytest.mark.parametrize(
    ("item", "tokens", "size"),
    [
        ("x" * 9, 3, 9),
        (TextContent(content="x" * 9), 3, 9),
        (CachePoint(), 0, 0),
        (binary(b"x" * 30, "image/png"), 1200, 40),
        (binary(b"x" * 31, "audio/wav"), 1200, 44),
        (binary(b"", "image/png"), 1200, 0),
        (binary(b"x" * 31, "text/plain"), 8, 44),
        (binary(b"\xff" * 4, "text/plain"), 8, 8),
        (binary(PDF, "application/pdf"), 2400, 64),
        (binary(b"x" * 101, "application/pdf"), 3, 136),
        (ImageUrl(url=URL), 1200, len(URL)),
        (AudioUrl(url=URL), 1200, len(URL)),
        (VideoUrl(url=URL), 1200, len(URL)),
        (DocumentUrl(url=URL), 1200, len(URL)),
        (UploadedFile(file_id="file-1", provider_name="openai"), 1200, 6),
        ({"a": 1}, 2, 7),
        (None, 1, 4),
    ],
)
def test_an_item_is_measured_by_what_it_is(item: object, tokens: int, size: int) -> None:
    assert measure_item(item) == (tokens, size)


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [object(), "a\ud800", {"a": ["\udfff"]}, cyclic(), b"\xff", {1}])
def test_whatever_it_is_it_can_be_measured(value: object) -> None:
    tokens, size = measure_opaque(value)
    assert tokens > 0
    assert size > 0


def test_a_generated_file_is_measured_as_the_file() -> None:
    image = binary(b"x" * 30, "image/png")
    assert measure_opaque(FilePart(content=image)) == measure_item(image)


@pytest.mark.parametrize(
    ("item", "what", "media_type", "size"),
    [
        (binary(b"abc", "image/png"), "image", "image/png", 3),
        (binary(b"abc", "audio/wav"), "audio", "audio/wav", 3),
        (binary(b"abc", "video/mp4"), "video", "video/mp4", 3),
        (binary(b"abc", "application/pdf"), "document", "application/pdf", 3),
        (ImageUrl(url=URL), "image", "", 0),
        (AudioUrl(url=URL), "audio", "", 0),
        (VideoUrl(url=URL), "video", "", 0),
        (DocumentUrl(url=URL), "document", "", 0),
        (UploadedFile(file_id="f", provider_name="openai"), "document", "", 0),
    ],
)
def test_media_is_named_never_quoted(item: object, what: Any, media_type: str, size: int) -> None:
    assert is_media(item)
    assert media_marker(item) == Marker(what=what, media_type=media_type, bytes=size)


@pytest.mark.parametrize("item", ["text", TextContent(content="text"), CachePoint(), None])
def test_text_is_no_media(item: object) -> None:
    assert not is_media(item)
