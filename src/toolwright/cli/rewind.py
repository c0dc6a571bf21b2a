"""`toolwright -p --resume ID --rewind-files MESSAGE`: put a session's files back, say what was done, ask no model."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.cli.ask import OpenSession
from toolwright.cli.frame_io import Frame, FrameOutput


async def rewind_files(open_session: OpenSession, message: str, *, output: FrameOutput, output_format: str) -> int:
    session = await open_session()
    try:
        await session.start()
        told = await session.control({"subtype": "rewind_files", "user_message_id": message})
    finally:
        await session.close()
    if output_format == "text":
        await output.write_text("".join(f"{line}\n" for line in lines(told)))
    else:
        await output.write(told)
    return 0


def lines(told: Frame) -> Iterator[str]:
    changed = told["filesChanged"]
    noun = "file" if len(changed) == 1 else "files"
    yield f"Rewound {len(changed)} {noun} (+{told['insertions']} -{told['deletions']} lines)."
    by_hand = set(told["changedByHand"])
    yield from (f"  {path}{' (had been changed by hand)' if path in by_hand else ''}" for path in changed)
    yield from (f"Not rewound: {path} is behind a link, or outside the allowed folders." for path in told["skippedLinks"])
    yield from (f"Not rewound: {left['path']}: {left['reason']}" for left in told["notRestored"])
    if told["undoId"] is not None:
        yield f"To take this back: --rewind-files {told['undoId']}"
