"""What ``palimpsest show`` prints."""

from __future__ import annotations

import sys

from rich.console import Console

from palimpsest.cli.chat.blocks import Block, HistoryBlock, NoticeBlock, ReceiptBlock
from palimpsest.cli.chat.history import message_blocks
from palimpsest.cli.chat.ink import print_blocks
from palimpsest.cli.turns import history_rows, turn_rows
from palimpsest.cli.words import when
from palimpsest.core.errors import InvalidSettingError
from palimpsest.core.receipt import Receipt
from palimpsest.core.receipt_reader import read_receipt
from palimpsest.core.records import fold_records
from palimpsest.core.wording import count
from palimpsest.session.store import Loaded


def print_session(loaded: Loaded) -> None:
    """Print what a session is, its turns and compactions."""
    header = loaded.header
    compactions = [record for record in loaded.records if record.kind == "checkpoint"]
    rows = history_rows(
        loaded.messages,
        compactions,
        active=fold_records(loaded.records).checkpoint,
        receipt_of=lambda checkpoint: _receipt(loaded, checkpoint),
    )
    about = f"{header.id} · {header.model or 'no model'} · {header.cwd}"
    numbers = f"{count(loaded.message_count, 'message')}, updated {when(header.updated)}"
    _print([NoticeBlock(text=about), NoticeBlock(text=numbers), HistoryBlock(rows=rows)])


def print_turn(loaded: Loaded, number: int) -> None:
    """Print one turn in full.

    Raises:
        InvalidSettingError: there is no such turn.
    """
    turns = turn_rows(loaded.messages)
    if number > len(turns):
        raise InvalidSettingError("turn", number, f"at most {len(turns)}")
    turn = turns[number - 1]
    _print(message_blocks(loaded.messages[turn.start : turn.stop], full=True))


def print_receipt_of(loaded: Loaded) -> None:
    """Print the receipt of the newest compaction."""
    newest = [record.id for record in loaded.records if record.kind == "checkpoint"][-1:]
    receipt = _receipt(loaded, newest[0]) if newest else None
    if receipt is None:
        _print([NoticeBlock(text="Nothing was compacted in this session.")])
    else:
        _print([ReceiptBlock(receipt=receipt)])


def _receipt(loaded: Loaded, checkpoint: str) -> Receipt | None:
    stored = loaded.receipts.get(checkpoint)
    return None if stored is None else read_receipt(stored)


def _print(blocks: list[Block]) -> None:
    print_blocks(blocks, Console(file=sys.stdout, highlight=False))
