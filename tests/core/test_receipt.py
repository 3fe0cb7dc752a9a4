from __future__ import annotations

import json
from collections.abc import Sequence

from palimpsest.core.excerpt import Excerpt, Json, ToolCall, ToolResult, UserText
from palimpsest.core.ledger import Ledger, LedgerBuilder
from palimpsest.core.receipt import (
    MAX_FACTS,
    CompactionFigures,
    Fact,
    Facts,
    IdentifierCounts,
    Receipt,
    build_receipt,
    receipt_json,
)

FIGURES = CompactionFigures(
    trigger="automatic",
    tokens_before=1_000,
    tokens_after=400,
    messages_summarised=6,
    messages_kept=2,
    turns_summarised=1,
    turns_kept=1,
    steps_summarised=3,
    steps_kept=1,
    outputs_cleared=0,
    duration_ms=1_500,
    cost_usd=None,
    warnings=("odd",),
)


def step(tool_name: str, arguments: Json, text: str = "done") -> list[Excerpt]:
    return [
        ToolCall(call_id="c", tool_name=tool_name, arguments=arguments),
        ToolResult(call_id="c", tool_name=tool_name, text=text, is_error=False),
    ]


def fold(*messages: Sequence[Excerpt]) -> Ledger:
    builder = LedgerBuilder()
    for index, excerpts in enumerate(messages):
        builder.add(index, excerpts)
    return builder.snapshot()


def fact(text: str, message_index: int, in_view: bool, detail: str = "") -> Fact:
    return Fact(text=text, detail=detail, message_index=message_index, in_view=in_view)


def test_every_fact_says_whether_it_stands_in_the_view() -> None:
    ledger = fold(
        [UserText(text="Hello. Never push. Only use tabs.")],
        step("Read", {"file_path": "src/a.py", "offset": 1, "limit": 9}),
        step("Edit", {"file_path": "src/a.py"}),
        step("Edit", {"file_path": "src/b.py"}),
        step("Bash", {"command": "pytest  -x"}, "Exit code 1\n1 failed in 0.1s"),
        step("Bash", {"command": "make"}, "made"),
    )
    view = "src/a.py was changed; src/b.pyc; ran pytest\n -x: 1 failed in 0.1s. Never push."
    assert build_receipt(FIGURES, ledger, view) == Receipt(
        figures=FIGURES,
        reduced=True,
        files_read=Facts(newest=(fact("src/a.py", 1, True, "lines 1-9"),), in_view=1, total=1),
        files_changed=Facts(
            newest=(fact("src/a.py", 2, True), fact("src/b.py", 3, False)), in_view=1, total=2
        ),
        commands=Facts(
            newest=(
                fact("pytest -x", 4, True, "exit 1; 1 failed in 0.1s"),
                fact("make", 5, False, ""),
            ),
            in_view=1,
            total=2,
        ),
        open_errors=Facts(
            newest=(fact("1 failed in 0.1s", 4, True, "Bash pytest -x"),), in_view=1, total=1
        ),
        user_rules=Facts(
            newest=(fact("Never push.", 0, True), fact("Only use tabs.", 0, False)),
            in_view=1,
            total=2,
        ),
        identifiers=IdentifierCounts(in_view=1, total=2),
    )


def test_long_lists_are_counted_whole() -> None:
    edits = [step("Edit", {"file_path": f"src/file{n}.py"}) for n in range(MAX_FACTS + 5)]
    receipt = build_receipt(FIGURES, fold(*edits), "src/file3.py src/file204.py xsrc/file7.py")
    assert len(receipt.files_changed.newest) == MAX_FACTS
    assert (receipt.files_changed.in_view, receipt.files_changed.total) == (2, MAX_FACTS + 5)


def test_odd_facts_are_matched_too() -> None:
    long = "echo " + "x" * 900
    ledger = fold(
        step("Bash", {"command": long}, "Traceback (most recent call last):\nKeyError: 1"),
        step("Odd", {"x": 1}, "Error: "),
        step("Odd", {"path": "…"}, "Failed "),
        step("Read", {"file_path": "…"}),
    )
    receipt = build_receipt(FIGURES, ledger, f"ran {long}")
    assert receipt.commands.newest == (fact("echo " + "x" * 394 + "…", 0, True, "failed"),)
    assert receipt.files_read.newest == (fact("…", 3, False),)


def test_json_shape() -> None:
    receipt = build_receipt(FIGURES, fold(step("Edit", {"file_path": "a.py"})), "")
    plain = json.loads(json.dumps(receipt_json(receipt)))
    assert plain["figures"]["warnings"] == ["odd"]
    assert plain["figures"]["cost_usd"] is None
    assert plain["files_changed"] == {
        "newest": [{"text": "a.py", "detail": "", "message_index": 0, "in_view": False}],
        "in_view": 0,
        "total": 1,
    }
    assert plain["reduced"] is True


def test_identifiers_in_the_view_are_counted_not_the_others() -> None:
    ledger = fold([UserText(text="alpha_one beta_two gamma_three")])
    receipt = build_receipt(FIGURES, ledger, "only alpha_one is left")
    assert receipt.identifiers == IdentifierCounts(in_view=1, total=3)
