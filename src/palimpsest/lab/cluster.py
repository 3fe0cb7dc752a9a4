"""Work on the workers of a Dask scheduler; needs the extra ``dask``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar, cast

from distributed import CancelledError, Client, KilledWorker

from palimpsest.core.errors import InvalidSettingError, WorkerLostError
from palimpsest.lab.processes import all_results

Item = TypeVar("Item")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class _Future(Protocol[Result_co]):
    def result(self) -> Result_co: ...


class _Client(Protocol):
    """What is used of Dask's client, whose own types leave most open."""

    def submit(
        self, function: Callable[..., Result], /, *arguments: object, pure: bool
    ) -> _Future[Result]: ...

    def close(self) -> object: ...


_connect = cast("Callable[..., _Client]", Client)


def _taken(future: _Future[list[Result]], address: str) -> list[Result]:
    try:
        return future.result()
    except (KilledWorker, CancelledError) as error:
        raise WorkerLostError(f"the scheduler {address}") from error


@contextmanager
def cluster(
    work: Callable[[Item], Iterable[Result]], address: str
) -> Generator[Callable[[Item], Callable[[], list[Result]]]]:
    """Give a function that hands an item to a worker and returns what waits for its results.

    A worker that is lost is no error: the scheduler gives its items to others. Where several were
    lost over one item, or the scheduler was, taking its results raises ``WorkerLostError``. What
    has not been taken when the block ends is cancelled.

    Raises:
        InvalidSettingError: no scheduler answers at the address.
    """
    try:
        client = _connect(address, set_as_default=False)
    except (OSError, ValueError) as error:
        expected = "the address of a Dask scheduler that answers, as tcp://host:8786"
        raise InvalidSettingError("scheduler", address, expected) from error

    def submit(item: Item) -> Callable[[], list[Result]]:
        future: _Future[list[Result]] = client.submit(all_results, work, item, pure=False)
        return partial(_taken, future, address)

    try:
        yield submit
    finally:
        client.close()
