"""The demo, played once in a terminal's stead and looked at from all sides."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from palimpsest.cli.demo_text import DemoScreen
from palimpsest.cli.main import app
from palimpsest.core.budget import Budget, Measure
from palimpsest.lab.live import Played
from palimpsest.lab.story import load_story
from palimpsest.models.engine_events import CompactionEnd
from palimpsest.session.doctor import examine
from palimpsest.session.state import BudgetState

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the coding tools need POSIX")


@dataclass(frozen=True)
class Shown:
    """What a run printed, and the folder it kept."""

    exit_code: int
    text: str
    folder: Path

    def number(self, before: str) -> float:
        found = re.search(rf"([\d.]+) {before}", " ".join(self.text.split()))
        assert found is not None, before
        return float(found[1])


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(folder))
        patch.setenv("COLUMNS", "80")
        result = CliRunner().invoke(app, ["demo", "--keep"])
        [kept] = folder.iterdir()
        yield Shown(result.exit_code, result.output, kept)


def test_it_lives_through_ten_windows_and_keeps_every_original(shown: Shown) -> None:
    assert shown.exit_code == 0, shown.text
    assert "Every original is still there" in shown.text
    assert shown.number("windows") >= 10
    assert shown.number("compactions") >= 5
    assert shown.number("outputs cleared") >= 20
    assert "not compacted" not in shown.text


def test_each_record_is_shown_as_it_is_made(shown: Shown) -> None:
    assert shown.text.count("◆ compacted") == shown.number("compactions")
    cleared = re.findall(r"◌ (\d+) old tool outputs? cleared", shown.text)
    assert sum(map(int, cleared)) == shown.number("outputs cleared")


def test_it_reads_well_in_a_pipe_of_80_columns(shown: Shown) -> None:
    paths = ("The project: ", "The session: ")
    lines = [line for line in shown.text.splitlines() if not line.startswith(paths)]
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in shown.text
    assert not [line for line in lines if line != line.rstrip()]
    assert "python -m till 10" in shown.text
    assert sys.executable not in shown.text


def test_the_work_was_real(shown: Shown) -> None:
    story = load_story()
    assert len(story.tasks) == 20
    days = [str(day) for day in range(1, 11)]
    for arguments in (["-m", "unittest", "discover"], *(["-m", "till", day] for day in days)):
        done = subprocess.run(
            [sys.executable, "-B", *arguments],
            cwd=shown.folder / "till",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (shown.folder / "till" / "CHANGES.md").read_text().count("* day ") == 10


def test_each_bug_was_there_before(tmp_path: Path) -> None:
    load_story().write_project(tmp_path)
    for day in range(1, 11):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "till", str(day)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert f"day {day}: " in done.stdout
        assert "1 failed" in done.stdout


def test_the_kept_session_is_a_whole_one(shown: Shown) -> None:
    examined = examine(shown.folder / "session.jsonl")
    assert examined.is_healthy
    assert examined.sealed
    assert f"{examined.message_count} of {examined.message_count} messages" in shown.text


def test_what_is_missing_is_named_and_nothing_is_left_behind(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['pydantic_ai_harness'] = None; sys.argv[1:] = ['demo']; "
        "from palimpsest.cli.main import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert not list(tmp_path.iterdir())
    assert done.returncode == 2
    assert done.stderr == (
        "palimpsest: A coding agent needs an optional package: "
        "pip install 'palimpsest-ai[agent]' (in a checkout: '.[agent]').\n"
    )


def test_a_window_too_small_for_the_work_is_a_usage_error() -> None:
    assert CliRunner().invoke(app, ["demo", "--window", "900"]).exit_code == 2


def test_missing_originals_and_a_failed_compaction_are_not_passed_over() -> None:
    console = Console(file=StringIO(), width=80)
    screen = DemoScreen(console)
    meter = BudgetState(
        budget=Budget(window=1_000, reserved_output=100),
        size=Measure(tokens=950, bytes=0),
        window_source="",
        calibrated=False,
    )
    screen.event(CompactionEnd(checkpoint=None, receipt=None, error="It timed out."), meter)
    screen.close(
        Played(
            window=1_000,
            messages=9,
            intact=8,
            original_tokens=9_000,
            requests=5,
            largest_request=800,
            most_that_fits=850,
            sent_tokens=3_000,
            whole_tokens=9_000,
            whole_over=3,
            compactions=1,
            outputs_cleared=1,
        )
    )
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "◌ not compacted: It timed out." in text
    assert "ORIGINALS ARE MISSING: 8 of 9 messages" in text


def test_one_that_is_terminated_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "palimpsest", "demo"]
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=surroundings) as process:
        assert process.stdout is not None
        while "●".encode() not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
        process.communicate(timeout=40)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []
