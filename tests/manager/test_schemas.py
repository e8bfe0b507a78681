"""Schemas: what is a string to the server, and when the server is asked."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from apis.meta import Ref
from apis.problems import Gone, Problem, Unavailable
from manager.schemas import INDEX_AGE, PUBLISHING, Schemas, boil, boiled, is_string, with_text
from tests.support.api import Api

INT_OR_STRING = {"x-kubernetes-int-or-string": True}
CRONTAB = Ref("example.org", "v1", "CronTab", "dev", "x")


def document(spec: Mapping[str, Any], *, kind: str = "CronTab") -> dict[str, Any]:
    """An OpenAPI v3 document of one kind, with a schema that refers to itself and one that leads nowhere."""
    meta = {"allOf": [{"$ref": "#/components/schemas/Meta"}], "default": {}}
    trees = {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
    schemas = {
        "Kind": {
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": dict(spec)},
                "metadata": meta,
            },
            "x-kubernetes-group-version-kind": [{"group": "example.org", "version": "v1", "kind": kind}],
        },
        "Meta": {"type": "object", "properties": {"name": {"type": "string"}, "generation": {"type": "integer"}}},
        "Tree": {"properties": {"t": {"type": "string"}, "inner": trees}},
        "Numbers": {"properties": {"n": {"type": "integer"}}},
        "Other": {"type": "string"},
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    }
    return {"components": {"schemas": schemas}}


STRING = {"type": "string"}
SPEC: dict[str, Any] = {
    "text": STRING,
    "number": {"type": "integer"},
    "port": {"type": "string", "format": "int-or-string"},
    "either": {"anyOf": [{"type": "integer"}, STRING], **INT_OR_STRING},
    "oneOf": {"oneOf": [{"type": "integer"}, STRING]},
    "quantity": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
    "map": {"additionalProperties": STRING},
    "list": {"items": {"properties": {"v": STRING}}},
    "tree": {"$ref": "#/components/schemas/Tree"},
    "numbers": {"$ref": "#/components/schemas/Numbers"},
    "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "both": {"allOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}], "additionalProperties": STRING},
}


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        (("spec", "text"), True),
        (("metadata", "name"), True),
        (("spec", "map", "any"), True),
        (("spec", "list", 3, "v"), True),
        (("spec", "tree", "inner", 0, "inner", 1, "t"), True),
        (("spec", "both", "a"), True),
        (("spec", "both", "b"), True),
        (("spec", "both", "c"), True),
        (("spec", "number"), False),
        (("spec", "port"), False),
        (("spec", "either"), False),
        (("spec", "oneOf"), False),
        (("spec", "quantity"), False),
        (("spec", "numbers", "n"), False),
        (("spec", "anything", "x"), False),
        (("spec", "nope"), False),
        (("spec", "text", "below"), False),
        (("spec", "list", "v"), False),
        (("spec",), False),
        ((), False),
    ],
)
def test_a_path_is_a_string_when_the_schema_says_nothing_else(path: tuple[str | int, ...], verdict: bool) -> None:
    """Quantities and int-or-string take numbers as they are."""
    tree = boil(document(SPEC), "apis/example.org/v1")
    assert is_string(tree, "CronTab", path) is verdict
    assert not is_string(tree, "Other", path)


def test_only_what_leads_to_strings_is_kept() -> None:
    """Neither unused definitions nor those without a string."""
    tree = boil(document(SPEC), "apis/example.org/v1")
    assert (set(tree["definitions"]), tree["kinds"]) == ({"Kind", "Meta", "Tree"}, {"CronTab": "Kind"})
    assert boil(document(SPEC), "apis/example.org/v2")["kinds"] == {}


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, "5"), (True, "true"), (False, "false"), (1.5, "1.5"), (1.0, "1.0"), ("x", "x"), (None, None), ([1], [1])],
)
def test_scalars_are_written_in_the_words_of_json_and_nothing_else_is_touched(value: Any, text: Any) -> None:
    """The manifest that was given stays as it is."""
    manifest = {"data": [{"a": value}], "other": 1}
    assert with_text(manifest, ("data", 0, "a")) == {"data": [{"a": text}], "other": 1}
    assert manifest == {"data": [{"a": value}], "other": 1}


@pytest.mark.parametrize("path", [("nope",), ("data", 5), ("data", 0, "a", "b"), ("data", "x")])
def test_a_path_that_is_not_there_any_more_is_passed_over(path: tuple[str | int, ...]) -> None:
    """Additional metadata may have taken the place of what was rendered."""
    manifest = {"data": [{"a": 1}]}
    assert with_text(manifest, path) is manifest


class Server:
    """A server with one group, whose schema can change, and what it was asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self.publish("1", SPEC)

    def publish(self, digest: str, spec: Mapping[str, Any], kind: str = "CronTab") -> None:
        """Another schema under another hash."""
        url = f"/openapi/v3/apis/example.org/v1?hash={digest}"
        index = {"paths": {"apis/example.org/v1": {"serverRelativeURL": url}}}
        self.pages: dict[str, Any] = {"/openapi/v3": index, url: document(spec, kind=kind)}

    async def fetch(self, path: str) -> bytes:
        """GET."""
        self.asked.append(path)
        if path not in self.pages:
            raise Gone(f"{path} is not there")
        return orjson.dumps(self.pages[path])

    def schemas(self) -> Schemas:
        """A reader of this server."""
        return Schemas(self.fetch, lambda: self.now)


def made(**spec: Any) -> dict[str, Any]:
    """A CronTab."""
    return {"apiVersion": "example.org/v1", "kind": "CronTab", "metadata": {"name": "x"}, "spec": spec}


SCALARS = (("spec", "text"), ("spec", "number"))


async def test_scalars_become_strings_where_the_server_says_string() -> None:
    """Only those that expressions gave; without any, nothing is read."""
    server = Server()
    schemas = server.schemas()
    manifest = made(text=5, number=6)
    assert await schemas.coerce(CRONTAB, manifest, ()) is manifest
    assert server.asked == []
    assert await schemas.coerce(CRONTAB, manifest, SCALARS) == made(text="5", number=6)
    assert await schemas.coerce(CRONTAB, manifest, SCALARS[1:]) is manifest


async def test_index_and_document_are_read_once_until_the_hash_changes() -> None:
    """The index again after a minute, the document only under another hash."""
    server = Server()
    schemas = server.schemas()
    for _ in range(3):
        await schemas.coerce(CRONTAB, made(text=5), SCALARS)
    assert [path.partition("?")[0] for path in server.asked] == ["/openapi/v3", "/openapi/v3/apis/example.org/v1"]
    server.now += INDEX_AGE + 1
    await schemas.coerce(CRONTAB, made(text=5), SCALARS)
    assert server.asked[2:] == ["/openapi/v3"]
    server.publish("2", {"text": {"type": "integer"}})
    server.now += INDEX_AGE + 1
    assert await schemas.coerce(CRONTAB, made(text=5), SCALARS) == made(text=5)
    assert server.asked[3:] == ["/openapi/v3", "/openapi/v3/apis/example.org/v1?hash=2"]


async def test_a_new_kind_waits_for_its_schema_and_then_does_without() -> None:
    """Discovery is a moment ahead of OpenAPI; a wrong type in that moment would stall the parent."""
    server = Server()
    schemas = server.schemas()
    server.publish("1", SPEC, kind="Another")
    with pytest.raises(Unavailable, match=r"no schema of CronTab in example\.org/v1 yet"):
        await schemas.coerce(CRONTAB, made(text=5), SCALARS)
    server.publish("2", SPEC)
    server.now += 2
    assert await schemas.coerce(CRONTAB, made(text=5), SCALARS) == made(text="5")
    unknown = Ref("example.org", "v1", "Unknown", "dev", "x")
    with pytest.raises(Unavailable):
        await schemas.coerce(unknown, made(text=5), SCALARS)
    server.now += PUBLISHING + 1
    assert await schemas.coerce(unknown, made(text=5), SCALARS) == made(text=5)


async def test_a_server_without_schemas_coerces_nothing() -> None:
    """An index that is not there says nothing about any field."""
    server = Server()
    server.pages = {}
    assert await server.schemas().coerce(CRONTAB, made(text=5), SCALARS) == made(text=5)


async def test_a_document_that_cannot_be_read_is_a_problem_and_the_next_try_reads_the_index_again() -> None:
    """The hash of an old index may point to nothing."""
    server = Server()
    schemas = server.schemas()
    pages = server.pages
    server.pages = {"/openapi/v3": pages["/openapi/v3"]}
    with pytest.raises(Problem):
        await schemas.coerce(CRONTAB, made(text=5), SCALARS)
    server.publish("2", SPEC)
    assert await schemas.coerce(CRONTAB, made(text=5), SCALARS) == made(text="5")


async def test_what_is_no_document_is_unavailable() -> None:
    """The child process fails, and we say so."""
    with pytest.raises(Unavailable, match="schemas of api/v1"):
        await boiled(b"not JSON", "api/v1")


REAL = [
    ("v1", "ConfigMap", ("data", "x"), True),
    ("v1", "ConfigMap", ("metadata", "labels", "x"), True),
    ("v1", "Secret", ("stringData", "x"), True),
    ("v1", "Pod", ("spec", "containers", 0, "env", 0, "value"), True),
    ("v1", "Pod", ("spec", "containers", 0, "resources", "limits", "cpu"), False),
    ("v1", "Pod", ("spec", "containers", 0, "ports", 0, "containerPort"), False),
    ("v1", "Service", ("spec", "ports", 0, "targetPort"), False),
    ("v1", "ResourceQuota", ("spec", "hard", "pods"), False),
    ("apps/v1", "Deployment", ("spec", "template", "metadata", "annotations", "x"), True),
    ("apps/v1", "Deployment", ("spec", "replicas"), False),
    ("apps/v1", "Deployment", ("spec", "strategy", "rollingUpdate", "maxSurge"), False),
    ("networking.k8s.io/v1", "NetworkPolicy", ("spec", "podSelector", "matchLabels", "x"), True),
    ("networking.k8s.io/v1", "NetworkPolicy", ("spec", "ingress", 0, "ports", 0, "port"), False),
]


async def test_the_documents_of_a_real_server_are_understood(api: Api) -> None:
    """The kinds that tenants get most often."""

    async def fetch(path: str) -> bytes:
        return orjson.dumps(api.request("GET", path).expect(200).body)

    schemas = Schemas(fetch)
    for api_version, kind, path, string in REAL:
        group, _, version = api_version.rpartition("/")
        manifest: Any = 5
        for step in reversed(path):
            manifest = [manifest] if isinstance(step, int) else {step: manifest}
        coerced = await schemas.coerce(Ref(group, version, kind, "", "x"), manifest, (path,))
        assert (coerced != manifest) is string, (kind, path)
    sizes = [len(orjson.dumps(tree)) for _, tree in schemas._trees.values()]
    assert max(sizes) < 100_000
