"""Random sequences of writes to one object by several managers, as data: what the differential tests send to servers."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import Phase
from hypothesis import strategies as st

from tests.support.api import Api, Manifest, Reply, eventually, ref

Strategy = st.SearchStrategy[Any]

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""No shrinking: an example is a dozen requests, and a failure names its step and shows what was there before."""

MANAGERS = ("one", "two", "three", "kubectl")
GROUP = "differential.example.com"
THING = f"{GROUP}/v1"

APPLY, CREATE, REPLACE, MERGE, STRATEGIC, JSON, DELETE = "apply", "create", "replace", "merge", "strategic", "json", "delete"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that sequences write to, and what they write: a strategy of manifests without identity."""

    api_version: str
    name: str
    content: Strategy
    pointers: tuple[str, ...]  # places that JSON patches touch
    values: Strategy  # what they put there
    base: Manifest = field(default_factory=dict)  # content that is valid by itself, to begin with
    status: Strategy | None = None
    namespaced: bool = True

    def __repr__(self) -> str:
        return self.name

    def target(self, name: str, namespace: str) -> Manifest:
        """The manifest that names an object of the kind."""
        return ref(self.api_version, self.name, name, namespace if self.namespaced else None)


@dataclass(frozen=True, slots=True)
class Step:
    """One write. `body` is a manifest without identity, or the operations of a JSON patch."""

    verb: str
    manager: str = ""
    body: Any = None
    force: bool = False
    subresource: str | None = None

    def query(self) -> dict[str, Any]:
        """The query parameters, but for those of apply."""
        return {"fieldManager": self.manager} if self.manager else {}


class Side:
    """One of the servers: a namespace with the owners that sequences name, whose real UIDs stay inside."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        api.create(ref("v1", "Namespace", namespace)).expect(201)
        made = {name: api.create(ref("v1", "ConfigMap", name, namespace)).expect(201).body for name in OWNER_NAMES}
        self.uids = {uid_of(name): body["metadata"]["uid"] for name, body in made.items()}

    def live(self, target: Manifest) -> Manifest | None:
        """The object, or None."""
        reply = self.api.get(target)
        return self._ours(reply).body if reply.status == 200 else None

    def send(self, target: Manifest, step: Step) -> Reply:
        """Send a step; what comes back names owners as the step does."""
        body = json.loads(_replaced(json.dumps(step.body), self.uids))
        return self._ours(_send(self.api, target, replace(step, body=body)))

    def forget(self, target: Manifest) -> None:
        """Take the object away: addresses of Services are few."""
        if self.api.delete(target).status != 404:
            self.api.merge_patch(target, {"metadata": {"finalizers": None}})

    def _ours(self, reply: Reply) -> Reply:
        names = {uid: name for name, uid in self.uids.items()}
        return replace(reply, body=json.loads(_replaced(json.dumps(reply.body), names)))


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, other in words.items():
        text = text.replace(word, other)
    return text


def _send(api: Api, target: Manifest, step: Step) -> Reply:
    sub, query = step.subresource, step.query()
    if step.verb == DELETE:
        return api.delete(target)
    if step.verb == JSON:
        return api.json_patch(target, step.body, subresource=sub, **query)
    if step.verb == MERGE:
        return api.merge_patch(target, step.body, subresource=sub, **query)
    if step.verb == STRATEGIC:
        return api.strategic_patch(target, step.body, subresource=sub, **query)
    manifest = filled(target, step.body)
    if step.verb == APPLY:
        return api.apply(manifest, manager=step.manager, force=step.force, subresource=sub)
    if step.verb == CREATE:
        return api.create(manifest, **query)
    live = api.get(target)
    return api.replace(over(live.body, step.body) if live.status == 200 else manifest, subresource=sub, **query)


def filled(target: Manifest, body: Manifest) -> Manifest:
    """The body with the identity of its object."""
    return {**target, **body, "metadata": {**(body.get("metadata") or {}), **target["metadata"]}}


def over(live: Manifest, body: Manifest) -> Manifest:
    """The live object with whole parts of the body in their place: what an editor sends back."""
    return {**live, **body, "metadata": {**live["metadata"], **(body.get("metadata") or {})}}


# What is written


def some(**optional: Strategy) -> Strategy:
    """Any part of these fields."""
    return st.fixed_dictionaries({}, optional=optional)


def always(required: Mapping[str, Strategy], **optional: Strategy) -> Strategy:
    """These fields, and any part of those."""
    return st.fixed_dictionaries(dict(required), optional=optional)


KEYS = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["1", "2", "x"])
NUMBERS = st.integers(1, 3)
WORDS_BY_KEY = st.dictionaries(KEYS, WORDS, max_size=3)
FINALIZERS = st.lists(st.sampled_from(["tests.example/a", "tests.example/b"]), unique=True, max_size=2)
OWNER_NAMES = ("p", "q")


def uid_of(name: str) -> str:
    """The UID of an owner as steps and answers write it."""
    return f"uid-of-owner-{name}"


OWNERS = st.lists(
    st.builds(
        lambda name: {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid_of(name)}, st.sampled_from(OWNER_NAMES)
    ),
    unique_by=lambda owner: owner["uid"],
    max_size=2,
)
METADATA = some(labels=WORDS_BY_KEY, annotations=WORDS_BY_KEY, finalizers=FINALIZERS, ownerReferences=OWNERS)
ENCODED = st.sampled_from(["MQ==", "Mg==", "eA=="])

PORT = always(
    {"port": st.sampled_from([80, 81])}, protocol=st.sampled_from(["TCP", "UDP"]), targetPort=st.sampled_from([80, 81, "web"])
).map(lambda port: {**port, "name": f"p{port['port']}{port.get('protocol', 'TCP').lower()}"})
PORTS = st.lists(PORT, min_size=1, max_size=3, unique_by=lambda port: port["name"])
SERVICE_SPEC = some(ports=PORTS, selector=WORDS_BY_KEY, sessionAffinity=st.sampled_from(["None", "ClientIP"]))

ENVIRONMENT = st.lists(always({"name": KEYS}, value=WORDS), max_size=3, unique_by=lambda each: each["name"])
CONTAINER_PORT = always({"containerPort": st.sampled_from([80, 81])}, protocol=st.sampled_from(["TCP", "UDP"]), name=KEYS)
CONTAINER = always(
    {"name": st.sampled_from(["main", "side"]), "image": st.sampled_from(["img:1", "img:2"])},
    env=ENVIRONMENT,
    ports=st.lists(CONTAINER_PORT, max_size=2, unique_by=lambda each: (each["containerPort"], each.get("protocol"))),
    resources=some(limits=some(cpu=st.sampled_from(["1", "1000m", "2"]), memory=st.sampled_from(["1Gi", "1024Mi"]))),
    args=st.lists(WORDS, max_size=2),
)
CONTAINERS = st.lists(CONTAINER, max_size=2, unique_by=lambda each: each["name"])
TEMPLATE = always(
    {"metadata": st.just({"labels": {"app": "subject"}})},
    spec=some(
        containers=CONTAINERS,
        volumes=st.lists(always({"name": KEYS}, emptyDir=st.just({})), max_size=2, unique_by=lambda each: each["name"]),
        tolerations=st.lists(always({"key": KEYS, "operator": st.just("Exists")}), max_size=2),
        nodeSelector=WORDS_BY_KEY,
    ),
)
WHOLE_TEMPLATE = always(
    {
        "metadata": st.just({"labels": {"app": "subject"}}),
        "spec": always({"containers": st.lists(CONTAINER, min_size=1, max_size=1)}),
    }
)
DEPLOYMENT_SPEC = st.one_of(
    always(
        {"selector": st.just({"matchLabels": {"app": "subject"}}), "template": WHOLE_TEMPLATE},
        replicas=NUMBERS,
        strategy=st.sampled_from([{"type": "Recreate"}, {"type": "RollingUpdate"}, {"rollingUpdate": {"maxSurge": 2}}, {}]),
    ),
    some(replicas=NUMBERS, template=TEMPLATE, paused=st.booleans(), minReadySeconds=NUMBERS),
)

RULE = always(
    {"apiGroups": st.just([""]), "resources": st.lists(st.sampled_from(["pods", "secrets"]), min_size=1, max_size=2)},
    verbs=st.lists(st.sampled_from(["get", "list"]), min_size=1, max_size=2),
)

PART = always(
    {"name": KEYS},
    value=st.one_of(WORDS, st.none()),
    nested=some(a=WORDS, b=NUMBERS),
    tags=st.lists(KEYS, max_size=2, unique=True),
    labels=WORDS_BY_KEY,
)
THING_PORT = always({"port": st.sampled_from([80, 81])}, protocol=st.sampled_from(["TCP", "UDP"]), name=KEYS)
LEAVES = st.one_of(WORDS, NUMBERS, st.booleans(), st.none(), st.sampled_from([1.0, 1.5]))
OPEN = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=2)), max_leaves=4
)
EMBEDDED = always(
    {"apiVersion": st.just("v1"), "kind": st.just("ConfigMap")},
    metadata=always({"name": KEYS}, labels=WORDS_BY_KEY, finalizers=FINALIZERS),
    data=WORDS_BY_KEY,
)
THING_SPEC = some(
    text=st.one_of(WORDS, st.none()),
    number=NUMBERS,
    ratio=st.sampled_from([1, 1.0, 1.5, 2]),
    flag=st.booleans(),
    either=st.one_of(NUMBERS, WORDS),
    defaulted=WORDS,
    nullable=st.one_of(WORDS, st.none()),
    map=WORDS_BY_KEY,
    atom=WORDS_BY_KEY,
    plain=st.lists(WORDS, max_size=3),
    atoms=st.lists(some(a=WORDS, b=NUMBERS), max_size=2),
    tags=st.lists(KEYS, max_size=3, unique=True),
    numbers=st.lists(NUMBERS, max_size=3, unique=True),
    parts=st.lists(PART, max_size=3, unique_by=lambda each: each["name"]),
    ports=st.lists(THING_PORT, max_size=3, unique_by=lambda each: (each["port"], each.get("protocol", "TCP"))),
    open=st.one_of(st.none(), st.dictionaries(KEYS, OPEN, max_size=3)),
    anything=OPEN,
    embedded=EMBEDDED,
)
CONDITION = always({"type": KEYS, "status": st.sampled_from(["True", "False"])}, reason=WORDS)
THING_STATUS = some(phase=WORDS, conditions=st.lists(CONDITION, max_size=2, unique_by=lambda each: each["type"]))

LABELS = ("/metadata/labels", "/metadata/labels/a", "/metadata/annotations/b")

KINDS = (
    Kind(
        "v1",
        "ConfigMap",
        some(metadata=METADATA, data=WORDS_BY_KEY, binaryData=st.dictionaries(st.sampled_from(["d", "e"]), ENCODED, max_size=2)),
        (*LABELS, "/data", "/data/a", "/data/b"),
        st.one_of(WORDS, WORDS_BY_KEY),
    ),
    Kind(
        "v1",
        "Secret",
        some(metadata=METADATA, data=st.dictionaries(KEYS, ENCODED, max_size=2), stringData=WORDS_BY_KEY, type=st.just("Opaque")),
        (*LABELS, "/data", "/data/a", "/stringData/a"),
        st.one_of(ENCODED, st.dictionaries(KEYS, ENCODED, max_size=2)),
    ),
    Kind(
        "v1",
        "Service",
        some(metadata=METADATA, spec=SERVICE_SPEC),
        (*LABELS, "/spec/ports", "/spec/ports/0", "/spec/ports/0/port", "/spec/ports/-", "/spec/selector/a"),
        st.one_of(WORDS, PORT, PORTS, st.sampled_from([80, 81])),
        {"spec": {"ports": [{"port": 80, "name": "p80tcp"}], "selector": {"a": "1"}}},
    ),
    Kind(
        "apps/v1",
        "Deployment",
        some(metadata=METADATA, spec=DEPLOYMENT_SPEC),
        (
            *LABELS,
            "/spec/replicas",
            "/spec/template/spec/containers/0/image",
            "/spec/template/spec/containers/-",
            "/spec/template/spec/nodeSelector",
            "/spec/strategy",
        ),
        st.one_of(NUMBERS, WORDS, CONTAINER, WORDS_BY_KEY),
        {
            "spec": {
                "selector": {"matchLabels": {"app": "subject"}},
                "template": {
                    "metadata": {"labels": {"app": "subject"}},
                    "spec": {"containers": [{"name": "main", "image": "img:1", "env": [{"name": "a", "value": "1"}]}]},
                },
            }
        },
        some(replicas=NUMBERS, observedGeneration=NUMBERS),
    ),
    Kind(
        "rbac.authorization.k8s.io/v1",
        "Role",
        some(metadata=METADATA, rules=st.lists(RULE, max_size=2)),
        (*LABELS, "/rules", "/rules/0", "/rules/0/verbs/0"),
        st.one_of(st.just("get"), RULE, st.lists(RULE, max_size=1)),
    ),
    Kind(
        "v1",
        "Namespace",
        some(metadata=some(labels=WORDS_BY_KEY, annotations=WORDS_BY_KEY)),
        (*LABELS, "/metadata/labels/b"),
        st.one_of(WORDS, WORDS_BY_KEY),
        namespaced=False,
    ),
    Kind(
        THING,
        "Thing",
        some(metadata=METADATA, spec=THING_SPEC, status=THING_STATUS),
        (
            *LABELS,
            "/spec",
            "/spec/text",
            "/spec/tags",
            "/spec/tags/0",
            "/spec/numbers/-",
            "/spec/parts/0",
            "/spec/parts/0/value",
            "/spec/parts/-",
            "/spec/ports",
            "/spec/map/a",
            "/spec/atom",
            "/spec/atom/a",
            "/spec/open/a",
            "/spec/anything",
            "/spec/embedded/data/a",
        ),
        st.one_of(LEAVES, PART, THING_PORT, THING_SPEC, st.lists(THING_PORT, max_size=2), OPEN),
        status=THING_STATUS,
    ),
)


# Steps

NO_ENTRIES: tuple[Any, ...] = ([{}], [], None)
"""What a client may send as managedFields to be rid of them, or believe so."""


def steps(kind: Kind) -> Strategy:
    """One step on an object of a kind."""
    manager = st.sampled_from(MANAGERS)
    given = st.one_of(manager, st.just(""))
    writes = [
        st.builds(Step, st.just(APPLY), manager, kind.content, st.booleans()),
        st.builds(Step, st.just(APPLY), manager, kind.content, st.booleans()),
        st.builds(Step, st.just(APPLY), manager, _odd(kind.content), st.booleans()),
        st.builds(Step, st.just(CREATE), given, kind.content),
        st.builds(Step, st.just(REPLACE), given, kind.content),
        st.builds(Step, st.just(MERGE), given, _with_nulls(kind.content)),
        st.builds(Step, st.just(JSON), given, _operations(kind)),
        st.builds(Step, st.just(JSON), given, _of_managers()),
        st.builds(Step, st.just(MERGE), given, st.sampled_from([{"metadata": {"managedFields": value}} for value in NO_ENTRIES])),
    ]
    if kind.api_version != THING:
        writes.append(st.builds(Step, st.just(STRATEGIC), given, _with_nulls(kind.content)))
    if kind.status is not None:
        content = some(metadata=METADATA, status=kind.status)
        writes.append(st.builds(Step, st.just(APPLY), manager, content, st.booleans(), st.just("status")))
        writes.append(st.builds(Step, st.just(MERGE), given, content, st.just(False), st.just("status")))
        writes.append(st.builds(Step, st.just(REPLACE), given, content, st.just(False), st.just("status")))
    if kind.namespaced:
        writes.append(st.just(Step(DELETE)))
    likely = st.builds(Step, st.just(APPLY), manager, kind.content.map(lambda body: _laid(kind.base, body)), st.booleans())
    return st.one_of(likely, likely, *writes)


def sequences(kind: Kind, least: int = 2, most: int = 8) -> Strategy:
    """A few steps on one object, the first of which usually makes it."""
    manager, content = st.sampled_from(MANAGERS), kind.content.map(lambda body: _laid(kind.base, body))
    made = st.one_of(st.builds(Step, st.just(CREATE), manager, content), st.builds(Step, st.just(APPLY), manager, content))
    first = st.one_of(made, made, made, steps(kind))
    return st.tuples(first, st.lists(steps(kind), min_size=least, max_size=most)).map(lambda each: (each[0], *each[1]))


def _laid(base: Manifest, body: Manifest) -> Manifest:
    """The body with what it needs to be valid."""
    out = dict(body)
    for name, value in base.items():
        given = out.get(name)
        out[name] = _laid(value, given) if isinstance(value, dict) and isinstance(given, dict) else out.get(name, value)
    return out


def _operations(kind: Kind) -> Strategy:
    place = st.sampled_from(kind.pointers)
    one = st.one_of(
        st.builds(lambda path, value: {"op": "add", "path": path, "value": value}, place, kind.values),
        st.builds(lambda path, value: {"op": "replace", "path": path, "value": value}, place, kind.values),
        st.builds(lambda path: {"op": "remove", "path": path}, place),
    )
    return st.lists(one, min_size=1, max_size=2)


def _of_managers() -> Strategy:
    place = "/metadata/managedFields"
    return st.sampled_from(
        [
            [{"op": "remove", "path": f"{place}/0"}],
            [{"op": "replace", "path": place, "value": [{}]}],
            [{"op": "replace", "path": place, "value": []}],
            [{"op": "remove", "path": place}],
            [{"op": "replace", "path": f"{place}/0/manager", "value": "renamed"}],
            [{"op": "replace", "path": f"{place}/0/operation", "value": "Update"}],
            [{"op": "replace", "path": f"{place}/0/operation", "value": "Nonsense"}],
            [{"op": "replace", "path": f"{place}/0/fieldsV1", "value": {"f:metadata": {"f:labels": {"f:a": {}, ".": {}}}}}],
        ]
    )


def _odd(content: Strategy) -> Strategy:
    """Configurations that do not fit: unknown fields, wrong types."""
    wrong = st.sampled_from(
        [("unknown", "x"), ("data", {"a": 1}), ("spec", "text"), ("spec", {"unknown": 1}), ("metadata", {"labels": 3})]
    )
    return st.builds(lambda body, odd: {**body, odd[0]: odd[1]}, content, wrong)


@st.composite
def _with_nulls(draw: st.DrawFn, content: Strategy) -> Any:
    """A body some of whose top parts, or parts of these, are null: what a merge patch removes."""
    body = draw(content)
    places = list(_places(body))
    for holder, name in draw(st.lists(st.sampled_from(places), max_size=1)) if places else ():
        holder[name] = None
    return body


def _places(body: Manifest) -> Iterator[tuple[dict[str, Any], str]]:
    for name, part in body.items():
        yield body, name
        if isinstance(part, dict):
            yield from ((part, inner) for inner in part)


# Answers


ALLOTTED = ("clusterIP", "clusterIPs")
SET_ASIDE = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink")


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer without what differs between any two servers."""

    status: int
    content: Any
    managers: list[Any] = field(default_factory=list)


def seen(reply: Reply) -> Seen:
    """What of an answer has to be the same on both servers."""
    body = reply.body
    if not isinstance(body, dict):
        return Seen(reply.status, body)
    if body.get("kind") == "Status":
        return Seen(reply.status, _failure(body))
    # A Job has its own UID among its labels.
    body = json.loads(json.dumps(body).replace(body["metadata"].get("uid") or "no uid", "own-uid"))
    metadata = {key: value for key, value in body["metadata"].items() if key not in (*SET_ASIDE, "managedFields")}
    content = {**body, "metadata": metadata}
    if isinstance(body.get("spec"), dict):
        content["spec"] = {key: value for key, value in body["spec"].items() if key not in ALLOTTED}
        for port in body["spec"].get("ports") or () if body["kind"] == "Service" else ():
            port.pop("nodePort", None)
    return Seen(reply.status, content, managers(body))


def managers(body: Manifest) -> list[Any]:
    """The managedFields without their times, in an order that times do not decide."""
    entries = [
        {key: value for key, value in entry.items() if key != "time"} | {"timed": "time" in entry}
        for entry in body["metadata"].get("managedFields") or ()
    ]
    return sorted(
        entries, key=lambda entry: json.dumps([entry.get(key) for key in ("operation", "manager", "apiVersion", "subresource")])
    )


def in_order(causes: list[Any]) -> list[Any]:
    """Causes in an order of their own: that of the managers is random in Go."""
    return sorted(causes, key=lambda cause: (cause.get("message", ""), cause.get("field", ""), cause.get("reason", "")))


def _failure(body: Manifest) -> Any:
    details = {key: value for key, value in (body.get("details") or {}).items() if key not in ("uid", "name")}
    said = {"reason": body.get("reason"), "code": body.get("code")}
    # Of an apply that fails as an apply every word counts; validation has tests of its own.
    if said["code"] == 500 or str(body.get("message", "")).startswith("Apply failed"):
        return said | {"message": body.get("message"), "details": details | {"causes": in_order(details.get("causes") or [])}}
    return said


# The custom kind


def serve_things(api: Api) -> None:
    """Have the custom kind served. Other workers of the run may do so at the same moment."""
    eventually(lambda: api.apply(definition(), force=True).status in (200, 201))
    eventually(lambda: api.list(THING, "Thing", "default").status == 200)


def definition(group: str = GROUP) -> Manifest:
    """A kind with every type of list and of map."""
    text, number = {"type": "string"}, {"type": "integer"}
    words = {"type": "object", "additionalProperties": text}
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": text,
            "value": text,
            "nested": {"type": "object", "properties": {"a": text, "b": number}},
            "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
            "labels": words,
        },
    }
    port = {
        "type": "object",
        "required": ["port"],
        "properties": {"port": number, "protocol": text | {"default": "TCP"}, "name": text},
    }
    condition = {"type": "object", "required": ["type"], "properties": {"type": text, "status": text, "reason": text}}
    spec = {
        "text": text,
        "number": number,
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "either": {"x-kubernetes-int-or-string": True},
        "defaulted": text | {"default": "d"},
        "nullable": text | {"nullable": True},
        "map": words,
        "atom": words | {"x-kubernetes-map-type": "atomic"},
        "plain": {"type": "array", "items": text},
        "atoms": {
            "type": "array",
            "items": {"type": "object", "properties": {"a": text, "b": number}},
            "x-kubernetes-list-type": "atomic",
        },
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "numbers": {"type": "array", "items": number, "x-kubernetes-list-type": "set"},
        "parts": {"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "ports": {
            "type": "array",
            "items": port,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        "open": {"type": "object", "nullable": True, "x-kubernetes-preserve-unknown-fields": True},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    }
    status = {
        "phase": text,
        "conditions": {
            "type": "array",
            "items": condition,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": status},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"things.{group}") | {
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [version],
        }
    }
