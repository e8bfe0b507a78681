"""Waiting for what becomes of a permit: a live view on a terminal, elsewhere a line for each thing that happens."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from apis.problems import Gone, Problem
from apis.reasons import Reason
from manager.cluster import ApiCluster
from manager.console import plain, say
from manager.permits import client
from manager.permits.glance import approved, phase_of, place_of, status_of
from manager.permits.options import DONE, FAILED, OVER, Connection
from manager.permits.trailview import told
from manager.permits.view import Line, approvers, facts
from manager.watch import Replace, State, follow
from manager.world import Event, Resource
from policy.permits.ready import ready_of

ENDS: Mapping[str, int] = {Phase.ACTIVE: DONE, Phase.FAILED: FAILED, Phase.DENIED: OVER, Phase.EXPIRED: OVER}
"""The phases in which the wait is over, and the exit code of each."""

REFRESH = 2.0
"""Drawings in a second: the time that is left goes on."""


async def waited(connection: Connection, permit: Manifest) -> int:
    """Show what happens until it is decided; answers the exit code. Raises Gone, Forbidden."""
    resource = await client.resource(connection)
    console = Console(highlight=False)
    if not console.is_terminal:
        return await _until_over(connection.cluster, resource, _Wait(permit, _Teller()))
    wait = _Wait(permit, lambda _: None)
    with Live(get_renderable=lambda: board(wait.permit, connection.now()), console=console, refresh_per_second=REFRESH):
        return await _until_over(connection.cluster, resource, wait)


async def _until_over(cluster: ApiCluster, resource: Resource, wait: "_Wait") -> int:
    metadata = wait.permit["metadata"]
    name = f"metadata.name={metadata['name']}"
    following = asyncio.create_task(
        follow(cluster, resource, wait.change, wait.state, namespace=metadata["namespace"], fields=name)
    )
    try:
        await asyncio.wait((wait.over, following), return_when=asyncio.FIRST_COMPLETED)
        return wait.over.result() if wait.over.done() else following.result()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


class _Wait:
    """The permit as it was last seen, and what the wait came to: an exit code or a problem."""

    def __init__(self, permit: Manifest, seen: Callable[[Manifest], None]) -> None:
        self.permit = permit
        self.over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._seen = seen

    def change(self, change: Replace | Event) -> None:
        """The permit as the server has it now."""
        items = change.listing.items if isinstance(change, Replace) else [change.object]
        ours = [item for item in items if item["metadata"].get("uid") == self.permit["metadata"]["uid"]]
        for item in ours:
            self._look(item)
        if (isinstance(change, Replace) and not ours) or (isinstance(change, Event) and change.type == "DELETED" and ours):
            self._end(
                Gone(f"ResourcePermit {place_of(self.permit)} is not there any more: somebody deleted it; ask for it again")
            )

    def state(self, state: State, problem: Problem | None) -> None:
        """How the watch stands: who may not watch need not wait."""
        if problem is not None and state == State.UNAVAILABLE:
            say(f"copyhold: {problem}: trying again")
        elif problem is not None:
            self._end(problem)

    def _look(self, permit: Manifest) -> None:
        if phase_of(permit):  # what is left of a permit that vanished during a gap has no status
            self.permit = permit
            self._seen(permit)
        if phase_of(permit) in ENDS:
            self._end(ENDS[phase_of(permit)])

    def _end(self, how: int | Problem) -> None:
        if self.over.done():
            return
        if isinstance(how, Problem):
            self.over.set_exception(how)
        else:
            self.over.set_result(how)


# What is shown.


class _Teller:
    """Prints what was not said yet."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, permit: Manifest) -> None:
        for line in story(permit):
            if line.text not in self._said:
                self._said.add(line.text)
                click.echo(plain(line.text))


def story(permit: Manifest) -> Iterator[Line]:
    """What happened to a permit, a line for each transition; and what it waits for."""
    for one in status_of(permit).get("transitions") or ():
        yield Line(told(one), "bold red" if one.get("type") == Phase.FAILED else "")
    waits = waiting_for(permit)
    if waits:
        yield Line(waits, "yellow")


def waiting_for(permit: Manifest) -> str:
    """What must happen next, where somebody can do something about it; empty otherwise."""
    status = status_of(permit)
    request = status.get("request") or {}
    match phase_of(permit):
        case Phase.REQUESTED | Phase.PENDING:
            return f"waiting for reviewers: {approved(permit)} approvals, by {approvers(request.get('approvals') or {})}"
        case Phase.APPROVED if request.get("startTime"):
            return f"waiting for the start at {request['startTime']}"
        case Phase.CREATED:
            ready = ready_of(status)
            stuck = ready.get("reason") != Reason.PROGRESSING and ready.get("message")
            return f"not ready: {ready.get('reason', '')}: {ready['message']}" if stuck else ""
        case _:
            return ""


def board(permit: Manifest, now: datetime) -> RenderableType:
    """The live view: how the permit stands, and what happened to it."""
    lines = [Line(f"ResourcePermit {place_of(permit)}", "bold"), *facts(permit, now), *story(permit)]
    return Group(*(Text(plain(line.text), style=line.style) for line in lines))
