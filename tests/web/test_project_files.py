from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.web.project_files import MOST_FILES, files_beginning


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in ("src/dates.py", "src/data/x.csv", "README.md"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")
    (tmp_path / "secret.txt").write_text("", "utf-8")
    (project / "out").symlink_to(tmp_path)
    return project


@pytest.mark.parametrize(
    ("beginning", "found"),
    [
        ("", ("README.md", "out/", "src/")),
        ("src/", ("src/data/", "src/dates.py")),
        ("src/dat", ("src/data/", "src/dates.py")),
        ("src/data/", ("src/data/x.csv",)),
        ("nowhere/", ()),
        ("../", ()),
        ("src/../../", ()),
        ("/etc/", ()),
        ("out/", ()),
        ("a\0b", ()),
        ("x" * 5_000 + "/", ()),
    ],
)
def test_what_is_offered(tree: Path, beginning: str, found: tuple[str, ...]) -> None:
    assert files_beginning(tree, beginning) == found


def test_no_more_than_a_person_reads(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 10):
        (tmp_path / f"{number}.txt").write_text("", "utf-8")
    assert len(files_beginning(tmp_path, "")) == MOST_FILES
