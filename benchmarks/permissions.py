"""How long a permission decision takes: decide() with 200 rules, and what reading a command costs.

    python benchmarks/permissions.py

Prints one table, and for each goal whether it was met; each number is the best of several rounds, because other programs can
only make them worse.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from toolwright.permissions import PermissionCall, RuleSet, SessionFolders, decide
from toolwright.permissions.session.filesystem_facts import MACHINE_FILES
from toolwright.permissions.shell.command_walker import read_line
from toolwright.permissions.shell.grammar import plain_tree, run_shfmt

PLACE = SessionFolders("/work/app", ("/work/lib",), "/home/ada")
PROGRAMS = (
    "npm",
    "git",
    "pytest",
    "make",
    "cargo",
    "go",
    "docker",
    "yarn",
    "pnpm",
    "ruff",
    "mypy",
    "tox",
    "uv",
    "kubectl",
    "terraform",
)
COMMANDS = {
    "Bash: npm run build (plain words)": "npm run build",
    "Bash: ls | head (only looks)": "ls -la src | head -20",
    "Bash: four parts, quotes, redirection": "cd src && NODE_ENV=test npm test -- --watch 'a b' 2>&1 | tail -20",
    "Bash: message from a here-document": "git commit -m \"$(cat <<'EOF'\nFix the parser\n\nIt is short.\nEOF\n)\"",
}

ON_DISK = {
    "git status (its configuration is read)": "git status",
    "cat of two files": "cat README.md pyproject.toml",
    "grep -r (the tree is walked)": "grep -rn import src",
}
"""Decided with the real files of this checkout; the rest without a machine."""


def rules() -> RuleSet:
    """200 rules as a long-lived project gathers them."""
    allow = [
        f"Bash({program} {verb}:*)"
        for program in PROGRAMS
        for verb in ("run", "test", "build", "lint", "check", "log", "status")
    ]
    allow += [f"Edit(src/part{number}/**)" for number in range(15)] + [
        f"WebFetch(domain:host{number}.example)" for number in range(10)
    ]
    deny = [
        f"Bash({program}:*)" for program in ("curl", "wget", "nc", "ssh", "scp", "dd", "mkfs", "shutdown", "reboot", "chown")
    ]
    deny += [f"Read({name})" for name in (".env", ".env.*", "*.pem", "*.key", "secrets/**")]
    deny += [f"Bash(git push origin v{number}:*)" for number in range(25)]
    ask = [f"Bash({program} publish:*)" for program in PROGRAMS] + [f"Bash(git push --tags v{number})" for number in range(15)]
    return RuleSet.parse(allow=allow, ask=ask, deny=deny)


def best(
    work: Callable[[], object], *, rounds: int = 9, repeats: int = 200, clock: Callable[[], float] = time.process_time
) -> float:
    """Microseconds of one call of `work`: processor time, or by another clock."""
    work()
    times = []
    for _ in range(rounds):
        started = clock()
        for _ in range(repeats):
            work()
        times.append((clock() - started) / repeats)
    return min(times) * 1e6


def decision(call: PermissionCall, given: RuleSet, place: SessionFolders = PLACE) -> float:
    return best(lambda: decide(call, rules=given, mode="default", place=place), repeats=200 if place is PLACE else 20)


def command(text: str) -> PermissionCall:
    return PermissionCall("Bash", {"command": text}, command=text, line=read_line(text))


GOALS = {"Read": 50.0, "Bash": 1_000.0}
"""Microseconds of one decision with 200 rules, at most."""


def show(name: str, microseconds: float, goal: float | None = None) -> None:
    verdict = "" if goal is None else f"{goal:>8.0f}  {'ok' if microseconds <= goal else 'MISS'}"
    print(f"{name:<50}{microseconds:>8.1f}{verdict}")


def main() -> None:
    given = rules()
    print(f"{f'{len(given.rules)} rules':<50}{'µs':>8}{'goal':>8}")
    path = "/work/app/src/a.py"
    show(
        "decide() Read",
        decision(PermissionCall("Read", {"file_path": path}, reads=(path,), read_only=True), given),
        GOALS["Read"],
    )
    for name, text in COMMANDS.items():
        show(f"decide() {name}", decision(command(text), given), GOALS["Bash"])
    here = SessionFolders(str(Path(__file__).resolve().parents[1]), (), "/home/ada", MACHINE_FILES)
    for name, text in ON_DISK.items():
        show(f"  on disk: {name}", decision(command(text), given, here), GOALS["Bash"])
    plain, rich = COMMANDS["Bash: npm run build (plain words)"], COMMANDS["Bash: four parts, quotes, redirection"]
    assert plain_tree(rich) is None
    show("reading plain words", best(lambda: read_line(plain)))
    show(
        "reading anything else, by shfmt (clock)", best(lambda: read_line(rich), rounds=5, repeats=10, clock=time.perf_counter)
    )
    show("  of that the process alone (clock)", best(lambda: run_shfmt(rich), rounds=5, repeats=10, clock=time.perf_counter))


if __name__ == "__main__":
    main()
