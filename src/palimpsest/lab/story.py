"""The work of the demo: a scratch project with ten bugs, and an agent that mends one a day.

What the agent says and does is written beforehand; what its tools give back is not.
"""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TypedDict, cast

from palimpsest.models.script import Call, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One prompt and the agent's replies to it."""

    prompt: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A project and the work on it.

    Attributes:
        files: text by path, relative and with ``/``.
    """

    files: Mapping[str, str]
    tasks: tuple[Task, ...]

    def write_project(self, folder: Path) -> None:
        """Write the project's files into a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


class _Day(TypedDict):
    module: str
    why: str
    old: str
    new: str
    test: str
    change: str


class _Source(TypedDict):
    ask: str
    fix: str
    rules: str
    done: str
    files: dict[str, str]
    days: list[_Day]


def load_story() -> Story:
    """Read the packaged story."""
    text = (files("palimpsest.lab") / "samples" / "till.toml").read_text(encoding="utf-8")
    source = cast("_Source", cast("object", tomllib.loads(text)))
    tasks = [
        task for number, day in enumerate(source["days"], 1) for task in _day(source, number, day)
    ]
    return Story(files=source["files"], tasks=tuple(tasks))


def python_command() -> str:
    """Give the shell command for this interpreter, without compiled files left behind.

    A file that is edited twice within a second would otherwise run as it was.
    """
    return f"{shlex.quote(sys.executable)} -B"


def _day(source: _Source, number: int, day: _Day) -> tuple[Task, Task]:
    ask = source["ask"].format(day=number)
    if number == 1:
        ask = f"{ask} {source['rules']}"
    done = source["done"].format(day=number, change=day["change"])
    return (
        Task(prompt=ask, replies=(*_look(number, day), Reply(text=day["why"]))),
        Task(prompt=source["fix"], replies=(*_mend(number, day), Reply(text=done))),
    )


def _look(number: int, day: _Day) -> list[Reply]:
    """Run the day, then read what fails and where it is used; on the first day the project, too."""
    replies = [
        Reply(calls=(_run(f"-m till {number}"),)),
        Reply(calls=(_read(_path(day)), _search(rf"\b{day['module']}\b"))),
    ]
    if number == 1:
        replies.insert(0, Reply(calls=(_read("README.md"), _read("till/__main__.py"))))
    return replies


def _mend(number: int, day: _Day) -> list[Reply]:
    """Edit, write a test, run all tests and the day, and note the change."""
    note = f"# Changes\n\n* day {number}: {day['change']}"
    return [
        Reply(calls=(_edit(_path(day), day["old"], day["new"]), _write_test(number, day))),
        Reply(calls=(_run("-m unittest discover -v"),)),
        Reply(calls=(_run(f"-m till {number}"),)),
        Reply(calls=(_edit("CHANGES.md", "# Changes\n", note),)),
    ]


def _path(day: _Day) -> str:
    return f"till/{day['module']}.py"


def _write_test(number: int, day: _Day) -> Call:
    content = (
        f"import unittest\n\nfrom till import {day['module']}\n\n\n"
        f"class Day{number}Test(unittest.TestCase):\n"
        f"    def test_day_{number}(self):\n        {day['test']}\n"
    )
    path = f"tests/test_day_{number:02}.py"
    return Call(tool="write_file", arguments={"path": path, "content": content})


def _read(path: str) -> Call:
    return Call(tool="read_file", arguments={"path": path})


def _search(pattern: str) -> Call:
    return Call(tool="search_files", arguments={"pattern": pattern, "include_glob": "*.py"})


def _edit(path: str, old: str, new: str) -> Call:
    return Call(tool="edit_file", arguments={"path": path, "old_text": old, "new_text": new})


def _run(arguments: str) -> Call:
    command = f"{python_command()} {arguments}"
    return Call(tool="run_command", arguments={"command": command})
