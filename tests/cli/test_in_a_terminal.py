"""The interactive mode as a person has it: a real process, a real terminal, a scripted model."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from tests.cli.script_server import SUMMARY, Answer, Script, serving

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from tests.cli.pty_terminal import PATIENCE_S, PtyTerminal, terminal

LONG = "The parser, the calendar and the time zone are explained at length here. " * 60


class Desk:
    """A project, a data folder, a model, and terminals on them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self.home = folder / "data"
        self._stack = stack
        self.env = {"PALIMPSEST_HOME": str(self.home)}

    def serve(self, script: Script) -> Script:
        self.env["PALIMPSEST_MODEL"] = self._stack.enter_context(serving(script))
        return script

    def open(self, *arguments: str, columns: int = 100, rows: int = 30) -> PtyTerminal:
        return self._stack.enter_context(
            terminal(*arguments, cwd=self.project, env=self.env, columns=columns, rows=rows)
        )

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "palimpsest", *arguments],
            cwd=self.project,
            env={**os.environ, **self.env},
            input=stdin,
            capture_output=True,
            check=False,
        )

    @property
    def session_file(self) -> Path:
        [path] = self.home.glob("sessions/*/*.jsonl")
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ExitStack() as stack:
        yield Desk(tmp_path, stack)


def test_a_prompt_a_tool_and_an_answer(desk: Desk) -> None:
    (desk.project / "dates.py").write_text("def parse(text): ...\n")
    desk.serve(
        Script(
            [
                Answer(text="I will look.", tool="read_file", arguments={"path": "dates.py"}),
                Answer(text=["# Found\n\nIt is `par", "se`.\n\n```python\nx = 1\n```\n"]),
            ]
        )
    )
    shell = desk.open("--model", desk.env["PALIMPSEST_MODEL"])
    shell.wait_for("New session")
    shell.enter("Why does it fail?")
    shown = shell.wait_for("x = 1")
    assert "› Why does it fail?" in shown
    assert "● read_file dates.py" in shown
    assert "Found\n\nIt is parse." in shown
    shell.wait_for("% of 128k")
    shell.enter("/quit")
    assert shell.exit_status() == 0
    assert shell.is_restored()
    assert "goes on with this session" in shell.shown()


def test_a_compaction_is_watched_and_stopped_then_done_and_undone(desk: Desk) -> None:
    gate = Event()
    held = Answer(text=SUMMARY, gate=gate)
    script = desk.serve(
        Script([Answer(text=LONG)], summaries=[held, Answer(text=SUMMARY), Answer(text=SUMMARY)])
    )
    shell = desk.open("--no-tools", "--window", "16000")
    for number in range(4):
        shell.enter(f"Explain part {number}")
        shell.wait(lambda shown, n=number: shown.count("at length here") >= 50 * (n + 1), "reply")
        shell.wait_for_idle()
    shell.enter("/compact the dates")
    shell.wait_for("(/abort to cancel)")
    assert held.reached.wait(PATIENCE_S)
    shell.enter_now("/model other")
    shell.wait_for("/model has to wait: the session is busy (compact)")
    shell.enter_now("/abort")
    shell.wait_for("Compaction stopped. Nothing was changed.")
    gate.set()
    shell.enter("/compact the dates")
    shown = shell.wait_for("/restore to undo")
    assert "● compacted" in shown
    assert "the dates" in str(script.requests[-1]["messages"])
    shell.enter("/history")
    shell.wait_for("· active ─")
    shell.enter("/restore")
    shell.wait_for("restored the whole history")
    shell.enter("/context")
    shell.wait_for("held back for the answer")
    shell.enter("/receipt")
    shell.wait_for("Identifiers:")
    shell.type("\x03")
    assert shell.exit_status() == 130
    assert shell.is_restored()


def test_a_blocked_save_is_refused_to_lose_and_flushed(desk: Desk) -> None:
    desk.serve(Script([Answer(text="One."), Answer(text=LONG), Answer(text="Three.")]))
    shell = desk.open("--no-tools")
    shell.enter("first")
    shell.wait_for("One.")
    shell.wait_for_idle()
    size = desk.session_file.stat().st_size
    limit = resource.prlimit(shell.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(shell.process.pid, resource.RLIMIT_FSIZE, (size + 2_000, limit[1]))
    shell.enter("second")
    shell.wait_for("/flush tries to save again")
    assert "could not be saved" in shell.shown()
    shell.enter("third")
    shell.wait_for("is not saved yet")
    shell.type("\x15")  # the line was put back; clear it
    shell.type("\x03")
    shell.wait_for("the same key within 3 s gives it up")
    shell.enter("/flush")
    shell.wait(lambda shown: shown.count("could not be saved") == 2, "a second refusal")
    resource.prlimit(shell.process.pid, resource.RLIMIT_FSIZE, limit)
    shell.enter("/flush")
    shell.wait_for("Everything is saved.")
    shell.enter("again")
    shell.wait_for("Three.")
    shell.enter("/quit")
    assert shell.exit_status() == 0
    assert [words for words in said(desk) if words != LONG] == [
        "first",
        "One.",
        "second",
        "again",
        "Three.",
    ]


def test_what_cannot_be_saved_is_named_and_given_up_by_a_second_press(desk: Desk) -> None:
    desk.serve(Script([Answer(text="One."), Answer(text=LONG)]))
    shell = desk.open("--no-tools")
    shell.enter("first")
    shell.wait_for("One.")
    shell.wait_for_idle()
    size = desk.session_file.stat().st_size
    resource.prlimit(shell.process.pid, resource.RLIMIT_FSIZE, (size + 2_000, size + 2_000))
    shell.enter("second")
    shell.wait_for("/flush tries to save again")
    shell.type("\x03")
    shell.wait_for("the same key within 3 s gives it up")
    shell.type("\x03")
    assert shell.exit_status() == 1
    assert "Never saved: 1 message and 0 records." in shell.shown()
    assert shell.is_restored()


def test_it_goes_on_after_kill_9(desk: Desk) -> None:
    gate = Event()
    held = Answer(text=["Two", " halves"], gate=gate)
    desk.serve(Script([Answer(text="One."), held, Answer(text="Three.")]))
    shell = desk.open("--no-tools")
    shell.enter("first")
    shell.wait_for("One.")
    shell.enter("second")
    assert held.reached.wait(PATIENCE_S)
    shell.process.kill()
    shell.exit_status()
    gate.set()
    again = desk.open("--continue", "--no-tools")
    again.wait_for("Resumed")
    assert "› second" in again.shown()
    again.enter("third")
    again.wait_for("Three.")
    again.enter("/history")
    again.wait_for("   3  third")
    again.type("\x04")
    assert again.exit_status() == 0
    assert said(desk) == ["first", "One.", "second", "third", "Three."]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_the_run_and_leaves_in_order(
    desk: Desk, number: signal.Signals, status: int
) -> None:
    gate = Event()
    held = Answer(text="Half an answer\n", gate=gate)
    desk.serve(Script([held]))
    shell = desk.open("--no-tools")
    shell.enter("first")
    shell.wait_for("Half an answer")
    shell.process.send_signal(number)
    assert shell.exit_status() == status
    assert shell.is_restored()
    assert said(desk)[0] == "first"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_loads_leaves_the_terminal_as_it_was(
    desk: Desk, number: signal.Signals
) -> None:
    desk.env["PALIMPSEST_MODEL"] = "openai-compatible:none@http://127.0.0.1:9/v1"
    shell = desk.open("--no-tools")
    shell.wait_until_quiet_input()
    shell.process.send_signal(number)
    assert shell.exit_status() in {130, 143}
    assert shell.is_restored()


@pytest.mark.usefixtures("without_sandbox")
def test_an_approval_for_this_session_and_a_queue(desk: Desk) -> None:
    call = {"command": "echo counted > out.txt"}
    desk.serve(
        Script(
            [
                Answer(tool="run_command", arguments=call),
                Answer(text="Written."),
                Answer(tool="run_command", arguments=call),
                Answer(text="Again."),
                Answer(tool="run_command", arguments=call),
                Answer(text="Not this time."),
            ]
        )
    )
    shell = desk.open()
    shell.enter("write it")
    shell.wait_for("? run_command echo counted")
    shell.enter_now("write it again")
    shell.wait_for("queued: write it again")
    shell.enter_now("s")
    shell.wait_for("Again.")
    assert (desk.project / "out.txt").read_text() == "counted\n"
    assert shell.shown().count("allow?") == 0
    shell.enter("/new")
    shell.wait(lambda shown: shown.count("New session") == 2, "a new session")
    shell.enter("once more")
    shell.wait_for("? run_command echo counted")
    shell.enter_now("n")
    shell.wait_for("not allowed")
    shell.wait_for("Not this time.")
    shell.enter("/quit")
    assert shell.exit_status() == 0


def test_a_large_paste_bytes_that_are_no_text_and_a_resize(desk: Desk) -> None:
    script = desk.serve(Script([Answer(text="Read.")]))
    shell = desk.open("--no-tools", "--window", "900000", columns=80)
    shell.wait_for("New session")
    shell.type("\x1b[200~" + "0123456789abcde\n" * 65_536 + "\x1b[201~")
    shell.wait_for("[pasted #1: 65,537 lines, 1,048,576 characters]")
    shell.resize(60, 20)
    shell.wait_for("─" * 60)
    shell.type(" and \udcff.\r")
    shell.wait_for("Read.")
    assert "… 65,525 more lines" in shell.shown()
    [sent] = [message["content"] for message in script.requests[0]["messages"]][-1:]
    assert sent.startswith("0123456789abcde\n0123")
    assert sent.endswith("and \ufffd.")
    assert len(sent) > 1_048_576
    shell.type("\x04")
    assert shell.exit_status() == 0


def test_nothing_to_talk_to_is_one_screen(desk: Desk) -> None:
    shell = desk.open()
    assert shell.exit_status() == 2
    assert "palimpsest demo" in shell.shown()
    assert "palimpsest replay FILE" in shell.shown()
    assert shell.is_restored()


def said(desk: Desk) -> list[str]:
    """Every text of person and model in the session's file, in order."""
    done = desk.run("export", str(desk.session_file), "--format", "openai")
    assert done.returncode == 0, done.stderr
    return [message["content"] for message in json.loads(done.stdout)["messages"]]
