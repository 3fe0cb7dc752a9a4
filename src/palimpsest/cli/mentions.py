"""What a prompt mentions: ``@file`` and ``$skill``."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from palimpsest.core.errors import InvalidSettingError

if TYPE_CHECKING:
    from pydantic_ai.messages import BinaryContent

LARGEST_ATTACHMENT_BYTES = 20_000_000

_FILE = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_SKILL = re.compile(r"(?<!\S)\$([a-z0-9][a-z0-9-]*)(?!\S)")


def mentioned_paths(text: str) -> Iterator[str]:
    """Yield the paths behind every ``@``; a path with spaces stands in quotes."""
    for quoted, bare in _FILE.findall(text):
        yield quoted or bare


def mentioned_skills(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Give the known skills that stand as ``$name`` in a prompt, each once, in order."""
    return tuple(dict.fromkeys(name for name in _SKILL.findall(text) if name in known))


def mention(path: Path | str) -> str:
    """Give how a path is mentioned."""
    text = str(path)
    return f'@"{text}"' if re.search(r"\s", text) else f"@{text}"


def media_type(path: Path) -> str | None:
    """Give the media type of an image or a PDF; None for every other file."""
    kind = mimetypes.guess_type(path.name)[0] or ""
    return kind if kind.startswith("image/") or kind == "application/pdf" else None


def attachments(text: str, cwd: Path) -> Sequence[BinaryContent]:
    """Read the images and PDFs that a prompt mentions; other files stay words for the agent.

    Raises:
        InvalidSettingError: a file is too large to attach.
        OSError: a file cannot be read.
    """
    from pydantic_ai.messages import BinaryContent

    found: list[BinaryContent] = []
    for mentioned in dict.fromkeys(mentioned_paths(text)):
        path = cwd / Path(mentioned).expanduser()
        kind = media_type(path)
        if kind is None or not path.is_file():
            continue
        if path.stat().st_size > LARGEST_ATTACHMENT_BYTES:
            expected = f"a file of at most {LARGEST_ATTACHMENT_BYTES:,} bytes"
            raise InvalidSettingError("attachment", str(path), expected)
        found.append(BinaryContent(data=path.read_bytes(), media_type=kind))
    return found


def pasted_media_path(text: str, cwd: Path) -> Path | None:
    """Give the image or PDF whose path was pasted or dropped, or None.

    Terminals quote a dropped path, escape its spaces, or write it as a ``file:`` address.
    """
    candidate = text.strip()
    if not candidate or "\n" in candidate or len(candidate) > 4_096:
        return None
    if candidate.startswith("file://"):
        candidate = unquote(urlparse(candidate).path)
    elif candidate[0] in "'\"" and candidate[-1] == candidate[0]:
        candidate = candidate[1:-1]
    else:
        candidate = candidate.replace("\\ ", " ")
    path = Path(candidate)
    if media_type(path) is None:
        return None
    return path if (cwd / path).is_file() else None
