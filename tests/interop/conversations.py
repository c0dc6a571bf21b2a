"""Small conversations, each a scripted model and a program with the published SDK, to be held with both runtimes."""

import json
from typing import Any

import anyio
from claude_agent_sdk import (
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk.types import PermissionRuleValue
from published import MODEL, always, hooked, prompt_frame, specific
from side_by_side import Conversation, Run

from toolwright.testing import Stall, Status, ToolCall
from toolwright.testing import answer as any_answer
from toolwright.testing.messages_dialect import Message, message_events, render
from toolwright.testing.steps import Raw

CONVERSATIONS: list[Conversation] = []


def conversation(name: str, *steps: Any, words: tuple[str, ...] = ()) -> Any:
    """Add the conversation whose program is the function below."""

    def add(talk: Any) -> Any:
        CONVERSATIONS.append(Conversation(name, talk, lambda: list(steps), words))
        return talk

    return add


def answer(text: str = "", *calls: ToolCall, **more: Any) -> Raw:
    return any_answer(text, *calls, model=MODEL, **more)


def bash(command: str, call_id: str = "t1") -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "d"}, call_id)


def touch(name: str) -> Raw:
    """A call that makes a file; its id is the file's name."""
    return answer("", bash(f"touch {name}", name))


def output(call_id: str, **given: Any) -> Raw:
    return answer("", ToolCall("StructuredOutput", given, call_id))


DONE = answer("done")


async def turn(client: ClaudeSDKClient, prompt: str = "go") -> list[Any]:
    await client.query(prompt)
    return [message async for message in client.receive_response()]


def person(*answers: Any) -> Any:
    """A can_use_tool callback that gives one answer after the other."""
    left = list(answers)

    async def answer_now(name: str, given: dict[str, Any], context: Any) -> Any:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return answer_now


# plain conversations


@conversation("a query", answer("Hello!"))
async def _(run: Run) -> None:
    await run.ask("Hi")


@conversation("two prompts of an iterable", answer("one"), answer("two"))
async def _(run: Run) -> None:
    first = anyio.Event()

    async def prompts() -> Any:
        yield prompt_frame("first")
        await first.wait()
        yield prompt_frame([{"type": "text", "text": "second"}])

    async for message in query(prompt=prompts(), options=run.options()):
        if isinstance(message, ResultMessage):
            first.set()


@conversation(
    "many turns",
    answer("I look.", ToolCall("Read", {"file_path": "a.txt"}, "t1")),
    DONE,
    answer("", ToolCall("Nonsense", {"x": 1}, "t2")),
    answer("", ToolCall("Read", {}, "t3")),
    answer("", ToolCall("Read", {"file_path": "none"}, "t4")),
    DONE,
    answer("the beg", stop_reason="max_tokens"),
    answer("inning"),
    words=("No such tool available: Nonsense", "The required parameter `file_path` is missing", "tool_use_error", "Say hi"),
)
async def _(run: Run) -> None:
    run.place.write("a.txt", "one\n")
    async with ClaudeSDKClient(run.options(extra_args={"replay-user-messages": None})) as client:
        for _ in range(3):
            await turn(client, "Say hi")


@conversation("partial messages", answer("I look.", bash("exit 3"), thinking="Hm."), DONE, words=("Exit code 3",))
async def _(run: Run) -> None:
    await run.ask(include_partial_messages=True, allowed_tools=["Bash"])


# permissions

RULE = PermissionUpdate("addRules", [PermissionRuleValue("Bash", "touch:*")], behavior="allow", destination="session")


@conversation(
    "a person decides",
    answer("", ToolCall("Write", {"file_path": "w.txt", "content": "hi"}, "t1")),
    DONE,
    touch("denied"),
    DONE,
    touch("raised"),
    DONE,
    touch("changed"),
    touch("covered"),
    DONE,
    words=("Not today.", "no idea"),
)
async def _(run: Run) -> None:
    answers = person(
        PermissionResultAllow(),
        PermissionResultDeny(message="Not today."),
        RuntimeError("no idea"),
        PermissionResultAllow(updated_input={"command": "touch instead"}, updated_permissions=[RULE]),
    )
    async with ClaudeSDKClient(run.options(can_use_tool=answers)) as client:
        for _ in range(4):
            await turn(client)
    run.note("files", run.place.names())


QUESTION = {
    "question": "Which?",
    "header": "H",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    "multiSelect": False,
}


@conversation("a question", answer("", ToolCall("AskUserQuestion", {"questions": [QUESTION]}, "t1")), DONE)
async def _(run: Run) -> None:
    answered = {"questions": [QUESTION], "answers": {"Which?": "A"}}
    await run.ask(can_use_tool=person(PermissionResultAllow(updated_input=answered)))


@conversation(
    "a plan",
    answer("", ToolCall("EnterPlanMode", {}, "t1")),
    answer("", ToolCall("ExitPlanMode", {"plan": "# Plan"}, "t2")),
    answer("", ToolCall("Write", {"file_path": "w.txt", "content": "hi"}, "t3")),
    DONE,
)
async def _(run: Run) -> None:
    await run.ask(can_use_tool=person(PermissionResultAllow(), PermissionResultAllow()))
    run.note("files", run.place.names())


@conversation(
    "a plan that is refused", answer("", ToolCall("ExitPlanMode", {"plan": "# Plan"}, "t1")), DONE, words=("Not yet.",)
)
async def _(run: Run) -> None:
    await run.ask(can_use_tool=person(PermissionResultDeny(message="Not yet.")), permission_mode="plan")


@conversation("a person denies and interrupts", touch("x"), DONE)
async def _(run: Run) -> None:
    await run.ask(can_use_tool=person(PermissionResultDeny(message="Stop.", interrupt=True)))


@conversation("nobody to ask", touch("x"), touch("y"), DONE, words=("by the hook",))
async def _(run: Run) -> None:
    answers = [{}, decided("ask")]

    async def hook(payload: Any, tool_use_id: Any, context: Any) -> Any:
        return answers.pop(0)

    await run.ask(hooks=hooked(PreToolUse=hook))


@conversation("a permission hook", touch("x"), DONE)
async def _(run: Run) -> None:
    await run.ask(can_use_tool=person(PermissionResultAllow()), hooks=hooked(PermissionRequest=always({})))


@conversation("a disallowed tool", touch("x"), DONE)
async def _(run: Run) -> None:
    messages = await run.ask(disallowed_tools=["Bash"], tools=["Read", "Bash"])
    run.note("tools", next(message.data["tools"] for message in messages if isinstance(message, SystemMessage)))


@conversation("a command that only reads", answer("", bash("ls")), DONE)
async def _(run: Run) -> None:
    await run.ask(can_use_tool=person(PermissionResultAllow()))


# hooks

EVENTS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")


def decided(decision: str, **more: Any) -> dict[str, Any]:
    return specific("PreToolUse", permissionDecision=decision, permissionDecisionReason="by the hook", **more)


@conversation("every hook", answer("", bash("exit 3")), answer("", bash("echo hi", "t2")), DONE, words=("Exit code 3", "hi"))
async def _(run: Run) -> None:
    await run.ask(allowed_tools=["Bash"], hooks=hooked(**{event: always({}) for event in EVENTS}))


class Moods:
    """Hooks that give one answer for the turn that comes."""

    def __init__(self) -> None:
        self.now: dict[str, Any] = {}

    async def __call__(self, payload: Any, tool_use_id: Any, context: Any) -> Any:
        return self.now.get(payload["hook_event_name"], {})

    async def turn(self, client: ClaudeSDKClient, **now: Any) -> None:
        self.now = now
        await turn(client)


@conversation(
    "hooks decide",
    touch("denied"),
    DONE,
    touch("blocked"),
    DONE,
    touch("allowed"),
    DONE,
    touch("asked"),
    DONE,
    touch("changed"),
    DONE,
    words=("by the hook",),
)
async def _(run: Run) -> None:
    moods = Moods()
    options = run.options(hooks=hooked(PreToolUse=moods), can_use_tool=person(PermissionResultAllow()))
    async with ClaudeSDKClient(options) as client:
        await moods.turn(client, PreToolUse=decided("deny"))
        await moods.turn(client, PreToolUse={"decision": "block", "reason": "by the hook"})
        await moods.turn(client, PreToolUse=decided("allow"))
        await moods.turn(client, PreToolUse=decided("ask"))
        await moods.turn(client, PreToolUse=decided("allow", updatedInput={"command": "touch instead"}))
    run.note("files", run.place.names())


@conversation("hooks stop after a tool or an answer", touch("x"), DONE, DONE, words=("by the hook", "done"))
async def _(run: Run) -> None:
    moods = Moods()
    stop = {"continue_": False, "stopReason": "enough"}
    async with ClaudeSDKClient(run.options(hooks=hooked(PostToolUse=moods, Stop=moods), allowed_tools=["Bash"])) as client:
        await moods.turn(client, PostToolUse=stop)
        await moods.turn(client, Stop=stop)
        await moods.turn(client)


@conversation("a hook stops before a tool", touch("x"), DONE)
async def _(run: Run) -> None:
    stop = always({"continue_": False, "stopReason": "enough"})
    await run.ask(hooks=hooked(PreToolUse=stop), allowed_tools=["Bash"])
    run.note("files", run.place.names())


@conversation("a hook blocks the prompt", words=("by the hook",))
async def _(run: Run) -> None:
    await run.ask(hooks=hooked(UserPromptSubmit=always({"decision": "block", "reason": "by the hook"})))


@conversation("a hook defers", touch("x"), DONE)
async def _(run: Run) -> None:
    messages = await run.ask(hooks=hooked(PreToolUse=always(specific("PreToolUse", permissionDecision="defer"))))
    run.note("deferred", getattr(messages[-1], "deferred_tool_use", None))


def commands(**by_event: str) -> str:
    """Settings with a command as the hook of each event; each has a second, or as long as it needs."""
    limits = {"sleep 100": {"timeout": 1}}
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, **limits.get(command, {})}]}]
        for event, command in by_event.items()
    }
    return json.dumps({"hooks": hooks})


def shown_runs(messages: list[Any]) -> list[tuple[Any, ...]]:
    """What the frames about hooks of the settings say."""
    names = ("subtype", "hook_name", "hook_event", "output", "stdout", "stderr", "exit_code", "outcome")
    frames = [message.data for message in messages if isinstance(message, SystemMessage)]
    return [tuple(frame.get(name) for name in names) for frame in frames if frame["subtype"].startswith("hook_")]


@conversation("hooks of the settings", touch("x"), touch("y"), DONE, answer("again"), words=("by the hook",))
async def _(run: Run) -> None:
    settings = commands(
        SessionStart="echo hello",
        UserPromptSubmit="exit 1",
        PreToolUse="grep -q 'touch y' || exit 0; echo by the hook >&2; exit 2",
        PostToolUse="echo seen",
        Stop="grep -q 'stop_hook_active.:true' || { echo by the hook >&2; exit 2; }",
    )
    for row in shown_runs(await run.ask(settings=settings, include_hook_events=True, allowed_tools=["Bash"])):
        run.note(*row)
    run.note("files", run.place.names())


@conversation("only the start of hooks is shown", DONE)
async def _(run: Run) -> None:
    for row in shown_runs(await run.ask(settings=commands(SessionStart="exit 3", Stop="true"))):
        run.note(*row)


@conversation("hooks after a batch of calls", touch("x"), DONE)
async def _(run: Run) -> None:
    await run.ask(settings=commands(PostToolBatch="echo by the hook >&2; exit 2"), allowed_tools=["Bash"])


@conversation("a silent guard", touch("x"), DONE)
async def _(run: Run) -> None:
    await run.ask(settings=commands(PreToolUse="sleep 100"), include_hook_events=True, allowed_tools=["Bash"])
    run.note("files", run.place.names())


@conversation("a hook sends the model on", DONE, answer("really done"), words=("And the tests?", "really done"))
async def _(run: Run) -> None:
    async def once(payload: Any, tool_use_id: Any, context: Any) -> Any:
        return {} if payload["stop_hook_active"] else {"decision": "block", "reason": "And the tests?"}

    await run.ask(hooks=hooked(Stop=once))


@conversation("a hook that must not fail raises", touch("x"), DONE)
async def _(run: Run) -> None:
    async def broken(payload: Any, tool_use_id: Any, context: Any) -> Any:
        raise RuntimeError("kaput")

    await run.ask(allowed_tools=["Bash"], hooks={"PreToolUse": [HookMatcher(hooks=[broken], on_failure="block")]})
    run.note("files", run.place.names())


# Python tools


@tool("add", "Add two numbers", {"a": int, "b": int})
async def add(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}


@tool("fail", "Report a failure", {})
async def fail(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "the disk is full"}], "is_error": True}


@tool("explode", "Raise", {})
async def explode(given: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("kaput")


def calc() -> dict[str, Any]:
    return {"calc": create_sdk_mcp_server("calc", tools=[add, fail, explode])}


@conversation(
    "Python tools",
    answer("", ToolCall("mcp__calc__add", {"a": 20, "b": 22}, "t1")),
    answer("", ToolCall("mcp__calc__fail", {}, "t2")),
    answer("", ToolCall("mcp__calc__explode", {}, "t3")),
    answer("", ToolCall("mcp__calc__add", {"a": 1}, "t4")),
    DONE,
    words=("42", "the disk is full", "kaput", "Input validation error: 'b' is a required property"),
)
async def _(run: Run) -> None:
    hooks = hooked(**{event: always({}) for event in EVENTS[1:4]})
    allow = person(*[PermissionResultAllow()] * 4)
    messages = await run.ask(mcp_servers=calc(), can_use_tool=allow, hooks=hooks)
    begun = next(message.data for message in messages if isinstance(message, SystemMessage))
    run.note("servers", begun["mcp_servers"])
    run.note("tools", sorted(name for name in begun["tools"] if name.startswith("mcp__")))


# structured output

FORMAT = {"type": "json_schema", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}


@conversation(
    "structured output",
    output("t1", n="x"),
    output("t2", n=2),
    answer("two"),
    answer("two, I said"),
    *[output(f"bad{n}", n="x") for n in range(8)],
    words=('{"n":2}', "two, I said"),
)
async def _(run: Run) -> None:
    async with ClaudeSDKClient(run.options(output_format=FORMAT)) as client:
        for _ in range(3):
            await turn(client)


# limits and errors


@conversation("too many turns", *[answer("", bash("echo hi", f"t{n}")) for n in range(4)], words=("hi",))
async def _(run: Run) -> None:
    await run.ask(max_turns=2, allowed_tools=["Bash"])


COSTLY = {"input_tokens": 100_000, "output_tokens": 9000}


@conversation("too costly", answer("", bash("touch x"), usage=COSTLY), DONE)
async def _(run: Run) -> None:
    await run.ask(max_budget_usd=0.1, allowed_tools=["Bash"])  # whether theirs had begun the command by then is a race


@conversation("a busy server", Status(529), answer("at last"), *[Status(429)] * 2, words=("scripted 429",))
async def _(run: Run) -> None:
    async with ClaudeSDKClient(run.options(env={"CLAUDE_CODE_MAX_RETRIES": "1"})) as client:
        await turn(client)
        await turn(client)


@conversation("a server that refuses", *[Status(429)] * 2, words=("scripted 429",))
async def _(run: Run) -> None:
    await run.ask(env={"CLAUDE_CODE_MAX_RETRIES": "1"})


# interrupts


@conversation(
    "interrupted while streaming", render(message_events(Message("half of", model=MODEL))[:-3], Stall()), answer("back")
)
async def _(run: Run) -> None:
    async with ClaudeSDKClient(run.options(include_partial_messages=True)) as client:
        await client.query("go")
        async for message in client.receive_response():
            if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                await client.interrupt()
        await turn(client)


@conversation("interrupted while a tool runs", answer("", ToolCall("mcp__x__hang", {}, "t1")), answer("back"))
async def _(run: Run) -> None:
    begun = anyio.Event()

    @tool("hang", "Hang", {})
    async def hang(given: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        await anyio.sleep_forever()
        return {}

    servers = {"x": create_sdk_mcp_server("x", tools=[hang])}
    async with ClaudeSDKClient(run.options(mcp_servers=servers, allowed_tools=["mcp__x"])) as client:
        await interrupted_turn(client, begun)
        await turn(client)


@conversation("interrupted while a person is asked", touch("x"), answer("back"))
async def _(run: Run) -> None:
    asked = anyio.Event()

    async def hesitant(name: str, given: dict[str, Any], context: Any) -> Any:
        asked.set()
        await anyio.sleep_forever()

    async with ClaudeSDKClient(run.options(can_use_tool=hesitant)) as client:
        await interrupted_turn(client, asked)
        await turn(client)


async def interrupted_turn(client: ClaudeSDKClient, moment: anyio.Event) -> None:
    async def interrupt() -> None:
        await moment.wait()
        await client.interrupt()

    async with anyio.create_task_group() as group:
        group.start_soon(interrupt)
        await turn(client)


# controls and sessions

HAIKU = "claude-haiku-4-5"


@conversation(
    "controls",
    answer("one"),
    any_answer("two", model=HAIKU),
    words=("must be one of", "Set model to", "Server not found", "not enabled"),
)
async def _(run: Run) -> None:
    async with ClaudeSDKClient(run.options(mcp_servers=calc())) as client:
        await client.get_server_info()
        await client.get_context_usage()
        await turn(client)
        await client.get_mcp_status()
        await client.interrupt()
        await client.set_permission_mode("acceptEdits")
        await client.stop_task("none")
        await client.set_model(HAIKU)
        await client.toggle_mcp_server("calc", False)
        await client.toggle_mcp_server("calc", True)
        for refused in (client.set_permission_mode("sudo"), client.reconnect_mcp_server("none"), client.rewind_files("none")):
            try:
                await refused
            except Exception as error:  # noqa: BLE001 — the SDK raises a bare Exception for a refused control request
                run.note("refused", type(error).__name__)
        messages = await turn(client)
        begun = next(message.data for message in messages if isinstance(message, SystemMessage) and message.subtype == "init")
        run.note("now", begun["model"], begun["permissionMode"], begun["mcp_servers"])


@conversation("controls without the SDK", words=("Unsupported control request subtype: make_coffee", "must be one of"))
async def _(run: Run) -> None:
    await run.control(
        {"subtype": "initialize", "hooks": None},
        {"subtype": "make_coffee"},
        {"subtype": "set_permission_mode", "mode": "sudo"},
        {"subtype": "interrupt"},
        {"subtype": "initialize", "hooks": None},
    )


@conversation("sessions", *[answer(str(number)) for number in range(5)])
async def _(run: Run) -> None:
    ids: list[str] = []

    async def session(**options: Any) -> None:
        ids.extend(message.session_id for message in await run.ask(**options) if isinstance(message, ResultMessage))

    await session()
    await session(resume=ids[0])
    await session(continue_conversation=True)
    await session(resume=ids[0], fork_session=True)
    await session(session_id="11111111-1111-4111-8111-111111111111")
    run.note("ids", [ids.index(each) for each in ids], ids[4].startswith("11111111"))
    sent = [[message["role"] for message in request.json["messages"]] for request in run.server.requests]
    run.note("history", [len([role for role in roles if role == "assistant"]) for roles in sent])


@conversation("an unknown session", words=("No conversation found with session ID: 0",))
async def _(run: Run) -> None:
    await run.ask(resume="00000000-0000-4000-8000-000000000000")
