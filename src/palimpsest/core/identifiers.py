"""Identifiers of a history, weighted by how, and how lately, the agent used them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from palimpsest.core.atoms import count_atoms, is_path

if TYPE_CHECKING:
    from collections.abc import Iterable

IdentifierUse: TypeAlias = Literal["call", "user", "prose", "result"]

USE_WEIGHTS: dict[IdentifierUse, float] = {"call": 6, "user": 6, "prose": 3, "result": 1}
PATH_FACTOR = 1.5
LASTING_SHARE = 0.15
HALF_LIFE_EVENTS = 60
MAX_IDENTIFIERS = 50_000


class Identifier(NamedTuple):
    """An atom with its weight; only the order of weights means something.

    A tuple, since tens of thousands are made with each summary: a dataclass takes twice the time.
    """

    text: str
    weight: float


@dataclass(slots=True)
class _Use:
    """Running sums of one atom; ``recent`` is its halving sum as of ``event``.

    ``factor`` is what its kind counts.
    """

    factor: float
    event: int
    lasting: float
    recent: float

    def halved(self, event: int) -> float:
        """Give the halving sum as of a later event."""
        age: float = 0.5 ** ((event - self.event) / HALF_LIFE_EVENTS)
        return self.recent * age


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
        self._events = now = self._events + 1
        weight = USE_WEIGHTS[use]
        uses = self._uses
        for atom in {atom: None for text in texts for atom in count_atoms(text)}:
            entry = uses.get(atom)
            if entry is None:
                factor = PATH_FACTOR if is_path(atom) else 1.0
                uses[atom] = _Use(factor, event=now, lasting=weight, recent=weight)
                continue
            entry.recent = entry.halved(now) + weight
            entry.lasting += weight
            entry.event = now
        if len(uses) > MAX_IDENTIFIERS:
            kept = self._ranked()[: MAX_IDENTIFIERS // 2]
            self._uses = {atom: uses[atom] for _, atom in kept}

    def heaviest(self) -> tuple[Identifier, ...]:
        """Give all identifiers, heaviest first; equal weights stand in the order of their text."""
        return tuple([Identifier(atom, -weight) for weight, atom in self._ranked()])

    def _ranked(self) -> list[tuple[float, str]]:
        """Give the negative weight of each atom with it, heaviest first."""
        ranked: list[tuple[float, str]] = []
        for atom, use in self._uses.items():
            weight = (LASTING_SHARE * use.lasting + use.halved(self._events)) * use.factor
            ranked.append((-round(weight, 9), atom))
        return sorted(ranked)
