"""What the server does to an object of a kind on its way from a body to the store, kind by kind.

    body -> decode -> default -> prepare_create / prepare_update / prepare_status -> validate / validate_update -> store

The order on the way is that of the real server (apiserver's registry/rest): uid, name and creation time of a new object are set
before `prepare_create`. Every method returns a new object and leaves its arguments as they are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import causes, structural
from manager.embedded.fields import FieldSet
from manager.embedded.kinds import (
    bytes64,
    codec,
    customs,
    defaults,
    metadata,
    names,
    patches,
    plugins,
    rows,
    secrets,
    services,
    tables,
    warnings,
)
from manager.embedded.kinds.kind import ALL_METADATA, Kind
from manager.embedded.kinds.reading import Converting, Reading, Undecodable
from manager.embedded.kinds.table import KINDS
from manager.embedded.kinds.types import facts
from manager.embedded.served import Served
from manager.embedded.status import Cause, Named, StatusError, bad_request, invalid

IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"


def strategy(served: Served) -> "Strategy":
    """The strategy of a served kind."""
    return Custom(served, _CUSTOM) if served.custom else Strategy(served, KINDS.get(served.resource, Kind()))


@dataclass(frozen=True)
class Strategy:
    """The strategy of a built-in kind."""

    served: Served
    kind: Kind

    @property
    def create_on_update(self) -> bool:
        """Does a PUT create what is not there?"""
        return self.kind.create_on_update

    @property
    def unconditional_update(self) -> bool:
        """May a PUT come without a resourceVersion?"""
        return self.kind.unconditional

    @property
    def selectable(self) -> tuple[str, ...]:
        """The paths that a fieldSelector may name, besides metadata.name and metadata.namespace."""
        return self.kind.selectable

    @cached_property
    def reset(self) -> dict[str, FieldSet]:
        """The fields that a write to "" or to a subresource does not own, and the empty set for others."""
        return {subresource: FieldSet.parse(fields) for subresource, fields in self.kind.resets().items()}

    @cached_property
    def _type(self) -> str:
        served = self.served
        return facts().kinds[f"{served.group}/{served.version}/{served.kind}"]

    # From a body to an object

    def decode(self, obj: Manifest, *, field_validation: str = IGNORE) -> tuple[Manifest, list[str]]:
        """The object as Go would write it back, and the warnings about unknown fields.

        Raises StatusError 400 in Go's words for wrong types, and for unknown fields where `field_validation` is Strict.
        """
        try:
            read, unknown = self.read(obj)
        except Undecodable as error:
            raise self._undecodable(str(error)) from None
        told = [f'unknown field "{path}"' for path in unknown] if field_validation != IGNORE else []
        if told and field_validation == STRICT:
            raise self._undecodable(f"strict decoding error: {', '.join(told)}")
        return read, told

    def decode_patched(
        self, obj: Manifest, *, field_validation: str = IGNORE, strategic: Any = None
    ) -> tuple[Manifest, list[str]]:
        """As `decode`, for what a patch made; `strategic` is the patch, if it was a strategic merge patch.

        Raises StatusError 422 about the field `patch`, in the words that the server has for that kind of patch.
        """
        shown = patches.patched(obj) if strategic is None else patches.shown(strategic)
        try:
            read, unknown = self.read(obj, Reading() if strategic is None else Converting())
        except Undecodable as error:
            raise _unpatchable(shown, str(error)) from None
        told = [f'unknown field "{path}"' for path in unknown] if field_validation != IGNORE else []
        if told and field_validation == STRICT:
            raise _unpatchable(shown, f"strict decoding error: {', '.join(told)}")
        return read, told

    def read(self, obj: Manifest, reading: Reading | None = None) -> tuple[Manifest, list[str]]:
        """As `decode`, but it raises Undecodable, and the second part are the paths of the unknown fields."""
        reading = reading or Reading()
        read: Manifest = codec.codec(self._type).read(obj, None, reading)
        if reading.mismatch:
            raise Undecodable(reading.mismatch)
        head = {"kind": self.served.kind, "apiVersion": self.served.api_version, "metadata": read["metadata"]}
        return secrets.merge_texts(head | {key: value for key, value in read.items() if key not in head}), reading.unknown

    def _undecodable(self, why: str) -> StatusError:
        kind, version = self.served.kind, self.served.version
        return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')

    def default(self, obj: Manifest) -> Manifest:
        """The object with the defaults of its kind."""
        return defaults.default(self._type, _copied(obj))

    def finish(self, merged: Manifest) -> Manifest:
        """What server-side apply merged, read and with its defaults.

        Raises StatusError: 500 for bytes that are no base64, which a schema takes for any text.
        """
        try:
            return self.default(self.read(merged)[0])
        except Undecodable as error:
            said = str(error)
            wrong = self._unconvertible(merged, said) if said.startswith(bytes64.WRONG) else self._undecodable(said)
            raise wrong from None

    def _unconvertible(self, merged: Manifest, why: str) -> StatusError:
        metadata, group = merged.get("metadata") or {}, self.served.group
        kind = f"{group}/{self.served.version}, Kind={self.served.kind}"
        about = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {kind}"
        said = f"unable to convert unstructured object to {kind}: error decoding from json: {why}"
        return StatusError(500, "", f"failed to convert new object ({about}) to proper version: {said}")

    # From an object to what is stored

    def prepare_create(self, obj: Manifest, now: datetime) -> Manifest:
        """A new object as it begins: no status, generation 1, and what its kind makes of it."""
        new = self._stored(obj)
        if self.kind.counted and self.kind.generation:
            new["metadata"]["generation"] = self.kind.generation
        if self.kind.status and not self.kind.status_at_once:
            self._forget_status(new)
        self.kind.make(new, now)
        return new

    def prepare_update(self, new: Manifest, old: Manifest) -> Manifest:
        """The new form of an object: the old status, and a higher generation when what is counted has changed."""
        new = _with_system_fields(self._stored(new), old)
        if self.kind.status:
            _take(new, old, "status")
        self.kind.mend(new, old)
        if any(_at(new, path) != _at(old, path) for path in self.kind.counted):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        return new

    def prepare_status(self, new: Manifest, old: Manifest) -> Manifest:
        """The new form of an object after a write to its status: all else is the old, but for some metadata."""
        new = _with_system_fields(self._stored(new), old)
        _take(new, old, "spec")
        for each in self.kind.status_leaves:
            _take(new["metadata"], old["metadata"], each)
        self.kind.mend_status(new, old)
        return new

    def _stored(self, obj: Manifest) -> Manifest:
        """A copy in the form that is kept."""
        read: Manifest = codec.codec(self._type).read(obj, None, Reading(storing=True))
        return read

    def admit(self, obj: Manifest, others: Callable[[str], Iterable[Manifest]]) -> Manifest:
        """A new object with what it takes over from others; `others` answers all objects of a resource, by its name.

        To be called before `prepare_create`. Raises StatusError 403.
        """
        return plugins.admit(self.served.resource, obj, others)

    def allot(self, new: Manifest, old: Manifest | None, others: Callable[[], Iterable[Manifest]]) -> Manifest:
        """What the server gives out of a common stock: addresses and ports of Services. `others` answers all objects of the kind.

        To be called after `prepare_create` or `prepare_update`. Raises StatusError 422 for what is taken.
        """
        return services.allot(new, old, others()) if self.served.resource == "services" else new

    def _forget_status(self, obj: Manifest) -> None:
        """The status of a new object: what Go writes of an empty one."""
        member = codec.codec(self._type)
        assert isinstance(member, codec.Struct)  # noqa: S101 - kinds are structs
        obj.pop("status", None)
        zero = member.zero().get("status")
        if zero is not None:
            obj["status"] = zero

    # Rules

    def validate(self, obj: Manifest) -> list[Cause]:
        """What is wrong with a new object: the rules of its kind, and only then those of every kind."""
        own = [*self._metadata(obj), *self.kind.check(obj)]
        return own or list(metadata.path(obj))

    def validate_update(self, new: Manifest, old: Manifest) -> list[Cause]:
        """What is wrong with a change. Each complaint is told once, although the real server repeats some as causes."""
        common = metadata.check(new, namespaced=self.served.namespaced, name=names.path_segment)
        check = self.kind.check_update
        own = [*metadata.standard_finalizers(new), *self.kind.check(new)] if check is None else check(new, old)
        return list(dict.fromkeys([*common, *metadata.check_update(new, old), *own]))

    def validate_status(self, new: Manifest, old: Manifest) -> list[Cause]:
        """What is wrong with a change of the status."""
        common = metadata.check(new, namespaced=self.served.namespaced, name=names.path_segment)
        return list(dict.fromkeys([*common, *metadata.check_update(new, old)]))

    def _metadata(self, obj: Manifest) -> Iterable[Cause]:
        yield from metadata.check(obj, namespaced=self.served.namespaced, name=self.kind.name)
        yield from metadata.standard_finalizers(obj)

    def warnings(self, new: Manifest, old: Manifest | None = None) -> list[str]:
        """What is said about an object that is taken (its form after `prepare_create` or `prepare_update`)."""
        return warnings.warnings(self.served.resource, new, old)

    # Tables

    def row(self, obj: Manifest, now: datetime) -> list[Any]:
        """The cells of an object in a Table, one for each of `served.columns`."""
        return rows.row(self.served.resource, obj, now)


_CUSTOM = Kind(counted=("",), status=True, status_leaves=ALL_METADATA, unconditional=False)


class Custom(Strategy):
    """The strategy of a kind that a definition brought."""

    @property
    def selectable(self) -> tuple[str, ...]:
        """What the definition says."""
        return self.served.selectable

    @cached_property
    def reset(self) -> dict[str, FieldSet]:
        """A kind without the subresource has no status that is anybody's."""
        return super().reset if self._has_status else {}

    @property
    def _has_status(self) -> bool:
        return "status" in self.served.subresources

    def read(self, obj: Manifest, reading: Reading | None = None) -> tuple[Manifest, list[str]]:
        """The object without what its schema does not know; its metadata as every object's."""
        reading = reading or Reading()
        reading.storing = True  # an empty list of managedFields is no list here
        given = obj.get("metadata")
        read = {} if given is None else codec.codec(customs.OBJECT_META).read(given, (None, "", "", "metadata"), reading)
        if reading.mismatch:
            raise Undecodable(reading.mismatch)
        pruned, unknown = structural.prune(self.served.schema, obj | {"metadata": read})
        head = {"apiVersion": self.served.api_version, "kind": self.served.kind}
        whole = customs.coerced(self.served.schema, pruned | head)
        return whole, sorted([*reading.unknown, *unknown])

    def finish(self, merged: Manifest) -> Manifest:
        """Pruned and with its defaults; nulls stay, and are refused where they do not fit."""
        return structural.default(self.served.schema, self.decode(merged)[0])

    def default(self, obj: Manifest) -> Manifest:
        """The defaults of the schema; nulls go where the schema does not take them."""
        return structural.default(self.served.schema, structural.drop_nulls(self.served.schema, obj))

    def prepare_create(self, obj: Manifest, now: datetime) -> Manifest:
        """Generation 1, and no status where that is a subresource."""
        del now
        new = obj | {"metadata": obj["metadata"] | {"generation": 1}}
        return _without(new, "status") if self._has_status else new

    def prepare_update(self, new: Manifest, old: Manifest) -> Manifest:
        """A change of anything but metadata (and status, where that is a subresource) counts."""
        new = _with_system_fields(new | {"metadata": dict(new["metadata"])}, old)
        if self._has_status:
            _take(new, old, "status")
        if not customs.alike(_without(new, "metadata"), _without(old, "metadata")):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        return new

    def prepare_status(self, new: Manifest, old: Manifest) -> Manifest:
        """Only status and field managers are new."""
        prepared = old | {"metadata": dict(old["metadata"])}
        _take(prepared, new, "status")
        _take(prepared["metadata"], new["metadata"], "managedFields")
        _take(prepared["metadata"], new["metadata"], "resourceVersion")
        return prepared

    def validate(self, obj: Manifest) -> list[Cause]:
        """Metadata, and the schema with its rules."""
        found = list(metadata.check(obj, namespaced=self.served.namespaced, name=names.subdomain))
        return self._checked(found, obj, None, "")

    def validate_update(self, new: Manifest, old: Manifest) -> list[Cause]:
        """Metadata, and the schema with its transition rules."""
        return self._checked(self._common(new, old), new, old, "")

    def validate_status(self, new: Manifest, old: Manifest) -> list[Cause]:
        """As any change, but only the status is held against the schema."""
        return self._checked(self._common(new, old), new, old, "status")

    def _common(self, new: Manifest, old: Manifest) -> list[Cause]:
        common = metadata.check(new, namespaced=self.served.namespaced, name=names.path_segment)
        return [*common, *metadata.check_update(new, old)]

    def _checked(self, before: list[Cause], obj: Manifest, old: Manifest | None, subresource: str) -> list[Cause]:
        served = self.served
        found = structural.validate(served.schema, obj, old, subresource=subresource, scale=served.scale, before=before)
        return list(dict.fromkeys(found))

    def row(self, obj: Manifest, now: datetime) -> list[Any]:
        """The name, and what the paths of the definition's columns find."""
        return tables.custom(self.served.columns, obj, now)


def _unpatchable(shown: str, why: str) -> StatusError:
    return invalid(Named("", ""), [causes.invalid("patch", shown, why)])


def _copied(obj: Manifest) -> Manifest:
    copy: Manifest = orjson.loads(orjson.dumps(obj))
    return copy


def _without(obj: Manifest, field: str) -> Manifest:
    return {key: value for key, value in obj.items() if key != field}


def _take(new: Manifest, old: Manifest, field: str) -> None:
    """The old value of a field, or its absence."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _at(obj: Manifest, path: str) -> Any:
    if not path:
        return {key: value for key, value in obj.items() if key != "metadata"}
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


_SYSTEM = ("creationTimestamp", "deletionTimestamp", "generation")


def _with_system_fields(new: Manifest, old: Manifest) -> Manifest:
    """The new form with what no client changes: creation time, deletion, generation, and the uid if it has none."""
    for each in _SYSTEM:
        _take(new["metadata"], old["metadata"], each)
    new["metadata"].setdefault("uid", old["metadata"].get("uid", ""))
    if "deletionGracePeriodSeconds" in old["metadata"]:
        new["metadata"].setdefault("deletionGracePeriodSeconds", old["metadata"]["deletionGracePeriodSeconds"])
    return new
