"""What one tool call says by itself, read by rule from what the common agents write.

Names and argument keys of Claude Code, Codex, Gemini CLI, Cline, Roo, Kimi, OpenHands, SWE-agent,
mini-swe-agent, pi and pydantic-ai-harness are known. What a rule cannot see stays unknown: a shell
command that reads or writes files is a command only, unless it holds an ``apply_patch`` text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from palimpsest.core.excerpt import Json, ToolCall

ToolKind: TypeAlias = Literal["read", "change", "run", "search", "plan", "other"]
FileAction: TypeAlias = Literal["read", "changed"]
TodoStatus: TypeAlias = Literal["completed", "in_progress", "pending", "blocked", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRange:
    """Lines of a file, 1-based, both ends inclusive; with ``last`` None up to the file's end."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTouch:
    """A file that a call reads or changes; ``lines`` is empty where the call names none."""

    path: str
    action: FileAction
    lines: tuple[LineRange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """One entry of the task list that the agent keeps through a tool."""

    text: str
    status: TodoStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What a call says.

    Attributes:
        kind: what sort of tool it is; a ``plan`` call states the whole task list anew.
        target: what it works on, in one line: path, command, pattern, or its arguments.
        command: the shell command as written; empty for other tools.
        touches: files it reads or changes if it succeeds.
        todos: the task list of a ``plan`` call.
    """

    kind: ToolKind
    target: str
    command: str = ""
    touches: tuple[FileTouch, ...] = ()
    todos: tuple[Todo, ...] = ()


_NAMES: tuple[tuple[ToolKind, str], ...] = (
    ("read", "read readfile view viewfile open openfile cat fsread readmanyfiles notebookread"),
    (
        "change",
        "edit multiedit write notebookedit writefile editfile createfile fswrite deletefile "
        "replace replaceinfile strreplace strreplacefile writetofile applydiff insertcontent "
        "searchandreplace applypatch patch insert create append undoedit",
    ),
    (
        "run",
        "bash shell execcommand executebash executecommand runshellcommand runcommand "
        "runinterminal localshell terminal startcommand run",
    ),
    (
        "search",
        "grep glob find ls listfiles listdirectory listdir searchfiles searchfilecontent "
        "grepsearch filesearch codebasesearch listcodedefinitionnames findfiles searchfile "
        "searchdir findfile websearch webfetch",
    ),
    ("plan", "todowrite updateplan writetodos updatetodolist settodolist tasktracker"),
)
_KINDS: dict[str, ToolKind] = {name: kind for kind, names in _NAMES for name in names.split()}
_EDITORS = {"strreplaceeditor", "strreplacebasededittool", "fileeditor", "texteditor"}

_PATH_KEYS = (
    *("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file"),
    "absolute_path",
)
_CONTENT_KEYS = {
    *("content", "contents", "new_str", "new_string", "newText", "new_text", "diff", "file_text"),
    *("replacements", "edits"),
}
_COMMAND_KEYS = ("command", "cmd", "script")
_QUERY_KEYS = ("pattern", "query", "regex", "search_term", "url", "description")
_LIST_KEYS = ("todos", "plan", "task_list", "tasks")
_TODO_TEXT_KEYS = ("content", "step", "description", "title", "text", "task")

# Gemini CLI's and pydantic-ai-harness's read_file count lines from 0, everyone else from 1.
_ZERO_BASED_TOOLS = {"readfile"}

_TODO_STATUSES: dict[str, TodoStatus] = {
    "completed": "completed",
    "complete": "completed",
    "done": "completed",
    "x": "completed",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "-": "in_progress",
    "~": "in_progress",
    "blocked": "blocked",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
_TODO_LINE = re.compile(r"^[ \t]*(?:[-*] )?\[([ xX~-])\] (.+)$", re.MULTILINE)
_PATCH_FILE = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_CHANGE_DIRECTORY = re.compile(r"cd [^ ;&|]+ ?(?:&&|;) ?")
_OUTPUT_TRIM = re.compile(r" ?(?:2>&1)? ?(?:\| ?(?:tail|head)(?: -n)?(?: -?\d+)?)?$")
_MAX_TARGET_CHARS = 400


def call_facts(call: ToolCall) -> CallFacts:
    """Read what a call says; a call of an unknown tool is judged by its argument keys."""
    name = _plain_name(call.tool_name)
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    kind = _kind(name, arguments)
    command = _command(call.arguments, arguments) if kind == "run" else ""
    touches = _touches(kind, name, call.arguments, arguments, command)
    return CallFacts(
        kind=kind,
        target=one_line(_target(kind, touches, command, call.arguments, arguments)),
        command=command,
        touches=touches,
        todos=_todos(arguments) if kind == "plan" else (),
    )


def one_line(text: str, max_chars: int = _MAX_TARGET_CHARS) -> str:
    """Collapse all white space of ``text``; what is longer than ``max_chars`` ends in ``…``."""
    line = " ".join(text[: 8 * max_chars].split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def _plain_name(tool_name: str) -> str:
    """Give ``mcp__files__Read_File`` as ``readfile``."""
    return tool_name.rpartition("__")[2].lower().replace("_", "").replace("-", "")


def _kind(name: str, arguments: dict[str, Json]) -> ToolKind:
    if name in _EDITORS:
        return "read" if arguments.get("command") == "view" else "change"
    kind = _KINDS.get(name, "other")
    if kind == "other":
        if _string(arguments, _COMMAND_KEYS):
            return "run"
        if _string(arguments, _PATH_KEYS):
            if not _CONTENT_KEYS.isdisjoint(arguments):
                return "change"
            return "read" if "read" in name or "view" in name else "other"
    return kind


def _string(arguments: dict[str, Json], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _command(raw: Json, arguments: dict[str, Json]) -> str:
    if isinstance(raw, str):
        return raw
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, list):
            words = [word for word in value if isinstance(word, str)]
            return words[-1] if words[1:2] in (["-lc"], ["-c"]) else " ".join(words)
    return _string(arguments, _COMMAND_KEYS)


def _touches(
    kind: ToolKind, name: str, raw: Json, arguments: dict[str, Json], command: str
) -> tuple[FileTouch, ...]:
    if kind not in ("read", "change", "run"):
        return ()
    patch = command if kind == "run" else _patch_text(raw, arguments)
    if "*** Begin Patch" in patch:
        return tuple(
            FileTouch(path=path.strip(), action="changed")
            for path in dict.fromkeys(_PATCH_FILE.findall(patch))
        )
    if kind == "run":
        return ()
    lines = _lines(name, arguments)
    return tuple(
        FileTouch(path=path, action="read" if kind == "read" else "changed", lines=lines)
        for path in _paths(arguments)
    )


def _patch_text(raw: Json, arguments: dict[str, Json]) -> str:
    return raw if isinstance(raw, str) else _string(arguments, ("patch", "input", "diff"))


def _paths(arguments: dict[str, Json]) -> list[str]:
    if path := _string(arguments, _PATH_KEYS):
        return [path]
    paths: list[str] = []
    for key in ("paths", "files"):
        items = arguments.get(key)
        for item in items if isinstance(items, list) else []:
            path = _string(item if isinstance(item, dict) else {"path": item}, _PATH_KEYS)
            if path:
                paths.append(path)
    return paths


def _lines(name: str, arguments: dict[str, Json]) -> tuple[LineRange, ...]:
    view = arguments.get("view_range")
    if isinstance(view, list) and len(view) == 2:
        return _line_range(_number(view[0]), _number(view[1]))
    start = _first_number(arguments, ("start_line", "startLine", "insert_line"))
    end = _first_number(arguments, ("end_line", "endLine", "insert_line"))
    if start or end:
        return _line_range(start, end)
    offset = _first_number(arguments, ("offset", "line_offset"))
    limit = _first_number(arguments, ("limit", "n_lines"))
    if not offset and not limit:
        return ()
    first = offset + 1 if name in _ZERO_BASED_TOOLS and "offset" in arguments else offset
    first = max(1, first)
    return _line_range(first, first + limit - 1 if limit > 0 else None)


def _line_range(first: int, last: int | None) -> tuple[LineRange, ...]:
    first = max(1, first)
    return (LineRange(first=first, last=last if last is not None and last >= first else None),)


def _first_number(arguments: dict[str, Json], keys: tuple[str, ...]) -> int:
    return next((_number(arguments[key]) for key in keys if key in arguments), 0)


def _number(value: Json) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _target(
    kind: ToolKind,
    touches: tuple[FileTouch, ...],
    command: str,
    raw: Json,
    arguments: dict[str, Json],
) -> str:
    if command:
        return _same_command(command)
    if touches:
        return ", ".join(touch.path for touch in touches)
    if query := _string(arguments, _QUERY_KEYS):
        return " ".join(part for part in (query, _string(arguments, _PATH_KEYS)) if part)
    if path := _string(arguments, _PATH_KEYS):
        return path
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def _same_command(command: str) -> str:
    """Drop what agents vary around one command: a leading ``cd``, a trailing ``| tail``."""
    line = one_line(command)
    return _OUTPUT_TRIM.sub("", _CHANGE_DIRECTORY.sub("", line, count=1)) or line


def _todos(arguments: dict[str, Json]) -> tuple[Todo, ...]:
    for key in _LIST_KEYS:
        items = arguments.get(key)
        if isinstance(items, str):
            return tuple(
                Todo(text=one_line(text), status=_TODO_STATUSES.get(mark.lower(), "pending"))
                for mark, text in _TODO_LINE.findall(items)
            )
        if isinstance(items, list):
            return tuple(todo for item in items if isinstance(item, dict) for todo in _todo(item))
    return ()


def _todo(item: dict[str, Json]) -> tuple[Todo, ...]:
    text = _string(item, _TODO_TEXT_KEYS)
    status = _string(item, ("status", "state")).lower()
    if not text:
        return ()
    return (Todo(text=one_line(text), status=_TODO_STATUSES.get(status, "pending")),)
