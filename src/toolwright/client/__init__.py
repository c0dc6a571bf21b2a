"""The client room: `query()` and `ClaudeSDKClient`, on a session in this process or behind a transport."""

from toolwright.client.client import ClaudeSDKClient
from toolwright.client.query import query

__all__ = ["ClaudeSDKClient", "query"]
