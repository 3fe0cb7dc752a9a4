"""Values as the API shows them; names are written in camel case, values of the session included."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Checkpoint
from palimpsest.formats.encodable import encodable
from palimpsest.session.events import ApprovalRequested, Operation, Outcome, SessionEvent
from palimpsest.session.permissions import PermissionPreset
from palimpsest.session.state import ActiveCheckpoint, BudgetState
from palimpsest.storage.totals import Totals
from palimpsest.web.live import Live


class ApiModel(BaseModel):
    """What all values of the API share; unknown keys of a body are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        frozen=True,
        extra="forbid",
        json_schema_serialization_defaults_required=True,
    )


class Answer(ApiModel):
    """What all answers share: whatever text a value holds, it can be sent.

    Half a surrogate pair stands in file names that are no UTF-8 and in what models cut in two.
    """

    @model_validator(mode="before")
    @classmethod
    def _make_encodable(cls, value: object) -> object:
        return encodable(value)


class Problem(Answer):
    """The body of every answer that is no success."""

    code: str
    message: str


# --- answers -------------------------------------------------------------------------------------


class ContextMeter(Answer):
    """How full the window is, and every limit that a page draws; tokens throughout.

    ``inputLimit`` is the largest request that fits, ``pressuredAt`` the smallest that is compacted,
    ``safety`` what is held back for estimates that are a little off.
    """

    budget: Budget
    size: Measure
    window_source: str
    calibrated: bool
    safety: int
    input_limit: int
    pressured_at: int

    @classmethod
    def of(cls, state: BudgetState) -> Self:
        """Read the limits off a session's budget."""
        budget = state.budget
        return cls(
            budget=budget,
            size=state.size,
            window_source=state.window_source,
            calibrated=state.calibrated,
            safety=budget.safety,
            input_limit=budget.input_limit,
            pressured_at=budget.pressured_at,
        )


class Snapshot(Answer):
    """A session at this moment; ``compactionStartedAt`` is milliseconds since the epoch."""

    id: str
    title: str
    cwd: str
    model: str
    permission_preset: PermissionPreset
    message_count: int
    operation: Operation | Literal["idle"]
    outcome: Outcome
    error: str
    has_pending_save: bool
    read_only: bool
    context_budget: ContextMeter
    compaction_available: bool
    compaction_unavailable_because: str
    compaction_started_at: int | None
    compaction: ActiveCheckpoint | None
    pending_approvals: tuple[ApprovalRequested, ...]
    running_tools: tuple[str, ...]
    totals: Totals
    live: Live


class SessionEntry(Answer):
    """A session in the list; ``state`` is ``broken`` where its file cannot be opened.

    One that nobody named has the beginning of its first prompt for its ``title``.
    """

    id: str
    title: str
    state: Literal["draft", "stored", "open", "running", "broken"]
    reason: str = ""
    created: int = 0
    updated: int = 0
    message_count: int = 0
    compactions: int = 0


class SessionList(Answer):
    """The sessions of the project, newest first, then the broken ones."""

    cwd: str
    sessions: tuple[SessionEntry, ...]


class Accepted(Answer):
    """A prompt was accepted and stored; its run goes on by itself."""

    run_id: str


class SkillList(Answer):
    """The skills that a prompt may name."""

    names: tuple[str, ...]


class FileList(Answer):
    """Paths of the project, relative; folders end with a slash."""

    paths: tuple[str, ...]


class RestorePreview(Answer):
    """What a restore would show; nothing was changed."""

    tokens: int
    fits: bool
    pressured: bool


class Compactions(Answer):
    """Every checkpoint ever saved, oldest first, with its summary."""

    checkpoints: tuple[Checkpoint, ...]


class ReceiptOf(Answer):
    """What one compaction kept, dropped and can bring back."""

    checkpoint: str
    receipt: Receipt


class ContextShares(Answer):
    """What the next request is made of, in tokens; ``free`` is what may still be added."""

    system: int
    tools: int
    skills: int
    summary: int
    turns: int
    cleared: int
    free: int
    turns_kept: int
    outputs_cleared: int


class RequestUsage(Answer):
    """One request as its provider counted it; ``costUsd`` is what all so far came to.

    ``afterCompaction`` is true for the first one after a compaction.
    """

    index: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    after_compaction: bool


class Usage(Answer):
    """Every request, oldest first."""

    requests: tuple[RequestUsage, ...]


class EventFrame(Answer):
    """The data of the stream's frames named ``event``; those named ``snapshot`` hold one."""

    event: Annotated[SessionEvent, Field(discriminator="kind")]


# --- originals -----------------------------------------------------------------------------------


class TextPart(Answer):
    """Text: of the person, of the model, or put in by nobody (``injected``)."""

    kind: Literal["text"] = "text"
    text: str
    omitted_characters: int = 0
    injected: bool = False


class ThinkingPart(Answer):
    """What a model thought, where the provider shows it."""

    kind: Literal["thinking"] = "thinking"
    text: str


class CallPart(Answer):
    """A tool call; ``arguments`` is JSON text."""

    kind: Literal["call"] = "call"
    call_id: str
    tool_name: str
    arguments: str


class ResultPart(Answer):
    """A tool's result; ``shown`` tells what the model sees of it now."""

    kind: Literal["result"] = "result"
    call_id: str
    tool_name: str
    outcome: str
    text: str
    omitted_characters: int = 0
    shown: Literal["whole", "trimmed", "cleared"] = "whole"


class FilePart(Answer):
    """An image or another file: its bytes are at ``…/messages/{index}/files/{file}``."""

    kind: Literal["file"] = "file"
    media_type: str
    file: int
    url: str = ""


class OtherPart(Answer):
    """A part that only the model needs; ``name`` is its kind."""

    kind: Literal["other"] = "other"
    name: str
    text: str = ""


OriginalPart: TypeAlias = TextPart | ThinkingPart | CallPart | ResultPart | FilePart | OtherPart


class Original(Answer):
    """A message of the history, as it was stored.

    ``inView`` is false where a summary stands for it. ``inputTokens`` is the provider's count of
    the request that a reply answers, 0 where it gave none.
    """

    index: int
    role: Literal["user", "assistant"]
    starts_turn: bool
    in_view: bool
    truncated: bool
    timestamp: int
    input_tokens: int
    parts: tuple[Annotated[OriginalPart, Field(discriminator="kind")], ...]


class Originals(Answer):
    """A page of the history, oldest first; ``total`` counts all messages."""

    messages: tuple[Original, ...]
    total: int


# --- bodies --------------------------------------------------------------------------------------


def _decoded(data: object) -> object:
    """Decode base64 strictly: what is skipped in silence would be another image."""
    return b64decode(data, validate=True) if isinstance(data, str) else data


Base64 = Annotated[
    bytes,
    Field(min_length=1),
    BeforeValidator(_decoded),
    PlainSerializer(b64encode),
    WithJsonSchema({"type": "string", "contentEncoding": "base64", "minLength": 4}),
]


def _whole(text: str) -> str:
    """Refuse half a surrogate pair: JSON may escape one, and nothing can store it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("the text holds half a surrogate pair") from error
    return text


Text = Annotated[str, AfterValidator(_whole)]


class ImageBody(ApiModel):
    """An image of a prompt."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: Base64


class PromptBody(ApiModel):
    """A prompt; the same ``requestId`` with the same content is one prompt, however often sent."""

    request_id: Annotated[Text, Field(min_length=1, max_length=200)]
    text: Text
    images: tuple[ImageBody, ...] = ()
    skills: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _require_content(self) -> Self:
        if not (self.text.strip() or self.images or self.skills):
            raise ValueError("the prompt is empty")
        return self


class CompactBody(ApiModel):
    """A manual compaction; ``instructions`` say what the summary should keep in view."""

    instructions: Text = ""


class RestoreBody(ApiModel):
    """An undo; null shows the whole history."""

    checkpoint: Text | None
    outputs: bool = False


class ModelBody(ApiModel):
    """Another model, ``provider:name``."""

    model: Annotated[Text, Field(min_length=1, max_length=500)]


class TitleBody(ApiModel):
    """Another title."""

    title: Annotated[Text, Field(max_length=500)]


class PermissionBody(ApiModel):
    """Another permission preset."""

    preset: PermissionPreset


class ApprovalBody(ApiModel):
    """The answer to an approval request."""

    approved: bool
