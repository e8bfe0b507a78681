"""How temporary access of other systems failed in public, as tests: what is rendered (the numbers are those of the cases)."""

import json

import pytest

from tests.scenario.permits.acts import given, stuck, target
from tests.support.api import Api, Manifest, ref
from tests.support.permits import Permits, config_map
from tests.support.stage import GROUP, RBAC

TEXT: Manifest = {"type": "object", "properties": {"text": {"type": "string"}}}


# 97: kinds beyond the namespace.


def cluster_kinds(api: Api) -> list[tuple[str, str]]:
    """Every cluster-scoped kind of Kubernetes and of ours that can be made: (apiVersion, kind). Other tests have kinds, too."""
    groups = [each for each in api.request("GET", "/apis").expect(200).body["groups"] if each["name"].endswith(("k8s.io", GROUP))]
    versions = ["v1", *(each["preferredVersion"]["groupVersion"] for each in groups)]
    found: list[tuple[str, str]] = []
    for version in versions:
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        served = api.request("GET", path).expect(200).body["resources"]
        found += [(version, each["kind"]) for each in served if "/" not in each["name"] and _is_made_by_anybody(each)]
    return found


def _is_made_by_anybody(resource: Manifest) -> bool:
    return not resource["namespaced"] and {"create", "get", "patch", "delete"} <= {*resource["verbs"]}


def test_case_097_no_local_template_makes_what_is_cluster_scoped(permits: Permits) -> None:
    """Each kind that the server has, rendered with a namespace of its own: forcing one onto it does not make it local."""
    stage = permits.stage
    stage.manager(permits=True)
    text = (
        "apiVersion: {{ params.version | tojson }}\nkind: {{ params.kind | tojson }}\n"
        "metadata: {name: crafty, namespace: {{ request.namespace | tojson }}}\n"
    )
    schema = {"type": "object", "properties": {"version": {"type": "string"}, "kind": {"type": "string"}}}
    template = permits.template("any", {"template": text}, paramSchema=schema)
    kinds = cluster_kinds(stage.api)
    assert (f"{RBAC}/v1", "ClusterRole") in kinds
    asked = {
        (version, kind): permits.ask(template, params={"version": version, "kind": kind}).expect(201).body
        for version, kind in kinds
    }
    for (version, kind), permit in asked.items():
        assert f"{version}/{kind} crafty: the kind is cluster-scoped" in stuck(permits, permit)
        stage.api.get(ref(version, kind, "crafty")).expect(404)


ROLE: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "crafty"}, "rules": []}


@pytest.mark.parametrize(
    "group",
    [
        pytest.param({"targets": [{"apiVersion": "v1", "kind": "List", "items": [ROLE]}]}, id="a list"),
        pytest.param({"targets": [{"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleList", "items": [ROLE]}]}, id="its list"),
        pytest.param({"targets": [ROLE | {"metadata": {"generateName": "crafty-"}}]}, id="without a name"),
        pytest.param({"template": f"{json.dumps(ROLE)}\n---\n{json.dumps(ROLE)}"}, id="a text"),
        pytest.param({"template": json.dumps({"apiVersion": "v1", "kind": "List", "items": [ROLE]})}, id="a list in a text"),
    ],
)
def test_case_097_no_wrapping_lets_it_through(permits: Permits, group: Manifest) -> None:
    """In a list, without a name, in a text: whatever it is wrapped in, it is refused, and what is beside it is not given."""
    stage = permits.stage
    template = ref("copyhold.dev/v1alpha1", "ResourcePermitTemplate", stage.name("wraps"), permits.home)
    template["spec"] = {"impersonation": {"name": permits.account}, "resources": [config_map(), group]}
    reply = stage.api.create(template)
    if reply.status == 201:
        stage.made.append(reply.body)
        stage.manager(permits=True)
        stage.ready(reply.body)
        assert "crafty" in stuck(permits, permits.ask(template).expect(201).body)
    else:
        reply.expect(422)
    stage.api.get(target(permits)).expect(404)
    made = stage.api.list(f"{RBAC}/v1", "ClusterRole").expect(200).body["items"]
    assert not [each for each in made if each["metadata"]["name"].startswith("crafty")]


# 101: values are values.

CRAFTY = [
    "x\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: crafty}",
    "x\n  evil: yes",
    "&anchor x",
    "*anchor",
    "!!binary eA==",
    "{{ 7 * 7 }}",
    "{% for each in range(3) %}x{% endfor %}",
    "null",
    '"}, "evil": {"',
    "# nothing",
]


@pytest.mark.parametrize("text", CRAFTY)
def test_case_101_a_parameter_is_spliced_as_what_it_is(permits: Permits, text: str) -> None:
    """Lines, anchors, tags, templates: in targets and through `tojson` it is this very string, and elsewhere it is refused."""
    stage = permits.stage
    stage.manager(permits=True)
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-text}\ndata:\n"
    typed: Manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "typed"},
        "data": {"it": "{{ params.text }}"},
    }
    safe = permits.template(
        "safe", {"targets": [typed]}, {"template": f"{head}  it: {{{{ params.text | tojson }}}}\n"}, paramSchema=TEXT
    )
    given(permits, safe, params={"text": text})
    for name in ("typed", "by-text"):
        assert stage.read(target(permits, name))["data"] == {"it": text}
    unsafe = permits.template("unsafe", {"template": f"{head}  it: {{{{ params.text }}}}\n"}, paramSchema=TEXT)
    permit = permits.ask(unsafe, params={"text": text}).expect(201).body
    assert "tojson" in stuck(permits, permit)
    stage.api.get(target(permits, "crafty")).expect(404)
