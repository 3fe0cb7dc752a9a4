"""The house's own promises: no network and no personal environment in tests."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.conftest import NetworkUsedError


def test_a_test_cannot_reach_another_machine() -> None:
    with socket.socket() as client, pytest.raises(NetworkUsedError):
        client.connect(("192.0.2.1", 80))
    with socket.socket() as client, pytest.raises(NetworkUsedError):
        client.connect_ex(("192.0.2.1", 80))
    with pytest.raises(NetworkUsedError):
        socket.getaddrinfo("example.invalid", 443)


def test_this_machine_can_be_reached() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.socket() as client:
            client.connect(server.getsockname())
        with socket.socket() as client:
            assert client.connect_ex(server.getsockname()) == 0
    assert socket.getaddrinfo("localhost", 80)


def test_home_is_a_scratch_folder_and_no_key_is_visible(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert tmp_path_factory.getbasetemp() in Path.home().parents
    assert [name for name in os.environ if name.endswith("_API_KEY")] == []
