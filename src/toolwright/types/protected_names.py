"""Names of files and folders that change what other programs do later: hooks, editor tasks, shell start-up, agents' own rules.

Data only. Permissions ask a person before a tool writes one; the sandbox keeps commands from writing one at all.
"""

from __future__ import annotations

FOLDERS = frozenset(
    ".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .toolwright .cursor .gemini .codex".split()  # noqa: SIM905 — a word list reads better
)
NESTED_FOLDERS = (".config/git",)
PERSONAL_FOLDERS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".config/autostart",
    ".config/systemd",
    ".local/bin",
    "library/launchagents",
)
"""What a home folder holds of keys and of programs that start by themselves, in small letters: for sessions that work there."""
OPEN_FOLDERS = (".claude/worktrees", ".toolwright/worktrees")
"""Folders inside protected ones where work goes on as usual."""

FILES = frozenset(
    """.gitconfig .gitmodules .envrc .npmrc .pnpmfile.cjs bunfig.toml .pre-commit-config.yaml gradle-wrapper.properties
    maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json .claude.json
    .profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .cshrc .tcshrc .login .logout .inputrc config.fish""".split()  # noqa: SIM905
)
MEMORY_FILES = frozenset(
    """claude.md claude.local.md agents.md gemini.md copilot-instructions.md .cursorrules .windsurfrules .clinerules""".split()  # noqa: SIM905
)
"""What agents are told at the start of every session, in small letters: whoever writes one speaks to all of them."""

FILES_BEGINNING = (".yarnrc", ".pnp.", ".bazel", "lefthook.")
KNOWN_BEGINNING = """.yarnrc .yarnrc.yml .pnp.js .pnp.cjs .pnp.loader.mjs .bazelrc .bazelversion .bazelignore .bazelproject
    lefthook.yml lefthook.yaml lefthook.toml lefthook.json""".split()  # noqa: SIM905
"""The names with such a beginning that programs look for: a name can only be kept from being made if it is known."""
