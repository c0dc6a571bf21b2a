"""What to tell a model that asked for a file that is not there."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from toolwright.workspace import WorkspaceError

if TYPE_CHECKING:
    from toolwright.workspace import Workspace


async def missing_file(path: str, workspace: Workspace) -> str:
    """The text of the error, with the names that come close."""
    folder, name = os.path.split(workspace.absolute(path).rstrip("/"))
    text = f"File does not exist: {path}. Note: your current working directory is {workspace.cwd}."
    try:
        names = await workspace.list_names(folder)
    except WorkspaceError:
        return text  # whoever allowed a file outside did not allow its folder
    except OSError:
        return f"{text} Its folder {folder} does not exist either."
    near = difflib.get_close_matches(name, names[:5000], n=3, cutoff=0.6) or [n for n in names if n.lower() == name.lower()]
    return f"{text} Did you mean {' or '.join(os.path.join(folder, n) for n in near)}?" if near else text
