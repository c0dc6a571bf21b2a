"""What a person is asked about when a sandboxed command wants to reach a host that the sandbox's own rules do not name.

It looks like a tool, since questions are about tools, but no model can call it. The gate puts the question.
"""

from __future__ import annotations

from toolwright.tools.base import BuiltinTool


class NetworkAccess(BuiltinTool):
    name = "SandboxNetworkAccess"
    description = "A sandboxed command wants to reach a host."


NETWORK_ACCESS = NetworkAccess()
