"""Walks a recording request by request under one policy, and counts."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.core.atoms import count_atoms
from palimpsest.core.budget import Measure
from palimpsest.lab.measured import Measured, Occurrence
from palimpsest.lab.policies import Change, Policy, Run, Setting, SimulatedCompaction
from palimpsest.lab.results import Need, PolicyResult, PolicyTrace
from palimpsest.models.pricing import Pricing

NEED_CALLS = 40
"""Calls after a compaction in which a dropped identifier counts as needed."""


def walk(setting: Setting, policy: Policy, pricing: Pricing | None) -> PolicyTrace:
    """Play one policy over one recording; ``pricing`` None leaves the cost unknown."""
    measured = setting.measured
    run = policy.start(setting)
    counter = _Counter(setting, pricing)
    replies = iter(measured.replies)
    next_reply = next(replies, None)
    for index, message in enumerate(measured.outlines):
        if index == next_reply:
            counter.count(index, run)
            next_reply = next(replies, None)
        run.add(message)
    return counter.trace(policy)


class _Counter:
    def __init__(self, setting: Setting, pricing: Pricing | None) -> None:
        self._setting = setting
        self._pricing = pricing
        self._sent = Measure(tokens=0, bytes=0)
        self._context_tokens: list[int] = []
        self._pruned_at: list[int] = []
        self._compactions: list[SimulatedCompaction] = []
        self._summary = ""
        self._summary_atoms: frozenset[str] = frozenset()
        self._prunings = self._prefix_breaks = self._over_window = 0
        self._cache_read = self._cache_write = self._output = 0
        self._cost_usd = 0.0
        self._steps_with_calls = self._blind_steps = 0

    def count(self, reply: int, run: Run) -> None:
        """Count the request that the reply at this message index answered."""
        change = run.before_request(len(self._context_tokens))
        view = run.measure()
        size = self._setting.request(view)
        self._note_change(change)
        self._note_cost(reply, size.tokens, self._cached_tokens(change))
        self._over_window += not self._setting.budget.fits(size)
        self._context_tokens.append(size.tokens)
        self._sent = view
        self._note_step(reply, run)

    def _note_change(self, change: Change) -> None:
        request = len(self._context_tokens)
        self._prunings += change.prunings
        if change.prunings:
            self._pruned_at.append(request)
        self._compactions += change.compactions
        if request and change.prefix is not None and change.prefix.tokens < self._sent.tokens:
            self._prefix_breaks += 1

    def _cached_tokens(self, change: Change) -> int:
        """Give what the request shares with the one before it, in tokens of the whole request."""
        if not self._context_tokens:
            return 0
        shared = self._sent
        if change.prefix is not None and change.prefix.tokens < shared.tokens:
            shared = change.prefix
        return self._setting.request_tokens(shared)

    def _note_cost(self, reply: int, tokens: int, cached_tokens: int) -> None:
        read = min(tokens, cached_tokens)
        output = self._setting.measured.output_tokens[reply]
        self._cache_read += read
        self._cache_write += tokens - read
        self._output += output
        if self._pricing is not None:
            self._cost_usd += self._pricing.cost_usd(
                cache_read=read, cache_write=tokens - read, output=output
            )

    def _note_step(self, reply: int, run: Run) -> None:
        measured = self._setting.measured
        typed = measured.atoms.typed.get(reply)
        if typed is None:
            return
        self._steps_with_calls += 1
        if run.summary() != self._summary:
            self._summary = run.summary()
            self._summary_atoms = frozenset(count_atoms(self._summary))
        known = self._summary_atoms | measured.fixed_atoms
        for atom in typed - known:
            places = measured.atoms.before(atom, reply)
            if places and not any(run.shows(place.position) for place in reversed(places)):
                self._blind_steps += 1
                return

    def trace(self, policy: Policy) -> PolicyTrace:
        """Give what was counted."""
        needs = [need_of(self._setting.measured, item) for item in self._compactions]
        return PolicyTrace(
            result=PolicyResult(
                policy=policy.name,
                label=policy.label,
                requests=len(self._context_tokens),
                input_tokens=sum(self._context_tokens),
                peak_tokens=max(self._context_tokens, default=0),
                cache_read_tokens=self._cache_read,
                cache_write_tokens=self._cache_write,
                output_tokens=self._output,
                cost_usd=None if self._pricing is None else self._cost_usd,
                prunings=self._prunings,
                compactions=len(self._compactions),
                prefix_breaks=self._prefix_breaks,
                over_window=self._over_window,
                steps_with_calls=self._steps_with_calls,
                blind_steps=self._blind_steps,
                need=sum(needs, Need()),
            ),
            context_tokens=self._context_tokens,
            pruned_at=self._pruned_at,
            compactions=self._compactions,
            needs=needs,
        )


def need_of(measured: Measured, compaction: SimulatedCompaction) -> Need:
    """Score one compaction: which dropped identifiers the next calls needed, and which it held.

    Presence is not use: an identifier in the summary is a chance, not a proof.
    """
    cut, count = compaction.first_kept_message_index, compaction.history_message_count
    held_atoms = frozenset(count_atoms(compaction.summary))
    needed: set[str] = set()
    calls = 0
    for message in range(count, len(measured.outlines)):
        for atom in measured.atoms.typed.get(message, ()):
            places = measured.atoms.before(atom, message)
            if places and places[0].position.message < cut and not _supplied(places, cut, count):
                needed.add(atom)
        calls += sum(part.kind == "tool_call" for part in measured.outlines[message].parts)
        if calls >= NEED_CALLS:
            break
    return Need(cuts=bool(needed), needed=len(needed), held=len(needed & held_atoms))


def _supplied(places: Sequence[Occurrence], cut: int, count: int) -> bool:
    """Whether an atom stands in the kept tail, or a person or a tool gave it again since."""
    return any(
        cut <= place.position.message < count
        or (place.position.message >= count and place.is_supplied)
        for place in reversed(places)
        if place.position.message >= cut
    )
