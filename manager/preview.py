"""What applying or letting go of one target would change, by field paths; nothing here writes.

With a server, a dry run says it: the server merges, defaults and judges as it would, in the name of the parent's account. From
files alone, `merged` does what server-side apply does as far as managedFields tell: a list is merged by the keys that somebody's
entry names and replaced otherwise, and a field that only we owned and no longer apply goes. Defaults are not known offline.

| | changes | marks | taken | falls | problem |
| --- | --- | --- | --- | --- | --- |
| Create | | | | | why the server would refuse it |
| Adopt, Apply | fields with another value | ours would change | held by others: a Conflict, or what `force` takes | | as above |
| Release | | | | fields that only we own | |

Values of Secrets are never in a Change, nor are those of a parent that reads Secrets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from apis.intent import Identity
from apis.meta import Manifest
from apis.problems import Conflict, Gone, Problem
from manager.files import Folder
from manager.sight import resource_of
from manager.world import Actor, Cluster
from policy.decide import Decision, Owner, Verb, to_apply
from policy.ownership import entry_of, paths
from policy.target import SERVER_SET, is_mark

APPLIES = frozenset({Verb.CREATE, Verb.ADOPT, Verb.APPLY})


@dataclass(frozen=True, slots=True)
class Change:
    """One field that would have another value. None means that it is (or would be) absent, or that its value is withheld."""

    path: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What carrying out one decision would change. `taken` maps a field path to the manager that holds it."""

    changes: tuple[Change, ...] = ()
    marks: bool = False
    taken: Mapping[str, str] = field(default_factory=dict)
    falls: tuple[str, ...] = ()
    problem: Problem | None = None

    def without_values(self) -> "Preview":
        """The same with paths only."""
        return replace(self, changes=tuple(Change(change.path) for change in self.changes))


class Previewer(Protocol):
    """Looks at one decision of one owner."""

    async def __call__(self, decision: Decision, owner: Owner) -> Preview:
        """What carrying it out would change. Problems of the server are in the answer."""
        ...


# With a server.


class DryRun:
    """Asks a server, as the parent's account."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def __call__(self, decision: Decision, owner: Owner) -> Preview:
        """One dry run, and one read where something is there."""
        try:
            if decision.verb in APPLIES:
                return await self._apply(decision, owner)
            if decision.verb == Verb.RELEASE and decision.item.record is not None:
                key, resource = decision.key, resource_of(decision.item.record)
                live = await self._cluster.get(resource, key.namespace, key.name, metadata=True)
                return Preview() if live is None else Preview(falls=falling(live, owner.manager))
        except Problem as problem:
            return Preview(problem=problem)
        return Preview()

    async def _apply(self, decision: Decision, owner: Owner) -> Preview:
        desired = decision.item.desired
        assert desired is not None  # noqa: S101 - the table applies only what is desired
        namespace, _, name = owner.account.partition("/")
        actor = Actor(Identity(namespace, name), owner.parent)
        resource, key, live = resource_of(desired), decision.key, decision.item.live
        before = await self._cluster.get(resource, key.namespace, key.name, actor=actor) if live is not None else None
        body = to_apply(decision, owner, pinned=False)
        try:
            applied = await self._cluster.apply(
                resource,
                key.namespace,
                key.name,
                orjson.dumps(body),
                manager=owner.manager,
                force=desired.policy.force,
                actor=actor,
                dry_run=True,
                metadata=False,
            )
        except Conflict as problem:
            return Preview(taken=problem.fields)
        except Gone as problem:
            if problem.what == "object":
                raise
            return Preview()  # its namespace or kind will be made first: by this plan, or by the files
        if before is None:
            return Preview()
        taken = held_by_others(body, before, owner.manager) if desired.policy.force else {}
        return _compared(before, applied.object, taken)


# From files.


class OnPaper:
    """Works it out from the objects of files."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def __call__(self, decision: Decision, owner: Owner) -> Preview:
        """Pure: the files do not change."""
        desired, record, key = decision.item.desired, decision.item.record, decision.key
        source = desired or record
        live = None if source is None else self._folder.find(resource_of(source), key.namespace, key.name)
        if live is None:
            return Preview()
        if decision.verb == Verb.RELEASE:
            return Preview(falls=falling(live, owner.manager))
        if decision.verb not in APPLIES or desired is None:
            return Preview()
        body = to_apply(decision, owner, pinned=False)
        taken = held_by_others(body, live, owner.manager)
        if taken and not desired.policy.force:
            return Preview(taken=taken)
        return _compared(live, merged(live, body, owner.manager), taken)


# Comparing two states of an object.


def _compared(before: Manifest, after: Manifest, taken: Mapping[str, str]) -> Preview:
    found = tuple(changes(_content(before), _content(after)))
    return Preview(found, marks=_marks(before) != _marks(after), taken=taken)


def _content(manifest: Manifest) -> Manifest:
    """Without what the server keeps and without our marks."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in SERVER_SET}
    for place in ("labels", "annotations"):
        if place in metadata:
            metadata[place] = {key: value for key, value in (metadata[place] or {}).items() if not is_mark(key)}
            if not metadata[place]:
                del metadata[place]
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}


def _marks(manifest: Manifest) -> dict[str, str]:
    metadata = manifest["metadata"]
    both = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return {key: value for key, value in both.items() if is_mark(key)}


def changes(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """The leaves that differ, as `.spec.hard.pods`, `.metadata.labels[app/name]`, `.spec.containers[name=web].image`."""
    if before == after:
        return
    if (before is None and isinstance(after, dict) and after) or (after is None and isinstance(before, dict) and before):
        before, after = before or {}, after or {}
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from changes(before.get(key), after.get(key), f"{path}{_step(key)}")
    elif isinstance(before, list) and isinstance(after, list):
        old, new = _numbered(before, after)
        for key in [*old, *(key for key in new if key not in old)]:
            yield from changes(old.get(key), new.get(key), f"{path}[{key}]")
    else:
        yield Change(path, before, after)


def _step(key: str) -> str:
    return f"[{key}]" if "." in key or "/" in key else f".{key}"


def _numbered(before: list[Any], after: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The items of two lists by name where all have one of their own, and by position otherwise."""
    both = [
        {f"name={item['name']}": item for item in items if isinstance(item, dict) and "name" in item} for items in (before, after)
    ]
    if all(len(named) == len(items) for named, items in zip(both, (before, after), strict=True)):
        return both[0], both[1]
    old, new = ({str(position): item for position, item in enumerate(items)} for items in (before, after))
    return old, new


# What managedFields say.

_IDENTITY = frozenset({"f:name", "f:namespace", "f:uid"})


def _entries(live: Manifest) -> Iterator[tuple[str, Manifest]]:
    for entry in live["metadata"].get("managedFields") or ():
        if not entry.get("subresource"):
            yield entry.get("manager", ""), entry.get("fieldsV1") or {}


def _others(live: Manifest, manager: str) -> Manifest:
    """What all other managers own, as one field set."""
    owned: Manifest = {}
    for name, fields in _entries(live):
        if name != manager:
            owned = _union(owned, fields)
    return owned


def _union(first: Manifest, second: Manifest) -> Manifest:
    return {key: _union(first.get(key, {}), second.get(key, {})) for key in first.keys() | second.keys()}


def falling(live: Manifest, manager: str) -> tuple[str, ...]:
    """The fields that fall to their defaults, or go, when this manager gives its fields back. Marks are not told."""
    mine = entry_of(live, manager) or {}
    others = set(paths(_others(live, manager)))
    return tuple(sorted(path for path in paths(mine) if path not in others and not _is_mark_path(path)))


def _is_mark_path(path: str) -> bool:
    for place in (".metadata.labels.", ".metadata.annotations."):
        if path.startswith(place):
            return is_mark(path.removeprefix(place))
    return False


def held_by_others(body: Manifest, live: Manifest, manager: str) -> dict[str, str]:
    """The fields of a payload that others hold with another value: server-side apply's conflicts, path -> manager."""
    found: dict[str, str] = {}
    for name, fields in _entries(live):
        if name == manager:
            continue
        for path in _clashes(body, live, fields, ""):
            found[path] = f"{found[path]}, {name}" if path in found else name
    return found


def _clashes(wanted: Any, live: Any, fields: Manifest, path: str) -> Iterator[str]:
    inner = {key: nested for key, nested in fields.items() if key != "."}
    if not inner:
        if "." not in fields and not same(wanted, live):
            yield path
        return
    for key, nested in inner.items():
        if key in _IDENTITY and path == ".metadata":
            continue
        mine, theirs = _part(wanted, key), _part(live, key)
        if mine is not None and theirs is not None:
            yield from _clashes(mine, theirs, nested, f"{path}{_field(key)}")


def _field(key: str) -> str:
    return _step(key[2:]) if key.startswith("f:") else f"[{key[2:]}]"


def _part(value: Any, key: str) -> Any:
    """The part of a value that one key of a field set names; None when it is not there."""
    if key.startswith("f:"):
        return value.get(key[2:]) if isinstance(value, dict) else None
    return next((item for item in value if _is(item, key)), None) if isinstance(value, list) else None


def _is(item: Any, key: str) -> bool:
    wanted = orjson.loads(key[2:])
    if key.startswith("k:"):
        return isinstance(item, dict) and all(item.get(name) == part for name, part in wanted.items())
    return bool(item == wanted)


# Server-side apply on paper.


def merged(live: Manifest, body: Manifest, manager: str) -> Manifest:
    """The object after this manager applied this payload, as far as managedFields tell."""
    mine, others = entry_of(live, manager) or {}, _others(live, manager)
    kept = _without(live, mine, body, others)
    result: Manifest = _merge(kept, {**body, "apiVersion": live["apiVersion"]}, _union(mine, others) or None)
    return result


def _merge(live: Any, wanted: Any, owned: Manifest | None) -> Any:
    """`owned` is what anybody owns here: None when nobody does, empty when it is owned as one piece."""
    if same(wanted, live):
        return live
    if isinstance(live, dict) and isinstance(wanted, dict):
        if owned == {} and live:
            return wanted
        fields = owned or {}
        both = {key: _merge(live[key], value, fields.get(f"f:{key}")) for key, value in wanted.items() if key in live}
        return {**live, **wanted, **both}
    if isinstance(live, list) and isinstance(wanted, list):
        return _merge_lists(live, wanted, owned or {})
    return wanted


def _merge_lists(live: list[Any], wanted: list[Any], owned: Manifest) -> list[Any]:
    keys = [key for key in owned if key[:2] in ("k:", "v:")]
    if not keys:
        return wanted
    if keys[0].startswith("v:"):
        return [*live, *(item for item in wanted if item not in live)]
    names = tuple(orjson.loads(keys[0][2:]))
    fresh = {_identity(item, names): item for item in wanted}
    kept = []
    for item in live:
        nested = next((owned[key] for key in keys if _is(item, key)), None)
        kept.append(_merge(item, fresh.pop(_identity(item, names), item), nested))
    return [*kept, *fresh.values()]


def _identity(item: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(item.get(name) for name in names) if isinstance(item, dict) else (item,)


def _without(live: Any, mine: Manifest, wanted: Any, others: Manifest) -> Any:
    """Without the fields that we owned, no longer want, and nobody else owns."""
    for key, nested in mine.items():
        there = None if key == "." else _part(live, key)
        if there is None:
            continue
        mine_still = _part(wanted, key)
        if mine_still is None and key not in others:
            live = _cut(live, key)
        elif nested.keys() - {"."}:
            live = _put(live, key, _without(there, nested, mine_still, others.get(key, {})))
    return live


def _cut(value: Any, key: str) -> Any:
    if key.startswith("f:"):
        return {name: item for name, item in value.items() if name != key[2:]}
    return [item for item in value if not _is(item, key)]


def _put(value: Any, key: str, part: Any) -> Any:
    if key.startswith("f:"):
        return {**value, key[2:]: part}
    return [part if _is(item, key) else item for item in value]


def same(wanted: Any, live: Any) -> bool:
    """Does the live value say what is wanted? It may say more: a server fills in defaults."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(key in live and same(value, live[key]) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(live, list):
        return len(wanted) == len(live) and all(map(same, wanted, live))
    return bool(wanted == live)
