"""What a replay found: plain values, for the table, for JSON and for the page alike."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import TypeAlias, cast

from palimpsest.core.excerpt import Json
from palimpsest.lab.policies import SimulatedCompaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Need coverage of one policy's compactions.

    Attributes:
        cuts: compactions after which the agent used at least one identifier of the dropped part.
        needed: identifiers of the dropped parts that the next 40 calls used, before a person or a
            tool supplied them again.
        held: those of them that the summary holds.
    """

    cuts: int = 0
    needed: int = 0
    held: int = 0

    def __add__(self, other: Need) -> Need:
        return Need(
            cuts=self.cuts + other.cuts,
            needed=self.needed + other.needed,
            held=self.held + other.held,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResult:
    """What one policy came to, over one recording or over several.

    Attributes:
        policy: stable name.
        label: name for people.
        requests: model requests.
        input_tokens: sent in all requests together.
        peak_tokens: of the largest request.
        cache_read_tokens: input that a prompt cache serves: what a request shares with the one
            before it, from the start.
        cache_write_tokens: the rest of the input.
        output_tokens: of all replies; the same for every policy.
        cost_usd: None where the model has no known price; over several recordings, the sum of
            those with one.
        prunings: times that tool outputs were cleared or trimmed.
        compactions: times that a summary replaced messages.
        prefix_breaks: requests in which bytes that were already sent had changed.
        over_window: requests that do not fit the window.
        steps_with_calls: replies that call tools.
        blind_steps: those that use an identifier which the agent could only have had from
            something no longer in its view.
        need: need coverage of the compactions.
    """

    policy: str
    label: str
    requests: int
    input_tokens: int
    peak_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float | None
    prunings: int
    compactions: int
    prefix_breaks: int
    over_window: int
    steps_with_calls: int
    blind_steps: int
    need: Need


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTrace:
    """One policy over one recording, request by request.

    Attributes:
        result: the totals.
        context_tokens: size of each request.
        pruned_at: requests before which outputs were cleared or trimmed.
        compactions: what replaced messages, and when.
        needs: need coverage of each compaction, in the same order.
    """

    result: PolicyResult
    context_tokens: list[int]
    pruned_at: list[int]
    compactions: list[SimulatedCompaction]
    needs: list[Need]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCompactionAt:
    """A compaction that the recording itself holds, before the request of that number."""

    request: int
    kind: str
    trigger: str
    tokens_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What the replay of one recording found, whatever the policy.

    Attributes:
        path: as it was asked for.
        format: of the recording.
        session_id: of the recording.
        model: that its prices and window were taken from, or the recording's own name for it.
        window: context window that was assumed, tokens.
        window_source: where the window comes from.
        fits_tokens: largest request that fits it, inclusive.
        trigger_tokens: smallest request that is compacted.
        messages: in the recording's own terms, as are the following counts.
        calls: tool calls.
        results: tool results.
        images: images.
        interrupted: interrupted or rejected steps.
        recorded_compactions: summaries and clearings that the recording agent made.
        set_aside: records that are not part of the conversation, by reason.
        problems: what was damaged, one sentence each, with file and line.
        requests_counted: requests whose size the provider counted.
        ratio: provider tokens per estimated token; 1 where nothing was counted.
        fixed_tokens: system text and tools of each request.
        raw_error: median error of the uncorrected estimate, as a share; None without counts.
        calibrated_error: the same of what a session's meter would have shown.
        calibrated_error_p95: its 95th percentile.
    """

    path: str
    format: str
    session_id: str
    model: str | None
    window: int
    window_source: str
    fits_tokens: int
    trigger_tokens: int
    messages: int
    calls: int
    results: int
    images: int
    interrupted: int
    recorded_compactions: list[RecordedCompactionAt]
    set_aside: dict[str, int]
    problems: list[str]
    requests_counted: int
    ratio: float
    fixed_tokens: int
    raw_error: float | None
    calibrated_error: float | None
    calibrated_error_p95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFigures(SessionFacts):
    """The replay of one recording without its single requests: a few kilobytes.

    Attributes:
        policies: what each came to.
    """

    policies: list[PolicyResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReplay(SessionFacts):
    """Everything that the replay of one recording found.

    Attributes:
        traces: one a policy.
    """

    traces: list[PolicyTrace]

    @property
    def policies(self) -> list[PolicyResult]:
        """What each came to."""
        return [trace.result for trace in self.traces]

    def figures(self) -> SessionFigures:
        """Leave the single requests out."""
        facts = {one.name: getattr(self, one.name) for one in fields(SessionFacts)}
        return SessionFigures(**facts, policies=self.policies)


Replayed: TypeAlias = SessionFigures | SessionReplay
"""What sums and tables are made of."""


def as_object(value: SessionFacts | PolicyResult) -> dict[str, Json]:
    """Give a value as a JSON object of its fields."""
    return cast("dict[str, Json]", asdict(value))


_SUMMED = (
    "requests",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "prunings",
    "compactions",
    "prefix_breaks",
    "over_window",
    "steps_with_calls",
    "blind_steps",
    "need",
)


@dataclass(slots=True, kw_only=True)
class Totals:
    """Sums over recordings, one result a policy; memory does not grow with the recordings.

    Attributes:
        sessions: recordings added.
        priced_sessions: those whose model has a known price; the costs are theirs.
        policies: by stable name, in the order of the replay.
    """

    sessions: int = 0
    priced_sessions: int = 0
    policies: dict[str, PolicyResult] = field(default_factory=dict[str, PolicyResult])

    def add(self, session: Replayed) -> None:
        """Add one recording."""
        self.sessions += 1
        self.priced_sessions += any(result.cost_usd is not None for result in session.policies)
        for result in session.policies:
            earlier = self.policies.get(result.policy)
            self.policies[result.policy] = result if earlier is None else _added(earlier, result)

    def to_json(self) -> dict[str, Json]:
        """Give the sums as a JSON object."""
        return {
            "sessions": self.sessions,
            "priced_sessions": self.priced_sessions,
            "policies": [as_object(result) for result in self.policies.values()],
        }


def _added(left: PolicyResult, right: PolicyResult) -> PolicyResult:
    costs = [item.cost_usd for item in (left, right) if item.cost_usd is not None]
    return replace(
        left,
        **{name: getattr(left, name) + getattr(right, name) for name in _SUMMED},
        peak_tokens=max(left.peak_tokens, right.peak_tokens),
        cost_usd=sum(costs) if costs else None,
    )
