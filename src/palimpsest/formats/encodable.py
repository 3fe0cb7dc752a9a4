"""Values that can be sent: text without lone surrogates, which no request or answer could carry."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar, cast

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
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
            found = {name: _encodable(item) for name, item in fields.items()}
            changes = {name: item for name, item in found.items() if item is not fields[name]}
            return dataclasses.replace(value, **changes) if changes else value
        case _:
            return value


def _differ(changed: list[object], items: list[object] | tuple[object, ...]) -> bool:
    return any(new is not old for new, old in zip(changed, items, strict=True))


def _encodable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
