"""What is served, as clients read it."""

from dataclasses import replace

import orjson
import pytest

from manager.embedded import openapi
from manager.embedded.discovery import AGGREGATED, Discovery
from manager.embedded.registry import Registry, priority
from manager.embedded.served import Served
from tests.manager.embedded.calling import Caller

GADGET = Served(
    group="core.example",
    version="v1",
    kind="Gadget",
    plural="gadgets",
    namespaced=True,
    singular="gadget",
    short_names=("gd",),
    categories=("all",),
    verbs=frozenset({"get", "list", "delete"}),
    subresources=frozenset({"status", "scale"}),
    storage="v1",
    definition="gadgets.core.example",
)


def discovery() -> tuple[Registry, Discovery]:
    """A registry and what is told of it."""
    registry = Registry(openapi.builtin())
    return registry, Discovery(registry, lambda served: {"kinds": [each.kind for each in served]})


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    """Stable before beta before alpha, newer before older, others last."""
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "foo1", "foo10"]
    assert sorted(set(ordered), key=priority) == ordered


def test_a_definition_comes_and_goes() -> None:
    """With the registry, its group is there and is not."""
    registry, told = discovery()
    assert told.group("core.example") is None
    registry.define(GADGET.definition, [GADGET])
    group = orjson.loads(told.group("core.example") or b"")
    assert group["preferredVersion"] == {"groupVersion": "core.example/v1", "version": "v1"}
    assert registry.named("core.example/v9", "Gadget") == GADGET
    registry.define(GADGET.definition, ())
    assert told.group("core.example") is None
    assert registry.find("core.example", "v1", "gadgets") is None


def test_a_custom_resource_is_listed_with_its_subresources() -> None:
    """As the real server lists it, by group and aggregated."""
    registry, told = discovery()
    registry.define(GADGET.definition, [GADGET])
    listed = orjson.loads(told.resources("core.example", "v1") or b"")
    assert listed["groupVersion"] == "core.example/v1"
    verbs = ["get", "patch", "update"]
    assert listed["resources"][1:] == [
        {"name": "gadgets/status", "singularName": "", "namespaced": True, "kind": "Gadget", "verbs": verbs},
        {
            "name": "gadgets/scale",
            "singularName": "",
            "namespaced": True,
            "group": "autoscaling",
            "version": "v1",
            "kind": "Scale",
            "verbs": verbs,
        },
    ]
    found = [item for item in orjson.loads(told.aggregated("apis"))["items"] if item["metadata"]["name"] == "core.example"]
    assert found[0]["versions"][0]["resources"][0]["shortNames"] == ["gd"]


def test_the_hash_of_a_document_changes_with_it() -> None:
    """Clients cache documents by their hash."""
    registry, told = discovery()
    registry.define(GADGET.definition, [GADGET])
    path = "apis/core.example/v1"
    first = orjson.loads(told.openapi_index())["paths"]
    registry.define("others.core.example", [replace(GADGET, kind="Other", plural="others")])
    second = orjson.loads(told.openapi_index())["paths"]
    assert first["api/v1"] == second["api/v1"]
    assert first[path] != second[path]


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_discovery_is_aggregated_for_those_who_ask(path: str) -> None:
    """One request tells everything; without the wish, the older form is answered."""
    call = Caller()
    assert call("GET", path, accept=f"{AGGREGATED},application/json").body["kind"] == "APIGroupDiscoveryList"
    assert call("GET", path).body["kind"] in ("APIVersions", "APIGroupList")


def test_documents_are_served_under_the_paths_of_the_index() -> None:
    """Each of them, with or without the hash."""
    call = Caller()
    index = call("GET", "/openapi/v3").body["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/rbac.authorization.k8s.io/v1"} <= set(index)
    assert call("GET", "/openapi/v3/apis/apps/v1").body["openapi"].startswith("3.")
    assert call("GET", "/openapi/v3/apis/nope/v1").status == 404
    assert call("GET", "/openapi/v2").body["paths"] == {}
