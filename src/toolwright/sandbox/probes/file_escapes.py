"""Attempts to read and change files that a sandbox keeps from a command. Each returns what got through, if anything did."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from toolwright.sandbox.probes.target import ProbeTarget

# files outside


def write_outside(stage: ProbeTarget) -> str:
    stage.run(
        'echo x > "$BASE/outside/new"; mkdir "$BASE/outside/folder"; ln -s / "$BASE/outside/link"; echo x > ../../outside/up'
    )
    return ", ".join(sorted(set(os.listdir(stage.outside)) - {"file"}))


def change_outside(stage: ProbeTarget) -> str:
    stage.run('f="$BASE/outside/file"; echo x >> "$f"; : > "$f"; truncate -s 0 "$f"; rm -f "$f"; mv "$f" "$f.moved"')
    return "" if stage.read("outside/file") == "untouched\n" else "a file outside was changed"


def hard_link(stage: ProbeTarget) -> str:
    stage.run('ln "$BASE/outside/file" linked && echo x >> linked; ln "$BASE/secret/key" key && cat key')
    return "" if stage.read("outside/file") == "untouched\n" else "a file outside was changed through a hard link"


def planted_link(stage: ProbeTarget) -> str:
    stage.run('ln -s "$BASE/outside" way; echo x > way/new; ln -sf "$BASE/outside/file" file; echo x > file')
    changed = stage.read("outside/file") != "untouched\n" or os.path.exists(stage.path("outside/new"))
    return "a file outside was written through a link" if changed else ""


def temporary(stage: ProbeTarget) -> str:
    name = f"toolwright-probe-{stage.token}"
    stage.run(f"echo x > /tmp/{name}; echo x > /var/tmp/{name}; echo x > /dev/shm/{name}")
    found = [path for folder in ("/tmp", "/var/tmp", "/dev/shm") if os.path.exists(path := f"{folder}/{name}")]
    for path in found:
        with suppress(OSError):
            os.unlink(path)
    return ", ".join(found)


def metadata(stage: ProbeTarget) -> str:
    os.chmod(stage.path("outside/file"), 0o600)
    stage.run('chmod 666 "$BASE/outside/file"')
    return (
        "" if stat.S_IMODE(os.stat(stage.path("outside/file")).st_mode) == 0o600 else "the mode of a file outside was changed"
    )


# secrets


def _leak(stage: ProbeTarget, said: str) -> str:
    """The token, in what was said or in what was written in the workspace."""
    names = (f"workspace/work/{name}" for name in os.listdir(stage.path("workspace/work")))
    written = "".join(stage.read(name) or "" for name in names if not os.path.islink(stage.path(name)))
    return "a secret was read" if stage.token in said + written else ""


def read_secret(stage: ProbeTarget) -> str:
    said = stage.run(
        'cat "$BASE/secret/key"; ln -s "$BASE/secret" way; cat way/key; cat "/proc/self/root$BASE/secret/key"; '
        'cd "$BASE/secret" && cat key; cp -r "$BASE/secret" taken'
    )
    said += stage.run_python("import os; print(open(os.environ['BASE'] + '/secret/key').read())")
    return _leak(stage, said)


def read_home(stage: ProbeTarget) -> str:
    """What nobody has listed as a secret; and a program, without which a sandbox would be of little use."""
    said = stage.run(
        'cd "$BASE/home"; cat .config/some/token; find . -type f -exec cat {} +; tar cf - .; cat < .config/some/token; '
        'cat "/proc/self/root$BASE/home/.config/some/token"; cat .local/bin/tool'
    )
    return _leak(stage, said) or ("" if "a program" in said else "programs in a home cannot be read either")


def denied_file(stage: ProbeTarget) -> str:
    said = stage.run(
        "cat sub/.env; ln -s sub/.env l; cat l; ln sub/.env h; cat h; mv sub/.env m; cat m; cp sub/.env c; chmod 644 sub/.env; "
        "cat sub/.env; cat < sub/.env; env -C sub cat .env"
    )
    said += stage.run_python("print(open('sub/.env').read())")
    return _leak(stage, said)


def moved_folder(stage: ProbeTarget) -> str:
    """A deny rule must not be left behind by moving the folder it speaks of, also for the next command."""
    said = stage.run("mv sub elsewhere; cat elsewhere/.env; cd .. && mv work other")
    moved = next((name for name in ("workspace/work/elsewhere", "workspace/other") if os.path.exists(stage.path(name))), "")
    return _leak(stage, said) or (f"{moved} is not where it was" if moved else "")


def environments(stage: ProbeTarget) -> str:
    said = stage.run('cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"; env')
    return "the variables of another process were read" if stage.token in said else ""


def descriptors(stage: ProbeTarget) -> str:
    program = """
import glob, os, stat
for path in glob.glob('/proc/[0-9]*/fd/*'):
    try: print(open(path).read() if stat.S_ISREG(os.stat(path).st_mode) else '')
    except OSError: pass
"""
    descriptor = os.open(stage.path("secret/key"), os.O_RDONLY)
    try:
        os.set_inheritable(descriptor, True)
        said = stage.run_python(program)
    finally:
        os.close(descriptor)
    return "an open file of the host was read" if stage.token in said else ""


# protected names


def make_protected(stage: ProbeTarget) -> str:
    names = (
        ".git/hooks/pre-commit .claude/settings.json .mcp.json .envrc .npmrc .husky/pre-commit .cargo/config.toml .yarnrc.yml"
    )
    ways = 'mkdir -p "$(dirname $n)"; echo x > $n; ln -s /etc/hostname $n; mv work/file $n'
    stage.run(f"cd ..; for n in {names}; do {ways}; done; git init")
    return ", ".join(name for name in names.split() if os.path.lexists(stage.path(f"workspace/{name}")))


def change_protected(stage: ProbeTarget) -> str:
    stage.run(
        "cd ..; echo x > .vscode/settings.json; rm -rf .vscode; mv .vscode v; mv work .vscode; "
        "(cd .vscode && echo x > settings.json); "
        "ln -sfn work .vscode; chmod -R 777 .vscode; "
        "ln .vscode/settings.json work/l && echo x > work/l; env -C .vscode sh -c 'echo x > tasks.json'"
    )
    unchanged = stage.read("workspace/.vscode/settings.json") == "untouched\n"
    return "" if unchanged and os.listdir(stage.path("workspace/.vscode")) == ["settings.json"] else ".vscode was changed"
