"""What an API server does, line by line: the ground that the design stands on.

The numbers are those of the list of observed behaviour that the design refers to. Nothing here knows which server it talks to.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from tests.support.api import METADATA, METADATA_LIST, TABLE, Api, Manifest, Reply, eventually, ref

Make = Callable[[Manifest], Manifest]
Name = Callable[[str], str]

MANAGED_BY_US = {"tests.example/marked": "true"}
HELD = "tests.example/held"
NO_UID = "5c9e4b6e-0000-4000-8000-000000000000"


# What the tests are made of


def config_map(namespace: str, data: dict[str, Any] | None = None, *, name: str = "subject", **metadata: Any) -> Manifest:
    """Build a ConfigMap: the kind in which every field is its own."""
    manifest = ref("v1", "ConfigMap", name, namespace)
    manifest["metadata"] |= metadata
    return manifest if data is None else manifest | {"data": data}


def role(namespace: str, *verbs: str, **metadata: Any) -> Manifest:
    """Build a Role: its rules are one atomic list."""
    manifest = ref("rbac.authorization.k8s.io/v1", "Role", "subject", namespace)
    manifest["metadata"] |= metadata
    return manifest | {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}]}


def deployment(namespace: str, **spec: Any) -> Manifest:
    """Build a Deployment: it has defaults and required fields."""
    labels = {"app": "subject"}
    container = {"name": "main", "image": "image", "resources": {"limits": {"cpu": "1000m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return ref("apps/v1", "Deployment", "subject", namespace) | {
        "spec": {"selector": {"matchLabels": labels}, "template": template} | spec
    }


def quota(namespace: str, **hard: Any) -> Manifest:
    """Build a ResourceQuota: its values are quantities."""
    return ref("v1", "ResourceQuota", "subject", namespace) | {"spec": {"hard": hard}}


def service(namespace: str, **metadata: Any) -> Manifest:
    """Build a Service: the server allots some of its fields."""
    manifest = ref("v1", "Service", "subject", namespace)
    manifest["metadata"] |= metadata
    return manifest | {"spec": {"selector": {"app": "subject"}, "ports": [{"port": 80}]}}


def entry(object_: Manifest, manager: str, *, operation: str = "Apply", subresource: str | None = None) -> Manifest | None:
    """Return the fields that a manager's entry owns, or None when it has no entry."""
    wanted = (manager, operation, subresource)
    for each in object_["metadata"].get("managedFields", []):
        if (each["manager"], each["operation"], each.get("subresource")) == wanted:
            fields: Manifest = each["fieldsV1"]
            return fields
    return None


def owned_data(object_: Manifest, manager: str, *, operation: str = "Apply") -> set[str]:
    """Return the keys of `data` that a manager owns."""
    fields = (entry(object_, manager, operation=operation) or {}).get("f:data", {})
    return {key.removeprefix("f:") for key in fields if key != "."}


def version(object_: Manifest) -> str:
    """Return the resourceVersion."""
    read: str = object_["metadata"]["resourceVersion"]
    return read


def gone(api: Api, manifest: Manifest) -> bool:
    """Say whether the object does not exist any more."""
    return api.get(manifest).status == 404


def holding(manifest: Manifest) -> Manifest:
    """Return the manifest with a finalizer that nobody serves."""
    return manifest | {"metadata": manifest["metadata"] | {"finalizers": [HELD]}}


def let_go(api: Api, manifest: Manifest) -> None:
    """Take the finalizers off, so that a deletion can end."""
    api.merge_patch(manifest, {"metadata": {"finalizers": None}}).expect(200)


def owner(object_: Manifest, **more: Any) -> Manifest:
    """Return the owner reference to an object."""
    named = {key: object_[key] for key in ("apiVersion", "kind")} | {key: object_["metadata"][key] for key in ("name", "uid")}
    return named | more


@pytest.fixture
def widgets(api: Api, temporary: Make, unique: Name) -> Callable[..., str]:
    """Make a custom kind `Widget` with a schema of our choice, and return its apiVersion."""

    def make(**properties: Any) -> str:
        group = f"{unique('widgets')}.example.com"
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
        schema["properties"] |= properties  # type: ignore[operator]
        served = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        }
        crd = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"widgets.{group}")
        crd["spec"] = {
            "group": group,
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [served],
        }
        temporary(crd)
        eventually(lambda: api.request("GET", f"/apis/{group}/v1/widgets").status == 200)
        eventually(lambda: api.request("GET", f"/openapi/v3/apis/{group}/v1").status == 200)
        return f"{group}/v1"

    return make


def widget(api_version: str, namespace: str, **fields: Any) -> Manifest:
    """Build a Widget."""
    return ref(api_version, "Widget", "subject", namespace) | fields


@pytest.fixture
def policy(api: Api, temporary: Make, unique: Name, namespace: str) -> Callable[..., str]:
    """Make a ValidatingAdmissionPolicy for the test's namespace, wait until it is obeyed, and return its name.

    Every policy also refuses objects that have its own name: by that we see it work.
    """

    def make(
        *validations: Manifest,
        conditions: tuple[str, ...] = (),
        operations: tuple[str, ...] = ("CREATE", "UPDATE"),
        selector: Manifest | None = None,
        resources: tuple[str, ...] = ("configmaps",),
        groups: tuple[str, ...] = ("",),
    ) -> str:
        name = unique("policy")
        rule = {"apiGroups": groups, "apiVersions": ["*"], "operations": ["CREATE", *operations], "resources": resources}
        matched: Manifest = {"resourceRules": [rule | {"operations": sorted(set(rule["operations"]))}]}
        policy = ref("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", name)
        policy["spec"] = {
            "failurePolicy": "Fail",
            "matchConstraints": matched | ({"objectSelector": selector} if selector else {}),
            "matchConditions": [{"name": f"condition-{index}", "expression": text} for index, text in enumerate(conditions)],
            # `request.name` is absent when a collection is deleted.
            "validations": [{"expression": f"!has(request.name) || request.name != '{name}'", "message": "canary"}, *validations],
        }
        binding = ref("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", name)
        binding["spec"] = {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}},
        }
        temporary(policy)
        temporary(binding)
        labels = (selector or {}).get("matchLabels", {})
        canary = config_map(namespace, name=name, labels=labels)
        eventually(lambda: name in api.create(canary, dryRun="All").message)
        return name

    return make


def named(policy: str, reply: Reply) -> bool:
    """Say whether it was this policy that refused."""
    return f"ValidatingAdmissionPolicy '{policy}'" in reply.message


@pytest.fixture
def account(api: Api, namespace: str) -> str:
    """Make a ServiceAccount of the test's own and return the name under which it acts."""
    api.create(ref("v1", "ServiceAccount", "actor", namespace)).expect(201)
    return f"system:serviceaccount:{namespace}:actor"


def as_account(api: Api, namespace: str) -> Api:
    """Return the client of the test's ServiceAccount itself, by a token of its own."""
    request: Manifest = ref("authentication.k8s.io/v1", "TokenRequest", "actor", namespace) | {"spec": {}}
    path = api.path("v1", "ServiceAccount", namespace=namespace, name="actor", subresource="token")
    return api.with_token(api.request("POST", path, request).expect(201).body["status"]["token"])


@pytest.fixture
def allow(temporary: Make, unique: Name) -> Callable[..., None]:
    """Give a user cluster-wide rights for the time of the test."""

    def grant(user: str, *rules: Manifest) -> None:
        name = unique("allow")
        temporary(ref("rbac.authorization.k8s.io/v1", "ClusterRole", name) | {"rules": list(rules)})
        binding = ref("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name)
        binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
        binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        temporary(binding)

    return grant


def who_am_i(api: Api, **query: Any) -> Reply:
    """Ask the server whom it takes us for."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return api.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, **query)


# Server-side apply


def test_apply_says_whether_it_created(api: Api, namespace: str) -> None:
    """Line 1: an apply answers 201 when it created and 200 when the object was there."""
    api.apply(config_map(namespace, {"a": "1"})).expect(201)
    api.apply(config_map(namespace, {"a": "2"})).expect(200)


REPEATED = {
    "stringData": lambda ns: ref("v1", "Secret", "subject", ns) | {"stringData": {"a": "b"}},
    "quantities": lambda ns: deployment(ns),
    "empty maps": lambda ns: config_map(ns, {}, labels={}, annotations={}),
    "null values": lambda ns: config_map(ns, {"a": "1", "b": None}, labels=None),
    "ResourceQuota": lambda ns: quota(ns, **{"requests.cpu": "1000m", "pods": "10"}),
    "Service": lambda ns: service(ns),
    "Role": lambda ns: role(ns, "get", "list"),
}


@pytest.mark.parametrize("build", REPEATED.values(), ids=REPEATED)
def test_a_repeated_apply_changes_nothing(api: Api, namespace: str, build: Callable[[str], Manifest]) -> None:
    """Line 1: the same apply again leaves resourceVersion as it is, also where the server stores another spelling."""
    first = api.apply(build(namespace)).expect(201).body
    again = api.apply(build(namespace)).expect(200).body
    assert again == first


def test_a_repeated_apply_changes_nothing_in_another_second(api: Api, namespace: str) -> None:
    """Line 1: not even the time in managedFields, which counts seconds, makes a repeated apply a write."""
    first = api.apply(config_map(namespace, {"a": "1"})).expect(201).body
    started = monotonic()
    eventually(lambda: monotonic() - started > 1.1)
    assert api.apply(config_map(namespace, {"a": "1"})).expect(200).body == first


def test_a_quantity_is_stored_in_its_canonical_form(api: Api, namespace: str) -> None:
    """Line 1: `cpu: 1000m` is stored as `1`."""
    stored = api.apply(deployment(namespace)).expect(201).body
    assert stored["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}


def test_resource_version_one_creates_only(api: Api, namespace: str) -> None:
    """Line 2: with `metadata.resourceVersion: "1"` an apply is 201 on an absent object and 409 on an existing one."""
    manifest = config_map(namespace, {"a": "1"}, resourceVersion="1")
    api.apply(manifest).expect(201)
    assert "the object has been modified" in api.apply(manifest).expect(409).message


def test_resource_version_one_creates_only_custom_resources(api: Api, namespace: str, widgets: Callable[..., str]) -> None:
    """Line 2: the create-only apply works for custom resources as for built-in kinds."""
    manifest = widget(widgets(), namespace, spec={"size": 1})
    manifest["metadata"]["resourceVersion"] = "1"
    api.apply(manifest).expect(201)
    assert "the object has been modified" in api.apply(manifest).expect(409).message


@pytest.mark.parametrize("value", ["0", ""])
def test_other_resource_versions_do_not_create_only(api: Api, namespace: str, value: str) -> None:
    """Line 2: `"0"` and `""` do not mean create-only: they apply to what is there."""
    api.apply(config_map(namespace, {"a": "1"})).expect(201)
    assert api.apply(config_map(namespace, {"a": "2"}, resourceVersion=value)).expect(200).body["data"] == {"a": "2"}


def test_a_uid_updates_only(api: Api, namespace: str) -> None:
    """Line 3: with `metadata.uid` an apply on an absent object is 409, and says that there was none."""
    message = api.apply(config_map(namespace, {"a": "1"}, uid=NO_UID)).expect(409).message
    assert f"uid mismatch: the provided object specified uid {NO_UID}" in message
    assert "no existing object was found" in message
    assert gone(api, config_map(namespace))


def test_a_uid_names_one_object(api: Api, namespace: str) -> None:
    """Line 3, corrected: with the UID of the existing object an apply is 200, with a wrong one 422 about `metadata.uid`."""
    made = api.apply(config_map(namespace, {"a": "1"})).expect(201).body
    api.apply(config_map(namespace, {"a": "2"}, uid=made["metadata"]["uid"])).expect(200)
    reply = api.apply(config_map(namespace, {"a": "3"}, uid=NO_UID)).expect(422)
    assert {each["field"] for each in reply.causes} == {"metadata.uid"}
    assert "field is immutable" in reply.message


def test_a_conflict_comes_before_a_wrong_uid(api: Api, namespace: str) -> None:
    """Line 3, corrected: a field conflict and a stale resourceVersion are 409 before the UID is looked at."""
    made = api.apply(config_map(namespace, {"a": "1"}), manager="first").expect(201).body
    assert api.apply(config_map(namespace, {"a": "2"}, uid=NO_UID)).expect(409).causes[0]["reason"] == "FieldManagerConflict"
    api.apply(config_map(namespace, {"a": "2"}, uid=NO_UID), force=True).expect(422)
    api.merge_patch(made, {"data": {"b": "1"}}).expect(200)
    stale = config_map(namespace, {"a": "2"}, uid=NO_UID, resourceVersion=version(made))
    assert "the object has been modified" in api.apply(stale, force=True).expect(409).message


def test_a_conflict_names_each_manager_and_field(api: Api, namespace: str) -> None:
    """Line 4: a conflict is 409 with one cause for each manager and field."""
    api.apply(config_map(namespace, {"a": "1", "b": "1", "same": "1"}), manager="first").expect(201)
    api.apply(config_map(namespace, {"a": "1"}), manager="second").expect(200)
    causes = api.apply(config_map(namespace, {"a": "2", "b": "2", "same": "1"}), manager="third").expect(409).causes
    assert sorted((each["field"], each["message"]) for each in causes) == [
        (".data.a", 'conflict with "first"'),
        (".data.a", 'conflict with "second"'),
        (".data.b", 'conflict with "first"'),
    ]
    assert {each["reason"] for each in causes} == {"FieldManagerConflict"}


def test_a_conflict_with_an_update_names_the_version(api: Api, namespace: str) -> None:
    """Line 4, corrected: for a manager that updated, the message adds ` using <version>`, and no time."""
    api.create(config_map(namespace, {"a": "1"}), fieldManager="writer").expect(201)
    (cause,) = api.apply(config_map(namespace, {"a": "2"})).expect(409).causes
    assert (cause["field"], cause["message"]) == (".data.a", 'conflict with "writer" using v1')


def test_a_conflict_names_the_subresource(api: Api, namespace: str) -> None:
    """Line 4: a manager that wrote through a subresource is named with it."""
    made = api.create(deployment(namespace, replicas=1)).expect(201).body
    api.merge_patch(made, {"spec": {"replicas": 2}}, subresource="scale", fieldManager="scaler").expect(200)
    (cause,) = api.apply(ref("apps/v1", "Deployment", "subject", namespace) | {"spec": {"replicas": 3}}).expect(409).causes
    assert (cause["field"], cause["message"]) == (
        ".spec.replicas",
        'conflict with "scaler" with subresource "scale" using apps/v1',
    )


def test_equal_values_are_shared(api: Api, namespace: str) -> None:
    """Line 4: equal values never conflict, they are co-owned."""
    api.apply(config_map(namespace, {"a": "1"}), manager="first").expect(201)
    both = api.apply(config_map(namespace, {"a": "1"}), manager="second").expect(200).body
    assert owned_data(both, "first") == owned_data(both, "second") == {"a"}


def test_an_equal_quantity_in_another_spelling_conflicts(api: Api, namespace: str) -> None:
    """Line 4: values are compared as they are spelled: `1000m` conflicts with a stored `1` of another manager."""
    made = api.create(deployment(namespace), fieldManager="writer").expect(201).body
    assert made["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}
    (cause,) = api.apply(deployment(namespace)).expect(409).causes
    assert cause["field"] == '.spec.template.spec.containers[name="main"].resources.limits.cpu'


def test_a_foreign_change_takes_the_field_from_every_applier(api: Api, namespace: str) -> None:
    """Line 5: an Update or Patch that changes a field removes it from every Apply entry and lists it under the writer."""
    manifest = config_map(namespace, {"a": "1", "b": "1"})
    api.apply(manifest, manager="first").expect(201)
    api.apply(manifest, manager="second").expect(200)
    patched = api.merge_patch(manifest, {"data": {"a": "2"}}, fieldManager="patcher").expect(200).body
    assert owned_data(patched, "first") == owned_data(patched, "second") == {"b"}
    assert owned_data(patched, "patcher", operation="Update") == {"a"}
    updated = api.replace(patched | {"data": {"a": "2", "b": "2"}}, fieldManager="updater").expect(200).body
    assert owned_data(updated, "first") == owned_data(updated, "second") == set()
    assert owned_data(updated, "updater", operation="Update") == {"b"}


def test_a_field_that_was_taken_comes_back_by_force_only(api: Api, namespace: str) -> None:
    """Line 5: the old value again is a conflict with the writer; with force the field is ours again, and only ours."""
    manifest = config_map(namespace, {"a": "1", "b": "1"})
    api.apply(manifest, manager="first").expect(201)
    api.apply(manifest, manager="second").expect(200)
    api.merge_patch(manifest, {"data": {"a": "2"}}, fieldManager="patcher").expect(200)
    (cause,) = api.apply(manifest, manager="first").expect(409).causes
    assert cause["message"] == 'conflict with "patcher" using v1'
    forced = api.apply(manifest, manager="first", force=True).expect(200).body
    assert forced["data"] == {"a": "1", "b": "1"}
    assert owned_data(forced, "first") == {"a", "b"}
    assert owned_data(forced, "second") == {"b"}
    assert owned_data(forced, "patcher", operation="Update") == set()


def test_a_foreign_write_of_the_same_value_changes_no_entry(api: Api, namespace: str) -> None:
    """Line 5: who writes the value that is there gets no entry and takes nothing."""
    before = api.apply(config_map(namespace, {"a": "1"})).expect(201).body
    after = api.merge_patch(before, {"data": {"a": "1"}}, fieldManager="patcher").expect(200).body
    assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]
    after = api.replace(before, fieldManager="updater").expect(200).body
    assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]


def test_a_foreign_removal_leaves_the_field_to_nobody(api: Api, namespace: str) -> None:
    """Line 5: a removed field leaves our entry, nobody owns it, and the next apply brings it back without a conflict."""
    manifest = config_map(namespace, {"a": "1", "b": "1"})
    api.apply(manifest).expect(201)
    removed = api.json_patch(manifest, [{"op": "remove", "path": "/data/a"}], fieldManager="remover").expect(200).body
    assert owned_data(removed, "tests") == {"b"}
    assert owned_data(removed, "remover", operation="Update") == set()
    back = api.apply(manifest).expect(200).body
    assert back["data"] == {"a": "1", "b": "1"}
    assert owned_data(back, "tests") == {"a", "b"}


def test_an_atomic_list_is_lost_as_a_whole(api: Api, namespace: str) -> None:
    """Line 6: an edit of one verb takes the whole list from us, and an entry that owned nothing else disappears."""
    manifest = role(namespace, "get", "list")
    api.apply(manifest).expect(201)
    path = "/rules/0/verbs/0"
    edited = api.json_patch(manifest, [{"op": "replace", "path": path, "value": "watch"}], fieldManager="editor").expect(200).body
    assert entry(edited, "tests") is None
    assert entry(edited, "editor", operation="Update") == {"f:rules": {}}


def test_a_mark_keeps_the_entry_alive(api: Api, namespace: str) -> None:
    """Line 6: with a label in the payload our entry outlives the loss of its list."""
    manifest = role(namespace, "get", "list", labels=MANAGED_BY_US)
    api.apply(manifest).expect(201)
    edited = api.merge_patch(manifest, {"rules": role(namespace, "watch")["rules"]}, fieldManager="editor").expect(200).body
    assert entry(edited, "tests") == {"f:metadata": {"f:labels": {"f:tests.example/marked": {}}}}


def test_an_identity_only_apply_gives_everything_back(api: Api, namespace: str) -> None:
    """Line 7: values that nobody else owns vanish, co-owned ones stay, and our entry is gone."""
    api.apply(config_map(namespace, {"ours": "1", "shared": "1"}, labels=MANAGED_BY_US)).expect(201)
    api.apply(config_map(namespace, {"theirs": "1", "shared": "1"}), manager="other").expect(200)
    released = api.apply(config_map(namespace)).expect(200).body
    assert released["data"] == {"theirs": "1", "shared": "1"}
    assert "labels" not in released["metadata"]
    assert entry(released, "tests") is None
    assert owned_data(released, "other") == {"theirs", "shared"}


def test_an_identity_only_apply_cannot_leave_an_invalid_object(api: Api, namespace: str) -> None:
    """Line 7: a Deployment without selector and containers is 422, and nothing is written."""
    made = api.apply(deployment(namespace)).expect(201).body
    api.apply(ref("apps/v1", "Deployment", "subject", namespace)).expect(422)
    assert api.get(made).expect(200).body == made


def test_string_data_is_owned_as_string_data(api: Api, namespace: str) -> None:
    """Line 8: our entry owns `f:stringData`, never `f:data`, and a foreign edit of `data` does not show in it."""
    made = api.apply(ref("v1", "Secret", "subject", namespace) | {"stringData": {"a": "1"}}).expect(201).body
    ours = entry(made, "tests")
    assert ours == {"f:stringData": {"f:a": {}}}
    edited = api.merge_patch(made, {"data": {"a": "Mg=="}}, fieldManager="editor").expect(200).body
    assert edited["data"] == {"a": "Mg=="}
    assert entry(edited, "tests") == ours


def test_a_json_patch_removes_one_entry(api: Api, namespace: str) -> None:
    """Line 9: with its manager tested first, one entry of managedFields goes; content and the other entries stay."""
    api.apply(config_map(namespace, {"a": "1"}), manager="first").expect(201)
    made = api.apply(config_map(namespace, {"b": "1"}), manager="second").expect(200).body
    index = [each["manager"] for each in made["metadata"]["managedFields"]].index("first")
    path = f"/metadata/managedFields/{index}"
    operations = [{"op": "test", "path": f"{path}/manager", "value": "first"}, {"op": "remove", "path": path}]
    left = api.json_patch(made, operations).expect(200).body
    assert left["data"] == {"a": "1", "b": "1"}
    assert entry(left, "first") is None
    assert owned_data(left, "second") == {"b"}


def test_a_label_removed_by_json_patch_leaves_all_entries(api: Api, namespace: str) -> None:
    """Line 9: a label that is removed by a JSON patch leaves the entries of all managers."""
    manifest = config_map(namespace, {"a": "1"}, labels=MANAGED_BY_US)
    api.apply(manifest, manager="first").expect(201)
    api.apply(manifest, manager="second").expect(200)
    removed = api.json_patch(manifest, [{"op": "remove", "path": "/metadata/labels/tests.example~1marked"}]).expect(200).body
    assert owned_data(removed, "first") == owned_data(removed, "second") == {"a"}
    assert "f:metadata" not in entry(removed, "first")  # type: ignore[operator]
    assert "f:metadata" not in entry(removed, "second")  # type: ignore[operator]


def test_managed_fields_can_be_cleared(api: Api, namespace: str) -> None:
    """Line 9: `[{}]` clears managedFields, and the next apply finds the old content under `before-first-apply`."""
    manifest = config_map(namespace, {"a": "1"})
    api.apply(manifest, manager="first").expect(201)
    cleared = api.merge_patch(manifest, {"metadata": {"managedFields": [{}]}}).expect(200).body
    assert not cleared["metadata"].get("managedFields")
    api.apply(config_map(namespace, {"a": "2"})).expect(409)
    applied = api.apply(config_map(namespace, {"b": "1"})).expect(200).body
    assert owned_data(applied, "before-first-apply", operation="Update") == {"a"}
    assert owned_data(applied, "tests") == {"b"}


def test_an_unknown_field_is_a_server_error(api: Api, namespace: str) -> None:
    """Line 10: an unknown field of a built-in kind is 500, with the path."""
    message = api.apply(config_map(namespace) | {"bogus": 1}).expect(500).message
    assert message == (
        f"failed to create typed patch object ({namespace}/subject; /v1, Kind=ConfigMap): .bogus: field not declared in schema"
    )


def test_an_unknown_field_of_a_custom_resource_is_a_server_error(api: Api, namespace: str, widgets: Callable[..., str]) -> None:
    """Line 10: an unknown field and a wrong type of a custom resource are 500, with the path."""
    kind = widgets()
    start = f"failed to create typed patch object ({namespace}/subject; {kind}, Kind=Widget): "
    unknown = eventually(lambda: api.apply(widget(kind, namespace, spec={"bogus": 1})).expect(500))
    assert unknown.message == f"{start}.spec.bogus: field not declared in schema"
    wrong = api.apply(widget(kind, namespace, spec={"size": "big"})).expect(500)
    assert wrong.message.startswith(f"{start}.spec.size: expected ")


def test_a_wrong_type_is_a_server_error(api: Api, namespace: str) -> None:
    """Line 10: a wrong type is 500, with the path and the type that was expected."""
    message = api.apply(deployment(namespace, minReadySeconds="soon")).expect(500).message
    assert ".spec.minReadySeconds: expected numeric (int or float), got string" in message


def test_an_invalid_value_is_unprocessable(api: Api, namespace: str) -> None:
    """Line 10: a value of the right type that the kind forbids is 422."""
    api.apply(deployment(namespace, replicas=-1)).expect(422)


def test_applying_to_a_dying_object_succeeds(api: Api, namespace: str) -> None:
    """Line 11: an apply to an object with a deletionTimestamp is 200."""
    api.create(holding(config_map(namespace, {"a": "1"}))).expect(201)
    api.delete(config_map(namespace)).expect(200)
    applied = api.apply(config_map(namespace, {"b": "1"})).expect(200).body
    assert applied["metadata"]["deletionTimestamp"]
    assert applied["data"] == {"a": "1", "b": "1"}
    let_go(api, applied)


def test_nothing_is_created_in_a_dying_namespace(api: Api, namespace: str) -> None:
    """Line 11: in a terminating namespace a create is 403 with cause `NamespaceTerminating`."""
    held = api.create(holding(config_map(namespace))).expect(201).body
    api.delete(ref("v1", "Namespace", namespace)).expect(200)
    reply = api.apply(config_map(namespace, {"a": "1"}, name="late")).expect(403)
    assert [each["reason"] for each in reply.causes] == ["NamespaceTerminating"]
    let_go(api, held)


def test_an_absent_namespace_is_named(api: Api, unique: Name) -> None:
    """Line 11: in an absent namespace a create is 404 that names the namespace, not the object."""
    absent = unique("absent")
    reply = api.apply(config_map(absent, {"a": "1"})).expect(404)
    assert reply.message == f'namespaces "{absent}" not found'
    assert reply.body["details"]["kind"] == "namespaces"


def test_a_creation_timestamp_is_ignored(api: Api, namespace: str) -> None:
    """Line 12: `metadata.creationTimestamp` in the payload is ignored."""
    made = api.apply(config_map(namespace, {"a": "1"}, creationTimestamp="2001-01-01T00:00:00Z")).expect(201).body
    assert not made["metadata"]["creationTimestamp"].startswith("2001")
    assert entry(made, "tests") == {"f:data": {"f:a": {}}}


def test_a_field_manager_has_128_bytes_at_most(api: Api, namespace: str) -> None:
    """Line 12: `fieldManager` may have 128 bytes; 129 are 422."""
    api.apply(config_map(namespace, {"a": "1"}), manager="m" * 128).expect(201)
    api.apply(config_map(namespace, {"a": "1"}), manager="m" * 129).expect(422)


def test_status_has_an_entry_of_its_own(api: Api, namespace: str) -> None:
    """Line 13: an apply on `/status` makes a second entry of the same manager with `subresource: status`."""
    api.apply(deployment(namespace)).expect(201)
    manifest = ref("apps/v1", "Deployment", "subject", namespace) | {"status": {"replicas": 3}}
    applied = api.apply(manifest, subresource="status").expect(200).body
    assert applied["status"]["replicas"] == 3
    assert entry(applied, "tests", subresource="status") == {"f:status": {"f:replicas": {}}}
    assert "f:spec" in (entry(applied, "tests") or {})


def test_data_of_a_config_map_must_be_text(api: Api, namespace: str) -> None:
    """Line 14: ConfigMap data with a number is 500 `expected string`."""
    assert ".data.a: expected string, got" in api.apply(config_map(namespace, {"a": 1})).expect(500).message


def test_an_integer_is_a_quantity(api: Api, namespace: str) -> None:
    """Line 14: an integer where a quantity is wanted is accepted, and stored as text."""
    assert api.apply(quota(namespace, pods=10)).expect(201).body["spec"]["hard"] == {"pods": "10"}


def test_generate_name_cannot_be_applied(api: Api, namespace: str) -> None:
    """Line 14: `generateName` with apply is 400."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "subject-", "namespace": namespace}}
    path = api.path("v1", "ConfigMap", namespace=namespace, name="subject")
    reply = api.request("PATCH", path, manifest, content_type="application/apply-patch+yaml", fieldManager="tests")
    reply.expect(400)


def test_an_object_has_one_controller(api: Api, namespace: str) -> None:
    """Line 14: a second controller owner reference is 422."""
    owners = [api.create(config_map(namespace, name=name)).expect(201).body for name in ("one", "two")]
    first, second = (owner(each, controller=True) for each in owners)
    api.apply(config_map(namespace, ownerReferences=[first]), manager="first").expect(201)
    api.apply(config_map(namespace, ownerReferences=[second]), manager="second").expect(422)


def test_a_dropped_field_falls_to_its_default(api: Api, namespace: str) -> None:
    """Line 14: a field that we owned and no longer send falls to its default, not to an older value."""
    api.create(deployment(namespace, replicas=3), fieldManager="creator").expect(201)
    assert api.apply(deployment(namespace, replicas=5), force=True).expect(200).body["spec"]["replicas"] == 5
    assert api.apply(deployment(namespace)).expect(200).body["spec"]["replicas"] == 1


# Reading


def test_metadata_can_be_read_without_content(api: Api, namespace: str) -> None:
    """Line 15: with the Accept of PartialObjectMetadata an object has managedFields and no content."""
    api.apply(config_map(namespace, {"a": "1"})).expect(201)
    read = api.get(config_map(namespace), accept=METADATA).expect(200).body
    assert (read["apiVersion"], read["kind"]) == ("meta.k8s.io/v1", "PartialObjectMetadata")
    assert set(read) == {"apiVersion", "kind", "metadata"}
    assert owned_data(read, "tests") == {"a"}


def test_metadata_can_be_listed_without_content(api: Api, namespace: str) -> None:
    """Line 15: a list may be a PartialObjectMetadataList, whose items have managedFields and no content."""
    api.apply(config_map(namespace, {"a": "1"}, labels=MANAGED_BY_US)).expect(201)
    read = api.list("v1", "ConfigMap", namespace, accept=METADATA_LIST, labelSelector="tests.example/marked").expect(200).body
    assert (read["apiVersion"], read["kind"]) == ("meta.k8s.io/v1", "PartialObjectMetadataList")
    (item,) = read["items"]
    assert not set(item) & {"data"}
    assert owned_data(item, "tests") == {"a"}


def test_metadata_can_be_watched_without_content(api: Api, namespace: str) -> None:
    """Line 15, corrected: a watch that accepts PartialObjectMetadata (not its list) sends metadata with managedFields."""
    with api.watch("v1", "ConfigMap", namespace, accept=METADATA, labelSelector="tests.example/marked") as events:
        made = api.apply(config_map(namespace, {"a": "1"}, labels=MANAGED_BY_US)).expect(201).body
        event = next(events)
    assert event.type == "ADDED"
    assert event.object["kind"] == "PartialObjectMetadata"
    assert set(event.object) == {"apiVersion", "kind", "metadata"}
    assert event.object["metadata"] == made["metadata"]


def test_a_list_needs_the_list_kind(api: Api, namespace: str) -> None:
    """Line 15, corrected: a list that accepts PartialObjectMetadata, not its list, is 406."""
    api.list("v1", "ConfigMap", namespace, accept=METADATA).expect(406)


def test_a_selector_watch_follows_the_label(api: Api, namespace: str) -> None:
    """Line 16: a watch with a label selector sends DELETED when the label goes and ADDED when it comes."""
    made = api.create(config_map(namespace, {"a": "1"})).expect(201).body
    with api.watch(
        "v1", "ConfigMap", namespace, labelSelector="tests.example/marked=true", resourceVersion=version(made)
    ) as events:
        api.merge_patch(made, {"metadata": {"labels": MANAGED_BY_US}}).expect(200)
        assert next(events).type == "ADDED"
        api.merge_patch(made, {"data": {"a": "2"}}).expect(200)
        assert next(events).type == "MODIFIED"
        bare = api.merge_patch(made, {"metadata": {"labels": None}}).expect(200).body
        last = next(events)
    assert last.type == "DELETED"
    assert version(last.object) == version(bare)


# Deleting and admission


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_a_delete_has_preconditions(api: Api, namespace: str, field: str) -> None:
    """Line 17: a wrong `preconditions.uid` or `.resourceVersion` is 409 that names both values."""
    made = api.create(config_map(namespace)).expect(201).body
    message = api.delete(made, preconditions={field: "123"}).expect(409).message
    assert "123" in message
    assert made["metadata"][field] in message
    api.delete(made, preconditions={field: made["metadata"][field]}).expect(200)


def test_match_conditions_see_no_namespace(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 18: `namespaceObject` is null in `matchConditions`, and the namespace in `validations`."""
    blind = policy({"expression": "object.metadata.name != 'subject'"}, conditions=("namespaceObject == null",))
    assert named(blind, api.create(config_map(namespace)).expect(422))
    seeing = policy({"expression": f"object.metadata.name != 'other' || namespaceObject.metadata.name != '{namespace}'"})
    assert named(seeing, api.create(config_map(namespace, name="other")).expect(422))


TERMINATING = "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)"


def test_a_namespace_with_protected_objects_can_go(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 18: a policy that lets deletions in a terminating namespace pass in its `validations` holds no namespace."""
    name = policy(
        {"expression": f"request.operation != 'DELETE' || ({TERMINATING})", "reason": "Forbidden"}, operations=("DELETE",)
    )
    made = api.create(config_map(namespace)).expect(201).body
    assert named(name, api.delete(made).expect(403))
    api.delete(ref("v1", "Namespace", namespace)).expect(200)
    eventually(lambda: gone(api, ref("v1", "Namespace", namespace)), timeout=60)


def test_a_policy_that_looks_at_the_namespace_too_early_holds_it(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 18: with the exemption in `matchConditions` the namespace hangs with `NamespaceDeletionContentFailure`."""
    name = policy({"expression": "request.operation != 'DELETE'"}, operations=("DELETE",), conditions=(f"!({TERMINATING})",))
    held = api.create(config_map(namespace)).expect(201).body
    api.delete(ref("v1", "Namespace", namespace)).expect(200)

    def failing() -> bool:
        conditions = api.get(ref("v1", "Namespace", namespace)).expect(200).body["status"].get("conditions", [])
        return any(each["type"] == "NamespaceDeletionContentFailure" and each["status"] == "True" for each in conditions)

    eventually(failing, timeout=60)
    api.get(held).expect(200)
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        api.delete(ref("admissionregistration.k8s.io/v1", kind, name)).expect(200)


@pytest.fixture
def protection(policy: Callable[..., str]) -> str:
    """Make a policy that refuses to change or delete what bears a label, by everybody, and return its name."""
    return policy(
        {"expression": "request.operation == 'CREATE'", "reason": "Forbidden"},
        operations=("UPDATE", "DELETE"),
        selector={"matchLabels": MANAGED_BY_US},
        resources=("*",),
        groups=("", "apps"),
    )


def test_taking_the_label_off_is_seen(api: Api, namespace: str, protection: str) -> None:
    """Line 19: `objectSelector` matches the old or the new object, so a policy refuses its own label's removal."""
    made = api.create(config_map(namespace, {"a": "1"}, labels=MANAGED_BY_US)).expect(201).body
    assert named(protection, api.merge_patch(made, {"metadata": {"labels": None}}).expect(403))


def test_putting_the_label_on_is_seen(api: Api, namespace: str, protection: str) -> None:
    """Line 19: `objectSelector` matches an object that only becomes selected by the write."""
    made = api.create(config_map(namespace, {"a": "1"})).expect(201).body
    assert named(protection, api.merge_patch(made, {"metadata": {"labels": MANAGED_BY_US}}).expect(403))


def test_all_resources_are_no_subresources(api: Api, namespace: str, protection: str) -> None:
    """Line 19: `resources: ["*"]` does not cover subresources."""
    manifest = deployment(namespace)
    manifest["metadata"]["labels"] = MANAGED_BY_US
    made = api.create(manifest).expect(201).body
    assert named(protection, api.merge_patch(made, {"spec": {"replicas": 2}}).expect(403))
    api.merge_patch(made, {"spec": {"replicas": 2}}, subresource="scale").expect(200)
    api.merge_patch(made, {"status": {"replicas": 2}}, subresource="status").expect(200)


def test_a_policy_sees_each_object_of_a_collection(api: Api, namespace: str, protection: str) -> None:
    """Line 19: a policy on DELETE refuses `deletecollection` too."""
    made = api.create(config_map(namespace, labels=MANAGED_BY_US)).expect(201).body
    reply = api.delete_all("v1", "ConfigMap", namespace, labelSelector="tests.example/marked").expect(403)
    assert named(protection, reply)
    api.get(made).expect(200)


def test_a_deleted_collection_has_no_name(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 19: in a policy for `deletecollection` `request.name` is absent, and `oldObject` is each object in turn."""
    unnamed = "has(request.name) || oldObject.metadata.name != 'subject'"
    name = policy({"expression": f"request.operation != 'DELETE' || ({unnamed})"}, operations=("DELETE",))
    made = api.create(config_map(namespace)).expect(201).body
    assert named(name, api.delete_all("v1", "ConfigMap", namespace).expect(422))
    api.delete(made).expect(200)


def test_a_policy_refuses_the_garbage_collector(api: Api, namespace: str, protection: str) -> None:
    """Line 19: a policy on DELETE refuses the garbage collector, which goes on trying."""
    parent = api.create(config_map(namespace, name="owner")).expect(201).body
    of = [owner(parent)]
    free = api.create(config_map(namespace, name="free", ownerReferences=of)).expect(201).body
    held = api.create(config_map(namespace, labels=MANAGED_BY_US, ownerReferences=of)).expect(201).body
    api.delete(parent, propagation="Background").expect(200)
    eventually(lambda: gone(api, free), timeout=60)
    api.get(held).expect(200)
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        api.delete(ref("admissionregistration.k8s.io/v1", kind, protection)).expect(200)
    eventually(lambda: gone(api, held), timeout=60)


def test_a_policy_is_obeyed_soon(policy: Callable[..., str]) -> None:
    """Line 19: a new policy takes effect about one second after its creation."""
    started = monotonic()
    policy({"expression": "true"})
    assert monotonic() - started < 10


def test_an_account_without_rights_is_told_what_it_lacks(api: Api, namespace: str, account: str) -> None:
    """Line 20: an impersonated ServiceAccount without rights gets 403 that names user, verb, resource and namespace."""
    reply = api.as_user(account).apply(config_map(namespace, {"a": "1"})).expect(403)
    assert f'User "{account}" cannot patch resource "configmaps" in API group "" in the namespace "{namespace}"' in reply.message


EXTRA = {"copyhold.dev/parent": ["5c9e4b6e"]}


def test_the_extra_arrives_in_a_policy(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 21: `Impersonate-Extra-copyhold.dev%2fparent` arrives as `request.userInfo.extra['copyhold.dev/parent']`."""
    has = "has(request.userInfo.extra) && 'copyhold.dev/parent' in request.userInfo.extra"
    name = policy({"expression": f"{has} && request.userInfo.extra['copyhold.dev/parent'] == ['5c9e4b6e']"})
    boss = api.as_user("boss", groups=["system:masters"])
    assert named(name, boss.create(config_map(namespace)).expect(422))
    other = api.as_user("boss", groups=["system:masters"], extra={"copyhold.dev/parent": ["other"]})
    assert named(name, other.create(config_map(namespace)).expect(422))
    proved = api.as_user("boss", groups=["system:masters"], extra=EXTRA)
    proved.create(config_map(namespace)).expect(201)


def test_sending_the_extra_is_a_right_of_its_own(
    api: Api, namespace: str, account: str, allow: Callable[..., None], unique: Name
) -> None:
    """Line 21: the extra needs `impersonate` on `userextras/copyhold.dev/parent`, else 403; impersonating alone is not enough."""
    victim = unique("victim")
    allow(account, {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": [victim]})
    actor = as_account(api, namespace)
    eventually(lambda: who_am_i(actor.as_user(victim)).status == 201)
    message = who_am_i(actor.as_user(victim, extra=EXTRA)).expect(403).message
    assert 'cannot impersonate resource "userextras/copyhold.dev/parent"' in message
    allow(
        account,
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/copyhold.dev/parent"], "verbs": ["impersonate"]},
    )
    user = eventually(lambda: who_am_i(actor.as_user(victim, extra=EXTRA)).expect(201)).body["status"]["userInfo"]
    assert user["username"] == victim
    assert user["extra"]["copyhold.dev/parent"] == ["5c9e4b6e"]


@pytest.mark.parametrize(("reason", "status"), [(None, 422), ("Forbidden", 403)])
def test_a_policy_chooses_its_status(
    api: Api, namespace: str, policy: Callable[..., str], reason: str | None, status: int
) -> None:
    """Line 22: a policy denies with 422 unless the validation says `reason: Forbidden`."""
    validation = {"expression": "object.metadata.name != 'subject'", "message": "not this one"}
    name = policy(validation | ({"reason": reason} if reason else {}))
    reply = api.create(config_map(namespace)).expect(status)
    assert named(name, reply)
    assert "not this one" in reply.message


def test_a_policy_can_walk_the_top_level_fields(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 22: `object.all(f, ...)` over the top-level fields works in a policy's CEL."""
    name = policy({"expression": "object.all(f, f in ['apiVersion', 'kind', 'metadata', 'data'])"})
    api.create(config_map(namespace, {"a": "1"})).expect(201)
    assert named(name, api.create(config_map(namespace, name="other") | {"immutable": True}).expect(422))


def test_a_policy_can_read_managed_fields(api: Api, namespace: str, policy: Callable[..., str]) -> None:
    """Line 22: `managedFields` can be read in a policy's CEL."""
    exists = "object.metadata.managedFields.exists(m, m.manager == 'friend' && m.operation == 'Apply')"
    name = policy({"expression": f"has(object.metadata.managedFields) && {exists}"})
    assert named(name, api.apply(config_map(namespace, {"a": "1"}), manager="stranger").expect(422))
    api.apply(config_map(namespace, {"a": "1"}), manager="friend").expect(201)


def test_marks_of_a_service_wander(api: Api, namespace: str) -> None:
    """Line 23, corrected: the endpoint controller copies a Service's labels, and no annotations, to its EndpointSlices."""
    api.create(service(namespace, labels=MANAGED_BY_US, annotations={"tests.example/note": "x"})).expect(201)

    def slices() -> list[Manifest]:
        listed: list[Manifest] = api.list("discovery.k8s.io/v1", "EndpointSlice", namespace).expect(200).body["items"]
        return listed

    (metadata,) = (each["metadata"] for each in eventually(slices))
    assert metadata["labels"].items() >= MANAGED_BY_US.items()
    assert "tests.example/note" not in metadata.get("annotations", {})


def binding(namespace: str, name: str, user: str) -> Manifest:
    """Build a RoleBinding that gives a user the Role of the tests."""
    group = "rbac.authorization.k8s.io"
    return ref(f"{group}/v1", "RoleBinding", name, namespace) | {
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "subject"},
    }


def test_a_dying_binding_still_grants(api: Api, namespace: str) -> None:
    """Line 24: a RoleBinding that is kept by a finalizer still grants; with `subjects: []` it no longer does."""

    def may(user: str) -> bool:
        return api.as_user(user).list("v1", "Pod", namespace).status == 200

    api.create(role(namespace, "list")).expect(201)
    dying = api.create(holding(binding(namespace, "dying", "first"))).expect(201).body
    eventually(lambda: may("first"))
    assert api.delete(dying).expect(200).body["metadata"]["deletionTimestamp"]
    # The authorizer learns in order: when it knows the second binding, it knows of the first one's deletion.
    api.create(binding(namespace, "later", "second")).expect(201)
    eventually(lambda: may("second"))
    assert may("first")
    api.merge_patch(dying, {"subjects": []}).expect(200)
    eventually(lambda: not may("first"))
    let_go(api, dying)


def test_foreground_deletion_takes_dependents_first(api: Api, namespace: str) -> None:
    """Line 25: `propagationPolicy: Foreground` deletes dependents while the owner still stands with another finalizer."""
    parent = api.create(holding(config_map(namespace, name="owner"))).expect(201).body
    child = api.create(config_map(namespace, ownerReferences=[owner(parent, blockOwnerDeletion=True)])).expect(201).body
    api.delete(parent, propagation="Foreground").expect(200)
    eventually(lambda: gone(api, child), timeout=60)
    standing = api.get(parent).expect(200).body
    assert standing["metadata"]["deletionTimestamp"]
    let_go(api, standing)
    eventually(lambda: gone(api, parent), timeout=60)


def test_an_empty_metadata_list_has_null_items(api: Api, namespace: str) -> None:
    """Line 26: a list of PartialObjectMetadata that is empty has `"items": null`, not `[]`."""
    assert api.list("v1", "Secret", namespace, accept=METADATA_LIST).expect(200).body["items"] is None


def test_a_patch_may_answer_metadata_only(api: Api, namespace: str) -> None:
    """Line 26: PATCH with the metadata Accept answers metadata and managedFields only, created or not."""
    for status, value in ((201, "1"), (200, "2")):
        answer = api.apply(config_map(namespace, {"a": value}), accept=METADATA).expect(status).body
        assert answer["kind"] == "PartialObjectMetadata"
        assert set(answer) == {"apiVersion", "kind", "metadata"}
        assert answer["metadata"]["uid"]
        assert owned_data(answer, "tests") == {"a"}


def test_a_delete_that_is_done_answers_status(api: Api, namespace: str) -> None:
    """Line 26: DELETE with the metadata Accept answers `Status` when the object is gone at once."""
    api.create(config_map(namespace)).expect(201)
    answer = api.delete(config_map(namespace), accept=METADATA).expect(200).body
    assert (answer["kind"], answer["status"]) == ("Status", "Success")


def test_items_at_the_top_make_a_list(api: Api, namespace: str, widgets: Callable[..., str]) -> None:
    """Line 27: a custom resource with a top-level field `items` is taken for a list: writes fail with 500 `is not a list`."""
    kind = widgets(items={"type": "array", "items": {"type": "string"}})
    assert "is not a list" in api.create(widget(kind, namespace, items=["a"])).expect(500).message


def test_a_failed_test_of_a_json_patch_is_unprocessable(api: Api, namespace: str) -> None:
    """Line 28: a failed `test` of a JSON patch is 422, and nothing is written."""
    made = api.create(config_map(namespace, {"a": "1"})).expect(201).body
    operations = [{"op": "test", "path": "/data/a", "value": "2"}, {"op": "replace", "path": "/data/a", "value": "3"}]
    message = api.json_patch(made, operations).expect(422).message
    assert message == "the server rejected our request due to an error in our request"
    assert api.get(made).expect(200).body == made


def test_an_account_brings_its_groups(api: Api, namespace: str, account: str) -> None:
    """Line 29: `Impersonate-User` with an account's name is enough; the server adds the groups of accounts."""
    user = who_am_i(api.as_user(account)).expect(201).body["status"]["userInfo"]
    assert user["username"] == account
    wanted = {"system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"}
    assert set(user["groups"]) == wanted


def test_editors_may_impersonate_accounts(api: Api) -> None:
    """Line 29: the ClusterRole `edit` grants `impersonate` on ServiceAccounts."""
    edit = api.get(ref("rbac.authorization.k8s.io/v1", "ClusterRole", "edit")).expect(200).body
    assert any("impersonate" in rule["verbs"] and "serviceaccounts" in rule["resources"] for rule in edit["rules"])


# What kubectl asks


@pytest.mark.parametrize("root", ["/api", "/apis"])
def test_discovery_is_one_answer(api: Api, root: str) -> None:
    """kubectl, discovery: both roots answer an APIGroupDiscoveryList when asked for one."""
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    reply = api.request("GET", root, accept=accept).expect(200)
    assert "as=APIGroupDiscoveryList" in reply.headers["content-type"]
    assert (reply.body["apiVersion"], reply.body["kind"]) == ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")
    wanted = {"/api": ("", "configmaps", "ConfigMap"), "/apis": ("apps", "deployments", "Deployment")}[root]
    group = next(each for each in reply.body["items"] if each["metadata"].get("name", "") == wanted[0])
    served = group["versions"][0]
    resource = next(each for each in served["resources"] if each["resource"] == wanted[1])
    assert served["version"] == "v1"
    assert resource["responseKind"]["kind"] == wanted[2]
    assert resource["scope"] == "Namespaced"
    assert set(resource["verbs"]) >= {"create", "delete", "get", "list", "patch", "update", "watch"}


def test_discovery_without_the_wish_is_the_old_one(api: Api) -> None:
    """kubectl, discovery: who does not ask for the aggregated form gets versions and groups."""
    assert api.request("GET", "/api").expect(200).body["kind"] == "APIVersions"
    assert api.request("GET", "/apis").expect(200).body["kind"] == "APIGroupList"


def test_a_strict_create_knows_its_fields(api: Api, namespace: str) -> None:
    """kubectl apply: POST with `fieldValidation=Strict` is 400 for an unknown field and 201 without one."""
    query = {"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"}
    assert 'unknown field "bogus"' in api.create(config_map(namespace) | {"bogus": 1}, **query).expect(400).message
    api.create(config_map(namespace, {"a": "1"}), **query).expect(201)


def test_built_in_kinds_take_strategic_patches(api: Api, namespace: str) -> None:
    """kubectl apply: a strategic merge patch of a built-in kind merges lists by their key."""
    made = api.create(deployment(namespace)).expect(201).body
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "image"}]}}}}
    query = {"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"}
    patched = api.strategic_patch(made, patch, **query).expect(200).body
    assert [each["name"] for each in patched["spec"]["template"]["spec"]["containers"]] == ["side", "main"]


def test_custom_kinds_take_merge_patches(api: Api, namespace: str, widgets: Callable[..., str]) -> None:
    """kubectl apply: a custom resource takes a merge patch and answers 415 to a strategic one."""
    made = api.create(widget(widgets(), namespace, spec={"size": 1})).expect(201).body
    assert api.merge_patch(made, {"spec": {"size": 2}}, fieldValidation="Strict").expect(200).body["spec"] == {"size": 2}
    api.strategic_patch(made, {"spec": {"size": 3}}).expect(415)


def test_a_server_side_apply_of_kubectl(api: Api, namespace: str) -> None:
    """kubectl apply --server-side: strict apply as manager `kubectl`, in YAML."""
    path = api.path("v1", "ConfigMap", namespace=namespace, name="subject")
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: subject\ndata:\n  a: '1'\n"
    query: dict[str, Any] = {"fieldManager": "kubectl", "fieldValidation": "Strict", "force": False}
    made = api.request("PATCH", path, text, content_type="application/apply-patch+yaml", **query).expect(201).body
    assert owned_data(made, "kubectl") == {"a"}


KUBECTL_TABLE = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"


def test_a_list_may_be_a_table(api: Api, namespace: str) -> None:
    """kubectl get: a Table has columns, and a row with cells and metadata for each object."""
    api.create(config_map(namespace, {"a": "1", "b": "2"})).expect(201)
    query = {"limit": 500, "fieldSelector": "metadata.name=subject"}
    table = api.list("v1", "ConfigMap", namespace, accept=KUBECTL_TABLE, **query).expect(200).body
    assert (table["apiVersion"], table["kind"]) == ("meta.k8s.io/v1", "Table")
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    (row,) = table["rows"]
    assert row["cells"][:2] == ["subject", 2]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "subject"


def test_one_object_may_be_a_table(api: Api, namespace: str) -> None:
    """kubectl get NAME: one object is a Table with one row."""
    api.create(config_map(namespace)).expect(201)
    table = api.get(config_map(namespace), accept=KUBECTL_TABLE).expect(200).body
    assert table["kind"] == "Table"
    assert [each["cells"][0] for each in table["rows"]] == ["subject"]


def test_a_custom_table_has_its_printer_columns(api: Api, namespace: str, widgets: Callable[..., str]) -> None:
    """kubectl get: the Table of a custom kind has its name and the columns of its definition."""
    kind = widgets()
    api.create(widget(kind, namespace, spec={"size": 7})).expect(201)
    table = api.list(kind, "Widget", namespace, accept=KUBECTL_TABLE, limit=500).expect(200).body
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Size"]
    assert [each["cells"] for each in table["rows"]] == [["subject", 7]]


def test_a_list_comes_in_pages(api: Api, namespace: str) -> None:
    """kubectl get: with a limit a list has a `continue` token and the number of remaining items, and the next page goes on."""
    for name in ("one", "three", "two"):
        api.create(config_map(namespace, name=name, labels=MANAGED_BY_US)).expect(201)
    first = api.list("v1", "Secret", namespace, limit=2).expect(200).body
    assert "continue" not in first["metadata"]
    first = api.list("v1", "ConfigMap", namespace, limit=2).expect(200).body
    # The namespace controller may have added a ConfigMap of its own.
    names = [each["metadata"]["name"] for each in first["items"]]
    assert len(names) == 2
    assert first["metadata"]["remainingItemCount"] >= 1
    rest = api.list("v1", "ConfigMap", namespace, limit=500, **{"continue": first["metadata"]["continue"]}).expect(200).body
    names += [each["metadata"]["name"] for each in rest["items"]]
    assert names == sorted(names)
    assert set(names) >= {"one", "two", "three"}
    assert "continue" not in rest["metadata"]


def test_a_watch_may_send_the_initial_state(api: Api, namespace: str) -> None:
    """kubectl wait: with `sendInitialEvents` a bookmark with `k8s.io/initial-events-end` closes the initial state."""
    made = api.create(config_map(namespace, {"a": "1"})).expect(201).body
    query: dict[str, Any] = {
        "fieldSelector": "metadata.name=subject",
        "sendInitialEvents": True,
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": True,
    }
    with api.watch("v1", "ConfigMap", namespace, **query) as events:
        first, mark = next(events), next(events)
        api.merge_patch(made, {"data": {"a": "2"}}).expect(200)
        change = next(events)
    assert (first.type, first.object) == ("ADDED", made)
    assert (mark.type, mark.object["kind"]) == ("BOOKMARK", "ConfigMap")
    assert mark.object["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(version(mark.object)) >= int(version(made))
    assert (change.type, change.object["data"]) == ("MODIFIED", {"a": "2"})


def test_a_watch_sees_the_deletion(api: Api, namespace: str) -> None:
    """kubectl delete: after the GET a watch from its resourceVersion sends DELETED when the object is gone."""
    made = api.create(holding(config_map(namespace))).expect(201).body
    dying = api.delete(made, propagation="Background").expect(200).body
    query: dict[str, Any] = {"fieldSelector": "metadata.name=subject", "resourceVersion": version(dying)}
    with api.watch("v1", "ConfigMap", namespace, **query) as events:
        let_go(api, dying)
        event = next(events)
    assert event.type == "DELETED"
    assert int(version(event.object)) > int(version(dying))


@pytest.mark.parametrize("path", ["api/v1", "apis/apps/v1"])
def test_open_api_is_found_by_hash(api: Api, path: str) -> None:
    """kubectl explain and apply: `/openapi/v3` names each group version by hash, and PATCH knows `fieldValidation`."""
    paths = api.request("GET", "/openapi/v3").expect(200).body["paths"]
    url = paths[path]["serverRelativeURL"]
    assert url.startswith(f"/openapi/v3/{path}?hash=")
    address, hash_ = url.split("?hash=")
    document = api.request("GET", address, hash=hash_).expect(200).body
    patch = next(each["patch"] for each in document["paths"].values() if "patch" in each)
    assert "fieldValidation" in {each["name"] for each in patch["parameters"]}


def test_open_api_tells_how_lists_merge(api: Api) -> None:
    """kubectl apply: the schemas of built-in kinds carry list types, map keys and patch strategies."""
    schemas = api.request("GET", "/openapi/v3/apis/apps/v1").expect(200).body["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-patch-merge-key"] == "name"


def test_open_api_knows_custom_kinds(api: Api, widgets: Callable[..., str]) -> None:
    """kubectl explain: a custom kind's schema is found under its group version, marked with its kind."""
    kind = widgets()
    group = kind.removesuffix("/v1")
    assert f"apis/{kind}" in api.request("GET", "/openapi/v3").expect(200).body["paths"]
    schemas = api.request("GET", f"/openapi/v3/apis/{kind}").expect(200).body["components"]["schemas"]
    (schema,) = (
        each
        for each in schemas.values()
        if {"group": group, "kind": "Widget", "version": "v1"} in each.get("x-kubernetes-group-version-kind", [])
    )
    assert schema["properties"]["spec"]["properties"]["size"]["type"] == "integer"
