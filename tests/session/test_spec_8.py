"""SPEC 8, records and files, as a session writes and reads them: one test a sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from palimpsest.core.errors import (
    SessionFileError,
    SessionLockedError,
    SessionReadOnlyError,
)
from palimpsest.core.sources import CheckpointSource, HistorySource, SkillSource, Source
from palimpsest.models.limits import LimitChoices
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.testing import Reply, ScriptedModel
from palimpsest.testing.provider_errors import openai_overflow
from tests.session.doubles import write_skill
from tests.session.helpers import read, rig

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def opened(manager: SessionManager, script: list[Reply] | None = None) -> AgentSession:
    return await create_agent_session(
        session_manager=manager,
        model=ScriptedModel(script or [], window=16_000),
        tools=[],
        settings=SessionSettings(
            summarizer="extractive", limits=LimitChoices(window=16_000, max_output=1_024)
        ),
    )


async def long_session(project: Path, turns: int = 4) -> AgentSession:
    session = await opened(
        SessionManager.create(project), [Reply(text="word " * 2_000) for _ in range(turns)]
    )
    for turn in range(turns):
        await session.prompt(f"question {turn}")
    return session


def lines(session: AgentSession) -> list[dict[str, Any]]:
    assert session.path is not None
    return [json.loads(line) for line in session.path.read_text(encoding="utf-8").splitlines()]


async def test_a_checkpoint_has_these_fields(project: Path) -> None:
    session = await long_session(project)
    first = await session.compact()
    assert first.base is None
    assert 0 < first.first_kept_message_index < first.history_message_count
    assert first.history_message_count == len(session.messages)
    assert first.timestamp > 0
    assert (first.provider, first.model) == ("extractive", "")
    await session.dispose()


async def test_the_file_is_a_header_and_one_line_a_message(project: Path) -> None:
    session = await long_session(project)
    await session.set_title("Four questions")
    await session.compact()
    await session.dispose()
    header, *messages = lines(session)
    assert len(messages) == len(session.messages) == 8
    text = json.dumps(header)
    for value in ("palimpsest-session", "Four questions", "scripted:scripted", session.id):
        assert value in text
    assert session.get_compactions()[0].id in text
    assert "tokens_before" in text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
async def test_only_the_owner_may_read_it(project: Path) -> None:
    session = await long_session(project, 1)
    assert session.path is not None
    assert session.path.stat().st_mode & 0o777 == 0o600
    assert session.path.parent.stat().st_mode & 0o777 == 0o700
    await session.dispose()


async def test_what_was_committed_is_there_when_it_is_opened_again(project: Path) -> None:
    session = await long_session(project)
    checkpoint = await session.compact()
    await session.restore(None)
    await session.set_title("undone")
    live = session.state
    assert session.path is not None
    await session.dispose()
    again = await opened(await SessionManager.open(session.path))
    assert list(again.messages) == list(session.messages)
    assert [item.id for item in again.get_compactions()] == [checkpoint.id]
    assert again.get_compactions()[0].covers
    assert again.state.compaction is None
    assert again.state.title == "undone"
    assert again.state.context_budget.size.bytes == live.context_budget.size.bytes
    await again.dispose()


async def test_the_newest_record_decides_the_view(project: Path) -> None:
    session = await long_session(project)
    checkpoint = await session.compact()
    await session.restore(None)
    await session.restore(checkpoint.id)
    assert session.state.compaction is not None
    assert session.state.compaction.id == checkpoint.id
    await session.dispose()


async def test_a_receipt_is_stored_and_never_sent(project: Path) -> None:
    model = ScriptedModel([Reply(text="word " * 2_000)] * 5, window=16_000)
    session = await create_agent_session(
        session_manager=SessionManager.create(project),
        model=model,
        tools=[],
        settings=SessionSettings(
            summarizer="extractive", limits=LimitChoices(window=16_000, max_output=1_024)
        ),
    )
    for turn in range(4):
        await session.prompt(f"Never touch file {turn}.")
    await session.compact()
    await session.prompt("and?")
    assert "tokens_before" not in model.requests[-1].text
    await session.dispose()
    assert "tokens_before" in json.dumps(lines(session)[0])


async def test_every_request_has_a_source_map_made_anew_and_without_text(tmp_path: Path) -> None:
    write_skill(tmp_path, "review", "Read every line twice.")
    texts = [Reply(text=f"answer {number} " + "word " * 2_000) for number in range(3)]
    found = await rig([read("a", 40), *texts], skill_directories=(str(tmp_path),))
    session = found.session
    assert session.sources == ()
    maps: list[tuple[Source, ...]] = []
    session.subscribe(
        lambda event: (
            maps.append(session.sources)
            if event.kind == "message_start" and event.role == "assistant"
            else None
        )
    )
    await session.prompt("first", skills=["review"])
    await session.prompt("second")
    checkpoint = await session.compact()
    await session.prompt("third")
    first, after_tool, second, third = maps
    assert [source.kind for source in first] == ["skills", "history"]
    assert first[0] == SkillSource(
        index=0,
        ids=("review",),
        revisions=first[0].revisions,  # type: ignore[union-attr]
    )
    assert [source.kind for source in after_tool] == ["skills", *["history"] * 3]
    assert second[: len(after_tool)] == after_tool
    cut = checkpoint.first_kept_message_index
    assert third == (
        CheckpointSource(id=checkpoint.id, summarised_before=cut),
        *(HistorySource(index=index) for index in range(cut, len(session.messages) - 1)),
    )
    assert session.sources == third
    assert not any(word in repr(maps) for word in ("first", "word", "Read every"))


async def test_a_request_that_is_sent_again_has_a_map_of_its_own() -> None:
    long = [Reply(text="word " * 1_500)] * 3
    found = await rig([*long, openai_overflow(9_000, 9_500), Reply(text="done")])
    for number in range(4):
        await found.session.prompt(f"question {number}")
    assert found.session.sources[0].kind == "checkpoint"
    assert len(found.model.requests) == 5


async def test_skills_are_in_the_map_of_a_session_that_was_opened_again(tmp_path: Path) -> None:
    write_skill(tmp_path, "review", "Read every line twice.")
    found = await rig([Reply(text="one")], skill_directories=(str(tmp_path),))
    await found.session.prompt("first", skills=["review"])
    again = await rig([Reply(text="two")], store=found.store)
    await again.session.prompt("second")
    assert again.session.sources[:2] == found.session.sources[:2]


async def test_a_draft_has_no_file_before_its_first_message(project: Path) -> None:
    manager = SessionManager.draft(project)
    session = await opened(manager, [Reply(text="one")])
    await session.set_title("early")
    await session.set_permission_preset("read-only")
    assert manager.path is not None
    assert not manager.path.exists()
    await session.prompt("go")
    await session.dispose()
    again = await opened(await SessionManager.open(manager.path))
    assert (again.state.title, again.state.permission_preset) == ("early", "read-only")
    await again.dispose()
    empty = await opened(SessionManager.draft(project))
    await empty.set_title("never used")
    await empty.dispose()
    assert empty.path is not None
    assert not empty.path.exists()


async def test_a_second_one_is_refused_and_may_read(project: Path) -> None:
    session = await long_session(project)
    assert session.path is not None
    with pytest.raises(SessionLockedError):
        await SessionManager.open(session.path)
    reader = await opened(await SessionManager.open(session.path, read_only=True))
    before = session.path.read_bytes()
    assert list(reader.messages) == list(session.messages)
    assert reader.state.read_only
    for refused in (
        reader.prompt("no"),
        reader.compact(),
        reader.restore(None),
        reader.set_title("no"),
        reader.set_permission_preset("read-only"),
        reader.set_model(ScriptedModel([])),
    ):
        with pytest.raises(SessionReadOnlyError, match="read-only; nothing was changed"):
            await refused
    assert len(reader.messages) == 8
    assert not reader.state.has_pending_save
    await reader.dispose()
    await session.dispose()
    assert session.path.read_bytes() != b""
    assert before


async def test_a_broken_file_is_refused_untouched_and_listed(project: Path) -> None:
    session = await long_session(project)
    await session.dispose()
    path = session.path
    assert path is not None
    broken = path.read_bytes().replace(b'"kind":"response"', b'"kind":"nonsense"', 1)
    path.write_bytes(broken)
    with pytest.raises(SessionFileError):
        await opened(await SessionManager.open(path))
    assert path.read_bytes() == broken
    other = await long_session(project, 1)
    await other.dispose()
    kinds = {listed.path: listed.kind for listed in SessionManager.list(project)}
    assert kinds[other.path] == "session"  # type: ignore[index]
    assert len(kinds) == 2
