"""The tools of a coding session; pydantic-ai-harness brings them, the preset says which.

Imported on use: the extra ``agent`` is optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic_ai.capabilities import AbstractCapability, LocalWorkspace
from pydantic_ai_harness.filesystem import FileSystem
from pydantic_ai_harness.repo_context import RepoContext
from pydantic_ai_harness.shell import Shell
from pydantic_ai_harness.skills import Skills

from palimpsest.session.permissions import PermissionPreset
from palimpsest.session.sandbox import sandboxed_workspace


def coding_capabilities(
    cwd: Path,
    *,
    preset: PermissionPreset,
    sandboxed: bool,
    reads_instruction_files: bool,
    skill_directories: Sequence[str],
) -> list[AbstractCapability[None]]:
    """Give files, commands, project context and skills.

    Args:
        cwd: the project's folder.
        preset: ``read-only`` has no commands.
        sandboxed: run commands and file operations in a sandbox.
        reads_instruction_files: AGENTS.md and CLAUDE.md, read anew for every prompt.
        skill_directories: folders of skills that the model may load.
    """
    capabilities: list[AbstractCapability[None]] = [
        *(sandboxed_workspace(cwd) if sandboxed else [LocalWorkspace[None](cwd)]),
        FileSystem(root_dir=cwd, read_only=preset == "read-only"),
    ]
    if preset != "read-only":
        capabilities.append(Shell())
    if reads_instruction_files:
        capabilities.append(RepoContext())
    if skill_directories:
        capabilities.append(Skills(directories=list(skill_directories)))
    return capabilities
