"""The nouns that every kind shares: objects, references, conditions, models."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Manifest: TypeAlias = dict[str, Any]
"""A Kubernetes object as plain JSON: apiVersion, kind, metadata and whatever the kind has."""

GROUP = "copyhold.dev"

# What a target carries (design: "What a target carries, and why it is enough").
MANAGED = f"{GROUP}/managed"
PROTECTED = f"{GROUP}/protected"
PARENT_PREFIX = f"parent.{GROUP}/"
ACTIVE_UNTIL_PREFIX = f"active-until.{GROUP}/"
ACCOUNT_PREFIX = f"service-account.{GROUP}/"
TARGET_PREFIX = f"target.{GROUP}/"

FINALIZER = f"{GROUP}/cleanup"
TENANT_LABEL = f"{GROUP}/tenant"
CONFIRM_PRUNE = f"{GROUP}/confirm-prune"
PARENT_EXTRA = f"{GROUP}/parent"


class Key(NamedTuple):
    """The identity of a target. No version: two versions of one object are one object; no list position either."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Ref:
    """One object, in the version in which we speak of it. `group` is empty for core, `namespace` for cluster scope."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """The identity, without the version."""
        return Key(self.group, self.kind, self.namespace, self.name)

    @property
    def api_version(self) -> str:
        """`v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return str(self.key)

    @classmethod
    def of(cls, manifest: Manifest) -> "Ref":
        """The reference of an object. Missing parts are empty strings."""
        group, version = split_api_version(manifest.get("apiVersion", ""))
        metadata = manifest.get("metadata") or {}
        return cls(group, version, manifest.get("kind", ""), metadata.get("namespace") or "", metadata.get("name") or "")


def split_api_version(api_version: str) -> tuple[str, str]:
    """`apps/v1` -> ("apps", "v1"); `v1` -> ("", "v1")."""
    group, _, version = api_version.rpartition("/")
    return group, version


def older(version: str, than: str) -> bool:
    """Is one resourceVersion of a kind older than another? Decimal numbers that grow (KEP-5504); nothing is said of others."""
    return version.isdigit() and than.isdigit() and int(version) < int(than)


class Model(BaseModel):
    """Data that users write or read: camelCase outside, frozen inside, unknown fields refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")


class Condition(Model):
    """One `metav1.Condition`. The list is a map by type; `lastTransitionTime` changes only when `status` does."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int
    last_transition_time: str
