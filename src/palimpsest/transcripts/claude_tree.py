"""The tree of a Claude Code file: the lines of the history of its last leaf, and a view as one."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.formats.content import as_list, as_record, as_text
from palimpsest.transcripts.view import kept_content, kept_records, made_up_id, uncounted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Built, HistoryBuilder
    from palimpsest.transcripts.view import CompactedView


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One line. ``parent`` is the logical one at a compaction boundary; empty at a root."""

    line: int
    kind: str
    uuid: str
    parent: str
    session: str
    sidechain: bool
    is_message: bool
    value: Record


def split_sessions(nodes: Sequence[Node]) -> list[list[int]]:
    """Indices of each session's lines; lines that name no session follow the one before them.

    Two session ids whose lines hang on each other are one session that was continued.
    """
    owner_of_uuid = {node.uuid: node.session for node in nodes if node.uuid and node.session}
    merged = dict[str, str]()

    def root(session: str) -> str:
        while session in merged:
            session = merged[session]
        return session

    for node in nodes:
        own, other = root(node.session), root(owner_of_uuid.get(node.parent, node.session))
        if node.session and own != other:
            merged[own] = other
    first = next((node.session for node in nodes if node.session), "")
    groups = dict[str, list[int]]()
    current = root(first)
    for index, node in enumerate(nodes):
        if node.session:
            current = root(node.session)
        groups.setdefault(current, []).append(index)
    return list(groups.values())


def history_of(
    nodes: Sequence[Node], members: Sequence[int], builder: HistoryBuilder
) -> frozenset[int]:
    """The lines on the path to the last leaf, with what belongs to them beside the path.

    Parallel calls spread over siblings: every line of a reply on the path and every result of
    its calls belongs to the history, wherever it hangs.
    """
    main = [index for index in members if not nodes[index].sidechain]
    path = _path(nodes, main, builder)
    replies = {_reply_id(nodes[index]) for index in path} - {""}
    chosen = path | {index for index in main if _reply_id(nodes[index]) in replies}
    calls = {call for index in chosen for call in _ids(nodes[index], "tool_use", "id")}
    results = {
        index
        for index in main
        if nodes[index].kind == "user" and _ids(nodes[index], "tool_result", "tool_use_id") & calls
    }
    return frozenset(index for index in chosen | results if _has_place(nodes[index]))


def repeated_lines(nodes: Sequence[Node], members: Sequence[int]) -> frozenset[int]:
    """Lines whose uuid an earlier line has: copies, which say nothing new."""
    seen, repeated = set[str](), set[int]()
    for index in members:
        uuid = nodes[index].uuid
        if uuid and uuid in seen:
            repeated.add(index)
        seen.add(uuid)
    return frozenset(repeated)


def _path(nodes: Sequence[Node], main: list[int], builder: HistoryBuilder) -> set[int]:
    by_uuid = {nodes[index].uuid: index for index in main if nodes[index].uuid}
    in_tree = [index for index in main if nodes[index].is_message or nodes[index].uuid]
    before = dict(zip(in_tree[1:], in_tree, strict=False))
    leaf = next((index for index in reversed(main) if nodes[index].is_message), None)
    path = set[int]()
    current = leaf
    while current is not None and current not in path:
        path.add(current)
        current = _parent(nodes, current, by_uuid, before, builder)
    if current is not None:
        builder.problem(current, "Its parents form a circle; the walk ended there.", "repaired")
    return path


def _parent(
    nodes: Sequence[Node],
    index: int,
    by_uuid: dict[str, int],
    before: dict[int, int],
    builder: HistoryBuilder,
) -> int | None:
    node = nodes[index]
    if node.uuid and not node.parent:
        return None
    if node.parent in by_uuid:
        return by_uuid[node.parent]
    if node.parent and index in before:
        what = "Its parent is not in the file; the line before it was taken instead."
        builder.problem(index, what, "repaired")
    elif node.parent:
        builder.problem(index, "Its parent is not in the file; the history begins here.", "lost")
    return before.get(index)


def _has_place(node: Node) -> bool:
    return node.is_message or node.kind in {"attachment", "system"}


def _reply_id(node: Node) -> str:
    if node.kind != "assistant":
        return ""
    return as_text(as_record(node.value.get("message")).get("id"))


def _ids(node: Node, kind: str, key: str) -> set[str]:
    if not node.is_message:
        return set()
    content = as_record(node.value.get("message")).get("content")
    blocks = [as_record(block) for block in as_list(content)]
    return {as_text(block.get(key)) for block in blocks if block.get("type") == kind} - {""}


def view_lines(values: Sequence[Record], built: Built, view: CompactedView) -> Iterable[Record]:
    """Boundary and summary, then the kept lines, each the child of the one before it."""
    records = kept_records(built, view)
    kept = [*records.before_summary, *records.after_summary]
    first = values[kept[0].entry] if kept else {}
    envelope: Record = {
        key: value
        for key, value in first.items()
        if key in {"cwd", "sessionId", "version", "gitBranch", "userType", "timestamp"}
    }
    parent: str | None = None
    if view.summary is not None:
        name = f"palimpsest:{built.recording.session_id}:{view.summary}"
        name = name.encode(errors="backslashreplace").decode()  # a lone surrogate has no bytes
        boundary = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        parent = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}:summary"))
        yield {
            **envelope,
            "parentUuid": None,
            "isSidechain": False,
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "uuid": boundary,
            "level": "info",
            "compactMetadata": {"trigger": "manual"},
        }
        yield {
            **envelope,
            "parentUuid": boundary,
            "isSidechain": False,
            "type": "user",
            "message": {"role": "user", "content": view.summary},
            "isCompactSummary": True,
            "isVisibleInTranscriptOnly": True,
            "uuid": parent,
        }
    for record in kept:
        value = dict(values[record.entry])
        if record.cleared:
            value.pop("toolUseResult", None)
        message = as_record(value.get("message"))
        if message:
            content = kept_content(message.get("content"), record)
            value["message"] = {**uncounted(message), "content": content}
        value.pop("logicalParentUuid", None)
        value["parentUuid"] = parent
        # Readers pass over a line that has no id of its own.
        parent = as_text(value.get("uuid")) or str(uuid.UUID(made_up_id(record)[:32]))
        value["uuid"] = parent
        yield value
