"""What opening accepts, refuses, and never touches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.core.errors import (
    BrokenHeaderError,
    BrokenMessageError,
    BrokenRecordError,
    OriginalsChangedError,
    OrphanResultError,
    SaveFailedError,
    SessionFileError,
    SessionLockedError,
    SessionNotFoundError,
    SessionReadOnlyError,
    UnansweredCallError,
    UnsupportedSessionError,
)
from palimpsest.session.doctor import examine, export_messages, tidy
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.listing import list_sessions
from palimpsest.session.store import Commit
from palimpsest.storage.framing import seal
from palimpsest.storage.header import HeaderChanges
from palimpsest.testing.faults import FaultyFiles
from tests.session.builders import (
    HEADER,
    checkpoint,
    content,
    kill,
    read,
    restore,
    run,
    story,
    turn,
    uuid,
    write,
)

MESSAGES = turn(1) + turn(2) + turn(3)
Edit = Callable[[list[Any]], None]


def edited(path: Path, edit: Edit, *, closed: bool = True) -> bytes:
    """Write the story, change its lines as JSON, and give the new bytes."""
    run(write(path, story(), close=closed))
    values = [json.loads(line) for line in path.read_bytes().splitlines()]
    edit(values)
    lines = [
        v if isinstance(v, str) else json.dumps(v, separators=(",", ":"), ensure_ascii=False)
        for v in values
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return path.read_bytes()


def put(line: int, *keys: str | int, value: Any) -> Edit:
    def edit(lines: list[Any]) -> None:
        place = lines[line]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return edit


def drop(line: int) -> Edit:
    return lambda lines: lines.pop(line)


def text(line: int, value: str) -> Edit:
    return lambda lines: lines.__setitem__(line, value)


def two_on_a_line(lines: list[Any]) -> None:
    lines[4] = ",".join(json.dumps(line) for line in lines[4:6])


BROKEN: list[tuple[str, Edit, type[SessionFileError], int, str]] = [
    ("format", put(0, "format", value="zip"), UnsupportedSessionError, 1, "'zip'"),
    ("version", put(0, "version", value=3), UnsupportedSessionError, 1, "version 3"),
    ("version true", put(0, "version", value=True), UnsupportedSessionError, 1, "True"),
    ("no JSON", text(0, "{nope"), BrokenHeaderError, 1, "is not JSON"),
    ("too deep", text(0, "[" * 100_000), BrokenHeaderError, 1, "is not JSON"),
    ("no object", text(0, "[]"), BrokenHeaderError, 1, "no JSON object"),
    ("id", put(0, "id", value="x"), BrokenHeaderError, 1, "'id'"),
    ("created", put(0, "created", value=-1), BrokenHeaderError, 1, "'created'"),
    ("title", put(0, "title", value=[]), BrokenHeaderError, 1, "'title'"),
    ("cwd", lambda lines: lines[0].pop("cwd"), BrokenHeaderError, 1, "'cwd'"),
    ("timings", put(0, "timings", value={}), BrokenHeaderError, 1, "'timings'"),
    ("a timing", put(0, "timings", value=[1]), BrokenHeaderError, 1, "'timings'"),
    ("chunks", put(0, "chunks", value={}), BrokenHeaderError, 1, "'chunks'"),
    ("a chunk", put(0, "chunks", value=[[1]]), BrokenHeaderError, 1, "'chunks'"),
    ("checkpoints", put(0, "checkpoints", value=None), BrokenHeaderError, 1, "'checkpoints'"),
    ("sequence", put(0, "trims", 0, "sequence", value=0), BrokenHeaderError, 1, "'sequence'"),
    ("kind", put(0, "trims", 0, "kind", value="clearing"), BrokenRecordError, 1, "kind"),
    ("summary", put(0, "checkpoints", 0, "summary", value=" "), BrokenRecordError, 1, "blank"),
    (
        "cut",
        put(0, "checkpoints", 0, "first_kept_message_index", value=5),
        BrokenRecordError,
        1,
        "does not start a turn",
    ),
    ("active", put(0, "restores", 0, "active", value=uuid(99)), BrokenRecordError, 1, "active"),
    ("message", text(4, '{"parts":3}'), BrokenMessageError, 5, "is no message"),
    ("not JSON", text(4, '{"parts'), BrokenMessageError, 5, "is no message"),
    ("two on a line", two_on_a_line, BrokenMessageError, 5, "it holds 2"),
    ("blank line", text(4, ""), BrokenMessageError, 5, "is no message"),
    ("lost call", drop(2), BrokenMessageError, 1, "1 of the 12 messages"),
    (
        "orphan",
        lambda lines: lines[3]["parts"].append({**lines[3]["parts"][0], "tool_call_id": "new"}),
        OrphanResultError,
        4,
        "answers no call",
    ),
    (
        "unanswered",
        lambda lines: lines[4]["parts"].append({**lines[2]["parts"][0], "tool_call_id": "new"}),
        UnansweredCallError,
        5,
        "no result",
    ),
]


@pytest.mark.parametrize(
    ("edit", "error", "line", "reason"), [row[1:] for row in BROKEN], ids=[r[0] for r in BROKEN]
)
@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read"])
def test_a_broken_file_is_refused_and_not_touched(
    tmp_path: Path,
    edit: Edit,
    error: type[SessionFileError],
    line: int,
    reason: str,
    read_only: bool,
) -> None:
    path = tmp_path / "s.jsonl"
    before = edited(path, edit)
    with pytest.raises(error) as caught:
        run(JsonlStore.open(path, read_only=read_only))
    assert type(caught.value) is error
    assert caught.value.line == line
    assert reason in str(caught.value)
    assert path.read_bytes() == before
    assert {item.name for item in tmp_path.iterdir()} <= {"s.jsonl", "s.jsonl.lock"}
    seen = examine(path)
    assert not seen.is_healthy
    assert (seen.findings[0].code, seen.findings[0].line) == (error.code, line)
    assert 11 <= len(list(export_messages(path))) <= 12


COMMITS_BROKEN: list[tuple[str, Edit, type[SessionFileError], int]] = [
    ("commit line", text(7, '{"kind":"commit",'), BrokenMessageError, 8),
    ("its records", put(9, "records", 0, "timestamp", value=-1), BrokenRecordError, 10),
    ("its header", put(7, "header", "title", value=3), BrokenHeaderError, 8),
    ("its counts", put(7, "messages", value="x"), BrokenMessageError, 8),
    ("records no list", put(9, "records", value=3), BrokenMessageError, 10),
    ("a message lost", drop(6), BrokenMessageError, 7),
]


@pytest.mark.parametrize(
    ("edit", "error", "line"),
    [row[1:] for row in COMMITS_BROKEN],
    ids=[r[0] for r in COMMITS_BROKEN],
)
def test_so_is_one_with_commit_lines(
    tmp_path: Path, edit: Edit, error: type[SessionFileError], line: int
) -> None:
    path = tmp_path / "s.jsonl"
    before = edited(path, edit, closed=False)
    with pytest.raises(error) as caught:
        run(JsonlStore.open(path))
    assert caught.value.line == line
    assert path.read_bytes() == before
    assert list(export_messages(path))


@pytest.mark.parametrize("data", [b"", b"\n", b"hello", b"\xff\xfe\n", b"{}\n", b"null\n"])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    with pytest.raises((BrokenHeaderError, UnsupportedSessionError)):
        run(JsonlStore.open(path))
    assert path.read_bytes() == data
    assert examine(path).header is None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX kinds of files")
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.jsonl"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to("/dev/zero")
    for read_only in (False, True):
        with pytest.raises(OSError, match=r"Not a regular file: '.*s\.jsonl'"):
            run(JsonlStore.open(path, read_only=read_only))
    with pytest.raises(OSError, match="Not a regular file"):
        examine(path)
    (listed,) = list_sessions(tmp_path)
    assert listed.kind == "broken"
    assert listed.reason.endswith("s.jsonl: Not a regular file.")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(SessionNotFoundError, match=r"no session .*s\.jsonl"):
            run(JsonlStore.open(tmp_path / "s.jsonl", read_only=read_only))
    with pytest.raises(SessionNotFoundError):
        examine(tmp_path / "s.jsonl")
    assert list(tmp_path.iterdir()) == []


# --- layouts -------------------------------------------------------------------------------------


def test_a_clean_close_leaves_two_parts(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    open_file = tmp_path / "open.jsonl"
    whole = run(write(path, story()))
    run(write(open_file, story(), close=False))
    header, *lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 12 and all(line.startswith(b'{"parts":') for line in lines)
    value = json.loads(header)
    assert [record["sequence"] for record in value["checkpoints"]] == [1, 3]
    assert [len(value[name]) for name in ("clearings", "trims", "restores")] == [1, 1, 2]
    assert content(run(read(path))) == content(run(read(open_file))) == content(whole)
    seen, unclosed = examine(path), examine(open_file)
    assert (seen.sealed, seen.canonical, seen.findings) == (True, True, ())
    assert (unclosed.sealed, unclosed.canonical, unclosed.findings) == (True, False, ())
    assert (seen.message_count, seen.record_count) == (12, 6)


def test_a_closed_file_that_nothing_was_added_to_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, story()))
    before = path.stat()

    async def main() -> None:
        await (await JsonlStore.open(path)).close()

    run(main())
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_large_files_keep_their_commit_lines_until_they_are_tidied(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    sizes = [200_000] * 44
    large = [Commit(messages=turn(number, size)) for number, size in enumerate(sizes)]

    async def main() -> None:
        before = await write(path, [*large, Commit(records=(checkpoint(9, 172, 176),))])
        assert path.stat().st_size >= 8 << 20
        assert path.read_bytes().count(b'\n{"kind":"commit",') == 45
        tidy(path)
        seen = examine(path)
        assert seen.canonical and seen.is_healthy
        assert content(await read(path)) == content(before)
        store = await JsonlStore.open(path)
        assert (await store.load_tail()).messages == before.messages[172:]
        assert await store.read_range(80, 84) == list(turn(20, 200_000))
        await store.close()

    run(main())


def test_a_large_file_is_closed_canonical_once_it_has_many_commit_lines(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.jsonl"
        store = JsonlStore.create(path, HEADER, files=FaultyFiles())
        await store.commit(Commit(messages=turn(1, 9 << 20)))
        for number in range(2_000):
            await store.commit(Commit(header=HeaderChanges(updated=number)))
        await store.close()
        assert examine(path).canonical

    run(main())


def test_an_original_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Damage in a file whose chain is whole, before the live tail: found when it is asked for."""
    path = tmp_path / "s.jsonl"
    story_so_far = story()[:10]
    run(write(path, story_so_far, close=False))
    path.write_bytes(path.read_bytes().replace(b'"prompt 1"', b'"prompt 1\0'))
    store = run(JsonlStore.open(path, read_only=True))
    assert run(store.load_tail()).messages == turn(3)
    with pytest.raises(BrokenMessageError, match="message 0 cannot be read"):
        run(store.load())
    run(store.close())


def test_records_that_are_sealed_but_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, story()))
    first, _, rest = path.read_bytes().partition(b"\n")
    value = json.loads(first)
    value["restores"][0]["active"] = uuid(99)
    del value["hash"]
    path.write_bytes(seal(value, "")[0] + rest)
    with pytest.raises(BrokenRecordError, match="names no checkpoint"):
        run(JsonlStore.open(path))


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, story()))
    (tmp_path / "s.jsonl.lock").unlink()
    (tmp_path / "s.jsonl.lock").mkdir()
    with pytest.raises(SaveFailedError):
        run(JsonlStore.open(path))


def test_a_header_may_be_edited_by_hand(tmp_path: Path) -> None:
    for closed in (True, False):
        path = tmp_path / f"{closed}.jsonl"
        edited(path, put(0, "cwd", value="/elsewhere/and/longer"), closed=closed)
        seen = examine(path)
        assert seen.is_healthy and not seen.sealed
        assert [finding.severity for finding in seen.findings] == ["notice"]
        loaded = run(read(path))
        assert loaded.header.cwd == "/elsewhere/and/longer"
        assert loaded.messages == MESSAGES and len(loaded.records) == 6

        async def main(path: Path) -> None:
            store = await JsonlStore.open(path)
            await store.commit(Commit(header=HeaderChanges(title="sealed again")))
            await store.close()
            assert examine(path).sealed

        run(main(path))


def test_unknown_keys_of_records_and_order_by_time_of_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def edit(lines: list[Any]) -> None:
        for name in ("clearings", "trims", "checkpoints", "restores"):
            for item in lines[0][name]:
                item["timestamp"] = 100 + item.pop("sequence")
                del item["kind"]
                item["later"] = name

    edited(path, edit)
    loaded = run(read(path))
    assert [record.id for record in loaded.records] == [uuid(n) for n in range(20, 26)]

    async def main() -> None:
        await (await JsonlStore.open(path)).close()

    run(main())
    assert json.loads(path.read_bytes().splitlines()[0])["trims"][0]["later"] == "trims"


def test_a_restore_checks_what_its_checkpoint_covers(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    edited(path, put(1, "parts", 0, "content", value="prompt X"))
    notices = examine(path).findings
    assert [item.code for item in notices] == [OriginalsChangedError.code] * 3
    assert all(item.severity == "notice" for item in notices[1:])

    async def main() -> None:
        store = await JsonlStore.open(path)
        before = await store.load()
        with pytest.raises(OriginalsChangedError, match="before checkpoint"):
            await store.commit(Commit(records=(restore(40, uuid(21)),)))
        await store.commit(Commit(records=(restore(40, None),)))
        assert len((await store.load()).records) == len(before.records) + 1
        await store.close()

    run(main())


def test_changed_messages_are_not_sealed_anew(tmp_path: Path) -> None:
    """A flipped letter in a file whose chain is whole is found by the next rewriting."""
    path = tmp_path / "s.jsonl"
    run(write(path, story(), close=False))
    damaged = path.read_bytes().replace(b"prompt 1", b"prompt X")
    path.write_bytes(damaged)
    with pytest.raises(SaveFailedError, match="not those that were committed"):
        tidy(path)

    async def main() -> None:
        await (await JsonlStore.open(path)).close()

    run(main())
    assert path.read_bytes() == damaged
    assert any("changed" in finding.text for finding in examine(path).findings)


# --- two at once ---------------------------------------------------------------------------------


def test_a_second_opener_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    async def main() -> None:
        first = JsonlStore.create(path, HEADER)
        await first.commit(story()[0])
        with pytest.raises(SessionLockedError) as caught:
            await JsonlStore.open(path)
        assert caught.value.pid == os.getpid()
        assert f"process {os.getpid()} on " in str(caught.value)
        second = await JsonlStore.open(path, read_only=True)
        seen = await second.load()
        assert seen.read_only and seen.message_count == 1
        await first.commit(story()[1])
        assert (await second.load()).message_count == 1
        with pytest.raises(SessionReadOnlyError, match="read-only"):
            await second.commit(story()[1])
        await second.close()
        await first.close()
        third = await JsonlStore.open(path)
        await third.close()

    run(main())


def test_another_process_is_refused_until_this_one_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, story()))
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "from palimpsest.session.jsonl import JsonlStore\n"
        "async def main():\n"
        "    store = await JsonlStore.open(Path(sys.argv[1]))\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(SessionLockedError) as caught:
            run(JsonlStore.open(path))
        assert caught.value.pid == other.pid
        assert run(read(path)).message_count == 12
        other.kill()
    store = run(JsonlStore.open(path))
    run(store.close())


def test_a_lock_without_a_readable_name(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, story()[:1]))
    store = run(JsonlStore.open(path))
    (tmp_path / "s.jsonl.lock").write_bytes(b"\0{}")
    with pytest.raises(SessionLockedError, match="another process") as caught:
        run(JsonlStore.open(path))
    assert caught.value.pid is None
    (tmp_path / "s.jsonl.lock").write_bytes(b"\0???")
    with pytest.raises(SessionLockedError, match="another process"):
        tidy(path)
    run(store.close())


def test_read_only_ignores_a_torn_tail_and_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    whole = run(write(path, story(), close=False))
    torn = path.read_bytes() + b'{"parts":[{"con'
    path.write_bytes(torn)
    (tmp_path / "s.jsonl.lock").unlink()
    loaded = run(read(path))
    assert content(loaded) == content(whole)
    assert loaded.recovered is not None
    assert (loaded.recovered.bytes, loaded.recovered.moved_to) == (15, "")
    assert path.read_bytes() == torn
    assert [item.name for item in tmp_path.iterdir()] == ["s.jsonl"]
    assert examine(path).torn_bytes == 15


def test_a_torn_tail_is_moved_aside_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    whole = run(write(path, story(), close=False))
    good = path.read_bytes()

    async def main() -> None:
        for tail in (b'{"parts":[{"con', b"two\nlines\n"):
            path.write_bytes(good + tail)
            store = await JsonlStore.open(path)
            assert path.read_bytes() == good
            loaded = await store.load()
            assert content(loaded) == content(whole)
            assert loaded.recovered is not None and loaded.recovered.bytes == len(tail)
            assert Path(loaded.recovered.moved_to).read_bytes() == tail
            assert Path(loaded.recovered.moved_to).name.startswith("s.jsonl.torn-")
            kill(store)

    run(main())
    assert len(list(tmp_path.glob("*.torn-*"))) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_files_and_folders_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "s.jsonl"
    run(write(path, story(), close=False))
    path.write_bytes(path.read_bytes() + b"torn")

    async def main() -> None:
        await (await JsonlStore.open(path)).close()

    run(main())
    modes = {item.name: item.stat().st_mode & 0o777 for item in tmp_path.rglob("*")}
    assert {modes.pop("a"), modes.pop("b")} == {0o700}
    assert len(modes) == 3 and set(modes.values()) == {0o600}


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, story()))
    (tmp_path / "s.jsonl.lock").unlink()
    tmp_path.chmod(0o500)
    with pytest.raises(SaveFailedError, match="Permission denied"):
        run(JsonlStore.open(path))
    assert run(read(path)).message_count == 12
    tmp_path.chmod(0o700)
