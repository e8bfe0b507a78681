"""What admission is asked: one write, with the object as it will be and as it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from apis.meta import Manifest
from manager.embedded.attributes import User
from manager.embedded.auth.reviews import user_info
from manager.embedded.status import Named

NAMESPACES = ("", "namespaces")


class Operation(StrEnum):
    """What is done."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


_OPTIONS = {Operation.CREATE: "CreateOptions", Operation.UPDATE: "UpdateOptions", Operation.DELETE: "DeleteOptions"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind in a version."""

    group: str
    version: str
    kind: str

    def manifest(self) -> Manifest:
        """As a request shows it."""
        return {"group": self.group, "version": self.version, "kind": self.kind}

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in a version."""

    group: str
    version: str
    plural: str

    def manifest(self) -> Manifest:
        """As a request shows it."""
        return {"group": self.group, "version": self.version, "resource": self.plural}


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A write, before it is stored.

    `object` is None for a DELETE, `old` for a CREATE. `namespace` of a Namespace is its own name, as in the real server; `name`
    is empty for a create whose name the server makes up. `kind` is that of the body: of the subresource `scale`, `Scale`.
    `options` is the CreateOptions, UpdateOptions, PatchOptions or DeleteOptions. `others` are the further versions in which the
    same resource is served: a policy with matchPolicy Equivalent may name one of them.
    """

    operation: Operation
    kind: Kind
    resource: Resource
    user: User
    object: Manifest | None
    old: Manifest | None
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    options: Manifest = field(default_factory=dict)
    dry_run: bool = False
    others: Mapping[Resource, Kind] = field(default_factory=dict)

    @property
    def about(self) -> Named:
        """What a refusal calls the object."""
        name = self.name or "Unknown"
        if not self.name and self.object is not None:
            metadata = self.object.get("metadata") or {}
            name = metadata.get("name") or metadata.get("generateName") or name
        return Named(self.resource.group, self.resource.plural, name)

    @property
    def home(self) -> str:
        """The namespace that the object is in: none for a Namespace itself."""
        is_namespace = self.kind.kind == "Namespace" and not self.kind.group
        return "" if is_namespace else self.namespace

    @property
    def of_namespaces(self) -> bool:
        """Is it about a Namespace?"""
        return (self.resource.group, self.resource.plural) == NAMESPACES

    @property
    def _options(self) -> Manifest | None:
        """The options as admission sees them: those of a PATCH become those of what it does."""
        kind = _OPTIONS.get(self.operation)
        if kind is None or not self.options:
            return self.options or None
        return {key: value for key, value in self.options.items() if key != "force"} | {"kind": kind}

    def shown(self, resource: Resource, kind: Kind) -> Manifest:
        """The variable `request`; `resource` and `kind` are the versions that the policy matched. Empty fields are left out."""
        always: dict[str, Any] = {
            "kind": kind.manifest(),
            "resource": resource.manifest(),
            "requestKind": self.kind.manifest(),
            "requestResource": self.resource.manifest(),
            "operation": str(self.operation),
            "userInfo": user_info(self.user),
            "dryRun": self.dry_run,
            "options": self._options,
        }
        sometimes = {
            "subResource": self.subresource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
        }
        return always | {key: value for key, value in sometimes.items() if value}
