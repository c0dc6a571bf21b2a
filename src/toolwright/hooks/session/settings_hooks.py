"""Hooks of the settings, put together: commands run by the workspace, web addresses asked, conditions judged as rules.

Only sessions whose settings have hooks load this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from toolwright.hooks.commands import CommandEnd, RunCommand
from toolwright.hooks.configured import Applies, Means, configured_hooks
from toolwright.hooks.events import SESSION_END_SECONDS
from toolwright.hooks.http import HttpEnd, Post
from toolwright.models.base import ModelError
from toolwright.models.http import HttpResponse, Lease, Route, Timeouts, header
from toolwright.permissions import RuleSet, SessionFolders, decide
from toolwright.permissions.session.filesystem_facts import MACHINE_FILES
from toolwright.permissions.session.gate import understood
from toolwright.permissions.session.permission_call import call_facts
from toolwright.tools.base import InvalidInput
from toolwright.tools.registry import canonical_name
from toolwright.types import OptionsError

if TYPE_CHECKING:
    from toolwright.hooks import Background, Hook
    from toolwright.hooks.session.hook_reporter import HookReporter
    from toolwright.mcp.session.toolbox import Toolbox
    from toolwright.settings import Settings
    from toolwright.workspace import Workspace

MAX_BODY_BYTES = 1 << 20
MAX_SILENCE = 600.0
SESSION_END_VARIABLE = "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS"


class HooksConfig(Struct, frozen=True):
    """What the hooks of a session stand on."""

    workspace: Workspace
    toolbox: Toolbox
    env: Mapping[str, str]
    news: HookReporter
    background: Background


def settings_hooks(settings: Settings, ground: HooksConfig) -> dict[str, tuple[Hook, ...]]:
    """The hooks of each event. Raises `OptionsError` for what cannot work."""
    means = Means(
        run=command_runner(ground.workspace),
        post=poster(ground.env),
        condition=lambda rule: condition(rule, ground.toolbox, ground.workspace, home=ground.env.get("HOME")),
        background=ground.background,
        late=ground.news.came_late,
        allowed_urls=settings.hook_urls,
        env=ground.env,
        allowed_variables=settings.hook_variables,
        session_end_seconds=session_end_seconds(ground.env),
    )
    return configured_hooks(settings.hooks_in_force, means, note=ground.news.diagnose)


def session_end_seconds(env: Mapping[str, str]) -> float:
    text = env.get(SESSION_END_VARIABLE, "").strip()
    if not text:
        return SESSION_END_SECONDS
    if not text.isdecimal() or int(text) == 0:
        raise OptionsError(f"{SESSION_END_VARIABLE} must be a whole number of milliseconds above 0; got {text!r}")
    return int(text) / 1000


# commands


def command_runner(workspace: Workspace) -> RunCommand:
    async def run(
        command: str, args: tuple[str, ...] | None, *, stdin: bytes, on_output: Callable[[bytes], None]
    ) -> CommandEnd:
        answer = await workspace.commands.exchange(command, args, stdin=stdin, on_output=on_output)
        return CommandEnd(answer.exit_code, answer.text, answer.errors)

    return run


# web addresses


def poster(env: Mapping[str, str]) -> Post:
    """A function that sends one request on a connection of its own. Proxies and certificates are those of `env`."""

    async def post(url: str, body: bytes, *, headers: Sequence[tuple[str, str]]) -> HttpEnd:
        sent = [header(name, value) for name, value in (("content-type", "application/json"), *headers)]
        lease = Lease(Route.to(url, env))
        try:
            answer = await lease.post(target(url), sent, body=body, timeouts=Timeouts(idle=MAX_SILENCE))
            try:
                return HttpEnd(answer.status, await body_of(answer))
            finally:
                await answer.aclose()
        except ModelError as error:
            cause = error.__cause__
            raise ConnectionError(f"{url} could not be asked: {cause or error.kind}") from None
        finally:
            await lease.release()

    return post


def target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


async def body_of(answer: HttpResponse) -> str:
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES and (chunk := await answer.next_chunk()):
        body += chunk
    if len(body) > MAX_BODY_BYTES:
        raise ConnectionError(f"the answer is longer than {MAX_BODY_BYTES:,} bytes")
    return body.decode("utf-8", "replace")


# conditions


def condition(rule: str, toolbox: Toolbox, workspace: Workspace, *, home: str | None) -> Applies:
    """Whether a call is one that `rule` is about, as a deny rule would be; in doubt it is."""
    rules = RuleSet.parse(deny=(rule,), canonical=canonical_name)

    async def applies(name: str, tool_input: dict[str, Any]) -> bool:
        tool = toolbox.tools.get(name)
        if tool is None:
            return True
        try:
            call = call_facts(tool, tool_input, tool.effects(tool.parse(tool_input), workspace))
            place = SessionFolders(workspace.home, workspace.roots, home, MACHINE_FILES)
            return decide(await understood(call), rules=rules, mode="bypassPermissions", place=place).behavior != "allow"
        except (InvalidInput, OSError):  # or a file that was swapped while we looked at it
            return True

    return applies
