"""The places where work is done: a cluster of this machine, and workers that are lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster

from palimpsest.core.errors import InvalidSettingError, MissingExtraError, WorkerLostError
from palimpsest.lab.corpus import replay_corpus
from palimpsest.lab.places import Cluster, Here, Place, Processes, run_at
from palimpsest.lab.stream import StreamSettings
from tests.lab.jobs import dies, dies_once, twice
from tests.lab.test_corpus import rows_in
from tests.lab.test_stream import found_in, ignore


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two workers, processes of one thread each; one of them may be lost over an item."""
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(host="127.0.0.1", **local) as running,  # type: ignore[no-untyped-call]
    ):
        yield Cluster(address=running.scheduler_address)


def results(place: Place, numbers: list[int]) -> list[tuple[int, list[int] | str]]:
    found = list[tuple[int, list[int] | str]]()
    with run_at(place, twice, numbers) as finished:
        for number, result in finished:
            try:
                found.append((number, list(result())))
            except ZeroDivisionError as error:
                found.append((number, str(error)))
    return found


def test_every_place_gives_the_same_in_the_same_order(cluster: Cluster) -> None:
    numbers = list(range(40))
    expected = results(Here(), numbers)
    assert expected[4:7] == [(4, [4, 4]), (5, "5"), (6, [6, 6])]
    assert results(Processes(jobs=2), numbers) == expected
    assert results(cluster, numbers) == expected


def test_a_corpus_on_a_cluster_is_the_same_and_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    found = found_in(tmp_path / "corpus", 11)
    corpus = partial(replay_corpus, on_skipped=ignore, on_file=ignore, part_files=3)
    sessions = corpus(tmp_path / "cluster", found, StreamSettings(place=cluster))
    for _ in range(5):
        next(sessions)
    sessions.close()  # type: ignore[attr-defined]
    assert len(rows_in(tmp_path / "cluster")) == 5 * 5
    list(corpus(tmp_path / "cluster", found, StreamSettings(place=cluster)))
    list(corpus(tmp_path / "here", found, StreamSettings()))
    assert rows_in(tmp_path / "cluster") == rows_in(tmp_path / "here")


def test_the_work_of_a_lost_worker_is_done_by_another(cluster: Cluster, tmp_path: Path) -> None:
    with run_at(cluster, partial(dies_once, tmp_path), range(20)) as finished:
        assert [list(result()) for _, result in finished] == [[number] for number in range(20)]
    assert (tmp_path / "died").exists()


def test_work_that_ends_every_worker_is_an_error_of_ours(cluster: Cluster) -> None:
    told = f"the scheduler {cluster.address} ended by itself"
    with pytest.raises(WorkerLostError, match=told), run_at(cluster, dies, [1]) as finished:
        for _, result in finished:
            result()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere://at:all"])
def test_a_scheduler_that_does_not_answer(address: str) -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        pytest.raises(InvalidSettingError, match="the address of a Dask scheduler that answers"),
        run_at(Cluster(address=address), twice, [1]),
    ):
        raise AssertionError


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "palimpsest.lab.cluster", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtraError, match=r"palimpsest-ai\[dask\]"),
        run_at(Cluster(address="tcp://127.0.0.1:1"), twice, [1]),
    ):
        raise AssertionError
