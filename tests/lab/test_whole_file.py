from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.lab.whole_file import whole_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with whole_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(ZeroDivisionError), whole_file(path) as partial:
        partial.write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error, whole_file(tmp_path / "no" / "a"):
        pass
    assert error.value.filename == str(tmp_path / "no")
