"""Where work is done: in this process, in several of this machine, or on a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal, TypeAlias, TypeVar, assert_never

from palimpsest.core.errors import MissingExtraError
from palimpsest.lab.processes import processes

Item = TypeVar("Item")
Result = TypeVar("Result")

CLUSTER_AHEAD = 1_000
"""Items that a cluster is given before the first of their results is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """In this process, one item when it is asked for."""

    kind: Literal["here"] = "here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """In processes of this machine.

    Attributes:
        jobs: processes; each holds one item, and at most ``8 * jobs`` results wait for their turn.
    """

    kind: Literal["processes"] = "processes"
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """On the workers of a Dask scheduler, which see the same files under the same names.

    Attributes:
        address: of the scheduler, as ``tcp://host:8786``.
    """

    kind: Literal["cluster"] = "cluster"
    address: str


Place: TypeAlias = Here | Processes | Cluster

Finished: TypeAlias = Iterator[tuple[Item, Callable[[], Iterable[Result]]]]


@contextmanager
def run_at(
    place: Place, work: Callable[[Item], Iterable[Result]], items: Iterable[Item]
) -> Generator[Finished[Item, Result]]:
    """Do the work on every item somewhere, and give the results in the items' order.

    Each item comes with a function that gives its results or raises the work's error, or
    ``WorkerLostError`` where a process or a worker ended by itself, again and again. Whoever
    leaves the block early does not wait for what has been begun. Elsewhere than here, work, items
    and results are pickled.

    Raises:
        MissingExtraError: the extra ``dask`` is not installed.
        InvalidSettingError: no scheduler answers at the address.
    """
    match place:
        case Here():
            yield ((item, partial(work, item)) for item in items)
        case Processes(jobs=jobs):
            with processes(work, jobs) as submit:
                yield _in_order(submit, iter(items), ahead=8 * jobs)
        case Cluster(address=address):
            try:
                from palimpsest.lab.cluster import cluster
            except ModuleNotFoundError as error:
                raise MissingExtraError("A Dask scheduler", "palimpsest-ai[dask]") from error
            with cluster(work, address) as submit:
                yield _in_order(submit, iter(items), ahead=CLUSTER_AHEAD)
        case _:
            assert_never(place)


def _in_order(
    submit: Callable[[Item], Callable[[], list[Result]]], items: Iterator[Item], *, ahead: int
) -> Finished[Item, Result]:
    waiting = deque[tuple[Item, Callable[[], list[Result]]]]()
    while True:
        waiting += ((item, submit(item)) for item in islice(items, ahead - len(waiting)))
        if not waiting:
            return
        yield waiting.popleft()
