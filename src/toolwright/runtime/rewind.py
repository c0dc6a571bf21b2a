"""The control request `rewind_files`: files back to a user message, and the answer that tells what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwright.base.ids import new_uuid
from toolwright.base.workspace_errors import UnknownPoint
from toolwright.tools.patches import structured_patch
from toolwright.types import ControlError

if TYPE_CHECKING:
    from toolwright.files.rewind import Rewound
    from toolwright.workspace import Workspace

HINT = (
    "A checkpoint is the uuid of a prompt's user message (--replay-user-messages tells it), or the undoId of an earlier rewind."
)


async def rewind(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    point, dry_run = request.get("user_message_id"), request.get("dry_run") is True
    if workspace.history is None:
        raise ControlError("File rewinding is not enabled.")
    if not isinstance(point, str):
        raise ControlError(f"rewind_files: user_message_id must be a text, not {point!r}")
    try:
        rewound = await workspace.rewind(point, count=lines_changed, undo=None if dry_run else new_uuid())
    except UnknownPoint as error:
        raise ControlError(f"{error} {HINT}") from None
    except OSError as error:
        raise ControlError(f"rewind_files: the history of this session cannot be read: {error.strerror}") from None
    return told(rewound)


def told(rewound: Rewound) -> dict[str, Any]:
    return {
        "canRewind": True,
        "filesChanged": rewound.changed,
        "insertions": rewound.insertions,
        "deletions": rewound.deletions,
        "skippedLinks": rewound.skipped_links,
        "changedByHand": rewound.changed_by_hand,
        "notRestored": [{"path": path, "reason": reason} for path, reason in rewound.not_restored.items()],
        "undoId": rewound.undo,
    }


def lines_changed(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines that come and lines that go. Bytes are taken as Latin-1, which tells any two of them apart."""
    hunks = structured_patch(old.decode("latin-1"), new.decode("latin-1"))
    signs = [line[0] for hunk in hunks for line in hunk["lines"]]
    return signs.count("+"), signs.count("-")
