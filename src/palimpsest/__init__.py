"""Context compaction for LLM agents that never loses a word."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest._version import __version__ as __version__
    from palimpsest.core.errors import ContextBudgetExceededError as ContextBudgetExceededError
    from palimpsest.core.errors import ForeignStateError as ForeignStateError
    from palimpsest.core.errors import InvalidMessageError as InvalidMessageError
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
    from palimpsest.integrations.compactor import CompactedMessages as CompactedMessages
    from palimpsest.integrations.compactor import CompactorSettings as CompactorSettings
    from palimpsest.integrations.messages import compact_messages as compact_messages
    from palimpsest.integrations.messages import message_compactor as message_compactor
    from palimpsest.integrations.messages import prune_messages as prune_messages
    from palimpsest.integrations.messages import run_sync as run_sync
    from palimpsest.integrations.pydantic_ai import wrap as wrap
    from palimpsest.models.compacting import CompactingModel as CompactingModel
    from palimpsest.models.engine import EngineSettings as EngineSettings
    from palimpsest.models.limits import LimitChoices as LimitChoices
    from palimpsest.models.resolve import CompatibleEndpoint as CompatibleEndpoint
    from palimpsest.models.state import CompactionState as CompactionState
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

_HOMES = {
    "AgentSession": "palimpsest.session.agent_session",
    "CompactedMessages": "palimpsest.integrations.compactor",
    "CompactingModel": "palimpsest.models.compacting",
    "CompactionState": "palimpsest.models.state",
    "CompactorSettings": "palimpsest.integrations.compactor",
    "CompatibleEndpoint": "palimpsest.models.resolve",
    "ContextBudgetExceededError": "palimpsest.core.errors",
    "EngineSettings": "palimpsest.models.engine",
    "ForeignStateError": "palimpsest.core.errors",
    "InvalidMessageError": "palimpsest.core.errors",
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
    "compact_messages": "palimpsest.integrations.messages",
    "count_user_turns": "palimpsest.formats.classic",
    "create_agent_session": "palimpsest.session.create",
    "estimate_part_tokens": "palimpsest.formats.classic",
    "get_prune_thresholds": "palimpsest.formats.classic",
    "is_tool_return_part": "palimpsest.formats.classic",
    "message_compactor": "palimpsest.integrations.messages",
    "prune_messages": "palimpsest.integrations.messages",
    "prune_old_tool_outputs": "palimpsest.formats.classic",
    "prune_part_content": "palimpsest.formats.classic",
    "run_sync": "palimpsest.integrations.messages",
    "wrap": "palimpsest.integrations.pydantic_ai",
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
