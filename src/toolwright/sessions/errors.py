"""The errors of this room."""

from toolwright.types import ClaudeSDKError


class JournalError(ClaudeSDKError):
    """A transcript could not be written or read. The text names the file, what happened and what to do."""


class JournalInUse(JournalError):
    """Another session writes to the transcript, or has written to it: the text names both ways to go on."""


class JournalBusy(JournalInUse):
    """It is writing just now: worth another try, after a moment."""
