"""What can go wrong between a client and this server, on purpose: for tests of whoever has to live with it.

    cluster.intercept = faults = Faults()
    faults.at(3, Drop, Match(verb="patch", resource="configmaps"))      # the third such request from now on
    faults.always(lambda: Fail(429, retry_after=1), Match(sender=token))

| Fault | What the client sees | Was it done? |
| --- | --- | --- |
| `Drop` | the connection closes | no |
| `Delay` | the answer, later | yes, after the delay |
| `Fail` | a Status: 429 (with Retry-After), 500, 503, 410 ... | no |
| `CutAnswer`, `FailAnswer` | the connection closes, or a Status | yes |
| `CutStream` | a watch that breaks off after some lines | |
| `Gap` | a watch that leaves out events, and ends a while later | |
| `ExpireWatch` | a watch whose only event is the error 410 | |
| `Strike` | the connection closes, after something of the test's own was done | before: no, after: yes |

`Reborn` is a server that is stopped and started again with the same data.
"""

# ruff: noqa: ARG002 - the methods of Fault take what any of them may need

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from manager.embedded.cluster import Embedded
from manager.embedded.http import Cut, Fault, Intercept
from manager.embedded.request import Request, Response, place
from manager.embedded.server import Answer, failure
from manager.embedded.status import StatusError, expired
from manager.embedded.watching import Watch, error_line

_REASONS = {
    410: ("Expired", "The resourceVersion for the provided request is too old."),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "an error on the server has prevented the request from succeeding"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}


def status_error(code: int, retry_after: int = 0) -> StatusError:
    """What a server in trouble says. `retry_after` is in seconds, 0 for none."""
    reason, message = _REASONS.get(code, ("", f"the server answers {code}"))
    return StatusError(code, reason, message, retry_after=retry_after)


# Which requests.


@dataclass(frozen=True, slots=True)
class Match:
    """Which requests are meant; what is empty means any.

    `sender` is a bearer token, `user` the user who is impersonated. `page` means the later pages of lists.
    """

    method: str = ""
    verb: str = ""  # as RBAC has them: get, list, watch, create, update, patch, delete
    resource: str = ""  # the plural
    namespace: str = ""
    name: str = ""
    user: str = ""
    sender: str = ""
    page: bool = False

    def __call__(self, request: Request) -> bool:
        """Is this one of them?"""
        if self.sender and request.header("authorization") != f"Bearer {self.sender}":
            return False
        if self.method not in ("", request.method) or self.user not in ("", request.header("impersonate-user")):
            return False
        if self.page and not request.parameter("continue"):
            return False
        asked = (self.verb, self.resource, self.namespace, self.name)
        if not any(asked):
            return True
        where = place(request)
        found = (where.verb, where.resource, where.namespace, where.name) if where is not None else ("", "", "", "")
        return all(wanted in ("", had) for wanted, had in zip(asked, found, strict=True))


ANY = Match()

Make = Callable[[], Fault]
"""Makes a fault for one request: a class, or a function that fills in its arguments."""


@dataclass(slots=True)
class _Rule:
    match: Match
    make: Make
    number: int  # 0: every such request
    seen: int = 0


@dataclass
class Faults:
    """An `Intercept`: what happens to which request. `hits` has the requests that were struck, in order."""

    hits: list[Request] = field(default_factory=list)
    _rules: list[_Rule] = field(default_factory=list)

    def at(self, number: int, make: Make, match: Match = ANY) -> Self:
        """Strike once, at the n-th such request from now on; the first is 1."""
        self._rules.append(_Rule(match, make, number))
        return self

    def always(self, make: Make, match: Match = ANY) -> Self:
        """Strike every such request until `clear`."""
        self._rules.append(_Rule(match, make, 0))
        return self

    def clear(self) -> None:
        """Strike no more."""
        self._rules.clear()

    def __call__(self, request: Request) -> Fault | None:
        """What happens to this request; every rule counts it, and the first that is due decides."""
        due: _Rule | None = None
        for rule in self._rules:
            if rule.match(request):
                rule.seen += 1
                if due is None and rule.number in (0, rule.seen):
                    due = rule
        if due is None:
            return None
        self.hits.append(request)
        return due.make()


# What happens to them.


class Drop(Fault):
    """Nothing is done, and nothing answered."""

    async def before(self, request: Request) -> Response | None:
        """Close the connection."""
        raise Cut


class Delay(Fault):
    """It takes a while. `seconds` pass before anything is done."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def before(self, request: Request) -> Response | None:
        """Wait."""
        await asyncio.sleep(self._seconds)
        return None


class Fail(Fault):
    """Nothing is done, and the server says that it failed. `retry_after` is in seconds, 0 for none."""

    def __init__(self, code: int, *, retry_after: int = 0) -> None:
        self._error = status_error(code, retry_after)

    async def before(self, request: Request) -> Response | None:
        """Say so."""
        return failure(self._error)


class CutAnswer(Fault):
    """It is done, and the answer is lost."""

    async def after(self, request: Request, answer: Answer) -> Answer:
        """Close the connection."""
        _ended(answer)
        raise Cut


class FailAnswer(Fault):
    """It is done, and the server says that it failed."""

    def __init__(self, code: int) -> None:
        self._error = status_error(code)

    async def after(self, request: Request, answer: Answer) -> Answer:
        """Say so."""
        _ended(answer)
        return failure(self._error)


class CutStream(Fault):
    """A watch breaks off after some lines; anything else is answered as usual."""

    def __init__(self, lines: int = 0) -> None:
        self._left = lines

    def line(self, line: bytes) -> bytes | None:
        """Count, and close the connection."""
        if self._left == 0:
            raise Cut
        self._left -= 1
        return line


class Gap(Fault):
    """A watch leaves out every event after some lines, and ends in good order `seconds` after the first that is missing."""

    def __init__(self, lines: int = 0, seconds: float = 0.2) -> None:
        self._left = lines
        self._seconds = seconds
        self._watch: Watch | None = None

    async def after(self, request: Request, answer: Answer) -> Answer:
        """Remember the watch."""
        self._watch = answer if isinstance(answer, Watch) else None
        return answer

    def line(self, line: bytes) -> bytes | None:
        """Count, and leave out."""
        if self._left > 0:
            self._left -= 1
            return line
        if self._watch is not None:
            asyncio.get_running_loop().call_later(self._seconds, _end, self._watch)
            self._watch = None
        return None


class ExpireWatch(Fault):
    """A watch begins, and says that its resourceVersion is too old."""

    async def after(self, request: Request, answer: Answer) -> Answer:
        """The error as the only line."""
        if not isinstance(answer, Watch):
            return answer
        answer.end()
        return Response(200, error_line(expired("too old resource version")))


class Strike(Fault):
    """Something of the test's own happens (the client dies, the server restarts), and the connection closes."""

    def __init__(self, blow: Callable[[], object], *, late: bool = False) -> None:
        self._blow = blow
        self._late = late  # after it was done

    async def before(self, request: Request) -> Response | None:
        """Now, or later."""
        if self._late:
            return None
        self._blow()
        raise Cut

    async def after(self, request: Request, answer: Answer) -> Answer:
        """It was done: now."""
        _ended(answer)
        self._blow()
        raise Cut


def _ended(answer: Answer) -> None:
    if isinstance(answer, Watch):
        answer.end()


def _end(watch: Watch) -> None:
    watch.ended = True
    watch.wake()


# A server that comes back.


class Reborn:
    """An embedded cluster with its data in a folder, which can be started again: same objects, port, CA and tokens.

    `intercept` holds for every life and may be set at any time.
    """

    cluster: Embedded

    def __init__(
        self, data: Path, *, users: Mapping[str, Sequence[str]] | None = None, intercept: Intercept | None = None
    ) -> None:
        self._data = data
        self._users = users
        self.intercept = intercept
        self._life = 0
        self._restarting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._start(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.settled()
        await self.cluster.__aexit__(None, None, None)

    async def _start(self, port: int) -> None:
        intercept = partial(self._intercepted, self._life)
        self.cluster = Embedded(port=port, data=self._data, users=self._users, intercept=intercept)
        await self.cluster.__aenter__()

    def _intercepted(self, life: int, request: Request) -> Fault | None:
        if life != self._life:
            return Drop()  # a connection that was being made when that server ended: it has no future
        return self.intercept(request) if self.intercept is not None else None

    async def _again(self, pause: float) -> None:
        port = int(self.cluster.url.rpartition(":")[2])
        self._life += 1
        await self.cluster.__aexit__(None, None, None)
        await asyncio.sleep(pause)
        await self._start(port)

    def restart(self, pause: float = 0.0) -> None:
        """Stop and start again, `pause` seconds later, in a task of its own: for `Strike`. Not while it is restarting."""
        if self._restarting is None or self._restarting.done():
            self._restarting = asyncio.get_running_loop().create_task(self._again(pause))

    async def settled(self) -> None:
        """Wait until a restart is over."""
        if self._restarting is not None:
            await self._restarting
