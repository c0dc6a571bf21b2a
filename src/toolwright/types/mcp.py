"""Tool servers (MCP): how one is configured, and what its status says."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

McpServerConnectionStatus = Literal["connected", "failed", "needs-auth", "pending", "disabled"]


class McpStdioServerConfig(TypedDict):
    """A server that is started as a child process and speaks over its standard streams."""

    type: NotRequired[Literal["stdio"]]
    command: str
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]


class McpSSEServerConfig(TypedDict):
    """A server reached over HTTP with server-sent events (the older transport)."""

    type: Literal["sse"]
    url: str
    headers: NotRequired[dict[str, str]]


class McpHttpServerConfig(TypedDict):
    """A server reached over streamable HTTP."""

    type: Literal["http"]
    url: str
    headers: NotRequired[dict[str, str]]


class McpSdkServerConfig(TypedDict):
    """A server in this process: what `create_sdk_mcp_server` returns, or any `Server` object of the `mcp` package."""

    type: Literal["sdk"]
    name: str
    instance: Any


class McpSdkServerConfigStatus(TypedDict):
    """An in-process server as a status names it: without the object."""

    type: Literal["sdk"]
    name: str


class McpClaudeAIProxyServerConfig(TypedDict):
    """A server reached through the provider's proxy."""

    type: Literal["claudeai-proxy"]
    url: str
    id: str


McpServerConfig: TypeAlias = McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfig
McpServerStatusConfig: TypeAlias = (
    McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfigStatus | McpClaudeAIProxyServerConfig
)


class McpToolAnnotations(TypedDict, total=False):
    """What a tool's server promises about it."""

    readOnly: bool
    destructive: bool
    openWorld: bool


class McpToolInfo(TypedDict):
    """One tool of a connected server."""

    name: str
    description: NotRequired[str]
    annotations: NotRequired[McpToolAnnotations]


class McpServerInfo(TypedDict):
    """How a server introduced itself."""

    name: str
    version: str


class McpServerStatus(TypedDict):
    """The state of one server; `error` says why it failed, `tools` are there once it is connected."""

    name: str
    status: McpServerConnectionStatus
    serverInfo: NotRequired[McpServerInfo]
    error: NotRequired[str]
    config: NotRequired[McpServerStatusConfig]
    scope: NotRequired[str]
    tools: NotRequired[list[McpToolInfo]]


class McpStatusResponse(TypedDict):
    """The answer of `get_mcp_status()`."""

    mcpServers: list[McpServerStatus]
