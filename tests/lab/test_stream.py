"""Many files: order, memory, what is skipped, several processes."""

from __future__ import annotations

import gc
import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest.core.errors import InvalidSettingError, NotARecordingError, WorkerLostError
from palimpsest.lab.places import Here, Place, Processes
from palimpsest.lab.replay import ReplaySettings
from palimpsest.lab.results import SessionReplay
from palimpsest.lab.stream import StreamSettings, replay_files, whole
from palimpsest.transcripts.read import FoundPath


def write_session(path: Path, text: str = "hello") -> Path:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "yes"}]
    path.write_text(
        json.dumps({"model": "m", "messages": [{"role": "system", "content": "s"}, *messages]})
    )
    return path


def found_in(folder: Path, count: int) -> list[FoundPath]:
    return [
        FoundPath(write_session(folder / f"{number:03}.json"), named=False)
        for number in range(count)
    ]


def place(jobs: int) -> Place:
    return Here() if jobs == 1 else Processes(jobs=jobs)


def _live() -> int:
    gc.collect()
    return sum(type(item) is SessionReplay for item in gc.get_objects())


def ignore(_: object) -> None:
    return


@pytest.fixture
def nothing_older() -> Iterator[None]:
    """Leave what other tests made out of what the garbage collector goes through."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("nothing_older")
def test_one_session_is_alive_at_a_time(tmp_path: Path) -> None:
    files = found_in(tmp_path, 20)
    alive = list[int]()
    for session in replay_files(
        files, StreamSettings(), keep=whole, on_skipped=ignore, on_file=ignore
    ):
        alive.append(_live())
        del session
    assert alive == [1] * 20
    assert _live() == 0


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    files = found_in(tmp_path, 3)
    sessions = replay_files(files, StreamSettings(), keep=whole, on_skipped=ignore, on_file=ignore)
    next(sessions)
    files[1].path.unlink()
    with pytest.raises(NotARecordingError):
        list(
            replay_files(
                [files[1]._replace(named=True)],
                StreamSettings(),
                keep=whole,
                on_skipped=ignore,
                on_file=ignore,
            )
        )
    sessions.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order_and_what_is_none_is_skipped(tmp_path: Path, jobs: int) -> None:
    files = found_in(tmp_path, 7)
    files[3].path.write_text('{"none": 1}')
    skipped, done = list[str](), list[Path]()
    sessions = list(
        replay_files(
            files,
            StreamSettings(place=place(jobs)),
            keep=whole,
            on_skipped=lambda error: skipped.append(error.path),
            on_file=lambda found: done.append(found.path),
        )
    )
    expected = [str(found.path) for found in files]
    assert [session.path for session in sessions] == expected[:3] + expected[4:]
    assert skipped == [expected[3]]
    assert done == [found.path for found in files]


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_reach_the_caller(tmp_path: Path, jobs: int) -> None:
    named = FoundPath(tmp_path / "none.json", named=True)
    with pytest.raises(NotARecordingError):
        list(
            replay_files(
                [named],
                StreamSettings(place=place(jobs)),
                keep=whole,
                on_skipped=ignore,
                on_file=ignore,
            )
        )
    settings = StreamSettings(place=place(jobs), replay=ReplaySettings(window=0))
    with pytest.raises(InvalidSettingError):
        list(
            replay_files(
                found_in(tmp_path, 1), settings, keep=whole, on_skipped=ignore, on_file=ignore
            )
        )
    assert multiprocessing.active_children() == []


def test_stopping_early_leaves_no_process_behind(tmp_path: Path) -> None:
    files = found_in(tmp_path, 30)
    sessions = replay_files(
        files, StreamSettings(place=place(2)), keep=whole, on_skipped=ignore, on_file=ignore
    )
    next(sessions)
    sessions.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_a_process_that_dies_is_an_error_of_ours(tmp_path: Path) -> None:
    files = found_in(tmp_path, 30)
    sessions = replay_files(
        files, StreamSettings(place=place(2)), keep=whole, on_skipped=ignore, on_file=ignore
    )
    next(sessions)
    for child in multiprocessing.active_children():
        child.terminate()
        child.join()
    with pytest.raises(
        WorkerLostError, match=r"process of this machine ended by itself before .*\.json"
    ):
        list(sessions)
