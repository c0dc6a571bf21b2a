"""Run by a fresh interpreter, not imported: takes the sandbox upon itself, then becomes the command.

Arguments: the descriptor of the plan (JSON), the descriptor of the seccomp filter, the command. It needs nothing but the
standard library, because it runs without site packages. Where the command runs as another user, this program becomes that
user: it starts as the one who can read this Python. If any step fails, the command does not run.
"""

import ctypes
import json
import os
import signal
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF, OPENAT2, CAPSET = 444, 445, 446, 437, {"x86_64": 126, "aarch64": 91}
PATH_BENEATH = 1
O_PATH_NOFOLLOW = 0o10000000 | os.O_NOFOLLOW | os.O_CLOEXEC
NO_SYMLINKS = 0x04
SET_PDEATHSIG, SET_NO_NEW_PRIVS, SET_SECCOMP, CAPBSET_DROP, CAP_AMBIENT = 1, 38, 22, 24, 47
LAST_FILE_RIGHTS = 0b1100000000000111  # execute, write, read, truncate, device ioctl: all that a file knows
EXIT_CODE = 126

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number: int, *arguments: object) -> int:
    converted = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = libc.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def control(option: int, *arguments: object) -> None:
    padded = [*arguments, 0, 0, 0, 0][:4]
    if libc.prctl(option, *[ctypes.c_ulong(each) if isinstance(each, int) else each for each in padded]) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def open_exactly(path: str) -> "int | None":
    """The path itself, no link anywhere on the way; None if it is not that any more: then it is not granted."""
    how = (ctypes.c_uint64 * 3)(O_PATH_NOFOLLOW, 0, NO_SYMLINKS)
    try:
        return call(OPENAT2, -100, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), ctypes.sizeof(how))
    except OSError:
        return None


def granting(handled: "list[int]", grants: "list[tuple[str, int]]", size: int) -> int:
    """The grants as a ruleset, by descriptor: the user of the command need not get to the paths."""
    attributes = (ctypes.c_uint64 * 3)(*handled)
    ruleset = call(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    for path, rights in grants:
        descriptor = open_exactly(path)
        if descriptor is None:
            continue
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            rights &= LAST_FILE_RIGHTS
        rule = rights.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        call(ADD_RULE, ruleset, PATH_BENEATH, rule, 0)
        os.close(descriptor)
    return ruleset


def become(account: "tuple[int, int, list[int]] | None") -> None:
    """Be the user of the command from here on, for good."""
    if account is None:
        return
    uid, gid, groups = account
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def give_up_capabilities() -> None:
    """What root may do beyond its own files."""
    control(CAP_AMBIENT, 4)
    for number in range(64):
        if libc.prctl(CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0) != 0:
            break  # no capability of this number, or none that we could drop
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call(CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def filter_calls(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    control(SET_SECCOMP, 2, ctypes.byref(Program(len(program) // 8, program)))


def main() -> None:
    planned, filter_, *command = sys.argv[1:]
    plan, program = json.loads(read_all(int(planned))), read_all(int(filter_))
    ruleset = granting(plan["handled"], plan["grants"], plan["size"])
    become(plan["account"])  # first: it takes away who is to die with us
    control(SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != plan["parent"]:
        raise OSError("the process that started this one has ended")
    give_up_capabilities()
    control(SET_NO_NEW_PRIVS, 1)
    call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    filter_calls(program)
    os.execve(command[0], command, plan["environment"])


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:  # noqa: BLE001 — whatever it is, the command must not run
        sys.stderr.write(f"toolwright: the sandbox could not be set up, so the command was not run: {error}\n")
        sys.stderr.flush()
        os._exit(EXIT_CODE)
