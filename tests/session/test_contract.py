"""What every store must do, on both of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, TextPart, ToolReturnPart

from palimpsest.core.errors import (
    InvalidMessageError,
    InvalidRecordError,
    InvalidSettingError,
    PalimpsestError,
    StoreClosedError,
)
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.memory import MemoryStore
from palimpsest.session.store import Commit, Store
from palimpsest.storage.header import HeaderChanges, SessionHeader
from palimpsest.testing.faults import FaultyFiles
from tests.formats.messages import assistant, histories, returns, user
from tests.session.builders import (
    HEADER,
    checkpoint,
    clearing,
    content,
    kill,
    restore,
    run,
    story,
    trim,
    turn,
    uuid,
)

Maker = Callable[[SessionHeader], Store]


@pytest.fixture(params=["memory", "jsonl"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Maker:
    if request.param == "memory":
        return MemoryStore
    return lambda header: JsonlStore.create(tmp_path / "deep" / "s.jsonl", header)


def test_what_was_committed_is_loaded(make: Maker) -> None:
    async def main() -> None:
        store = make(HEADER)
        for commit in story():
            await store.commit(commit)
        loaded = await store.load()
        assert loaded.messages == turn(1) + turn(2) + turn(3)
        assert [record.id for record in loaded.records] == [uuid(n) for n in range(20, 26)]
        assert loaded.receipts == {uuid(21): {"trigger": "manual"}}
        assert loaded.header == replace(
            HEADER,
            updated=1_009,
            model="other",
            permission_preset="full",
            title="A title",
            timings=({"ms": 3},),
            skill_snapshots=({"id": "s"},),
        )
        assert (loaded.first_message_index, loaded.message_count) == (0, 12)
        assert not loaded.read_only and loaded.recovered is None
        await store.close()

    run(main())


def test_ranges_and_tails(make: Maker) -> None:
    async def main() -> None:
        store, messages = make(HEADER), turn(1) + turn(2)
        await store.commit(Commit(messages=messages[:4]))
        await store.commit(Commit(messages=messages[4:], records=(checkpoint(20, 4, 8),)))
        assert list(await store.read_range(3, 6)) == list(messages[3:6])
        assert list(await store.read_range(6, 99)) == list(messages[6:])
        assert list(await store.read_range(5, 5)) == list(await store.read_range(-3, 0)) == []
        tail = await store.load_tail()
        assert (tail.first_message_index, tail.messages) == (4, messages[4:])
        assert (await store.load_tail(7)).messages == messages[7:]
        assert (await store.load_tail(99)).first_message_index == 8
        await store.close()

    run(main())


def test_nothing_is_shared_with_the_store(make: Maker) -> None:
    async def main() -> None:
        prompt, receipt = user("one"), {"a": [1]}
        store = make(replace(HEADER, unknown={"x": {"deep": [1]}}))
        messages = (prompt, *turn(1)[1:], *turn(2))
        await store.commit(
            Commit(
                messages=messages, records=(checkpoint(9, 4, 8),), receipts={uuid(9): dict(receipt)}
            )
        )
        prompt.parts = []
        first = await store.load()
        first.messages[0].parts = []
        first.header.unknown["x"]["deep"].append(2)  # type: ignore[index, call-overload, union-attr]
        first.receipts[uuid(9)]["a"].append(2)  # type: ignore[union-attr]
        second = await store.load()
        assert second.messages[0] == user("one")
        assert second.header.unknown == {"x": {"deep": [1]}}
        assert second.receipts == {uuid(9): {"a": [1]}}
        await store.close()

    run(main())


def test_covers_is_filled_in_and_must_be_right(make: Maker) -> None:
    async def main() -> None:
        store = make(HEADER)
        await store.commit(Commit(messages=turn(1) + turn(2)))
        wrong = checkpoint(9, 4, 8, covers="0" * 64)
        with pytest.raises(InvalidRecordError, match="covers"):
            await store.commit(Commit(records=(wrong,)))
        await store.commit(Commit(records=(checkpoint(10, 4, 8),)))
        later = checkpoint(11, 8, 12, base=uuid(10))
        await store.commit(Commit(messages=turn(3), records=(later,)))
        back = (restore(12, None), checkpoint(13, 4, 12), restore(14, uuid(11)))
        await store.commit(Commit(records=back))
        await store.commit(Commit(records=(restore(15, uuid(11)),)))
        stored = {record.id: record for record in (await store.load()).records}
        covers = [stored[uuid(n)].covers for n in (10, 11, 13)]  # type: ignore[union-attr]
        assert all(len(digest) == 64 for digest in covers)
        assert covers[0] == covers[2] != covers[1]
        await store.close()

    run(main())


ONE = turn(1)


def two_turns(**fields: Any) -> Commit:
    return Commit(messages=turn(2), records=(checkpoint(30, 4, 8, **fields),))


REFUSED: list[tuple[str, Commit, type[PalimpsestError]]] = [
    ("orphan result", Commit(messages=(returns(("z", "read", "r")),)), InvalidMessageError),
    ("result twice", Commit(messages=(returns(("c1", "read", "r")),)), InvalidMessageError),
    (
        "call left behind",
        Commit(messages=(assistant("", ("z", "read", {})), user("next"))),
        InvalidMessageError,
    ),
    ("not JSON", Commit(messages=(returns(("c1", "read", object())),)), InvalidMessageError),
    (
        "not to be read back",
        Commit(messages=(ModelRequest(parts=[TextPart(content="x")]),)),  # type: ignore[list-item]
        InvalidMessageError,
    ),
    ("cut no turn", Commit(records=(checkpoint(30, 1, 4),)), InvalidRecordError),
    ("cut of nothing", Commit(records=(checkpoint(30, 0, 4),)), InvalidRecordError),
    ("count beyond", Commit(records=(checkpoint(30, 4, 9),)), InvalidRecordError),
    ("blank", two_turns(summary=" "), InvalidRecordError),
    ("unknown base", two_turns(base=uuid(99)), InvalidRecordError),
    ("id no UUID", two_turns(id="x"), InvalidRecordError),
    ("clears a prompt", Commit(records=(clearing(30, 0),)), InvalidRecordError),
    ("trims prose", Commit(records=(trim(30, 3),)), InvalidRecordError),
    ("restores the unknown", Commit(records=(restore(30, uuid(99)),)), InvalidRecordError),
    (
        "two of one id",
        Commit(records=(restore(30, None), restore(30, None))),
        InvalidRecordError,
    ),
    ("receipt of nothing", Commit(receipts={uuid(30): {}}), InvalidRecordError),
    (
        "a number that is none",
        Commit(header=HeaderChanges(timings=({"ms": float("nan")},))),
        InvalidRecordError,
    ),
]


@pytest.mark.parametrize(
    ("commit", "error"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_an_invalid_commit_changes_nothing(
    make: Maker, commit: Commit, error: type[PalimpsestError]
) -> None:
    async def main() -> None:
        store = make(HEADER)
        await store.commit(Commit(messages=ONE))
        before = await store.load()
        with pytest.raises(error):
            await store.commit(commit)
        assert await store.load() == before
        good = Commit(messages=turn(2), records=(checkpoint(31, 4, 8),))
        await store.commit(good)
        with pytest.raises(InvalidRecordError, match="twice"):
            await store.commit(Commit(records=(checkpoint(31, 4, 8),)))
        assert (await store.load()).message_count == 8
        await store.close()

    run(main())


def test_calls_may_wait_for_their_results_in_the_newest_message_only(make: Maker) -> None:
    async def main() -> None:
        store = make(HEADER)
        await store.commit(Commit(messages=turn(1)[:2]))
        with pytest.raises(InvalidMessageError) as caught:
            await store.commit(Commit(messages=(user("on"),)))
        assert caught.value.message_index == 1
        await store.commit(Commit(messages=turn(1)[2:]))
        await store.close()

    run(main())


def test_lone_surrogates_survive(make: Maker) -> None:
    async def main() -> None:
        store = make(replace(HEADER, title="t\ud800"))
        odd = (
            user("hi \ud800"),
            assistant("", ("c", "r\udc80", {})),
            returns(("c", "r", "\udcff")),
        )
        await store.commit(Commit(messages=odd, header=HeaderChanges(model="\udfff")))
        loaded = await store.load()
        assert loaded.messages == odd
        assert (loaded.header.title, loaded.header.model) == ("t\ud800", "\udfff")
        await store.close()

    run(main())


def test_unknown_header_keys_are_kept_and_may_not_shadow(make: Maker) -> None:
    async def main() -> None:
        unknown: dict[str, Any] = {"x-tool": {"a": [1, 2.5, None, "é"]}, "later": True}
        store = make(replace(HEADER, unknown=unknown))
        await store.commit(Commit(messages=turn(1)))
        assert (await store.load()).header.unknown == unknown
        await store.close()
        with pytest.raises(InvalidSettingError, match="trims"):
            make(replace(HEADER, unknown={"trims": []}))

    run(main())


def test_a_closed_store_refuses(make: Maker) -> None:
    async def main() -> None:
        store = make(HEADER)
        await store.close()
        await store.close()
        with pytest.raises(StoreClosedError):
            await store.load()
        with pytest.raises(StoreClosedError):
            await store.read_range(0, 1)
        with pytest.raises(StoreClosedError, match="closed"):
            await store.commit(Commit(messages=turn(1)))

    run(main())


def test_an_empty_commit_is_nothing(make: Maker, tmp_path: Path) -> None:
    async def main() -> None:
        store = make(HEADER)
        await store.commit(Commit())
        assert (await store.load()).message_count == 0
        assert list(tmp_path.rglob("*")) == []
        await store.close()

    run(main())


def test_a_session_reads_what_pydantic_ai_used_to_write(make: Maker) -> None:
    async def main() -> None:
        store = make(HEADER)
        parts = [ToolReturnPart(tool_name="t", content={"k": b"x"}, tool_call_id="c")]
        messages = (user("go"), assistant("", ("c", "t", {})), ModelRequest(parts=parts))
        await store.commit(Commit(messages=messages))
        assert (await store.load()).messages[2].parts[0].content == {"k": "eA=="}  # type: ignore[union-attr]
        await store.close()

    run(main())


# --- the same commits, two stores ----------------------------------------------------------------


@st.composite
def commits(draw: st.DrawFn) -> list[Commit]:
    messages = draw(histories())
    sequence: list[Commit] = []
    number, start = 100, 0
    while start < len(messages):
        stop = min(len(messages), start + draw(st.integers(1, 6)))
        if any(part.part_kind == "tool-call" for part in messages[stop - 1].parts):
            stop += 1
        records: list[Any] = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            records.append(
                draw(
                    st.sampled_from(
                        [
                            checkpoint(number, draw(st.integers(0, stop)), stop),
                            checkpoint(number, draw(st.integers(0, stop)), stop, split=True),
                            clearing(number, draw(st.integers(0, stop))),
                            trim(number, draw(st.integers(0, stop))),
                            restore(number, draw(st.sampled_from([None, uuid(101), uuid(103)]))),
                        ]
                    )
                )
            )
        header = draw(
            st.sampled_from([HeaderChanges(), HeaderChanges(title=draw(st.text(max_size=5)))])
        )
        sequence.append(
            Commit(messages=tuple(messages[start:stop]), records=tuple(records), header=header)
        )
        sequence.append(sequence[-1])  # refused where it holds records or results
        start = stop
    return sequence


@settings(max_examples=60)
@given(commits(), st.integers(0, 2**12))
def test_both_stores_hold_the_same(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[Commit], reopen: int
) -> None:
    """Commits that are refused by one are refused by the other, and leave no trace in either."""
    path = tmp_path_factory.mktemp("s") / "s.jsonl"

    async def attempt(store: Store, commit: Commit) -> str:
        try:
            await store.commit(commit)
        except PalimpsestError as error:
            return str(error)
        return "stored"

    async def main() -> None:
        memory: Store = MemoryStore(HEADER)
        file = JsonlStore.create(path, HEADER, files=FaultyFiles())
        for index, commit in enumerate(sequence):
            assert await attempt(memory, commit) == await attempt(file, commit)
            if path.exists() and reopen >> (index % 12) & 1:
                if index % 2:
                    await file.close()
                kill(file)
                file = await JsonlStore.open(path, files=FaultyFiles())
        assert await memory.load() == await file.load()
        assert await memory.load_tail() == await file.load_tail()
        await file.close()
        if not path.exists():
            return
        reopened = await JsonlStore.open(path, read_only=True)
        assert content(await reopened.load()) == content(await memory.load())
        await reopened.close()

    run(main())
