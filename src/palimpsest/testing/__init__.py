"""Doubles for tests: a scripted model, a frozen clock, failures and sample histories."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.models.script import Call as Call
    from palimpsest.models.script import Gate as Gate
    from palimpsest.models.script import Reply as Reply
    from palimpsest.models.script import ScriptEndedError as ScriptEndedError
    from palimpsest.models.scripted import ScriptedModel as ScriptedModel
    from palimpsest.models.seen import SeenRequest as SeenRequest
    from palimpsest.testing.clock import FrozenClock as FrozenClock
    from palimpsest.testing.faults import FailingStore as FailingStore
    from palimpsest.testing.faults import FaultyFiles as FaultyFiles
    from palimpsest.testing.faults import SimulatedCrash as SimulatedCrash
    from palimpsest.testing.provider_errors import OVERFLOWS as OVERFLOWS
    from palimpsest.testing.sample_histories import SAMPLE_HISTORIES as SAMPLE_HISTORIES
    from palimpsest.testing.sample_histories import image_history as image_history
    from palimpsest.testing.sample_histories import short_history as short_history
    from palimpsest.testing.sample_histories import tool_history as tool_history
    from palimpsest.testing.sample_histories import unanswered_history as unanswered_history

_HOMES = {
    "Call": "palimpsest.models.script",
    "FailingStore": "palimpsest.testing.faults",
    "FaultyFiles": "palimpsest.testing.faults",
    "SimulatedCrash": "palimpsest.testing.faults",
    "FrozenClock": "palimpsest.testing.clock",
    "Gate": "palimpsest.models.script",
    "OVERFLOWS": "palimpsest.testing.provider_errors",
    "Reply": "palimpsest.models.script",
    "SAMPLE_HISTORIES": "palimpsest.testing.sample_histories",
    "ScriptEndedError": "palimpsest.models.script",
    "ScriptedModel": "palimpsest.models.scripted",
    "SeenRequest": "palimpsest.models.seen",
    "image_history": "palimpsest.testing.sample_histories",
    "short_history": "palimpsest.testing.sample_histories",
    "tool_history": "palimpsest.testing.sample_histories",
    "unanswered_history": "palimpsest.testing.sample_histories",
}

__all__ = [
    "OVERFLOWS",
    "SAMPLE_HISTORIES",
    "Call",
    "FailingStore",
    "FrozenClock",
    "Gate",
    "Reply",
    "ScriptEndedError",
    "ScriptedModel",
    "SeenRequest",
    "image_history",
    "short_history",
    "tool_history",
    "unanswered_history",
]


def __getattr__(name: str) -> object:
    """Resolve a public name on first use.

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
