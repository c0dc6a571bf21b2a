"""How long a permission decision takes: decide() with 200 rules, and what reading a command costs.

    python benchmarks/permissions.py

Prints one table; microseconds are the best of several rounds, because other programs can only make them worse.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from toolwright.permissions import Call, Place, RuleSet, decide
from toolwright.permissions.grammar import plain_tree, run_shfmt
from toolwright.permissions.reading import read_line

PLACE = Place("/work/app", ("/work/lib",), "/home/ada")
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


def best(work: Callable[[], object], *, rounds: int = 7, repeats: int = 200) -> float:
    """Microseconds of one call of `work`."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(repeats):
            work()
        times.append((time.perf_counter() - started) / repeats)
    return min(times) * 1e6


def main() -> None:
    given = rules()
    print(f"{len(given.rules)} rules\n")
    print(f"{'':<44}{'µs':>10}")
    call = Call("Read", {"file_path": "/work/app/src/a.py"}, reads=("/work/app/src/a.py",), read_only=True)
    print(f"{'decide() Read':<44}{best(lambda: decide(call, rules=given, mode='default', place=PLACE)):>10.1f}")
    for name, text in COMMANDS.items():
        bash = Call("Bash", {"command": text}, command=text, line=read_line(text))
        print(
            f"{'decide() ' + name:<44}{best(lambda call=bash: decide(call, rules=given, mode='default', place=PLACE)):>10.1f}"
        )  # type: ignore[misc]  # a default binds the loop's value
    plain = COMMANDS["Bash: npm run build (plain words)"]
    rich = COMMANDS["Bash: four parts, quotes, redirection"]
    print(f"{'reading plain words':<44}{best(lambda: read_line(plain)):>10.1f}")
    print(f"{'reading anything else, by shfmt':<44}{best(lambda: read_line(rich), rounds=3, repeats=10):>10.1f}")
    print(f"{'  of that the process alone':<44}{best(lambda: run_shfmt(rich), rounds=3, repeats=10):>10.1f}")
    assert plain_tree(rich) is None


if __name__ == "__main__":
    main()
