"""Hand a child the arguments that others must not read: everybody can list the processes of a machine and their command lines.

Each such argument goes into a file without a name that the child inherits, and the path by which the child can read it stands
in its place. Only for arguments that may be paths. Knows nothing of what they say.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager


@contextmanager
def out_of_sight(command: Sequence[str], private: Collection[str]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """The command line to start, and the descriptors that the child has to inherit; ours are closed afterwards."""
    with ExitStack() as stack:
        descriptors = {text: _file_of(text, stack) for text in private}
        shown = [f"/dev/fd/{descriptors[part]}" if part in descriptors else part for part in command]
        yield shown, tuple(descriptors.values())


def _file_of(text: str, stack: ExitStack) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("toolwright-argument", os.MFD_CLOEXEC)
    else:
        import tempfile  # not on Linux, and slow to import

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    stack.callback(os.close, descriptor)
    data = text.encode()
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
