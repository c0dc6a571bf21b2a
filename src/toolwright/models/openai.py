"""Servers that speak OpenAI's chat completions API as a `Model`: one streamed POST per answer.

OpenAI, vLLM, llama.cpp, Ollama, LM Studio, OpenRouter and what else follows the same API; where they differ it takes what
comes. It sends one request and yields its answer as events of the Messages API; it does not send it again (see retry.py) and
keeps no conversation. Every failure leaves as a `ModelError`, whose text never holds the key.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

import anyio
import msgspec

from toolwright._version import __version__
from toolwright.models.api_errors import RETRYABLE_KINDS, error_event, refusal
from toolwright.models.base import Event, ModelError, ModelRequest, Retry
from toolwright.models.http import HttpResponse, Leases, Timeouts, header
from toolwright.models.meter import AnswerMeter
from toolwright.models.openai_events import ChatTranslator
from toolwright.models.openai_messages import ChatDialect, request_body, tool_names
from toolwright.models.redaction import SHORT, without_keys
from toolwright.models.sse import SseParser

DEFAULT_BASE_URL = "https://api.openai.com/v1"
OWN_HOST = "api.openai.com"
USER_AGENT = f"toolwright/{__version__}"
LAST_WORDS_SECONDS = 5.0
"""How long to wait for usage and the end once the server has said why it stopped: not all close the stream."""
CONTEXT_WORDS = ("context length", "context size", "context window", "too many tokens", "exceed_context_size")
"""How servers say that the conversation does not fit, in words that `api_errors` does not know."""

_decode = msgspec.json.Decoder().decode


class OpenAIModel:
    """A server that speaks the chat completions API. One instance serves any number of sessions, on any event loop.

    `base_url` is what stands before `/chat/completions`, mostly ending in `/v1`. `env` gives proxies and certificate files
    (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, …); the process's own is not read.
    """

    def __init__(
        self,
        *,
        base_url: str = DEFAULT_BASE_URL,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        dialect: ChatDialect | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._timeouts = timeouts or Timeouts()
        self._dialect = dialect or default_dialect(base_url)
        self._leases = Leases(self._base_url, env or {})

    def __repr__(self) -> str:
        return f"OpenAIModel(base_url={self._base_url!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        meter = AnswerMeter(request.limits)
        translator = ChatTranslator(request.model, tool_names(request.tools), meter)
        answer = await self._ask(request)
        try:
            reader = _ChunkReader(answer, self._timeouts.idle, meter)
            while (chunks := await reader.next_chunks(finishing=translator.finished)) is not None:
                for chunk in chunks:
                    for event in translator.feed(chunk):
                        yield event
            if not (translator.finished or reader.done):
                text = "The answer broke off: the stream ended without a finish_reason and without [DONE]."
                raise ModelError(text, kind="truncated", retryable=not translator.has_content, request_id=answer_id(answer))
            await _finish(answer)
            for event in translator.ending():
                yield event
        except ModelError as error:
            raise self._redacted(error) from error.__cause__
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        await self._leases.release()

    async def _ask(self, request: ModelRequest) -> HttpResponse:
        body = request_body(request, self._dialect)
        answer = await self._leases.here().post(self._path(), self._request_headers(), body=body, timeouts=self._timeouts)
        if 200 <= answer.status < 300:
            return answer
        try:
            error = self._refusal(answer, await answer.read_all())
        finally:
            await answer.aclose()
        raise self._redacted(error)

    def _path(self) -> str:
        parts = urlsplit(self._base_url)
        query = f"?{parts.query}" if parts.query else ""  # Azure's api-version stands there
        return f"{parts.path.rstrip('/')}/chat/completions{query}"

    def _request_headers(self) -> list[tuple[bytes, bytes]]:
        headers = {"user-agent": USER_AGENT, "content-type": "application/json", "accept": "text/event-stream"}
        if self._api_key:
            headers["authorization"] = f"Bearer {self._api_key}"
        elif urlsplit(self._base_url).hostname == OWN_HOST and "authorization" not in self._headers:
            raise ModelError("No key for the OpenAI API: set OPENAI_API_KEY.", kind="authentication_failed")
        return [header(name, value) for name, value in {**headers, **self._headers}.items()]

    def _refusal(self, answer: HttpResponse, body: bytes) -> ModelError:
        error = refusal(answer.status, answer.headers, body)
        if error.kind in ("invalid_request", "server_error") and _is_about_context(str(error)):
            error.kind, error.retryable = "prompt_too_long", False
        if error.status == 404 and not urlsplit(self._base_url).path.strip("/"):
            error.args = (f"{error} (Most servers want a base URL that ends in /v1; this one is {self._base_url})",)
        return error

    def _redacted(self, error: ModelError) -> ModelError:
        """A server may repeat the key in its error text."""
        headers = (value for value in self._headers.values() if len(value) >= SHORT)  # a short one is hardly a secret
        error.args = (without_keys(str(error), (self._api_key, *headers)),)
        return error


def default_dialect(base_url: str) -> ChatDialect:
    own = urlsplit(base_url).hostname == OWN_HOST
    return ChatDialect(max_tokens_field="max_completion_tokens" if own else "max_tokens")


async def _finish(answer: HttpResponse) -> None:
    try:
        await answer.finish()
    except ModelError:
        pass  # the answer is whole: how the connection ends does not matter


class _ChunkReader:
    """The decoded chunks of one answer, whether it comes as server-sent events or, from some proxies, as one JSON text."""

    __slots__ = ("_answer", "_failure", "_idle", "_meter", "_parser", "_silent_since", "_whole", "done")

    def __init__(self, answer: HttpResponse, idle: float, meter: AnswerMeter) -> None:
        self._answer = answer
        self._meter = meter
        self._idle = idle
        self._parser: SseParser | None = None  # until the first byte says what kind of answer it is
        self._whole = bytearray()
        self._failure: ModelError | None = None
        self._silent_since: float | None = None  # since the last chunk; None: it came just now
        self.done = False
        """The server has said that this was all."""

    async def next_chunks(self, *, finishing: bool) -> list[dict[str, Any]] | None:
        """What the next bytes hold, which may be nothing; None at the end."""
        if self._failure is not None:
            raise self._failure
        if self.done:
            return None
        data = await (self._last_bytes() if finishing else self._next_bytes())
        chunks = self._read(data)
        waiting = len(self._whole) if self._parser is None else self._parser.waiting
        self._meter.add_streamed(len(data), waiting=waiting)
        if chunks:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = anyio.current_time()
        return chunks

    def _read(self, data: bytes) -> list[dict[str, Any]] | None:
        if self._parser is None and not self._whole and data.strip():
            if data.lstrip().startswith(b"{"):
                self._whole += data
                return []
            self._parser = SseParser()
        if self._whole:
            return self._collect(data)
        return (self._read_events(self._parser, data) if self._parser else []) if data else None

    async def _next_bytes(self) -> bytes:
        """No longer than what is left of the idle time: comments that keep the connection alive give it no new time."""
        if self._silent_since is None:
            return await self._answer.next_chunk()
        try:
            with anyio.fail_after(max(0.0, self._silent_since + self._idle - anyio.current_time())):
                return await self._answer.next_chunk()
        except TimeoutError:
            text = f"The model server sent nothing but keep-alive lines for {self._idle:g} seconds."
            raise ModelError(text, kind="timeout", retryable=True, request_id=answer_id(self._answer)) from None

    async def _last_bytes(self) -> bytes:
        """The answer is whole already: silence or a broken connection only cost us its usage."""
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            try:
                return await self._answer.next_chunk()
            except ModelError:
                pass
        return b""

    def _read_events(self, parser: SseParser, data: bytes) -> list[dict[str, Any]]:
        chunks: list[dict[str, Any]] = []
        for event in parser.feed(data):
            if event.data.strip() == b"[DONE]":
                self.done = True
                break
            try:
                chunks.append(self._read_chunk(event.data, is_error=event.event == "error"))
            except ModelError as error:  # raised next time: what came before it is part of the answer
                self._failure = error
                break
        return chunks

    def _collect(self, data: bytes) -> list[dict[str, Any]]:
        """The answer comes as JSON, not as a stream: its one choice is a chunk that holds everything."""
        if data:
            self._whole += data
            return []
        chunk = self._read_chunk(bytes(self._whole), is_error=False)
        if not chunk.get("choices"):
            text = "The model server answered with JSON that holds no choices."
            raise ModelError(text, kind="server_error", retryable=True, request_id=answer_id(self._answer))
        self.done = True
        return [chunk]

    def _read_chunk(self, data: bytes, *, is_error: bool) -> dict[str, Any]:
        try:
            chunk = _decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            if is_error:
                raise self._error(data) from error
            text = f"The model server sent something that is not JSON ({error}): {data[:200].decode('utf-8', 'replace')}"
            raise ModelError(text, kind="server_error", retryable=True, request_id=answer_id(self._answer)) from error
        if is_error or not isinstance(chunk, dict) or chunk.get("error") or chunk.get("object") == "error":
            raise self._error(data)
        return chunk

    def _error(self, data: bytes) -> ModelError:
        """An error object inside an answer that began well. Its code is often the status it would have had."""
        status = _status_of(data)
        error = error_event(data, answer_id(self._answer)) if status is None else refusal(status, self._answer.headers, data)
        if _is_about_context(str(error)):
            error.kind = "prompt_too_long"
        error.retryable = error.kind in RETRYABLE_KINDS
        return error


def answer_id(answer: HttpResponse) -> str | None:
    return answer.headers.get("x-request-id")


def _status_of(data: bytes) -> int | None:
    try:
        found = _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    error = found.get("error", found) if isinstance(found, dict) else {}
    code = error.get("code") if isinstance(error, dict) else None
    number = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else 0
    return number if 400 <= number < 600 else None


def _is_about_context(text: str) -> bool:
    lowered = text.lower()
    return any(words in lowered for words in CONTEXT_WORDS)
