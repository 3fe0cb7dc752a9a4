"""The public names, held by a list: a name is added or removed here on purpose."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import palimpsest

PUBLIC = [
    "PRUNE_MINIMUM_THRESHOLD",
    "PRUNE_MIN_USER_TURNS",
    "PRUNE_PLACEHOLDER",
    "PRUNE_PROTECT_TOKENS",
    "AgentSession",
    "CompactedMessages",
    "CompactingModel",
    "CompactionState",
    "CompactorSettings",
    "CompatibleEndpoint",
    "ContextBudgetExceededError",
    "EngineSettings",
    "ForeignStateError",
    "InvalidMessageError",
    "LimitChoices",
    "McpHttpServer",
    "McpStdioServer",
    "NothingToCompactError",
    "PalimpsestError",
    "PendingSaveError",
    "SaveFailedError",
    "SessionBusyError",
    "SessionHost",
    "SessionManager",
    "SessionSettings",
    "__version__",
    "compact_messages",
    "count_user_turns",
    "create_agent_session",
    "estimate_part_tokens",
    "get_prune_thresholds",
    "is_tool_return_part",
    "message_compactor",
    "prune_messages",
    "prune_old_tool_outputs",
    "prune_part_content",
    "run_sync",
    "wrap",
]

HEAVY = {"pydantic_ai", "pydantic", "typer", "rich", "anthropic", "openai", "google", "httpx2"} | {
    "langchain",
    "langchain_core",
    "agents",
    "pyarrow",
    "distributed",
    "dask",
}


def test_the_public_names_are_these() -> None:
    assert palimpsest.__all__ == PUBLIC
    assert set(palimpsest.__all__) <= set(dir(palimpsest))


@pytest.mark.parametrize("name", palimpsest.__all__)
def test_every_public_name_resolves(name: str) -> None:
    vars(palimpsest).pop(name, None)
    value = getattr(palimpsest, name)
    assert getattr(palimpsest, name) is value


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_ours'"):
        _ = palimpsest.nothing_of_ours


def test_type_checkers_see_every_public_name() -> None:
    tree = ast.parse(Path(str(palimpsest.__file__)).read_text(encoding="utf-8"))
    typed = {
        alias.asname
        for block in tree.body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert typed == set(palimpsest.__all__)


HELP = """
import sys
from palimpsest.cli.entry import run
sys.argv = ["palimpsest", "--help"]
try:
    run()
except SystemExit:
    print()
"""


@pytest.mark.parametrize(
    ("script", "allowed"),
    [
        pytest.param("import palimpsest", set[str](), id="the package"),
        pytest.param("import palimpsest.cli.main", {"typer"}, id="the command line"),
        pytest.param(HELP, {"typer"}, id="--help"),
    ],
)
def test_nothing_heavy_is_imported(script: str, allowed: set[str]) -> None:
    script += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert HEAVY.intersection(done.stdout.splitlines()[-1].split()) <= allowed


def test_the_package_alone_imports_none_of_its_modules() -> None:
    script = (
        "import sys, palimpsest; print(*(name for name in sys.modules if 'palimpsest' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["palimpsest"]
