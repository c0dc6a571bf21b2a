"""`toolwright demo`: the real loop with real tools repairs a small project, and a person can watch.

Without a configured model the answers come from a script that is part of the package, and the demo says so.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections import ChainMap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from toolwright.cli.ask import what_failed
from toolwright.cli.failures import EXIT_FAILED, complain
from toolwright.cli.flags import Flag, UsageError, parse
from toolwright.cli.login import kept_keys
from toolwright.cli.plain_output import OutputClosed, write_now
from toolwright.cli.render import Renderer
from toolwright.cli.sample_run import SCRIPT, DemoFolder, TestVerdict, check, child_environment, demo_folder
from toolwright.cli.signals import Stopping, run
from toolwright.cli.terminal import Terminal
from toolwright.cli.watch import watch
from toolwright.models.registry import ANTHROPIC_URL, kept_key_name

if TYPE_CHECKING:
    from toolwright.types import ClaudeAgentOptions

TASK = "The tests of this project fail. Find out why, repair the code (not the tests), and run the tests again."
RULES = "You repair small Python projects. The only command you may run is `python3 -m unittest`."
TOOLS = ["Read", "Glob", "Grep", "Edit", "Write", "Bash"]
ALLOWED = ["Bash(python3 -m unittest:*)", "Bash(python -m unittest:*)"]

ENOUGH_FOR_A_MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
NAME_MISSING = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
"""They say where to ask, but not for which model."""

DEMO_FLAGS = (
    Flag("keep", "switch"),
    Flag("model", "text"),
    Flag("debug", "switch", short="d"),
    Flag("help", "switch", short="h"),
)

USAGE = """\
Usage: toolwright demo [--keep] [--model NAME]

An agent repairs a small Python project whose test fails, in a temporary copy.
Uses the model that is configured (TOOLWRIGHT_MODEL, ANTHROPIC_API_KEY, …);
if there is none, a script answers in the model's place. The tools are real either way.

  --keep        Keep the folder and say where it is
  --model NAME  Use this model, e.g. openai:qwen3@http://127.0.0.1:8000/v1

Exit code: 0 if the test passes in the end.
"""

NEXT_STEPS = """\
Now yours. In a folder of your own:

    toolwright -p "What does this project do?"

From Python:

    import asyncio
    from toolwright import query

    async def main():
        async for message in query(prompt="What does this project do?"):
            print(message)

    asyncio.run(main())
"""

MODEL_HINT = """
Both need a model. Set one of these first:

    export ANTHROPIC_API_KEY=…
    export TOOLWRIGHT_MODEL=openai:NAME@http://127.0.0.1:8000/v1
"""


class ChosenModel(Struct, frozen=True):
    """`name` is None where the environment alone decides; `shown` is what the demo says of it."""

    name: str | None
    shown: str
    scripted: bool = False
    key: str | None = None
    """A kept key; the demo has a config folder of its own, where there is none."""

    def __repr__(self) -> str:
        return f"ChosenModel({self.shown!r})"


def demo_command(arguments: Sequence[str]) -> int:
    line = parse(arguments, DEMO_FLAGS)
    if line.words:
        raise UsageError(f"demo takes no argument, got {line.words[0]!r}; see toolwright demo --help")
    if line.values.get("help"):
        write_now(1, USAGE)
        return 0
    terminal = Terminal(1, os.environ)
    keep = bool(line.values.get("keep"))
    model = choose_model(line.values.get("model"), ChainMap(dict(os.environ), cast("dict[str, str]", kept_keys())))
    with demo_folder(keep) as folder:
        code = run(lambda stopping: Demo(terminal, folder, model).run(stopping), debug=bool(line.values.get("debug")))
        return _take_leave(terminal, folder, code=code, keep=keep)


def _take_leave(terminal: Terminal, folder: DemoFolder, *, code: int, keep: bool) -> int:
    if code in (130, 143):
        terminal.line(terminal.paint("Stopped. Only the temporary copy was touched.", "yellow"))
    if keep:
        terminal.line(f"The project is in {folder.project}, the transcript under {folder.state}.")
    return code


def choose_model(named: str | None, environment: Mapping[str, str]) -> ChosenModel:
    name = named or environment.get("TOOLWRIGHT_MODEL")
    at_openai = any(environment.get(variable) for variable in NAME_MISSING)
    if not name and at_openai and environment.get("OPENAI_MODEL"):
        name = f"openai:{environment['OPENAI_MODEL']}"
    if name:
        return ChosenModel(name, name)
    if any(environment.get(variable) for variable in ENOUGH_FOR_A_MODEL):
        return ChosenModel(None, "as the ANTHROPIC_… variables say")
    if kept := environment.get(kept_key_name(ANTHROPIC_URL)):
        return ChosenModel(None, "the default one, with the key that toolwright login kept", key=kept)
    hint = "; to use your OPENAI_… server name a model: --model openai:NAME" if at_openai else ""
    return ChosenModel(None, f"none configured: the words are scripted, every tool call is real{hint}", scripted=True)


class Demo:
    """One showing."""

    def __init__(self, terminal: Terminal, folder: DemoFolder, model: ChosenModel) -> None:
        self._terminal = terminal
        self._folder = folder
        self._model = model

    async def run(self, stopping: Stopping) -> int:
        try:
            self._introduce()
            result = await self._show_session()
            verdict = await check(self._folder)
            self._conclude(result, verdict)
            return 0 if verdict.passed else EXIT_FAILED
        except OutputClosed:
            stopping.output_closed()
            raise
        finally:
            self._restore_terminal()

    def _restore_terminal(self) -> None:
        try:
            self._terminal.close()
        except OutputClosed:
            pass

    def _introduce(self) -> None:
        self._terminal.line(self._terminal.paint("toolwright demo", "bold"))
        self._terminal.line()
        self._fact("folder", f"{self._folder.project} (a temporary copy)")
        self._fact("model", self._model.shown)
        self._fact("task", TASK)

    def _fact(self, name: str, text: str) -> None:
        lines = textwrap.wrap(text, self._terminal.width - 8, break_on_hyphens=False, break_long_words=False)
        for heading, line in zip_longest([name], lines, fillvalue=""):
            self._terminal.line(f"{self._terminal.paint(f'{heading:6}', 'dim')}  {line}")

    async def _show_session(self) -> dict[str, Any]:
        from toolwright.runtime.assemble import open_session

        renderer = Renderer(self._terminal, str(self._folder.project))
        result = await watch(open_session(self._options()), TASK, renderer)
        self._terminal.line()
        self._terminal.line(self._terminal.paint(f"Done in {renderer.account()}.", "dim"))
        return result

    def _options(self) -> ClaudeAgentOptions:
        from toolwright.types import ClaudeAgentOptions

        return ClaudeAgentOptions(
            model=self._script() if self._model.scripted else self._model.name,
            system_prompt=RULES,
            cwd=self._folder.project,
            tools=TOOLS,
            allowed_tools=ALLOWED,
            permission_mode="acceptEdits",
            setting_sources=[],
            include_partial_messages=True,
            env={**child_environment(), **self._key(), "CLAUDE_CONFIG_DIR": str(self._folder.state)},
        )

    def _key(self) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": self._model.key} if self._model.key else {}

    def _script(self) -> str:
        """The script's name as a model. Its pauses are for watching: without a terminal they are taken out."""
        text = SCRIPT.read_text(encoding="utf-8").replace("$PROJECT", json.dumps(str(self._folder.project))[1:-1])
        script = json.loads(text)
        if not self._terminal.live:
            script = without_delays(script)
        path = self._folder.root / "script.json"
        path.write_text(json.dumps(script), encoding="utf-8")
        return f"scripted:{path}"

    def _conclude(self, result: dict[str, Any], verdict: TestVerdict) -> None:
        if result.get("is_error"):
            complain(what_failed(result))
        self._terminal.line(f"{self._verdict_line(verdict)} (checked apart from the agent: {verdict.summary})")
        if verdict.passed:
            self._terminal.line()
            self._terminal.write(NEXT_STEPS + (MODEL_HINT if self._model.scripted else ""))

    def _verdict_line(self, verdict: TestVerdict) -> str:
        if verdict.passed:
            return self._terminal.paint("The tests pass now", "bold", "green")
        return self._terminal.paint("The tests still fail", "bold", "red")


def without_delays(script: Any) -> Any:
    if isinstance(script, dict):
        return {key: without_delays(value) for key, value in script.items() if key not in ("delay", "pace")}
    return [without_delays(value) for value in script] if isinstance(script, list) else script
