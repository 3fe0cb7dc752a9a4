"""Write the packaged sample recording: a scripted coding session whose tool results are real.

The sample project is laid out in a scratch folder; every call of the script in
``sample_script.py`` is carried out there; what came back is recorded as OpenAI chat messages.
The same bytes come out every time.

    python tools/make_sample.py [OUTPUT]
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from sample_records import generated_files
from sample_script import MODEL, SYSTEM, TURNS, Arguments, Call, Step

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "src/palimpsest/lab/samples/inventory.json"


class ToolError(Exception):
    """A tool's own refusal: its text goes back to the model."""


class Project:
    """The scratch project and the tools that work in it; paths are relative to ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(
            HERE / "sample_project",
            root,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for path, text in generated_files():
            self._write(path, text)

    def read_file(self, path: str, first: str = "1", last: str = "400") -> str:
        """Lines ``first`` to ``last`` of a file, both included, with their numbers."""
        lines = self._read(path).splitlines()
        chosen = lines[int(first) - 1 : int(last)]
        numbered = [f"{number:>4}  {line}" for number, line in enumerate(chosen, int(first))]
        rest = len(lines) - int(first) + 1 - len(chosen)
        return "\n".join([*numbered, *([f"… {rest} more lines"] if rest else [])])

    def list_files(self, path: str = ".") -> str:
        """Every file below a folder, with its size."""
        return "\n".join(
            f"{file.stat().st_size:>6}  {self._name(file)}" for file in self._files(path)
        )

    def grep(self, pattern: str, path: str = ".") -> str:
        """Lines that match a regular expression."""
        wanted = re.compile(pattern)
        hits = [
            f"{self._name(file)}:{number}: {line}"
            for file in self._files(path)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
            if wanted.search(line)
        ]
        return "\n".join([*hits, f"{len(hits)} matching lines"])

    def write_file(self, path: str, content: str) -> str:
        """Create a file, or write it anew."""
        self._write(path, content)
        return f"wrote {path}, {content.count(chr(10))} lines"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace a passage that stands exactly once in a file."""
        text = self._read(path)
        if text.count(old) != 1:
            raise ToolError(f"error: the old text stands {text.count(old)} times in {path}")
        self._write(path, text.replace(old, new))
        first = text[: text.index(old)].count("\n") + 1
        shown = self.read_file(path, str(max(1, first - 2)), str(first + new.count("\n") + 2))
        return f"edited {path}; it now reads:\n{shown.rpartition(chr(10) + '…')[0] or shown}"

    def run(self, command: str) -> str:
        """Run a Python module in the project and give its exit status and output."""
        program, *arguments = shlex.split(command)
        if program != "python":
            raise ToolError(f"error: {program}: command not found")
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=_bare_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return f"exit status {done.returncode}\n{self._settled(done.stdout)}".rstrip()

    def _settled(self, output: str) -> str:
        """Output without what differs between runs, folders and Python versions."""
        output = output.replace(f"{self.root}{os.sep}", "")
        output = re.sub(
            r'^ +File "(?!depot/|tests/).*\n(?: {4,}.*\n)*', "", output, flags=re.MULTILINE
        )
        output = re.sub(r"^(Ran \d+ tests?) in [\d.]+s$", r"\1", output, flags=re.MULTILINE)
        return re.sub(r"^ +[~^]+ *\n", "", output, flags=re.MULTILINE)

    def _files(self, path: str) -> Iterator[Path]:
        place = self.root / path
        found = [place] if place.is_file() else sorted(place.rglob("*"), key=self._name)
        return (file for file in found if file.is_file())

    def _name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()

    def _read(self, path: str) -> str:
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ToolError(f"error: there is no file {path}") from None

    def _write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


def _bare_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def _declaration(tool: Callable[..., str], required: str, optional: str = "") -> dict[str, object]:
    names = [*required.split(), *optional.split()]
    return {
        "type": "function",
        "function": {
            "name": tool.__name__,
            "description": tool.__doc__,
            "parameters": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in names},
                "required": required.split(),
            },
        },
    }


TOOLS = [
    _declaration(Project.list_files, "", "path"),
    _declaration(Project.read_file, "path", "first last"),
    _declaration(Project.grep, "pattern", "path"),
    _declaration(Project.run, "command"),
    _declaration(Project.edit_file, "path old new"),
    _declaration(Project.write_file, "path content"),
]


def _perform(project: Project, name: str, arguments: Arguments) -> str:
    tools: dict[str, Callable[..., str]] = {
        tool.__name__: tool
        for tool in (
            project.list_files,
            project.read_file,
            project.grep,
            project.run,
            project.edit_file,
            project.write_file,
        )
    }
    try:
        return tools[name](**arguments)
    except ToolError as error:
        return str(error)


def _play(project: Project, step: Step, first_call: int) -> Iterator[dict[str, object]]:
    calls = [(f"call_{first_call + n:03d}", call) for n, call in enumerate(step.calls)]
    yield {
        "role": "assistant",
        "content": step.text,
        "tool_calls": [_recorded(call_id, call) for call_id, call in calls],
    }
    for call_id, call in calls:
        result = _perform(project, call.name, call.arguments)
        yield {"role": "tool", "tool_call_id": call_id, "name": call.name, "content": result}


def _recorded(call_id: str, call: Call) -> dict[str, object]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def record(root: Path) -> dict[str, object]:
    """Play the whole script in ``root`` and give the recording."""
    project = Project(root.resolve())
    messages: list[dict[str, object]] = [{"role": "system", "content": SYSTEM}]
    calls = 0
    for turn in TURNS:
        messages.append({"role": "user", "content": turn.prompt})
        for step in turn.steps:
            messages += _play(project, step, calls + 1)
            calls += len(step.calls)
        messages.append({"role": "assistant", "content": turn.answer})
    return {"model": MODEL, "tools": TOOLS, "messages": messages}


def sample_text() -> str:
    """The packaged file: one message a line, so that a change of the script reads well."""
    with tempfile.TemporaryDirectory() as folder:
        recording = record(Path(folder) / "depot")
    lines = [json.dumps(message, ensure_ascii=False) for message in recording.pop("messages")]
    head = json.dumps(recording, ensure_ascii=False)[:-1]
    return head + ', "messages": [\n' + ",\n".join(lines) + "\n]}\n"


def main() -> None:
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    output.parent.mkdir(parents=True, exist_ok=True)
    text = sample_text()
    output.write_text(text, encoding="utf-8", newline="\n")
    print(f"{output.name}: {len(text):,} characters, {text.count('call_id'):,} tool results")


if __name__ == "__main__":
    main()
