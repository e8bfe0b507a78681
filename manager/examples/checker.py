"""Looks at a cluster and says in which points it is not as an `expect` step wants it; values that were kept are remembered."""

from collections.abc import Iterable, Mapping
from typing import Any

from apis.kind import find
from apis.meta import GROUP, Manifest, Ref
from manager.editor import Editor
from manager.examples.diff import difference, field, fingerprint, managers, secret, shown, unified
from manager.examples.script import ConditionIs, Expect, Owners, PhaseIs, Place, Right, Value
from manager.permits.glance import phase_of, status_of
from policy.permits.ready import ready_of


class Checker:
    """One example's. `makes` are its objects: among them are the parents whose field managers are called by name."""

    def __init__(self, editor: Editor, makes: Iterable[Ref]) -> None:
        self._hands = editor
        self._parents = [ref for ref in makes if (kind := find(ref.group, ref.kind)) is not None and kind.lower is not None]
        self._kept: dict[str, Any] = {}

    async def failures(self, expect: Expect) -> list[str]:
        """What is not as expected, each as text with a diff; empty when everything is. Values are kept then, and only then."""
        found = [await self._object(wanted) for wanted in expect.objects]
        found += [await self._absent(place) for place in expect.absent]
        found += [await self._says(says) for says in expect.ready]
        found += [await self._owners(owners) for owners in expect.owners]
        found += [await self._value(value) for value in expect.values]
        found += [await self._phase(phase) for phase in expect.phases]
        found += [await self._right(right, wanted=True) for right in expect.can]
        found += [await self._right(right, wanted=False) for right in expect.cannot]
        failures = [failure for failure in found if failure]
        if not failures:
            for value in expect.values:
                if value.keep is not None:
                    self._kept[value.keep] = field(await self._live(value.of), value.field)
        return failures

    async def _live(self, place: Place) -> Manifest:
        return await self._hands.read(place.ref) or {}

    async def _object(self, wanted: Manifest) -> str:
        ref = Ref.of(wanted)
        diff = difference(wanted, await self._hands.read(ref))
        return f"{ref} is not as expected:\n{diff}" if diff else ""

    async def _absent(self, place: Place) -> str:
        live = await self._live(place)
        if not live:
            return ""
        going = ", and is being deleted" if "deletionTimestamp" in live["metadata"] else ""
        return f"{place.ref} is there{going}; expected to be absent"

    async def _says(self, says: ConditionIs) -> str:
        live = await self._hands.read(says.ref)
        if live is None:
            return f"{says.ref} is not there; expected a condition {says.type}"
        status = live.get("status") or {}
        seen, generation = status.get("observedGeneration"), live["metadata"].get("generation")
        if seen is not None and seen != generation:
            return f"{says.ref}: its generation {generation} has not been looked at yet (status is about {seen})"
        condition = next((one for one in status.get("conditions") or () if one.get("type") == says.type), None)
        if condition is None:
            return f"{says.ref} has no condition {says.type} yet"
        wanted = {"status": says.status, "reason": says.reason, "message": says.message}
        asked = {key: value for key, value in wanted.items() if value is not None}
        if all(_fits(key, value, condition.get(key)) for key, value in asked.items()):
            return ""
        lines = ([f"{key}: {source.get(key)}" for key in ("status", "reason", "message")] for source in (wanted, condition))
        before, after = lines
        kept = [line for line in before if not line.endswith(": None")]
        return f"{says.ref}: condition {says.type} is not as expected:\n{unified(kept, after)}"

    async def _owners(self, owners: Owners) -> str:
        live = await self._hands.read(owners.of.ref)
        if live is None:
            return f"{owners.of.ref} is not there; expected it to have owners of fields"
        names = await self._names()
        owned = managers(live)
        wanted = {path: sorted(who) for path, who in owners.fields.items()}
        found = {path: sorted(names.get(name, name) for name in owned.get(path, ())) for path in owners.fields}
        if wanted == found:
            return ""
        diff = unified(_listing(wanted), _listing(found))
        return f"{owners.of.ref}: its fields are not owned as expected:\n{diff}"

    async def _names(self) -> Mapping[str, str]:
        """Field managers of the example's parents -> Kind/name or Kind/namespace/name."""
        names: dict[str, str] = {}
        for ref in self._parents:
            live = await self._hands.read(ref)
            if live is not None:
                manager = f"{GROUP}/{ref.kind.lower()}/{live['metadata']['uid']}"
                names[manager] = "/".join(part for part in (ref.kind, ref.namespace, ref.name) if part)
        return names

    async def _value(self, value: Value) -> str:
        live = await self._live(value.of)
        now = field(live, value.field)
        what = f"{value.of.ref}: {value.field}"
        if now is None:
            return f"{what} is not there"
        if value.keep is not None:
            return ""
        name = value.same or value.differs or ""
        if name not in self._kept:
            return f"{what}: no earlier step has kept a value as {name!r}: add one with keep: {name}"
        if (now == self._kept[name]) == (value.same is not None):
            return ""
        if value.differs is not None:
            return f"{what} is still what was kept as {name}: {shown(live, value.field)}"
        kept = fingerprint(self._kept[name]) if secret(live) else self._kept[name]
        return f"{what} is not what was kept as {name}:\n- {kept}\n+ {shown(live, value.field)}"

    async def _phase(self, wanted: PhaseIs) -> str:
        live = await self._hands.read(wanted.ref)
        if live is None:
            return f"{wanted.ref} is not there; expected it to be {wanted.phase}"
        phase, last = phase_of(live) or "nothing yet", (status_of(live).get("transitions") or [{}])[-1]
        if phase != wanted.phase:
            ready = ready_of(status_of(live))
            said = f" ({ready['reason']}: {ready['message']})" if ready else ""
            return f"{wanted.ref} is {phase}{said}; expected {wanted.phase}"
        if wanted.reason in (None, last.get("reason")):
            return ""
        return f"{wanted.ref} is {phase} by {last.get('reason')}; expected by {wanted.reason}"

    async def _right(self, right: Right, *, wanted: bool) -> str:
        answer = await self._hands.create(_review(right))
        if answer["status"]["allowed"] == wanted:
            return ""
        place = f" in {right.namespace}" if right.namespace else ""
        name = f" {right.name}" if right.name else ""
        word, other = ("cannot", "can") if wanted else ("can", "cannot")
        return f"{right.person.user} {word} {right.verb} {right.resource}{name}{place}; expected that they {other}"


def _review(right: Right) -> Manifest:
    """The question whether the authorizer lets somebody do something."""
    resource, _, subresource = right.resource.partition("/")
    plural, _, group = resource.partition(".")
    asked = {"verb": right.verb, "group": group, "resource": plural, "subresource": subresource}
    where = {"namespace": right.namespace, "name": right.name}
    spec = {"user": right.person.user, "groups": list(right.person.groups), "resourceAttributes": asked | where}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def _fits(key: str, wanted: str, found: Any) -> bool:
    return wanted in (found or "") if key == "message" else wanted == found


def _listing(owners: Mapping[str, list[str]]) -> list[str]:
    return [f"{path}: {', '.join(names) or 'nobody'}" for path, names in owners.items()]
