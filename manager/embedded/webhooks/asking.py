"""Asks webhooks over HTTPS, and handles a request anew until nothing is left to be asked."""

import asyncio
import ssl
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import urlsplit

from apis.problems import Problem
from manager.embedded.causes import quote
from manager.embedded.rounds import NAMES
from manager.embedded.status import StatusError
from manager.embedded.webhooks.hook import Hook
from manager.embedded.webhooks.review import Call, Outcome, read
from manager.embedded.webhooks.webhooks import OUTCOMES, Unanswered
from manager.endpoint import Endpoint
from manager.http import Client

ROUNDS = 20
"""How often a request is handled anew: once for the webhooks of each object that it touches, in practice."""

HEADERS = "Content-Type: application/json\r\nAccept: application/json\r\n"
OK = 200
T = TypeVar("T")
Ask = Callable[[Call], Awaitable[Outcome]]


async def answered(handle: Callable[[], T], ask: Ask) -> T:
    """Call `handle` until it needs no further answer of a webhook. Raises what it raises, and 504 after too many rounds."""
    outcomes: dict[str, Outcome] = {}
    names: dict[str, str] = {}
    for _ in range(ROUNDS):
        mark, other = OUTCOMES.set(outcomes), NAMES.set(names)
        try:
            return handle()
        except Unanswered as error:
            calls = error.calls
        finally:
            OUTCOMES.reset(mark)
            NAMES.reset(other)
        found = await asyncio.gather(*map(ask, calls))
        outcomes |= {call.digest: outcome for call, outcome in zip(calls, found, strict=True)}
    raise StatusError(504, "Timeout", "Timeout: request did not complete within requested timeout - context deadline exceeded")


async def ask(call: Call) -> Outcome:
    """Ask one webhook. A webhook that cannot be reached, or says nonsense, is an outcome too."""
    hook = call.hook
    if not hook.url:
        return Outcome({}, "failed to call webhook: Services have no endpoints in this cluster; use clientConfig.url")
    if "v1" not in hook.versions:
        return Outcome({}, "could not create admission objects: webhook does not accept known AdmissionReview versions (v1)")
    uid = str(uuid.uuid4())
    where = f"Post {quote(f'{hook.url}?timeout={hook.timeout}s')}"
    try:
        client = Client(_endpoint(hook), connections=1)
    except (ValueError, ssl.SSLError) as error:
        return Outcome({}, f"could not get REST client: {error}")
    try:
        status, _, body = await client.request(
            "POST",
            urlsplit(hook.url).path or "/",
            query=f"timeout={hook.timeout}s",
            headers=HEADERS,
            body=call.body(uid),
            timeout=float(hook.timeout),
        )
    except Problem as problem:
        return Outcome({}, f"failed to call webhook: {where}: {problem.message}")
    finally:
        await client.close(grace=0)
    if status != OK:
        return Outcome({}, f"failed to call webhook: the server answered {status}")
    return read(body, uid, mutating=hook.mutating)


def _endpoint(hook: Hook) -> Endpoint:
    parts = urlsplit(hook.url)
    if parts.scheme != "https" or not parts.hostname:
        raise ValueError(f"{quote(hook.url)} is no URL of HTTPS")
    context = ssl.create_default_context(cadata=hook.ca or None)
    return Endpoint(parts.hostname, parts.port or 443, context)
