"""SPEC 5, the planner, as a session shows it: one test a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.usage import RequestUsage

from palimpsest.core.errors import ContextBudgetExceededError, NothingToCompactError
from palimpsest.core.policy import PolicySettings
from palimpsest.models.engine import EngineSettings
from palimpsest.testing import Reply
from tests.session.doubles import KeepingSummarizer
from tests.session.helpers import Rig, read, rig, work

pytestmark = pytest.mark.anyio

NO_SPLIT = EngineSettings(policy=PolicySettings(split_newest_turn=False))


def talk(sizes: list[int]) -> list[Reply]:
    """Answers of about so many tokens."""
    return [Reply(text="word " * (tokens * 4 // 5)) for tokens in sizes]


async def talked(sizes: list[int], **choices: object) -> Rig:
    found = await rig(talk(sizes), **choices)  # type: ignore[arg-type]
    for turn in range(len(sizes)):
        await found.session.prompt(f"question {turn}")
    return found


@pytest.mark.parametrize("turns", [0, 1])
async def test_fewer_than_two_turns_are_nothing_to_compact(turns: int) -> None:
    found = await talked([9_000] * turns)
    requests, commits = len(found.model.requests), found.events.copy()
    with pytest.raises(NothingToCompactError, match="fewer than two turns"):
        await found.session.compact()
    assert len(found.model.requests) == requests
    assert [event.kind for event in found.events[len(commits) :]] == ["settled"]


# Window 16,000: the retention is 3,200 tokens. A turn costs its answer and some 36 more.
@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([1_000] * 6, 3),
        ([1_000, 1_000, 5_000], 1),
        ([5_000, 100, 100], 2),
        ([100, 5_000, 100], 1),
        ([3_000, 1_500, 1_500], 2),
    ],
)
async def test_turns_are_kept_while_their_sum_stays_within_keep(
    sizes: list[int], kept: int
) -> None:
    found = await talked(sizes)
    checkpoint = await found.session.compact()
    assert checkpoint.first_kept_message_index == 2 * (len(sizes) - kept)
    assert not checkpoint.split


async def test_all_turns_within_keep_are_nothing_to_compact() -> None:
    found = await talked([500, 500, 500])
    assert not found.session.state.compaction_available
    with pytest.raises(NothingToCompactError, match="fit what a compaction keeps"):
        await found.session.compact()


async def test_the_newest_turn_is_kept_whole() -> None:
    found = await rig(work(2, steps=3, characters=8_000))
    for turn in range(2):
        await found.session.prompt(f"part {turn}")
    assert (await found.session.compact()).first_kept_message_index == 8


async def test_system_text_tools_and_the_summary_take_no_part() -> None:
    found = await rig(talk([1_000] * 8), instructions="Rules " * 1_000)
    for turn in range(6):
        await found.session.prompt(f"question {turn}")
    first = await found.session.compact()
    assert first.first_kept_message_index == 6
    for turn in range(6, 8):
        await found.session.prompt(f"question {turn}")
    second = await found.session.compact()
    assert second.first_kept_message_index == 10
    assert second.base == first.id


async def test_system_text_and_tools_stand_in_every_request() -> None:
    found = await rig([*talk([2_000] * 4), Reply(text="on")])
    for turn in range(4):
        await found.session.prompt(f"question {turn}")
    await found.session.compact()
    await found.session.prompt("and?")
    heads = {request.head for request in found.model.requests}
    assert len(heads) == 1
    assert "<summary>" not in heads.pop().decode()


async def test_what_is_available_is_what_the_planner_would_cut() -> None:
    found = await rig(talk([1_500] * 5))
    for turn in range(5):
        await found.session.prompt(f"question {turn}")
        available = found.session.state.compaction_available
        why = found.session.state.compaction_unavailable_because
        assert available == (why == "")
        try:
            await found.session.compact()
        except NothingToCompactError:
            assert not available
        else:
            assert available
        assert not found.session.state.compaction_available


async def test_availability_is_there_on_opening_without_a_call_or_a_write() -> None:
    found = await talked([2_000] * 4)
    again = await rig([], store=found.store)
    before = await found.store.load()
    assert again.session.state.compaction_available
    assert again.model.requests == []
    assert again.events == []
    assert await found.store.load() == before


async def test_availability_follows_a_restore() -> None:
    found = await talked([2_000] * 4)
    await found.session.compact()
    assert not found.session.state.compaction_available
    await found.session.restore(None)
    assert found.session.state.compaction_available


async def test_manual_compaction_never_splits() -> None:
    found = await rig(work(1, steps=6, characters=8_000))
    await found.session.prompt("go")
    with pytest.raises(NothingToCompactError):
        await found.session.compact()
    assert not found.session.get_compactions()


async def test_the_last_resort_clears_inside_the_newest_turn_without_a_model() -> None:
    summarizer = KeepingSummarizer()
    found = await rig(work(1, steps=8, characters=8_000), summarizer=summarizer)
    assert await found.session.prompt("go") == "turn 0 is done"
    assert found.of("pruned")
    assert summarizer.jobs == []
    newest = found.tool_runs[-1]
    assert f"{newest}:xxx" in found.model.requests[-1].text
    assert "[Old tool result content cleared]" in found.model.requests[-1].text


async def test_one_result_that_is_too_large_is_trimmed_and_stays_whole() -> None:
    found = await rig([read("big", 200_000), Reply(text="done")])
    assert await found.session.prompt("go") == "done"
    shown = found.model.requests[-1].text
    assert "big:xxx" in shown
    assert "omitted" in shown
    assert len(shown) < 70_000
    originals = [
        part.content
        for message in (await found.store.load()).messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert originals == ["big:" + "x" * 200_000]


@pytest.mark.parametrize("reported", [1, 30, 60, 200, 2_000])
async def test_a_trim_fits_whatever_the_provider_counted_before(reported: int) -> None:
    usage = RequestUsage(input_tokens=reported)
    first = replace(read("big", 200_000), usage=usage)
    found = await rig([first, Reply(text="done", usage=usage)], instructions="Rules " * 50)
    assert await found.session.prompt("go") == "done"
    assert "omitted" in found.model.requests[-1].text


def chatty(steps: int, tokens: int) -> list[Reply]:
    """Steps whose weight is prose, which no clearing takes away."""
    script = []
    for step in range(steps):
        call = read(f"s{step}", 10).calls[0]
        script.append(Reply(text=f"thought {step} " + "word " * (tokens * 4 // 5), calls=(call,)))
    return [*script, Reply(text="done")]


async def test_the_last_resort_cuts_after_a_completed_step_of_the_newest_turn() -> None:
    summarizer = KeepingSummarizer()
    found = await rig(chatty(9, 2_000), summarizer=summarizer)
    assert await found.session.prompt("the whole request, word for word") == "done"
    checkpoints = found.session.get_compactions()
    assert checkpoints
    assert all(checkpoint.split for checkpoint in checkpoints)
    last = found.model.requests[-1]
    assert "the whole request, word for word" in last.text
    assert last.text.index("word for word") < last.text.index("thought 8")
    assert "thought 0" not in last.text
    kept = [row.json for row in summarizer.jobs[0].rows if '"kept"' in row.head]
    assert len(kept) == 1
    assert "the whole request, word for word" in kept[0]
    assert found.tool_runs == [f"s{step}" for step in range(9)]


async def test_the_last_resort_off_refuses() -> None:
    for script in (chatty(9, 2_000), work(1, steps=8, characters=8_000)):
        found = await rig(script, engine=NO_SPLIT)
        with pytest.raises(ContextBudgetExceededError, match="preserved"):
            await found.session.prompt("go")
        assert not found.of("pruned")
        assert not found.session.get_compactions()


async def test_after_a_split_the_kept_rest_counts_as_one_turn() -> None:
    found = await rig([*chatty(9, 2_000), *talk([3_000, 3_000])], summarizer=KeepingSummarizer())
    await found.session.prompt("the first request")
    await found.session.prompt("a second one")
    last = await found.session.compact()
    assert not last.split
    assert "the first request" not in found.session.get_compactions()[-1].summary
    await found.session.prompt("a third one")
    assert "the first request" not in found.model.requests[-1].text
