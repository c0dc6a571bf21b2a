"""The only way out of the sandbox's network: a filtering proxy, and the namespace it is reached from; see docs/workspace.md."""
