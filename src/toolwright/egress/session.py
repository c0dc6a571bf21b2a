"""The way out of the sandbox for one session: made when the first command needs it, closed with the session.

Until `start` there is no task, no descriptor and no process. It ties the proxy to a private network (Linux), or to a loopback
port behind a token where commands share the machine's network and the sandbox lets them reach that port only.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Collection, Sequence

import anyio
from msgspec import Struct

from toolwright.egress.addresses import Lookup, look_up
from toolwright.egress.domains import Ask, DomainGate, DomainPolicy
from toolwright.egress.errors import NetworkUnavailable
from toolwright.egress.http_proxy import USER
from toolwright.egress.limits import ProxyLimits
from toolwright.egress.namespace import PROXY_PORT, PrivateNetwork, make_network
from toolwright.egress.proxy import EgressProxy, OwnProxies
from toolwright.egress.traffic import RefusedConnection, in_words

_NO_PROXY = "localhost,127.0.0.1,::1"


class EgressOptions(Struct, frozen=True):
    """What a session's way out is made of."""

    policy: DomainPolicy
    ask: Ask | None = None
    own: OwnProxies = OwnProxies()
    limits: ProxyLimits = ProxyLimits()
    lookup: Lookup = look_up
    private_services: Collection[tuple[str, int]] = ()
    """Exact (host, port) pairs that may lead to this machine or a private network."""
    account: tuple[int, int] | None = None
    """uid and gid that commands run as, if not ours."""
    enclosed: bool = True
    """Whether commands get a private network. If not, the proxy listens on this machine's loopback address, behind a token."""


class Egress:
    """One session's way out."""

    def __init__(self, options: EgressOptions) -> None:
        self._options = options
        self._gate = DomainGate(options.policy, ask=options.ask)
        self._token = None if options.enclosed else secrets.token_urlsafe(24)
        self._lock = anyio.Lock()
        self._proxy: EgressProxy | None = None
        self._network: PrivateNetwork | None = None
        self._port = PROXY_PORT

    @property
    def started(self) -> bool:
        return self._proxy is not None

    async def start(self) -> None:
        """Make network and proxy if they are not there yet. Raises `NetworkUnavailable`."""
        async with self._lock:
            if self._proxy is None:
                listener = await self._listen()
                proxy = self._make_proxy()
                proxy.serve(listener)
                self._proxy = proxy

    async def close(self) -> None:
        """End every connection, stop listening, let the namespaces go. May be started again."""
        async with self._lock:
            proxy, self._proxy = self._proxy, None
            network, self._network = self._network, None
            if network is not None:
                network.close()
            if proxy is not None:
                await proxy.close()

    def entering(self, sandbox: Sequence[str]) -> list[str]:
        """The command line that starts a bubblewrap command line (with its `--unshare-net`) inside the private network."""
        return self._started_network().entering(sandbox)

    @property
    def descriptors(self) -> tuple[int, int]:
        """What the process that `entering` describes has to inherit."""
        return self._started_network().descriptors

    @property
    def port(self) -> int:
        """Where commands find the proxy on 127.0.0.1."""
        return self._port

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which commands find the proxy. To be set after, and over, what the caller's environment says.

        `ALL_PROXY` is the HTTP side too: with a `socks5h://` address there, Python's httpx refuses to start unless an extra
        package is installed. Who wants SOCKS finds it on the same port.
        """
        credentials = f"{USER}:{self._token}@" if self._token else ""
        address = f"http://{credentials}127.0.0.1:{self._port}"
        upper = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": _NO_PROXY}
        return {**upper, **{name.lower(): value for name, value in upper.items()}, "NODE_USE_ENV_PROXY": "1"}

    @property
    def refused(self) -> int:
        """How many connections were refused so far; hand it to `refusals_since` after a command."""
        return self._proxy.traffic.refused if self._proxy else 0

    def refusals_since(self, number: int) -> list[RefusedConnection]:
        return self._proxy.traffic.refusals_since(number) if self._proxy else []

    def refused_in_words(self, since: int) -> str | None:
        """What to tell a model about the refusals after the first `since` ones."""
        return in_words(self.refusals_since(since))

    def _started_network(self) -> PrivateNetwork:
        if self._network is None:
            raise NetworkUnavailable("The private network for commands has not been started.")
        return self._network

    async def _listen(self) -> socket.socket:
        if not self._options.enclosed:
            listener = socket.create_server(("127.0.0.1", 0), backlog=512)
            self._port = listener.getsockname()[1]
            return listener
        uid, gid = self._options.account or (None, None)
        self._network = await make_network(uid=uid, gid=gid)
        return self._network.listener

    def _make_proxy(self) -> EgressProxy:
        options = self._options
        return EgressProxy(
            self._gate,
            limits=options.limits,
            token=self._token,
            own=options.own,
            lookup=options.lookup,
            private_services=options.private_services,
        )
