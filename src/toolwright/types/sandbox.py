"""Settings of the sandbox that shell commands run in. Keys are spelled as in settings files."""

from typing import TypeAlias, TypedDict

SandboxIgnoreViolations: TypeAlias = dict[str, list[str]]
"""Command pattern → paths whose violations are not reported for it."""


class SandboxNetworkConfig(TypedDict, total=False):
    """What a sandboxed command may reach."""

    allowedDomains: list[str]
    deniedDomains: list[str]
    allowManagedDomainsOnly: bool
    allowUnixSockets: list[str]
    allowAllUnixSockets: bool
    allowLocalBinding: bool
    allowMachLookup: list[str]
    httpProxyPort: int
    socksProxyPort: int


class SandboxSettings(TypedDict, total=False):
    """Whether commands are sandboxed, and which exceptions there are."""

    enabled: bool
    autoAllowBashIfSandboxed: bool
    excludedCommands: list[str]
    allowUnsandboxedCommands: bool
    network: SandboxNetworkConfig
    ignoreViolations: SandboxIgnoreViolations
    enableWeakerNestedSandbox: bool
