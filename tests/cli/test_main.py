from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from palimpsest import __version__
from palimpsest.cli.main import app, run
from palimpsest.core.errors import (
    NoTerminalError,
    NothingToCompactError,
    PalimpsestError,
    UnknownFormatError,
)


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"palimpsest {__version__}\n")


COMMANDS = [
    [],
    ["demo"],
    ["web"],
    ["doctor"],
    ["replay"],
    ["compact"],
    ["show"],
    ["export"],
    ["sessions"],
    *(["sessions", name] for name in ("list", "search", "delete", "export")),
    ["config"],
    *(["config", name] for name in ("set", "unset")),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_examples_everywhere(command: list[str], flag: str) -> None:
    result = CliRunner().invoke(app, [*command, flag])
    assert result.exit_code == 0
    assert "Examples:\n" in result.output
    assert "  palimpsest " in result.output
    assert max(map(len, result.output.splitlines())) <= 80
    for foreign in ("<str>", "<int", "<path>", "list[", "{", "x>=", "<=x", "]...\n"):
        assert foreign not in result.output.replace("COMMAND [ARGS]...", "")


def test_help_is_quick_to_load_and_says_what_it_is() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert "compacted without losing a word" in " ".join(result.output.split())


def test_without_a_terminal_there_is_no_interactive_mode() -> None:
    result = CliRunner().invoke(app, [])
    assert isinstance(result.exception, NoTerminalError)
    assert NoTerminalError.exit_status == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--continue", "--session", "1f3a"], "both choose a session"),
        (["--output-format", "json"], "belongs to -p"),
        (["-p", "x", "--output-format", "xml"], "xml"),
        (["-p", "x", "--window", "0"], "--window"),
        (["--model", "a:b", "sessions"], "--model"),
        (["--colour"], "--colour"),
    ],
)
def test_what_cannot_be_is_a_usage_error(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--window", "many"], "Invalid value for '--window': 'many' is no whole number."),
        (["--window", "0"], "Invalid value for '--window': 0 is too small; it must be 1 or more."),
        (["web", "--port", "65536"], "65536 is too large; it must be 65,535 or less."),
        (["demo", "--window", "1"], "1 is too small; it must be 12,000 or more."),
        (["show", "x", "--turn", "0"], "'--turn': 0 is too small; it must be 1 or more."),
        (["replay"], "Missing argument 'FILE…'. Recorded sessions: files, folders, patterns."),
        (
            ["compact", "--session", "a"],
            "Missing argument 'FILE'. A recorded session.",
        ),
        (["sessions", "delete"], "Missing argument 'SESSION'. Its file, or four characters"),
        (["export", "x", "--format", "y"], "'y' is not one of 'markdown', 'json',"),
        (["config", "set", "model"], "Missing argument 'VALUE'. The new value."),
    ],
)
def test_usage_errors_are_in_plain_words(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    for foreign in ("Input should", "Value error", "{", "<"):
        assert foreign not in result.stderr


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(app, ["erase"])
    assert result.exit_code == 2
    assert "erase" in result.stderr
    assert result.stdout == ""


def _run_raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    commands = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)

    @commands.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["palimpsest"])
    with pytest.raises(SystemExit) as exit_:
        run(commands)
    return exit_.value.code


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (
            UnknownFormatError("xml", ("pi", "kimi")),
            2,
            "There is no format 'xml'. Known formats: pi, kimi.",
        ),
        (NothingToCompactError("one turn."), 1, "Nothing to compact: one turn."),
        (PalimpsestError("It broke."), 1, "It broke."),
        (PermissionError(13, "Permission denied", "a.json"), 1, "a.json: Permission denied"),
    ],
)
def test_an_error_is_one_sentence_and_a_status(
    error: Exception,
    status: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run_raising(error, monkeypatch) == status
    assert capsys.readouterr() == ("", f"palimpsest: {sentence}\n")


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (BrokenPipeError(32, "EPIPE"), 1)]
)
def test_interrupts_and_closed_pipes_end_quietly(
    error: BaseException,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run_raising(error, monkeypatch) == status
    assert capsys.readouterr().err.strip() == ""


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError, match="a bug"):
        _run_raising(ZeroDivisionError("a bug"), monkeypatch)


def test_the_module_runs_as_a_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["palimpsest", "--version"])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module("palimpsest", run_name="__main__")
    assert exit_.value.code == 0
    assert capsys.readouterr() == (f"palimpsest {__version__}\n", "")


def test_a_reader_that_left_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "palimpsest", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


def test_a_full_disk_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "palimpsest", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "palimpsest: No space left on device\n"
