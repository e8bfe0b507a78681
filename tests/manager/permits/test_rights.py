"""Which rights the targets of a permit give, resolved against a cluster."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Grant, RoleSeen
from apis.intent import Identity
from apis.meta import Manifest
from apis.problems import Unavailable
from manager.cluster import ApiCluster
from manager.endpoint import Bearer, Endpoint
from manager.files import Folder, Found
from manager.http import Client
from manager.permits import rights
from manager.permits.granttext import line, lines
from manager.permits.rights import resolve
from manager.world import Actor
from policy.permits.grants import RBAC, allows
from tests.realserver.access import Access
from tests.support.api import Api, eventually, ref

Make = Callable[[Manifest], Manifest]
Name = Callable[[str], str]

API = f"{RBAC}/v1"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
ALICE = {"kind": "User", "name": "alice", "apiGroup": RBAC}
IMAGE = {"containers": [{"name": "main", "image": "registry.example.com/main:1"}]}


@asynccontextmanager
async def connected(server: Access, user: str, **options: Any) -> AsyncIterator[ApiCluster]:
    """The server as the code under test sees it, with the token of a user."""
    url = urlsplit(server.url)
    assert url.hostname is not None
    assert url.port is not None
    trust = ssl.create_default_context(cafile=str(server.ca))
    client = Client(Endpoint(url.hostname, url.port, tls=trust, credentials=Bearer(server.tokens[user])))
    yield ApiCluster(client, **options)
    await client.close()


@pytest.fixture
async def cluster(server: Access) -> AsyncIterator[ApiCluster]:
    """The server, as an administrator."""
    async with connected(server, "admin") as found:
        yield found


def role(name: str, namespace: str = "", *rules: Manifest, labels: dict[str, str] | None = None, **more: Any) -> Manifest:
    """A Role, or without a namespace a ClusterRole."""
    manifest = ref(API, "Role" if namespace else "ClusterRole", name, namespace or None)
    if labels:
        manifest["metadata"]["labels"] = labels
    return manifest | ({"rules": list(rules)} if rules else {}) | more


def binding(name: str, namespace: str, to: Manifest, *subjects: Manifest) -> Manifest:
    """A RoleBinding, or without a namespace a ClusterRoleBinding."""
    manifest = ref(API, "RoleBinding" if namespace else "ClusterRoleBinding", name, namespace or None)
    reference = {"apiGroup": RBAC, "kind": to["kind"], "name": to["metadata"]["name"]}
    return manifest | {"roleRef": reference, "subjects": list(subjects or (ALICE,))}


def robot(namespace: str, name: str = "robot") -> Manifest:
    """A ServiceAccount, as subject."""
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}


def pod(name: str, namespace: str, **spec: Any) -> Manifest:
    """A Pod."""
    return ref("v1", "Pod", name, namespace) | {"spec": IMAGE | spec}


def deployment(name: str, namespace: str, **spec: Any) -> Manifest:
    """A Deployment."""
    template = {"metadata": {"labels": {"app": name}}, "spec": IMAGE | spec}
    selector = {"matchLabels": {"app": name}}
    return ref("apps/v1", "Deployment", name, namespace) | {"spec": {"replicas": 0, "selector": selector, "template": template}}


def of_test(rows: list[Manifest]) -> list[Manifest]:
    """The rows that the test brought about: those of a server's own bindings to all accounts are left out."""
    return [row for row in rows if not row["via"].endswith("ClusterRoleBinding system:service-account-issuer-discovery")]


async def test_what_is_no_matter_of_rights_asks_nothing(server: Access, namespace: str) -> None:
    """A ConfigMap and a NetworkPolicy cost no request."""
    requests: list[str] = []
    targets = [ref("v1", "ConfigMap", "x", namespace), ref("networking.k8s.io/v1", "NetworkPolicy", "x", namespace)]
    async with connected(server, "admin", observer=lambda method, path, status, seconds: requests.append(path)) as cluster:
        assert await resolve(cluster, targets) == ([], [])
    assert requests == []


async def test_a_binding_to_a_role_of_the_snapshot(cluster: ApiCluster, namespace: str) -> None:
    """Nothing of it is in the cluster: what is rendered says it all."""
    reader = role("reader", namespace, PODS)
    grants, roles = await resolve(cluster, [binding("x", namespace, reader), reader])
    assert grants == [
        {
            "subject": "User/alice",
            "namespace": namespace,
            "verbs": ["get", "list"],
            "apiGroups": [""],
            "resources": ["pods"],
            "via": f"RoleBinding {namespace}/x",
        }
    ]
    assert [(seen["kind"], seen["name"], "uid" in seen) for seen in roles] == [("Role", "reader", False)]
    assert lines(grants) == [f"User/alice may get, list pods in {namespace} (by RoleBinding {namespace}/x)"]


async def test_a_binding_to_a_role_that_is_there(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """The role is seen with its UID and a digest, which changes with its rules and with nothing else."""
    live = api.create(role("reader", namespace, PODS, SECRETS)).expect(201).body
    target = binding("x", namespace, live)
    grants, (seen,) = await resolve(cluster, [target])
    assert allows(grants, "get", "", "secrets")
    assert seen["uid"] == live["metadata"]["uid"]
    api.merge_patch(live, {"metadata": {"labels": {"a": "b"}}, "rules": [SECRETS, PODS]}).expect(200)
    assert await resolve(cluster, [target]) == (grants, [seen])
    api.merge_patch(live, {"rules": [PODS]}).expect(200)
    fewer, (changed,) = await resolve(cluster, [target])
    assert not allows(fewer, "get", "", "secrets")
    assert changed["uid"] == seen["uid"]
    assert changed["rulesDigest"] != seen["rulesDigest"]


async def test_a_role_that_was_replaced_is_another(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """The same name and the same rules: the UID tells."""
    live = api.create(role("reader", namespace, PODS)).expect(201).body
    _, (before,) = await resolve(cluster, [binding("x", namespace, live)])
    api.delete(live).expect(200)
    api.create(role("reader", namespace, PODS)).expect(201)
    _, (after,) = await resolve(cluster, [binding("x", namespace, live)])
    assert before["rulesDigest"] == after["rulesDigest"]
    assert before["uid"] != after["uid"]


async def test_a_missing_role_counts_as_everything(cluster: ApiCluster, namespace: str) -> None:
    """Whoever makes it later decides what was given."""
    grants, roles = await resolve(cluster, [binding("x", namespace, ref(API, "ClusterRole", "test-ghost"))])
    (row,) = grants
    assert row["subject"] == "User/alice"
    assert row["unresolved"].startswith("ClusterRole test-ghost is not there")
    assert allows(grants, "delete", "", "nodes")
    assert roles == [{"kind": "ClusterRole", "name": "test-ghost"}]
    assert line(row).startswith(f"User/alice may do anything in {namespace}, as far as is known (by RoleBinding {namespace}/x): ")


async def test_an_aggregated_role_gives_what_the_server_wrote(
    cluster: ApiCluster, api: Api, namespace: str, temporary: Make, unique: Name
) -> None:
    """Its own text has no rules."""
    label = {f"test.example.com/{unique('to')}": "true"}
    rule = {"clusterRoleSelectors": [{"matchLabels": label}]}
    whole = temporary(role(unique("whole"), aggregationRule=rule))
    temporary(role(unique("part"), "", SECRETS, labels=label))
    eventually(lambda: api.get(whole).expect(200).body.get("rules"))
    grants, (seen,) = await resolve(cluster, [binding("x", namespace, whole)])
    assert allows(grants, "get", "", "secrets")
    assert not allows(grants, "get", "", "pods")
    assert seen["uid"] == whole["metadata"]["uid"]


async def test_a_role_by_its_label_widens_others(cluster: ApiCluster, api: Api, temporary: Make, unique: Name) -> None:
    """Whoever is bound to a ClusterRole that takes its rules gets them, also over two steps."""
    first, second = (f"test.example.com/{unique('to')}" for _ in range(2))
    inner = temporary(
        role(
            unique("inner"), aggregationRule={"clusterRoleSelectors": [{"matchLabels": {first: "true"}}]}, labels={second: "true"}
        )
    )
    outer = temporary(role(unique("outer"), aggregationRule={"clusterRoleSelectors": [{"matchLabels": {second: "true"}}]}))
    held = temporary(binding(unique("held"), "", outer, ALICE))
    temporary(binding(unique("other"), "", inner, {"kind": "Group", "name": "sre", "apiGroup": RBAC}))
    part = role(unique("part"), "", SECRETS, labels={first: "true"})
    grants, roles = await resolve(cluster, [part])
    assert [(row["subject"], row["resources"]) for row in grants] == [("Group/sre", ["secrets"]), ("User/alice", ["secrets"])]
    assert grants[1]["via"] == f"ClusterRole {part['metadata']['name']} through ClusterRoleBinding {held['metadata']['name']}"
    assert [seen["name"] for seen in roles] == [part["metadata"]["name"]]


async def test_a_label_alone_widens_by_the_rules_that_are_there(cluster: ApiCluster, temporary: Make, unique: Name) -> None:
    """A snapshot that adopts a ClusterRole and says nothing of its rules leaves them as they are."""
    label = f"test.example.com/{unique('to')}"
    whole = temporary(role(unique("whole"), aggregationRule={"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}))
    temporary(binding(unique("held"), "", whole))
    powerful = temporary(role(unique("powerful"), "", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}))
    grants, _ = await resolve(cluster, [role(powerful["metadata"]["name"], labels={label: "true"})])
    assert [(row["subject"], row["verbs"]) for row in grants] == [("User/alice", ["*"])]
    assert line(grants[0]).startswith("User/alice may do anything with everything in the whole cluster (by ClusterRole powerful")


async def test_a_new_aggregated_role_gives_what_it_would_select(
    cluster: ApiCluster, namespace: str, temporary: Make, unique: Name
) -> None:
    """Of roles that are there, and of roles of the snapshot."""
    label = {f"test.example.com/{unique('to')}": "true"}
    temporary(role(unique("there"), "", SECRETS, labels=label))
    whole = role(unique("whole"), aggregationRule={"clusterRoleSelectors": [{"matchLabels": label}]})
    targets = [whole, role(unique("part"), "", PODS, labels=label), binding("x", namespace, whole)]
    grants, _ = await resolve(cluster, targets)
    assert [row["resources"] for row in grants] == [["pods"], ["secrets"]]


async def test_a_changed_role_gives_its_new_rules_to_whoever_is_bound(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """The snapshot holds no binding; and one that waits for its role counts as well."""
    live = api.create(role("reader", namespace, PODS)).expect(201).body
    api.create(binding("held", namespace, live)).expect(201)
    grants, _ = await resolve(cluster, [role("reader", namespace, SECRETS)])
    assert [(row["subject"], row["resources"], row["via"]) for row in grants] == [
        ("User/alice", ["secrets"], f"Role {namespace}/reader through RoleBinding {namespace}/held")
    ]
    api.delete(live).expect(200)
    assert (await resolve(cluster, [role("reader", namespace, SECRETS)]))[0] == grants


async def test_a_role_that_nobody_is_bound_to_gives_nothing(cluster: ApiCluster, namespace: str) -> None:
    """Neither rows nor roles."""
    assert await resolve(cluster, [role("reader", namespace, SECRETS)]) == ([], [])


async def test_a_binding_that_states_only_subjects_keeps_its_role(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """So does server-side apply when the snapshot adopts it."""
    live = api.create(role("reader", namespace, SECRETS)).expect(201).body
    held = api.create(binding("held", namespace, live)).expect(201).body
    bare = ref(API, "RoleBinding", held["metadata"]["name"], namespace) | {"subjects": [{"kind": "Group", "name": "sre"}]}
    grants, _ = await resolve(cluster, [bare])
    assert [(row["subject"], row["resources"]) for row in grants] == [("Group/sre", ["secrets"])]


async def test_the_user_name_of_an_account_is_the_account(cluster: ApiCluster, namespace: str) -> None:
    """Two ways to write one subject."""
    reader = role("reader", namespace, PODS)
    user = {"kind": "User", "name": f"system:serviceaccount:{namespace}:robot", "apiGroup": RBAC}
    grants, _ = await resolve(cluster, [reader, binding("x", namespace, reader, user, robot(namespace))])
    assert [row["subject"] for row in grants] == [f"ServiceAccount/{namespace}/robot"]


# Accounts.


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "token"])
async def test_what_acts_as_an_account_lends_its_rights(cluster: ApiCluster, api: Api, namespace: str, kind: str) -> None:
    """Whoever controls it may do what the account may, in every namespace where it is bound."""
    live = api.create(role("reader", namespace, SECRETS)).expect(201).body
    api.create(binding("held", namespace, live, robot(namespace))).expect(201)
    token = ref("v1", "Secret", "x", namespace) | {"type": "kubernetes.io/service-account-token"}
    token["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "robot"}
    target = {
        "Pod": pod("x", namespace, serviceAccountName="robot"),
        "Deployment": deployment("x", namespace, serviceAccount="robot"),
        "token": token,
    }[kind]
    grants, roles = await resolve(cluster, [target])
    assert [(row["subject"], row["resources"], row["via"]) for row in of_test(grants)] == [
        (
            f"ServiceAccount/{namespace}/robot",
            ["secrets"],
            f"{target['kind']} {namespace}/x through RoleBinding {namespace}/held",
        )
    ]
    assert live["metadata"]["uid"] in [seen.get("uid") for seen in roles]


async def test_a_workload_without_an_account_runs_as_default(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """And the rights of a group of accounts are rights of each."""
    live = api.create(role("reader", namespace, SECRETS)).expect(201).body
    group = {"kind": "Group", "name": f"system:serviceaccounts:{namespace}", "apiGroup": RBAC}
    api.create(binding("held", namespace, live, group)).expect(201)
    grants, _ = await resolve(cluster, [pod("x", namespace)])
    assert [row["subject"] for row in of_test(grants)] == [f"ServiceAccount/{namespace}/default"]


async def test_an_adopted_workload_keeps_the_account_that_it_has(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """Who exchanges its image gets the rights of an account that is not named. The workload is read as the permit's account."""
    live = api.create(role("reader", namespace, SECRETS)).expect(201).body
    api.create(binding("held", namespace, live, robot(namespace))).expect(201)
    api.create(deployment("x", namespace, serviceAccountName="robot")).expect(201)
    runner = Actor(Identity(namespace, "runner"), "uid-of-the-permit")
    target = deployment("x", namespace)
    refused, _ = await resolve(cluster, [target], runner)
    assert [row["via"] for row in refused] == [f"Deployment {namespace}/x"]
    assert allows(refused, "get", "", "nodes")
    see = (
        api.create(role("see", namespace, {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}))
        .expect(201)
        .body
    )
    api.create(binding("see", namespace, see, robot(namespace, "runner"))).expect(201)
    eventually(lambda: api.as_user(f"system:serviceaccount:{namespace}:runner").get(target).status == 200)
    grants, _ = await resolve(cluster, [target], runner)
    assert [(row["subject"], row["resources"]) for row in of_test(grants)] == [(f"ServiceAccount/{namespace}/robot", ["secrets"])]


# What cannot be known, and what must not change.


async def test_what_may_not_be_read_counts_as_everything(server: Access, namespace: str) -> None:
    """Roles, bindings, workloads: each row says what was refused."""
    reader = ref(API, "ClusterRole", "view")
    targets = [binding("x", namespace, reader), role("own", namespace, PODS), pod("x", namespace, serviceAccountName="robot")]
    async with connected(server, "carol") as cluster:
        for target in targets:
            grants, _ = await resolve(cluster, [target])
            assert grants
            assert all("could not be read" in row["unresolved"] for row in grants)
            assert allows(grants, "delete", "", "nodes")


async def test_a_server_that_does_not_answer_is_no_answer() -> None:
    """It is asked again later; nobody reviews rows that stand for an outage."""

    class Away(Folder):
        async def get(self, *args: Any, **options: Any) -> Manifest | None:
            raise Unavailable("the server does not answer")

    with pytest.raises(Unavailable):
        await resolve(Away(), [binding("x", "solar", ref(API, "ClusterRole", "view"))])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.sampled_from(["", "*", "x", "In"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "name", "x"]), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def broken_targets(draw: st.DrawFn) -> list[Manifest]:
    """Targets of every sort, in one of which something is replaced by anything; their identity stays."""
    select = {
        "clusterRoleSelectors": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}], "matchLabels": {"a": "b"}}
        ]
    }
    token = ref("v1", "Secret", "x", "solar") | {"type": "kubernetes.io/service-account-token"}
    token["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "robot"}
    whole = role("x", "", PODS, SECRETS, labels={"a": "b"}, aggregationRule=select)
    targets = deepcopy(
        [whole, role("x", "solar", PODS), binding("x", "solar", whole, ALICE, robot("solar")), pod("x", "solar"), token]
    )
    node: Any = draw(st.sampled_from(targets))
    while True:
        keys = [
            key
            for key in (node if isinstance(node, dict) else range(len(node)))
            if key not in ("apiVersion", "name", "namespace")
        ]
        keys = [key for key in keys if node is not targets or key != "kind"]
        if not keys:
            return targets
        key = draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or (key != "metadata" and draw(st.booleans())):
            if key != "kind":
                node[key] = draw(JUNK)
            return targets
        node = node[key]


@given(broken_targets())
def test_no_target_is_so_malformed_that_nothing_can_be_said(targets: list[Manifest]) -> None:
    """The trial of a malformed one fails, and its permit is shown all the same."""
    there = [role("there", "", PODS, labels={"a": "b"}), binding("there", "", role("x"), ALICE)]
    grants, roles = asyncio.run(resolve(Folder([Found(deepcopy(manifest), "a file") for manifest in there]), targets))
    assert [Grant.model_validate(row) for row in grants]
    assert all(RoleSeen.model_validate(row) for row in roles)


async def test_files_are_a_cluster_too(cluster: ApiCluster, api: Api, namespace: str) -> None:
    """A preview without a cluster resolves against what it was given."""
    reader, held = role("reader", namespace, SECRETS), binding("held", namespace, role("reader", namespace), robot(namespace))
    targets = [binding("x", namespace, reader), pod("x", namespace, serviceAccountName="robot"), role("reader", namespace, PODS)]
    for manifest in (reader, held):
        api.create(manifest).expect(201)
    grants, _ = await resolve(cluster, targets)
    offline, _ = await resolve(Folder([Found(manifest, "a file") for manifest in (reader, held)]), targets)
    assert offline == of_test(grants)


async def test_too_many_roles_count_as_everything(cluster: ApiCluster, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A permit asks the server a bounded number of questions."""
    monkeypatch.setattr(rights, "MOST_ROLES", 1)
    targets = [
        binding(f"x{index}", namespace, ref(API, "ClusterRole", f"system:{name}"))
        for index, name in enumerate(("heapster", "kube-dns"))
    ]
    grants, roles = await resolve(cluster, targets)
    assert len(roles) == 1
    assert [row["unresolved"] for row in grants if "more than" in row.get("unresolved", "")] == [
        "more than 1 roles are given: ask for less in one permit"
    ]


async def test_nothing_changes_once_the_snapshot_is_applied(
    cluster: ApiCluster, api: Api, namespace: str, temporary: Make, unique: Name
) -> None:
    """Rights are resolved again after a failed activation, when a part of the snapshot is there already."""
    label = f"test.example.com/{unique('to')}"
    whole = temporary(role(unique("whole"), aggregationRule={"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}))
    temporary(binding(unique("held"), "", whole))
    part, reader = role(unique("part"), "", SECRETS, labels={label: "true"}), role("reader", namespace, PODS)
    targets = [
        part,
        reader,
        binding("x", namespace, reader, robot(namespace), ALICE),
        binding("y", namespace, whole),
        pod("x", namespace, serviceAccountName="robot"),
    ]
    before = await resolve(cluster, targets)
    temporary(part)
    for target in targets[1:4]:
        api.create(target).expect(201)
    eventually(lambda: api.get(whole).expect(200).body.get("rules"))
    assert await resolve(cluster, targets) == before
