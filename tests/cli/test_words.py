from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.cli.chat.completion import offers
from palimpsest.cli.chat.markdown import split_prose
from palimpsest.cli.chat.paste import Pastes, clean
from palimpsest.cli.mentions import (
    attachments,
    mention,
    mentioned_paths,
    mentioned_skills,
    pasted_media_path,
)
from palimpsest.cli.words import call_words, seconds, short_tokens
from palimpsest.core.errors import InvalidSettingError


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (84_100, "84.1k"),
        (200_000, "200k"),
        (999_949, "999.9k"),
        (999_950, "1M"),
        (1_250_000, "1.2M"),
    ],
)
def test_short_tokens(tokens: int, words: str) -> None:
    assert short_tokens(tokens) == words


def test_seconds() -> None:
    assert [seconds(ms) for ms in (-5, 900, 6_100, 125_000)] == ["0 s", "0 s", "6 s", "2 min 5 s"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "tool"),
        ("{}", "tool"),
        ('{"path": "a.py", "offset": 1}', "tool a.py offset=1"),
        ('{"content": "' + "x" * 90 + '", "path": "a.py"}', "tool a.py"),
        ('{"command": "ls\\n-l"}', "tool ls -l"),
        ('{"command": ["ls", "-l"]}', 'tool ["ls", "-l"]'),
        ("[1]", "tool [1]"),
        ("{broken", "tool {broken"),
        ('{"path": "\\u001b[31m"}', "tool \ufffd[31m"),
    ],
)
def test_call_words(arguments: str, words: str) -> None:
    assert call_words("tool", arguments) == words


def test_a_long_call_is_cut() -> None:
    assert len(call_words("tool", '{"command": "' + "x" * 9_000 + '"}')) == 400


def test_pastes_are_folded_and_whole_again() -> None:
    pastes = Pastes()
    assert pastes.fold("short\r\npaste") == "short\npaste"
    text = "line\n" * 20
    marker = pastes.fold(text)
    assert marker == "[pasted #1: 21 lines, 100 characters]"
    assert pastes.unfold(f"a {marker} b") == f"a {text} b"
    assert pastes.unfold("[pasted #7: x]") == "[pasted #7: x]"
    assert pastes.unfold("[pasted #0: x]") == "[pasted #0: x]"
    assert clean("a\udcffb") == "a\ufffdb"


def test_mentions(tmp_path: Path) -> None:
    (tmp_path / "my pic.png").write_bytes(b"png")
    (tmp_path / "a.py").write_text("x")
    text = f"see {mention('my pic.png')} and @a.py, ann@example.org @gone.png"
    assert list(mentioned_paths(text)) == ["my pic.png", "a.py,", "gone.png"]
    [found] = attachments(text, tmp_path)
    assert (found.data, found.media_type) == (b"png", "image/png")
    known = {"dates", "times"}
    assert mentioned_skills("$dates $HOME $other $dates", known) == ("dates",)
    with (tmp_path / "big.png").open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(InvalidSettingError):
        attachments("@big.png", tmp_path)


@pytest.mark.parametrize("quoting", ["{}", "'{}'", '"{}"', "file://{}"])
def test_a_dropped_image(tmp_path: Path, quoting: str) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"x")
    assert pasted_media_path(quoting.format(path), tmp_path) == path
    assert pasted_media_path(quoting.format(tmp_path / "b.png"), tmp_path) is None


def test_what_is_no_dropped_image(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"x")
    assert pasted_media_path("a\\ b.png", tmp_path) == Path("a b.png")
    for text in ("", "two\nlines.png", "words", "x" * 5_000):
        assert pasted_media_path(text, tmp_path) is None


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", ""),
        ("one", ""),
        ("one\n\n", ""),
        ("one\n\ntwo", "one\n\n"),
        ("- a\n- b\n\n- c", ""),
        ("```\na\n\nb\n", ""),
        ("```\na\n```\nb", "```\na\n```\n"),
        ("a\n\n<div>\n\nb", "a\n\n<div>\n\n"),
    ],
)
def test_prose_is_parted_between_blocks(text: str, complete: str) -> None:
    assert split_prose(text) == (complete, text.removeprefix(complete))


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("/co", ["/compact ", "/context"]),
        ("/xyz", []),
        ("/permissions re", ["read-only"]),
        ("/nothing re", []),
        ("/permissions read-only now", []),
        ("use $da", ["$dates "]),
        ("see @", ["@a.py ", '@"my notes.md" ', "@src/"]),
        ("see @src/", ["@src/b.py "]),
        ("see @.h", ["@.hidden "]),
        ('see @"my', ['@"my notes.md" ']),
        ("see @none/x", []),
        ("ann@exa", []),
        ("plain", []),
    ],
)
def test_what_is_offered(tmp_path: Path, before: str, texts: list[str]) -> None:
    for name in ("a.py", "my notes.md", ".hidden", "src/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = offers(
        before,
        cwd=tmp_path,
        skills=("dates",),
        arguments=lambda name: ("read-only",) if name == "permissions" else (),
    )
    assert [offer.text for offer in found] == texts
