"""Print mode: what stands on stdout, what on stderr, and which status ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from typer.testing import CliRunner, Result

from palimpsest.cli.ask import read_prompt
from palimpsest.cli.main import app
from palimpsest.core.errors import (
    InvalidSettingError,
    SessionLockedError,
    SessionNotFoundError,
    UnknownModelError,
)
from tests.cli.script_server import Answer, Script, serving


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    return folder


@contextmanager
def scripted(monkeypatch: pytest.MonkeyPatch, *answers: Answer) -> Iterator[Script]:
    script = Script(list(answers))
    with serving(script) as model:
        monkeypatch.setenv("PALIMPSEST_MODEL", model)
        yield script


def ask(*arguments: str, stdin: str | bytes = b"") -> Result:
    return CliRunner().invoke(app, ["--no-tools", *arguments], input=stdin)


@pytest.mark.parametrize(
    ("prompt", "stdin", "whole"),
    [
        ("Why?", b"", "Why?"),
        ("Why?", b"\n \n", "Why?"),
        ("Review.", b"a\nb\n", "Review.\n\na\nb"),
        ("-", b"only this\n", "only this"),
        ("-", b"", ""),
        ("\udcff", b"\xff", "\ufffd\n\n\ufffd"),
    ],
)
def test_a_prompt_and_what_is_piped(prompt: str, stdin: bytes, whole: str) -> None:
    assert read_prompt(prompt, stdin) == whole


def test_only_the_answer_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch, Answer(text="**Because.**")) as script:
        done = ask("-p", "Why?", stdin="the log")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "**Because.**\n", "")
    assert script.requests[0]["messages"][-1]["content"] == "Why?\n\nthe log"


def test_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch, Answer(text="One."), Answer(text="Two.")) as script:
        assert ask("-p", "first").exit_code == 0
        assert ask("-p", "second", "--continue").stdout == "Two.\n"
        assert ask("-p", "third", "--continue", "--session", "x").exit_code == 2
        found = json.loads(ask("-p", "third", "-c", "--output-format", "json").stdout)
        named = ask("-p", "fourth", "--session", found["session"][:6])
    assert named.exit_code == 0
    sent = [message["content"] for message in script.requests[-1]["messages"]]
    assert sent == ["first", "One.", "second", "Two.", "third", "Two.", "fourth"]


def test_a_newer_session_that_is_broken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch, Answer(text="One."), Answer(text="Two."), Answer(text="Three.")):
        started = ask("-p", "first", "--output-format", "stream-json").stdout.splitlines()[0]
        broken = Path(json.loads(started)["path"]).with_name("0123abcd.jsonl")
        broken.write_text("{broken\n")
        for updated, named in ((2e9, True), (1e9, False)):
            os.utime(broken, (updated, updated))
            done = ask("-p", "next", "-c")
            assert done.exit_code == 0
            assert ("passed over 0123abcd: " in done.stderr) is named


def test_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch, Answer(text="Because.")):
        found = json.loads(ask("-p", "Why?", "--output-format", "json").stdout)
    assert found["kind"] == "result"
    assert (found["text"], found["outcome"], found["error"]) == ("Because.", "success", "")
    assert found["totals"]["requests"] == 1


def test_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch, Answer(text=["Be", "cause."])):
        done = ask("-p", "Why?", "--output-format", "stream-json")
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds[:3] == ["session", "message_start", "message_end"]
    assert kinds.count("message_update") == 2
    assert kinds[-2:] == ["settled", "result"]


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_provider_that_refuses_is_one_line_and_1(
    monkeypatch: pytest.MonkeyPatch, output_format: str
) -> None:
    with scripted(monkeypatch, Answer(text="bad key", status=401)):
        done = ask("-p", "Why?", "--output-format", output_format)
    assert done.exit_code == 1
    assert done.stderr.startswith("palimpsest: ")
    assert done.stderr.count("\n") == 1
    assert "bad key" in done.stderr


def test_a_request_that_does_not_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch, Answer(text="x")):
        done = ask("-p", "word " * 9_000, "--window", "4000")
    assert done.exit_code == 1
    assert "This request needs" in done.stderr


@pytest.mark.usefixtures("without_sandbox")
def test_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    call = Answer(tool="run_command", arguments={"command": "echo > made"})
    with scripted(monkeypatch, call, Answer(text="Then not.")):
        done = CliRunner().invoke(app, ["-p", "make it"])
        assert (done.exit_code, done.stdout) == (0, "Then not.\n")
        assert "run_command was not allowed, as nobody can be asked" in done.stderr
    with scripted(monkeypatch, call, Answer(text="Made.")):
        allowed = ["-p", "make it", "--permission-preset", "full-access"]
        assert CliRunner().invoke(app, allowed).exit_code == 0
    assert (project / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-p", "x", "--continue"], SessionNotFoundError),
        (["-p", "x", "--session", "nothing-here"], SessionNotFoundError),
        (["-p", "x", "--model", "nope:x"], UnknownModelError),
        (["-p", "x", "--permission-preset", "root"], InvalidSettingError),
        (["-p", "-"], InvalidSettingError),
    ],
)
def test_what_cannot_be(arguments: list[str], error: type[Exception]) -> None:
    done = ask(*arguments)
    assert isinstance(done.exception, error)
    assert done.stdout == ""


def test_without_a_model_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    done = ask("-p", "x")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "OPENAI_API_KEY is set" in done.stderr
    assert "palimpsest replay FILE" in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 80


def test_a_broken_file_and_one_in_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, project: Path
) -> None:
    gate = Event()
    held = Answer(text="x", gate=gate)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{}\n")
    with scripted(monkeypatch, held):
        assert ask("-p", "x", "--session", str(broken)).exit_code == 1
        assert broken.read_text() == "{}\n"
        command = [sys.executable, "-m", "palimpsest", "--no-tools", "-p", "x"]
        with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE) as other:
            assert held.reached.wait(40)
            assert isinstance(ask("-p", "x", "--continue").exception, SessionLockedError)
            gate.set()
            assert other.wait(40) == 0


def test_a_save_that_fails_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sessions").write_text("a file in the way")
    with scripted(monkeypatch, Answer(text="x")):
        done = ask("-p", "x")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.stderr.count("could not be saved") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_was_said(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    gate = Event()
    held = Answer(text="Half", gate=gate)
    with scripted(monkeypatch, held, Answer(text="Two.")) as script:
        command = [sys.executable, "-m", "palimpsest", "--no-tools", "-p", "first"]
        pipes = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipes, stderr=pipes) as process:
            assert held.reached.wait(40)
            process.send_signal(number)
            out, errors = process.communicate(timeout=40)
        assert (process.returncode, out, errors) == (status, b"", b"")
        gate.set()
        assert ask("-p", "second", "-c").stdout == "Two.\n"
    assert script.requests[-1]["messages"][0]["content"] == "first"


def test_a_reader_that_left_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"word {number} " for number in range(20_000)]
    with scripted(monkeypatch, Answer(text=many)):
        done = subprocess.run(
            f"{sys.executable} -m palimpsest --no-tools -p x --output-format stream-json"
            " </dev/null | head -n 1; test ${PIPESTATUS[0]} -eq 1",
            shell=True,
            executable="/bin/bash",
            env=dict(os.environ),
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["kind"] == "session"


def test_a_model_that_is_not_there_is_told_with_where_its_name_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "data" / "config.toml"
    config.parent.mkdir()
    config.write_text('model = "nobody:two"\n', "utf-8")
    monkeypatch.delenv("PALIMPSEST_MODEL", raising=False)
    for source in (str(config), "PALIMPSEST_MODEL"):
        refused = ask("-p", "Hi").exception
        assert isinstance(refused, UnknownModelError)
        assert f"as {source} says; no provider is called 'nobody'." in str(refused)
        monkeypatch.setenv("PALIMPSEST_MODEL", "nobody:one")
    asked_for = ask("--model", "nobody:three", "-p", "Hi").exception
    assert str(asked_for) == "There is no model 'nobody:three'; no provider is called 'nobody'."
