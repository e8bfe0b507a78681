"""Who may, who may act as whom, and who may give rights away: the real server and our authorizer judge the same rows alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from manager.embedded.attributes import AUTHENTICATED, Attributes, User
from manager.embedded.auth.escalation import check_escalation
from manager.embedded.auth.impersonation import Impersonation
from manager.embedded.auth.rbac import GROUP, Authorizer
from manager.embedded.auth.reviews import user_info
from manager.embedded.status import StatusError
from manager.embedded.store import Key, Store
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, Reply, eventually, ref

RBAC = f"{GROUP}/v1"
KINDS = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}
Name = Callable[[str], str]


def rule(resources: str, verbs: str, groups: str = "", **rest: Any) -> Manifest:
    """Build a rule: lists are written with spaces, the core group as `core`."""
    named = [group.replace("core", "") for group in (groups or "core").split()]
    return {"apiGroups": named, "resources": resources.split(), "verbs": verbs.split()} | rest


def path_rule(urls: str, verbs: str) -> Manifest:
    """Build a rule about paths."""
    return {"nonResourceURLs": urls.split(), "verbs": verbs.split()}


def role(name: str, rules: Sequence[Manifest], namespace: str | None = None, **rest: Any) -> Manifest:
    """Build a Role, or without a namespace a ClusterRole."""
    return ref(RBAC, "Role" if namespace else "ClusterRole", name, namespace) | {"rules": list(rules)} | rest


def binding(name: str, to: str, subjects: Sequence[Manifest], namespace: str | None = None) -> Manifest:
    """Build a binding to `Kind/name` of a role."""
    kind, _, named = to.partition("/")
    manifest = ref(RBAC, "RoleBinding" if namespace else "ClusterRoleBinding", name, namespace)
    return manifest | {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": named}, "subjects": list(subjects)}


def subject(kind: str, name: str, namespace: str = "") -> Manifest:
    """Build one of a binding's subjects."""
    return {"kind": kind, "name": name} | ({"namespace": namespace} if kind == "ServiceAccount" else {"apiGroup": GROUP})


class Mirror:
    """What the real server stores of RBAC, here as well, with our authorizer over it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.store = Store()
        self.authorizer = Authorizer(self.store)
        self.made: list[Manifest] = []
        self.stored: dict[Key, Manifest] = {}
        for kind in KINDS:
            for item in api.list(RBAC, kind).expect(200).body["items"]:
                self._keep(item | {"apiVersion": RBAC, "kind": kind})

    def create(self, manifest: Manifest) -> None:
        """Store an object on both sides."""
        self.made.append(manifest)
        self._keep(self.api.create(manifest).expect(201).body)

    def clear(self) -> None:
        """Delete what was made on the real server."""
        for manifest in reversed(self.made):
            self.api.delete(manifest).expect(200, 404)

    def _keep(self, stored: Manifest) -> None:
        metadata = stored["metadata"]
        key = Key(f"{KINDS[stored['kind']]}.{GROUP}", metadata.get("namespace", ""), metadata["name"])
        self.stored[key] = stored  # the copy in our store has a revision of its own
        self.store.put(key, stored)


@pytest.fixture
def mirror(api: Api) -> Any:
    """Both sides, with the roles and bindings that a cluster starts with."""
    both = Mirror(api)
    yield both
    both.clear()


# Access reviews

NAMES = ("one", "two")
VERBS = ("get", "list", "create", "delete", "escalate", "impersonate")
ASKED_RESOURCES = (
    ("", "pods", ""),
    ("", "pods", "log"),
    ("", "pods", "exec"),
    ("", "configmaps", ""),
    ("apps", "deployments", "scale"),
)
PATHS = ("/api", "/apis/apps", "/metrics", "/logs/", "/logs/x", "/healthz")


RULED = ("pods", "pods/log", "pods/*", "*/log", "*/scale", "configmaps", "deployments", "*", "deployments/scale")


def _some(random: Random, values: Sequence[str], most: int = 2) -> list[str]:
    return random.sample(values, random.randint(1, min(most, len(values))))


def _random_rule(random: Random, *, paths: bool) -> Manifest:
    if paths and random.random() < 0.3:
        return path_rule(" ".join(_some(random, ("/api", "/logs/*", "/metrics", "*", "/apis/*"))), random.choice(("get", "*")))
    resources = _some(
        random, ("pods", "pods/log", "pods/*", "*/log", "*/scale", "configmaps", "deployments", "*", "deployments/scale")
    )
    built = rule(
        " ".join(resources), " ".join(_some(random, (*VERBS, "*"), 3)), random.choice(("core", "core apps", "apps", "*"))
    )
    return built | ({"resourceNames": _some(random, NAMES)} if random.random() < 0.3 else {})


def _random_asked(random: Random, users: Sequence[str], namespaces: Sequence[str]) -> Manifest:
    spec: Manifest = {"user": random.choice(users), "groups": _some(random, [AUTHENTICATED, "crew", "guests"], 3)}
    if random.random() < 0.15:
        return spec | {"nonResourceAttributes": {"path": random.choice(PATHS), "verb": random.choice(("get", "post"))}}
    group, resource, subresource = random.choice(ASKED_RESOURCES)
    asked = {
        "verb": random.choice(VERBS),
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": random.choice(("", *namespaces)),
        "name": random.choice(("", *NAMES)),
    }
    return spec | {"resourceAttributes": {key: value for key, value in asked.items() if value}}


def _attributes(spec: Manifest) -> Attributes:
    user = User(spec["user"], groups=tuple(spec["groups"]))
    if path := spec.get("nonResourceAttributes"):
        return Attributes(user, path["verb"], path=path["path"])
    return Attributes(user, **spec["resourceAttributes"])


def test_random_roles_and_bindings_allow_the_same_on_both(mirror: Mirror, namespace: str, unique: Name) -> None:
    """Two hundred questions about random roles, bindings and subjects have the same answers."""
    random = Random(1036)
    account = f"system:serviceaccount:{namespace}:robot"
    users = ["ann", "ben", account]
    subjects = [
        subject("User", "ann"),
        subject("Group", "crew"),
        subject("Group", "guests"),
        subject("ServiceAccount", "robot", namespace),
        subject("User", "nobody"),
    ]
    roles = []
    for index in range(12):
        inside = namespace if index % 2 else None
        made = role(
            unique(f"r{index}"), [_random_rule(random, paths=inside is None) for _ in range(random.randint(1, 3))], inside
        )
        mirror.create(made)
        roles.append(made)
    for index, target in enumerate(roles):
        inside = namespace if target["kind"] == "Role" or random.random() < 0.5 else None
        to = f"{target['kind']}/{target['metadata']['name']}" if index % 5 else f"{target['kind']}/absent"
        chosen = random.sample(subjects, random.randint(1, 3))
        mirror.create(binding(unique(f"b{index}"), to, chosen, inside))
    allowed = 0
    for _ in range(200):
        spec = _random_asked(random, users, [namespace, "default"])
        decision = mirror.authorizer.decide(_attributes(spec))
        allowed += decision.allowed

        def same(spec: Manifest = spec, wanted: bool = decision.allowed) -> bool:
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}
            status = mirror.api.create(review).expect(201).body["status"]
            assert status["allowed"] == wanted, f"{spec}: {status}"
            return True

        # The real authorizer learns of roles and bindings a moment after they are stored.
        eventually(same, 5)
    assert 20 < allowed < 180, "the questions must have both answers"


# Giving rights away


@dataclass(frozen=True, slots=True)
class At:
    """Where a row takes place: names of its own."""

    namespace: str
    name: str
    user: str


@dataclass(frozen=True, slots=True)
class Escalation:
    """A user who holds `rules` in the namespace and `cluster` everywhere wants `new` where there is `old`."""

    new: Callable[[At], Manifest]
    rules: Sequence[Manifest] = ()
    cluster: Sequence[Manifest] = ()
    old: Callable[[At], Manifest] | None = None
    target: Callable[[At], Manifest] | None = None  # a role that is there, for bindings


WRITES = rule("roles clusterroles rolebindings clusterrolebindings", "create update", GROUP)
READ_PODS = rule("pods", "get list")
READ_POD_ONE = rule("pods", "get", resourceNames=["one"])
EVERYTHING = [rule("*", "*", "*"), path_rule("*", "*")]
AGGREGATION = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"tests.example/never": "true"}}]}}


def a_role(*rules: Manifest, **metadata: Any) -> Callable[[At], Manifest]:
    """A Role with these rules."""

    def build(at: At) -> Manifest:
        made = role(at.name, rules, at.namespace)
        return made | {"metadata": made["metadata"] | metadata}

    return build


def a_cluster_role(*rules: Manifest, **rest: Any) -> Callable[[At], Manifest]:
    """A ClusterRole with these rules."""
    return lambda at: role(at.name, rules, **rest)


def a_binding(to: str, *, cluster: bool = False, labels: Mapping[str, str] | None = None) -> Callable[[At], Manifest]:
    """A binding of the user's friend to a role; `$` in its name is the name of the row's target."""

    def build(at: At) -> Manifest:
        made = binding(
            at.name, to.replace("$", f"{at.name}-target"), [subject("User", "friend")], None if cluster else at.namespace
        )
        return made | {"metadata": made["metadata"] | ({"labels": dict(labels)} if labels else {})}

    return build


def a_target(*rules: Manifest, cluster: bool = False) -> Callable[[At], Manifest]:
    """The role that a binding of the row is about."""
    return lambda at: role(f"{at.name}-target", rules, None if cluster else at.namespace)


ESCALATIONS = {
    "a rule that one has": Escalation(a_role(READ_PODS), rules=[READ_PODS]),
    "a rule that one has in the whole cluster": Escalation(a_role(READ_PODS), cluster=[READ_PODS]),
    "a rule that one has not": Escalation(a_role(READ_PODS)),
    "one verb more": Escalation(a_role(rule("pods", "get list watch")), rules=[READ_PODS]),
    "verbs of two rules": Escalation(a_role(rule("pods", "get delete")), rules=[rule("pods", "get"), rule("pods", "delete")]),
    "a name, with the right to all": Escalation(a_role(READ_POD_ONE), rules=[READ_PODS]),
    "all, with the right to a name": Escalation(a_role(rule("pods", "get")), rules=[READ_POD_ONE]),
    "another name": Escalation(a_role(rule("pods", "get", resourceNames=["two", "one"])), rules=[READ_POD_ONE]),
    "a wildcard verb": Escalation(a_role(rule("pods", "*")), rules=[rule("pods", "get list watch create update patch delete")]),
    "with a wildcard verb": Escalation(a_role(READ_PODS), rules=[rule("pods", "*")]),
    "a wildcard resource": Escalation(a_role(rule("*", "get")), rules=[rule("pods", "get")]),
    "with a wildcard resource": Escalation(a_role(rule("pods pods/log secrets", "get")), rules=[rule("*", "get")]),
    "a subresource": Escalation(a_role(rule("pods/log", "get")), rules=[rule("pods", "get")]),
    "a subresource by wildcard": Escalation(a_role(rule("pods/log pods/exec", "get")), rules=[rule("*/log", "get")]),
    "another group": Escalation(a_role(rule("pods", "get", "apps")), rules=[rule("pods", "get")]),
    "many things at once": Escalation(
        a_role(rule("pods secrets", "get list", "core apps"), rule("configmaps", "get", resourceNames=["one", "two"])),
        rules=[rule("pods", "get")],
    ),
    "no rules": Escalation(a_role()),
    "a rule twice": Escalation(a_role(READ_PODS, READ_PODS)),
    "with escalate on roles": Escalation(a_role(READ_PODS), rules=[rule("roles", "escalate", GROUP)]),
    "with escalate on another name": Escalation(a_role(READ_PODS), rules=[rule("roles", "escalate", GROUP, resourceNames=["z"])]),
    "with escalate on cluster roles only": Escalation(a_role(READ_PODS), cluster=[rule("clusterroles", "escalate", GROUP)]),
    "a cluster role that one has": Escalation(a_cluster_role(READ_PODS), cluster=[READ_PODS]),
    "a cluster role that one has in a namespace": Escalation(a_cluster_role(READ_PODS), rules=[READ_PODS]),
    "paths": Escalation(a_cluster_role(path_rule("/metrics /logs/*", "get post")), cluster=[path_rule("/logs/*", "get")]),
    "paths that one has": Escalation(a_cluster_role(path_rule("/logs/a /logs/b/*", "get")), cluster=[path_rule("/logs/*", "*")]),
    "aggregation": Escalation(a_cluster_role(**AGGREGATION)),
    "aggregation by one who may everything": Escalation(a_cluster_role(**AGGREGATION), cluster=EVERYTHING),
    "aggregation with escalate": Escalation(a_cluster_role(**AGGREGATION), cluster=[rule("clusterroles", "escalate", GROUP)]),
    "a wider role": Escalation(a_role(READ_PODS), old=a_role(rule("pods", "get"))),
    "the same role": Escalation(a_role(READ_PODS), old=a_role(READ_PODS)),
    "a label on a role": Escalation(a_role(READ_PODS, labels={"a": "b"}), old=a_role(READ_PODS)),
    "a finalizer on a role": Escalation(a_role(READ_PODS, finalizers=["tests.example/x"]), old=a_role(READ_PODS)),
    "a narrower role": Escalation(a_role(rule("pods", "get")), old=a_role(READ_PODS)),
    "a role, with escalate on its name": Escalation(
        a_role(READ_PODS), old=a_role(), rules=[rule("roles", "escalate", GROUP, resourceNames=["$"])]
    ),
    "aggregation taken away": Escalation(a_cluster_role(), old=a_cluster_role(**AGGREGATION)),
    "a binding to a role that one has": Escalation(a_binding("Role/$"), rules=[READ_PODS], target=a_target(READ_PODS)),
    "a binding to a role that one has not": Escalation(a_binding("Role/$"), target=a_target(READ_PODS)),
    "a binding to no role": Escalation(a_binding("Role/$")),
    "a binding to no role, with bind": Escalation(a_binding("Role/$"), rules=[rule("roles", "bind", GROUP)]),
    "a binding to a cluster role": Escalation(a_binding("ClusterRole/$"), target=a_target(READ_PODS, cluster=True)),
    "a binding with bind on cluster roles here": Escalation(
        a_binding("ClusterRole/view"), rules=[rule("clusterroles", "bind", GROUP)]
    ),
    "a binding with bind on the name": Escalation(
        a_binding("ClusterRole/view"), rules=[rule("clusterroles", "bind", GROUP, resourceNames=["view"])]
    ),
    "a binding with bind on another name": Escalation(
        a_binding("ClusterRole/system:basic-user"), rules=[rule("clusterroles", "bind", GROUP, resourceNames=["view"])]
    ),
    "a cluster binding, with bind in a namespace": Escalation(
        a_binding("ClusterRole/cluster-admin", cluster=True), rules=[rule("clusterroles", "bind", GROUP)]
    ),
    "a cluster binding, with bind": Escalation(
        a_binding("ClusterRole/cluster-admin", cluster=True), cluster=[rule("clusterroles", "bind", GROUP)]
    ),
    "a cluster binding": Escalation(a_binding("ClusterRole/cluster-admin", cluster=True)),
    "a cluster binding to no role": Escalation(a_binding("ClusterRole/$", cluster=True)),
    "a label on a binding": Escalation(
        a_binding("Role/$", labels={"a": "b"}), old=a_binding("Role/$"), target=a_target(READ_PODS)
    ),
    "the same binding": Escalation(a_binding("Role/$"), old=a_binding("Role/$"), target=a_target(READ_PODS)),
}


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ESCALATIONS.items()])
def test_giving_rights_away_is_judged_alike(row: Escalation, mirror: Mirror, namespace: str, unique: Name) -> None:
    """Whoever writes a role or a binding hears the same from both, word by word."""
    at = At(namespace, unique("row"), unique("user"))
    user = User(at.user, groups=(AUTHENTICATED,))
    for build in filter(None, (row.target, row.old)):
        mirror.create(build(at))
    _give(mirror, at, subject("User", at.user), [_named(each, at) for each in row.rules], [WRITES, *row.cluster])
    new = row.new(at)
    resource = KINDS[new["kind"]]
    key = Key(f"{resource}.{GROUP}", new["metadata"].get("namespace", ""), at.name)
    old = mirror.stored.get(key)
    if old is not None:
        new = new | {"metadata": old["metadata"] | new["metadata"]}
    asked = Attributes(
        user, "update" if old else "create", GROUP, "v1", resource, namespace=key.namespace, name=at.name if old else ""
    )
    ours = _ours(mirror, asked, new, old)
    person = mirror.api.as_user(at.user)

    def same() -> bool:
        answer = person.replace(new, dryRun="All") if old else person.create(new, dryRun="All")
        assert _verdict(answer) == ours
        return True

    eventually(same, 5)


def test_an_apply_that_creates_a_role_has_its_name(mirror: Mirror, namespace: str, unique: Name) -> None:
    """The verb `escalate` on one name is enough for an apply, whose path names the role, and not for a POST."""
    at = At(namespace, unique("row"), unique("user"))
    escalate = rule("roles", "escalate", GROUP, resourceNames=[at.name])
    _give(mirror, at, subject("User", at.user), [escalate], [rule("roles", "create patch", GROUP)])
    person = mirror.api.as_user(at.user)
    wanted = role(at.name, [READ_PODS], namespace)

    def applied() -> bool:
        return person.apply(wanted, dryRun="All").status == 201

    eventually(applied, 5)
    person.create(wanted, dryRun="All").expect(403)


def _named(manifest: Manifest, at: At) -> Manifest:
    """The rule with `$` among its names replaced by that of the row."""
    return manifest | (
        {"resourceNames": [name.replace("$", at.name) for name in manifest["resourceNames"]]}
        if "resourceNames" in manifest
        else {}
    )


def _give(mirror: Mirror, at: At, whom: Manifest, rules: Sequence[Manifest], cluster: Sequence[Manifest]) -> None:
    for inside, held in ((at.namespace, rules), (None, cluster)):
        if held:
            name = f"{at.name}-{'here' if inside else 'everywhere'}"
            mirror.create(role(name, held, inside))
            mirror.create(binding(name, f"{'Role' if inside else 'ClusterRole'}/{name}", [whom], inside))


def _ours(mirror: Mirror, asked: Attributes, new: Manifest, old: Manifest | None) -> Manifest:
    try:
        mirror.authorizer.require(asked)
        check_escalation(asked, new, old, mirror.authorizer)
    except StatusError as error:
        return _said(error.manifest())
    return {"code": 200 if old else 201}


def _said(status: Manifest) -> Manifest:
    return {key: status.get(key) for key in ("code", "reason", "message")} | {"details": status.get("details", {})}


def _verdict(answer: Reply) -> Manifest:
    return _said(answer.body) if answer.status >= 400 else {"code": answer.status}


# Acting as somebody else

IDENTITY = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class Acting:
    """An account that holds `rules` in the namespace and `cluster` everywhere sends these headers; `*` is the namespace."""

    headers: Mapping[str, str | Sequence[str]]
    rules: Sequence[Manifest] = ()
    cluster: Sequence[Manifest] = ()


def may(resources: str, *names: str, groups: str = "core", verb: str = "impersonate") -> Manifest:
    """A rule that lets somebody impersonate."""
    return rule(resources, verb, groups) | ({"resourceNames": list(names)} if names else {})


ROBOT = "system:serviceaccount:*:robot"
ON_REVIEW = "impersonate-on:{}:create"
EXTRA = "Impersonate-Extra-Copyhold.dev%2fparent"

ACTINGS = {
    "nobody else": Acting({}),
    "a user, without rights": Acting({"Impersonate-User": "zoe"}),
    "a user": Acting({"Impersonate-User": "zoe"}, cluster=[may("users")]),
    "a user by name": Acting({"Impersonate-User": "zoe"}, cluster=[may("users", "zoe")]),
    "another user": Acting({"Impersonate-User": "zed"}, cluster=[may("users", "zoe")]),
    "a user, with rights in a namespace only": Acting({"Impersonate-User": "zoe"}, rules=[may("users")]),
    "a user with groups": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": ["a", "b"]}, cluster=[may("users"), may("groups")]
    ),
    "one group too many": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": ["a", "b"]}, cluster=[may("users"), may("groups", "a")]
    ),
    "groups of the old way, user of the new": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": "a"},
        cluster=[may("users", groups=IDENTITY, verb="impersonate:user-info"), may("groups")],
    ),
    "with system:authenticated": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": AUTHENTICATED}, cluster=[may("users groups")]
    ),
    "with system:unauthenticated": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": "system:unauthenticated"}, cluster=[may("users groups")]
    ),
    "anonymous": Acting({"Impersonate-User": "system:anonymous"}, cluster=[may("users")]),
    "masters": Acting({"Impersonate-User": "zoe", "Impersonate-Group": "system:masters"}, cluster=[may("users groups")]),
    "an account, without rights": Acting({"Impersonate-User": ROBOT}),
    "an account": Acting({"Impersonate-User": ROBOT}, rules=[may("serviceaccounts")]),
    "an account by name": Acting({"Impersonate-User": ROBOT}, rules=[may("serviceaccounts", "robot")]),
    "an account, with a right to users": Acting({"Impersonate-User": ROBOT}, cluster=[may("users")]),
    "an account of another namespace": Acting(
        {"Impersonate-User": "system:serviceaccount:default:default"}, rules=[may("serviceaccounts")]
    ),
    "an account with groups": Acting(
        {"Impersonate-User": ROBOT, "Impersonate-Group": "a"}, cluster=[may("serviceaccounts groups")]
    ),
    "no valid account": Acting({"Impersonate-User": "system:serviceaccount:Bad_:x"}, cluster=[may("serviceaccounts")]),
    "a name of five parts": Acting({"Impersonate-User": "system:serviceaccount:a:b:c"}, cluster=[may("users")]),
    "an extra": Acting(
        {"Impersonate-User": ROBOT, EXTRA: "x"},
        cluster=[may("serviceaccounts"), may("userextras/copyhold.dev/parent", groups=IDENTITY)],
    ),
    "an extra without the right": Acting({"Impersonate-User": ROBOT, EXTRA: "x"}, cluster=[may("serviceaccounts")]),
    "an extra with the right to another key": Acting(
        {"Impersonate-User": ROBOT, EXTRA: "x"}, cluster=[may("serviceaccounts"), may("userextras/parent", groups=IDENTITY)]
    ),
    "an extra with the right to all": Acting(
        {"Impersonate-User": "zoe", EXTRA: ["x", "y"]}, cluster=[may("users"), may("userextras/*", groups=IDENTITY)]
    ),
    "an extra with the right to userextras": Acting(
        {"Impersonate-User": "zoe", EXTRA: "x"}, cluster=[may("users"), may("userextras", groups=IDENTITY)]
    ),
    "an extra with the right to everything": Acting(
        {"Impersonate-User": "zoe", EXTRA: "x"}, cluster=[may("users"), may("*", groups=IDENTITY)]
    ),
    "an extra with the right to one value": Acting(
        {"Impersonate-User": "zoe", EXTRA: ["x", "y"]},
        cluster=[may("users"), may("userextras/copyhold.dev/parent", "x", groups=IDENTITY)],
    ),
    "an extra that is badly encoded": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Extra-A%zz": "x"}, cluster=[may("users"), may("*", groups=IDENTITY)]
    ),
    "a uid": Acting({"Impersonate-User": "zoe", "Impersonate-Uid": "u-1"}, cluster=[may("users"), may("uids", groups=IDENTITY)]),
    "a uid without the right": Acting({"Impersonate-User": "zoe", "Impersonate-Uid": "u-1"}, cluster=[may("users")]),
    "a group without a user": Acting({"Impersonate-Group": "a"}, cluster=[may("*", groups="*")]),
    "an extra without a user": Acting({EXTRA: ["x", "y"]}, cluster=[may("*", groups="*")]),
    "a uid without a user": Acting({"Impersonate-Uid": "u"}, cluster=[may("*", groups="*")]),
    "a constrained user": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": "a"},
        cluster=[
            may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("user-info")),
            may("users groups", groups=IDENTITY, verb="impersonate:user-info"),
        ],
    ),
    "a constrained user, without the user": Acting(
        {"Impersonate-User": "zoe"}, cluster=[may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("user-info"))]
    ),
    "a constrained user in masters": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": "system:masters"},
        cluster=[
            may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("user-info")),
            may("users groups", groups=IDENTITY, verb="impersonate:user-info"),
        ],
    ),
    "a constrained user with a bare extra": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Extra-Bare": "x"},
        cluster=[
            may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("user-info")),
            may("users userextras/*", groups=IDENTITY, verb="impersonate:user-info"),
        ],
    ),
    "many groups at once": Acting(
        {"Impersonate-User": "zoe", "Impersonate-Group": ["a", "b", "c", "d"]},
        cluster=[
            may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("user-info")),
            may("users", groups=IDENTITY, verb="impersonate:user-info"),
            may("groups", "*", groups=IDENTITY, verb="impersonate:user-info"),
        ],
    ),
    "a constrained account": Acting(
        {"Impersonate-User": ROBOT},
        rules=[may("serviceaccounts", groups=IDENTITY, verb="impersonate:serviceaccount")],
        cluster=[may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("serviceaccount"))],
    ),
    "a node": Acting({"Impersonate-User": "system:node:n1"}, cluster=[may("users")]),
    "a constrained node": Acting(
        {"Impersonate-User": "system:node:n1"},
        cluster=[
            may("selfsubjectreviews", groups=IDENTITY, verb=ON_REVIEW.format("arbitrary-node")),
            may("nodes", groups=IDENTITY, verb="impersonate:arbitrary-node"),
        ],
    ),
    "a node without rights": Acting({"Impersonate-User": "system:node:n1"}),
}


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ACTINGS.items()])
def test_acting_as_somebody_else_is_judged_alike(
    row: Acting, server: Access, mirror: Mirror, namespace: str, unique: Name
) -> None:
    """An account that impersonates becomes the same user on both, or is refused in the same words."""
    at = At(namespace, unique("row"), "sender")
    mirror.api.create(ref("v1", "ServiceAccount", at.user, namespace)).expect(201)
    sender = mirror.api.with_token(server.account_token(namespace, at.user))
    _give(mirror, at, subject("ServiceAccount", at.user, namespace), row.rules, row.cluster)
    given = [(name, value.replace("*", namespace)) for name, values in row.headers.items() for value in _listed(values)]
    whoami = mirror.api.with_token(server.account_token(namespace, at.user)).create(REVIEW).expect(201)
    ours = _acting(mirror, _user(whoami.body["status"]["userInfo"]), given)
    sender._identity.extend(given)

    def same() -> bool:
        answer = sender.create(REVIEW)
        theirs = _said(answer.body) if answer.status >= 400 else {"user": _settled(answer.body["status"]["userInfo"])}
        assert theirs == ours
        return True

    eventually(same, 5)


REVIEW = {"apiVersion": f"{IDENTITY}/v1", "kind": "SelfSubjectReview", "metadata": {}}


def _listed(values: str | Sequence[str]) -> Sequence[str]:
    return [values] if isinstance(values, str) else values


def _user(info: Manifest) -> User:
    extra = {key: tuple(values) for key, values in info.get("extra", {}).items()}
    return User(info["username"], info["uid"], tuple(info["groups"]), extra)


def _settled(info: Manifest) -> Manifest:
    """The user without the mark of his token, of which each is another."""
    extra = {key: values for key, values in info.get("extra", {}).items() if key != "authentication.kubernetes.io/credential-id"}
    return {key: value for key, value in (info | {"extra": extra}).items() if value}


def _acting(mirror: Mirror, sender: User, headers: Sequence[tuple[str, str]]) -> Manifest:
    asked = Attributes(sender, "create", IDENTITY, "v1", "selfsubjectreviews")
    try:
        user = Impersonation(mirror.authorizer).acting(asked, headers)
        mirror.authorizer.require(replace(asked, user=user))
    except StatusError as error:
        return _said(error.manifest())
    return {"user": _settled(user_info(user))}


def test_a_role_that_is_missing_is_named_in_the_refusal(mirror: Mirror, namespace: str, unique: Name) -> None:
    """Both add to a 403 which bound roles do not exist."""
    user = unique("user")
    mirror.create(binding(unique("here"), "Role/absent", [subject("User", user)], namespace))
    mirror.create(binding(unique("everywhere"), "ClusterRole/absent", [subject("User", user)]))
    asked = Attributes(User(user, groups=(AUTHENTICATED,)), "get", "", "v1", "configmaps", namespace=namespace, name="x")
    with pytest.raises(StatusError) as refused:
        mirror.authorizer.require(asked)

    def same() -> bool:
        answer = mirror.api.as_user(user).get(ref("v1", "ConfigMap", "x", namespace))
        assert _verdict(answer) == _said(refused.value.manifest())
        return True

    eventually(same, 5)


def test_who_may_write_what_is_there_does_not_create_by_it(mirror: Mirror, namespace: str, unique: Name) -> None:
    """An apply and a PUT of what is not there need the verb `create`, too; before that, they must be valid."""
    user = unique("user")
    at = At(namespace, unique("row"), user)
    rules = [rule("configmaps", "get patch"), rule("leases", "update", "coordination.k8s.io")]
    _give(mirror, at, subject("User", user), rules, [])
    person = mirror.api.as_user(user)
    eventually(lambda: person.get(ref("v1", "ConfigMap", "x", namespace)).status == 404, 5)
    applied = person.apply(ref("v1", "ConfigMap", "x", namespace)).expect(403)
    put = person.replace(ref("coordination.k8s.io/v1", "Lease", "x", namespace) | {"spec": {}}).expect(403)
    assert f'User "{user}" cannot create resource "configmaps"' in applied.message
    assert f'User "{user}" cannot create resource "leases"' in put.message
    person.apply(ref("v1", "ConfigMap", "x", namespace) | {"data": {"/": "1"}}).expect(422)
