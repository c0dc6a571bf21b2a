"""The filter as a program: run by a small interpreter of the few instructions it uses."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.sandbox.seccomp import MACHINES, Machine, program

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050001, 0x00050026


def judge(code: bytes, *, audit: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    words = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, audit, 0, *(word & (1 << 64) - 1 for word in words))
    steps = [struct.unpack_from("=HBBI", code, offset) for offset in range(0, len(code), 8)]
    at, accumulator = 0, 0
    while True:
        operation, if_so, if_not, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                at += if_so if accumulator == value else if_not
            case 0x45:
                at += if_so if accumulator & value else if_not
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(operation)


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> Machine:
    return MACHINES[request.param]


def test_a_program_fits_into_the_kernel(machine: Machine) -> None:
    assert len(program(machine, unix=False, inet=False, owners=False)) // 8 < 4096


def test_another_architecture_is_killed(machine: Machine) -> None:
    assert judge(program(machine, unix=True, inet=True), audit=0x40000003, number=1) == KILL


def test_x32_numbers_are_unknown() -> None:
    machine = MACHINES["x86_64"]
    assert judge(program(machine, unix=True, inet=True), audit=machine.audit, number=0x40000000 | 101) == ENOSYS


def test_forbidden_calls_are_refused_and_others_are_not(machine: Machine) -> None:
    code = program(machine, unix=False, inet=False)
    for number in machine.forbidden:
        assert judge(code, audit=machine.audit, number=number) == EPERM
    assert judge(code, audit=machine.audit, number=435) == ENOSYS
    assert judge(code, audit=machine.audit, number=437) == ENOSYS
    special = {machine.clone, machine.ioctl, machine.socket, machine.socketpair, 435, 437, *machine.forbidden}
    special |= {number for number, _ in (*machine.modes, *machine.creating)}
    assert {judge(code, audit=machine.audit, number=number) for number in range(480) if number not in special} == {ALLOW}


@pytest.mark.parametrize(("unix", "inet"), [(False, False), (True, False), (False, True), (True, True)])
def test_sockets_are_an_allowlist_of_families(machine: Machine, unix: bool, inet: bool) -> None:
    code = program(machine, unix=unix, inet=inet)
    allowed = {
        family for family in range(50) if judge(code, audit=machine.audit, number=machine.socket, arguments=(family,)) == ALLOW
    }
    assert allowed == ({1} if unix else set()) | ({2, 10} if inet else set())
    pairs = [
        judge(code, audit=machine.audit, number=machine.socketpair, arguments=(1, kind)) for kind in (1, 2, 5, 2 | 0o2000000)
    ]
    assert pairs == ([ALLOW] * 4 if unix else [ALLOW, EPERM, ALLOW, EPERM])


def test_threads_can_be_made_and_namespaces_cannot(machine: Machine) -> None:
    code = program(machine, unix=False, inet=False)
    assert judge(code, audit=machine.audit, number=machine.clone, arguments=(0x3D0F00,)) == ALLOW
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert judge(code, audit=machine.audit, number=machine.clone, arguments=(1 << bit | 17,)) == EPERM


@pytest.mark.parametrize("request_number", [0x5412, 0x541C, 0x5412 | 1 << 32])
def test_terminal_tricks_are_refused_also_with_high_bits(machine: Machine, request_number: int) -> None:
    code = program(machine, unix=False, inet=False)
    assert judge(code, audit=machine.audit, number=machine.ioctl, arguments=(0, request_number)) == EPERM
    assert judge(code, audit=machine.audit, number=machine.ioctl, arguments=(0, 0x5401)) == ALLOW


@settings(max_examples=60)
@given(mode=st.integers(0, 0o7777), flags=st.sampled_from([0, 0o1, 0o100, 0o101, 0o1102, 0o20200000]))
def test_set_id_files_cannot_be_made_by_any_mode(mode: int, flags: int) -> None:
    for machine in MACHINES.values():
        code = program(machine, unix=False, inet=False)
        expected = EPERM if mode & 0o6000 else ALLOW
        for number, index in machine.modes:
            assert judge(code, audit=machine.audit, number=number, arguments=(*(0,) * index, mode)) == expected
        makes = bool(flags & (0o100 | 0o20000000))
        for number, index in machine.creating:
            answer = judge(code, audit=machine.audit, number=number, arguments=(*(0,) * index, flags, mode))
            assert answer == (expected if makes else ALLOW)
