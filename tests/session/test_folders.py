from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.session.folders import names_beginning


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("src/dates.py", "setup.py", "README.md", ".env"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("", ["README.md", "setup.py", "src/"]),
        ("s", ["setup.py", "src/"]),
        ("sr", ["src/"]),
        ("x", []),
        (".", [".env"]),
    ],
)
def test_names_that_begin_as_what_was_typed(folder: Path, start: str, found: list[str]) -> None:
    assert names_beginning(folder, start, most=10) == found


def test_no_more_than_was_asked_for(folder: Path) -> None:
    assert names_beginning(folder, "", most=2) == ["README.md", "setup.py"]


@pytest.mark.parametrize("name", ["nowhere", "README.md", "a\0b", "x" * 5_000])
def test_what_is_no_folder_has_no_names(folder: Path, name: str) -> None:
    assert names_beginning(folder / name, "", most=10) == []
