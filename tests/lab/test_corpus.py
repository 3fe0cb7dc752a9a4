"""A corpus into a folder of parts: what stands in it, and what is done again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from filelock import FileLock
from pyarrow import parquet

from palimpsest.cli.replay_text import Summary
from palimpsest.core.errors import NotARecordingError, UnwritableOutputError
from palimpsest.lab.corpus import replay_corpus
from palimpsest.lab.parts import SCHEMA, file_rows, read_head, read_sessions
from palimpsest.lab.places import Here, Place, Processes
from palimpsest.lab.replay import POLICIES, ReplaySettings, replay
from palimpsest.lab.results import SessionFigures, SessionReplay
from palimpsest.lab.stream import StreamSettings, replay_files
from palimpsest.transcripts import files_of
from palimpsest.transcripts.read import FoundPath, expand_paths, read_recordings
from tests.lab.test_stream import found_in, ignore, write_session
from tests.transcripts.agent_samples import opencode_records, storage_folder

corpus = partial(replay_corpus, on_skipped=ignore, on_file=ignore, part_files=3)
SETTINGS = StreamSettings()


def rows_in(folder: Path) -> list[dict[str, Any]]:
    tables = [parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    rows: list[dict[str, Any]] = [row for table in tables for row in table.to_pylist()]
    return sorted(rows, key=lambda row: (row["path"], row["session_index"], row["policy"]))


def paths_of(rows: list[dict[str, Any]]) -> list[str]:
    return sorted({row["path"] for row in rows})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "figures"


def test_a_row_for_each_session_and_policy_with_units(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 7)
    sessions = list(corpus(folder, found, SETTINGS))
    assert [session.path for session in sessions] == [str(one.path) for one in found]
    parts = sorted(folder.glob("*.parquet"))
    assert [len(read_head(part).files) for part in parts] == [3, 3, 1]
    rows = rows_in(folder)
    assert len(rows) == 7 * len(POLICIES)
    assert rows[0].keys() == set(SCHEMA.names)
    for column in parquet.read_schema(parts[0]):
        assert column.metadata == {b"unit": SCHEMA.field(column.name).metadata[b"unit"]}


@pytest.mark.parametrize("name", ["inventory.json"])
def test_what_is_read_again_is_what_was_found(folder: Path, name: str) -> None:
    settings = StreamSettings(replay=ReplaySettings(window=32_000, model="claude-sonnet-4-5"))
    with as_file(files("palimpsest.lab") / "samples" / name) as sample:
        found = FoundPath(sample, named=True)
        [recording] = read_recordings(sample)
        expected = replay(recording, settings.replay).figures()
        assert list(corpus(folder, [found], settings)) == [expected]
        assert list(corpus(folder, [found], settings)) == [expected]
    assert any(result.compactions for result in expected.policies)


def test_every_recording_of_the_collection_reads_the_same_again(shared: Path, folder: Path) -> None:
    found = list(expand_paths([shared / "transcripts"]))
    first = list(replay_corpus(folder, found, SETTINGS, on_skipped=ignore, on_file=ignore))
    assert any(session.recorded_compactions for session in first)
    assert any(session.set_aside for session in first)
    again = replay_corpus(folder, found, SETTINGS, on_skipped=ignore, on_file=ignore)
    assert sorted(again, key=repr) == sorted(first, key=repr)


def test_what_is_done_is_not_replayed(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 7)
    first = list(corpus(folder, found, SETTINGS))
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}
    for one in found:  # would be noticed if it were read
        times = one.path.stat()
        one.path.write_bytes(b"?" * times.st_size)
        os.utime(one.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    done = list[FoundPath]()
    assert list(corpus(folder, found, SETTINGS, on_file=done.append)) == first
    assert sorted(done) == found
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.parquet")} == before


def test_changed_gone_and_new_files(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 9)
    list(corpus(folder, found, SETTINGS))
    write_session(found[1].path, "a longer text")  # one of a part
    found[2].path.unlink()
    for one in found[3:6]:  # all of a part
        one.path.unlink()
    left = [*found[:2], *found[6:], FoundPath(write_session(tmp_path / "new.json"), named=False)]
    list(corpus(folder, left, SETTINGS))
    list(corpus(tmp_path / "undisturbed", left, SETTINGS))
    assert rows_in(folder) == rows_in(tmp_path / "undisturbed")
    assert paths_of(rows_in(folder)) == sorted(str(one.path) for one in left)


def test_results_outlast_a_corpus_that_is_away(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "here").mkdir()
    list(corpus(folder, found_in(tmp_path / "here", 4), SETTINGS))
    before = rows_in(folder)
    (tmp_path / "here").rename(tmp_path / "there")
    for asked in ([], [*expand_paths([str(tmp_path / "there")])]):
        with pytest.raises(UnwritableOutputError, match="none of the 4 files it is about is there"):
            list(corpus(folder, asked, SETTINGS))
    assert rows_in(folder) == before


def test_a_copy_of_a_part_is_refused(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 4)
    list(corpus(folder, found, SETTINGS))
    copy = folder / "part-000001 (1).parquet"
    copy.write_bytes((folder / "part-000001.parquet").read_bytes())
    with pytest.raises(UnwritableOutputError, match="is no part of a replay; move it away"):
        list(corpus(folder, found, SETTINGS))
    copy.unlink()
    assert len(paths_of(rows_in(folder))) == 4


def test_a_folder_of_events_is_stamped_by_what_is_in_it(tmp_path: Path, folder: Path) -> None:
    events = tmp_path / "corpus" / "events"
    events.mkdir(parents=True)
    for number, source in enumerate(("user", "agent")):
        event = {
            "id": number,
            "source": source,
            "action": "message",
            "timestamp": "2026-01-01T00:00:00",
            "args": {"content": "hello"},
        }
        (events / f"{number}.json").write_text(json.dumps(event))
    found = list(expand_paths([tmp_path / "corpus"]))
    assert [one.path for one in found] == [events]
    list(corpus(folder, found, SETTINGS))
    [part] = folder.glob("*.parquet")
    size = sum(path.stat().st_size for path in events.iterdir())
    assert [file.size_bytes for file in read_head(part).files] == [size]


def test_a_session_of_a_storage_is_stamped_by_all_that_it_is_read_from(
    tmp_path: Path, folder: Path
) -> None:
    storage = storage_folder(tmp_path, opencode_records())
    found = list(expand_paths([storage]))
    everything = [path for path in storage.rglob("*.json") if path.is_file()]
    assert sorted(files_of(found[0].path)) == sorted(everything)
    list(corpus(folder, found, SETTINGS))
    [part] = folder.glob("*.parquet")
    size = sum(path.stat().st_size for path in everything)
    assert [file.size_bytes for file in read_head(part).files] == [size]

    newest = max(storage.glob("message/*/*.json"))
    os.utime(newest, ns=(0, everything[0].stat().st_mtime_ns + 10**9))
    list(corpus(folder, found, SETTINGS))
    assert [path.name for path in folder.glob("*.parquet")] == ["part-000001.parquet"]
    [again] = read_head(next(folder.glob("*.parquet"))).files
    assert again.modified_ns == newest.stat().st_mtime_ns


def test_what_is_no_recording_is_told_every_time(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 4)
    found[1].path.write_text('{"none": 1}')
    found[2].path.unlink()
    for _ in range(2):
        skipped = list[str]()
        list(corpus(folder, found, SETTINGS, on_skipped=lambda e, s=skipped: s.append(e.path)))
        assert skipped == [str(found[1].path), str(found[2].path)]
    named = [found[0], found[1]._replace(named=True), found[3]]
    with pytest.raises(NotARecordingError):
        list(corpus(tmp_path / "other", named, SETTINGS))
    assert paths_of(rows_in(tmp_path / "other")) == [str(found[0].path)]  # it was done


KILLED = """
import os, signal, sys
from pathlib import Path
from palimpsest.lab.corpus import replay_corpus
from palimpsest.lab.places import Here, Processes
from palimpsest.lab.stream import StreamSettings
from palimpsest.transcripts.read import expand_paths

def kill_after_the_second_part(_):
    if len(list(folder.glob("part-*.parquet"))) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    folder, files = Path(sys.argv[1]), list(expand_paths([sys.argv[2]]))
    place = Here() if sys.argv[3] == "here" else Processes(jobs=2)
    for _ in replay_corpus(folder, files, StreamSettings(place=place), part_files=3,
                           on_skipped=print, on_file=kill_after_the_second_part):
        pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("place", [Here(), Processes(jobs=2)], ids=lambda place: place.kind)
def test_a_killed_replay_goes_on_and_ends_the_same(
    tmp_path: Path, folder: Path, place: Place
) -> None:
    recordings = tmp_path / "corpus"
    recordings.mkdir()
    found = found_in(recordings, 11)
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    killed = subprocess.run(
        [sys.executable, str(script), str(folder), str(recordings), place.kind],
        stdout=subprocess.PIPE,  # open as long as one of its processes lives
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(paths_of(rows_in(folder))) == 6
    (folder / ".palimpsest-1.partial").write_bytes(b"half a part")
    settings = StreamSettings(place=place)
    assert len(list(corpus(folder, found, settings))) == 11
    list(corpus(tmp_path / "undisturbed", found, SETTINGS))
    assert rows_in(folder) == rows_in(tmp_path / "undisturbed")
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".parquet") in (
        [".lock"],
        [],
    )


def test_what_was_done_before_a_stop_is_kept(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 5)
    sessions = corpus(folder, found, SETTINGS)
    for _ in range(5):
        next(sessions)
    sessions.close()  # type: ignore[attr-defined]
    assert len(paths_of(rows_in(folder))) == 5


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, folder: Path) -> None:
    found = found_in(tmp_path, 4)
    list(corpus(folder, found, SETTINGS))
    before = rows_in(folder)
    with pytest.raises(UnwritableOutputError, match="made with window None, not 9000; name"):
        list(corpus(folder, found, StreamSettings(replay=ReplaySettings(window=9000))))
    with pytest.raises(UnwritableOutputError, match=r"about other files too, as .*003\.json"):
        list(corpus(folder, found[:3], SETTINGS))
    with FileLock(folder / ".lock"), pytest.raises(UnwritableOutputError, match="another replay"):
        list(corpus(folder, found, SETTINGS))
    assert rows_in(folder) == before
    for content in (b"no parquet", None):
        other = tmp_path / f"other-{content is None}"
        other.mkdir()
        mine = other / "part-1.parquet"
        if content is None:
            parquet.write_table(pa.table({"a": [1]}), mine)
        else:
            mine.write_bytes(content)
        kept = mine.read_bytes()
        with pytest.raises(UnwritableOutputError, match=r"part-1\.parquet in it is no part"):
            list(corpus(other, found, SETTINGS))
        assert mine.read_bytes() == kept
    with pytest.raises(UnwritableOutputError, match="it is no folder"):
        list(corpus(found[0].path, found, SETTINGS))


def test_half_characters_are_replaced(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "\udcff.json"
    path.write_text('{"model": "m\\ud800", "messages": [{"role": "user", "content": "a"}]}')
    found = [FoundPath(path, named=True)]
    list(corpus(folder, found, SETTINGS))
    assert {(row["path"], row["model"]) for row in rows_in(folder)} == {
        (str(tmp_path / "?.json"), "m?")
    }
    [part] = folder.glob("*.parquet")
    before = part.stat().st_mtime_ns
    assert len(list(corpus(folder, found, SETTINGS))) == 1
    assert part.stat().st_mtime_ns == before


def held_after(found: list[FoundPath], folder: Path | None) -> int:
    """Bytes that a summary of so many sessions keeps, and all that was needed at once."""
    tracemalloc.start()
    try:
        summary = Summary()
        sessions = (
            replay_files(
                found, SETTINGS, keep=SessionReplay.figures, on_skipped=summary.skip, on_file=ignore
            )
            if folder is None
            else replay_corpus(folder, found, SETTINGS, on_skipped=summary.skip, on_file=ignore)
        )
        for session in sessions:
            summary.add(session)
            del session
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("parts", [False, True], ids=["summary", "parts"])
def test_memory_does_not_grow_with_the_sessions(tmp_path: Path, parts: bool) -> None:
    found = found_in(tmp_path, 1000)
    held_after(found[:50], None)  # what is made once
    few = held_after(found[:200], tmp_path / "few" if parts else None)
    many = held_after(found, tmp_path / "many" if parts else None)
    assert many - few < 800 * 64  # less than a name a session


def test_what_was_read_of_a_skipped_file_is_not_kept(tmp_path: Path) -> None:
    found = list[FoundPath]()
    for number in range(20):
        path = tmp_path / f"{number:02}.json"
        path.write_text(json.dumps({"none": ["x" * 1000] * 100}))
        found.append(FoundPath(path, named=False))
    found.append(FoundPath(write_session(tmp_path / "one.json"), named=False))
    held_after(found[-1:], None)
    assert held_after(found, None) - held_after(found[-1:], None) < 20 * 1000


def test_figures_are_small_and_rows_are_those_of_the_results(tmp_path: Path) -> None:
    [recording] = read_recordings(write_session(tmp_path / "a.json"))
    figures = replay(recording).figures()
    assert isinstance(figures, SessionFigures)
    rows = file_rows([figures])
    assert [row["policy"] for row in rows] == [policy.name for policy in POLICIES]
    assert [row["input_tokens"] for row in rows] == [one.input_tokens for one in figures.policies]


def test_reading_a_part_gives_sessions_of_one_file_apart(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "two.jsonl"
    line = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    path.write_text(f"{json.dumps(line)}\n{json.dumps(line)}\n")
    first = list(corpus(folder, [FoundPath(path, named=True)], SETTINGS))
    [part] = folder.glob("*.parquet")
    assert len(first) == 2
    assert list(read_sessions(part)) == first
