"""Names of files and folders that other programs run or obey by themselves: hooks, editor tasks, shell start-up, agents' rules.

Data only. Permissions ask a person before a tool writes one; the sandbox keeps commands from writing one at all, except those
that installing and building write as a matter of course. What counts is a file that some program runs when a person merely
enters or opens the folder, or works with the program as usual; what a project is built of (a Makefile, package.json,
conftest.py) does not. Each entry says which program reads it, and where that program's documentation says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple


class Entry(NamedTuple):
    """One name, as it is written."""

    name: str
    program: str
    source: str
    held: Literal["everywhere", "once there", "in a home", "from file tools"] = "everywhere"
    """What the sandbox does: keeps it from being changed and made; from being changed, since each name that must not be made
    takes a mount; from being made in a home only, as no program looks for it in a project; or nothing, because installing
    writes it. File tools are held back from all of them.
    """


# fmt: off
FOLDER_ENTRIES = (
    # version control
    Entry(".git", "git: hooks, filters, fsmonitor", "gitrepository-layout(5), git-config(1)"),
    Entry(".hg", "Mercurial: hooks, aliases, extensions", "hgrc(5)", "once there"),
    Entry(".jj", "Jujutsu: aliases, fsmonitor, signing programs", "Jujutsu docs, Settings", "once there"),
    Entry(".sl", "Sapling: hooks, aliases", "Sapling docs, Configuration", "once there"),
    Entry(".repo", "repo, which runs itself from there", "git-repo docs, internal-fs-layout.md", "once there"),
    Entry(".husky", "husky: git hooks", "husky docs, How To"),
    # editors
    Entry(".vscode", "Visual Studio Code: tasks on opening a folder, programs", "VS Code docs, Tasks"),
    Entry(".idea", "JetBrains IDEs: startup tasks, run configurations", "IntelliJ IDEA docs, Startup tasks"),
    Entry(".fleet", "JetBrains Fleet: run configurations, programs", "Fleet docs, Run Configurations", "once there"),
    Entry(".vs", "Visual Studio: tasks", "Visual Studio docs, Customize build and debug tasks in Open Folder", "once there"),
    Entry(".zed", "Zed: tasks, language servers", "Zed docs, Tasks; Configuring Zed", "once there"),
    Entry(".helix", "Helix: language servers", "Helix docs, Configuration; Languages", "once there"),
    Entry(".theia", "Theia: tasks", "Theia docs, User preferences", "once there"),
    Entry(".devcontainer", "development containers: commands on opening", "containers.dev, Dev Container metadata reference"),
    # entering a folder
    Entry(".shadowenv.d", "Shadowenv", "Shadowenv docs, Getting Started", "once there"),
    Entry(".mise", "mise", "mise docs, Configuration", "once there"),
    # build tools that run before what they build
    Entry(".cargo", "cargo: wrappers, runners, aliases", "The Cargo Book, Configuration"),
    Entry(".yarn", "yarn: itself and its plugins", "Yarn docs, Settings (yarnPath, plugins)"),
    Entry(".mvn", "Maven: extensions, options of the virtual machine", "Maven docs, Configuring Apache Maven"),
    # agents
    Entry(".claude", "Claude Code: hooks, permissions", "Claude Code docs, Settings"),
    Entry(".toolwright", "toolwright: hooks, permissions", "docs/settings.md"),
    Entry(".cursor", "Cursor: tool servers, hooks, rules", "Cursor docs, MCP; Hooks; Rules"),
    Entry(".gemini", "Gemini CLI: tool servers, hooks", "Gemini CLI docs, Configuration"),
    Entry(".codex", "Codex: tool servers, notify program", "Codex docs, Configuration"),
    Entry(".continue", "Continue: tool servers, rules", "Continue docs, config.yaml reference", "once there"),
    Entry(".windsurf", "Windsurf: hooks, rules, workflows", "Windsurf docs, Memories & Rules; Cascade Hooks", "once there"),
    Entry(".roo", "Roo Code: tool servers, rules", "Roo Code docs, Using MCP; Custom Instructions", "once there"),
    Entry(".kiro", "Kiro: hooks, tool servers, steering", "Kiro docs, Hooks; Steering", "once there"),
    Entry(".opencode", "opencode: plugins, agents, commands", "opencode docs, Config", "once there"),
    Entry(".amazonq", "Amazon Q Developer: tool servers, hooks, rules", "Amazon Q CLI docs, Agent format", "once there"),
    Entry(".qwen", "Qwen Code: tool servers", "Qwen Code docs, Configuration", "once there"),
    Entry(".augment", "Augment: rules, hooks", "Augment docs, Rules & Guidelines", "once there"),
    Entry(".junie", "Junie: tool servers, guidelines", "Junie docs, Guidelines; MCP", "once there"),
    Entry(".trae", "Trae: tool servers, rules", "Trae docs, Rules; MCP", "once there"),
    Entry(".factory", "Factory: hooks, tool servers", "Factory docs, Hooks; MCP", "once there"),
    Entry(".clinerules", "Cline: rules, hooks", "Cline docs, Cline Rules; Hooks", "once there"),
    # what programs were installed or prepared into
    Entry(".direnv", "direnv, which reads the environments kept there", "direnv-stdlib(1)", "from file tools"),
    Entry(".terraform", "Terraform: providers", "Terraform docs, terraform init", "from file tools"),
)
NESTED_ENTRIES = (
    Entry(".config/git", "git", "git-config(1)", "in a home"),
    Entry(".github/hooks", "GitHub Copilot: hooks", "GitHub docs, About hooks", "from file tools"),
    Entry(".config/mise", "mise", "mise docs, Configuration", "from file tools"),
    Entry(".bundle", "Bundler: options of every gem's build, plugins", "bundle-config(1)", "from file tools"),
    Entry(".venv/bin", "whoever runs a program of the environment", "Python docs, venv", "from file tools"),
    Entry("venv/bin", "whoever runs a program of the environment", "Python docs, venv", "from file tools"),
    Entry("env/bin", "whoever runs a program of the environment", "Python docs, venv", "from file tools"),
    Entry(".venv/Scripts", "whoever runs a program of the environment", "Python docs, venv", "from file tools"),
    Entry("venv/Scripts", "whoever runs a program of the environment", "Python docs, venv", "from file tools"),
    Entry("node_modules/.bin", "npm and whoever runs a program of the project", "npm docs, folders", "from file tools"),
    Entry("vendor/bin", "whoever runs a program of the project", "Composer docs, Vendor binaries", "from file tools"),
)
PERSONAL_ENTRIES = (
    Entry(".ssh", "ssh: commands of its configuration, keys that may log in", "ssh_config(5), sshd(8)", "in a home"),
    Entry(".gnupg", "GnuPG: programs of its configuration", "gpg(1), gpg-agent(1)", "in a home"),
    Entry(".aws", "AWS CLI: credential_process", "AWS CLI docs, Sourcing credentials with an external process", "in a home"),
    Entry(".kube", "kubectl: exec plugins", "Kubernetes docs, Authenticating", "in a home"),
    Entry(".config/autostart", "the desktop, at login", "Desktop Application Autostart Specification", "in a home"),
    Entry(".config/systemd", "systemd, at login", "systemd.unit(5)", "in a home"),
    Entry(".config/environment.d", "systemd, at login", "environment.d(5)", "in a home"),
    Entry(".config/fish", "fish", "fish docs, Configuration files", "in a home"),
    Entry(".config/powershell", "PowerShell", "PowerShell docs, about_Profiles", "in a home"),
    Entry(".config/nvim", "Neovim", "Neovim docs, starting", "in a home"),
    Entry(".local/bin", "whoever starts a program by its name", "systemd file-hierarchy(7)", "in a home"),
    Entry("Library/LaunchAgents", "launchd, at login", "launchd.plist(5)", "in a home"),
)
FILE_ENTRIES = (
    # version control
    Entry(".gitconfig", "git", "git-config(1)", "in a home"),
    Entry(".gitmodules", "git: addresses that are fetched and ways of updating", "gitmodules(5)"),
    Entry(".hgrc", "Mercurial", "hgrc(5)", "in a home"),
    Entry(".pre-commit-config.yaml", "pre-commit: git hooks", "pre-commit docs, Adding pre-commit plugins to your project"),
    Entry("prek.toml", "prek: git hooks", "prek docs, Configuration", "once there"),
    Entry(".overcommit.yml", "overcommit: git hooks", "Overcommit README, Configuration", "once there"),
    # entering a folder
    Entry(".envrc", "direnv", "direnv(1)"),
    Entry("mise.toml", "mise: programs, hooks, variables", "mise docs, Configuration; Hooks", "once there"),
    Entry(".mise.toml", "mise", "mise docs, Configuration", "once there"),
    Entry("mise.local.toml", "mise", "mise docs, Configuration", "once there"),
    Entry(".mise.local.toml", "mise", "mise docs, Configuration", "once there"),
    Entry(".tool-versions", "asdf and mise: a version may be a folder of programs", "asdf docs, Configuration", "once there"),
    Entry(".autoenv.zsh", "zsh-autoenv", "zsh-autoenv README", "once there"),
    Entry(".autoenv", "autoenv", "autoenv README", "once there"),
    # editors
    Entry(".exrc", "vi, Vim and Neovim with 'exrc'", "Vim help, 'exrc'", "once there"),
    Entry(".vimrc", "Vim with 'exrc'", "Vim help, 'exrc'", "once there"),
    Entry(".gvimrc", "Vim with 'exrc'", "Vim help, gui-init", "once there"),
    Entry("_vimrc", "Vim on Windows with 'exrc'", "Vim help, 'exrc'", "once there"),
    Entry(".nvimrc", "Neovim with 'exrc'", "Neovim help, 'exrc'", "once there"),
    Entry(".nvim.lua", "Neovim with 'exrc'", "Neovim help, 'exrc'", "once there"),
    Entry(".lvimrc", "vim-localvimrc", "vim-localvimrc README", "once there"),
    Entry(".dir-locals.el", "Emacs", "Emacs manual, Per-Directory Local Variables", "once there"),
    Entry(".dir-locals-2.el", "Emacs", "Emacs manual, Per-Directory Local Variables", "once there"),
    Entry(".ycm_extra_conf.py", "YouCompleteMe", "YouCompleteMe README, Option 2: Provide the flags manually", "once there"),
    Entry(".kateproject", "Kate: language servers", "Kate handbook, The LSP Client Plugin", "once there"),
    Entry("pyrightconfig.json", "Pyright: the interpreter that it asks", "Pyright docs, Configuration"),
    Entry(".devcontainer.json", "development containers", "containers.dev, Dev Container metadata reference"),
    Entry(".gitpod.yml", "Gitpod: tasks on opening", "Gitpod docs, .gitpod.yml reference", "once there"),
    # debuggers and interpreters that read the folder where they start
    Entry(".gdbinit", "gdb", "GDB manual, Initialization Files", "once there"),
    Entry(".lldbinit", "lldb", "lldb(1)", "once there"),
    Entry(".pdbrc", "the Python debugger", "Python docs, pdb", "once there"),
    Entry(".perldb", "the Perl debugger", "perldebug(1)", "once there"),
    Entry(".irbrc", "irb", "irb docs, Configuration Files", "once there"),
    Entry(".pryrc", "pry", "Pry wiki, Pry rc", "once there"),
    Entry(".Rprofile", "R", "R docs, Startup", "once there"),
    Entry(".Renviron", "R", "R docs, Startup", "once there"),
    Entry(".ghci", "GHCi", "GHC User's Guide, The .ghci and .haskeline files", "once there"),
    Entry(".ocamlinit", "OCaml", "OCaml manual, The toplevel system", "once there"),
    Entry(".iex.exs", "IEx", "IEx docs, The .iex.exs file", "once there"),
    Entry(".erlang", "Erlang", "erl(1)", "once there"),
    Entry(".octaverc", "Octave", "Octave manual, Startup Files", "once there"),
    Entry("sitecustomize.py", "Python", "Python docs, site", "once there"),
    Entry("usercustomize.py", "Python", "Python docs, site", "once there"),
    Entry("pyvenv.cfg", "Python: where its library is", "Python docs, venv", "from file tools"),
    # package managers and build tools
    Entry(".npmrc", "npm: the shell of scripts, node options, registries", "npm docs, npmrc"),
    Entry(".pnpmfile.cjs", "pnpm", "pnpm docs, .pnpmfile.cjs"),
    Entry("bunfig.toml", "Bun: preloaded files", "Bun docs, bunfig.toml"),
    Entry("gradle-wrapper.properties", "Gradle: where it is loaded from", "Gradle docs, Gradle Wrapper", "in a home"),
    Entry("maven-wrapper.properties", "Maven: where it is loaded from", "Maven docs, Maven Wrapper", "in a home"),
    Entry(".buckconfig", "Buck: tools and aliases", "Buck docs, .buckconfig", "once there"),
    Entry(".sbtopts", "sbt: options of the virtual machine", "sbt docs, Command Line Reference", "once there"),
    Entry(".jvmopts", "sbt: options of the virtual machine", "sbt docs, Command Line Reference", "once there"),
    Entry(".ripgreprc", "ripgrep: --pre", "ripgrep guide, Configuration file"),
    # agents
    Entry(".mcp.json", "agents: tool servers", "Claude Code docs, MCP"),
    Entry(".claude.json", "Claude Code", "Claude Code docs, Settings"),
    Entry("opencode.json", "opencode: tool servers, commands", "opencode docs, Config", "once there"),
    Entry("opencode.jsonc", "opencode", "opencode docs, Config", "once there"),
    Entry(".continuerc.json", "Continue", "Continue docs, config.json reference", "once there"),
    Entry(".roomodes", "Roo Code: modes", "Roo Code docs, Customizing Modes", "once there"),
    # a person's start-up files
    Entry(".profile", "login shells", "bash(1), dash(1)", "in a home"),
    Entry(".bashrc", "bash", "bash(1)", "in a home"),
    Entry(".bash_profile", "bash", "bash(1)", "in a home"),
    Entry(".bash_login", "bash", "bash(1)", "in a home"),
    Entry(".bash_logout", "bash", "bash(1)", "in a home"),
    Entry(".bash_aliases", "bash, by the usual .bashrc", "Debian Reference, Customizing bash", "in a home"),
    Entry(".zshrc", "zsh", "zsh(1)", "in a home"),
    Entry(".zshenv", "zsh", "zsh(1)", "in a home"),
    Entry(".zprofile", "zsh", "zsh(1)", "in a home"),
    Entry(".zlogin", "zsh", "zsh(1)", "in a home"),
    Entry(".zlogout", "zsh", "zsh(1)", "in a home"),
    Entry(".kshrc", "ksh", "ksh(1)", "in a home"),
    Entry(".cshrc", "csh", "csh(1)", "in a home"),
    Entry(".tcshrc", "tcsh", "tcsh(1)", "in a home"),
    Entry(".login", "csh", "csh(1)", "in a home"),
    Entry(".logout", "csh", "csh(1)", "in a home"),
    Entry(".inputrc", "readline: keys that type commands", "readline(3)", "in a home"),
    Entry("config.fish", "fish", "fish docs, Configuration files", "in a home"),
    Entry(".xinitrc", "xinit", "xinit(1)", "in a home"),
    Entry(".xprofile", "display managers", "ArchWiki, xprofile", "in a home"),
    Entry(".xsession", "xdm", "Xsession(5)", "in a home"),
    Entry(".xsessionrc", "Xsession", "Xsession(5)", "in a home"),
    Entry(".tmux.conf", "tmux", "tmux(1)", "in a home"),
    Entry(".screenrc", "screen", "screen(1)", "in a home"),
)
BEGINNING_ENTRIES = (
    Entry(".yarnrc", "yarn: itself, plugins", "Yarn docs, Settings"),
    Entry(".pnp.", "node, by yarn", "Yarn docs, Plug'n'Play"),
    Entry(".bazel", "Bazel: options of every build, its version", "Bazel docs, Write bazelrc configuration files"),
    Entry("lefthook.", "Lefthook: git hooks", "Lefthook docs, Configuration file name"),
    Entry("lefthook-local.", "Lefthook", "Lefthook docs, Configuration file name", "once there"),
    Entry(".lefthook.", "Lefthook", "Lefthook docs, Configuration file name", "once there"),
    Entry(".lefthook-local.", "Lefthook", "Lefthook docs, Configuration file name", "once there"),
    Entry(".huskyrc", "husky", "husky docs, Migrate from v4", "from file tools"),
    Entry(".mise.", "mise, for one environment", "mise docs, Config Environments", "from file tools"),
    Entry(".aider", "aider: commands for linting and testing", "aider docs, YAML config file", "from file tools"),
)
PATTERN_ENTRIES = (
    Entry("*.code-workspace", "Visual Studio Code: tasks, settings", "VS Code docs, Multi-root Workspaces", "from file tools"),
    Entry("*.sublime-project", "Sublime Text: build systems, settings", "Sublime Text docs, Projects", "from file tools"),
    Entry("mise.*.toml", "mise, for one environment", "mise docs, Config Environments", "from file tools"),
    Entry("site-packages/*.pth", "Python: lines that are run at every start", "Python docs, site", "from file tools"),
)
MEMORY_ENTRIES = (
    Entry("CLAUDE.md", "Claude Code", "Claude Code docs, Memory"),
    Entry("CLAUDE.local.md", "Claude Code", "Claude Code docs, Memory"),
    Entry("AGENTS.md", "most agents", "agents.md"),
    Entry("AGENTS.override.md", "Codex", "Codex docs, AGENTS.md"),
    Entry("AGENT.md", "Amp and others", "Amp manual, AGENTS.md"),
    Entry("GEMINI.md", "Gemini CLI", "Gemini CLI docs, Context files"),
    Entry("QWEN.md", "Qwen Code", "Qwen Code docs, Configuration"),
    Entry("CRUSH.md", "Crush", "Crush README"),
    Entry("WARP.md", "Warp", "Warp docs, Rules"),
    Entry("copilot-instructions.md", "GitHub Copilot", "GitHub docs, Adding repository custom instructions"),
    Entry(".cursorrules", "Cursor", "Cursor docs, Rules"),
    Entry(".windsurfrules", "Windsurf", "Windsurf docs, Memories & Rules"),
    Entry(".goosehints", "goose", "goose docs, Providing Hints"),
    Entry(".rules", "Zed", "Zed docs, Rules"),
)
"""What agents are told at the start of every session: whoever writes one speaks to all of them."""
REPOSITORY_ENTRIES = (
    Entry("HEAD", "git: by it a folder is a repository", "gitrepository-layout(5)", "from file tools"),
    Entry("commondir", "git: where the rest of a repository is", "gitrepository-layout(5)", "from file tools"),
    Entry("gitdir", "git: where a worktree is", "gitrepository-layout(5)", "from file tools"),
)
"""Files that make a folder into a repository, wherever they lie."""
BESIDE_HEAD_ENTRIES = (
    Entry("config", "git", "gitrepository-layout(5)", "from file tools"),
    Entry("config.worktree", "git", "gitrepository-layout(5)", "from file tools"),
    Entry("hooks", "git", "githooks(5)", "from file tools"),
    Entry("info", "git: attributes", "gitrepository-layout(5)", "from file tools"),
    Entry("objects", "git: without it a folder is no repository", "gitrepository-layout(5)", "from file tools"),
    Entry("refs", "git: without it a folder is no repository", "gitrepository-layout(5)", "from file tools"),
)
"""Files and folders with common names, which mean something only beside a `HEAD`."""
# fmt: on
OPEN_FOLDERS = (".claude/worktrees", ".toolwright/worktrees")
"""Folders inside protected ones where work goes on as usual."""


def _names(entries: Iterable[Entry], *held: str) -> list[str]:
    """The names of the entries that are held so, as they are written."""
    return [entry.name for entry in entries if entry.held in held]


def _in_small_letters(*groups: Iterable[Entry], held: str = "") -> frozenset[str]:
    return frozenset(entry.name.casefold() for entries in groups for entry in entries if held in ("", entry.held))


# for file tools, and for what a command names as its target

ALL_FOLDERS = _in_small_letters(FOLDER_ENTRIES)
ALL_NESTED_FOLDERS = tuple(sorted(_in_small_letters(NESTED_ENTRIES, PERSONAL_ENTRIES)))
ALL_FILES = _in_small_letters(FILE_ENTRIES, MEMORY_ENTRIES, REPOSITORY_ENTRIES)
ALL_BEGINNINGS = tuple(sorted(_in_small_letters(BEGINNING_ENTRIES)))
ALL_PATTERNS = tuple(sorted(_in_small_letters(PATTERN_ENTRIES)))
BESIDE_HEAD = _in_small_letters(BESIDE_HEAD_ENTRIES)
MEMORY_FILES = _in_small_letters(MEMORY_ENTRIES)

# for the sandbox

FOLDERS = frozenset(_names(FOLDER_ENTRIES, "everywhere"))
NESTED_FOLDERS = tuple(_names(NESTED_ENTRIES, "in a home"))
FILES = frozenset(_names(FILE_ENTRIES, "everywhere", "in a home"))
HOME_FILES = frozenset(_names(FILE_ENTRIES, "in a home"))
"""Files that no program looks for in the top folder of a project: only a home is kept free of them."""
ONCE_THERE = _in_small_letters(FOLDER_ENTRIES, FILE_ENTRIES, held="once there")
"""In small letters: files and folders that stay as they are."""
FILES_BEGINNING = tuple(_names(BEGINNING_ENTRIES, "everywhere", "once there"))
