"""What is printed once and then belongs to the terminal: one closed union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from palimpsest.cli.turns import HistoryRow
    from palimpsest.core.receipt import Receipt
    from palimpsest.session.breakdown import ContextBreakdown

Tone: TypeAlias = Literal["plain", "good", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
    """What the person sent.

    Attributes:
        is_command: shown paler than words for the agent.
        full: shown whole, however long.
    """

    text: str
    is_command: bool = False
    full: bool = False
    kind: Literal["prompt"] = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseBlock:
    """Complete markdown of the model."""

    markdown: str
    kind: Literal["prose"] = "prose"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBlock:
    """A tool call that gave its result, folded to one line.

    Attributes:
        call: the tool's name and what it was called with, one line.
        tokens: rough size of the result.
    """

    call: str
    tokens: int
    outcome: Literal["success", "failed", "denied", "interrupted", "retried"]
    kind: Literal["tool"] = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputBlock:
    """A tool's result in full."""

    text: str
    kind: Literal["output"] = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedBlock:
    """A compaction that was saved."""

    receipt: Receipt
    kind: Literal["compacted"] = "compacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeBlock:
    """One sentence of ours."""

    text: str
    tone: Tone = "plain"
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """What fills the window."""

    breakdown: ContextBreakdown
    window_source: str
    calibrated: bool
    kind: Literal["context"] = "context"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryBlock:
    """Turns, with compactions as markers."""

    rows: tuple[HistoryRow, ...]
    kind: Literal["history"] = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptBlock:
    """What one compaction did, in full."""

    receipt: Receipt
    kind: Literal["receipt"] = "receipt"


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpBlock:
    """Every command and key."""

    kind: Literal["help"] = "help"


Block: TypeAlias = (
    PromptBlock
    | ProseBlock
    | ToolBlock
    | OutputBlock
    | CompactedBlock
    | NoticeBlock
    | ContextBlock
    | HistoryBlock
    | ReceiptBlock
    | HelpBlock
)
