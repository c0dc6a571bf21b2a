"""The published claude-agent-sdk with the CLI that comes inside it: one child process per session."""

import agent_sdk
import claude_agent_sdk
import experiments
import reading

reading.has_children = True
connect = agent_sdk.connect_with(claude_agent_sdk)

if __name__ == "__main__":
    experiments.main(connect)
