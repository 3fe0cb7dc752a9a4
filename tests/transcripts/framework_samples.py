"""Small recordings of frameworks: OpenHands, inspect_ai, smolagents, pydantic-ai, LangChain."""

from __future__ import annotations

from tests.transcripts.samples import PIXEL, Object, openai_call, text, tool_use


def openhands_events() -> list[Object]:
    """Events as OpenHands wrote them before its SDK."""
    message = {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [openai_call("a"), openai_call("b")],
    }
    response = {
        "id": "r1",
        "model": "model-h",
        "usage": {"prompt_tokens": 50},
        "choices": [{"finish_reason": "tool_calls", "message": message}],
    }

    def linked(call_id: str) -> Object:
        metadata = {"function_name": "bash", "tool_call_id": call_id, "model_response": response}
        return {"tool_call_metadata": metadata}

    def agent(**fields: object) -> Object:
        return {"source": "agent", "timestamp": "2026-03-01T12:00:00", **fields}

    exited = {"metadata": {"exit_code": 1}}
    events = [
        agent(action="system", args={"content": "You are OpenHands.", "tools": []}),
        {"source": "user", "action": "message", "args": {"content": "Look here"}},
        {"source": "user", "action": "recall", "args": {}},
        agent(action="run", args={"command": "ls"}, **linked("a")),
        agent(observation="run", content="no", extras=exited, cause=3, **linked("a")),
        agent(action="read", args={"path": "x"}, **linked("b")),
        agent(observation="read", content="text of x", extras={}, cause=5, **linked("b")),
        {
            "source": "environment",
            "observation": "agent_state_changed",
            "content": "",
            "extras": {},
        },
        agent(action="condensation", args={"forgotten_event_ids": [3, 4], "summary": "What was."}),
        agent(action="think", args={"thought": "Hm.", "topic": "x"}),
        agent(observation="think", content="Noted.", extras={}, cause=9),
        {"source": "environment", "observation": "error", "content": "Broken", "extras": {}},
        {"source": "user", "action": "run", "args": {"command": "pwd"}},
        agent(action="message", args={"content": "Done.", "image_urls": None}),
    ]
    return [{"id": number, **event} for number, event in enumerate(events)]


def openhands_sdk_events() -> list[Object]:
    def event(kind: str, source: str = "agent", **fields: object) -> Object:
        return {"kind": kind, "source": source, "timestamp": "2026-03-01T12:00:00", **fields}

    def acted(call_id: str, *thought: Object, **fields: object) -> Object:
        call = {"id": call_id, "name": "terminal", "arguments": '{"command": "ls"}'}
        return event(
            "ActionEvent",
            thought=list(thought),
            tool_call=call,
            tool_call_id=call_id,
            tool_name="terminal",
            llm_response_id="r1",
            action={"command": "ls"},
            **fields,
        )

    def seen(call_id: str, observation: Object) -> Object:
        return event(
            "ObservationEvent", "environment", observation=observation, tool_call_id=call_id
        )

    def said(role: str, source: str, value: str) -> Object:
        return event("MessageEvent", source, llm_message={"role": role, "content": [text(value)]})

    def error(kind: str, call_id: str, **fields: object) -> Object:
        return event(kind, "environment", tool_call_id=call_id, tool_name="terminal", **fields)

    url = f"data:image/png;base64,{PIXEL}"
    events = [
        event("SystemPromptEvent", system_prompt=text("You are OpenHands."), tools=[]),
        said("user", "user", "Look here"),
        acted("a", text("I look."), reasoning_content="Both."),
        acted("b"),
        acted("c"),
        acted("d"),
        seen("a", {"kind": "Terminal", "content": [text("no")], "is_error": True}),
        seen("b", {"kind": "Browser", "content": [{"type": "image", "image_urls": [url]}]}),
        error("AgentErrorEvent", "c", error="No such tool"),
        error("UserRejectObservation", "d", rejection_reason="Not that"),
        event("Condensation", forgotten_event_ids=["e2", "e3"], summary="What was."),
        event("ConversationStateUpdateEvent", key="x", value=1),
        said("user", "environment", "Injected"),
        said("assistant", "agent", "Done."),
    ]
    return [{"id": f"e{number}", **item} for number, item in enumerate(events)]


def openhands_line() -> Object:
    return {"instance_id": "task-1", "metadata": {}, "history": openhands_events(), "metrics": {}}


def inspect_log() -> Object:
    def called(name: str, arguments: Object) -> Object:
        return {"id": name, "function": "bash", "arguments": arguments, "type": "function"}

    reasoning = {"type": "reasoning", "reasoning": "Both.", "signature": "s"}
    messages: list[Object] = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "source": "input",
            "content": [
                text("Look here"),
                {"type": "image", "image": f"data:image/png;base64,{PIXEL}"},
            ],
        },
        {
            "role": "assistant",
            "model": "model-i",
            "content": [reasoning, text("Looking.")],
            "tool_calls": [called("a", {"cmd": "ls"}), called("b", {})],
        },
        {"role": "tool", "tool_call_id": "a", "function": "bash", "content": "attachment://f00d"},
        {
            "role": "tool",
            "tool_call_id": "b",
            "function": "bash",
            "content": "",
            "error": {"type": "timeout", "message": "too slow"},
        },
        {"role": "assistant", "content": "Done."},
    ]
    sample = {
        "id": 7,
        "epoch": 1,
        "messages": messages,
        "attachments": {"f00d": "a long text"},
        "events": [{"copy": "a long text"}],
    }
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "model-e"},
        "plan": {},
        "samples": [sample, {**sample, "epoch": 2}],
    }


def smolagents_run() -> Object:
    calls = "Calling tools:\n" + repr(
        [{"id": "call_1", "type": "function", "function": {"name": "python", "arguments": "x = 1"}}]
    )

    def said(role: str, value: str) -> Object:
        return {"role": role, "content": [text(value)]}

    return {
        "task_id": "task-1",
        "agent_name": "model-s",
        "question": "How many?",
        "intermediate_steps": [
            said("system", "You are an agent."),
            said("user", "New task:\nHow many?"),
            said("assistant", "Thought: I compute."),
            said("tool-call", calls),
            said("tool-response", "Call id: call_1\nObservation:\n1"),
            said("assistant", "Thought: again."),
            said("tool-call", calls.replace("call_1", "call_2")),
            said("tool-response", "Error:\nbroken"),
            said("tool-call", "Calling tools:\n[unreadable"),
            said("user", "Now proceed and carry out this plan."),
            said("assistant", "One."),
        ],
    }


def smolagents_steps() -> list[Object]:
    def action(**fields: object) -> Object:
        shape = {
            "step_number": 1,
            "model_output": "I compute.",
            "observations": None,
            "error": None,
        }
        return {**shape, "tool_calls": [], **fields}

    call = {"id": "call_1", "type": "function", "function": {"name": "python", "arguments": "x"}}
    usage = {"input_tokens": 50, "output_tokens": 5}
    return [
        {"system_prompt": "You are an agent."},
        {"task": "How many?", "task_images": None},
        {"plan": "First this.", "model_output_message": {}, "model_input_messages": []},
        action(tool_calls=[call], observations="1", action_output=1, token_usage=usage),
        action(tool_calls=[{**call, "id": "call_2"}], error={"type": "E", "message": "broken"}),
        action(model_output="No call.", observations="Nothing ran."),
        {"output": 1},
        {"new": "kind"},
    ]


def pydantic_ai_messages() -> list[Object]:
    def request(*parts: Object, **fields: object) -> Object:
        return {"kind": "request", "parts": list(parts), **fields}

    def response(*parts: Object, **fields: object) -> Object:
        return {"kind": "response", "parts": list(parts), "model_name": "model-p", **fields}

    def call(call_id: str, arguments: object) -> Object:
        return {
            "part_kind": "tool-call",
            "tool_name": "f",
            "args": arguments,
            "tool_call_id": call_id,
        }

    def answer(call_id: str, content: object, **fields: object) -> Object:
        found = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": call_id}
        return {**found, "content": content, **fields}

    picture = {"kind": "binary", "data": PIXEL, "media_type": "image/png"}
    return [
        request(
            {"part_kind": "system-prompt", "content": "Be brief."},
            {"part_kind": "user-prompt", "content": ["Look here", picture]},
            instructions="Be kind.",
        ),
        response(
            {"part_kind": "thinking", "content": "Both."},
            {"part_kind": "text", "content": "Looking."},
            call("a", {"x": 1}),
            call("b", "{broken"),
            {"part_kind": "new-kind", "value": 1},
            usage={"input_tokens": 50, "output_tokens": 5},
            timestamp="2026-03-01T12:00:00Z",
        ),
        request(answer("b", {"rows": [1]}, outcome="failed"), answer("a", ["one", picture])),
        response(call("c", {})),
        request(
            answer("c", "third"),
            {"part_kind": "user-prompt", "content": "beside"},
            {"part_kind": "new-kind", "value": 2},
        ),
        request({"part_kind": "user-prompt", "content": [{"kind": "new"}]}),
        request({"part_kind": "retry-prompt", "content": "Try again."}),
        response({"part_kind": "text", "content": "Done."}, finish_reason="stop"),
    ]


def langchain_messages() -> list[Object]:
    call = {"name": "f", "args": {"x": 1}, "id": "a", "type": "tool_call"}
    broken = {"name": "f", "args": "{broken", "id": "b", "type": "invalid_tool_call"}
    blocks = [
        {"type": "reasoning", "reasoning": "Both."},
        text("Looking."),
        tool_use("a", "f"),
        {"type": "new"},
    ]
    url = {"url": f"data:image/png;base64,{PIXEL}"}
    usage = {"input_tokens": 50, "output_tokens": 5, "input_token_details": {"cache_read": 40}}
    about = {"model_name": "model-l", "finish_reason": "tool_calls"}

    def message(kind: str, content: object, **fields: object) -> Object:
        return {"type": kind, "data": {"type": kind, "content": content, **fields}}

    return [
        message("system", "Be brief."),
        message("human", [text("Look here"), {"type": "image_url", "image_url": url}]),
        message(
            "ai",
            blocks,
            tool_calls=[call],
            invalid_tool_calls=[broken],
            usage_metadata=usage,
            response_metadata=about,
        ),
        message("tool", "first", tool_call_id="a", status="success", artifact={"copy": 1}),
        message("tool", "no", tool_call_id="b", status="error"),
        message("ai", "Done."),
        message("human", "And?"),
        message("chat", "A word", role="critic"),
    ]


def langchain_dumped() -> list[Object]:
    """The same messages as ``dumpd`` writes them."""
    names = {"system": "System", "human": "Human", "ai": "AI", "tool": "Tool", "chat": "Chat"}
    return [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", f"{names[message['type']]}Message"],
            "kwargs": message["data"],
        }
        for message in langchain_messages()
    ]
