"""Finding files, telling formats, and refusing what is no recording."""

from __future__ import annotations

import contextlib
import gc
import json
import os
from pathlib import Path

import pytest

import palimpsest.transcripts
from palimpsest.core.errors import NotARecordingError, UnknownFormatError
from palimpsest.transcripts import FORMATS, expand_paths, read_paths, read_recordings
from tests.transcripts.every_sample import sample_texts
from tests.transcripts.samples import claude_session, openai_messages, write


@pytest.mark.parametrize("name", sample_texts())
def test_the_format_is_told_from_the_content(tmp_path: Path, name: str) -> None:
    format, content = sample_texts()[name]
    path = write(tmp_path, content, "misleading.txt")
    found = list(read_recordings(path))
    assert {recording.format for recording in found} == {format}
    again = list(read_recordings(path, format=format))
    assert [r.messages for r in again] == [r.messages for r in found]
    assert format in FORMATS


def test_each_format_has_a_sample_that_is_read() -> None:
    assert {format for format, _ in sample_texts().values()} == set(FORMATS)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "it is empty.", id="empty"),
        pytest.param(b" \n\n", "it is empty.", id="blank"),
        pytest.param(b"\x00" * 9000, "it is empty.", id="only NUL"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", "it is binary.", id="picture"),
        pytest.param(b"\x1f\x8b\x08" + bytes(range(128, 256)), "it is binary.", id="packed"),
        pytest.param("{}".encode("utf-16"), "it is binary.", id="UTF-16"),
        pytest.param(b'[{"role": "user", ', "truncated", id="truncated"),
        pytest.param(
            b"Dear diary, today", "none of the known formats: claude-code, codex", id="prose"
        ),
        pytest.param(b'{"some": "settings"}', "none of the shapes", id="other JSON"),
        pytest.param(b"# Title\n\nSee.", "none of the known formats", id="markdown"),
        pytest.param(
            b'{"format":"palimpsest-session","version":2}', "holds no message", id="no whole header"
        ),
        pytest.param(
            b'{"format":"palimpsest-session","version":9}\n',
            "version 9 is not supported",
            id="own session of another version",
        ),
        pytest.param(b"[1, 2]", "none of the shapes", id="numbers"),
        pytest.param(b"[]", "none of the shapes", id="empty list"),
        pytest.param(b'{"type": "session", "timestamp": ""}', "holds no message", id="header"),
        pytest.param(b"[" * 100_000, "nested too deep", id="deep"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes, reason: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(NotARecordingError) as caught:
        list(read_recordings(path))
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"{path} is not a recording: ")
    assert str(caught.value).count("\n") == 0


def test_missing_files_folders_and_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(NotARecordingError, match="no such file"):
        list(read_recordings(tmp_path / "none.json"))
    with pytest.raises(NotARecordingError, match="it is no file"):
        list(read_recordings(tmp_path))
    with pytest.raises(UnknownFormatError, match="Known formats: claude-code, codex"):
        list(read_recordings(tmp_path, format="word"))


def test_prose_is_no_history_of_aider(tmp_path: Path) -> None:
    path = write(tmp_path, "# Title\n\nSee below.\n\n> Quoted.\n")
    with pytest.raises(NotARecordingError, match="no line of it is aider's"):
        list(read_recordings(path, format="aider"))


def test_a_format_that_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(openai_messages()))
    for format in ("claude-code", "pi", "swe-agent"):
        with pytest.raises(NotARecordingError, match=f"no message of the format {format}"):
            list(read_recordings(path, format=format))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs files it may not read")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, claude_session())
    path.chmod(0)
    with pytest.raises(NotARecordingError, match="cannot be read"):
        list(read_recordings(path))


def test_a_damaged_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    path = write(tmp_path, '{"type": "us\n' + claude_session())
    [recording] = read_recordings(path)
    assert recording.format == "claude-code"
    assert [problem.line for problem in recording.problems] == [1]


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", "notes.txt", "deep/c.traj", "deep/d.json", "x[1].json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        write(path.parent, claude_session(), path.name)

    def names(*arguments: str) -> list[str]:
        found = expand_paths(tmp_path / argument for argument in arguments)
        return [str(item.path.relative_to(tmp_path).as_posix()) for item in found]

    everything = ["a.json", "b.jsonl", "x[1].json", "deep/c.traj", "deep/d.json"]
    assert names(".") == everything
    assert names("*") == ["a.json", "b.jsonl", "deep/c.traj", "deep/d.json", "x[1].json"]
    assert names("**/*.traj") == ["deep/c.traj"]
    assert names("notes.txt", "x[1].json", "deep", "deep/c.traj") == [
        "notes.txt",
        "x[1].json",
        "deep/c.traj",
        "deep/d.json",
    ]
    assert [item.named for item in expand_paths([str(tmp_path / "a.json"), tmp_path])][:2] == [
        True,
        False,
    ]
    with pytest.raises(NotARecordingError, match="nothing matches"):
        names("*.none")


def test_found_files_that_are_no_recordings_are_reported_and_passed_over(tmp_path: Path) -> None:
    write(tmp_path, claude_session(), "b.jsonl")
    bad = write(tmp_path, "{}", "a.json")
    skipped: list[NotARecordingError] = []
    found = list(read_paths([tmp_path], on_skipped=skipped.append))
    assert [recording.path.name for recording in found] == ["b.jsonl"]
    assert [error.path for error in skipped] == [str(bad)]
    with pytest.raises(NotARecordingError):
        list(read_paths([bad], on_skipped=skipped.append))


def test_public_names() -> None:
    names = palimpsest.transcripts.__all__
    assert all(getattr(palimpsest.transcripts, name) is not None for name in names)
    assert set(names) <= set(dir(palimpsest.transcripts))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = palimpsest.transcripts.nothing


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("content", [claude_session(), "no recording"])
def test_the_collector_is_left_as_it_was(tmp_path: Path, content: str, enabled: bool) -> None:
    before = gc.isenabled()
    path = write(tmp_path, content)
    try:
        (gc.enable if enabled else gc.disable)()
        with contextlib.suppress(NotARecordingError):
            list(read_recordings(path))
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
