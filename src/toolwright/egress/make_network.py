"""Run as a program of its own: make a user and a network namespace, listen inside, and hand all three back as descriptors.

`python -I -S make_network.py CHANNEL PORT UID GID`. A process of its own, because only one with a single thread may enter
a user namespace. It imports nothing of ours, answers with one message over the unix socket CHANNEL, and ends; the descriptors
keep the namespaces alive.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_DUMPABLE = 4
_SIOCSIFFLAGS = 0x8914
_IFF_UP, _IFF_RUNNING = 0x1, 0x40


def main(channel: int, port: int, uid: int, gid: int) -> None:
    with socket.socket(fileno=channel) as answer:
        try:
            _become(uid, gid)
            _enter_new_namespaces(uid, gid)
            _bring_loopback_up()
            listener = socket.create_server(("127.0.0.1", port), backlog=512)
            namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("user", "net")]
            socket.send_fds(answer, [b"ok"], [*namespaces, listener.fileno()])
        except OSError as error:
            answer.sendall(f"{error.filename or 'namespace'}: {error.strerror}".encode())


def _become(uid: int, gid: int) -> None:
    """The namespaces belong to who makes them: be the user that commands run as."""
    if uid != os.geteuid():
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        _check(_libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))  # or /proc/self would stay root's


def _enter_new_namespaces(uid: int, gid: int) -> None:
    _check(_libc().unshare(_CLONE_NEWUSER | _CLONE_NEWNET))
    for name, text in {"setgroups": "deny", "uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP | _IFF_RUNNING))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
