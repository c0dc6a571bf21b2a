"""The published TypeScript SDK drives our command: custom tools in its process, system prompts, hooks, permissions."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from npm_peers import node, sdk
from published import OUR_COMMAND

from toolwright.testing import ModelServer, answer

PROGRAMS = Path(__file__).with_name("programs") / "typescript"
Step = dict[str, Any]


class Node:
    """A folder in which programs find the published package, set to start our command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        (self.home / ".claude").mkdir(parents=True)
        packages = sdk()
        shim = folder / "node_modules" / "@anthropic-ai" / "claude-agent-sdk"
        shim.mkdir(parents=True)
        (folder / "node_modules" / "zod").symlink_to(packages / "zod")
        published = (packages / "@anthropic-ai" / "claude-agent-sdk" / "sdk.mjs").as_uri()
        (shim / "index.mjs").write_text((PROGRAMS / "sdk_shim.mjs").read_text().replace("PUBLISHED", published))
        (shim / "package.json").write_text('{"name": "@anthropic-ai/claude-agent-sdk", "type": "module", "main": "index.mjs"}')

    def run(self, program: str, *steps: Step, preload: str | None = None, env: dict[str, str] | None = None) -> str:
        """What the program prints; it must end well."""
        script = self.folder / "script.json"
        script.write_text(json.dumps({"steps": steps}))
        file = self.folder / "program.ts"
        file.write_text(program)
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
        own = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.home / ".claude"), "OUR_COMMAND": str(OUR_COMMAND)}
        done = subprocess.run(
            [node(), "--no-warnings", *(["--import", (PROGRAMS / preload).as_uri()] if preload else []), str(file)],
            cwd=self.folder,
            env={**surroundings, **own, "SCRIPTED_MODEL": f"scripted:{script}", **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def allow(self, *rules: str) -> None:
        (self.home / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"allow": rules}}))


@pytest.fixture
def typescript(tmp_path: Path) -> Node:
    return Node(tmp_path)


def call(tool: str, **given: Any) -> Step:
    return {"tool": tool, "input": given}


def program(name: str) -> str:
    return (PROGRAMS / name).read_text()


def test_the_weather_example_runs_as_written(typescript: Node) -> None:
    steps = (call("mcp__weather__get_temperature", latitude=37.77, longitude=-122.42), {"text": "It is mild."})
    printed = typescript.run(program("weather.ts"), *steps, preload="canned_weather.mjs")
    assert printed == "It is mild.\n"
    assert "Temperature: 61.5°F" in transcripts(typescript)


def test_the_converter_example_runs_as_written(typescript: Node) -> None:
    given = {"unit_type": "length", "from_unit": "kilometers", "to_unit": "miles", "value": 100}
    printed = typescript.run(program("converter.ts"), call("mcp__converter__convert_units", **given), {"text": "About 62."})
    assert printed.count("[tool call] mcp__converter__convert_units {") == 3
    assert printed.count("A: About 62.") == 3
    assert transcripts(typescript).count('"100 kilometers = 62.1371 miles"') >= 3


def test_the_custom_tools_example_runs_as_written(typescript: Node) -> None:
    typescript.allow("mcp__custom")
    steps = (
        call("mcp__custom__calculate", operation="add", a=42, b=58),
        call("mcp__custom__get_weather", city="San Francisco"),
        {"text": "100, and sunny."},
    )
    printed = typescript.run(program("custom_tools.ts"), *steps)
    assert "Result: 100" in transcripts(typescript)
    assert "Weather in San Francisco: Sunny, 72°F" in transcripts(typescript)
    assert "100, and sunny." in printed


def test_without_a_rule_the_example_is_denied_its_tools(typescript: Node) -> None:
    printed = typescript.run(
        program("custom_tools.ts"), call("mcp__custom__calculate", operation="add", a=1, b=2), {"text": "No."}
    )
    assert "permission_denials: [" in printed
    assert "Result: 3" not in transcripts(typescript)


ASKING = """
import { query } from "@anthropic-ai/claude-agent-sdk";
const options = JSON.parse(process.env.OPTIONS!);
for await (const message of query({ prompt: "hello", options })) if (message.type === "result") console.log(message.subtype);
"""


@pytest.mark.parametrize(
    ("given", "whole", "wanted"),
    [
        ({"systemPrompt": "You are a cat."}, True, "You are a cat."),
        ({"systemPrompt": ["You are", "a cat."]}, True, "You are\n\na cat."),
        ({"systemPrompt": {"type": "preset", "preset": "claude_code", "append": "Be a cat."}}, False, "Be a cat."),
    ],
)
def test_system_prompts_reach_the_model(typescript: Node, given: dict[str, Any], whole: bool, wanted: str) -> None:
    with ModelServer([answer("done")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
        options = json.dumps({**given, "model": "claude-sonnet-4-5"})
        assert typescript.run(ASKING, env={**env, "OPTIONS": options}) == "success\n"
        (request,) = server.requests
    text = "".join(block["text"] for block in request.json["system"])
    assert text.startswith(wanted) if whole else wanted in text


HOOKS_AND_QUESTIONS = """
import { query } from "@anthropic-ai/claude-agent-sdk";
async function* prompts() {
  yield { type: "user", message: { role: "user", content: "go" }, parent_tool_use_id: null, session_id: "" };
}
const options = {
  hooks: { PreToolUse: [{ matcher: "Bash", hooks: [async (input: any) => (console.log("hook", input.tool_name), {})] }] },
  canUseTool: async (name: string, input: any) => (console.log("asked", name), { behavior: "allow", updatedInput: input }),
};
for await (const message of query({ prompt: prompts() as any, options: options as any })) {
  if (message.type === "result") { console.log(message.subtype); break; }
}
"""


def test_hooks_and_questions_are_answered(typescript: Node) -> None:
    printed = typescript.run(HOOKS_AND_QUESTIONS, call("Bash", command="touch ran"), {"text": "done"})
    assert printed.splitlines() == ["hook Bash", "asked Bash", "success"]
    assert (typescript.folder / "ran").exists()


def transcripts(typescript: Node) -> str:
    return "".join(path.read_text() for path in (typescript.home / ".claude" / "projects").glob("*/*.jsonl"))
