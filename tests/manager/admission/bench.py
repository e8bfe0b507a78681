"""People around a held object: a tenant's user, an administrator, accounts, and the manager that acts for a parent."""

from collections.abc import Mapping
from dataclasses import dataclass

from apis.meta import ACCOUNT_PREFIX, MANAGED, PARENT_EXTRA, PARENT_PREFIX, PROTECTED, TARGET_PREFIX
from tests.support.api import Api, Manifest, Reply, ref
from tests.support.names import fresh

RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Bench:
    """A namespace in which a user and two ServiceAccounts may do everything that RBAC can give.

    `user` is a person, `account` is what the marks name, `other` is an account that they do not name, `admin` is in
    `system:masters`. None of them has the extra; `manager` does.
    """

    namespace: str
    admin: Api

    @classmethod
    def build(cls, admin: Api) -> "Bench":
        """Make the namespace and the rights."""
        bench = cls(fresh("bench"), admin)
        admin.create(ref("v1", "Namespace", bench.namespace)).expect(201)
        admin.create(bench._binding("RoleBinding", bench.namespace)).expect(201)
        admin.create(bench._binding("ClusterRoleBinding", None)).expect(201)
        return bench

    def clear(self) -> None:
        """Begin to delete what `build` made."""
        self.admin.delete(self._binding("ClusterRoleBinding", None)).expect(200, 404)
        self.admin.delete(ref("v1", "Namespace", self.namespace)).expect(200, 202)

    def _binding(self, kind: str, namespace: str | None) -> Manifest:
        return ref(f"{RBAC}/v1", kind, self.namespace, namespace) | {
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": name} for name in (self.person, self.named, self.unnamed)],
        }

    def grant(self, person: str, rules: list[Manifest]) -> None:
        """Give a person these rights in the namespace, and nothing else."""
        name = fresh("grant")
        self.admin.create(ref(f"{RBAC}/v1", "Role", name, self.namespace) | {"rules": rules}).expect(201)
        binding = ref(f"{RBAC}/v1", "RoleBinding", name, self.namespace) | {
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": person}],
        }
        self.admin.create(binding).expect(201)

    @property
    def person(self) -> str:
        """The user's name; it is hers alone, like the namespace."""
        return f"alice-{self.namespace}"

    @property
    def named(self) -> str:
        """The user name of the account that the marks name."""
        return f"system:serviceaccount:{self.namespace}:deployer"

    @property
    def unnamed(self) -> str:
        """The user name of another account."""
        return f"system:serviceaccount:{self.namespace}:other"

    @property
    def user(self) -> Api:
        """A person with all rights of RBAC."""
        return self.admin.as_user(self.person)

    @property
    def account(self) -> Api:
        """The named account itself, without us."""
        return self.admin.as_user(self.named)

    @property
    def other(self) -> Api:
        """An account that no mark names, with all rights of RBAC."""
        return self.admin.as_user(self.unnamed)

    def manager(self, parent: str, account: str = "") -> Api:
        """Ourselves, acting for a parent as its account."""
        return self.admin.as_user(account or self.named, extra={PARENT_EXTRA: [parent]})

    def object(self, name: str = "", *, api_version: str = "v1", kind: str = "ConfigMap", **body: object) -> Manifest:
        """A free object of this namespace."""
        return ref(api_version, kind, name or fresh("thing"), self.namespace) | body

    def held(self, thing: Manifest, *, parent: str = "", account: str = "") -> Manifest:
        """Apply the thing as the manager does, with the marks of a protecting parent; answers what is stored."""
        parent = parent or fresh("uid")
        body: Manifest = self.hold(thing, parent, account).expect(200, 201).body
        return body

    def hold(self, thing: Manifest, parent: str, account: str = "") -> Reply:
        """The manager's apply for a parent, whatever it is answered."""
        marked = with_marks(thing, parent, account or self.named)
        return self.manager(parent, account).apply(marked, manager=field_manager(parent), force=True)


def field_manager(parent: str) -> str:
    """The field manager of a parent."""
    return f"copyhold.dev/tenantresource/{parent}"


def title(thing: Manifest) -> str:
    """How a target annotation names this object."""
    group = thing["apiVersion"].rpartition("/")[0]
    return f"{thing['kind']}.{group}/{thing['metadata']['name']}"


def with_marks(thing: Manifest, parent: str, account: str) -> Manifest:
    """The thing with the marks of a protecting parent."""
    labels = {MANAGED: "true", PROTECTED: "true", f"{PARENT_PREFIX}{parent}": "created"}
    annotations = {f"{ACCOUNT_PREFIX}{parent}": account, f"{TARGET_PREFIX}{parent}": title(thing)}
    return with_metadata(thing, labels, annotations)


def with_metadata(thing: Manifest, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Manifest:
    """The thing with more labels and annotations."""
    metadata = thing["metadata"]
    more = {"labels": metadata.get("labels", {}) | labels, "annotations": metadata.get("annotations", {}) | annotations}
    return thing | {"metadata": metadata | more}
