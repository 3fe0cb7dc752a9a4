"""Commands in a bubblewrap sandbox: the project can be written, nothing else; there is no network.

Imported on use: the extra ``agent`` is optional.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic_ai.capabilities import AbstractCapability, Capability, LocalWorkspace
from pydantic_ai.workspaces import (
    LocalWorkspaceBackend,
    Workspace,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)
from pydantic_ai_harness.bubblewrap_sandbox import BubblewrapSandbox, BubblewrapWorkspace

SECRETS = (".aws", ".azure", ".config/gcloud", ".docker", ".gnupg", ".kube", ".ssh")
"""Folders of a home folder that hold credentials; a command finds them empty."""

SANDBOX_NOTE = (
    "Commands run in a sandbox: they can write in the working directory only and have no network."
)
"""Instructions for the model, so that it does not take the sandbox for a fault of the project."""


async def can_sandbox(cwd: Path) -> bool:
    """Try whether commands in this folder can be run in a sandbox.

    Not where bubblewrap is missing, user namespaces are off, or the folder holds the home folder:
    too much of a person's own would then be open to writing.
    """
    if not sys.platform.startswith("linux") or shutil.which("bwrap") is None or _holds_home(cwd):
        return False
    workspace = BubblewrapWorkspace(Workspace(LocalWorkspaceBackend(cwd)))
    try:
        tried = await workspace.run(["true"])
    except (WorkspaceUnavailableError, WorkspaceTimeoutError):
        return False
    return tried.exit_code == 0


def _holds_home(cwd: Path) -> bool:
    return Path.home().resolve().is_relative_to(cwd.resolve())


def sandboxed_workspace(cwd: Path) -> list[AbstractCapability[None]]:
    """Give the workspace whose commands and file operations run in the sandbox, and say so."""
    workspace = LocalWorkspace[None](cwd)
    return [
        BubblewrapSandbox(workspace, bwrap_args=[*_hiding(cwd)]),
        Capability(instructions=SANDBOX_NOTE),
    ]


def _hiding(cwd: Path) -> Iterator[str]:
    """Hide what exists, unless the project itself stands there."""
    for name in SECRETS:
        folder = Path.home() / name
        if folder.is_dir() and not cwd.resolve().is_relative_to(folder.resolve()):
            yield from ("--tmpfs", str(folder))
