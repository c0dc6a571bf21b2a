"""Attempts on other processes, on sockets and on the kernel. Each returns what got through, empty if nothing did.

Programs run inside print `ESCAPED-…` for what worked: nothing else does.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from toolwright.sandbox.probes.target import ProbeTarget

ESCAPED = "ESCAPED-"
_LAST_MOMENTS = 1.0
"""Seconds a process that has been told to die may take for it."""
_CALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True); libc.syscall.restype = ctypes.c_long
def attempt(word, number, *arguments):
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]) >= 0:
        print('ESCAPED-' + word, flush=True)
"""


def _escapes(said: str) -> str:
    return ", ".join(word.removeprefix(ESCAPED) for word in said.split() if word.startswith(ESCAPED))


# other processes


def kill(stage: ProbeTarget) -> str:
    stage.run(f"kill -9 {stage.neighbour.pid}; kill -STOP {stage.neighbour.pid}")
    return "" if stage.neighbour.poll() is None else "a process of the host was killed"


def trace(stage: ProbeTarget) -> str:
    program = (
        _CALL
        + f"""
machine = os.uname().machine
attempt('ptrace', 101 if machine == 'x86_64' else 117, 16, {stage.neighbour.pid}, 0, 0)
attempt('pidfd_getfd', 438, os.pidfd_open({stage.neighbour.pid}) if hasattr(os, 'pidfd_open') else -1, 0, 0)
open('/proc/{stage.neighbour.pid}/mem', 'rb'); print('ESCAPED-memory')
"""
    )
    return _escapes(stage.run_python(program))


def survivors(stage: ProbeTarget) -> str:
    """What a command starts must end with it: by the mechanism itself, or by the session, which is another matter."""
    mark = str(600_000 + int(stage.token[:4], 16))
    stage.run(f"(setsid sleep {mark} & setsid nohup sleep {mark} & (sleep {mark} &)) >/dev/null 2>&1 </dev/null")
    deadline = time.monotonic() + _LAST_MOMENTS
    while _still_running(mark):
        if time.monotonic() > deadline:
            return "a process outlived its command" if _still_running(mark, end=True) else ""
        time.sleep(0.01)
    return ""


def _still_running(mark: str, *, end: bool = False) -> bool:
    found = False
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if name.isdigit():
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        found = True
                        os.kill(int(name), 9 if end else 0)
    return found


# sockets


def tcp(stage: ProbeTarget) -> str:
    port = stage.tcp.getsockname()[1]
    stage.run_python(f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
    return "" if stage.nobody_came(stage.tcp) else "a port of the host was reached"


def udp(stage: ProbeTarget) -> str:
    port = stage.udp.getsockname()[1]
    stage.run_python(f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))")
    return "" if stage.nobody_came(stage.udp) else "a datagram reached the host: a name server could be reached as well"


def unix(stage: ProbeTarget) -> str:
    stage.run_python("import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ['BASE'] + '/s')")
    return "" if stage.nobody_came(stage.unix) else "a unix socket of the host was reached"


def datagram_pair(stage: ProbeTarget) -> str:
    stage.run_python(
        "import os, socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', os.environ['BASE'] + '/d')"
    )
    return "" if stage.nobody_came(stage.datagrams) else "a unix socket of the host was reached from a socket pair"


def abstract(stage: ProbeTarget) -> str:
    stage.run_python(f"import socket; socket.socket(socket.AF_UNIX).connect(b'\\0' + b'{stage.token}')")
    return "" if stage.nobody_came(stage.abstract) else "an abstract unix socket of the host was reached"


def other_families(stage: ProbeTarget) -> str:
    program = """
import socket
for family in (16, 17, 38, 40, 43, 44):
    try: socket.socket(family, 3); print('ESCAPED-family', family)
    except OSError: pass
"""
    return _escapes(stage.run_python(program))


# the kernel


def namespaces(stage: ProbeTarget) -> str:
    program = (
        _CALL
        + """
x = os.uname().machine == 'x86_64'
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000): attempt('unshare', 272 if x else 97, flag)
try: attempt('setns', 308 if x else 268, os.open('/proc/1/ns/mnt', os.O_RDONLY), 0)
except OSError: pass
child = libc.syscall(ctypes.c_long(56 if x else 220), ctypes.c_long(0x10000000 | 17), None, None, None, None)
if child == 0: print('ESCAPED-clone', flush=True); os._exit(0)
"""
    )
    return _escapes(stage.run_python(program))


def mounts(stage: ProbeTarget) -> str:
    program = (
        _CALL
        + """
x = os.uname().machine == 'x86_64'
attempt('mount', 165 if x else 40, b'none', os.environ['BASE'].encode() + b'/outside', b'tmpfs', 0, None)
attempt('umount', 166 if x else 39, os.environ['BASE'].encode() + b'/secret', 2)
attempt('fsopen', 430, b'tmpfs', 0); attempt('open_tree', 428, -100, b'/', 1); attempt('chroot', 161 if x else 51, b'/')
"""
    )
    return _escapes(stage.run_python(program))


def forbidden_calls(stage: ProbeTarget) -> str:
    program = (
        _CALL
        + """
x = os.uname().machine == 'x86_64'
attempt('io_uring', 425, 4, ctypes.create_string_buffer(256)); attempt('userfaultfd', 323 if x else 282, 1)
attempt('keys', 248 if x else 217, b'user', b'toolwright', b'x', 1, -2)
attempt('bpf', 321 if x else 280, 0, ctypes.create_string_buffer(128), 128)
attempt('perf', 298 if x else 241, ctypes.create_string_buffer(128), 0, -1, -1, 0)
attempt('clone3', 435, None, 0)
"""
    )
    return _escapes(stage.run_python(program))


def switches(stage: ProbeTarget) -> str:
    """Only opened, never written: the machine is somebody's."""
    program = """
import os
for top in ('/proc/sys', '/proc/irq', '/sys/kernel', '/sys/fs/cgroup'):
    for folder, _, names in os.walk(top):
        for name in names[:40]:
            try: os.close(os.open(folder + '/' + name, os.O_WRONLY | os.O_NONBLOCK)); print('ESCAPED-' + folder + '/' + name)
            except OSError: pass
for path in ('/proc/sysrq-trigger', '/dev/mem', '/dev/kmsg', '/dev/kvm', '/dev/fuse'):
    try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)); print('ESCAPED-' + path)
    except OSError: pass
"""
    found = _escapes(stage.run_python(program)).split(", ")
    return "" if found == [""] else f"{len(found)} can be written to, for instance {found[0]}"


def device_nodes(stage: ProbeTarget) -> str:
    stage.run("mknod disk b 8 0; mknod memory c 1 1")
    modes = [os.lstat(stage.path(f"workspace/work/{name}")).st_mode for name in os.listdir(stage.path("workspace/work"))]
    return "a device was made" if any(stat.S_ISBLK(mode) or stat.S_ISCHR(mode) for mode in modes) else ""


def set_id(stage: ProbeTarget) -> str:
    stage.run("cp /bin/true file; chmod 4755 file; chmod g+s file")
    stage.run_python("import os; os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755)")
    folder = stage.path("workspace/work")
    return (
        "a set-id file was made"
        if any(os.lstat(f"{folder}/{name}").st_mode & 0o6000 for name in os.listdir(folder) if name != "sub")
        else ""
    )


def terminal(stage: ProbeTarget) -> str:
    """Put a keystroke into a terminal of the host."""
    ours, theirs = os.openpty()
    try:
        program = _CALL + "attempt('keystroke', 16 if os.uname().machine == 'x86_64' else 29, 0, 0x5412, b'x')"
        return _escapes(stage.run_argv([stage.python, "-I", "-S", "-c", program], stdin=theirs))
    finally:
        os.close(ours)
        os.close(theirs)


def privileges(stage: ProbeTarget) -> str:
    said = stage.run("cat /proc/self/status")
    values = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    wanted = {"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0" * 16, "CapPrm": "0" * 16}
    return ", ".join(
        f"{name} is {values.get(name)}" for name, value in wanted.items() if name in values and values[name] != value
    )
