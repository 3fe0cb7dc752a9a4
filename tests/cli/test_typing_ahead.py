from __future__ import annotations

import os
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("POSIX terminals", allow_module_level=True)

import pty
import termios

from palimpsest.cli.typing_ahead import keeping_what_is_typed


def test_keys_are_kept_unchanged_and_the_terminal_is_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        before = termios.tcgetattr(slave)
        with pytest.raises(KeyError), keeping_what_is_typed():
            os.write(master, b"hi\r")
            assert os.read(slave, 10) == b"hi\r"
            raise KeyError
        assert termios.tcgetattr(slave) == before
    os.close(master)
