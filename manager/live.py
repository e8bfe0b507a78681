"""What runs on the cluster of `copyhold up`: our kinds and policies, the manager, the folders that are loaded, and the view."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.live import Live

from apis.kind import Parent
from apis.meta import Manifest
from apis.reasons import Reason
from manager.cluster import ApiCluster
from manager.controller import Options, Told
from manager.editor import Editor, persistently
from manager.endpoint import Endpoint
from manager.events import Notice, Recorder, Type
from manager.examples.example import Setup
from manager.http import Client
from manager.inprocess import InProcess, Wiring, in_process
from manager.install import install
from manager.metrics import Metrics
from manager.office import Office
from manager.permits import tellings
from manager.permits.desk import Ears
from manager.view import Line, Watcher, board, rows
from policy.account import Accounts

MANAGER = "copyhold-up"
"""The field manager of what is loaded."""

REFRESH = 1.0
"""Seconds between two drawings when nothing happens: ages grow."""

BURST = 0.1
"""Seconds that are waited for more to happen before the board is drawn."""


async def live(head: str, endpoint: Endpoint, accounts: Accounts, setups: Sequence[Setup]) -> None:
    """Work until it is cancelled. `head` is the first line of the view. Raises the problems that keep it from going on."""
    client = Client(endpoint)
    try:
        cluster = ApiCluster(client)
        await install(cluster, namespace=accounts.manager_namespace, update=True)
        view = _View(head)
        recorder = Recorder(cluster, Metrics(), instance=socket.gethostname())
        office = Office(accounts.manager_namespace, ears=Ears(_heard(view.watcher, recorder)))
        for manifest in office.home:
            await Editor(cluster).apply(manifest, manager=MANAGER, force=True)
        told = Told(event=_both(view.watcher, recorder), dropped=view.watcher.dropped)
        wiring = Wiring(endpoint, Options(accounts), told=told, settled=view.watcher.settled, office=office)
        async with in_process(wiring) as controller:
            await _together(recorder.run(), view.show(controller), _load(Editor(cluster), setups))
    finally:
        await client.close(1.0)


async def _together(*works: Coroutine[Any, Any, None]) -> None:
    """Side by side; the first problem ends all of them. Not a TaskGroup, which would wrap the problem."""
    tasks = [asyncio.create_task(work) for work in works]
    left = set(tasks)
    try:
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _both(watcher: Watcher, recorder: Recorder) -> Callable[[Parent, str, Reason, str], None]:
    def event(parent: Parent, type_: str, reason: Reason, note: str) -> None:
        watcher.told(parent, type_, reason, note)
        recorder.record(Notice(parent.ref, parent.uid, Type(type_), reason, "Reconcile", note))

    return event


def _heard(watcher: Watcher, recorder: Recorder) -> Callable[[Manifest, Manifest], None]:
    def transition(permit: Manifest, made: Manifest) -> None:
        watcher.stepped(permit, made)
        recorder.record(tellings.notice(permit, made))

    return transition


async def _load(editor: Editor, setups: Iterable[Setup]) -> None:
    """Apply the folders in order; what is there already becomes what they say."""
    for manifest in (manifest for one in setups for manifest in one.objects):
        await persistently(lambda manifest=manifest: editor.apply(manifest, manager=MANAGER, force=True))  # type: ignore[misc]


class _View:
    """The board on a terminal; elsewhere a line for each thing that happens."""

    def __init__(self, head: str) -> None:
        self._head = head
        self._console = Console(highlight=False)
        self._news = asyncio.Event()
        self._lines: list[Line] = []
        # Printed later: a pipe that nobody reads any more must not break the manager's pass.
        self.watcher = Watcher(self._lines.append, self._news.set)

    async def show(self, controller: InProcess) -> None:
        """Until it is cancelled."""
        if not self._console.is_terminal:
            while True:
                self._news.clear()
                for line in self._taken():
                    click.echo(str(line))
                await self._news.wait()
        with Live(console=self._console, auto_refresh=False, transient=False, vertical_overflow="crop") as live:
            while True:
                self._news.clear()
                self._taken()
                live.update(self._board(controller), refresh=True)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), REFRESH)
                await asyncio.sleep(BURST)

    def _taken(self) -> list[Line]:
        lines = self._lines[:]
        self._lines.clear()
        return lines

    def _board(self, controller: InProcess) -> RenderableType:
        parents = rows(controller.state.parents.values(), controller.tenures, self.watcher.news)
        return board(self._head, parents, self.watcher.last, datetime.now(UTC), self._console.height)
