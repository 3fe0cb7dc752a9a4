"""The API's routes: each one finds a session, gives it a command, and answers with a value."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic_ai.messages import BinaryContent, ModelMessage
from sse_starlette import EventSourceResponse, ServerSentEvent

from palimpsest.web.listing import session_list
from palimpsest.web.originals import PICTURES, Reading, media_of, originals
from palimpsest.web.problems import NotFoundError
from palimpsest.web.project_files import files_beginning
from palimpsest.web.rooms import Room, Rooms
from palimpsest.web.usage import request_usage
from palimpsest.web.wire import (
    Accepted,
    ApprovalBody,
    CompactBody,
    Compactions,
    ContextShares,
    EventFrame,
    FileList,
    ModelBody,
    Original,
    Originals,
    PermissionBody,
    Problem,
    PromptBody,
    ReceiptOf,
    RestoreBody,
    RestorePreview,
    SessionList,
    SkillList,
    Snapshot,
    TitleBody,
    Usage,
)

MOST_BODY_BYTES = 1 << 20
MOST_PROMPT_BYTES = 32 << 20
"""A prompt may carry images, in base64."""

HEARTBEAT_S = 15
SLOWEST_SEND_S = 30
"""A connection that takes nothing for so long is closed; its browser comes back."""

LAST_FRAMES_S = 4
"""How long a stream may go on when the server stops, to tell how the run ended."""

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "invalid_request, invalid_setting, nothing_to_compact, unknown_model, …",
        401: "unauthorized",
        403: "forbidden",
        404: "not_found, unknown_checkpoint",
        409: "session_busy, pending_save, request_conflict, not_accepted, session_read_only",
        413: "body_too_large",
        415: "unsupported_media_type",
        422: "context_budget_exceeded",
        423: "session_locked",
        500: "save_failed, session_file, …",
        502: "summary_failed",
        504: "summary_timeout",
    }.items()
}

router = APIRouter(prefix="/api", responses=_PROBLEMS, max_body_size=MOST_BODY_BYTES)


def _rooms(request: Request) -> Rooms:
    rooms: Rooms = request.app.state.rooms
    return rooms


AllRooms = Annotated[Rooms, Depends(_rooms)]
SessionId = Annotated[str, Path(max_length=100)]


async def _to_read(session_id: SessionId, rooms: AllRooms) -> Room:
    return await rooms.find(session_id, for_writing=False)


async def _to_write(session_id: SessionId, rooms: AllRooms) -> Room:
    return await rooms.find(session_id, for_writing=True)


Looked = Annotated[Room, Depends(_to_read)]
Used = Annotated[Room, Depends(_to_write)]


# --- sessions ------------------------------------------------------------------------------------


@router.post("/sessions", status_code=201)
async def create_session(rooms: AllRooms) -> Snapshot:
    """Open a draft; nothing is stored before its first prompt."""
    return (await rooms.draft()).channel.snapshot()


@router.get("/sessions")
async def list_sessions(rooms: AllRooms) -> SessionList:
    """List the project's sessions, broken ones with the reason."""
    return await session_list(rooms.host)


@router.get("/sessions/{session_id}")
async def get_session(room: Looked) -> Snapshot:
    """Give the session as it is now, also while it is busy; one in use elsewhere is read-only."""
    return room.channel.snapshot()


@router.post("/sessions/{session_id}/prompt", status_code=202, max_body_size=MOST_PROMPT_BYTES)
async def prompt(room: Used, body: PromptBody) -> Accepted:
    """Start a run; the same ``requestId`` and content again starts no second one."""
    return Accepted(run_id=await room.prompt(body))


@router.post("/sessions/{session_id}/compact")
async def compact(room: Used, body: CompactBody) -> Snapshot:
    """Compact, and answer when settled; an abort answers with the outcome ``cancelled``."""
    await room.settle(room.session.compact(body.instructions))
    return room.channel.snapshot()


@router.post("/sessions/{session_id}/restore")
async def restore(room: Used, body: RestoreBody) -> Snapshot:
    """Make an earlier checkpoint, or none, the active one; nothing is deleted."""
    await room.settle(room.session.restore(body.checkpoint, outputs=body.outputs))
    return room.channel.snapshot()


@router.get("/sessions/{session_id}/restore")
async def preview_restore(
    room: Looked,
    checkpoint: Annotated[str | None, Query(max_length=100)] = None,
    outputs: bool = False,  # a query parameter
) -> RestorePreview:
    """Say whether the view that a restore would show fits; without ``checkpoint``: all of it."""
    found = await room.session.preview_restore(checkpoint, outputs=outputs)
    return RestorePreview(tokens=found.size.tokens, fits=found.fits, pressured=found.pressured)


@router.post("/sessions/{session_id}/abort")
async def abort(room: Looked) -> Snapshot:
    """Interrupt what is under way, and answer when it settled."""
    await room.session.abort()
    return room.channel.snapshot()


@router.post("/sessions/{session_id}/flush")
async def flush(room: Used) -> Snapshot:
    """Try a failed save again."""
    await room.settle(room.session.flush())
    return room.channel.snapshot()


@router.put("/sessions/{session_id}/model")
async def set_model(room: Used, body: ModelBody) -> Snapshot:
    """Use another model from the next prompt on."""
    await room.settle(room.session.set_model(body.model))
    return room.channel.snapshot()


@router.put("/sessions/{session_id}/title")
async def set_title(room: Used, body: TitleBody) -> Snapshot:
    """Name the session."""
    await room.settle(room.session.set_title(body.title))
    return room.channel.snapshot()


@router.put("/sessions/{session_id}/permission")
async def set_permission(room: Used, body: PermissionBody) -> Snapshot:
    """Change what tools may do without asking, from the next prompt on."""
    await room.settle(room.session.set_permission_preset(body.preset))
    return room.channel.snapshot()


@router.post("/sessions/{session_id}/approvals/{request_id}")
async def answer_approval(
    room: Used, request_id: Annotated[str, Path(max_length=500)], body: ApprovalBody
) -> Snapshot:
    """Answer an open request; the first answer wins, and one that is not open is not found."""
    if not room.session.answer_approval(request_id, approved=body.approved):
        raise NotFoundError(f"No request {request_id} waits for an answer.")
    return room.channel.snapshot()


# --- originals and records -----------------------------------------------------------------------


@router.get("/sessions/{session_id}/messages")
async def get_messages(
    session_id: SessionId,
    rooms: AllRooms,
    before: Annotated[int | None, Query(ge=0)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Originals:
    """Give the originals before an index (exclusive; default: the end), oldest first.

    A session that is not open is not opened for it, which may take a while where much is live.
    """
    page = await rooms.host.page(session_id, before=before, limit=limit)
    reading = Reading(state=page.state)
    return Originals(messages=originals(page.messages, page.first, reading), total=page.total)


@router.get("/sessions/{session_id}/messages/{index}")
async def get_message(room: Looked, index: Annotated[int, Path(ge=0)]) -> Original:
    """Give one original, nothing of its texts left out."""
    reading = Reading(state=room.session.view_state, most_characters=None)
    return originals([await _message(room, index)], index, reading)[0]


@router.get("/sessions/{session_id}/messages/{index}/files/{file}", response_class=Response)
async def get_file(
    room: Looked, index: Annotated[int, Path(ge=0)], file: Annotated[int, Path(ge=0)]
) -> Response:
    """Give a file of a message; what is no picture comes as bytes to save."""
    media = media_of(await _message(room, index))
    item = media[file] if file < len(media) else None
    if not isinstance(item, BinaryContent):
        raise NotFoundError(f"Message {index} has no stored file {file}.")
    is_picture = item.media_type in PICTURES
    return Response(
        item.data,
        media_type=item.media_type if is_picture else "application/octet-stream",
        headers={"Content-Disposition": "inline" if is_picture else "attachment"},
    )


async def _message(room: Room, index: int) -> ModelMessage:
    messages = room.session.messages
    if index >= len(messages):
        raise NotFoundError(f"There is no message {index}.")
    return (await asyncio.to_thread(lambda: messages[index : index + 1]))[0]


@router.get("/sessions/{session_id}/compactions")
async def get_compactions(room: Looked) -> Compactions:
    """Give every checkpoint, oldest first, with its summary."""
    return Compactions(checkpoints=room.session.get_compactions())


@router.get("/sessions/{session_id}/receipts/{checkpoint}")
async def get_receipt(room: Looked, checkpoint: Annotated[str, Path(max_length=100)]) -> ReceiptOf:
    """Give the receipt of a compaction."""
    receipt = room.session.get_receipt(checkpoint)
    if receipt is None:
        raise NotFoundError(f"There is no receipt of {checkpoint}.")
    return ReceiptOf(checkpoint=checkpoint, receipt=receipt)


@router.get("/sessions/{session_id}/context")
async def get_context(room: Looked) -> ContextShares:
    """Divide the meter's number by what stands in the next request."""
    return ContextShares.model_validate(room.session.context_breakdown(), from_attributes=True)


@router.get("/sessions/{session_id}/skills")
async def get_skills(room: Looked) -> SkillList:
    """List the skills that a prompt may name."""
    return SkillList(names=tuple(await room.session.skill_names()))


@router.get("/sessions/{session_id}/files")
async def get_files(
    room: Looked, beginning: Annotated[str, Query(max_length=1_000)] = ""
) -> FileList:
    """List files and folders of the project that begin as what was typed, one folder at a time."""
    cwd = FilePath(room.session.cwd)
    return FileList(paths=await asyncio.to_thread(files_beginning, cwd, beginning))


@router.get("/sessions/{session_id}/usage")
async def get_usage(room: Looked) -> Usage:
    """Give what each request took; reads the whole history."""
    messages, checkpoints = room.session.messages, room.session.get_compactions()
    rows = await asyncio.to_thread(lambda: tuple(request_usage(messages, checkpoints)))
    return Usage(requests=rows)


# --- events --------------------------------------------------------------------------------------


@router.get(
    "/sessions/{session_id}/events",
    response_class=EventSourceResponse,
    responses={
        200: {
            "description": "Frames `snapshot` (a Snapshot) and `event` (an EventFrame)",
            "model": EventFrame,
        }
    },
)
async def get_events(
    room: Looked, last_event_id: Annotated[str, Header(max_length=200)] = ""
) -> EventSourceResponse:
    """Stream what happens: from the last frame seen where that is kept, else a snapshot first."""

    async def frames() -> AsyncIterator[ServerSentEvent]:
        with room.channel.reader(last_event_id) as reader:
            async for frame in reader.frames():
                yield ServerSentEvent(frame.data, event=frame.name, id=room.channel.id_of(frame))

    return EventSourceResponse(
        frames(),
        ping=HEARTBEAT_S,
        send_timeout=SLOWEST_SEND_S,
        shutdown_grace_period=LAST_FRAMES_S,
        headers={"Cache-Control": "no-store"},
    )
