"""Who owns which field of an object: `metadata.managedFields`, and server-side apply.

What apimachinery's field managers do (k8s.io/apimachinery/pkg/util/managedfields), one after the other:

| Step | What it is for |
| --- | --- |
| decode | entries that the client sent, else those of the live object; `[{}]` forgets all |
| before-first-apply | the content of an object that nobody manages belongs to that name once somebody applies |
| merge, prune, compare | the configuration over the live object, without what its manager no longer names |
| conflicts | fields of other managers that would change: 409, or taken with `force` |
| own | what a manager changed is his and nobody else's; an apply owns what it names |
| cap | at most ten Update entries; the oldest become `ancient-changes` |
| last-applied | kubectl's annotation, when its client-side apply turned into a server-side one |

Guarantees: nothing that is passed in is changed. Assumption: all versions of a kind have the same fields.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from apis.meta import Manifest, split_api_version
from manager.embedded.comparison import SAME, Difference, compare
from manager.embedded.coverage import field_set, named, reconcile, remove
from manager.embedded.entries import (
    APPLY,
    UPDATE,
    BadEntry,
    Entry,
    Key,
    Managed,
    bare,
    decode,
    encode,
    keep_times,
    metadata_of,
    stamp,
    with_entries,
)
from manager.embedded.fields import FieldSet, Tree, difference, intersection, paths, union, within, without
from manager.embedded.fitting import fits, validate
from manager.embedded.kinds.codec import codec
from manager.embedded.kinds.types import facts
from manager.embedded.lastapplied import applied_before, kept_up
from manager.embedded.merging import merge
from manager.embedded.schema import Schema
from manager.embedded.status import Cause, StatusError, bad_request
from manager.embedded.typed import Type, same, type_of

__all__ = ["NOTHING", "apply", "keep_times", "manager_of", "update"]

BEFORE = "before-first-apply"
ANCIENT = "ancient-changes"
KUBECTL = "kubectl"

SCALE = "scale"

MAX_UPDATES = 10
MAX_MANAGER = 128  # bytes

NOTHING = FieldSet({})

_NEVER_OWNED: Tree = FieldSet.of(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
).tree


def manager_of(user_agent: str, given: str) -> str:
    """The field manager of a request: the given one, else the user agent up to its first slash (printable, 128 bytes at most)."""
    if given:
        return given
    out = ""
    for letter in user_agent.split("/", 1)[0]:
        if not letter.isprintable():
            continue
        if len((out + letter).encode()) > MAX_MANAGER:
            break
        out += letter
    return out


# Updates


def update(
    live: Manifest | None,
    new: Manifest,
    *,
    schema: Schema,
    api_version: str,
    manager: str,
    now: datetime,
    subresource: str = "",
    reset: FieldSet = NOTHING,
    operation: str = UPDATE,
) -> Manifest:
    """`new` with its managedFields after a create, an update or a patch of `live` (None: a create).

    `new` is decoded and defaulted, but what the server sets itself (uid, generation, clusterIP) is not in it yet. `reset` is what
    a write to this (sub)resource does not own. Never fails: an object that does not fit its schema has no managedFields.
    """
    managed = _given(live, new, subresource, custom=not schema.reference)
    content = bare(new)
    if not managed and live is not None:
        return content
    key = Key(manager or "unknown", operation, api_version, subresource)
    request = _Request(type_of(schema), api_version, key, reset.tree, stamp(now))
    old = bare(live) if live is not None else _nothing(api_version, new.get("kind") or "")
    # What is stored of a built-in kind fits; of a custom kind its definition may have changed since.
    stale = not schema.reference and not fits(old, request.type, duplicates=True)
    if stale or not fits(content, request.type, duplicates=True):
        return content
    after = _updated(old, content, managed, request)
    return with_entries(content, encode(_capped(_scaled(managed, after, key) if subresource == SCALE else after)))


@dataclass(frozen=True, slots=True)
class _Request:
    type: Type
    api_version: str
    key: Key
    reset: Tree
    time: str


def _scaled(before: Managed, after: Managed, key: Key) -> Managed:
    """After a write through a scale.

    The server manages the fields of the Scale, whose entries are those of the object that own replicas: without any, nothing is
    managed, as with any object that nobody manages. The time of such an entry stays that of the object's, if there was one.
    """
    mine = after.get(key)
    if mine is None:
        return after
    if not any(intersection(entry.fields.tree, mine.fields.tree) for entry in before.values()):
        return before
    return {**after, key: replace(mine, time=before[key].time if key in before else "")}


def _given(live: Manifest | None, new: Manifest, subresource: str, *, custom: bool) -> Managed:
    """The entries that count before the change. An empty list clears them, but that of a custom object is as none."""
    kept = metadata_of(live or {}).get("managedFields") or []
    given = metadata_of(new).get("managedFields")
    # Through a subresource nobody sets managedFields.
    if not subresource and given is not None:
        if given == [{}] or (given == [] and not custom):
            return {}
        managed = _decode_or_none(given)
        if managed:
            return managed
    return _decode_or_none(kept)


def _decode_or_none(entries: Any) -> Managed:
    try:
        return decode(entries)
    except BadEntry:
        return {}


def _updated(old: Manifest, new: Manifest, managed: Managed, request: _Request) -> Managed:
    """What was changed is the manager's, and of nobody else, his own older entries included."""
    managed = _reconciled(managed, request)
    change = _filtered(compare(old, new, request.type), request.reset)
    managed = {key: kept for key, entry in managed.items() if (kept := _less(entry, change)) is not None}
    mine = difference(union(change.modified, change.added), _NEVER_OWNED)
    if not mine:
        return managed
    previous = managed.get(request.key)
    fields = union(mine, previous.fields.tree) if previous else mine
    return {**managed, request.key: Entry(request.key, request.api_version, FieldSet(fields), request.time)}


def _reconciled(managed: Managed, request: _Request) -> Managed:
    """Entries of another group are of no served version: they go. Others follow changes of the schema."""
    group, _ = split_api_version(request.api_version)
    out: Managed = {}
    for key, entry in managed.items():
        if split_api_version(entry.api_version)[0] != group:
            continue
        fields = reconcile(entry.fields, request.type)
        out[key] = entry if fields is entry.fields else replace(entry, fields=fields)
    return out


def _filtered(change: Difference, reset: Tree) -> Difference:
    if change is SAME or not reset:
        return change
    return Difference(without(change.removed, reset), without(change.modified, reset), without(change.added, reset))


def _less(entry: Entry, change: Difference) -> Entry | None:
    """The entry of a manager after somebody else's change; None when nothing is left of it."""
    tree = entry.fields.tree
    if change.modified or change.added:
        taken = intersection(tree, union(change.modified, change.added))
        tree = difference(tree, taken)
    if change.removed:
        tree = difference(tree, change.removed)
    if not tree:
        return None
    return entry if tree == entry.fields.tree else replace(entry, fields=FieldSet(tree))


def _capped(managed: Managed) -> Managed:
    """At most ten Update entries: the oldest of each version are merged into one."""
    updaters = [entry for entry in managed.values() if entry.key.operation == UPDATE]
    if len(updaters) <= MAX_UPDATES:
        return managed
    out = dict(managed)
    excess = len(updaters) - MAX_UPDATES
    first: dict[str, Key] = {}
    for entry in sorted(updaters, key=lambda each: (each.time, each.key.identifier)):
        if not excess:
            break
        version = entry.api_version
        if version not in first:
            first[version] = entry.key
            continue
        bucket = Key(ANCIENT, UPDATE, version)
        gathered = out.get(bucket) or out.pop(first[version])
        if entry.key != bucket:
            del out[entry.key]
        fields = entry.fields.union(gathered.fields)
        # The younger of the two times.
        out[bucket] = Entry(bucket, version, fields, entry.time)
        excess -= 1
    return out


# Applies


def apply(
    live: Manifest | None,
    config: Manifest,
    *,
    schema: Schema,
    api_version: str,
    manager: str,
    force: bool,
    now: datetime,
    subresource: str = "",
    reset: FieldSet = NOTHING,
    finish: Callable[[Manifest], Manifest] = lambda merged: merged,
) -> Manifest:
    """Server-side apply of `config` to `live` (None: the object is created).

    `finish` decodes and defaults the merged object as its kind does. The result carries managedFields; when nothing changes, not
    even who owns what, it is `live` itself. Values are compared as they are written: a quantity in other words is a change, and a
    conflict with whoever owns it; the object that comes of it may still be the same, and is then `live` again.

    Raises StatusError: 400 for another version or for managedFields in the configuration, 500 when the configuration does not fit
    the schema, 409 for conflicts, one cause for each manager and field.
    """
    _check(config, api_version)
    request = _Request(type_of(schema), api_version, Key(manager or "unknown", APPLY, "", subresource), reset.tree, stamp(now))
    patch = _Patch(bare(live) if live is not None else None, config, _before(live, request), request, not schema.reference)
    _fit(patch)
    merged, managed = _applied(patch, manager=manager, force=force)
    result = _finished(live, merged, managed, finish)
    result = kept_up(result, config) if manager == KUBECTL else result
    return keep_times(result, live) if live is not None else result


@dataclass(frozen=True, slots=True)
class _Patch:
    live: Manifest | None  # without managedFields
    config: Manifest
    managed: Managed
    request: _Request
    custom: bool


def _check(config: Manifest, api_version: str) -> None:
    if config.get("apiVersion") != api_version:
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    if metadata_of(config).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")


def _kind_text(manifest: Manifest) -> str:
    group, version = split_api_version(manifest.get("apiVersion") or "")
    return f"{group}/{version}, Kind={manifest.get('kind') or ''}"


def _fit(patch: _Patch) -> None:
    """Whoever applies what does not fit learns where; a live custom object does not fit when its definition was changed."""
    for what, value, duplicates in (("patch", patch.config, False), ("live", patch.live, True)):
        if value is None or (duplicates and not patch.custom):
            continue
        wrong = validate(value, patch.request.type, duplicates=duplicates)
        if wrong:
            metadata = metadata_of(value)
            about = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_kind_text(value)}"
            raise StatusError(500, "", f"failed to create typed {what} object ({about}): {wrong}")


def _before(live: Manifest | None, request: _Request) -> Managed:
    """The entries of the live object. Content that nobody manages belongs to `before-first-apply` from now on."""
    if live is None:
        return {}
    try:
        managed = decode(metadata_of(live).get("managedFields") or [])
    except BadEntry as error:
        raise StatusError(500, "", f"failed to decode managed fields: {error}") from error
    if managed:
        return managed
    first = replace(request, key=Key(BEFORE, UPDATE, request.api_version, request.key.subresource))
    return _updated(_nothing(request.api_version, live["kind"]), bare(live), {}, first)


def _applied(patch: _Patch, *, manager: str, force: bool) -> tuple[Manifest | None, Managed]:
    """The merged object (None when the live one does not change) and the entries.

    Conflicts that kubectl's annotation explains are none: the fields were applied on the client's side before.
    """
    try:
        return _merged(patch, force=force)
    except _Conflicts as error:
        conflicts = error.trees
    if manager == KUBECTL and patch.live is not None:
        allowed = applied_before(patch.live, patch.request.type, patch.request.api_version)
        if allowed is not None:
            rest = {key: left for key, tree in conflicts.items() if (left := difference(tree, allowed))}
            if not rest:
                return _merged(patch, force=True)
            conflicts = rest
    raise _conflict(conflicts)


class _Conflicts(Exception):
    """It carries fields; `_applied` makes an error of them, or not."""

    def __init__(self, trees: dict[Key, Tree]) -> None:
        super().__init__()
        self.trees = trees


def _conflict(trees: dict[Key, Tree]) -> StatusError:
    found = [(key, path) for key in sorted(trees, key=lambda each: each.identifier) for path in paths(trees[key])]
    causes = [Cause("FieldManagerConflict", f"conflict with {key}", path) for key, path in found]
    if len(found) == 1:
        text = f"1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines = [f"conflicts with {key}:\n" + "\n".join(f"- {path}" for path in paths(trees[key])) for key in dict(found)]
        text = f"{len(found)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _merged(patch: _Patch, *, force: bool) -> tuple[Manifest | None, Managed]:
    """Merge, prune, compare, own: structured-merge-diff's Apply. Raises _Conflicts."""
    request, live = patch.request, patch.live
    managed = _reconciled(patch.managed, request)
    last = managed.get(request.key)
    tree = field_set(patch.config, request.type)
    tree = without(tree, request.reset) if request.reset else tree
    merged = merge(live, patch.config, request.type) if live is not None else patch.config
    own = difference(tree, _NEVER_OWNED)
    if last is not None and last.fields.tree != own and not within(last.fields.tree, tree):
        merged = _pruned(merged, last.fields.tree, tree, managed, request)
    others = {key: entry for key, entry in managed.items() if key != request.key}
    unchanged = live is not None and (merged is live or same(merged, live))
    if live is not None and not unchanged:
        change = _filtered(compare(live, merged, request.type), request.reset)
        _contest(change, others, force=force)
        others = {key: kept for key, entry in others.items() if (kept := _less(entry, change)) is not None}
    if own:
        # The same set again: its text is made already.
        fields = last.fields if last is not None and last.fields.tree == own else FieldSet(own)
        time = (last.time if last else "") if unchanged else request.time
        others[request.key] = Entry(request.key, request.api_version, fields, time)
    return (None if unchanged else merged), others


def _contest(change: Difference, others: Managed, *, force: bool) -> None:
    """Fields of others that would change are conflicts."""
    changed = union(change.modified, change.added)
    if force or not changed:
        return
    found = {key: tree for key, entry in others.items() if (tree := intersection(entry.fields.tree, changed))}
    if found:
        raise _Conflicts(found)


def _pruned(merged: Manifest, last: Tree, tree: Tree, managed: Managed, request: _Request) -> Manifest:
    """Without what the manager applied last time and does not now, unless another one owns it.

    In three steps, as structured-merge-diff: all that he had goes; what anybody owns comes back, with what stands above it; and
    so does what he never had.
    """
    of = request.type
    had = named(last, of)
    everything = named(field_set(merged, of), of)
    owned = tree
    for key, entry in managed.items():
        owned = owned if key == request.key else union(owned, entry.fields.tree)
    first = remove(merged, had, of)
    kept = union(_fields_of(first, of), named(owned, of))
    second = remove(merged, difference(everything, kept), of)
    gone = difference(everything, _fields_of(second, of))
    pruned: Manifest = remove(merged, intersection(gone, had), of)
    return pruned


def _fields_of(value: Any, of: Type) -> Tree:
    return named(field_set(value, of), of)


def _finished(
    live: Manifest | None, merged: Manifest | None, managed: Managed, finish: Callable[[Manifest], Manifest]
) -> Manifest:
    entries = encode(managed)
    if merged is not None:
        return with_entries(finish(merged), entries)
    kept = live or {}
    return kept if entries == (metadata_of(kept).get("managedFields") or []) else with_entries(kept, entries)


@cache
def _nothing(api_version: str, kind: str) -> Manifest:
    """What Go shows of an object that nobody gave a field: structs are always there, and lists without omitempty are null."""
    struct = facts().kinds.get(f"{api_version if '/' in api_version else f'/{api_version}'}/{kind}")
    zero: Manifest = codec(struct).zero() if struct else {}
    return zero
