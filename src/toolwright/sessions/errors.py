"""The errors of this room."""

from toolwright.types import ClaudeSDKError


class JournalError(ClaudeSDKError):
    """A transcript could not be written or read. The text names the file, what happened and what to do."""


class JournalBusy(JournalError):
    """Another process is writing to the transcript just now: worth another try, after a moment."""
