"""A small process that outlives this one for a moment: when we are killed, it ends the commands we had running.

One for the whole process, and only while there are commands or tool servers, and a moment longer. It holds the reading end of
a pipe whose writing end only we hold, and is told the marks of sessions over it. When the pipe ends without a word, we are
gone: it kills what carries those marks, and looks again for a second, since a command that has just been started may not carry
its mark yet. A process that somebody forked from us without running a program keeps the pipe open; then the sweep of the next
session (`leftovers`) does it, for commands. Only on Linux: elsewhere there is no mark to go by.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import anyio
from msgspec import Struct, field

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.processes.process_tree import CALL_BITS

# grep, because bash reads files of /proc byte by byte.
_SCRIPT = """
while read -r mark late; do if [[ $late ]]; then later+=" $mark"; else marks+=" $mark"; fi; done
end() {
  for round in {1..50}; do
    found=
    while IFS=' /:' read -r _ _ pid _ _ _ _ soft _; do
      [[ $soft != *[!0-9]* && "$1 " == *" $((soft >> %d)) "* ]] && kill -KILL "$pid" && found=1
    done < <(grep -Hs '^Max file locks' /proc/[0-9]*/limits)
    [[ $found ]] || return
  done
}
for pause in 0 0.05 0.1 0.2 0.3 0.35; do
  [[ $marks ]] && sleep $pause && end "$marks"
done
[[ $later ]] && sleep %d && end "$later"
"""
REST = 0.25
"""Seconds without a command after which the watchdog goes."""
TIMEOUT = 2
"""Seconds for who is told by other means that we are gone, and may end by itself."""
_LINUX: bool = sys.platform == "linux"


class _Watchdog(Struct):
    owner: int
    process: subprocess.Popen[bytes]
    pipe: int
    sessions: set[int] = field(default_factory=set)


_watchdog: _Watchdog | None = None


def watch(session: int, *, shell: str, patiently: bool = False) -> None:
    """From now on, what carries the mark of `session` ends with us, whatever ends us. May be called more than once.

    With `patiently` it is given a moment to end by itself.
    `shell` is the bash to run. Raises OSError if there is no process or descriptor to be had.
    """
    global _watchdog
    if not _LINUX:
        return
    if _watchdog is None or _watchdog.owner != os.getpid():  # a fork has to have its own
        _watchdog = _begin(shell)
    if session not in _watchdog.sessions:
        _watchdog.sessions.add(session)
        with suppress(BrokenPipeError):  # somebody killed it: the next session's sweep has to do
            os.write(_watchdog.pipe, b"%d%s\n" % (session, b" late" if patiently else b""))


def release(session: int) -> None:
    """Nothing of `session` runs any more. With the last one the watchdog goes."""
    global _watchdog
    if _watchdog is None or _watchdog.owner != os.getpid():
        return
    _watchdog.sessions.discard(session)
    if not _watchdog.sessions:
        ended, _watchdog = _watchdog, None
        ended.process.kill()  # before the pipe ends, which would mean something else
        ended.process.wait()
        os.close(ended.pipe)


class Guard:
    """The watchdog's watch over the commands of one session: from the first of them until a moment after the last.

    It goes soon, but not at once: who starts one command after the other needs it for all of them.
    """

    __slots__ = ("_closed", "_commands", "_idle_since", "_resting", "_session")

    def __init__(self, session: int) -> None:
        self._session = session
        self._commands = 0
        self._idle_since = 0.0
        self._resting: OwnedTask | None = None
        self._closed = False

    def begin(self, shell: str) -> None:
        """A command is about to start. Raises OSError if there is no process or descriptor to be had."""
        watch(self._session, shell=shell)
        self._commands += 1

    def end(self) -> None:
        """A command has ended."""
        self._commands -= 1
        if self._commands or self._closed:
            return
        self._idle_since = anyio.current_time()
        if self._resting is None and _LINUX:
            self._resting = spawn(self._rest, name="toolwright rests")

    def close(self) -> None:
        self._closed = True
        if self._resting is not None:
            self._resting.cancel()
        release(self._session)

    async def _rest(self) -> None:
        try:
            while self._idle_since + REST > anyio.current_time():  # noqa: ASYNC110 — it is time that is waited for
                await anyio.sleep_until(self._idle_since + REST)
        finally:
            self._resting = None
            if not self._commands:
                release(self._session)


def _begin(shell: str) -> _Watchdog:
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            (shell, "--noprofile", "--norc", "-c", _SCRIPT % (CALL_BITS, TIMEOUT), "toolwright-watchdog"),
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return _Watchdog(os.getpid(), process, ours)
