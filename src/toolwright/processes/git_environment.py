"""Variables that keep git from running what a repository brought along, for every command that may start a git.

git takes configuration from its environment (GIT_CONFIG_COUNT, GIT_CONFIG_KEY_n, GIT_CONFIG_VALUE_n; git-config(1)), and what
stands there is read last: it holds against the configuration of the repository, and git hands it on to the gits that it starts
in submodules. What a repository can name by a word of its own choice (filters, textconv and diff drivers) and `diff.external`,
which has no value that means "none", cannot be switched off this way: such a repository is not plain, and is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping

FOR_EVERY_COMMAND: dict[str, str] = {
    "safe.bareRepository": "explicit",  # a folder of a clone that looks like a bare repository is none
    "core.fsmonitor": "false",  # a program that `git status` starts
    "protocol.ext.allow": "never",  # `ext::command` as the address of a remote
}
"""Configuration that takes nothing from a person's own wishes."""

FOR_LOOKING: dict[str, str] = {
    **FOR_EVERY_COMMAND,
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "sequence.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",  # an empty one empties the list
    "protocol.allow": "never",
    "log.showSignature": "false",
    "gpg.program": "gpg",  # the usual programs, for commands that are asked to check a signature
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "diff.submodule": "short",  # not a `git diff` inside the submodule, with its own drivers
    "status.submoduleSummary": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Configuration for commands that run unasked and only look: no program but git's own, nothing fetched, nothing kept up."""

VARIABLES_FOR_LOOKING: dict[str, str] = {
    "GIT_ALLOW_PROTOCOL": "none",  # a list of names: stronger than any `protocol.<name>.allow` of the repository
    "GIT_ASKPASS": "",
    "GIT_EDITOR": "false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` leaves the index as it is, so no hook is due
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
}
NOT_FOR_LOOKING = frozenset(("GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_SSH"))
"""Variables that would name a program, or would be read after the configuration above."""

_COUNT = "GIT_CONFIG_COUNT"
_MAX_DIGITS = 6


def git_environment(environment: Mapping[str, str], looking: bool) -> dict[str, str]:
    """`environment` with what keeps git from running a repository's programs; `looking` for commands nobody was asked about.

    Configuration that `environment` has already stays, before ours. A count of it that is no number counts as none.
    """
    safe = dict(environment)
    if looking:
        safe = {name: value for name, value in safe.items() if name not in NOT_FOR_LOOKING} | VARIABLES_FOR_LOOKING
    count = environment.get(_COUNT, "")
    first = int(count) if count.isascii() and count.isdigit() and len(count) <= _MAX_DIGITS else 0
    settings = FOR_LOOKING if looking else FOR_EVERY_COMMAND
    for number, (key, value) in enumerate(settings.items(), first):
        safe |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    safe[_COUNT] = str(first + len(settings))
    return safe
