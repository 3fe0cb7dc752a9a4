"""Compacts one recording as a session would, without a model: prune, cut, summarise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from palimpsest.core.atoms import string_leaves
from palimpsest.core.budget import Budget, default_max_output
from palimpsest.core.errors import NothingToCompactError
from palimpsest.core.excerpt import Excerpt
from palimpsest.core.extractive import extractive_summary
from palimpsest.core.ledger import Ledger, LedgerBuilder
from palimpsest.core.outline import Outline
from palimpsest.core.planning import Cut, NoCut, plan_cut, plan_split
from palimpsest.core.pruning import PruningSettings, plan_pruning
from palimpsest.core.receipt import CompactionFigures, Receipt, build_receipt
from palimpsest.core.records import Checkpoint, Clearing, ViewState
from palimpsest.core.summary import summary_message_text, summary_output_cap
from palimpsest.core.view import View
from palimpsest.formats.projection import project
from palimpsest.formats.pydantic_ai import excerpts
from palimpsest.lab.fit import fit
from palimpsest.lab.measured import Measured, measure
from palimpsest.lab.policies import Setting
from palimpsest.models.pricing import choose_pricing, resolve_window
from palimpsest.transcripts.recording import Recording
from palimpsest.transcripts.view import CompactedView

_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedRecording:
    """What stands in the view of a recording now, and what became of the rest.

    Attributes:
        view: to be written in the recording's own format.
        receipt: what was kept, dropped and can be brought back from the original file.
        fixed_tokens: system text and tools in each request, which no compaction shrinks.
        largest_tokens: the largest request that fits the window beside an answer.
        window: context window that was assumed, tokens.
        window_source: where it comes from.
        split: the newest turn itself was cut, since there was no older one to summarise.
    """

    view: CompactedView
    receipt: Receipt
    fixed_tokens: int
    largest_tokens: int
    window: int
    window_source: str
    split: bool


def compact_recording(
    recording: Recording, *, model: str | None = None, window: int | None = None
) -> CompactedRecording:
    """Clear old tool outputs and summarise all but the newest turns.

    Keeps what a manual compaction keeps. A recording of one turn is cut after a step of it: unlike
    a session, a file has no next turn to wait for; the prompt then stays verbatim.

    Raises:
        NothingToCompactError: there is neither an output to clear nor a message to summarise.
        InvalidSettingError: the window is no positive integer, or the price table does not know
            the model that was asked for.
    """
    pricing = choose_pricing(asked=model, recorded=recording.model)
    resolved, source = resolve_window(window, pricing)
    measured = measure(recording)
    budget = Budget(window=resolved, reserved_output=default_max_output(resolved))
    fitted = fit(measured, recording.compactions)
    setting = Setting(measured=measured, fit=fitted, budget=budget)
    outline = Outline(measured.outlines)
    before = View(outline, ViewState())
    view = _pruned(before, PruningSettings.for_window(resolved))
    planned = _plan(view, setting)
    ledger = _ledger(measured, planned)
    if isinstance(planned, Cut):
        view = View(outline, view.state.after(_checkpoint(planned, ledger, setting), {}))
    elif view is before:
        raise NothingToCompactError(str(planned))
    return CompactedRecording(
        view=_compacted_view(view),
        receipt=build_receipt(_figures(before, view, setting), ledger, _text(view, measured)),
        fixed_tokens=fitted.fixed_tokens,
        largest_tokens=budget.input_limit,
        window=resolved,
        window_source=source,
        split=view.prompt_index is not None,
    )


def _pruned(view: View, settings: PruningSettings) -> View:
    plan = plan_pruning(view, settings)
    if plan is None:
        return view
    clearing = Clearing(
        id=_ID,
        timestamp=0,
        placeholders=tuple((position, settings.placeholder) for position in plan.positions),
        tokens_reclaimed=plan.tokens_reclaimed,
    )
    return View(view.outline, view.state.after(clearing, {}))


def _plan(view: View, setting: Setting) -> Cut | NoCut:
    retention, calibration = setting.budget.retention, setting.fit.calibration
    planned = plan_cut(view, keep_tokens=retention, calibration=calibration)
    one_turn = isinstance(planned, NoCut) and planned.reason == "fewer_than_two_turns"
    if one_turn and calibration.scale(view.measure().tokens) > retention:
        return plan_split(view, keep_tokens=retention, calibration=calibration)
    return planned


def _ledger(measured: Measured, planned: Cut | NoCut) -> Ledger:
    """Fold what the summary replaces; where nothing is summarised, the whole history."""
    count = len(measured.excerpts)
    if isinstance(planned, Cut):
        count = planned.first_kept_message_index
    builder = LedgerBuilder()
    for index in range(count):
        builder.add(index, measured.excerpts[index])
    return builder.snapshot()


def _checkpoint(cut: Cut, ledger: Ledger, setting: Setting) -> Checkpoint:
    window = setting.budget.window
    cap = summary_output_cap(window=window, max_output=default_max_output(window))
    return Checkpoint(
        id=_ID,
        base=None,
        first_kept_message_index=cut.first_kept_message_index,
        history_message_count=len(setting.measured.messages),
        summary=extractive_summary(ledger, max_tokens=cap, previous=None),
        timestamp=0,
        provider="extractive",
        model="",
        split=cut.split,
    )


def _compacted_view(view: View) -> CompactedView:
    kept = tuple(range(view.cut, len(view.outline)))
    checkpoint = view.state.checkpoint
    return CompactedView(
        kept_message_indices=kept,
        cleared={
            (position.message, view.outline.part(position).call_id): placeholder
            for position, placeholder in view.state.cleared.items()
            if position.message >= view.cut
        },
        summary=None if checkpoint is None else summary_message_text(checkpoint.summary),
        kept_prompt_index=view.prompt_index,
    )


def _figures(before: View, after: View, setting: Setting) -> CompactionFigures:
    outline, cut = before.outline, after.cut
    turns = outline.turns_before(cut)
    steps = outline.steps_before(cut)
    return CompactionFigures(
        trigger="manual",
        tokens_before=setting.request_tokens(before.measure()),
        tokens_after=setting.request_tokens(after.measure()),
        messages_summarised=cut,
        messages_kept=len(outline) - cut,
        turns_summarised=turns,
        turns_kept=outline.turns - turns,
        steps_summarised=steps,
        steps_kept=outline.steps - steps,
        outputs_cleared=sum(position.message >= cut for position in after.state.cleared),
        duration_ms=0,
        cost_usd=0.0,
    )


def _text(view: View, measured: Measured) -> str:
    """Give every text that the model reads in a view."""
    shown = project(measured.messages, view.rows())
    return "\n".join(text for message in shown for row in excerpts(message) for text in _texts(row))


def _texts(row: Excerpt) -> list[str]:
    match row.kind:
        case "user_text" | "injected_text" | "assistant_text" | "tool_result" | "feedback":
            return [row.text]
        case "tool_call":
            return [row.tool_name, *string_leaves(row.arguments)]
        case "marker":
            return []
        case _:
            assert_never(row)
