"""What holds for every test: repeatable properties, a clean environment, no network."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False)
settings.load_profile("ci")  # --hypothesis-profile=explore looks elsewhere every time

_REPOSITORY = Path(__file__).resolve().parent.parent
_SHARED = Path(os.environ.get("PALIMPSEST_SHARED") or _REPOSITORY.parent / "shared")


class NetworkUsedError(AssertionError):
    """A test reached for another machine."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with case tables and recorded sessions that lies beside the repository."""
    if not _SHARED.is_dir():
        pytest.skip(f"no folder {_SHARED}: set PALIMPSEST_SHARED to where cases and recordings lie")
    return _SHARED


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tests marked ``anyio`` run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No keys, no settings and no home of the person who runs the tests."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in tuple(os.environ):
            if name.startswith(("PALIMPSEST_", "XDG_")) or name.endswith(("_API_KEY", "_TOKEN")):
                patch.delenv(name)
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "TERM"):
            patch.delenv(name, raising=False)
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            patch.setenv(name, home)
        yield


DOCUMENTATION_ADDRESSES = ("192.0.2.1", "2001:db8::1")


def _refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: only this machine can be reached, by address or by name."""
    if not event.startswith("socket."):
        return
    match event.removeprefix("socket."), arguments:
        case ("connect", (socket.socket(type=socket.SOCK_DGRAM), (str(host), *_))) if (
            host in DOCUMENTATION_ADDRESSES
        ):
            return  # asks this machine for the way there; nothing is sent, and nobody is there
        case ("connect" | "sendto" | "sendmsg", (_, (str(host), *_))):
            pass
        case ("getaddrinfo" | "gethostbyname", (str(host) | bytes(host), *_)):
            pass
        case _:
            return
    name = host.decode() if isinstance(host, bytes) else host
    if not _is_this_machine(name):
        raise NetworkUsedError(f"a test reached for {name!r}")


def _is_this_machine(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


sys.addaudithook(_refuse_network)
