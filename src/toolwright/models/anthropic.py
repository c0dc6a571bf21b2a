"""The Anthropic Messages API as a `Model`: one streamed POST per answer.

It sends one request and yields its events as they come; it does not send it again (see retry.py) and keeps no conversation.
Every failure leaves as a `ModelError`, whose text never holds the key.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from time import monotonic
from urllib.parse import urlsplit

import anyio
import msgspec

from toolwright._version import __version__
from toolwright.models.api_errors import error_event, refusal
from toolwright.models.base import ErrorKind, Event, ModelError, ModelRequest, Retry
from toolwright.models.http import HttpResponse, Leases, Timeouts, header
from toolwright.models.messages_request import request_body
from toolwright.models.meter import AnswerMeter
from toolwright.models.redaction import without_keys
from toolwright.models.sse import ServerEvent, SseParser

DEFAULT_BASE_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
USER_AGENT = f"toolwright/{__version__}"
SESSION_HEADER = "x-claude-code-session-id"
NO_STREAM = ("text/html", "application/json")

_decode = msgspec.json.Decoder().decode


class AnthropicModel:
    """A server that speaks the Messages API. One instance serves any number of sessions, on any event loop.

    `env` gives proxies and certificate files (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, …); the process's own is not read.
    With both an `auth_token` and an `api_key` the token is used.
    """

    def __init__(
        self,
        *,
        base_url: str = DEFAULT_BASE_URL,
        api_key: str | None = None,
        auth_token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._base_url = base_url.rstrip("/").removesuffix("/v1")
        self._api_key = api_key
        self._auth_token = auth_token
        self._headers = dict(headers or {})
        self._timeouts = timeouts or Timeouts()
        self._leases = Leases(self._base_url, env or {})

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        answer = await self._ask(request)
        events = _EventReader(answer, self._timeouts.idle, AnswerMeter(request.limits))
        try:
            while not events.finished:
                for event in await events.next_batch():
                    yield event
        except ModelError as error:
            self._redact(error)
            raise
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        await self._leases.release()

    async def _ask(self, request: ModelRequest) -> HttpResponse:
        headers = self._request_headers(request)
        path = f"{urlsplit(self._base_url).path}/v1/messages?beta=true"
        answer = await self._leases.here().post(path, headers, body=request_body(request), timeouts=self._timeouts)
        if 200 <= answer.status < 300 and not answer.headers.get("content-type", "").startswith(NO_STREAM):
            return answer
        try:
            error = self._refusal(answer, await answer.read_all())
        finally:
            await answer.aclose()
        self._redact(error)
        raise error

    def _refusal(self, answer: HttpResponse, body: bytes) -> ModelError:
        if answer.status >= 300:
            return refusal(answer.status, answer.headers, body)
        kind = answer.headers["content-type"]
        text = f"{self._base_url} answered with {kind} instead of an event stream: is it the right base URL?"
        return ModelError(text, kind="invalid_request", status=answer.status)

    def _request_headers(self, request: ModelRequest) -> list[tuple[bytes, bytes]]:
        headers = {
            "user-agent": USER_AGENT,
            "content-type": "application/json",
            "accept": "text/event-stream",
            "anthropic-version": API_VERSION,
            **self._credentials(),
        }
        if request.betas:
            headers["anthropic-beta"] = ",".join(request.betas)
        if request.session_id:
            headers[SESSION_HEADER] = request.session_id
        headers.update((name.lower(), value) for name, value in self._headers.items())
        return [header(name, value) for name, value in headers.items()]

    def _credentials(self) -> dict[str, str]:
        if self._auth_token:
            return {"authorization": f"Bearer {self._auth_token}"}
        if self._api_key:
            return {"x-api-key": self._api_key}
        if self._base_url == DEFAULT_BASE_URL:
            text = "No key for the Anthropic API: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN)."
            raise ModelError(text, kind="authentication_failed")
        return {}  # a gateway of one's own may want none

    def _redact(self, error: ModelError) -> None:
        """A server may repeat the key in its error text."""
        error.args = (without_keys(str(error), (self._api_key, self._auth_token)),)


class _EventReader:
    """Takes events out of the answer's body, a batch per piece of it, until `message_stop`."""

    __slots__ = ("_answer", "_broken", "_fresh", "_idle", "_meter", "_parser", "_silent_since", "_started", "finished")

    def __init__(self, answer: HttpResponse, idle: float, meter: AnswerMeter) -> None:
        self._answer = answer
        self._meter = meter
        self._idle = idle
        self._parser = SseParser()
        self._fresh = True  # the last batch held more than pings
        self._silent_since = 0.0
        self._started = False
        self._broken: ModelError | None = None
        self.finished = False

    async def next_batch(self) -> list[Event]:
        if self._broken is not None:
            raise self._broken
        chunk = await self._next_chunk()
        if not chunk:
            raise self._error("The answer broke off: the stream ended without message_stop.", "truncated", not self._started)
        self._fresh = False
        events = self._read(chunk)
        self._meter.add_streamed(len(chunk), waiting=self._parser.waiting)
        if self.finished:
            await self._answer.finish()
        return events

    async def _next_chunk(self) -> bytes:
        """Wait for bytes, no longer than what is left of the idle time. Pings do not give it new time.

        After a real event the connection's own read timeout, which is the same idle time, does this without a scope of ours.
        """
        now = monotonic()
        if self._fresh:
            self._silent_since = now
            return await self._answer.next_chunk()
        try:
            with anyio.fail_after(max(0.0, self._silent_since + self._idle - now)):
                return await self._answer.next_chunk()
        except TimeoutError:
            raise self._error(f"The model server sent nothing but pings for {self._idle:g} seconds.", "timeout", True) from None

    def _read(self, chunk: bytes) -> list[Event]:
        """The events in the chunk; an error among them is kept until those before it have been handed over."""
        events: list[Event] = []
        try:
            for sent in self._parser.feed(chunk):
                event = self._decode(sent)
                if event is None:
                    continue
                events.append(event)
                kind = event["type"]
                if kind != "ping":
                    self._fresh = True
                if kind == "content_block_start":
                    self._started = True
                elif kind == "message_stop":
                    self.finished = True
                    break
        except ModelError as error:
            self._broken = error
        return events

    def _decode(self, sent: ServerEvent) -> Event | None:
        try:
            event = _decode(sent.data)
        except (ValueError, RecursionError) as error:
            if sent.event != "error":
                raise self._error(
                    f"The model server sent a {sent.event!r} event that is not JSON: {error}", "server_error", True
                ) from error
            event = {"type": "error"}
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            return None  # of no type that we could know: newer servers may send more than we understand
        if event["type"] == "error" or sent.event == "error":
            raise error_event(sent.data, self._answer.headers.get("request-id"))
        return event

    def _error(self, text: str, kind: ErrorKind, retryable: bool) -> ModelError:
        return ModelError(text, kind=kind, retryable=retryable, request_id=self._answer.headers.get("request-id"))
