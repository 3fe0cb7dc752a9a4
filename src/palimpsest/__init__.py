"""Context compaction for LLM agents that never loses a word."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest._version import __version__ as __version__

__all__ = ["__version__"]

_HOMES = {
    "__version__": "palimpsest._version",
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
