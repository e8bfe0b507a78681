"""Reads the requests of HTTP/1.1 from what a connection receives: what our servers have in common."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httptools

LONGEST_HEADERS = 1 << 20
"""Bytes of the first line and the headers together."""

PROCEED = b"HTTP/1.1 100 Continue\r\n\r\n"
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Received(NamedTuple):
    """One request as it came. `target` is what the first line names, `keep` whether the client goes on afterwards."""

    method: str
    target: bytes
    headers: tuple[tuple[str, str], ...]
    body: bytes
    keep: bool


class Receiver:
    """Takes bytes, and hands over each request that is whole, in the step in which its last byte comes.

    A body longer than `longest` bytes is cut off one byte behind that, which is enough to know that it is too long. `proceed` is
    called when a client waits for the word to send its body.
    """

    def __init__(self, whole: Callable[[Received], None], proceed: Callable[[], None], *, longest: int) -> None:
        self._parser: Any = httptools.HttpRequestParser(self)
        self._whole = whole
        self._proceed = proceed
        self._longest = longest
        self._begin()

    def feed(self, data: bytes) -> bool:
        """Read on. False when that is no request of HTTP/1.1, or one for another protocol: answer REFUSAL, and close."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserUpgrade, httptools.HttpParserError):
            return False
        return True

    # The parser's callbacks.

    def on_message_begin(self) -> None:
        """Start anew."""
        self._begin()

    def on_url(self, url: bytes) -> None:
        """A piece of the first line."""
        self._target += url
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._headers.append((name.decode("latin-1"), value.decode("latin-1")))
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """The body follows."""
        if any(name.lower() == "expect" and value.lower() == "100-continue" for name, value in self._headers):
            self._proceed()

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        if len(self._body) <= self._longest:
            self._body += piece[: self._longest + 1 - len(self._body)]

    def on_message_complete(self) -> None:
        """A request is whole."""
        method, keep = self._parser.get_method().decode("latin-1"), self._parser.should_keep_alive()
        self._whole(Received(method, self._target, tuple(self._headers), bytes(self._body), keep))

    # Parts.

    def _begin(self) -> None:
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()
        self._size = 0

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST_HEADERS:
            raise httptools.HttpParserError("headers too long")
