"""SPEC 6, automatic compaction, as a session shows it: one test a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelResponse
from pydantic_ai.usage import RequestUsage

from palimpsest.core.errors import ContextBudgetExceededError, PendingSaveError, SaveFailedError
from palimpsest.core.policy import PolicySettings
from palimpsest.formats.prompts import is_truncated
from palimpsest.models.engine import EngineSettings
from palimpsest.session.memory import MemoryStore
from palimpsest.testing import OVERFLOWS, FailingStore, Gate, Reply
from tests.measuring import counted
from tests.session.doubles import KeepingSummarizer, RefusingSummarizer, WatchedStore
from tests.session.helpers import HEADER, Rig, read, rig, work

pytestmark = pytest.mark.anyio


def answers(*tokens: int) -> list[Reply]:
    return [Reply(text="word " * (size * 4 // 5)) for size in tokens]


async def ask(found: Rig, turns: Iterable[int]) -> None:
    for turn in turns:
        await found.session.prompt(f"question {turn}")


def decisions(found: Rig) -> list[str]:
    return [event.decision for event in found.of("context_budget")]


# Window 16,000, answers of at most 1,024 tokens: 14,176 fit, and 12,759 are pressure.


async def test_every_main_request_has_its_check() -> None:
    found = await rig(work(2, steps=3, characters=100))
    await ask(found, range(2))
    assert len(decisions(found)) == len(found.model.requests) == 8
    assert set(decisions(found)) == {"calm"}


async def test_under_pressure_it_compacts_once_and_sends() -> None:
    found = await rig(answers(4_000, 4_000, 5_000, 10))
    await ask(found, range(4))
    assert decisions(found) == ["calm", "calm", "calm", "compacted"]
    (start,) = found.of("compaction_start")
    (end,) = found.of("compaction_end")
    assert start.trigger == "automatic"
    assert end.receipt.reduced
    assert end.checkpoint == found.session.get_compactions()[0].id


async def test_no_cut_that_fits_is_sent_without_compaction_events() -> None:
    found = await rig([read("big", 51_400), Reply(text="done")], engine=EngineSettings())
    assert await found.session.prompt("go") == "done"
    assert decisions(found)[-1] == "nothing_to_cut"
    assert "fewer than two turns" in found.of("context_budget")[-1].reason
    assert not found.of("compaction_start")


async def test_after_two_pressured_checks_nothing_more_is_generated() -> None:
    script = [read("a", 51_400), read("b", 40), read("c", 40), read("d", 40), Reply(text="done")]
    found = await rig(script)
    assert await found.session.prompt("go") == "done"
    assert decisions(found) == ["calm", *["nothing_to_cut"] * 2, *["suppressed"] * 2]


async def test_a_calm_check_starts_the_count_anew() -> None:
    found = await rig(answers(4_000, 4_000, 5_000, 10, 10, 6_500, 6_500, 10))
    await ask(found, range(8))
    assert decisions(found).count("compacted") == 2


async def test_a_failed_generation_leaves_nothing_and_a_request_that_fits_is_sent() -> None:
    refusing = RefusingSummarizer()
    found = await rig(answers(4_000, 4_000, 5_000, 10), summarizer=refusing)
    await ask(found, range(4))
    assert decisions(found)[-1] == "failed"
    (end,) = found.of("compaction_end")
    assert end.checkpoint is None
    assert "blank" in end.error
    assert refusing.calls == 1
    assert not found.session.get_compactions()


async def test_a_summary_that_does_not_reduce_is_never_saved() -> None:
    long = KeepingSummarizer(text="word " * 20_000)
    found = await rig(answers(4_000, 4_000, 5_000, 10), summarizer=long)
    await ask(found, range(4))
    assert "did not reduce" in found.of("compaction_end")[0].error
    assert not found.session.get_compactions()


async def test_a_failure_that_does_not_fit_is_refused_with_its_cause() -> None:
    found = await rig(answers(5_000, 5_000, 5_000), summarizer=RefusingSummarizer())
    await ask(found, range(2))
    with pytest.raises(ContextBudgetExceededError, match="blank") as caught:
        await found.session.prompt("word " * 5_000)
    assert "word word" not in str(caught.value)
    assert len(found.model.requests) == 2


async def test_a_failed_generation_falls_back_where_that_is_on() -> None:
    policy = PolicySettings(extractive_fallback=True)
    found = await rig(
        answers(5_000, 5_000, 10),
        summarizer=RefusingSummarizer(),
        engine=EngineSettings(policy=policy),
    )
    await ask(found, range(2))
    await found.session.prompt("word " * 5_000)
    (checkpoint,) = found.session.get_compactions()
    assert checkpoint.provider == "extractive"


async def test_at_most_two_generations_a_check() -> None:
    summarizer = KeepingSummarizer()
    found = await rig(answers(1_000, 1_000, 1_000, 8_000), summarizer=summarizer)
    await ask(found, range(4))
    with pytest.raises(ContextBudgetExceededError):
        await found.session.prompt("word " * 12_000)
    assert len(summarizer.jobs) <= 2
    assert len(found.of("compaction_start")) == len(found.of("compaction_end")) == 1


async def test_a_saved_first_pass_survives_a_failing_second() -> None:
    class Once(KeepingSummarizer):
        async def summarise(self, job: Any) -> Any:
            if self.jobs:
                return await RefusingSummarizer().summarise(job)
            return await super().summarise(job)

    # 9,000 tokens of rules, 3,300 of summary and the kept turn of 2,000 do not fit yet.
    once = Once(text="word " * 2_640)
    script = answers(1_000, 2_500, 2_000, 10)
    found = await rig(script, summarizer=once, instructions="r" * 36_000)
    await ask(found, range(3))
    with pytest.raises(ContextBudgetExceededError, match="blank"):
        await found.session.prompt("one more")
    assert len(found.session.get_compactions()) == 1
    assert len((await found.store.load()).records) == 1


async def test_checkpoint_and_history_so_far_are_one_commit() -> None:
    watched = WatchedStore(MemoryStore(HEADER))
    found = await rig(answers(4_000, 4_000, 5_000, 10), store=watched)
    await ask(found, range(4))
    (commit,) = [one for one in watched.commits if one.records]
    assert commit.receipts.keys() == {commit.records[0].id}
    assert found.session.state.outcome == "success"


async def test_a_cancelled_generation_leaves_nothing() -> None:
    summarizer = KeepingSummarizer(gate=Gate())
    found = await rig(answers(4_000, 4_000, 5_000), summarizer=summarizer)
    await ask(found, range(3))
    running = asyncio.ensure_future(found.session.prompt("one more"))
    assert summarizer.gate is not None
    await summarizer.gate.reached.wait()
    assert found.session.state.active_compaction is not None
    await found.session.abort()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert found.session.state.active_compaction is None
    assert found.session.state.outcome == "cancelled"
    assert not found.session.get_compactions()
    assert len(found.model.requests) == 3
    assert found.kinds()[-2:] == ["compaction_end", "settled"]


async def test_cancelled_while_saving_the_save_finishes_and_nothing_is_sent() -> None:
    gate = Gate()
    found = await rig(
        answers(4_000, 4_000, 5_000), store=WatchedStore(MemoryStore(HEADER), gate=gate)
    )
    await ask(found, range(3))
    running = asyncio.ensure_future(found.session.prompt("one more"))
    await gate.reached.wait()
    aborting = asyncio.ensure_future(found.session.abort())
    await asyncio.sleep(0)
    assert not aborting.done()
    assert found.session.state.is_running
    gate.open()
    await aborting
    with pytest.raises(asyncio.CancelledError):
        await running
    assert found.session.state.outcome == "cancelled"
    assert len(found.session.get_compactions()) == 1
    assert len((await found.store.load()).records) == 1
    assert len(found.model.requests) == 3


async def test_a_save_failure_stops_the_run_and_is_not_tried_again() -> None:
    store = MemoryStore(HEADER)
    watched = WatchedStore(FailingStore(store, "commit", after=7, times=None))
    found = await rig(answers(4_000, 4_000, 5_000, 10), store=watched)
    await ask(found, range(3))
    with pytest.raises(SaveFailedError):
        await found.session.prompt("one more")
    assert len(watched.commits) == 8
    assert watched.commits[-1].records
    assert len(found.model.requests) == 3
    assert found.session.state.has_pending_save
    assert len(found.session.get_compactions()) == 1
    with pytest.raises(PendingSaveError):
        await found.session.prompt("now?")
    assert len((await store.load()).messages) == 7


# --- what the provider rejects -------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["llama.cpp"])
async def test_a_rejected_request_is_compacted_once_and_sent_once_more(provider: str) -> None:
    found = await rig(
        [*work(4, characters=400, prose=7_200)],
        window=9_000,
        overflow=OVERFLOWS[provider],
        count_ratio=1.5,
        calibrates=False,
    )
    await ask(found, range(4))
    (start,) = found.of("compaction_start")
    assert start.trigger == "overflow"
    assert "named by the provider" in found.session.state.context_budget.window_source
    assert len(found.tool_runs) == len(set(found.tool_runs)) == 8


async def test_a_second_rejection_is_final() -> None:
    error = OVERFLOWS["llama.cpp"](16_000, 17_000)
    found = await rig([*answers(2_000, 2_000, 2_000), error, error, Reply(text="never")])
    await ask(found, range(3))
    with pytest.raises(type(error)):
        await found.session.prompt("one more")
    assert len(found.model.requests) == 5


async def test_a_smaller_window_that_is_named_is_the_window_from_then_on() -> None:
    error = OVERFLOWS["llama.cpp"](10_000, 10_500)
    found = await rig([*answers(3_000, 3_000, 3_000), error, Reply(text="fine")])
    await ask(found, range(3))
    assert await found.session.prompt("one more") == "fine"
    assert found.session.state.context_budget.budget.window == 10_000


async def test_an_error_after_the_first_output_is_not_resent() -> None:
    error = OVERFLOWS["llama.cpp"](16_000, 17_000)
    found = await rig([*answers(2_000, 2_000), Reply(text=("half", " more"), breaks_with=error)])
    await ask(found, range(2))
    with pytest.raises(type(error)):
        await found.session.prompt("one more")
    assert len(found.model.requests) == 3
    assert not found.of("compaction_start")


async def test_off_is_off_for_a_rejected_request() -> None:
    error = OVERFLOWS["llama.cpp"](16_000, 17_000)
    found = await rig(
        [*answers(2_000, 2_000, 2_000), error], engine=EngineSettings(automatic=False)
    )
    await ask(found, range(3))
    with pytest.raises(ContextBudgetExceededError, match="automatic compaction is off"):
        await found.session.prompt("one more")
    assert not found.session.get_compactions()


async def test_too_many_bytes_are_answered_with_fewer_bytes() -> None:
    image = BinaryContent(data=b"p" * 400_000, media_type="image/png")
    error = ModelHTTPError(413, "scripted", {"error": {"message": "request entity too large"}})
    found = await rig([*answers(100, 100, 100), error, Reply(text="fine")])
    for turn in range(3):
        await found.session.prompt(f"look {turn}", attachments=[image])
    before = found.session.state.context_budget.size.bytes
    assert before > 1_500_000
    assert await found.session.prompt("one more") == "fine"
    (checkpoint,) = found.session.get_compactions()
    after = found.session.state.context_budget
    assert after.size.bytes < before * 3 // 4
    assert after.budget.byte_limit < before + 1_000
    assert checkpoint.first_kept_message_index >= 2


async def test_an_image_heavy_session_keeps_to_the_byte_limit() -> None:
    image = BinaryContent(data=b"p" * 300_000, media_type="image/png")
    found = await rig(answers(*[50] * 10), byte_limit=2_000_000)
    for turn in range(10):
        await found.session.prompt(f"look {turn}", attachments=[image])
    assert found.session.get_compactions()
    assert max(len(request.body) for request in found.model.requests) < 2_100_000
    assert all(event.size.bytes <= 2_000_000 for event in found.of("context_budget"))


async def test_a_reply_that_reached_the_window_is_kept_marked_and_counted() -> None:
    full = Reply(
        text="cut sho",
        finish_reason="length",
        usage=RequestUsage(input_tokens=15_900, output_tokens=100),
    )
    found = await rig([*answers(1_000, 4_000), full, Reply(text="fine")])
    await ask(found, range(2))
    assert await found.session.prompt("one more") == "cut sho"
    reply = found.session.messages[-1]
    assert isinstance(reply, ModelResponse)
    assert is_truncated(reply)
    assert is_truncated((await found.store.load()).messages[-1])
    assert found.of("message_end")[-1].truncated
    assert [event.truncated for event in found.of("message_end")].count(True) == 1
    await found.session.prompt("go on")
    assert len(found.session.get_compactions()) == 1


async def test_fixed_overhead_above_the_trigger_does_not_loop() -> None:
    summarizer = KeepingSummarizer()
    found = await rig(
        answers(*[20] * 8), window=4_096, instructions="r" * 10_280, summarizer=summarizer
    )
    await ask(found, range(8))
    assert len(found.model.requests) == 8
    assert len(summarizer.jobs) <= 8


async def test_a_task_takes_as_many_steps_as_it_takes() -> None:
    steps = [read(f"{number}.py", 3_000) for number in range(120)]
    found = await rig([*steps, Reply(text="Done.")])
    assert await found.session.prompt("Read all of it.") == "Done."
    assert len(found.model.requests) == 121


async def test_the_late_steps_of_a_long_task_cost_what_the_early_ones_do() -> None:
    """At each step the agent goes through all that it has: after a summary, that is less."""
    steps = [replace(read(f"{n}.py", 4_000), text="Next, then. " * 80) for n in range(200)]
    found = await rig([*steps, Reply(text="Done.")])
    marks: list[int] = []
    found.session.subscribe(
        lambda event: marks.append(work.calls) if event.kind == "context_budget" else None
    )
    with counted() as work:
        assert await found.session.prompt("Read all of it.") == "Done."
    costs = [late - early for early, late in pairwise(marks)]
    assert len(found.session.get_compactions()) >= 4
    assert max(costs[-60:]) <= 1.2 * max(costs[:60])


async def test_counts_that_leave_out_what_was_cached_hide_no_pressure() -> None:
    cached = [
        replace(answer, usage=RequestUsage(input_tokens=40)) for answer in answers(*[3_000] * 6)
    ]
    found = await rig(cached)
    await ask(found, range(6))
    assert decisions(found).count("compacted") >= 1
