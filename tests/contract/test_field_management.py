"""What our field management makes of the real server's own answers is what the real server says."""

import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manager.embedded.fields import FieldSet
from manager.embedded.managed import apply, manager_of, update
from manager.embedded.openapi import definition as builtin_definition
from manager.embedded.schema import Schema
from manager.embedded.status import StatusError
from manager.embedded.structural import from_crd_version
from tests.contract.bodies import BODIES, kind_of, rounds
from tests.contract.sequences import (
    APPLY,
    CREATE,
    DELETE,
    KINDS,
    PHASES,
    THING,
    Kind,
    Side,
    Step,
    definition,
    filled,
    in_order,
    managers,
    sequences,
    serve_things,
)
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, Reply
from tests.support.names import fresh

pytestmark = [pytest.mark.slow]

EXAMPLES = 20
CLIENT = "python-httpx"

# What the server sets, when an object is created, after it has looked at the fields; of Jobs it is too much to be told here.
ALLOTTED = {
    "metadata": ("finalizers",),
    "spec": (
        "clusterIP",
        "clusterIPs",
        "finalizers",
        "healthCheckNodePort",
        "ipFamilies",
        "ipFamilyPolicy",
        "preemptionPolicy",
        "priority",
        "tolerations",
    ),
    "status": ("phase",),
}
SERVER_SET = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")

RESET = {
    "": FieldSet.of(("status",)),
    "status": FieldSet.of(("spec",), ("metadata", "labels")),
    "thing-status": FieldSet.of(("spec",), ("metadata",)),
}


@pytest.fixture(scope="module")
def real(realserver: Access) -> Iterator[Api]:
    """The real server, as its administrator."""
    with Api(realserver.url, realserver.ca, realserver.token) as api:
        yield api


@pytest.fixture(scope="module")
def side(real: Api) -> Side:
    """One namespace for all sequences, and the custom kind."""
    serve_things(real)
    return Side(real, fresh("sequences"))


def schema_of(kind: Kind) -> Schema:
    """The schema under which our functions look at a kind."""
    if kind.api_version == THING:
        return from_crd_version(definition()["spec"]["versions"][0])
    group, _, version = kind.api_version.rpartition("/")
    schema = builtin_definition(group, version, kind.name)
    assert schema is not None
    return schema


class Model:
    """Our functions, fed with the live object that the server had and with the content that it answered."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.schema = schema_of(kind)

    def expected(self, before: Manifest | None, target: Manifest, step: Step, reply: Reply) -> Manifest | StatusError:
        """The object with the entries that we think are right, or the refusal."""
        arguments: dict[str, Any] = {
            "schema": self.schema,
            "api_version": self.kind.api_version,
            "now": datetime.now(UTC),
            "subresource": step.subresource or "",
            "reset": self.reset(step.subresource),
        }
        if step.verb != APPLY:
            manager = manager_of(CLIENT, step.manager)
            return update(before, self.decoded(before, step, reply), manager=manager, **arguments)
        try:
            finish = self.finish(before, step, reply)
            return apply(before, filled(target, step.body), manager=step.manager, force=step.force, finish=finish, **arguments)
        except StatusError as error:
            return error

    def reset(self, subresource: str | None) -> FieldSet:
        """What a write to a (sub)resource does not own."""
        if subresource and self.kind.api_version == THING:
            return RESET["thing-status"]
        return (
            RESET[subresource or ""]
            if self.kind.status is not None or self.kind.name in ("Namespace", "Service")
            else FieldSet({})
        )

    def decoded(self, before: Manifest | None, step: Step, reply: Reply) -> Manifest:
        """The new object before the server's own touch: the answer, without what was allotted at creation."""
        new = copy.deepcopy(reply.body)
        for field in SERVER_SET:
            new["metadata"].pop(field, None)
        if before is None:
            _forget_allotted(new, step.body)
        if new.get("rules", True) is None and isinstance(step.body, dict) and step.body.get("rules") == []:
            new["rules"] = []  # so it was when the fields were looked at; what is stored is read as null
        given = _given(before, step)
        new["metadata"].pop("managedFields", None)
        return new if given is None else {**new, "metadata": {**new["metadata"], "managedFields": given}}

    def finish(self, before: Manifest | None, step: Step, reply: Reply) -> Callable[[Manifest], Manifest]:
        """The last step of an apply: the content is what the server made of it."""
        content = self.decoded(before, step, reply) if reply.status in (200, 201) else None
        return lambda merged: merged if content is None else content


def _forget_allotted(new: Manifest, body: Manifest) -> None:
    for part, names in ALLOTTED.items():
        for name in names:
            if name not in (body.get(part) or {}):
                (new.get(part) or {}).pop(name, None)
    if new["kind"] == "Service":
        for port in new["spec"].get("ports") or ():
            port.pop("nodePort", None)


def _given(before: Manifest | None, step: Step) -> Any:
    """The managedFields that a client sent, as far as our steps do that."""
    kept = copy.deepcopy((before or {}).get("metadata", {}).get("managedFields"))
    if isinstance(step.body, dict) and "managedFields" in (step.body.get("metadata") or {}):
        return step.body["metadata"]["managedFields"]
    if isinstance(step.body, list) and step.body[0]["path"].startswith("/metadata/managedFields"):
        operation = step.body[0]
        parts = operation["path"].split("/")[3:]
        if operation["op"] == "remove":
            if not parts:
                return None
            del kept[int(parts[0])]
            return kept
        if not parts:
            return operation["value"]
        kept[int(parts[0])][parts[1]] = operation["value"]
    return kept


def run(side: Side, kind: Kind, steps: tuple[Step, ...]) -> None:
    """Send the steps; after each, our entries and the server's have to be the same."""
    target = kind.target(fresh("subject"), side.namespace)
    try:
        _play(side, kind, target, steps)
    finally:
        side.forget(target)


def _play(side: Side, kind: Kind, target: Manifest, steps: tuple[Step, ...]) -> None:
    model = Model(kind)
    for number, step in enumerate(steps):
        before = side.live(target)
        reply = side.send(target, step)
        if step.verb == DELETE or (step.verb != APPLY and reply.status not in (200, 201)):
            continue
        if step.verb == CREATE and before is not None:
            continue
        found = model.expected(before, target, step, reply)
        _judge(found, reply, f"step {number} of {kind}: {step}\nbefore: {before}\nafter: {reply.body}")


def _judge(found: Manifest | StatusError, reply: Reply, why: str) -> None:
    if isinstance(found, StatusError):
        assert (found.code, found.message) == (reply.status, reply.message), why
        # The server says them manager by manager, in the random order of Go's maps.
        assert in_order([cause.manifest() for cause in found.causes]) == in_order(reply.causes), why
        return
    if reply.status in (200, 201):
        assert managers(found) == managers(reply.body), why
    else:
        # It went past field management, and failed at something else.
        assert reply.status in (400, 404, 409, 422), why
        assert not reply.message.startswith("Apply failed"), why


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
@settings(max_examples=EXAMPLES, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_entries_are_those_of_the_server(kind: str, data: st.DataObject, side: Side) -> None:
    """After any write by any manager, managedFields and conflicts are what the real server says."""
    chosen = next(each for each in KINDS if each.name == kind)
    run(side, chosen, data.draw(sequences(chosen)))


@pytest.mark.parametrize("body", [body for body in BODIES if body["kind"] != "Job"], ids=lambda body: body["kind"])
def test_entries_of_all_kinds(body: Manifest, side: Side) -> None:
    """A create, an apply by another, a merge patch and a change by force, of kinds of every shape."""
    for steps in rounds(body):
        run(side, kind_of(body), steps)
