"""The web page and its API, over a host of many sessions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.web.access import Access as Access
    from palimpsest.web.app import create_app as create_app

__all__ = ["Access", "create_app"]

_HOMES = {"Access": "palimpsest.web.access", "create_app": "palimpsest.web.app"}


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
