"""How long a permission decision takes: decide() with 200 rules, and what reading a command costs.

    python benchmarks/permissions.py

Prints one table; each number is the best of several rounds, because other programs can only make them worse.
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


def decision(call: Call, given: RuleSet) -> float:
    return best(lambda: decide(call, rules=given, mode="default", place=PLACE))


def show(name: str, microseconds: float) -> None:
    print(f"{name:<50}{microseconds:>8.1f}")


def main() -> None:
    given = rules()
    print(f"{len(given.rules)} rules{'µs':>{58 - len(f'{len(given.rules)} rules')}}")
    path = "/work/app/src/a.py"
    show("decide() Read", decision(Call("Read", {"file_path": path}, reads=(path,), read_only=True), given))
    for name, text in COMMANDS.items():
        show(f"decide() {name}", decision(Call("Bash", {"command": text}, command=text, line=read_line(text)), given))
    plain, rich = COMMANDS["Bash: npm run build (plain words)"], COMMANDS["Bash: four parts, quotes, redirection"]
    assert plain_tree(rich) is None
    show("reading plain words", best(lambda: read_line(plain)))
    show(
        "reading anything else, by shfmt (clock)", best(lambda: read_line(rich), rounds=5, repeats=10, clock=time.perf_counter)
    )
    show("  of that the process alone (clock)", best(lambda: run_shfmt(rich), rounds=5, repeats=10, clock=time.perf_counter))


if __name__ == "__main__":
    main()
