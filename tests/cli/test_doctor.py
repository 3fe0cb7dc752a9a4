from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from palimpsest.cli.main import app
from palimpsest.core.errors import (
    SessionNotFoundError,
    UnsupportedSessionError,
    WouldOverwriteError,
)
from palimpsest.session.doctor import examine
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.store import Commit
from palimpsest.storage.framing import decode_message
from tests.session.builders import run, story, turn, write


def doctor(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["doctor", *map(str, arguments)])


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.jsonl"
    run(write(path, story()))
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Message 1 cannot be read, so the result in message 2 answers no call."""
    path = tmp_path / "broken.jsonl"
    run(write(path, story()))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"parts": nothing\n'
    path.write_bytes(b"".join(lines))
    return path


def test_a_sound_file_is_one_line(sound: Path) -> None:
    result = doctor(sound)
    size = sound.stat().st_size
    assert result.output == f"✓ {sound}: 12 messages, 6 records, {size:,} bytes\n"
    assert result.exit_code == 0


def test_a_broken_one_is_told_line_by_line_and_not_touched(sound: Path, broken: Path) -> None:
    before = broken.read_bytes()
    result = doctor(broken, sound)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0].startswith(f"✗ {broken}: ") and lines[0].endswith("; it cannot be opened")
    assert any(line.startswith("  line 3: ") for line in lines)
    assert lines[-1].startswith("✓")
    assert broken.read_bytes() == before


def test_every_message_that_can_be_read_is_exported(broken: Path, tmp_path: Path) -> None:
    output = tmp_path / "originals.jsonl"
    result = doctor(broken, "--export", output)
    assert " holds 11 messages." in result.output
    assert result.exit_code == 1
    messages = [decode_message(line) for line in output.read_bytes().splitlines(keepends=True)]
    assert len(messages) == 11
    again = doctor(broken, "--export", output)
    assert isinstance(again.exception, WouldOverwriteError)
    assert doctor(broken, "--export", output, "--force").exit_code == 1
    itself = doctor(broken, "--export", broken, "--force")
    assert isinstance(itself.exception, WouldOverwriteError) and itself.exception.is_input


def test_an_export_is_of_one_named_file(sound: Path, broken: Path, tmp_path: Path) -> None:
    assert doctor(sound, broken, "--export", tmp_path / "x").exit_code == 2
    assert doctor("--export", tmp_path / "x").exit_code == 2
    assert not (tmp_path / "x").exists()


def test_a_file_that_was_left_open_is_tidied(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run(write(path, story(), close=False))
    with path.open("ab") as file:
        file.write(b'{"parts":[')
    told = doctor(path)
    assert "  the last 10 bytes are a commit that was never finished" in told.output
    assert told.exit_code == 0
    assert "  tidied" in doctor(path, "--tidy").output
    assert examine(path).canonical
    assert doctor(path, "--tidy").output.count("\n") == 1


def test_a_session_in_use_is_not_tidied(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run(write(path, story(), close=False))

    async def meanwhile() -> Result:
        store = await JsonlStore.open(path)
        await store.commit(Commit(messages=turn(4)))
        result = doctor(path, "--tidy")
        await store.close()
        return result

    result = run(meanwhile())
    assert result.exit_code == 1
    assert "  not tidied: " in result.output
    assert "in use by" in result.output


def test_an_edited_file_is_told_apart_from_a_broken_one(sound: Path) -> None:
    sound.write_bytes(sound.read_bytes().replace(b"A title", b"A name!"))
    result = doctor(sound)
    assert result.exit_code == 0
    assert "read whole whenever it is opened" in result.output


def test_of_many_findings_the_first_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run(write(path, [Commit(messages=turn(number)) for number in range(8)]))
    header, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + b"".join(b"!" + line for line in lines))
    result = doctor(path)
    assert "  and 13 more" in result.output


def test_without_a_file_all_sessions_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    empty = doctor()
    assert (empty.exit_code, empty.output) == (0, f"There are no sessions in {tmp_path}.\n")
    for project in ("one", "two"):
        folder = tmp_path / "sessions" / project
        folder.mkdir(parents=True)
        run(write(folder / "s.jsonl", story()))
    (tmp_path / "sessions" / "one" / "folder.jsonl").mkdir()
    (tmp_path / "sessions" / "one" / "lost.jsonl").symlink_to(tmp_path / "gone")
    result = doctor()
    assert result.output.count("✓") == 2
    assert "lost.jsonl: it leads nowhere" in result.output
    assert "folder.jsonl: it cannot be read (" in result.output
    assert result.exit_code == 1


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    result = doctor(tmp_path / "none.jsonl")
    assert isinstance(result.exception, SessionNotFoundError)
    assert result.exception.exit_status == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\nb\nc\n",
        '[\n {"kind": "request"},\n {"kind": "response"}\n]\n',
        '[{"role": "user", "content": "Hi"}]',
        '{"type": "user", "message": {}}\n{"type": "assistant", "message": {}}\n',
    ],
    ids=["empty", "prose", "indented", "one line", "another recording"],
)
def test_a_file_that_is_no_session_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    result = doctor(path)
    assert result.output == f"✗ {path}: it is no session file (unsupported_session)\n"
    assert result.exit_code == 1
    for command in (["show"], ["export"], ["sessions", "delete", "--yes"]):
        refused = CliRunner().invoke(app, [*command, str(path)])
        assert isinstance(refused.exception, UnsupportedSessionError)
        assert str(refused.exception) == f"{path}, line 1: it is no session file."
    assert path.read_text() == text


def test_a_session_of_another_version_is_one_sentence(sound: Path) -> None:
    sound.write_bytes(sound.read_bytes().replace(b'"version":2', b'"version":3'))
    told = f"✗ {sound}: version 3 is not supported, only 2 (unsupported_session)\n"
    assert doctor(sound).output == told


def test_a_cut_off_first_line_of_a_session_is_a_broken_header(sound: Path) -> None:
    sound.write_bytes(sound.read_bytes()[:60])
    assert "line 1: the header is broken" in doctor(sound).output
