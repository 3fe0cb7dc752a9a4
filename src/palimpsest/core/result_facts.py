"""What one tool result says: exit code, closing line of a test run, failure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from palimpsest.core.call_facts import one_line

if TYPE_CHECKING:
    from palimpsest.core.call_facts import CallFacts
    from palimpsest.core.excerpt import ToolResult

ExitCode: TypeAlias = "int | Literal['unknown']"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFacts:
    """What a result says.

    Attributes:
        failed: the tool says so, the exit code is not 0, or the tests that ran did not pass; exit
            code 1 of ``grep`` and its like means that nothing was found, which is no failure.
        exit_code: of a command; ``unknown`` where the result names none.
        test_line: the closing line of a test run; empty if none was seen.
        error: the telling line of a failure; empty on success.
    """

    failed: bool
    exit_code: ExitCode = "unknown"
    test_line: str = ""
    error: str = ""


_EXIT_WINDOW_CHARS = 400
_EXIT_CODE = re.compile(
    r"""^[ \t]*(?:<system>)?(?:ERROR:\ )?[\[(<]?(?:
        (?:the\ )?(?:command|process)\ (?:finished|exited|completed|failed)\ with
            \ (?:exit\ )?code:?\ |
        exit[ _](?:code|status):?\ | returncode>\ ?
    )(-?\d{1,10})\b""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_JSON_EXIT_CODE = re.compile(r'"exit_?code": ?(-?\d{1,10})\b', re.IGNORECASE)

_TEST_WINDOW_CHARS = 3_000
_COUNTED = r"\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?)"
_TEST_LINES = tuple(
    re.compile(rf"^[ \t]*({pattern})[ \t\r]*$", re.MULTILINE)
    for pattern in (
        rf"(?:=+ )?{_COUNTED}(?:, {_COUNTED}){{0,8}} in [\d.]+ ?s.{{0,200}}",  # pytest
        r"FAILED \(.{0,200}\)|OK(?: \(.{0,200}\))?",  # unittest
        r"Tests:? +.{0,200}\d+ (?:passed|failed).{0,200}",  # jest, vitest
        r"test result: .{0,200}",  # cargo
        r"(?:ok|FAIL) *\t\S.{0,300}",  # go
        r"\d+ (?:passing|failing)\b.{0,200}",  # mocha
        r"[#ℹ] fail \d+",  # node, TAP
    )
)
_RAN = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)
_TEST_FAILED = re.compile(r"\b[1-9]\d* (?:failed|errors?|failing)\b|\bfail [1-9]|FAIL")

_SEARCH_COMMAND = re.compile(r"(?:git )?[ef]?grep\b|rg\b|diff\b|git diff\b|cmp\b|which\b|test\b")
_STATED_ERROR = re.compile(r"\s*(?:<\w{1,30}>)?\s*(?:error|failed)\b[ :]", re.IGNORECASE)
_RAISED = re.compile(r"^[\w.]{0,100}(?:Error|Exception|Interrupt)\b")
_TELLING = re.compile(r"error|fail|exception|not found|denied|panic|cannot|fatal", re.IGNORECASE)
_TAG_LINE = re.compile(r"\s*</?\w{1,30}>\s*")
_TELLING_LINES = 40
_MAX_ERROR_CHARS = 240


def result_facts(call: CallFacts, result: ToolResult) -> ResultFacts:
    """Read what ``result`` says of ``call``.

    Exit codes and test lines are looked for in results of commands only, near the beginning and
    the end, where the common agents write them: a program that prints such a line itself is taken
    at its word.
    """
    if call.kind != "run":
        failed = result.is_error or _STATED_ERROR.match(result.text) is not None
        return ResultFacts(failed=failed, error=_first_line(result.text) if failed else "")
    exit_code = _exit_code(result.text)
    test_line = _test_line(result.text)
    found_nothing = exit_code == 1 and _SEARCH_COMMAND.match(call.target) is not None
    failed = (
        ((result.is_error or exit_code not in ("unknown", 0)) and not found_nothing)
        or _TEST_FAILED.search(test_line) is not None
        or (exit_code == "unknown" and _ends_in_traceback(result.text))
    )
    error = test_line or _telling_line(result.text) if failed else ""
    return ResultFacts(failed=failed, exit_code=exit_code, test_line=test_line, error=error)


def _exit_code(text: str) -> ExitCode:
    head = text[:_EXIT_WINDOW_CHARS]
    first = _EXIT_CODE.match(head)
    if first is None:
        in_tail = list(_EXIT_CODE.finditer(text[-_EXIT_WINDOW_CHARS:]))
        first = in_tail[-1] if in_tail else _EXIT_CODE.search(head)
    if first is None and head.startswith("{"):
        in_tail = list(_JSON_EXIT_CODE.finditer(text[-_EXIT_WINDOW_CHARS:]))
        first = in_tail[-1] if in_tail else _JSON_EXIT_CODE.search(head)
    return "unknown" if first is None else int(first[1])


def _test_line(text: str) -> str:
    tail = text[-_TEST_WINDOW_CHARS:]
    unittest_ran = _RAN.search(tail) is not None
    for pattern in _TEST_LINES:
        found: list[str] = pattern.findall(tail)
        if not found or (found[-1].startswith("OK") and not unittest_ran):
            continue
        failing = [line for line in found if _TEST_FAILED.search(line)]
        return one_line((failing or found)[-1].strip("= "), _MAX_ERROR_CHARS)
    return ""


def _ends_in_traceback(text: str) -> bool:
    lines = text[-_TEST_WINDOW_CHARS:].rstrip().rsplit("\n", 6)
    return "Traceback (most recent call last)" in text and any(map(_RAISED.match, lines[1:]))


def _first_line(text: str) -> str:
    head = text[: 4 * _MAX_ERROR_CHARS].lstrip()
    return one_line(head.partition("\n")[0], _MAX_ERROR_CHARS)


def _telling_line(text: str) -> str:
    lines = [
        line for line in text[-8_000:].split("\n") if line.strip() and not _TAG_LINE.fullmatch(line)
    ][-_TELLING_LINES:]
    telling = [line for line in lines if _TELLING.search(line) and not _EXIT_CODE.match(line)]
    return one_line((telling or lines or [""])[-1], _MAX_ERROR_CHARS)
