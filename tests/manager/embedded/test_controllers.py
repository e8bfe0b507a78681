"""The controllers: definitions, namespaces, aggregated roles, slices, garbage."""

from typing import Any

import pytest

from tests.manager.embedded.calling import CONFIG_MAPS, MERGE, Caller, config_map

NAMESPACES = "/api/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
GADGETS = "/apis/core.example/v1/namespaces/default/gadgets"
HELD = ["tests.example/held"]


@pytest.fixture
def call() -> Caller:
    """A server of the test's own."""
    return Caller()


def definition(plural: str = "gadgets", kind: str = "Gadget", **more: Any) -> dict[str, Any]:
    """A CustomResourceDefinition."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema} | more
    spec = {"group": "core.example", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [version]}
    return {"metadata": {"name": f"{plural}.core.example"}, "spec": spec}


def gadget(name: str, **metadata: Any) -> dict[str, Any]:
    """An object of the definition."""
    return {"apiVersion": "core.example/v1", "kind": "Gadget", "metadata": {"name": name, **metadata}}


def owner(answer: Any, *, block: bool = False) -> dict[str, Any]:
    """A reference to an object."""
    body = answer.body
    named = {"apiVersion": body["apiVersion"], "kind": body["kind"], "name": body["metadata"]["name"]}
    return named | {"uid": body["metadata"]["uid"], "blockOwnerDeletion": block}


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The conditions by type: status and reason."""
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


# Definitions.


def test_a_definition_is_served_when_its_names_are_accepted(call: Caller) -> None:
    """With the conditions that clients wait for."""
    made = call("POST", CRDS, definition())
    assert made.body["status"]["conditions"] is None
    assert call("GET", GADGETS).status == 404
    call.settle()
    status = call("GET", f"{CRDS}/gadgets.core.example").body["status"]
    wanted = {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}
    assert conditions(status) == wanted
    assert call("POST", GADGETS, gadget("a")).status == 201


def test_a_name_that_another_has_is_not_accepted(call: Caller) -> None:
    """Until the other one goes."""
    call("POST", CRDS, definition())
    call.settle()
    call("POST", CRDS, definition("others"))
    call.settle()
    status = call("GET", f"{CRDS}/others.core.example").body["status"]
    assert conditions(status) == {"NamesAccepted": ("False", "ListKindConflict"), "Established": ("False", "NotAccepted")}
    call("DELETE", f"{CRDS}/gadgets.core.example")
    call.settle()
    assert conditions(call("GET", f"{CRDS}/others.core.example").body["status"])["Established"][0] == "True"


def test_the_instances_go_before_their_definition(call: Caller) -> None:
    """A held instance holds the definition."""
    call("POST", CRDS, definition())
    call.settle()
    call("POST", GADGETS, gadget("free"))
    call("POST", GADGETS, gadget("held", finalizers=HELD))
    ending = call("DELETE", f"{CRDS}/gadgets.core.example")
    assert ending.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    call.settle()
    assert [item["metadata"]["name"] for item in call("GET", GADGETS).body["items"]] == ["held"]
    status = call("GET", f"{CRDS}/gadgets.core.example").body["status"]
    assert conditions(status)["Terminating"] == ("True", "InstanceDeletionInProgress")
    call("PATCH", f"{GADGETS}/held", {"metadata": {"finalizers": None}}, content_type=MERGE)
    call.settle()
    assert call("GET", f"{CRDS}/gadgets.core.example").status == 404
    assert call("GET", GADGETS).status == 404


# Namespaces.


def test_a_new_namespace_holds_what_pods_need(call: Caller) -> None:
    """The account `default` and the CA; both come back when they are deleted."""
    call("POST", NAMESPACES, {"metadata": {"name": "new"}})
    call.settle()
    for path in (f"{NAMESPACES}/new/serviceaccounts/default", f"{NAMESPACES}/new/configmaps/kube-root-ca.crt"):
        uid = call("GET", path).body["metadata"]["uid"]
        call("DELETE", path)
        call.settle()
        assert call("GET", path).body["metadata"]["uid"] != uid


def test_a_namespace_goes_with_everything_in_it(call: Caller) -> None:
    """Custom resources too; what has a finalizer holds it, and the status says so."""
    call("POST", CRDS, definition())
    call.settle()
    call("POST", NAMESPACES, {"metadata": {"name": "new"}})
    call("POST", GADGETS.replace("default", "new"), gadget("a"))
    call("POST", CONFIG_MAPS.replace("default", "new"), config_map("held", finalizers=HELD))
    ending = call("DELETE", f"{NAMESPACES}/new")
    assert ending.body["status"]["phase"] == "Terminating"
    call.settle()
    status = call("GET", f"{NAMESPACES}/new").body["status"]
    told = conditions(status)
    assert told["NamespaceContentRemaining"] == ("True", "SomeResourcesRemain")
    assert told["NamespaceFinalizersRemaining"] == ("True", "SomeFinalizersRemain")
    assert told["NamespaceDeletionContentFailure"] == ("False", "ContentDeleted")
    assert "configmaps. has 1 resource instances" in str(status)
    refused = call("POST", CONFIG_MAPS.replace("default", "new"), config_map("late"))
    assert refused.status == 403
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    held = CONFIG_MAPS.replace("default", "new") + "/held"
    call("PATCH", held, {"metadata": {"finalizers": None}}, content_type=MERGE)
    call.settle()
    assert call("GET", f"{NAMESPACES}/new").status == 404
    assert [key for key in call.store.resources() if call.store.members(key, "new")] == []


def test_a_policy_in_the_way_is_told_in_the_status(call: Caller) -> None:
    """NamespaceDeletionContentFailure, and another try when the policy is gone."""
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["DELETE"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
    call("POST", f"{group}/validatingadmissionpolicies", {"metadata": {"name": "never"}, "spec": spec})
    bound = {"policyName": "never", "validationActions": ["Deny"]}
    call("POST", f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "never"}, "spec": bound})
    call("POST", NAMESPACES, {"metadata": {"name": "new"}})
    call.settle()
    call("DELETE", f"{NAMESPACES}/new")
    call.settle()
    status = call("GET", f"{NAMESPACES}/new").body["status"]
    assert conditions(status)["NamespaceDeletionContentFailure"] == ("True", "ContentDeletionFailed")
    call("DELETE", f"{group}/validatingadmissionpolicybindings/never")
    call.settle()
    assert call("GET", f"{NAMESPACES}/new").status == 404


# Aggregated roles.


def test_an_aggregated_role_has_the_rules_of_others(call: Caller) -> None:
    """They come and go with the label."""
    rule = {"apiGroups": ["core.example"], "resources": ["gadgets"], "verbs": ["get"]}
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    assert call("GET", f"{ROLES}/view").body["rules"]
    call("POST", ROLES, {"metadata": {"name": "gadgets", "labels": label}, "rules": [rule]})
    call.settle()
    assert rule in call("GET", f"{ROLES}/view").body["rules"]
    call("DELETE", f"{ROLES}/gadgets")
    call.settle()
    assert rule not in call("GET", f"{ROLES}/view").body["rules"]


# Slices.


def test_a_service_with_a_selector_has_a_slice(call: Caller) -> None:
    """It bears the labels of the Service, and goes with it."""
    services, slices = f"{NAMESPACES}/default/services", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    call("POST", services, {"metadata": {"name": "web", "labels": {"l": "1"}}, "spec": spec})
    call.settle()
    (slice_,) = call("GET", slices).body["items"]
    assert slice_["metadata"]["labels"].items() >= {"l": "1", "kubernetes.io/service-name": "web"}.items()
    call("PATCH", f"{services}/web", {"metadata": {"labels": {"l": "2"}}}, content_type=MERGE)
    call.settle()
    assert call("GET", slices).body["items"][0]["metadata"]["labels"]["l"] == "2"
    call("DELETE", f"{services}/web")
    call.settle()
    assert call("GET", slices).body["items"] == []


# Garbage.


def there(call: Caller, name: str) -> bool:
    """Is the ConfigMap there?"""
    return call("GET", f"{CONFIG_MAPS}/{name}").status == 200


def test_dependents_go_after_their_last_owner(call: Caller) -> None:
    """As long as one is there, only the reference to the other goes."""
    one, two = (call("POST", CONFIG_MAPS, config_map(name)) for name in ("one", "two"))
    call("POST", CONFIG_MAPS, config_map("child", ownerReferences=[owner(one), owner(two)]))
    call("DELETE", f"{CONFIG_MAPS}/one")
    call.settle()
    references = call("GET", f"{CONFIG_MAPS}/child").body["metadata"]["ownerReferences"]
    assert [each["name"] for each in references] == ["two"]
    call("DELETE", f"{CONFIG_MAPS}/two")
    call.settle()
    assert not there(call, "child")


@pytest.mark.parametrize("change", [{"uid": "00000000-0000-0000-0000-000000000000"}, {"name": "never-there"}])
def test_an_owner_that_is_not_there_owns_nothing(call: Caller, change: dict[str, str]) -> None:
    """By its uid: another object of that name is not it."""
    one = call("POST", CONFIG_MAPS, config_map("one"))
    call("POST", CONFIG_MAPS, config_map("child", ownerReferences=[owner(one) | change]))
    call.settle()
    assert not there(call, "child")


def test_an_owner_of_a_kind_that_nobody_serves_is_not_judged(call: Caller) -> None:
    """Nothing is deleted on a guess."""
    stranger = {"apiVersion": "none.example/v1", "kind": "None", "name": "x", "uid": "00000000-0000-0000-0000-000000000000"}
    call("POST", CONFIG_MAPS, config_map("child", ownerReferences=[stranger]))
    call.settle()
    assert there(call, "child")


def test_an_owner_in_another_namespace_counts_as_absent(call: Caller) -> None:
    """And an Event says so."""
    other = call("POST", CONFIG_MAPS.replace("default", "kube-public"), config_map("far"))
    call("POST", CONFIG_MAPS, config_map("child", ownerReferences=[owner(other)]))
    call.settle()
    assert not there(call, "child")
    (event,) = call("GET", f"{NAMESPACES}/default/events").body["items"]
    assert (event["reason"], event["involvedObject"]["name"]) == ("OwnerRefInvalidNamespace", "child")


def test_a_foreground_deletion_waits_for_those_who_block_it(call: Caller) -> None:
    """Dependents are deleted first; one that blocks and is held holds the owner."""
    parent = call("POST", CONFIG_MAPS, config_map("parent"))
    call("POST", CONFIG_MAPS, config_map("blocks", ownerReferences=[owner(parent, block=True)], finalizers=HELD))
    call("POST", CONFIG_MAPS, config_map("follows", ownerReferences=[owner(parent)]))
    call("DELETE", f"{CONFIG_MAPS}/parent", {"propagationPolicy": "Foreground"})
    call.settle()
    assert (there(call, "parent"), there(call, "blocks"), there(call, "follows")) == (True, True, False)
    assert call("GET", f"{CONFIG_MAPS}/blocks").body["metadata"]["deletionTimestamp"]
    call("PATCH", f"{CONFIG_MAPS}/blocks", {"metadata": {"finalizers": None}}, content_type=MERGE)
    call.settle()
    assert not there(call, "parent")


def test_orphans_are_let_go(call: Caller) -> None:
    """The owner goes, the dependents stay without the reference."""
    parent = call("POST", CONFIG_MAPS, config_map("parent"))
    call("POST", CONFIG_MAPS, config_map("child", ownerReferences=[owner(parent)]))
    call("DELETE", f"{CONFIG_MAPS}/parent", {"propagationPolicy": "Orphan"})
    call.settle()
    assert not there(call, "parent")
    assert "ownerReferences" not in call("GET", f"{CONFIG_MAPS}/child").body["metadata"]


def test_a_restarted_server_goes_on_with_what_was_left(call: Caller) -> None:
    """Definitions are served, and garbage is collected, from what the store holds."""
    call("POST", CRDS, definition())
    call.settle()
    parent = call("POST", GADGETS, gadget("a"))
    call("POST", CONFIG_MAPS, config_map("child", ownerReferences=[owner(parent)]))
    call("DELETE", f"{GADGETS}/a")  # nobody reacts any more
    again = Caller(store=call.store)
    assert again("GET", GADGETS).status == 200
    assert not there(again, "child")
