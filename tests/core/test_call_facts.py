from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.call_facts import (
    CallFacts,
    FileTouch,
    LineRange,
    Todo,
    ToolKind,
    call_facts,
    one_line,
)
from palimpsest.core.excerpt import Json, ToolCall


def facts(tool_name: str, arguments: Json) -> CallFacts:
    return call_facts(ToolCall(call_id="1", tool_name=tool_name, arguments=arguments))


@pytest.mark.parametrize(
    ("tool_name", "arguments", "kind", "target"),
    [
        ("Read", {"file_path": "/a.py"}, "read", "/a.py"),
        ("mcp__files__read_file", {"path": "a.py"}, "read", "a.py"),
        ("ReadFile", {"path": "a.py"}, "read", "a.py"),
        ("view", {"path": "a.py"}, "read", "a.py"),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "read", "a.py"),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, "change", "a.py"),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a"}, "change", "a"),
        ("Edit", {"file_path": "a.py", "old_string": "x"}, "change", "a.py"),
        ("edit", {"path": "a.py", "oldText": "x", "newText": "y"}, "change", "a.py"),
        ("write_to_file", {"path": "a.py", "content": ""}, "change", "a.py"),
        ("replace_in_file", {"path": "a.py", "diff": ""}, "change", "a.py"),
        ("Bash", {"command": "cd /x && make  2>&1 | tail -5"}, "run", "make"),
        ("execute_bash", {"command": "make | head -n 20"}, "run", "make"),
        ("exec_command", {"cmd": "make"}, "run", "make"),
        ("shell", {"command": ["bash", "-lc", "make all"]}, "run", "make all"),
        ("shell", {"command": ["git", "status", 3]}, "run", "git status"),
        ("run_shell_command", {"command": "cd /x"}, "run", "cd /x"),
        ("execute_command", {"command": "make\nall"}, "run", "make all"),
        ("bash", "make", "run", "make"),
        ("bash", {"command": ""}, "run", '{"command": ""}'),
        ("Grep", {"pattern": "x", "path": "src"}, "search", "x src"),
        ("list_directory", {"path": "src"}, "search", "src"),
        ("Glob", {"pattern": "*.py"}, "search", "*.py"),
        ("TodoWrite", {"todos": []}, "plan", '{"todos": []}'),
        ("my_terminal", {"command": "ls"}, "run", "ls"),
        ("save", {"path": "a.py", "content": "x"}, "change", "a.py"),
        ("quick_view", {"path": "a.py"}, "read", "a.py"),
        ("remember", {"path": "a.py"}, "other", "a.py"),
        ("Task", {"description": "look", "prompt": "long"}, "other", "look"),
        ("odd", "not json", "other", "not json"),
        ("odd", None, "other", "null"),
        ("odd", {"x": "中"}, "other", '{"x": "中"}'),
    ],
)
def test_kind_and_target(tool_name: str, arguments: Json, kind: ToolKind, target: str) -> None:
    found = facts(tool_name, arguments)
    assert (found.kind, found.target) == (kind, target)


@pytest.mark.parametrize(
    ("tool_name", "arguments", "lines"),
    [
        ("Read", {}, ()),
        ("Read", {"offset": 10, "limit": 5}, (LineRange(first=10, last=14),)),
        ("read", {"offset": 10}, (LineRange(first=10, last=None),)),
        ("Read", {"limit": 50}, (LineRange(first=1, last=50),)),
        ("read_file", {"offset": 10, "limit": 5}, (LineRange(first=11, last=15),)),
        ("read_file", {"limit": 5}, (LineRange(first=1, last=5),)),
        ("ReadFile", {"line_offset": 3, "n_lines": 2}, (LineRange(first=3, last=4),)),
        ("view", {"view_range": [2, 8]}, (LineRange(first=2, last=8),)),
        ("view", {"view_range": [2, -1]}, (LineRange(first=2, last=None),)),
        ("view", {"view_range": [2]}, ()),
        ("read_file", {"start_line": 4, "end_line": 9}, (LineRange(first=4, last=9),)),
        ("read_file", {"start_line": "4"}, (LineRange(first=4, last=None),)),
        ("read_file", {"start_line": True, "end_line": 9.5}, ()),
        ("insert_content", {"insert_line": 7}, (LineRange(first=7, last=7),)),
    ],
)
def test_line_ranges(
    tool_name: str, arguments: dict[str, Json], lines: tuple[LineRange, ...]
) -> None:
    (touch,) = facts(tool_name, {"path": "a.py", **arguments}).touches
    assert touch.lines == lines


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n*** End Patch"
CHANGED = (FileTouch(path="a.py", action="changed"), FileTouch(path="b.py", action="changed"))
READ = (FileTouch(path="a.py", action="read"), FileTouch(path="b.py", action="read"))


@pytest.mark.parametrize(
    ("tool_name", "arguments", "touches"),
    [
        ("apply_patch", PATCH, CHANGED),
        ("apply_patch", {"input": PATCH}, CHANGED),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}, CHANGED),
        ("shell", {"command": "cat a.py"}, ()),
        ("read_many_files", {"paths": ["a.py", "b.py", "", 3]}, READ),
        ("read_file", {"files": [{"path": "a.py"}, {"path": "b.py"}, {}]}, READ),
        ("Grep", {"path": "a.py", "pattern": "x"}, ()),
    ],
)
def test_files_of_several_shapes(
    tool_name: str, arguments: Json, touches: tuple[FileTouch, ...]
) -> None:
    assert facts(tool_name, arguments).touches == touches


TODOS = (
    Todo(text="first thing", status="completed"),
    Todo(text="second", status="in_progress"),
    Todo(text="third", status="pending"),
)


@pytest.mark.parametrize(
    ("tool_name", "arguments"),
    [
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "first\nthing", "status": "completed"},
                    {"content": "second", "status": "in_progress"},
                    {"content": "third", "status": "pending"},
                    {"status": "pending"},
                    "no entry",
                ]
            },
        ),
        (
            "update_plan",
            {
                "plan": [
                    {"step": "first thing", "status": "done"},
                    {"step": "second", "status": "in_progress"},
                    {"step": "third"},
                ]
            },
        ),
        ("update_todo_list", {"todos": "[x] first thing\n- [-] second\n[ ] third\nno entry"}),
    ],
)
def test_task_lists(tool_name: str, arguments: Json) -> None:
    assert facts(tool_name, arguments).todos == TODOS


def test_a_plan_call_without_a_list_states_none() -> None:
    assert facts("TodoWrite", {"todos": 3}).todos == ()


def test_one_line() -> None:
    assert one_line(" a\n\tb ") == "a b"
    assert one_line("abcdef", 4) == "abc…"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "command", "todos", "view_range", "offset", "files"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.sampled_from(["Read", "shell", "TodoWrite", "str_replace_editor", "x"]), _JSON)
def test_any_arguments_are_read(tool_name: str, arguments: Json) -> None:
    assert "\n" not in facts(tool_name, arguments).target
