"""THE loop: user → model → tool calls → model → … → result. There is no other.

A turn leaves the history valid however it ends: every tool call in it has its result. Work that can be cut short at any moment
(an interrupt) keeps what it has in the turn's fields, so that the ending can tell what came of it. What is sent to the user
is in the journal first.
"""

from __future__ import annotations

import time
from typing import Any

import anyio
from msgspec import Struct

from toolwright.base.ids import new_uuid
from toolwright.mcp.session.prompts import PromptFailure
from toolwright.models.base import AnswerTooLarge, ModelError
from toolwright.protocol import frames
from toolwright.runtime import notices
from toolwright.runtime.conversation import Conversation, text_block
from toolwright.runtime.model_response import ResponseStream
from toolwright.runtime.structured_output import MAX_ATTEMPTS, REMINDER
from toolwright.runtime.tool_calls import Outcome, ToolCall
from toolwright.runtime.turn_result import TurnResult, failed
from toolwright.sessions import JournalError
from toolwright.tools.base import ToolOutput

CONTINUE = "Your answer was cut off by the output limit. Go on exactly where it ended."
GO_ON = "A hook says that the work is not done yet. Go on."
INTERRUPTED = "The person interrupted this turn."
NOT_RUN = "This call was not run: {reason}"
KEPT_OF_TOO_LARGE = 100_000
"""Characters that stay of a text that made its answer too large: all of it would make every later request too large."""
CUT_SHORT = "This call was interrupted by the person before it was done. Part of its work may have been done."


class Prompt(Struct):
    """A user message waiting for its turn."""

    content: list[dict[str, Any]]
    uuid: str
    origin: dict[str, Any] | None = None
    own: bool = False
    """Whether the runtime itself wrote it: then it is no prompt that a person submits, and is not sent back to its sender."""
    verbatim: bool = False
    """Whether it is only text, even if it looks like a command."""

    @property
    def text(self) -> str:
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")


class Turn:
    """One run of the loop for one user message."""

    def __init__(self, conversation: Conversation, prompt: Prompt) -> None:
        self.conversation = conversation
        self.prompt = prompt
        self._content = prompt.content
        self.scope = anyio.CancelScope()
        self.phase = "streaming"
        self._answer = ResponseStream(conversation)
        self._pending: list[ToolCall] = []
        self._results: dict[str, dict[str, Any]] = {}
        self._contexts: list[str] = []
        self._outcomes: list[Outcome] = []
        self._denials: list[dict[str, Any]] = []
        self._user_frames = 0
        self._rounds = 0
        self._continued = False
        self._stop_hook_active = False
        self._stop_reason: str | None = None
        self._api_seconds = 0.0
        self._started = time.perf_counter()
        self._before_prompt = True
        self._announced = False

    def interrupt(self) -> None:
        """Stop at the next moment something is waited for; the turn then ends in order."""
        self.scope.cancel()

    async def run(self, announce: frames.Frame) -> frames.Frame:
        """Play the turn. `announce` is the init frame; the answer is the result frame, already sent."""
        self.conversation.start_turn()
        try:
            async with self.conversation.journal.held():
                ending = await self._play_to_the_end(announce)
        except JournalError as error:
            await self._announce(announce)
            self._mend_history()
            ending = failed("error_during_execution", "turn_setup_failed", str(error))
        frame = self._result(ending)
        await self.conversation.emit(frame)
        return frame

    async def _play_to_the_end(self, announce: frames.Frame) -> TurnResult:
        ending: TurnResult | None = None
        with self.scope:
            ending = await self._play(announce)
        return ending if ending is not None else await self._interrupted()

    async def _play(self, announce: frames.Frame) -> TurnResult:
        blocked = await self._submit()
        await self._announce(announce)
        if blocked is not None:
            return blocked
        put_off = await self._run_deferred() or await self._expand()
        if put_off is not None:
            return put_off
        self._take_prompt()
        if self.conversation.replay_prompts and not self.prompt.own:
            await self.conversation.emit(self._replayed_prompt())
        ending: TurnResult | None = None
        while ending is None:
            ending = await self._step()
        return ending

    async def _announce(self, announce: frames.Frame) -> None:
        if not self._announced:
            self._announced = True
            await self.conversation.emit(announce)

    # the prompt

    async def _submit(self) -> TurnResult | None:
        conversation = self.conversation
        if not self.prompt.content:
            return failed("error_during_execution", "turn_setup_failed", "The prompt is empty: there is nothing to send.")
        outcome = None if self.prompt.own else await conversation.hooks.prompt_comes(self.prompt.text)
        if outcome is None:
            return None
        if outcome.block or outcome.stop:
            return TurnResult(terminal_reason="hook_stopped", text=outcome.reason if outcome.block else outcome.stop_reason)
        conversation.contexts.extend(outcome.additional_context)
        return None

    async def _expand(self) -> TurnResult | None:
        """A slash command becomes what it stands for; other content of the message stays behind it."""
        first, *others = self.prompt.content
        if self.prompt.own or self.prompt.verbatim or first["type"] != "text":
            return None
        try:
            expanded = await self.conversation.commands.expand(str(first.get("text")))
        except PromptFailure as failure:
            return failed("error_during_execution", "turn_setup_failed", str(failure))
        self._content = self.prompt.content if expanded is None else [*expanded, *others]
        return None

    def _take_prompt(self) -> None:
        conversation = self.conversation
        more = (*conversation.contexts, *conversation.take_news())
        content = [*self._content, *(text_block(text) for text in more)]
        self._before_prompt = False
        conversation.journal.user(content, uuid=self.prompt.uuid, is_meta=self.prompt.own)
        conversation.runner.workspace.mark(self.prompt.uuid)
        conversation.add_user(content)
        conversation.contexts.clear()

    def _replayed_prompt(self) -> frames.Frame:
        prompt = self.prompt
        return frames.user(prompt.content, session_id=self.conversation.session_id, uuid=prompt.uuid, isReplay=True)

    # one step: ask the model, then act on its answer

    async def _step(self) -> TurnResult | None:
        try:
            await self._ask()
        except ModelError as error:
            return await self._model_failed(error)
        calls = self._answer.close()
        over = self.conversation.limits.over_budget(self.conversation.ledger, self._answer.model)
        if over is not None:
            await self._refuse(calls, NOT_RUN.format(reason="the budget of this session is used up."))
            return over
        if calls:
            return await self._run_calls(calls)
        return await self._without_calls()

    async def _ask(self) -> None:
        self.phase = "streaming"
        self._answer = ResponseStream(self.conversation, text=self._answer.text)
        started = time.perf_counter()
        try:
            await self._answer.receive()
        finally:
            self._api_seconds += time.perf_counter() - started
        self.phase = "deciding"
        self._stop_reason = self._answer.stop_reason

    # tool calls

    async def _run_calls(self, calls: list[ToolCall]) -> TurnResult | None:
        self.phase = "tools"
        self._pending = calls
        self._rounds += 1
        await self.conversation.heard()
        await self.conversation.runner.run(calls, self._deliver)
        outcomes, self._outcomes = self._outcomes, []
        if outcomes[-1].deferred:
            return self._put_off(calls[-1])
        stopped = await self._batch_ends()
        self._contexts.extend(self.conversation.take_news())
        self._close_results()
        return await self._after_calls(outcomes) or stopped

    async def _run_deferred(self) -> TurnResult | None:
        """A call that a hook put off in an earlier turn comes first; its hooks are asked again."""
        call, self.conversation.deferred = self.conversation.deferred, None
        return None if call is None else await self._run_calls([call])

    def _put_off(self, call: ToolCall) -> TurnResult:
        """Leave a call without a result: the next turn, perhaps of another process, begins with it."""
        conversation = self.conversation
        conversation.journal.deferred(call.id)
        conversation.deferred, self._pending = call, []
        if self._before_prompt:  # put off once more: the prompt has to wait with it
            conversation.contexts.append(self.prompt.text)
        told = {"id": call.id, "name": call.name, "input": call.input}
        return TurnResult(terminal_reason="tool_deferred", text=self._answer.text, deferred=told)

    async def _batch_ends(self) -> TurnResult | None:
        """Hooks may look at all results together before the model does, add to them, or end the turn."""
        told = [
            {"tool_name": call.name, "tool_input": call.input, "tool_use_id": call.id, "tool_response": result["content"]}
            for call in self._pending
            for result in [self._results[call.id]]
        ]
        outcome = await self.conversation.hooks.batch_ends(told)
        if outcome is None:
            return None
        self._contexts.extend(outcome.additional_context)
        if not (outcome.block or outcome.stop):
            return None
        return TurnResult(terminal_reason="hook_stopped", text=outcome.reason if outcome.block else outcome.stop_reason)

    async def _deliver(self, call: ToolCall, outcome: Outcome) -> None:
        """One call's result: into the journal, then to the user."""
        conversation = self.conversation
        self._outcomes.append(outcome)
        if outcome.deferred:
            return
        self._contexts.extend(outcome.contexts)
        if outcome.denied:
            denied_input = call.input if outcome.verdict is None else outcome.verdict.input
            self._denials.append({"tool_name": call.name, "tool_use_id": call.id, "tool_input": denied_input})
            if outcome.verdict is not None and outcome.verdict.source == "nobody":
                await conversation.emit(notices.denied(call, outcome.verdict, conversation.session_id))
        await self._give_result(call, outcome.output)

    async def _give_result(self, call: ToolCall, output: ToolOutput) -> None:
        conversation = self.conversation
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "content": output.content}
        if output.is_error is not None:
            block["is_error"] = output.is_error
        uuid = new_uuid()
        self._results[call.id] = block
        self._user_frames += 1
        structured = for_programs(output)
        with conversation.journal.batch():
            conversation.journal.user([block], uuid=uuid, tool_use_result=structured)
            for seen in conversation.runner.workspace.reads.take_news():
                conversation.journal.read_state(call.id, **seen)
        await conversation.emit(frames.tool_result(block, session_id=conversation.session_id, uuid=uuid, structured=structured))

    def _close_results(self) -> None:
        """Put the results of the pending calls into the history, in the order of the calls."""
        content = [self._results[call.id] for call in self._pending]
        if self._contexts:
            note = "\n".join(self._contexts)
            content.append(text_block(note))
            self.conversation.journal.user([text_block(note)], uuid=new_uuid(), is_meta=True)
            self._contexts.clear()
        if content:
            self.conversation.add_user(content)
        self._pending, self._results = [], {}

    async def _refuse(self, calls: list[ToolCall], text: str) -> None:
        """Give each call that has no result the text as one, so that the history stays valid."""
        self._pending = calls
        for call in calls:
            if call.id not in self._results:
                await self._give_result(call, ToolOutput(text, f"Error: {text}", is_error=True))
        self._close_results()

    async def _after_calls(self, outcomes: list[Outcome]) -> TurnResult | None:
        structured = self.conversation.structured
        if structured is not None and structured.answered:
            return TurnResult(text=to_json(structured.answer), structured_output=structured.answer)
        if structured is not None and structured.failures >= MAX_ATTEMPTS:
            return failed(
                "error_max_structured_output_retries",
                "structured_output_retry_exhausted",
                f"No answer matched the schema in {MAX_ATTEMPTS} attempts.",
            )
        if any(outcome.interrupt for outcome in outcomes):
            await self._say(INTERRUPTED)
            return failed("error_during_execution", "aborted_tools", "A permission answer ended the turn.")
        halts = [outcome.halt for outcome in outcomes if outcome.halt is not None]
        if halts:
            return TurnResult(terminal_reason="hook_stopped", text=halts[0])
        return self.conversation.limits.over_turns(self._rounds)

    # without calls

    async def _without_calls(self) -> TurnResult | None:
        if self._stop_reason == "pause_turn":
            return None
        if self._stop_reason in ("max_tokens", "refusal") and not self._continued:
            self._continued = True
            await self._say(CONTINUE if self._stop_reason == "max_tokens" else "Please go on with what you can do.")
            return None
        structured = self.conversation.structured
        if structured is not None and not structured.reminded:
            structured.reminded = True
            await self._say(REMINDER)
            return None
        return await self._stop()

    async def _stop(self) -> TurnResult | None:
        await self.conversation.heard()
        outcome = await self.conversation.hooks.model_stops(self._answer.text, active=self._stop_hook_active)
        if outcome is not None and outcome.stop:
            return TurnResult(terminal_reason="stop_hook_prevented", text=self._answer.text)
        if outcome is not None and outcome.block:
            self._stop_hook_active = True
            self._rounds += 1  # a hook that never lets go would go on for ever
            await self._say(outcome.reason or GO_ON)
            return self.conversation.limits.over_turns(self._rounds)
        if outcome is not None:
            self.conversation.contexts.extend(outcome.additional_context)
        return TurnResult(text=self._answer.text)

    async def _say(self, text: str) -> None:
        """Put a text of the runtime's own into the conversation, as a user message."""
        conversation = self.conversation
        self._user_frames += 1
        frame = frames.synthetic_user(text, session_id=conversation.session_id)
        conversation.journal.user([text_block(text)], uuid=frame["uuid"], is_meta=True)
        conversation.add_user([text_block(text)])
        await conversation.emit(frame)

    # endings

    async def _interrupted(self) -> TurnResult:
        reason = "aborted_tools" if self.phase == "tools" else "aborted_streaming"
        if self._before_prompt:
            await self._give_up_deferred()
            self._take_prompt()
        await self._keep_partial_answer()
        not_run = NOT_RUN.format(reason="the person interrupted the turn.")
        await self._refuse(self._pending, CUT_SHORT if self.phase == "tools" else not_run)
        await self._say(INTERRUPTED)
        return failed("error_during_execution", reason, INTERRUPTED)

    async def _give_up_deferred(self) -> None:
        """A call that was put off and not done now stands before the prompt, and needs its result there."""
        call, self.conversation.deferred = self.conversation.deferred, None
        await self._refuse(self._pending or ([call] if call else []), CUT_SHORT)

    async def _keep_partial_answer(self, *, most: int | None = None) -> None:
        if self.phase == "streaming":
            calls = await self._answer.break_off(most=most)
            self._pending = self._pending or calls

    def _mend_history(self) -> None:
        """The journal refused what was about to be said: keep the history valid all the same, in memory."""
        self._pending = self._pending or self._answer.close()
        text = NOT_RUN.format(reason="the transcript could not be written.")
        for call in self._pending:
            error = {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": True}
            self._results.setdefault(call.id, error)
        self._contexts.clear()
        self._close_results()

    async def _model_failed(self, error: ModelError) -> TurnResult:
        conversation = self.conversation
        error = notices.with_key_source(error, conversation.model.key_source)
        too_large = isinstance(error, AnswerTooLarge)
        await self._keep_partial_answer(most=KEPT_OF_TOO_LARGE if too_large else None)
        await self._refuse(self._pending, NOT_RUN.format(reason=str(error) if too_large else "the model's answer broke off."))
        await conversation.emit(notices.api_error(error, conversation.session_id))
        await conversation.hooks.model_fails(notices.error_name(error), str(error), last_text=self._answer.text)
        ending = TurnResult(
            terminal_reason="api_error", text=f"API error: {error}", is_error=True, api_error_status=error.status
        )
        if error.kind == "prompt_too_long":
            ending.terminal_reason = "prompt_too_long"
        return ending

    def _result(self, ending: TurnResult) -> frames.Frame:
        ledger = self.conversation.ledger
        return {
            "type": "result",
            "subtype": ending.subtype,
            "is_error": ending.is_error,
            "duration_ms": int((time.perf_counter() - self._started) * 1000),
            "duration_api_ms": int(self._api_seconds * 1000),
            "num_turns": 0 if self._before_prompt else 1 + self._user_frames,
            "session_id": self.conversation.session_id,
            "stop_reason": self._stop_reason,
            "terminal_reason": ending.terminal_reason,
            "total_cost_usd": ledger.total_cost,
            "usage": ledger.turn_usage,
            "modelUsage": ledger.model_usage(),
            "permission_denials": self._denials,
            "uuid": new_uuid(),
            **ending.fields(),
            **({"origin": self.prompt.origin} if self.prompt.origin else {}),
        }


def for_programs(output: ToolOutput) -> Any:
    """What stands beside a result's block for programs to read: of an error one text, of anything else what the tool gives."""
    if output.is_error and not isinstance(output.structured, str):
        return f"Error: {output.text}"
    return output.structured


def to_json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
