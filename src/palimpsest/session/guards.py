"""What stands between a tool call and the tool: clean arguments, approval, a floor to fall on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ApprovalRequiredToolset

from palimpsest.session.approvals import Approvals
from palimpsest.session.permissions import PermissionPreset

if TYPE_CHECKING:
    from pydantic_ai.capabilities.abstract import (
        RawToolArgs,
        ValidatedToolArgs,
        WrapToolExecuteHandler,
    )

SHELL_TOOLS = frozenset({"run_command", "start_command"})
"""Tools that run what the model wrote."""


def guard_capabilities(
    approvals: Approvals, *, preset: PermissionPreset, sandboxed: bool
) -> list[AbstractCapability[None]]:
    """Give the guards of a preset, outermost first.

    Args:
        approvals: asks the host.
        preset: commands ask first unless access is full.
        sandboxed: commands run in a sandbox, and need not ask.
    """
    guards: list[AbstractCapability[None]] = [
        RefuseDuplicateKeys(),
        HandleDeferredToolCalls(handler=approvals.handle),
        ContainExits(),
    ]
    if preset != "full-access" and not sandboxed:
        guards.insert(0, AskBeforeCommands())
    return guards


@dataclass
class AskBeforeCommands(AbstractCapability[None]):
    """Commands wait for the host's approval."""

    def get_wrapper_toolset(self, toolset: AbstractToolset[None]) -> AbstractToolset[None]:
        """Wrap the agent's tools."""
        return ApprovalRequiredToolset(toolset, approval_required_func=_runs_commands)


def _runs_commands(
    context: RunContext[None], tool: ToolDefinition, arguments: dict[str, Any]
) -> bool:
    del context, arguments
    return tool.name in SHELL_TOOLS


@dataclass
class RefuseDuplicateKeys(AbstractCapability[None]):
    """Arguments that name a key twice are refused, so that what is approved is what runs."""

    async def before_tool_validate(
        self,
        ctx: RunContext[None],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: RawToolArgs,
    ) -> RawToolArgs:
        """Check the arguments as the model wrote them."""
        del ctx, tool_def
        if isinstance(call.args, str):
            repeated = _repeated_key(call.args)
            if repeated is not None:
                raise ModelRetry(f"The arguments name {repeated!r} twice. Name each key once.")
        return args


@dataclass
class ContainExits(AbstractCapability[None]):
    """A tool that ends the program, as much code does on an error, only ends its own call."""

    async def wrap_tool_execute(
        self,
        ctx: RunContext[None],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:  # noqa: ANN401 - a tool gives what it likes
        """Run the tool; its exit is a failure that the model reads."""
        del ctx, call
        try:
            return await handler(args)
        except SystemExit as exit_:
            raise ToolFailed(
                f"The tool {tool_def.name!r} tried to end the program: {exit_.code}"
            ) from exit_


def _repeated_key(text: str) -> str | None:
    found: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found.append(key)
            seen.add(key)
        return dict(pairs)

    try:
        cast("object", json.loads(text, object_pairs_hook=note))
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None
