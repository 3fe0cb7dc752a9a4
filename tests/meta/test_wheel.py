"""The wheel carries everything that the package needs, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


def test_every_file_of_the_package_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        extra = {name.partition(".dist-info/")[2] for name in archive.namelist()} - {""}
    assert names == {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {
        "palimpsest/py.typed",
        "palimpsest/lab/samples/inventory.json",
        "palimpsest/lab/templates/report.html.j2",
        "palimpsest/lab/templates/report.js",
    } <= names
    assert extra == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_what_is_in_it_replays_its_own_sample(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    sample = tmp_path / "palimpsest" / "lab" / "samples" / "inventory.json"
    script = (
        "import palimpsest, runpy; print(palimpsest.__file__); "
        "runpy.run_module('palimpsest', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "replay", str(sample), "--html", str(tmp_path / "a.html")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    assert Path(done.stdout.splitlines()[0]).is_relative_to(tmp_path)
    assert (tmp_path / "a.html").stat().st_size < 1_000_000
