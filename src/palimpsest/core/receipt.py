"""The receipt of one compaction: what it kept, dropped and can bring back; computed, not claimed.

A receipt is stored with its checkpoint and never sent to a model.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from palimpsest.core.atoms import count_atoms
from palimpsest.core.extractive import line_range_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from palimpsest.core.excerpt import Json
    from palimpsest.core.ledger import FileFact, Ledger

CompactionTrigger: TypeAlias = Literal["manual", "automatic", "overflow", "model_switch"]

MAX_FACTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionFigures:
    """Numbers of one compaction, given by the shell.

    Attributes:
        tokens_before: the whole request before, by the meter's measure.
        tokens_after: the whole request after, by the same measure.
        outputs_cleared: tool outputs that stand as placeholders in the new view.
        cost_usd: of the summary calls; None where no price is known.
        warnings: about the summary, in the order in which they arose.
    """

    trigger: CompactionTrigger
    tokens_before: int
    tokens_after: int
    messages_summarised: int
    messages_kept: int
    turns_summarised: int
    turns_kept: int
    steps_summarised: int
    steps_kept: int
    outputs_cleared: int
    duration_ms: int
    cost_usd: float | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of the ledger.

    Attributes:
        text: the path, command, error or rule.
        detail: what else is known: line ranges, ``exit 1``, a test's closing line; may be empty.
        message_index: where it stands in history.
        in_view: ``text`` stands word for word in the new view; otherwise in the originals only.
    """

    text: str
    detail: str
    message_index: int
    in_view: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of one sort, oldest first: the newest 200 in full, all of them counted."""

    newest: tuple[Fact, ...]
    in_view: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifierCounts:
    """Identifiers of the summarised messages: those in the new view, and all."""

    in_view: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one compaction did.

    Attributes:
        reduced: the request became strictly smaller.
        user_rules: sentences of the user that look like rules, found by pattern.
    """

    figures: CompactionFigures
    reduced: bool
    files_read: Facts
    files_changed: Facts
    commands: Facts
    open_errors: Facts
    user_rules: Facts
    identifiers: IdentifierCounts


def build_receipt(figures: CompactionFigures, ledger: Ledger, view_text: str) -> Receipt:
    """Compare the facts of the summarised messages with the new view.

    Args:
        figures: the numbers.
        ledger: folded from the messages that the summary replaced.
        view_text: every text of the new view that the model reads: summary and kept messages. A
            fact stands in it if it occurs there exactly, white space aside.
    """
    view = f" {' '.join(view_text.split())} "
    read = [fact for fact in ledger.files if fact.action == "read"]
    changed = [fact for fact in ledger.files if fact.action == "changed"]
    rules = [(rule.text, "", rule.message_index) for rule in ledger.user_rules]
    commands = [
        (fact.command, _outcome(fact.exit_code, fact.failed, fact.test_line), fact.message_index)
        for fact in ledger.commands
    ]
    errors = [
        (fact.error or fact.target, f"{fact.tool_name} {fact.target}", fact.message_index)
        for fact in ledger.open_errors
    ]
    in_view_atoms = count_atoms(view_text)
    return Receipt(
        figures=figures,
        reduced=figures.tokens_after < figures.tokens_before,
        files_read=_facts(map(_file, read), view),
        files_changed=_facts(map(_file, changed), view),
        commands=_facts(commands, view),
        open_errors=_facts(errors, view),
        user_rules=_facts(rules, view),
        identifiers=IdentifierCounts(
            in_view=sum(item.text in in_view_atoms for item in ledger.identifiers),
            total=len(ledger.identifiers),
        ),
    )


def receipt_json(receipt: Receipt) -> dict[str, Json]:
    """Give a receipt as a plain JSON object of its fields, tuples as lists."""
    plain = _plain(receipt)
    assert isinstance(plain, dict)
    return plain


def _plain(value: object) -> Json:
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    assert value is None or isinstance(value, str | int | float)
    return value


def _file(fact: FileFact) -> tuple[str, str, int]:
    ranges = ", ".join(map(line_range_text, fact.lines))
    return fact.path, f"lines {ranges}" if ranges else "", fact.message_index


def _outcome(exit_code: int | Literal["unknown"], failed: bool, test_line: str) -> str:
    told = "failed" if failed else ""
    outcome = told if exit_code == "unknown" else f"exit {exit_code}"
    return "; ".join(part for part in (outcome, test_line) if part)


def _facts(items: Iterable[tuple[str, str, int]], view: str) -> Facts:
    facts = [
        Fact(text=text, detail=detail, message_index=index, in_view=_stands_in(text, view))
        for text, detail, index in items
    ]
    return Facts(
        newest=tuple(facts[-MAX_FACTS:]),
        in_view=sum(fact.in_view for fact in facts),
        total=len(facts),
    )


def _stands_in(text: str, view: str) -> bool:
    """Find ``text`` in the view where neither neighbour continues its first or last word."""
    wanted = " ".join(text.removesuffix("…").split())
    whole = not text.endswith("…")
    start = view.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        if not _joined(view[start - 1], wanted[0]) and not (
            whole and _joined(wanted[-1], view[end])
        ):
            return True
        start = view.find(wanted, start + 1)
    return False


def _joined(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
