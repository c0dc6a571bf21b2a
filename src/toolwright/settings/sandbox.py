"""The `sandbox` settings as a typed value. Read and merged here; carried out where commands are started.

None means "not said". Paths stay as written: `/abs`, `~/of-home`, `./of-the-session's-folder`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import fields, replace

from toolwright.settings.reader import ObjectReader

T = TypeVar("T", bound=Struct)


class SandboxNetwork(Struct, frozen=True):
    """What a sandboxed command may reach."""

    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    strict_allowlist: bool | None = None
    allow_managed_domains_only: bool | None = None
    allow_unix_sockets: tuple[str, ...] = ()
    allow_all_unix_sockets: bool | None = None
    allow_local_binding: bool | None = None
    allow_mach_lookup: tuple[str, ...] = ()
    http_proxy_port: int | None = None
    socks_proxy_port: int | None = None


class SandboxFilesystem(Struct, frozen=True):
    """Which paths a sandboxed command may read and write beyond, or short of, the default."""

    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    disabled: bool | None = None
    hide_env_files: bool | None = None
    """Whether `.env` files in the writable folders are kept from commands; ours."""


class Credential(Struct, frozen=True):
    """A file or a variable that commands must not see (`deny`) or see only masked (`mask`)."""

    kind: Literal["file", "variable"]
    name: str
    mode: Literal["deny", "mask"]


class SandboxLimits(Struct, frozen=True):
    """Most that a command may use, sandboxed or not; 0 is no limit; ours."""

    memory_mb: int | None = None
    processes: int | None = None
    cpu_seconds: int | None = None
    file_size_mb: int | None = None
    open_files: int | None = None
    scratch_mb: int | None = None


class SandboxConfig(Struct, frozen=True):
    """Whether commands are sandboxed, and how."""

    enabled: bool | None = None
    auto_allow_bash: bool | None = None
    """`autoAllowBashIfSandboxed`; not said is True."""
    fail_if_unavailable: bool | None = None
    allow_unsandboxed_commands: bool | None = None
    enable_weaker_nested_sandbox: bool | None = None
    self_test: bool | None = None
    excluded_commands: tuple[str, ...] = ()
    ignore_violations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    network: SandboxNetwork = field(default_factory=SandboxNetwork)
    filesystem: SandboxFilesystem = field(default_factory=SandboxFilesystem)
    credentials: tuple[Credential, ...] = ()
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    caps: SandboxLimits = field(default_factory=SandboxLimits)
    """Limits that count only where they are lower than what holds otherwise: the wish of a folder that nobody vouches for."""


def read_sandbox(reader: ObjectReader) -> SandboxConfig:
    """The value of a `sandbox` object. Raises `OptionsError` that names the key."""
    value = SandboxConfig(
        enabled=reader.boolean("enabled"),
        auto_allow_bash=reader.boolean("autoAllowBashIfSandboxed"),
        fail_if_unavailable=reader.boolean("failIfUnavailable"),
        allow_unsandboxed_commands=reader.boolean("allowUnsandboxedCommands"),
        enable_weaker_nested_sandbox=reader.boolean("enableWeakerNestedSandbox"),
        self_test=reader.boolean("selfTest"),
        excluded_commands=reader.texts("excludedCommands"),
        ignore_violations=_violations(reader.inner("ignoreViolations")),
        network=_network(reader.inner("network")),
        filesystem=_filesystem(reader.inner("filesystem")),
        credentials=_credentials(reader.inner("credentials")),
        limits=_limits(reader.inner("limits")),
    )
    reader.accept("ripgrep", "enabledPlatforms", "enableWeakerNetworkIsolation", "bwrapPath", "socatPath")
    reader.finish()
    return value


def _violations(reader: ObjectReader | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((key, reader.texts(key)) for key in reader.names) if reader else ()


def _network(reader: ObjectReader | None) -> SandboxNetwork:
    if reader is None:
        return SandboxNetwork()
    value = SandboxNetwork(
        allowed_domains=reader.texts("allowedDomains"),
        denied_domains=reader.texts("deniedDomains"),
        strict_allowlist=reader.boolean("strictAllowlist"),
        allow_managed_domains_only=reader.boolean("allowManagedDomainsOnly"),
        allow_unix_sockets=reader.texts("allowUnixSockets"),
        allow_all_unix_sockets=reader.boolean("allowAllUnixSockets"),
        allow_local_binding=reader.boolean("allowLocalBinding"),
        allow_mach_lookup=reader.texts("allowMachLookup"),
        http_proxy_port=reader.whole("httpProxyPort", most=65535),
        socks_proxy_port=reader.whole("socksProxyPort", most=65535),
    )
    reader.accept("tlsTerminate")
    reader.finish()
    return value


def _filesystem(reader: ObjectReader | None) -> SandboxFilesystem:
    if reader is None:
        return SandboxFilesystem()
    value = SandboxFilesystem(
        allow_write=reader.texts("allowWrite"),
        deny_write=reader.texts("denyWrite"),
        deny_read=reader.texts("denyRead"),
        allow_read=reader.texts("allowRead"),
        disabled=reader.boolean("disabled"),
        hide_env_files=reader.boolean("hideEnvFiles"),
    )
    reader.accept("allowManagedReadPathsOnly")
    reader.finish()
    return value


def _credentials(reader: ObjectReader | None) -> tuple[Credential, ...]:
    if reader is None:
        return ()
    kinds: tuple[tuple[str, Literal["file", "variable"], str], ...] = (
        ("files", "file", "path"),
        ("envVars", "variable", "name"),
    )
    found = [_credential(entry, kind, name) for key, kind, name in kinds for entry in reader.entries(key)]
    reader.accept("allowPlaintextInject")
    reader.finish()
    return tuple(found)


def _credential(entry: ObjectReader, kind: Literal["file", "variable"], name: str) -> Credential:
    value = Credential(kind, entry.required_text(name), "mask" if entry.choice("mode", ("deny", "mask")) == "mask" else "deny")
    entry.accept(*entry.names)
    return value


def _limits(reader: ObjectReader | None) -> SandboxLimits:
    if reader is None:
        return SandboxLimits()
    value = SandboxLimits(
        memory_mb=reader.whole("memoryMb"),
        processes=reader.whole("processes"),
        cpu_seconds=reader.whole("cpuSeconds"),
        file_size_mb=reader.whole("fileSizeMb"),
        open_files=reader.whole("openFiles"),
        scratch_mb=reader.whole("scratchMb"),
    )
    reader.finish()
    return value


def merge_sandbox(higher: SandboxConfig | None, lower: SandboxConfig | None) -> SandboxConfig | None:
    """Lists together; of the rest, what `higher` says, then what `lower` says."""
    if higher is None or lower is None:
        return higher or lower
    return _merged(higher, lower)


def _merged(higher: T, lower: T) -> T:
    parts = {each.name: _one(getattr(higher, each.name), getattr(lower, each.name)) for each in fields(higher)}
    return replace(higher, **parts)


def _one(higher: Any, lower: Any) -> Any:
    if isinstance(higher, Struct):
        return _merged(higher, lower)
    if isinstance(higher, tuple):
        return tuple(dict.fromkeys((*higher, *lower)))
    return lower if higher is None else higher


def tighten_sandbox(base: SandboxConfig | None, wish: SandboxConfig) -> SandboxConfig | None:
    """`base` with what `wish` forbids beyond it, and nothing that it would permit.

    A sandbox that only `wish` turns on allows no command unasked: that would permit more than no sandbox.
    """
    known = base or SandboxConfig()
    turned_on = bool(wish.enabled) and not known.enabled
    tight = replace(
        known,
        enabled=True if wish.enabled else known.enabled,
        auto_allow_bash=False if turned_on or wish.auto_allow_bash is False else known.auto_allow_bash,
        fail_if_unavailable=True if wish.fail_if_unavailable else known.fail_if_unavailable,
        allow_unsandboxed_commands=False if wish.allow_unsandboxed_commands is False else known.allow_unsandboxed_commands,
        network=_tight_network(known.network, wish.network),
        filesystem=_tight_filesystem(known.filesystem, wish.filesystem),
        credentials=tuple(dict.fromkeys((*(each for each in wish.credentials if each.mode == "deny"), *known.credentials))),
        caps=_lower(_lower(known.caps, wish.limits), wish.caps),
    )
    return tight if base is not None or tight != SandboxConfig() else None


def _lower(known: SandboxLimits, wish: SandboxLimits) -> SandboxLimits:
    """The lower of each two numbers; 0, which is no limit, and None say nothing."""
    pairs = ((each.name, getattr(known, each.name), getattr(wish, each.name)) for each in fields(SandboxLimits))
    return SandboxLimits(**{name: min(filter(None, (ours, theirs)), default=None) for name, ours, theirs in pairs})


def _tight_network(known: SandboxNetwork, wish: SandboxNetwork) -> SandboxNetwork:
    return replace(
        known,
        denied_domains=tuple(dict.fromkeys((*wish.denied_domains, *known.denied_domains))),
        strict_allowlist=True if wish.strict_allowlist else known.strict_allowlist,
    )


def _tight_filesystem(known: SandboxFilesystem, wish: SandboxFilesystem) -> SandboxFilesystem:
    return replace(
        known,
        deny_write=tuple(dict.fromkeys((*wish.deny_write, *known.deny_write))),
        deny_read=tuple(dict.fromkeys((*wish.deny_read, *known.deny_read))),
        hide_env_files=True if wish.hide_env_files else known.hide_env_files,
    )
