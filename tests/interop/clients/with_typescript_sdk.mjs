// The published TypeScript SDK alone: a tool of its own, a hook and a permission callback, every message written down.
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const FIRST = "What is the weather in Oslo?", SECOND = "Thank you.", AT_ONCE = 3;

async function hold() {
  const lines = [];
  const getWeather = tool("get_weather", "The weather in a city", { city: z.string() }, async ({ city }) => {
    lines.push(`tool ${city}`);
    return { content: [{ type: "text", text: `Sunny in ${city}.` }] };
  });
  let answered;
  async function* prompts() {
    for (const content of [FIRST, SECOND]) {
      const result = new Promise((resolve) => { answered = resolve; });
      yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
      await result;
    }
  }
  const hook = { hooks: [async (input, id) => (lines.push(`hook ${input.hook_event_name} ${id}`), {})] };
  const options = {
    model: "claude-sonnet-4-5",
    settingSources: [],
    pathToClaudeCodeExecutable: process.env.CLIENT_COMMAND,
    mcpServers: { weather: createSdkMcpServer({ name: "weather", tools: [getWeather] }) },
    canUseTool: async (name, input) => (lines.push(`asked ${name}`), { behavior: "allow", updatedInput: input }),
    hooks: { PreToolUse: [hook], PostToolUse: [hook] },
  };
  for await (const message of query({ prompt: prompts(), options })) {
    lines.push(...messageLines(message));
    if (message.type === "result") answered();
  }
  return lines;
}

function messageLines(message) {
  const content = message.message?.content;
  if (Array.isArray(content)) return content.map((block) => `${message.type} ${JSON.stringify(Object.fromEntries(Object.entries(block).sort()))}`);
  return [`${message.type} ${message.subtype ?? ""} ${message.result ?? ""}`];
}

const times = Number(process.argv[2]), together = Math.min(AT_ONCE, Math.floor(times / 2)), held = [];
for (let number = 0; number < times - together; number++) held.push(await hold());
held.push(...await Promise.all(Array.from({ length: together }, hold)));
console.log(JSON.stringify(held));
