"""How much fits: the budget of one request, in tokens and in bytes (SPEC section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.core.errors import InvalidSettingError

DEFAULT_WINDOW_TOKENS = 128_000
"""Used, and said so, when no source knows the model's window."""

DEFAULT_BYTE_LIMIT = 24 * 1024 * 1024
"""Bytes of one request: UTF-8 of rendered content plus base64 of media."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The size of a request in both of its limits."""

    tokens: int
    bytes: int

    def __add__(self, other: Measure) -> Measure:
        return Measure(tokens=self.tokens + other.tokens, bytes=self.bytes + other.bytes)


NOTHING = Measure(tokens=0, bytes=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of one request.

    Attributes:
        window: context window of the model, tokens, positive.
        reserved_output: tokens held back for the answer, positive.
        byte_limit: bytes that may be sent at once, positive, inclusive.

    Raises:
        InvalidSettingError: a value is no positive integer.
    """

    window: int
    reserved_output: int
    byte_limit: int = DEFAULT_BYTE_LIMIT

    def __post_init__(self) -> None:
        require_positive_integer("window", self.window)
        require_positive_integer("reserved_output", self.reserved_output)
        require_positive_integer("byte_limit", self.byte_limit)

    @property
    def safety(self) -> int:
        """Tokens held back for what estimates miss."""
        return min(4096, -(-self.window // 20))

    @property
    def largest_fitting(self) -> int:
        """Largest estimate that fits, inclusive; negative when nothing ever fits."""
        return self.window - self.reserved_output - self.safety

    @property
    def input_limit(self) -> int:
        """``largest_fitting``, not below zero: the denominator of pressure."""
        return max(0, self.largest_fitting)

    @property
    def retention(self) -> int:
        """Tokens of newest turns that a compaction keeps verbatim."""
        return max(256, min(self.window // 5, 20_000))

    @property
    def pressured_at(self) -> int:
        """Smallest estimate under pressure, in tokens."""
        return -(-9 * self.input_limit // 10)

    def pressured(self, measure: Measure) -> bool:
        """Whether either measure has reached 90 % of its limit; exactly 90 % is pressure."""
        return (
            10 * measure.tokens >= 9 * self.input_limit or 10 * measure.bytes >= 9 * self.byte_limit
        )

    def fits(self, measure: Measure) -> bool:
        """Whether a request of this size may be sent; exactly at a limit fits."""
        return measure.tokens <= self.largest_fitting and measure.bytes <= self.byte_limit

    def reduces(self, before: Measure, after: Measure, *, pressure: Measure | None = None) -> bool:
        """Whether ``after`` is a reduction of ``before`` worth saving.

        Every measure under pressure must become strictly smaller (tokens, if none is), and no
        measure that was within its limit may be pushed past it.

        Args:
            before: local size of the request as it is.
            after: local size of the candidate, by the same estimate.
            pressure: the request's size as well as is known; says which measure is under
                pressure. None takes ``before``.
        """
        known = before if pressure is None else pressure
        over_bytes = 10 * known.bytes >= 9 * self.byte_limit
        over_tokens = 10 * known.tokens >= 9 * self.input_limit or not over_bytes
        shrinks = (after.tokens < before.tokens or not over_tokens) and (
            after.bytes < before.bytes or not over_bytes
        )
        return shrinks and not (
            before.tokens <= self.largest_fitting < after.tokens
            or before.bytes <= self.byte_limit < after.bytes
        )


def require_positive_integer(name: str, value: object) -> None:
    """Refuse anything but a positive integer; booleans and floats are none.

    Raises:
        InvalidSettingError: with the name and the value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise InvalidSettingError(name, value, "a positive whole number")


def default_max_output(window: int) -> int:
    """Give the largest answer assumed for a model that names none."""
    return max(1, min(16_384, window // 4))


def output_reserve(*, max_output: int, cap: int | None = None, thinking: int = 0) -> int:
    """Give the tokens to hold back for an answer.

    Args:
        max_output: largest answer of the model.
        cap: the caller's limit for this answer, if any.
        thinking: thinking budget the payload carries where the provider counts it inside the cap.

    Raises:
        InvalidSettingError: ``max_output`` or ``cap`` is no positive integer.
    """
    require_positive_integer("max_output", max_output)
    if cap is not None:
        require_positive_integer("cap", cap)
    answer = max_output if cap is None else min(cap, max_output)
    return min(answer + thinking, max_output)
