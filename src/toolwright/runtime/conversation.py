"""What one conversation holds between its turns: history, models, tools, limits, ledger. State only; the loop is in turn.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from toolwright.base.ids import new_uuid
from toolwright.base.worker_threads import in_thread
from toolwright.models.base import History, HistoryMessage, ModelRequest, Sampling
from toolwright.protocol import frames
from toolwright.runtime.limits import TurnLimits
from toolwright.runtime.pacing import at_once
from toolwright.types import ControlError

if TYPE_CHECKING:
    from toolwright.hooks.session.session_hooks import SessionHooks
    from toolwright.mcp.session.toolbox import Toolbox
    from toolwright.models.registry import ResolvedModel
    from toolwright.models.usage import UsageTracker
    from toolwright.runtime.structured_output import StructuredOutput
    from toolwright.runtime.tool_calls import ToolCall, ToolRunner
    from toolwright.sessions import Journal

THINKING = ("thinking", "redacted_thinking")
LONG_HISTORY = 2000
"""Messages; fewer are given up in a moment."""


class SlashCommands(Protocol):
    """Slash commands."""

    def rows(self) -> list[dict[str, Any]]:
        """`name`, `description` and `argumentHint` of each."""
        ...

    async def expand(self, text: str) -> list[dict[str, Any]] | None:
        """The content that takes the place of `text`; None if it is no command. Raises `PromptFailure`."""
        ...


class NoCommands:
    """Every message is what it says."""

    def rows(self) -> list[dict[str, Any]]:
        return []

    async def expand(self, text: str) -> list[dict[str, Any]] | None:
        return None


Emit = Callable[[frames.Frame], Awaitable[None]]


class Conversation(Struct):
    """One conversation's state. A turn reads and grows it; nothing else writes to `history`."""

    session_id: str
    models: list[ResolvedModel]
    """The model in use, then those to fall back to."""
    toolbox: Toolbox
    runner: ToolRunner
    system: str
    hooks: SessionHooks
    journal: Journal
    ledger: UsageTracker
    emit: Emit
    limits: TurnLimits = field(default_factory=TurnLimits)
    sampling: Sampling = field(default_factory=Sampling)
    structured: StructuredOutput | None = None
    partial_messages: bool = False
    recall: Callable[[], str] | None = None
    """Gives the standing instructions that the conversation begins with; asked once, with the first prompt."""
    replay_prompts: bool = False
    """Whether each user message is sent back as a frame, so that its sender learns its uuid."""
    history: History = field(default_factory=History)
    used_ids: set[str] = field(default_factory=set)
    deferred: ToolCall | None = None
    """A call that a hook put off; the history ends with it, and the next turn begins with it."""
    contexts: list[str] = field(default_factory=list)
    """Texts of hooks that the model is to read with the next prompt."""
    take_news: Callable[[], list[str]] = list
    """What happened beside the conversation and must be told with the next request; each text is given once."""

    heard: Callable[[], Awaitable[None]] = at_once
    """Gives whoever reads a moment to see what was said, before something is asked or done because of it."""

    commands: SlashCommands = field(default_factory=NoCommands)
    """What a message that begins with a slash may mean."""

    def __post_init__(self) -> None:
        self.runner.earlier_result = self.result_of

    @property
    def model(self) -> ResolvedModel:
        return self.models[0]

    def start_turn(self) -> None:
        self.ledger.start_turn()
        if self.structured is not None:
            self.structured.start_turn()

    def request(self, model: ResolvedModel) -> ModelRequest:
        return ModelRequest(
            model=model.id,
            messages=self.history,
            system=self.system,
            tools=self.toolbox.specs,
            max_tokens=self.sampling.max_tokens,
            thinking=self.sampling.thinking,
            effort=self.sampling.effort,
            betas=self.sampling.betas,
            session_id=self.session_id,
            limits=self.sampling.limits,
        )

    def unique_id(self, given: object, prefix: str) -> str:
        """The id of an answer or a call, or a new one if it is missing or was used before: some servers repeat theirs."""
        chosen = given if isinstance(given, str) else ""
        if not chosen or chosen in self.used_ids:
            chosen = f"{prefix}_{new_uuid()}"
        self.used_ids.add(chosen)
        return chosen

    def result_of(self, tool_use_id: str) -> Any:
        """What the result of that call says in the history; None if it is not (or no longer) there, or tells of an error."""
        for message in reversed(self.history):
            for block in message.content:
                if block.get("tool_use_id") == tool_use_id and block["type"] == "tool_result":
                    return None if block.get("is_error") else block.get("content")
        return None

    async def change_models(self, models: list[ResolvedModel]) -> None:
        """Go on with other models. Thinking is signed for the model that thought it, and another would refuse it.

        Raises `ControlError` if a hook keeps the one there is.
        """
        old, new = self.model.id, models[0].id
        if old != new and (refusal := await self._refusal(old, new)) is not None:
            await released(models)
            raise ControlError(f"The model stays {old}: {refusal}", code="denied")
        await released(self.models)
        self.models = models
        self.history = History(without_thinking(message) for message in self.history)
        self._tell_switch("PostModelSwitch", old, new, trigger="set_model")

    async def fall_back(self) -> None:
        """Go on with the next model, for the rest of the session."""
        dropped, *rest = self.models
        self._tell_switch("PreModelSwitch", dropped.id, rest[0].id, trigger="fallback")
        self.models = rest
        self.history = History(without_thinking(message) for message in self.history)
        self._tell_switch("PostModelSwitch", dropped.id, rest[0].id, trigger="fallback")
        await dropped.model.aclose()

    async def _refusal(self, old: str, new: str) -> str | None:
        """Why a hook keeps the model. There is nobody to ask about a model, so `ask` is a no."""
        hook = await self.hooks.model_is_chosen(old, new)
        if hook is None:
            return None
        self.contexts.extend(hook.additional_context)
        refuses = hook.block or hook.stop or hook.decision not in (None, "allow")
        return (hook.reason or hook.stop_reason or "A PreModelSwitch hook refused.") if refuses else None

    def _tell_switch(self, event: str, old: str, new: str, *, trigger: str) -> None:
        if old != new:
            self.hooks.model_switches(event, old, new, trigger=trigger)

    async def release_models(self) -> None:
        await released(self.models)

    async def forget(self) -> None:
        """Give up the history; a long one bit by bit, so that nothing else has to wait for that."""
        history, self.history = self.history, History()
        if len(history) > LONG_HISTORY:
            from toolwright.sessions.bulk import let_go

            await in_thread(lambda: let_go(history))

    def add_user(self, content: Sequence[dict[str, Any]]) -> None:
        self.history.append(HistoryMessage("user", list(content)))
        if self.recall is not None:
            recall, self.recall = self.recall, None
            self._begin_with(recall())

    def _begin_with(self, text: str) -> None:
        """Put `text` before the first message. It is not in the journal: a resumed session reads its sources anew."""
        if text:
            first, *rest = self.history
            self.history = History([HistoryMessage(first.role, [text_block(text), *first.content]), *rest])

    def give_up_deferred(self) -> None:
        """Say of a call that was put off that it was not run, because something else is said now."""
        call, self.deferred = self.deferred, None
        if call is not None:
            text = "This call was put off by a hook and not run: the conversation went on without it."
            block = {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": True}
            self.journal.user([block], uuid=new_uuid())
            self.add_user([block])

    def add_assistant(self, content: Sequence[dict[str, Any]]) -> None:
        self.history.append(HistoryMessage("assistant", list(content)))


async def released(models: Sequence[ResolvedModel]) -> None:
    for model in models:
        await model.model.aclose()


def without_thinking(message: HistoryMessage) -> HistoryMessage:
    rest = [block for block in message.content if block["type"] not in THINKING]
    return message if len(rest) == len(message.content) else HistoryMessage(message.role, rest)


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
