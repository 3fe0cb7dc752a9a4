"""Identifiers of a history, weighted by how, and how lately, the agent used them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from palimpsest.core.atoms import count_atoms, is_path

if TYPE_CHECKING:
    from collections.abc import Iterable

IdentifierUse: TypeAlias = Literal["call", "user", "prose", "result"]

USE_WEIGHTS: dict[IdentifierUse, float] = {"call": 6, "user": 6, "prose": 3, "result": 1}
PATH_FACTOR = 1.5
LASTING_SHARE = 0.15
HALF_LIFE_EVENTS = 60
MAX_IDENTIFIERS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """An atom with its weight; only the order of weights means something."""

    text: str
    weight: float


@dataclass(slots=True)
class _Use:
    """Running sums of one atom; ``recent`` is its halving sum as of ``event``."""

    lasting: float = 0.0
    recent: float = 0.0
    event: int = 0


@dataclass(slots=True)
class IdentifierWeights:
    """Folds texts, oldest first, into weighted identifiers; each text is one event.

    An atom gains, for every event it stands in, the weight of that use times ``0.15 + 0.5 ** (age
    / 60)``, its age counted in events; paths count one and a half times. The fold is exact however
    it is divided into calls. Beyond 50,000 atoms the lightest half is forgotten, so that memory
    does not follow the history.
    """

    _events: int = 0
    _uses: dict[str, _Use] = field(default_factory=dict[str, _Use])

    def add(self, use: IdentifierUse, texts: Iterable[str]) -> None:
        """Fold one event; ``texts`` are its parts, such as the strings of a call's arguments."""
        self._events += 1
        weight = USE_WEIGHTS[use]
        found: dict[str, None] = {}
        for text in texts:
            found.update(dict.fromkeys(count_atoms(text)))
        for atom in found:
            entry = self._uses.get(atom)
            if entry is None:
                entry = self._uses[atom] = _Use(event=self._events)
            entry.recent = self._recent(entry) + weight
            entry.lasting += weight
            entry.event = self._events
        if len(self._uses) > MAX_IDENTIFIERS:
            kept = self.heaviest()[: MAX_IDENTIFIERS // 2]
            self._uses = {item.text: self._uses[item.text] for item in kept}

    def heaviest(self) -> tuple[Identifier, ...]:
        """Give all identifiers, heaviest first; equal weights stand in the order of their text."""
        weighted = sorted((-self._weight(atom, use), atom) for atom, use in self._uses.items())
        return tuple(Identifier(text=atom, weight=-weight) for weight, atom in weighted)

    def _recent(self, use: _Use) -> float:
        age: float = 0.5 ** ((self._events - use.event) / HALF_LIFE_EVENTS)
        return use.recent * age

    def _weight(self, atom: str, use: _Use) -> float:
        weight = LASTING_SHARE * use.lasting + self._recent(use)
        return round(weight * (PATH_FACTOR if is_path(atom) else 1.0), 9)
