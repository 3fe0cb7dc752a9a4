"""Old files load for ever: one file a version, written by hand, never changed."""

from __future__ import annotations

import shutil
from pathlib import Path

from palimpsest.core.records import fold_records
from palimpsest.session.doctor import examine
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.store import Commit, Loaded
from tests.formats.messages import user
from tests.session.builders import content, read, run

GOLDEN = Path(__file__).parent / "golden"


def _check(loaded: Loaded) -> None:
    header = loaded.header
    assert (header.id, header.cwd) == ("00000000-0000-4000-8000-000000000001", "/home/me/project")
    assert (header.created, header.updated) == (1_700_000_000_000, 1_700_000_009_000)
    assert (header.model, header.permission_preset) == ("example:model", "workspace-write")
    assert header.title == "Fix the parser"
    assert header.skill_snapshots == ({"index": 0, "id": "review"},)
    assert header.system_prompt_checkpoints == ({"index": 0, "text": "You are helpful."},)
    assert header.timings == ({"index": 1, "ms": 1200},)
    assert header.unknown == {"x-other-tool": {"kept": ["as", 1.5, None]}}
    kinds = [record.kind for record in loaded.records]
    assert kinds == ["clearing", "trim", "checkpoint", "restore", "checkpoint"]
    state = fold_records(loaded.records)
    assert state.checkpoint is not None and state.checkpoint.summary == "Again, from the start."
    assert state.cleared == {} and not state.held
    assert list(loaded.receipts.values()) == [{"trigger": "manual"}]
    assert loaded.message_count == 6
    assert loaded.messages[0].parts[0].content == "Fix the parser — please"  # type: ignore[union-attr]


def test_version_2_loads_read_only() -> None:
    path = GOLDEN / "v2.jsonl"
    before = path.read_bytes()
    _check(run(read(path)))
    assert path.read_bytes() == before
    assert sorted(item.name for item in GOLDEN.iterdir()) == ["v2.jsonl"]
    seen = examine(path)
    assert seen.is_healthy and not seen.sealed and seen.findings == ()


def test_version_2_is_sealed_once_and_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(GOLDEN / "v2.jsonl", tmp_path))
    lines = path.read_bytes().splitlines(keepends=True)[1:]

    async def main() -> None:
        store = await JsonlStore.open(path)
        before = await store.load()
        _check(before)
        await store.close()
        assert path.read_bytes().splitlines(keepends=True)[1:] == lines
        assert content(await read(path)) == content(before)
        assert examine(path).canonical

    run(main())


def test_version_2_takes_commits(tmp_path: Path) -> None:
    path = Path(shutil.copy(GOLDEN / "v2.jsonl", tmp_path))

    async def main() -> None:
        store = await JsonlStore.open(path)
        await store.commit(Commit(messages=(user("more"),)))
        assert examine(path).sealed
        _ = await store.load()
        await store.close()
        assert (await read(path)).message_count == 7

    run(main())
