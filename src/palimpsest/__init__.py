"""Context compaction for LLM agents that never loses a word."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest._version import __version__ as __version__
    from palimpsest.core.errors import ContextBudgetExceededError as ContextBudgetExceededError
    from palimpsest.core.errors import NothingToCompactError as NothingToCompactError
    from palimpsest.core.errors import PalimpsestError as PalimpsestError
    from palimpsest.core.errors import PendingSaveError as PendingSaveError
    from palimpsest.core.errors import SaveFailedError as SaveFailedError
    from palimpsest.core.errors import SessionBusyError as SessionBusyError
    from palimpsest.core.placeholder import PRUNE_PLACEHOLDER as PRUNE_PLACEHOLDER
    from palimpsest.core.pruning import PRUNE_MIN_USER_TURNS as PRUNE_MIN_USER_TURNS
    from palimpsest.core.pruning import PRUNE_MINIMUM_THRESHOLD as PRUNE_MINIMUM_THRESHOLD
    from palimpsest.core.pruning import PRUNE_PROTECT_TOKENS as PRUNE_PROTECT_TOKENS
    from palimpsest.formats.classic import count_user_turns as count_user_turns
    from palimpsest.formats.classic import estimate_part_tokens as estimate_part_tokens
    from palimpsest.formats.classic import get_prune_thresholds as get_prune_thresholds
    from palimpsest.formats.classic import is_tool_return_part as is_tool_return_part
    from palimpsest.formats.classic import prune_old_tool_outputs as prune_old_tool_outputs
    from palimpsest.formats.classic import prune_part_content as prune_part_content
    from palimpsest.models.compacting import CompactingModel as CompactingModel
    from palimpsest.models.engine import EngineSettings as EngineSettings
    from palimpsest.models.limits import LimitChoices as LimitChoices
    from palimpsest.models.resolve import CompatibleEndpoint as CompatibleEndpoint
    from palimpsest.session.agent_session import AgentSession as AgentSession
    from palimpsest.session.create import create_agent_session as create_agent_session
    from palimpsest.session.host import SessionHost as SessionHost
    from palimpsest.session.manager import SessionManager as SessionManager
    from palimpsest.session.mcp import McpHttpServer as McpHttpServer
    from palimpsest.session.mcp import McpStdioServer as McpStdioServer
    from palimpsest.session.settings import SessionSettings as SessionSettings

__all__ = [
    "PRUNE_MINIMUM_THRESHOLD",
    "PRUNE_MIN_USER_TURNS",
    "PRUNE_PLACEHOLDER",
    "PRUNE_PROTECT_TOKENS",
    "AgentSession",
    "CompactingModel",
    "CompatibleEndpoint",
    "ContextBudgetExceededError",
    "EngineSettings",
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
    "count_user_turns",
    "create_agent_session",
    "estimate_part_tokens",
    "get_prune_thresholds",
    "is_tool_return_part",
    "prune_old_tool_outputs",
    "prune_part_content",
]

_HOMES = {
    "AgentSession": "palimpsest.session.agent_session",
    "CompactingModel": "palimpsest.models.compacting",
    "CompatibleEndpoint": "palimpsest.models.resolve",
    "ContextBudgetExceededError": "palimpsest.core.errors",
    "EngineSettings": "palimpsest.models.engine",
    "LimitChoices": "palimpsest.models.limits",
    "McpHttpServer": "palimpsest.session.mcp",
    "McpStdioServer": "palimpsest.session.mcp",
    "NothingToCompactError": "palimpsest.core.errors",
    "PRUNE_MINIMUM_THRESHOLD": "palimpsest.core.pruning",
    "PRUNE_MIN_USER_TURNS": "palimpsest.core.pruning",
    "PRUNE_PLACEHOLDER": "palimpsest.core.placeholder",
    "PRUNE_PROTECT_TOKENS": "palimpsest.core.pruning",
    "PalimpsestError": "palimpsest.core.errors",
    "PendingSaveError": "palimpsest.core.errors",
    "SaveFailedError": "palimpsest.core.errors",
    "SessionBusyError": "palimpsest.core.errors",
    "SessionHost": "palimpsest.session.host",
    "SessionManager": "palimpsest.session.manager",
    "SessionSettings": "palimpsest.session.settings",
    "__version__": "palimpsest._version",
    "count_user_turns": "palimpsest.formats.classic",
    "create_agent_session": "palimpsest.session.create",
    "estimate_part_tokens": "palimpsest.formats.classic",
    "get_prune_thresholds": "palimpsest.formats.classic",
    "is_tool_return_part": "palimpsest.formats.classic",
    "prune_old_tool_outputs": "palimpsest.formats.classic",
    "prune_part_content": "palimpsest.formats.classic",
}


def __getattr__(name: str) -> object:
    """Resolve a public name on first use, so that importing the package costs nothing.

    Raises:
        AttributeError: the name is not in ``__all__``.
    """
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
