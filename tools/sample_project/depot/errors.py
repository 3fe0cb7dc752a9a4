"""Errors carry a code that reports and tests can rely on."""


class DepotError(Exception):
    """Root of everything Depot raises on purpose."""

    def __init__(self, code: str, field: str, text: str) -> None:
        super().__init__(code, field, text)
        self.code = code
        self.field = field
        self.text = text

    def __str__(self) -> str:
        return f"{self.code}: {self.field} {self.text}"


class RecordError(DepotError):
    """A record breaks a rule of its own fields."""


class BookError(DepotError):
    """Records contradict each other: a key twice, or a key that nobody has."""


class RuleError(DepotError):
    """A rule of the business forbids what was asked for; ``field`` is the rule's number."""
