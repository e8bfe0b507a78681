"""Requests that wish a server no good: what is sent, byte by byte, and what the real server answers with."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]

JSON, YAML = "application/json", "application/yaml"
MERGE, STRATEGIC, JSON_PATCH = (f"application/{kind}-patch+json" for kind in ("merge", "strategic-merge", "json"))
APPLY = "application/apply-patch+yaml"

CONFIG = "/api/v1/namespaces/{namespace}/configmaps"
SECRET = "/api/v1/namespaces/{namespace}/secrets"
SERVICE = "/api/v1/namespaces/{namespace}/services"
NAMESPACE = "/api/v1/namespaces"
DEPLOYMENT = "/apis/apps/v1/namespaces/{namespace}/deployments"
ROLE = "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles"
QUOTA = "/api/v1/namespaces/{namespace}/resourcequotas"
TENANT = "/apis/copyhold.dev/v1alpha1/tenants"
RESOURCE = "/apis/copyhold.dev/v1alpha1/namespaces/{namespace}/tenantresources"

MANY = 10_000
TARGET = "target"
STRICT, WARNED = "dryRun=All&fieldValidation=Strict", "dryRun=All&fieldValidation=Warn"


@dataclass(frozen=True, slots=True)
class Attack:
    """One request. `{namespace}` in the path stands for a namespace that is there; nothing of it is stored."""

    path: str
    body: bytes
    status: int
    method: str = "POST"
    content_type: str = JSON
    query: str = STRICT


def text(kind: str, api_version: str = "v1", name: str | None = "hostile", **content: Any) -> Manifest:
    """An object of a kind, without any content unless given."""
    metadata = {} if name is None else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | content


def config(**content: Any) -> bytes:
    """A ConfigMap."""
    return packed(text("ConfigMap", **content))


def tenant(name: str | None = "hostile", **spec: Any) -> bytes:
    """A Tenant."""
    return packed(text("Tenant", "copyhold.dev/v1alpha1", name, spec=spec))


def resource(*groups: Any, **spec: Any) -> bytes:
    """A TenantResource with these groups of resources."""
    return packed(text("TenantResource", "copyhold.dev/v1alpha1", spec={"resources": list(groups)} | spec))


def deployment(**spec: Any) -> bytes:
    """A Deployment."""
    return packed(text("Deployment", "apps/v1", spec=spec))


def packed(value: Any) -> bytes:
    """As JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def cut(body: bytes, before: bytes, after: bytes) -> bytes:
    """The body with one part replaced by what no JSON writer writes."""
    assert before in body
    return body.replace(before, after, 1)


def deep(levels: int, opening: bytes = b'{"a":', closing: bytes = b"}") -> bytes:
    """Something nested."""
    return opening * levels + b"1" + closing * levels


MARK = b'"@"'
WITH_MARK = config(data={"a": "@"})
RESOURCE_WITH_MARK = cut(resource({"template": "x"}, resyncPeriod="@"), MARK, b'"10m"')

GROUP: Manifest = {"template": "x"}
POD: Manifest = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
CHOSEN: Manifest = {"matchLabels": {"a": "b"}}


def attacks() -> Iterator[tuple[str, Attack]]:
    """Every attack by its name."""
    yield from texts()
    yield from names()
    yield from built_in()
    yield from custom()
    yield from sizes()
    yield from patches()


HARMLESS = ("managed fields that are none", "a version to begin with")
"""The real server lets these pass: it resets what is malformed, and a new object's version is not looked at."""


def texts() -> Iterator[tuple[str, Attack]]:
    """What is no object at all, or not the one that was asked for."""
    yield "an empty body", Attack(CONFIG, b"", 400)
    yield "no JSON", Attack(CONFIG, b"{", 400)
    yield "words after the object", Attack(CONFIG, config() + b" more", 400)
    yield "a list", Attack(CONFIG, b"[]", 400)
    yield "a string", Attack(CONFIG, b'"ConfigMap"', 400)
    yield "null", Attack(CONFIG, b"null", 422)
    yield "an empty object", Attack(CONFIG, b"{}", 422)
    yield "another kind", Attack(CONFIG, packed(text("Secret")), 400)
    yield "another group", Attack(CONFIG, packed(text("ConfigMap", "apps/v1")), 400)
    yield "a kind that is a number", Attack(CONFIG, packed({"apiVersion": "v1", "kind": 1}), 400)
    yield "an unknown kind", Attack(CONFIG, packed(text("Unheard")), 400)
    yield "another kind than the custom one", Attack(TENANT, packed(text("TenantResource", "copyhold.dev/v1alpha1")), 422)
    yield "bad UTF-8", Attack(CONFIG, cut(WITH_MARK, b"@", b"\xff\xfe"), 201)
    yield "bad UTF-8 in a custom kind", Attack(RESOURCE, cut(resource({"template": "@"}), b"@", b"\xff"), 201)
    yield "half a surrogate", Attack(CONFIG, cut(WITH_MARK, b"@", b"\\ud800"), 201)
    yield "a raw control character", Attack(CONFIG, cut(WITH_MARK, b"@", b"\x01"), 400)
    yield "a key twice", Attack(CONFIG, cut(WITH_MARK, MARK, b'"1","a":"2"'), 400)
    yield "a field twice", Attack(CONFIG, cut(WITH_MARK, MARK, b'"1"},"data":{"b":"2"'), 400)
    yield "a key twice in a custom kind", Attack(RESOURCE, cut(RESOURCE_WITH_MARK, b'"10m"', b'"10m","resyncPeriod":"1h"'), 400)
    yield "a key twice, only warned of", Attack(CONFIG, cut(WITH_MARK, MARK, b'"1","a":"2"'), 201, query="dryRun=All")
    yield "a field in capitals", Attack(CONFIG, cut(WITH_MARK, b'"data"', b'"Data"'), 400)
    yield "an alias in YAML", Attack(CONFIG, b"a: &a [1]\nb: *a\n", 400, content_type=YAML)
    yield "a key twice in YAML", Attack(CONFIG, b"apiVersion: v1\nkind: ConfigMap\nkind: ConfigMap\n", 400, content_type=YAML)
    yield "no YAML", Attack(CONFIG, b"a: [", 400, content_type=YAML)
    yield "an unknown type of body", Attack(CONFIG, config(), 415, content_type="text/plain")
    yield "an unknown validation", Attack(CONFIG, config(), 422, query="dryRun=All&fieldValidation=Perhaps")
    yield "an unknown dry run", Attack(CONFIG, config(), 422, query="dryRun=Some")


def names() -> Iterator[tuple[str, Attack]]:
    """Names, labels, annotations, owners and what else metadata holds."""
    for name, given in {"in capitals": "Hostile", "with a slash": "a/b", "of 254 characters": "a" * 254, "of dots": ".."}.items():
        yield f"a name {name}", Attack(CONFIG, config(name=given), 422)
        yield f"a name {name} of a custom kind", Attack(TENANT, tenant(given, owners=[]), 422)
    yield "no name", Attack(CONFIG, config(name=None), 422)
    yield "no name of a custom kind", Attack(TENANT, tenant(None, owners=[]), 422)
    yield "another namespace", Attack(CONFIG, config(metadata={"name": "hostile", "namespace": "elsewhere"}), 400)
    yield "a namespace with a dot", Attack(NAMESPACE, packed(text("Namespace", name="a.b")), 422)
    yield "a service in capitals", Attack(SERVICE, packed(text("Service", name="A", spec={"ports": [{"port": 80}]})), 422)
    bad: dict[str, Any] = {
        "labels that are numbers": {"labels": {"a": 1}},
        "labels that are a list": {"labels": ["a"]},
        "a label of 64 characters": {"labels": {"a": "b" * 64}},
        "a label with a blank": {"labels": {"a b": "c d"}},
        "a label with two slashes": {"labels": {"a/b/c": "d"}},
        "annotations of 300 KiB": {"annotations": {"a": "b" * 300 * 1024}},
        "an annotation without a name": {"annotations": {"": "a"}},
        "finalizers without a name": {"finalizers": [""]},
        "finalizers that are a string": {"finalizers": "a"},
        "a finalizer in capitals": {"finalizers": ["A B"]},
        "an owner without a kind": {"ownerReferences": [{"apiVersion": "v1", "name": "a", "uid": "1"}]},
        "two controllers": {
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": True} for name in ("a", "b")
            ]
        },
        "a time that is none": {"creationTimestamp": "yesterday"},
        "a number for a time": {"creationTimestamp": 1},
        "a generation that is a string": {"generation": "1"},
        "an unknown field of metadata": {"unheard": 1},
        "managed fields that are none": {"managedFields": [{"manager": "a", "operation": "Eat"}]},
        "a version to begin with": {"resourceVersion": "7"},
    }
    for name, metadata in bad.items():
        mistyped = any(word in name for word in ("numbers", "are a", "is a", "is none", "a number", "unknown"))
        status = 400 if mistyped else 201 if name in HARMLESS else 422
        yield name, Attack(CONFIG, config(metadata={"name": "hostile"} | metadata), status)
        yield (
            f"{name} of a custom kind",
            Attack(TENANT, packed(text("Tenant", "copyhold.dev/v1alpha1", metadata={"name": "hostile"} | metadata)), status),
        )


def built_in() -> Iterator[tuple[str, Attack]]:
    """Contents of built-in kinds."""
    yield "data that is a number", Attack(CONFIG, config(data={"a": 1}), 400)
    yield "data that is a list", Attack(CONFIG, config(data=["a"]), 400)
    yield "data with a slash in the key", Attack(CONFIG, config(data={"a/b": "c"}), 422)
    yield "data and binary data of one name", Attack(CONFIG, config(data={"a": "b"}, binaryData={"a": "Yg=="}), 422)
    yield "no base64", Attack(CONFIG, config(binaryData={"a": "?"}), 400)
    yield "an unknown field", Attack(CONFIG, config(spec={}), 400)
    yield "immutable as a string", Attack(CONFIG, config(immutable="true"), 400)
    yield "a secret that is no base64", Attack(SECRET, packed(text("Secret", data={"a": "?"})), 400)
    yield "a secret of a type without its keys", Attack(SECRET, packed(text("Secret", type="kubernetes.io/tls")), 422)
    yield "a deployment of nothing", Attack(DEPLOYMENT, deployment(), 422)
    yield (
        "a deployment that selects others",
        Attack(DEPLOYMENT, deployment(selector={"matchLabels": {"x": "y"}}, template=POD), 422),
    )
    yield "replicas as a string", Attack(DEPLOYMENT, deployment(replicas="1", selector=CHOSEN, template=POD), 400)
    yield "replicas beyond int32", Attack(DEPLOYMENT, deployment(replicas=2**31, selector=CHOSEN, template=POD), 400)
    yield "replicas beyond int64", Attack(DEPLOYMENT, deployment(replicas=2**64, selector=CHOSEN, template=POD), 400)
    yield "a fraction of a replica", Attack(DEPLOYMENT, deployment(replicas=1.5, selector=CHOSEN, template=POD), 400)
    yield "fewer than none", Attack(DEPLOYMENT, deployment(replicas=-1, selector=CHOSEN, template=POD), 422)
    yield (
        "an unknown field of a container",
        Attack(
            DEPLOYMENT,
            deployment(selector=CHOSEN, template=POD | {"spec": {"containers": [{"name": "a", "image": "a", "imagge": "b"}]}}),
            400,
        ),
    )
    yield (
        "two containers of one name",
        Attack(
            DEPLOYMENT,
            deployment(selector=CHOSEN, template=POD | {"spec": {"containers": [{"name": "a", "image": "a"}] * 2}}),
            422,
        ),
    )
    yield "a quantity that is none", Attack(QUOTA, packed(text("ResourceQuota", spec={"hard": {"cpu": "much"}})), 400)
    yield "a negative quota", Attack(QUOTA, packed(text("ResourceQuota", spec={"hard": {"cpu": "-1"}})), 422)
    yield (
        "a role without verbs",
        Attack(
            ROLE,
            packed(text("Role", "rbac.authorization.k8s.io/v1", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": []}])),
            422,
        ),
    )
    yield "a port beyond ports", Attack(SERVICE, packed(text("Service", spec={"ports": [{"port": 70_000}]})), 422)
    yield "no ports", Attack(SERVICE, packed(text("Service", spec={})), 422)


def custom() -> Iterator[tuple[str, Attack]]:
    """Contents of our own kinds, against each of their rules."""
    cases: dict[str, tuple[bytes, int]] = {
        "no resources": (packed(text("TenantResource", "copyhold.dev/v1alpha1", spec={})), 422),
        "no spec": (packed(text("TenantResource", "copyhold.dev/v1alpha1")), 422),
        "a spec that is a string": (packed(text("TenantResource", "copyhold.dev/v1alpha1", spec="x")), 422),
        "resources that are an object": (packed(text("TenantResource", "copyhold.dev/v1alpha1", spec={"resources": {}})), 422),
        "a group of nothing": (resource({}), 422),
        "an unknown field of a group": (resource(GROUP | {"unheard": 1, "policy": {"unheard": {"a": 1}}}), 400),
        "two groups of one name": (resource(GROUP | {"name": "a"}, GROUP | {"name": "a"}), 422),
        "a group with a bad name": (resource(GROUP | {"name": "A_b"}), 422),
        "an unknown policy": (resource(GROUP | {"policy": {"creation": "Steal", "deletion": 1}}), 422),
        "an empty condition": (resource(GROUP | {"policy": {"condition": " "}}), 422),
        "a condition of 5,000 characters": (resource(GROUP | {"policy": {"condition": "x" * 5000}}), 422),
        "protect as a string": (resource(GROUP | {"policy": {"protect": "yes"}}), 422),
        "a period that is none": (resource(GROUP, resyncPeriod="soon"), 422),
        "a period that is too short": (resource(GROUP, resyncPeriod="1ms"), 422),
        "a period beyond all": (resource(GROUP, resyncPeriod="99999999999999h"), 422),
        "a period as a number": (resource(GROUP, resyncPeriod=10), 422),
        "cordoned as a number": (resource(GROUP, cordoned=1), 422),
        "depending on one twice": (resource(GROUP, dependsOn=[{"name": "a"}, {"name": "a"}]), 422),
        "depending on nobody": (resource(GROUP, dependsOn=[{}]), 422),
        "depending on a hundred": (resource(GROUP, dependsOn=[{"name": f"a{n}"} for n in range(100)]), 422),
        "null for everything": (resource(GROUP, dependsOn=None, resyncPeriod=None, cordoned=None), 201),
        "null for the resources": (packed(text("TenantResource", "copyhold.dev/v1alpha1", spec={"resources": None})), 422),
        "null among groups": (resource(None), 422),
        "a template that is an object": (resource({"template": {"a": 1}}), 400),
        "a label of an object": (resource(GROUP | {"namespaceSelector": {"matchLabels": {"a": {}}}}), 422),
        "an operator without values": (
            resource(GROUP | {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
            422,
        ),
        "a thousand groups": (resource(*({"name": f"a{n}", "template": "x"} for n in range(1000))), 422),
    }
    for name, (body, status) in cases.items():
        yield name, Attack(RESOURCE, body, status)
    tenants: dict[str, tuple[bytes, int]] = {
        "an owner of an unknown kind": (tenant(owners=[{"kind": "Dog", "name": "a"}]), 422),
        "an owner without a name": (tenant(owners=[{"kind": "User", "name": ""}]), 422),
        "an owner twice": (tenant(owners=[{"kind": "User", "name": "a"}] * 2), 422),
        "owners that are an object": (tenant(owners={"kind": "User"}), 400),
        "an empty selector": (tenant(namespaceSelector={}), 422),
        "a selector with a bad value": (tenant(namespaceSelector={"matchLabels": {"a": "-b-"}}), 422),
        "a name of 64 characters of a tenant": (tenant("a" * 64), 422),
        "a number beyond int64": (cut(tenant(owners="@"), MARK, b"99999999999999999999"), 422),
        "a number beyond floats": (cut(tenant(owners="@"), MARK, b"1e999"), 400),
        "an unknown field at the top": (packed(text("Tenant", "copyhold.dev/v1alpha1", unheard={"a": [1]})), 400),
        "finalizers that may be anybody's": (
            packed(text("Tenant", "copyhold.dev/v1alpha1", metadata={"name": "hostile", "finalizers": ["plain", "a.b"]})),
            201,
        ),
        "an unknown field, only warned of": (packed(text("Tenant", "copyhold.dev/v1alpha1", unheard=1)), 201),
    }
    for name, (body, status) in tenants.items():
        yield name, Attack(TENANT, body, status, query=WARNED if "warned" in name else STRICT)


def sizes() -> Iterator[tuple[str, Attack]]:
    """Too much, too deep, too many."""
    yield "a body of 4 MB", Attack(CONFIG, config(data={"a": "x" * 4_000_000}), 413)
    yield "data of 2 MB", Attack(CONFIG, config(data={"a": "x" * 2_000_000}), 422)
    yield "a secret of 2 MB", Attack(SECRET, packed(text("Secret", stringData={"a": "x" * 2_000_000})), 422)
    yield "5,000 keys", Attack(CONFIG, config(data={f"k{n}": "" for n in range(5000)}), 201)
    yield "a key of 1 MB", Attack(CONFIG, config(data={"k" * 1_000_000: ""}), 422)
    yield "10,000 levels of objects", Attack(CONFIG, cut(WITH_MARK, MARK, deep(MANY)), 400)
    yield "10,000 levels of lists", Attack(CONFIG, cut(WITH_MARK, MARK, deep(MANY, b"[", b"]")), 400)
    yield "10,000 levels in a custom kind", Attack(RESOURCE, cut(resource({"template": "@"}), MARK, deep(MANY)), 400)
    yield "200 levels in a custom kind", Attack(RESOURCE, cut(resource({"template": "@"}), MARK, deep(200)), 400)
    yield "200 levels in a built-in kind", Attack(CONFIG, cut(WITH_MARK, MARK, deep(200)), 400)
    yield "a number of 100,000 digits", Attack(CONFIG, cut(WITH_MARK, MARK, b"9" * 100_000), 400)
    yield "a template of 1 MB", Attack(RESOURCE, resource({"template": "x" * 1_000_000}), 422)


def patches() -> Iterator[tuple[str, Attack]]:
    """Patches of what is there: TARGET is created before."""
    path = f"{CONFIG}/{TARGET}"
    cases: dict[str, tuple[str, bytes, int]] = {
        "a merge patch that is a list": (MERGE, b"[]", 400),
        "a merge patch that is no JSON": (MERGE, b"{", 400),
        "a merge patch with a wrong type": (MERGE, b'{"data":{"a":1}}', 422),
        "a merge patch with an unknown field": (MERGE, b'{"unheard":1}', 422),
        "a merge patch of the name": (MERGE, b'{"metadata":{"name":"other"}}', 400),
        "a merge patch of the kind": (MERGE, b'{"kind":"Unheard"}', 422),
        "a merge patch of the uid": (MERGE, b'{"metadata":{"uid":"1"}}', 422),
        "a merge patch of an old version": (MERGE, b'{"metadata":{"resourceVersion":"1"}}', 409),
        "a strategic patch that is no JSON": (STRATEGIC, b"[", 400),
        "a strategic patch with an unknown order": (STRATEGIC, b'{"data":{"$patch":"shuffle"}}', 500),
        "a JSON patch that is an object": (JSON_PATCH, b"{}", 400),
        "a JSON patch to nowhere": (JSON_PATCH, b'[{"op":"remove","path":"/unheard"}]', 422),
        "a JSON patch of 10,001 operations": (
            JSON_PATCH,
            packed([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001),
            413,
        ),
        "an unknown type of patch": ("application/unheard+json", b"{}", 415),
        "an apply of another name": (APPLY, config(name="other"), 400),
        "an apply with a wrong type": (APPLY, config(name=TARGET, data={"a": 1}), 500),
        "an apply with an unknown field": (APPLY, config(name=TARGET, unheard=1), 500),
        "an apply that is no YAML": (APPLY, b"a: [", 400),
        "an apply of nothing": (APPLY, b"{}", 400),
        "an apply with managed fields": (
            APPLY,
            config(metadata={"name": TARGET, "managedFields": [{"manager": "a"}]}),
            400,
        ),
    }
    for name, (kind, body, status) in cases.items():
        query = STRICT + ("&fieldManager=hostile" if kind == APPLY else "")
        yield name, Attack(path, body, status, "PATCH", kind, query)
    yield "an apply without a manager", Attack(path, config(name=TARGET), 422, "PATCH", APPLY, "dryRun=All")
    yield "a put of what is not there", Attack(TENANT + "/hostile", tenant(), 404, "PUT")
    yield "a put of another name", Attack(path, config(name="other"), 400, "PUT")


ATTACKS = dict(attacks())
