"""A stage for one test: tenants, namespaces, accounts and a manager of its own, on a server that all tests share."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from apis.intent import Identity
from manager.controller import Options
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh
from tests.support.running import Running, options

GROUP = "copyhold.dev"
VERSION = f"{GROUP}/v1alpha1"
RBAC = "rbac.authorization.k8s.io"

PARENTS = frozenset({"GlobalTenantResource", "TenantResource", "ResourcePermit"})

_NUDGES = count(700)
"""Periods for `nudge`: each is new, so that each is an edit."""


@dataclass
class Stage:
    """Everything is named after `mark`, so that the manager of this test looks after its parents alone.

    `api` is the administrator. `account` is a ServiceAccount that may do everything, for parents that do not say otherwise.
    """

    api: Api
    access: Access
    mark: str = field(default_factory=lambda: fresh("t"))
    made: list[Manifest] = field(default_factory=list)
    managers: list[Running] = field(default_factory=list)
    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.home = self.namespace("home")
        self.account = self.service_account("runner", cluster_admin=True)

    # Things.

    def name(self, word: str) -> str:
        """A name that carries the mark."""
        return f"{word}-{self.mark}"

    def create(self, manifest: Manifest) -> Manifest:
        """Create an object that is deleted after the test; answers it as the server stored it."""
        body: Manifest = self.api.create(manifest).expect(201).body
        self.made.append(body)
        return body

    def namespace(self, word: str, tenant: str = "", **labels: str) -> str:
        """A namespace, of a tenant if given; answers its name."""
        manifest = ref("v1", "Namespace", self.name(word))
        manifest["metadata"]["labels"] = {**({f"{GROUP}/tenant": tenant} if tenant else {}), **labels}
        name: str = self.create(manifest)["metadata"]["name"]
        return name

    def tenant(self, word: str = "solar", **labels: str) -> str:
        """A Tenant with the default selector; answers its name."""
        manifest = ref(VERSION, "Tenant", self.name(word)) | {"spec": {"owners": [{"kind": "User", "name": "alice"}]}}
        manifest["metadata"]["labels"] = labels
        name: str = self.create(manifest)["metadata"]["name"]
        return name

    def service_account(self, word: str, namespace: str = "", *, cluster_admin: bool = False) -> Identity:
        """A ServiceAccount, without rights unless asked for."""
        namespace = namespace or self.home
        self.api.create(ref("v1", "ServiceAccount", word, namespace)).expect(201, 409)
        identity = Identity(namespace, word)
        if cluster_admin:
            self.grant(identity, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
        return identity

    def grant(self, identity: Identity, rules: list[dict[str, Any]], namespace: str = "") -> None:
        """Give an account rights: in one namespace, or everywhere. They are in force when this returns."""
        self._bind({"kind": "ServiceAccount", "name": identity.name, "namespace": identity.namespace}, rules, namespace)
        self._in_force(identity.user, rules, namespace)

    def grant_user(self, user: str, rules: list[dict[str, Any]], namespace: str = "") -> None:
        """Give an ordinary user rights: in one namespace, or everywhere. They are in force when this returns."""
        self._bind({"apiGroup": RBAC, "kind": "User", "name": user}, rules, namespace)
        self._in_force(user, rules, namespace)

    def _bind(self, subject: Manifest, rules: list[dict[str, Any]], namespace: str) -> None:
        name = fresh(self.name("grant"))
        kinds = ("Role", "RoleBinding") if namespace else ("ClusterRole", "ClusterRoleBinding")
        self.create(ref(f"{RBAC}/v1", kinds[0], name, namespace or None) | {"rules": rules})
        binding = {"roleRef": {"apiGroup": RBAC, "kind": kinds[0], "name": name}, "subjects": [subject]}
        self.create(ref(f"{RBAC}/v1", kinds[1], name, namespace or None) | binding)

    def _in_force(self, user: str, rules: list[dict[str, Any]], namespace: str) -> None:
        """The authorizer learns of a binding by watch, a moment after it was stored."""
        for rule in rules:
            asked = {"verb": rule["verbs"][0], "group": rule["apiGroups"][0], "resource": rule["resources"][0]}
            names = rule.get("resourceNames") or [""]
            review = {"user": user, "resourceAttributes": {**asked, "name": names[0], "namespace": namespace}}
            eventually(partial(self._allowed, review))

    def _allowed(self, review: Manifest) -> bool:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": review}
        answer = self.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body).expect(201)
        allowed: bool = answer.body["status"]["allowed"]
        return allowed

    # Parents.

    def global_resource(self, word: str, *groups: Manifest, **spec: Any) -> Manifest:
        """A GlobalTenantResource as the all-powerful account, unless `serviceAccount` says otherwise; answers it as stored."""
        account = {"name": self.account.name, "namespace": self.account.namespace}
        body = {"serviceAccount": account, "resources": list(groups), **spec}
        return self.create(ref(VERSION, "GlobalTenantResource", self.name(word)) | {"spec": _given(body)})

    def tenant_resource(self, word: str, namespace: str, *groups: Manifest, **spec: Any) -> Manifest:
        """A TenantResource in a namespace; it acts as `default` there unless `serviceAccount` says otherwise."""
        body = {"resources": list(groups), **spec}
        return self.create(ref(VERSION, "TenantResource", self.name(word), namespace) | {"spec": _given(body)})

    def edit(self, parent: Manifest, **spec: Any) -> Manifest:
        """Change fields of a parent's spec (merge patch); answers it as stored."""
        body: Manifest = self.api.merge_patch(parent, {"spec": spec}).expect(200).body
        return body

    def nudge(self, parent: Manifest, timeout: float = 20) -> Mapping[str, Any]:
        """Make the manager look at a parent anew, by an edit that means nothing; answers Ready once it has done so."""
        self.edit(parent, resyncPeriod=f"{next(_NUDGES)}s")

        def check() -> Mapping[str, Any]:
            condition = self.condition(parent)
            assert condition["status"] != "Unknown", condition
            return condition

        return eventually(check, timeout=timeout)

    def read(self, manifest: Manifest) -> Manifest:
        """The object as it is now; it must be there."""
        body: Manifest = self.api.get(manifest).expect(200).body
        return body

    def condition(self, parent: Manifest, type_: str = "Ready") -> Mapping[str, Any]:
        """A condition of the present generation; an AssertionError (to be waited out) while there is none."""
        live = self.read(parent)
        status = live.get("status") or {}
        assert status.get("observedGeneration") == live["metadata"]["generation"], f"not observed yet: {status}"
        found: list[Mapping[str, Any]] = [each for each in status["conditions"] if each["type"] == type_]
        assert found, f"no condition {type_}: {status['conditions']}"
        return found[0]

    def ready(self, parent: Manifest, status: str = "True", timeout: float = 20) -> Mapping[str, Any]:
        """Wait until the parent is Ready (or, with status False, failed); answers the condition."""

        def check() -> Mapping[str, Any]:
            condition = self.condition(parent)
            assert condition["status"] == status, f"Ready is {condition['status']}: {condition['reason']}: {condition['message']}"
            return condition

        return eventually(check, timeout=timeout)

    def items(self, parent: Manifest) -> dict[str, Manifest]:
        """The processed items of a parent: `Kind namespace/name` -> item."""
        items = (self.read(parent).get("status") or {}).get("processedItems") or []
        return {f"{item['kind']} {item.get('namespace', '')}/{item['name']}": item for item in items}

    # Waiting.

    def there(self, manifest: Manifest, timeout: float = 20) -> Manifest:
        """Wait until an object exists; answers it."""
        body: Manifest = eventually(lambda: self.api.get(manifest).expect(200), timeout=timeout).body
        return body

    def gone(self, manifest: Manifest, timeout: float = 20) -> None:
        """Wait until an object does not exist."""
        eventually(lambda: self.api.get(manifest).expect(404), timeout=timeout)

    def becomes(self, manifest: Manifest, check: Callable[[Manifest], bool], timeout: float = 20) -> Manifest:
        """Wait until an object exists and `check` is true of it; answers it."""

        def look() -> Manifest:
            body: Manifest = self.api.get(manifest).expect(200).body
            assert check(body), body
            return body

        return eventually(look, timeout=timeout)

    def delete(self, manifest: Manifest) -> Reply:
        """Delete an object and wait until it is gone."""
        reply = self.api.delete(manifest)
        self.gone(manifest, timeout=30)
        return reply

    # The manager.

    def manager(self, **settings: Any) -> Running:
        """A manager for the parents of this test, running until the end of the test. Keywords are those of Options."""
        return self.stack.enter_context(self.stopped_manager(**settings))

    def stopped_manager(self, *, permits: bool = False, **settings: Any) -> Running:
        """The same, not started. With `permits` it serves permits, too."""
        chosen: Options = options(self.account, **settings)
        self.managers.append(Running(self.access, self.mark, chosen, permits=permits))
        return self.managers[-1]

    def close(self) -> None:
        """Delete the parents while the manager runs, then stop it, then delete the rest."""
        parents = [manifest for manifest in self.made if manifest["kind"] in PARENTS]
        for parent in reversed(parents):
            self.api.delete(parent).expect(200, 202, 404)
        if any(manager.alive for manager in self.managers):
            # What a test left in a state that cannot be taken back must not fail its end.
            with suppress(AssertionError):
                eventually(lambda: all(self.api.get(parent).status == 404 for parent in parents), timeout=5)
        self.stack.close()
        for parent in parents:
            self._let_go(parent)
        # Namespaces first: what is still held passes in a terminating one.
        for manifest in sorted(self.made, key=lambda each: each["kind"] != "Namespace"):
            self.api.delete(manifest).expect(200, 202, 404)

    def _let_go(self, parent: Manifest) -> None:
        """A parent whose manager was stopped by the test must not hang."""
        reply = self.api.get(parent)
        if reply.status == 200:
            self.api.merge_patch(parent, {"metadata": {"finalizers": None}}).expect(200, 404)


def _given(body: Manifest) -> Manifest:
    return {key: value for key, value in body.items() if value is not None}


def stage(api: Api, access: Access) -> Iterator[Stage]:
    """For a fixture: a stage that is cleared after the test."""
    made = Stage(api, access)
    yield made
    made.close()


# Short manifests.


def config_map(name: str, data: dict[str, Any] | None = None, namespace: str | None = None, **metadata: Any) -> Manifest:
    """A ConfigMap as a target or as an object."""
    manifest = ref("v1", "ConfigMap", name, namespace) | {"data": data or {}}
    manifest["metadata"] |= metadata
    return manifest


def group(*targets: Manifest, **fields: Any) -> Manifest:
    """One entry of `spec.resources` with these targets; a `policy` and anything else by keyword."""
    return {**({"targets": list(targets)} if targets else {}), **fields}
