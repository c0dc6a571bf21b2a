"""Try to get out: about thirty known ways, for real, on this machine, each judged by what happened on the host.

A command's exit code says nothing: a write to a private folder succeeds and is no escape. One list serves the tests,
`toolwright doctor` and the self-test at start. Where output is the only witness, an attempt prints a word that nothing else
prints.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection

from msgspec import Struct

from toolwright.base.workspace_errors import WorkspaceError
from toolwright.sandbox.launch import Backend
from toolwright.sandbox.probes import file_escapes as files
from toolwright.sandbox.probes import kernel_escapes as kernel
from toolwright.sandbox.probes.target import ProbeTarget

NOT_PROMISED = {
    ("Landlock", "survivors"): "the session ends them, not Landlock",
    ("Landlock", "metadata"): "Landlock does not know modes and times; contents are safe",
}
"""What a mechanism does not hold, and what that means."""


class ProbeResult(Struct, frozen=True):
    """How one attempt went. `detail` says what got through, or why it could not be tried."""

    name: str
    title: str
    held: bool
    detail: str = ""
    promised: bool = True
    """Whether the mechanism is there to hold this."""

    @property
    def failed(self) -> bool:
        return self.promised and not self.held


class Probe(Struct, frozen=True):
    """One way to get out: `attempt` tries it and returns what got through, empty if nothing did."""

    name: str
    title: str
    attempt: Callable[[ProbeTarget], str]


def run_probes(
    mechanism: Backend, *, folder: str | None = None, python: str = "", only: Collection[str] = ()
) -> list[ProbeResult]:
    """Try every probe (or `only` those) against sandboxes of `mechanism`.

    `folder` is where the stage is set; it must not be below /tmp. A probe that gets through harms nothing but its stage.
    """
    place = folder or _stage_folder()
    interpreter = python or os.path.realpath("/proc/self/exe" if sys.platform == "linux" else sys.executable)
    results = []
    for probe in (probe for probe in PROBES if not only or probe.name in only):
        with ProbeTarget(mechanism, place, python=interpreter) as stage:
            results.append(_tried(probe, stage))
    return results


def _tried(probe: Probe, stage: ProbeTarget) -> ProbeResult:
    try:
        said = stage.run_python("print('alive')") if probe is PROBES[0] else "alive"
        if "alive" not in said:
            return ProbeResult(probe.name, probe.title, False, f"the sandbox does not even run a command: {said.strip()[:300]}")
        escaped = probe.attempt(stage)
    except (OSError, WorkspaceError, subprocess.TimeoutExpired) as error:
        return ProbeResult(probe.name, probe.title, False, f"could not be tried: {error}"[:500])
    unpromised = NOT_PROMISED.get((stage.mechanism.name, probe.name), "")
    return ProbeResult(
        probe.name, probe.title, not escaped, f"{escaped}: {unpromised}" if escaped and unpromised else escaped, not unpromised
    )


def _stage_folder() -> str:
    """A folder that is neither temporary nor a secret place."""
    home = os.path.expanduser("~")
    for folder in (os.path.join(home, ".cache"), home, os.getcwd()):
        if os.path.isdir(folder) and os.access(folder, os.W_OK) and not folder.startswith(("/tmp", "/var/tmp")):
            return folder
    return tempfile.gettempdir()


PROBES: tuple[Probe, ...] = (
    Probe("write-outside", "Files outside the workspace cannot be made", files.write_outside),
    Probe("change-outside", "Files outside the workspace cannot be changed, moved or removed", files.change_outside),
    Probe("hard-link", "A hard link does not open a file outside", files.hard_link),
    Probe("planted-link", "A symbolic link does not lead out", files.planted_link),
    Probe("temporary", "/tmp, /var/tmp and /dev/shm are not the host's", files.temporary),
    Probe("metadata", "Modes of files outside cannot be changed", files.metadata),
    Probe("read-secret", "Secret places cannot be read by any path", files.read_secret),
    Probe("read-home", "Of a home nothing can be read but toolchains", files.read_home),
    Probe("deny-rule", "What a deny rule hides cannot be read, linked, copied or moved", files.denied_file),
    Probe("moved-folder", "Moving a folder does not leave its deny rule behind", files.moved_folder),
    Probe("environments", "Variables of other processes cannot be read", files.environments),
    Probe("descriptors", "Open files of the host are not inherited", files.descriptors),
    Probe("kill", "Processes of the host cannot be killed", kernel.kill),
    Probe("trace", "Processes of the host cannot be traced or read", kernel.trace),
    Probe("survivors", "Nothing outlives its command", kernel.survivors),
    Probe("tcp", "Ports of the host cannot be reached", kernel.tcp),
    Probe("udp", "No datagram leaves: no name server, no leak by DNS", kernel.udp),
    Probe("unix-socket", "Unix sockets of the host cannot be reached", kernel.unix),
    Probe("datagram-pair", "Nor can they from a socket pair", kernel.datagram_pair),
    Probe("abstract-socket", "Abstract unix sockets of the host cannot be reached", kernel.abstract),
    Probe("socket-families", "Netlink, packet, vsock and other sockets cannot be made", kernel.other_families),
    Probe("namespaces", "No new namespace can be made, no other entered", kernel.namespaces),
    Probe("mounts", "Nothing can be mounted, unmounted or re-rooted", kernel.mounts),
    Probe("system-calls", "io_uring, bpf, perf, userfaultfd and keys are closed", kernel.forbidden_calls),
    Probe("kernel-switches", "No switch of the kernel can be written", kernel.switches),
    Probe("devices", "No device can be made", kernel.device_nodes),
    Probe("set-id", "No set-id file can be made", kernel.set_id),
    Probe("terminal", "No keystroke can be put into a terminal", kernel.terminal),
    Probe("privileges", "No capability, no new privileges, a filter on system calls", kernel.privileges),
    Probe("make-protected", "Protected names that are not there cannot be made", files.make_protected),
    Probe("change-protected", "Protected names that are there cannot be changed", files.change_protected),
)  # fmt: skip
