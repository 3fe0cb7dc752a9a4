"""The one set of histories for every library, in a shape that belongs to none of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias

LINE = "def handler_{0}(request, context): return context.render({0}, request)\n"
CHARACTERS_PER_TOKEN = 4
REPLY = "I read it."


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message: what the person asks."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """Two messages: a reply that calls a tool, and the tool's result.

    ``input_tokens`` is what the provider counted for the request that the reply answers; None where
    it counts nothing.
    """

    number: int
    result: str
    input_tokens: int | None

    @property
    def call_id(self) -> str:
        return f"call_{self.number}"


Item: TypeAlias = Prompt | Step


@dataclass(frozen=True, slots=True)
class Shape:
    """So many messages in so many turns of the person, with or without the provider's counts."""

    messages: int
    turns: int
    usage: bool

    def __str__(self) -> str:
        usage = "usage" if self.usage else "no usage"
        return f"{self.messages:,} messages, {self.turns} turns, {usage}"


SHAPES = [
    *(Shape(2_000, turns, usage) for usage, turns in product((True, False), (10, 1, 100))),
    Shape(20_000, 10, usage=True),
    Shape(20_000, 10, usage=False),
]


@cache
def tool_text(number: int) -> str:
    """A tool's result of 2 to 8 KB that differs from the others."""
    return "".join(LINE.format(number * 100 + line) for line in range(30 + number * 37 % 90))


def items(shape: Shape) -> Iterator[Item]:
    """The history, oldest first; it ends with a tool's result, as a request does."""
    steps = (shape.messages - shape.turns) // 2
    tokens = 0
    for number in range(steps):
        if number * shape.turns // steps != (number - 1) * shape.turns // steps:
            yield Prompt(f"Look at part {number}, and at what belongs to it.")
        result = tool_text(number)
        yield Step(number, result, tokens if shape.usage and tokens else None)
        tokens += (len(result) + 100) // CHARACTERS_PER_TOKEN


def size_tokens(shape: Shape) -> int:
    """What the history comes to, at four characters a token."""
    texts = (item.text if isinstance(item, Prompt) else item.result for item in items(shape))
    return sum(len(text) + 100 for text in texts) // CHARACTERS_PER_TOKEN
