"""Files and folders of the machine that anybody may read: its programs, their libraries and what describes it. No secrets.

Commands that run unasked read these and the working folders, nothing else; Read, Grep, Glob and LS follow the same list.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache

_FOLDERS = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /gnu/store /opt/homebrew /home/linuxbrew/.linuxbrew"
_OF_ETC = """os-release lsb-release debian_version redhat-release alpine-release issue passwd group nsswitch.conf host.conf
    hosts ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload localtime timezone locale.alias locale.conf default/locale
    alternatives
    gitconfig gitattributes mime.types magic inputrc terminfo bash_completion.d shells protocols services ssl/certs
    ssl/openssl.cnf ssl/cert.pem pki/tls/certs ca-certificates ca-certificates.conf crypto-policies perl python3 python3.11
    python3.12 python3.13 python3.14 java java-17-openjdk java-21-openjdk nanorc manpath.config apt/sources.list
    apt/sources.list.d dpkg/origins"""
_OF_KERNEL = """/proc/cpuinfo /proc/meminfo /proc/version /proc/uptime /proc/loadavg /proc/stat /proc/filesystems
    /proc/sys/kernel/osrelease /proc/sys/kernel/ostype /proc/sys/kernel/version /proc/sys/kernel/pid_max
    /proc/sys/kernel/ngroups_max /proc/sys/kernel/random/uuid /proc/sys/vm/overcommit_memory /proc/sys/fs/file-max
    /sys/devices/system/cpu/online /sys/devices/system/cpu/possible /sys/kernel/mm/transparent_hugepage/enabled"""
_OF_PROGRAMS = frozenset({"bin", "sbin", "shims"})


def system_places(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The places that are there: of the system, of this very interpreter, and of the programs that PATH names."""
    return _places(home, environment.get("PATH", ""), environment.get("VIRTUAL_ENV", ""))


@lru_cache(maxsize=16)
def _places(home: str, path: str, virtual_environment: str) -> tuple[str, ...]:
    own = {os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    named = (*_FOLDERS.split(), *(f"/etc/{name}" for name in _OF_ETC.split()), *_OF_KERNEL.split())
    activated = [virtual_environment] if os.path.isfile(os.path.join(virtual_environment, "pyvenv.cfg")) else []
    found = (*named, *own, *activated, *_of_path(path, os.path.realpath(home)))
    return tuple(dict.fromkeys(place for place in found if place.startswith("/") and os.path.exists(place)))


def _of_path(path: str, home: str) -> Iterator[str]:
    """The folders of PATH; outside of home, where others keep nothing but the program, also what lies beside a `bin`."""
    for folder in path.split(":"):
        real = os.path.realpath(folder)
        parent, name = os.path.split(real)
        if not folder.startswith("/") or real in ("/", home) or home.startswith(f"{real}/"):
            continue
        yield folder
        is_own = name in _OF_PROGRAMS and parent.count("/") > 1 and not real.startswith(f"{home}/")
        if is_own and not home.startswith(parent):
            yield parent
