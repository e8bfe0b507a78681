"""One watch: which changes a client sees, from where, and as what.

An object that begins to match the selectors comes as ADDED, one that no longer does as DELETED. Pure: lines are taken from it,
and it says when there may be some.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import orjson

from apis.meta import Manifest
from manager.embedded.presenting import Presenter
from manager.embedded.selectors import FieldTerm, Test, everything, matches
from manager.embedded.status import StatusError
from manager.embedded.store import Change, Kind, Store, Stored

BEHIND = 20_000
"""Changes that may wait for a client before its watch is ended: it reads too slowly."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource a request means."""

    resource: str
    namespace: str = ""
    labels: Test = everything
    fields: tuple[FieldTerm, ...] = ()

    def holds(self, stored: Stored, decode: Callable[[Stored], Manifest]) -> bool:
        """Is this object meant?"""
        if self.namespace and stored.key.namespace != self.namespace:
            return False
        if self.labels is not everything and not self.labels(stored.labels):
            return False
        return not self.fields or self._fields_hold(stored, decode)

    def _fields_hold(self, stored: Stored, decode: Callable[[Stored], Manifest]) -> bool:
        # The common ones need no decoding.
        for term in self.fields:
            if term.path == "metadata.name" and (stored.key.name == term.value) != term.equal:
                return False
            if term.path == "metadata.namespace" and (stored.key.namespace == term.value) != term.equal:
                return False
        rest = [term for term in self.fields if term.path not in ("metadata.name", "metadata.namespace")]
        return not rest or matches(decode(stored), rest)


@dataclass(eq=False, slots=True)
class Watch:
    """A running watch. `seconds` is how long the client wants it (0: the server decides); `wake` is called when lines wait."""

    store: Store
    selection: Selection
    presenter: Presenter
    seconds: float = 0.0
    bookmarks: bool = False
    wake: Callable[[], None] = lambda: None
    ended: bool = False
    _initial: deque[bytes] = field(default_factory=deque)
    _changes: deque[Change] = field(default_factory=deque)
    _since: int = 0
    _first: bool = True
    _stop: Callable[[], None] = lambda: None

    def start(self, since: int | None, *, initial_bookmark: bool = False) -> None:
        """Begin after a revision, or with all that is there (None). An expired revision ends the stream with an ERROR."""
        try:
            if since is None:
                self._begin(initial_bookmark)
            else:
                self._since = since
                self._changes.extend(self.store.since(since))
        except StatusError as error:
            self._initial.append(error_line(error))
            self.ended = True
            return
        self._stop = self.store.listen(self._hear, self.selection.resource)

    def _begin(self, initial_bookmark: bool) -> None:
        self._since = self.store.revision
        for stored in self.store.members(self.selection.resource, self.selection.namespace):
            if self.selection.holds(stored, self.store.decode):
                self._initial.append(self._line(Kind.ADDED, stored))
        if initial_bookmark:
            self._initial.append(self.presenter.bookmark(self._since, initial=True))

    def _hear(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > BEHIND:
            self.ended = True
        self.wake()

    def take(self, revision: int) -> Iterator[bytes]:
        """The lines that wait, up to a revision (the newest one that is on disk)."""
        while self._initial:
            yield self._initial.popleft()
        while self._changes and self._changes[0].revision <= revision:
            change = self._changes.popleft()
            if change.revision > self._since:
                self._since = change.revision
                line = self._seen(change)
                if line is not None:
                    yield line

    def bookmark(self, revision: int) -> bytes:
        """A line that says how far this watch is, when what `take` gave for the same revision has been sent."""
        self._since = max(self._since, revision)
        return self.presenter.bookmark(self._since, initial=False)

    def end(self) -> None:
        """Hear of no more changes."""
        self.ended = True
        self._stop()
        self._stop = lambda: None

    def _seen(self, change: Change) -> bytes | None:
        if change.stored.key.resource != self.selection.resource:
            return None
        decode = self.store.decode
        before = change.previous is not None and self.selection.holds(change.previous, decode)
        if change.kind is Kind.DELETED:
            return self._line(Kind.DELETED, change.stored) if before else None
        after = self.selection.holds(change.stored, decode)
        if after:
            return self._line(Kind.MODIFIED if before else Kind.ADDED, change.stored)
        if before and change.previous is not None:
            # The last state that matched, at the revision at which that ended.
            return self._line(Kind.DELETED, at_revision(change.previous, change.revision, decode))
        return None

    def _line(self, kind: Kind, stored: Stored) -> bytes:
        line = self.presenter.event(kind, stored, first=self._first)
        self._first = False
        return line


def at_revision(stored: Stored, revision: int, decode: Callable[[Stored], Manifest]) -> Stored:
    """The same state under another resourceVersion."""
    manifest = decode(stored)
    manifest = manifest | {"metadata": manifest["metadata"] | {"resourceVersion": str(revision)}}
    return Stored(stored.key, revision, orjson.dumps(manifest), stored.labels)


def error_line(error: StatusError) -> bytes:
    """How a watch says that it failed."""
    return orjson.dumps({"type": "ERROR", "object": error.manifest()}) + b"\n"
