"""Clusters that something happens to on the way: a process that dies at a chosen write, somebody who is quicker than a delete."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from manager.cluster import ApiCluster

WRITES = frozenset({"apply", "json_patch", "merge_patch", "create", "replace", "delete"})
REQUESTS = WRITES | {"get", "list", "get_raw"}


class Mortal:
    """A cluster whose manager dies at its `last` write: before it is sent, or after it was carried out and before the answer.

    From then on nothing is sent and nothing is answered, as with a process that was killed.
    """

    def __init__(self, cluster: ApiCluster, last: int, *, carried_out: bool) -> None:
        self._cluster = cluster
        self._last = last
        self._carried_out = carried_out
        self._writes = 0
        self.dead = threading.Event()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cluster, name)
        return self._guarded(name, method) if name in REQUESTS else method

    def _guarded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **keywords: Any) -> Any:
            if self.dead.is_set():
                await asyncio.Future()
            self._writes += name in WRITES
            if name not in WRITES or self._writes < self._last:
                return await method(*args, **keywords)
            self.dead.set()
            if self._carried_out:
                await method(*args, **keywords)
            return await asyncio.Future()

        return call


class Overtaken:
    """A cluster in which `first` happens right before each delete of a target is sent."""

    def __init__(self, cluster: ApiCluster, first: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._first = first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def delete(self, resource: Any, namespace: str, name: str, **keywords: Any) -> bool:
        """The delete, overtaken."""
        self._first(name)
        return await self._cluster.delete(resource, namespace, name, **keywords)
