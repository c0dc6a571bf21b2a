// Starts the recording program with the published TypeScript SDK once for each set of options.
// usage: node every_option.mjs RECORDING_PROGRAM FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [program, folder] = process.argv.slice(2);
const SESSION = "11111111-2222-4333-8444-555555555555";
const hook = async () => ({});
const server = () =>
  createSdkMcpServer({
    name: "weather",
    version: "1.0.0",
    tools: [tool("get", "The weather", { city: z.string() }, async () => ({ content: [] }))],
  });

const everything = {
  additionalDirectories: [folder],
  projectConfigRoot: folder,
  agent: "reviewer",
  agents: {
    reviewer: { description: "Reviews", prompt: "Review.", tools: ["Read"], disallowedTools: ["Bash"], model: "haiku", maxTurns: 3,
                skills: ["s"], mcpServers: ["weather"], memory: "project", background: true, effort: "low",
                permissionMode: "plan", initialPrompt: "Begin.", criticalSystemReminder_EXPERIMENTAL: "Careful." },
  },
  allowedTools: ["Read", "Bash(git log:*)"],
  disallowedTools: ["WebFetch"],
  toolAliases: { Bash: "mcp__weather__get" },
  tools: ["Read", "Bash"],
  extraArgs: { "replay-user-messages": null },
  fallbackModel: "claude-haiku-4-5",
  enableFileCheckpointing: true,
  toolConfig: { askUserQuestion: { previewFormat: "html" } },
  betas: ["context-1m-2025-08-07"],
  hooks: { PreToolUse: [{ matcher: "Bash", hooks: [hook], timeout: 5 }], Stop: [{ hooks: [hook] }] },
  onElicitation: async () => ({ action: "decline" }),
  onUserDialog: async () => ({ behavior: "cancelled" }),
  supportedDialogKinds: ["refusal_fallback_prompt"],
  perTaskStopAffordance: true,
  includeHookEvents: true,
  includePartialMessages: true,
  forwardSubagentText: true,
  verbatimPrompts: true,
  thinking: { type: "enabled", budgetTokens: 2048, display: "omitted" },
  effort: "high",
  maxTurns: 4,
  maxBudgetUsd: 1.5,
  taskBudget: { total: 50000 },
  mcpServers: { weather: server(), files: { type: "stdio", command: "true", args: [], env: {} }, web: { type: "http", url: "http://127.0.0.1:9/" } },
  model: "claude-sonnet-4-5",
  outputFormat: { type: "json_schema", schema: { type: "object", properties: { a: { type: "string" } } } },
  permissionMode: "acceptEdits",
  planModeInstructions: "Plan briefly.",
  allowDangerouslySkipPermissions: true,
  canUseTool: async () => ({ behavior: "allow", updatedInput: {} }),
  permissionPrompts: "host",
  plugins: [{ type: "local", path: folder }],
  promptSuggestions: true,
  agentProgressSummaries: true,
  sessionId: SESSION,
  sandbox: { enabled: true },
  settings: JSON.stringify({ cleanupPeriodDays: 7 }),
  managedSettings: { permissions: { deny: ["WebFetch"] } },
  settingSources: ["user", "project"],
  skills: ["s"],
  debug: true,
  debugFile: join(folder, "debug.log"),
  strictMcpConfig: true,
  systemPrompt: { type: "preset", preset: "claude_code", append: "Be brief.", excludeDynamicSections: true, snapshot: true },
  title: "A title",
};

const runs = {
  plain: {},
  everything,
  resumed: { resume: SESSION, forkSession: true, resumeSessionAt: SESSION, resumeDropsTurn: SESSION, systemPrompt: "You are brief." },
  continued: { continue: true, systemPrompt: { type: "custom", prompt: ["One.", "Two."], snapshot: true }, persistSession: false },
  prompts: { systemPrompt: ["One.", "Two."], thinking: { type: "adaptive", display: "summarized" }, skills: "all", settingSources: [] },
  asked_by_tool: { permissionPromptToolName: "mcp__weather__get", maxThinkingTokens: 1024, tools: { type: "preset", preset: "claude_code" },
                   pluginDelivery: "initialize", plugins: [{ type: "local", path: folder }], permissionPrompts: "none" },
  quiet: { thinking: { type: "disabled" }, tools: [], permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true, settings: {} },
};

async function* once() {
  yield { type: "user", message: { role: "user", content: "hello" }, parent_tool_use_id: null, session_id: "" };
}

mkdirSync(folder, { recursive: true });
for (const [name, options] of Object.entries(runs)) {
  const env = { ...process.env, RECORDING_FILE: join(folder, `${name}.json`) };
  const all = { ...options, env, cwd: folder, pathToClaudeCodeExecutable: program, executable: "node", stderr: () => {} };
  try {
    for await (const message of query({ prompt: options.canUseTool ? once() : "hello", options: all })) if (message.type === "result") break;
  } catch (error) {
    console.error(`${name}: ${String(error).slice(0, 300)}`);
  }
}
process.exit(0);
