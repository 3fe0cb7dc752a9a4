"""Arguments of tool calls as JSON values, whatever a dialect stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic_core import from_json

from palimpsest.core.excerpt import Json


def parse_arguments(arguments: str | Mapping[str, object] | None) -> Json:
    """Give the arguments of a call as JSON; text that does not parse is given as it is."""
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, str):
        return cast("Json", dict(arguments))
    try:
        # As bytes, since a lone surrogate in text would be a TypeError.
        return cast("Json", from_json(arguments.encode("utf-8", "surrogatepass")))
    except ValueError:
        return arguments


def is_complete(arguments: str) -> bool:
    """Whether argument text does not break off: it is JSON, or empty as some models write none."""
    try:
        from_json(arguments.encode("utf-8", "surrogatepass"))
    except ValueError:
        return not arguments
    return True
