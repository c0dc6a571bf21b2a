"""The system calls that a sandboxed command may not make, as a BPF program the kernel runs before each call.

Built here byte by byte, so no library is needed. It closes what file and network isolation leave open: other processes' memory,
new namespaces and mounts, kernel modules and keys, io_uring, terminal injection, sockets of other families.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

_LOAD, _EQUAL, _ANY_SET_IN, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_EPERM, _ENOTTY, _ENOSYS = 1, 25, 38
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020000
_TERMINAL_TRICKS = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
_HARMLESS_IOCTLS = (
    *(0x5401, 0x802C542A, 0x5413, 0x540F, 0x5429),  # TCGETS, TCGETS2, TIOCGWINSZ, TIOCGPGRP, TIOCGSID
    *(0x541B, 0x5421, 0x5450, 0x5451),  # FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
    *(0x80086601, 0x801C581F, 0xC020660B),  # FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP
)
"""What a program that only looks asks of a descriptor. Others change files through one that is open for reading (chattr)."""
_UNIX, _INET, _INET6 = 1, 2, 10
_DATAGRAM = 2
_LOCKS = 10


class Machine(Struct, frozen=True):
    """The numbers of one architecture."""

    audit: int
    forbidden: tuple[int, ...]
    clone: int
    ioctl: int
    socket: int
    socketpair: int
    modes: tuple[tuple[int, int], ...]
    """Calls that set a file's mode, and which argument is the mode."""
    creating: tuple[tuple[int, int], ...]
    """Calls that may make a file, and which argument holds their flags; the mode comes after that."""
    owners: tuple[int, ...]
    """Calls that set owners and extended attributes."""
    chmods: tuple[int, ...]
    """Calls that only set a file's mode."""
    times: tuple[int, ...]
    """Calls that set a file's times."""
    of_others: tuple[int, ...]
    """Calls that reach what other processes share (IPC of System V and POSIX), or set priorities."""
    by_process: tuple[int, ...]
    """Calls about a process named by their first argument, where zero is the caller."""
    setrlimit: int
    prlimit: int
    has_x32: bool = False


_SAME_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 467)
# io_uring_setup, io_uring_enter, io_uring_register, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd,
# process_madvise, mount_setattr, quotactl_fd, open_tree_attr
_CLONE3, _OPENAT2 = 435, 437
_SET_ID_BITS = 0o6000
_MAKES_A_FILE = 0o100 | 0o20000000

# fmt: off
MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        (
            101, 310, 311, 312,  # ptrace, process_vm_readv, process_vm_writev, kcmp
            165, 166, 155, 161, 308, 272,  # mount, umount2, pivot_root, chroot, setns, unshare
            321, 298, 323, 300,  # bpf, perf_event_open, userfaultfd, fanotify_init
            250, 248, 249,  # keyctl, add_key, request_key
            246, 320, 175, 313, 176, 169,  # kexec_load, kexec_file_load, init_module, finit_module, delete_module, reboot
            167, 168, 163, 179, 180,  # swapon, swapoff, acct, quotactl, nfsservctl
            164, 227, 305,  # settimeofday, clock_settime, clock_adjtime
            103, 212, 304,  # syslog, lookup_dcookie, open_by_handle_at
            153, 170, 171, 279, 256,  # vhangup, sethostname, setdomainname, move_pages, migrate_pages
            172, 173, 154, 134, 156,  # iopl, ioperm, modify_ldt, uselib, _sysctl
            *_SAME_EVERYWHERE,
        ),
        clone=56, ioctl=16, socket=41, socketpair=53, has_x32=True,
        modes=((90, 1), (91, 1), (268, 2), (452, 2), (85, 1), (133, 1), (259, 2)),  # chmod and its kin, creat, mknod, mknodat
        creating=((2, 1), (257, 2)),  # open, openat
        owners=(92, 93, 94, 260, 188, 189, 190, 197, 198, 199, 463, 466),  # chown, f…, l…, f…at, setxattr …, removexattr …
        chmods=(90, 91, 268, 452),
        times=(132, 235, 261, 280),  # utime, utimes, futimesat, utimensat
        of_others=(
            29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71,  # shm…, sem…, msg…
            240, 241, 242, 243, 244, 245,  # mq_…
            141, 251,  # setpriority, ioprio_set
        ),
        by_process=(142, 144, 203, 314),  # sched_setparam, …scheduler, …affinity, …attr
        setrlimit=160, prlimit=302,
    ),
    "aarch64": Machine(
        0xC00000B7,
        (
            117, 270, 271, 272,
            40, 39, 41, 51, 268, 97,
            280, 241, 282, 262,
            219, 217, 218,
            104, 294, 105, 273, 106, 142,
            224, 225, 89, 60, 42,
            170, 112, 266,
            116, 18, 265,
            58, 161, 162, 239, 238,
            *_SAME_EVERYWHERE,
        ),
        clone=220, ioctl=29, socket=198, socketpair=199,
        modes=((52, 1), (53, 2), (452, 2), (33, 2)),
        creating=((56, 2),),
        owners=(55, 54, 5, 6, 7, 14, 15, 16, 463, 466),
        chmods=(52, 53, 452),
        times=(88,),
        of_others=(
            194, 196, 195, 197, 190, 193, 191, 192, 186, 189, 188, 187,
            180, 181, 182, 183, 184, 185,
            140, 30,
        ),
        by_process=(118, 119, 122, 274),
        setrlimit=164, prlimit=261,
    ),
}
# fmt: on


def machine_name() -> str:
    return os.uname().machine


def is_available() -> bool:
    """Whether we know the numbers of this machine."""
    return sys.platform == "linux" and machine_name() in MACHINES


def program(machine: Machine, *, unix: bool, inet: bool, owners: bool = True) -> bytes:
    """The filter: `unix` and `inet` say whether sockets of those families may be made, `owners` whether a file's owner and
    extended attributes may be set. A set-id file never may be: another user who runs it would act as ours."""
    families = [*([_UNIX] if unix else []), *([_INET, _INET6] if inet else [])]
    parts = [
        *_start(machine),
        *([] if owners else _refuse(machine.owners)),
        *(part for call, index in machine.modes for part in _for_call(call, _no_set_id(index))),
        *(part for call, index in machine.creating for part in _for_call(call, _no_set_id_file(index))),
        *_for_call(machine.clone, [_argument(0), _jump(_ANY_SET_IN, _NEW_NAMESPACES, 0, 1), _back(_ERRNO | _EPERM)]),
        *_for_call(machine.ioctl, [_argument(1), *_refuse(_TERMINAL_TRICKS)]),
        *_for_call(machine.socket, [_argument(0), *_only(families)]),
        *([] if unix else _for_call(machine.socketpair, _no_datagram_pairs())),
        _back(_ALLOW),
    ]
    return b"".join(parts)


def _start(machine: Machine) -> list[bytes]:
    """The head of every filter: only this architecture's calls, and none of those that are forbidden to all."""
    return [
        _load(_ARCHITECTURE),
        _jump(_EQUAL, machine.audit, 1, 0),
        _back(_KILL),  # another architecture's numbers mean other calls
        _load(_NUMBER),
        *([_jump(_ANY_SET_IN, _X32, 0, 1), _back(_ERRNO | _ENOSYS)] if machine.has_x32 else []),
        *_refuse(machine.forbidden),
        # Their flags lie in memory, where a filter cannot look; libraries then use clone and openat.
        *_refuse([_CLONE3, _OPENAT2], _ENOSYS),
    ]


def cage_program(machine: Machine, *, marks_itself: bool = False) -> bytes:
    """The filter of the cage, over all that the sandbox refuses: no socket, no change of a file's mode, owner, attributes or
    times, nothing that other processes share. Unless bash `marks_itself`, nobody can change the limit by which its processes
    are found (`trees`)."""
    mark = [] if marks_itself else [_LOCKS]
    parts = [
        *_start(machine),
        *_refuse((*machine.owners, *machine.times, *machine.of_others, *machine.chmods, machine.socket)),
        *_for_call(machine.setrlimit, [_argument(0), *_refuse(mark)]),
        *_for_call(machine.prlimit, [_argument(1), *_refuse(mark), _argument(0), *_only([0])]),
        *(part for call in machine.by_process for part in _for_call(call, [_argument(0), *_only([0])])),
        *_for_call(machine.clone, [_argument(0), _jump(_ANY_SET_IN, _NEW_NAMESPACES, 0, 1), _back(_ERRNO | _EPERM)]),
        *_for_call(machine.ioctl, [_argument(1), *_only(_HARMLESS_IOCTLS, _ENOTTY)]),
        *_for_call(machine.socketpair, _no_datagram_pairs()),
        _back(_ALLOW),
    ]
    return b"".join(parts)


@cache
def cage_program_here(*, marks_itself: bool = False) -> bytes:
    return cage_program(MACHINES[machine_name()], marks_itself=marks_itself)


def filter_descriptor(*, unix: bool, inet: bool, owners: bool = True) -> int:
    """The filter for this machine in a file without a name, to be read from its beginning."""
    return _descriptor(_program_here(unix, inet, owners))


def cage_filter_descriptor() -> int:
    """The same for the filter of the cage."""
    return _descriptor(cage_program_here(marks_itself=True))


def _descriptor(program: bytes) -> int:
    descriptor = os.memfd_create("toolwright-seccomp", os.MFD_CLOEXEC)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@cache
def _program_here(unix: bool, inet: bool, owners: bool) -> bytes:
    return program(MACHINES[machine_name()], unix=unix, inet=inet, owners=owners)


def _no_set_id(index: int) -> list[bytes]:
    return [_argument(index), _jump(_ANY_SET_IN, _SET_ID_BITS, 0, 1), _back(_ERRNO | _EPERM)]


def _no_set_id_file(flags: int) -> list[bytes]:
    """The mode says nothing unless a file is made."""
    checks = _no_set_id(flags + 1)
    return [_argument(flags), _jump(_ANY_SET_IN, _MAKES_A_FILE, 0, len(checks)), *checks]


def _no_datagram_pairs() -> list[bytes]:
    """One end of a datagram pair can be pointed at any socket in the file system: as good as a new socket."""
    return [_argument(1), struct.pack("=HBBI", _AND, 0, 0, 0xF), *_refuse([_DATAGRAM])]


def _refuse(numbers: Iterable[int], errno: int = _EPERM) -> list[bytes]:
    return [part for number in numbers for part in (_jump(_EQUAL, number, 0, 1), _back(_ERRNO | errno))]


def _only(values: Iterable[int], errno: int = _EPERM) -> list[bytes]:
    allowed = [part for value in values for part in (_jump(_EQUAL, value, 0, 1), _back(_ALLOW))]
    return [*allowed, _back(_ERRNO | errno)]


def _for_call(number: int, steps: list[bytes]) -> list[bytes]:
    """Steps for one call alone; whatever they leave undecided is allowed."""
    return [_jump(_EQUAL, number, 0, len(steps) + 1), *steps, _back(_ALLOW)]


def _argument(index: int) -> bytes:
    return _load(_FIRST_ARGUMENT + 8 * index)  # the low half: all that the kernel looks at for these


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _jump(test: int, value: int, if_so: int, if_not: int) -> bytes:
    return struct.pack("=HBBI", test, if_so, if_not, value)


def _back(answer: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, answer)
