"""Values that can be sent: text without lone surrogates, which no request or answer could carry."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from datetime import datetime
from functools import cache
from operator import is_not
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


def encodable(value: _T) -> _T:
    """Give a value whose text is UTF-8, all through; the same one where it is already.

    A surrogate without its other half becomes U+FFFD, two halves become their character. Looked
    through are lists, tuples, mappings and dataclasses, messages and their parts among them.
    """
    return cast("_T", _encodable(value))


class Pieces:
    """Joins what arrives in pieces, so that no piece that is passed on ends in half a character."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """Give what can be passed on; a first half at its end waits for the next piece."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _encodable_text(text[:-1] if self._half else text)

    def rest(self) -> str:
        """Give what waits when nothing more comes; of half a character U+FFFD."""
        half, self._half = self._half, ""
        return _encodable_text(half)


def _encodable(value: object) -> object:
    """Go through texts, lists, mappings and dataclasses; what is unchanged is not copied."""
    match value:
        case str():
            return _encodable_text(value)
        case None | bool() | int() | float() | datetime():
            return value  # most fields of a message, before the questions that take longer
        case list() | tuple():
            items = cast("list[object] | tuple[object, ...]", value)
            changed = [_encodable(item) for item in items]
            if not _differ(changed, items):
                return items
            return changed if isinstance(items, list) else tuple(changed)
        case Mapping():
            mapping = cast("Mapping[object, object]", value)
            flat = [*mapping.keys(), *mapping.values()]
            changed = [_encodable(item) for item in flat]
            half = len(mapping)
            pairs = zip(changed[:half], changed[half:], strict=True)
            return dict(pairs) if _differ(changed, flat) else mapping
        case _:
            part = cast("Any", value)
            names = _field_names(cast("Hashable", type(part)))
            found = {name: getattr(part, name) for name in names}
            changed = [_encodable(item) for item in found.values()]
            if not _differ(changed, [*found.values()]):
                return part
            return dataclasses.replace(part, **dict(zip(found, changed, strict=True)))


@cache
def _field_names(kind: Hashable) -> tuple[str, ...]:
    """Give the fields that a dataclass is made of; none of any other class."""
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        return ()
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


def _differ(changed: list[object], items: list[object] | tuple[object, ...]) -> bool:
    return any(map(is_not, changed, items))


def _encodable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
