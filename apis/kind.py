"""Kind, Parent and the registry: a kind is one file in a folder of this package, found by its folder."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

import apis
from apis.intent import Intent
from apis.invalid import explain
from apis.meta import GROUP, Manifest, Model, Ref
from apis.problems import Invalid
from apis.reasons import Reason

# What every object has and no model of ours describes; `status` is ours alone and must not make a spec invalid.
_NOT_SPECIFIED = frozenset({"apiVersion", "kind", "metadata", "status"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`. `path` is a JSONPath into the object; a priority above 0 shows only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


AGE = Column("Age", ".metadata.creationTimestamp", "date")


def condition_column(name: str, field: str, type_: str = "Ready") -> Column:
    """A column that shows one field (`status`, `message` ...) of the condition `type_`."""
    return Column(name, f'.status.conditions[?(@.type=="{type_}")].{field}')


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of ours: what the API server is told about it, and how an object of it becomes an Intent.

    `model` describes the top-level fields except apiVersion, kind and metadata. `lower` turns the parsed model and the object
    into an Intent; a kind without it is no parent. Parents of one `family` are kin (design, section 4). A `gated` kind gives
    temporary access: what its objects want depends on their status.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    model: type[Model]
    short_names: tuple[str, ...] = ()
    family: str = ""
    lower: Callable[[Any, Manifest], Intent] | None = None
    gated: bool = False
    columns: tuple[Column, ...] = (AGE,)
    status: bool = True

    @property
    def api_version(self) -> str:
        """`copyhold.dev/v1alpha1`."""
        return f"{self.group}/{self.version}"

    @property
    def crd_name(self) -> str:
        """The name of its CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}"

    def title(self, manifest: Manifest) -> str:
        """How messages call an object of this kind: `GlobalTenantResource baseline`, `TenantResource solar-dev/quota`."""
        ref = Ref.of(manifest)
        return f"{self.kind} {ref.namespace}/{ref.name}" if self.namespaced and ref.namespace else f"{self.kind} {ref.name}"

    def parse(self, manifest: Manifest) -> Any:
        """The object as the kind's model. Raises Invalid, which names every wrong field and what to do about it."""
        fields = {key: value for key, value in manifest.items() if key not in _NOT_SPECIFIED}
        try:
            return self.model.model_validate(fields)
        except ValidationError as error:
            raise Invalid(Reason.INVALID, explain(self.title(manifest), error)) from error


@dataclass(frozen=True, slots=True)
class Parent:
    """An object of a kind that can be lowered, as it was read."""

    kind: Kind
    object: Manifest

    @property
    def _metadata(self) -> Mapping[str, Any]:
        return self.object.get("metadata") or {}

    @property
    def ref(self) -> Ref:
        """Which object this is, in the version in which the kind is stored."""
        return Ref(self.kind.group, self.kind.version, self.kind.kind, self.namespace, self.name)

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self._metadata.get("name") or ""

    @property
    def namespace(self) -> str:
        """`metadata.namespace`; empty for cluster-scoped kinds."""
        return (self._metadata.get("namespace") or "") if self.kind.namespaced else ""

    @property
    def uid(self) -> str:
        """`metadata.uid`; empty before a server has stored the object."""
        return self._metadata.get("uid") or ""

    @property
    def generation(self) -> int:
        """`metadata.generation`; 0 before a server has stored the object."""
        return self._metadata.get("generation") or 0

    @property
    def resource_version(self) -> str:
        """`metadata.resourceVersion`: an opaque word of the server."""
        return self._metadata.get("resourceVersion") or ""

    @property
    def labels(self) -> Mapping[str, str]:
        """`metadata.labels`, empty when there are none."""
        return self._metadata.get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """`metadata.annotations`, empty when there are none."""
        return self._metadata.get("annotations") or {}

    @property
    def finalizers(self) -> tuple[str, ...]:
        """`metadata.finalizers`."""
        return tuple(self._metadata.get("finalizers") or ())

    @property
    def deleting(self) -> bool:
        """True from the moment that somebody asked for its deletion."""
        return bool(self._metadata.get("deletionTimestamp"))

    @property
    def status(self) -> Manifest:
        """The status as stored; empty when there is none."""
        return self.object.get("status") or {}

    @property
    def manager(self) -> str:
        """The field manager of everything that this parent applies."""
        return f"{GROUP}/{self.kind.kind.lower()}/{self.uid}"

    def __str__(self) -> str:
        return self.kind.title(self.object)

    def intent(self) -> Intent:
        """What this parent wants. Raises Invalid (the author must act); pure, so the same object gives the same intent."""
        if self.kind.lower is None:
            raise Invalid(Reason.INVALID, f"{self}: objects of this kind apply nothing, only TenantResources and their like do")
        return self.kind.lower(self.kind.parse(self.object), self.object)


def _modules() -> Iterator[Any]:
    """Every module one folder below this package. What it does not declare (`KIND`) is a part that kinds share."""
    for folder in pkgutil.iter_modules(apis.__path__, "apis."):
        if folder.ispkg:
            package = importlib.import_module(folder.name)
            for module in pkgutil.iter_modules(package.__path__, f"{folder.name}."):
                yield importlib.import_module(module.name)


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, ordered by group and plural. A module adds one by declaring `KIND`."""
    found = (module.KIND for module in _modules() if hasattr(module, "KIND"))
    return tuple(sorted(found, key=lambda kind: (kind.group, kind.plural)))


def parents() -> tuple[Kind, ...]:
    """The kinds whose objects are lowered to an Intent."""
    return tuple(kind for kind in kinds() if kind.lower is not None)


def find(group: str, kind: str) -> Kind | None:
    """The kind with this group and name, or None when it is not ours."""
    return next((ours for ours in kinds() if (ours.group, ours.kind) == (group, kind)), None)
