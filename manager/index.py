"""What the metadata watches have shown of the targets: who holds what, in about a hundred bytes an object.

One line of text per object: "<uid> <resourceVersion> <t or -> <manager number><c or a><digest> ...". A number stands for a field
manager, because every target of a parent names the same one.
"""

from collections.abc import Iterable, Iterator

from apis.meta import Key, Manifest, older
from policy.ownership import Holding, Live, observe

_MARKS = {"created": "c", "adopted": "a"}
_WORDS = {short: word for word, short in _MARKS.items()}


class Index:
    """Live metadata of managed objects by kind, namespace and name. Not synced means: nothing is known about the kind."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
        self._synced: set[tuple[str, str]] = set()
        self._managers: list[str] = []
        self._numbers: dict[str, int] = {}

    def synced(self, group: str, kind: str) -> bool:
        """True once a complete list of the kind has been seen, and for as long as its watch runs."""
        return (group, kind) in self._synced

    def live(self, key: Key) -> Live | None:
        """What is known of one object; None when it is not there or not managed."""
        line = self._line(key)
        return None if line is None else self._unpack(line)

    def _line(self, key: Key) -> str | None:
        return self._objects.get((key.group, key.kind), {}).get(key.namespace, {}).get(key.name)

    def keys(self, group: str, kind: str) -> Iterator[Key]:
        """Every managed object of a kind."""
        for namespace, names in self._objects.get((group, kind), {}).items():
            for name in names:
                yield Key(group, kind, namespace, name)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """The kinds that have been seen."""
        return self._objects.keys()

    def put(self, group: str, kind: str, manifest: Manifest) -> tuple[Live | None, Live]:
        """Take in a newer state of an object; an older one changes nothing. Answers what was known before, and what is now."""
        metadata = manifest["metadata"]
        key = Key(group, kind, metadata.get("namespace", ""), metadata["name"])
        line = self._line(key)
        if line is not None and line.startswith(f"{metadata['uid']} {metadata['resourceVersion']} "):
            known = self._unpack(line)  # the echo of our own write
            return known, known
        return self.note(key, observe(manifest))

    def note(self, key: Key, live: Live) -> tuple[Live | None, Live]:
        """The same for what was observed already, as in the answer to a write."""
        before = self.live(key)
        if before is not None and older(live.version, before.version):
            return before, before
        space = self._objects.setdefault((key.group, key.kind), {}).setdefault(key.namespace, {})
        space[key.name] = self._pack(live)
        return before, live

    def remove(self, key: Key, uid: str = "") -> Live | None:
        """The object is gone or not managed any more. With `uid`, only if it is that very object."""
        space = self._objects.get((key.group, key.kind), {}).get(key.namespace)
        before = self.live(key)
        if space is None or before is None or (uid and before.uid != uid):
            return None
        del space[key.name]
        if not space:
            del self._objects[key.group, key.kind][key.namespace]
        return before

    def mark_synced(self, group: str, kind: str, *, synced: bool = True) -> None:
        """A complete list was taken in; or the watch was lost, and nothing may be concluded from absence."""
        if synced:
            self._synced.add((group, kind))
            self._objects.setdefault((group, kind), {})
        else:
            self._synced.discard((group, kind))

    def _pack(self, live: Live) -> str:
        holds = (f"{self._number(hold.manager)}{_MARKS.get(hold.mark, 'a')}{hold.fields}" for hold in live.holdings)
        return " ".join((live.uid, live.version, "t" if live.terminating else "-", *holds))

    def _unpack(self, line: str) -> Live:
        uid, version, terminating, *holds = line.split(" ")
        return Live(uid, version, terminating == "t", tuple(map(self._holding, holds)))

    def _holding(self, text: str) -> Holding:
        at = next(place for place, letter in enumerate(text) if not letter.isdigit())
        return Holding(self._managers[int(text[:at])], _WORDS[text[at]], text[at + 1 :])

    def _number(self, manager: str) -> int:
        number = self._numbers.get(manager)
        if number is None:
            number = self._numbers[manager] = len(self._managers)
            self._managers.append(manager)
        return number
