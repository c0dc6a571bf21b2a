"""What is kept of a session: its transcript, written as it happens and read back to go on.

paths          where transcripts lie
journal        writing one, entry by entry
load           reading one back: lines ▸ chain ▸ history
find           one by its id, or a project's newest
fork           a copy under new ids
bulk           very many entries, without keeping other threads waiting
lines          bytes as entries, whatever happened to the file
history        entries as messages that an API accepts
encoding       one entry as one line
locked_file    appending, one session at a time
private_files  opening, creating and reading, for the owner only
git_head       the branch a folder is on
"""

from toolwright.sessions.errors import JournalError, JournalInUse
from toolwright.sessions.journal import SYNTHETIC_MODEL, Journal
from toolwright.sessions.paths import (
    checked_session_id,
    config_dir,
    is_session_id,
    project_dir,
    project_key_for_directory,
    transcript_path,
)

__all__ = [
    "Journal",
    "JournalError",
    "JournalInUse",
    "SYNTHETIC_MODEL",
    "config_dir",
    "project_dir",
    "project_key_for_directory",
    "transcript_path",
    "checked_session_id",
    "is_session_id",
]
