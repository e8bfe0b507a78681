"""Random sequences of writes by several managers: the embedded server answers as the real one.

Compared are status codes, contents and managedFields; of failed applies the words too. Set aside are times, UIDs, resource
versions and allotted addresses. `COPYHOLD_DIFFERENTIAL=10000` says how many sequences are tried in all.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.bodies import BODIES, kind_of, rounds
from tests.contract.sequences import (
    APPLY,
    CREATE,
    JSON,
    KINDS,
    MERGE,
    PHASES,
    REPLACE,
    Kind,
    Side,
    Step,
    definition,
    seen,
    sequences,
    serve_things,
)
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, eventually
from tests.support.names import fresh

pytestmark = [pytest.mark.slow]

SEQUENCES = int(os.environ.get("COPYHOLD_DIFFERENTIAL", "504"))
"""How many in all; every kind has the same share."""


@pytest.fixture(scope="module")
def sides(realserver: Access, embedded: Access) -> Iterator[tuple[Side, Side]]:
    """The real server and the embedded one, with the custom kind and a namespace of the same name in both."""
    namespace = fresh("differential")
    with (
        Api(realserver.url, realserver.ca, realserver.token) as real,
        Api(embedded.url, embedded.ca, embedded.token) as ours,
    ):
        yield _ready(real, namespace), _ready(ours, namespace)


def _ready(api: Api, namespace: str) -> Side:
    serve_things(api)
    return Side(api, namespace)


def _served(api: Api, api_version: str) -> bool:
    return api.list(api_version, "Thing", "default").status == 200


def compare(real: Side, ours: Side, kind: Kind, steps: tuple[Step, ...]) -> None:
    """Send the steps to both; every answer has to be the same."""
    target = kind.target(fresh("subject"), real.namespace)
    try:
        alike((real, ours), target, steps)
    finally:
        real.forget(target)
        ours.forget(target)


def alike(sides: tuple[Side, Side], target: Manifest, steps: tuple[Step, ...]) -> None:
    """Send the steps to both, to both at once; every answer has to be the same."""
    before: object = "nothing"
    with ThreadPoolExecutor(max_workers=2) as both:
        for number, step in enumerate(steps):
            theirs, answer = both.map(Side.send, sides, (target, target), (step, step))
            why = f"step {number} on a {target['kind']}: {step}\nbefore: {before}\nreal: {theirs.body}\nembedded: {answer.body}"
            assert seen(answer) == seen(theirs), why
            before = theirs.body


def kind_named(name: str) -> Kind:
    """One of the kinds that sequences write to."""
    return next(kind for kind in KINDS if kind.name == name)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
@settings(max_examples=-(-SEQUENCES // len(KINDS)), deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_servers_answer_alike(kind: str, data: st.DataObject, sides: tuple[Side, Side]) -> None:
    """After every step of every sequence."""
    chosen = kind_named(kind)
    compare(*sides, chosen, data.draw(sequences(chosen)))


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ENTRIES = "/metadata/managedFields"


def _client_side(*, apply_by: str, wanted: Manifest) -> tuple[Step, ...]:
    """An object that kubectl applied on the client's side, and then an apply on the server's."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": "1"}}, "data": {"a": "1", "b": "1"}}
    metadata = {"labels": {"a": "1"}, "annotations": {LAST_APPLIED: json.dumps(manifest)}}
    return (
        Step(CREATE, "kubectl-client-side-apply", {"metadata": metadata, "data": {"a": "1", "b": "1"}}),
        Step(MERGE, "other", {"data": {"c": "1"}}),
        Step(APPLY, apply_by, wanted),
        Step(APPLY, apply_by, wanted, force=True),
        Step(APPLY, apply_by, wanted),
    )


def _containers(*names: str) -> Manifest:
    """A Deployment's content whose container has these variables."""
    variables = [{"name": name, "value": str(number)} for number, name in enumerate(names)]
    template = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "main", "image": "a", "env": variables}]}}
    return {"spec": {"selector": {"matchLabels": {"a": "1"}}, "template": template}}


CHOSEN = [
    pytest.param(
        "ConfigMap",
        (
            Step(CREATE, "m00", {"data": {"k00": "1"}}),
            *(Step(MERGE, f"m{number:02}", {"data": {f"k{number:02}": "1"}}) for number in range(1, 14)),
            Step(APPLY, "one", {"data": {"k00": "2", "k13": "2"}}),
            Step(APPLY, "one", {"data": {"k00": "2"}}, force=True),
        ),
        id="more than ten updaters become ancient",
    ),
    pytest.param(
        "ConfigMap",
        _client_side(apply_by="kubectl", wanted={"metadata": {"labels": {"a": "2"}}, "data": {"a": "2"}}),
        id="kubectl goes from client-side to server-side",
    ),
    pytest.param(
        "ConfigMap",
        _client_side(apply_by="kubectl", wanted={"metadata": {"labels": {"a": "2"}}, "data": {"a": "2", "c": "2"}}),
        id="kubectl does so, and another one is in the way",
    ),
    pytest.param(
        "ConfigMap",
        _client_side(apply_by="one", wanted={"metadata": {"labels": {"a": "2"}}, "data": {"a": "2"}}),
        id="others than kubectl do not",
    ),
    pytest.param(
        "Deployment",
        (
            Step(CREATE, "one", _containers("a", "a", "b")),
            Step(APPLY, "two", _containers("a")),
            Step(APPLY, "two", _containers("a"), force=True),
            Step(REPLACE, "three", _containers("b", "b")),
            Step(APPLY, "two", _containers("a", "a")),
            Step(APPLY, "two", _containers("b", "c"), force=True),
        ),
        id="items that repeat",
    ),
    pytest.param(
        "Deployment",
        (
            Step(APPLY, "one", _containers("a")),
            Step(MERGE, "scaler", {"spec": {"replicas": 3}}, subresource="scale"),
            Step(APPLY, "one", {"spec": {**_containers("a")["spec"], "replicas": 2}}),
            Step(APPLY, "one", {"spec": {**_containers("a")["spec"], "replicas": 2}}, force=True),
            Step(MERGE, "scaler", {"spec": {"replicas": 2}}, subresource="scale"),
            Step(MERGE, "scaler", {"spec": {"replicas": 4}}, subresource="scale"),
            Step(APPLY, "one", _containers("a")),
        ),
        id="what a scale owns",
    ),
    pytest.param(
        "Thing",
        (
            Step(APPLY, "one", {"spec": {"tags": ["a", "b", "c"], "parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}}),
            Step(APPLY, "two", {"spec": {"tags": ["c", "a"], "parts": [{"name": "c"}, {"name": "d"}, {"name": "a"}]}}),
            Step(APPLY, "one", {"spec": {"tags": ["b"], "parts": [{"name": "b"}]}}),
            Step(APPLY, "two", {"spec": {"tags": [], "parts": []}}),
            Step(APPLY, "one", {"spec": {"tags": None, "parts": None}}),
            Step(APPLY, "one", {}),
        ),
        id="the order of items that two managers share",
    ),
    pytest.param(
        "Thing",
        (
            Step(CREATE, "one", {"spec": {"anything": {"a": {"b": 1}}, "open": {"a": [1, {"b": 2}]}, "atom": {"a": "1"}}}),
            Step(APPLY, "two", {"spec": {"anything": "text", "open": {"a": {"b": 1}}, "atom": {"b": "1"}}}),
            Step(APPLY, "two", {"spec": {"anything": "text", "open": {"a": {"b": 1}}, "atom": {"b": "1"}}}, force=True),
            Step(MERGE, "one", {"spec": {"anything": {"c": [1]}}}),
            Step(APPLY, "two", {"spec": {"anything": {"c": {}}}}, force=True),
            Step(APPLY, "two", {}),
        ),
        id="fields that change their type",
    ),
    pytest.param(
        "Service",
        (
            Step(CREATE, "one", {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}]}}),
            Step(APPLY, "two", {"spec": {"ports": [{"name": "a", "port": 80, "targetPort": 81}]}}, force=True),
            Step(APPLY, "two", {"spec": {"ports": [{"name": "c", "port": 82}]}}),
            Step(APPLY, "three", {"metadata": {"labels": {"a": "1"}}}),
            Step(JSON, "one", [{"op": "replace", "path": f"{ENTRIES}/0/manager", "value": "renamed"}]),
            Step(APPLY, "two", {"spec": {"ports": [{"name": "c", "port": 82}]}}),
        ),
        id="ports found by a default",
    ),
]


@pytest.mark.parametrize(("kind", "steps"), CHOSEN)
def test_chosen_sequences(kind: str, steps: tuple[Step, ...], sides: tuple[Side, Side]) -> None:
    """What chance finds too seldom."""
    compare(*sides, kind_named(kind), steps)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body["kind"])
def test_kinds_of_every_shape(body: Manifest, sides: tuple[Side, Side]) -> None:
    """A create, applies by two, a patch, force, and an apply with less."""
    for steps in rounds(body):
        compare(*sides, kind_of(body), steps)


def test_fields_whose_type_became_atomic(sides: tuple[Side, Side]) -> None:
    """Whoever owned a key of the map, or an item of the list, owns it all from the next write on."""
    group = f"{fresh('atomic')}.example.com"
    kind = Kind(f"{group}/v1", "Thing", st.nothing(), (), st.nothing())
    target, probe = (kind.target(name, sides[0].namespace) for name in ("subject", "probe"))
    spec = {"map": {"a": "1"}, "tags": ["a"], "open": {"a": {"b": 1}}, "text": "1"}
    wider = {"map": {"a": "1", "b": "1"}, "tags": ["a", "b"]}
    became = definition(group)
    fields = became["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for side in sides:
        side.api.create(definition(group)).expect(201)
        eventually(partial(_served, side.api, kind.api_version))
    before = (Step(APPLY, "one", {"spec": spec}), Step(MERGE, "two", {"spec": wider}))
    alike(sides, target, before)
    fields["map"] |= {"x-kubernetes-map-type": "atomic"}
    fields["tags"] |= {"x-kubernetes-list-type": "atomic"}
    for side in sides:
        side.api.apply(became, force=True).expect(200)
        eventually(partial(_atomic_now, side.api, probe))
    after = (
        Step(MERGE, "three", {"spec": {"text": "2"}}),
        Step(APPLY, "one", {"spec": spec}),
        Step(APPLY, "one", {}, force=True),
    )
    alike(sides, target, after)


def _atomic_now(api: Api, probe: Manifest) -> bool:
    """Would an apply own the list as a whole?"""
    tried = api.apply(probe | {"spec": {"tags": ["a"]}}, dryRun="All").expect(201).body
    return bool(tried["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:tags": {}}})
