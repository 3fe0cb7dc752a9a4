from __future__ import annotations

import pytest

from palimpsest.core.call_facts import CallFacts
from palimpsest.core.excerpt import ToolResult
from palimpsest.core.result_facts import ExitCode, ResultFacts, result_facts

RUN = CallFacts(kind="run", target="make", command="make")
GREP = CallFacts(kind="run", target="grep -n x a.py", command="grep -n x a.py")
READ = CallFacts(kind="read", target="a.py")


def facts(call: CallFacts, text: str, *, is_error: bool = False) -> ResultFacts:
    result = ToolResult(call_id="1", tool_name="t", text=text, is_error=is_error)
    return result_facts(call, result)


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        ("Exit code 2\nmake: *** error", 2),
        ("<returncode>1</returncode>\n<output>\nx\n</output>", 1),
        ("out\n[Command finished with exit code 0]", 0),
        ("out\n[The command completed with exit code 3.]\n[Current working directory: /x]", 3),
        ("Chunk ID: 1\nWall time: 1\nProcess exited with code 127\nOutput:\nx", 127),
        ("out\n\nCommand exited with code 1", 1),
        ("out\n[exit code: 1]", 1),
        ("Command: x\nOutput: y\nExit Code: 0\nSignal: 0", 0),
        ("<system>ERROR: Command failed with exit code: 1.</system>", 1),
        ('{"output": "x", "metadata": {"exit_code": 4, "duration_seconds": 1}}', 4),
        ('{"output": "' + "x" * 900 + '", "metadata": {"exit_code": 5}}', 5),
        ('{"exit_code": 6, "output": "' + "x" * 900 + '"}', 6),
        ("process exited with code -9", -9),
        ("exit code: 3\nprinted by a program\n[Command finished with exit code 0]", 3),
        ("first\nexit code: 3\n[Command finished with exit code 0]", 0),
        ("plain output", "unknown"),
        ('{"text": "exit"}', "unknown"),
        ("", "unknown"),
    ],
)
def test_exit_codes(text: str, exit_code: ExitCode) -> None:
    found = facts(RUN, text)
    assert found.exit_code == exit_code
    assert found.failed is (exit_code not in (0, "unknown"))


@pytest.mark.parametrize(
    ("text", "test_line", "failed"),
    [
        ("==== 3 passed in 0.12s ====", "3 passed in 0.12s", False),
        ("1 failed, 2 passed, 1 warning in 1.20s", "1 failed, 2 passed, 1 warning in 1.20s", True),
        ("== 1 error in 0.5s ==", "1 error in 0.5s", True),
        ("Ran 3 tests in 0.1s\n\nOK", "OK", False),
        ("Ran 3 tests in 0.1s\n\nOK (skipped=1)", "OK (skipped=1)", False),
        ("Ran 3 tests in 0.1s\n\nFAILED (failures=1)", "FAILED (failures=1)", True),
        ("OK", "", False),
        ("Tests:       1 failed, 2 passed, 3 total", "Tests: 1 failed, 2 passed, 3 total", True),
        ("Tests:       2 passed, 2 total\nTime: 1 s", "Tests: 2 passed, 2 total", False),
        ("ok  \texample.org/x\t0.1s", "ok example.org/x 0.1s", False),
        ("ok  \ta\t0.1s\nFAIL\tb\t0.2s\nok  \tc\t0.1s", "FAIL b 0.2s", True),
        ("test result: ok. 5 passed; 0 failed;", "test result: ok. 5 passed; 0 failed;", False),
        ("test result: FAILED. 4 passed; 1 failed;", "test result: FAILED. 4 passed; 1 failed;",
         True),
        ("  12 passing (3s)\n  2 failing", "2 failing", True),
        ("# fail 0", "# fail 0", False),
        ("ℹ fail 2", "ℹ fail 2", True),
    ],
)  # fmt: skip
def test_closing_lines_of_test_runs(text: str, test_line: str, failed: bool) -> None:
    found = facts(RUN, f"some output\n{text}\n")
    assert (found.test_line, found.failed) == (test_line, failed)
    assert found.error == (test_line if failed else "")


@pytest.mark.parametrize(
    ("call", "text", "is_error", "failed", "error"),
    [
        (RUN, "x\n", True, True, "x"),
        (RUN, "", True, True, ""),
        (RUN, "Exit code 1\na.go:1: undefined: x\nnote: end", False, True, "note: end"),
        (RUN, "Exit code 1\nfatal: bad\nnote: end", False, True, "fatal: bad"),
        (RUN, "<returncode>1</returncode>\n<output>\nboom\n</output>", False, True, "boom"),
        (RUN, "Traceback (most recent call last):\n  x\nKeyError: 'a'", False, True,
         "KeyError: 'a'"),
        (RUN, "Traceback (most recent call last):\nKeyError: 'a'\n" + "ok\n" * 9, False, False,
         ""),
        (RUN, "Traceback (most recent call last):\nKeyError: 1\n[exit code: 0]", False, False, ""),
        (GREP, "Exit code 1", True, False, ""),
        (GREP, "Exit code 2\ngrep: a.py: No such file", True, True, "grep: a.py: No such file"),
        (READ, "text with Error: inside", False, False, ""),
        (READ, "\n<tool_use_error>File does not exist.\nmore", True, True,
         "<tool_use_error>File does not exist."),
        (READ, "Error: no such file", False, True, "Error: no such file"),
        (READ, "<system>ERROR: no such file", False, True, "<system>ERROR: no such file"),
    ],
)  # fmt: skip
def test_failures(call: CallFacts, text: str, is_error: bool, failed: bool, error: str) -> None:
    found = facts(call, text, is_error=is_error)
    assert (found.failed, found.error) == (failed, error)
