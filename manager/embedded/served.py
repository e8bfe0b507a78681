"""One resource in one version, as the server serves it."""

from dataclasses import dataclass, field
from typing import Any

from manager.embedded.schema import ANYTHING, Schema


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get` (additionalPrinterColumns, or that of a built-in kind). `priority` > 0 is shown with -o wide."""

    name: str
    type: str = "string"
    path: str = ""  # a JSONPath; empty for columns that `kinds/` computes
    priority: int = 0
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """A served kind. `storage` is the version in which its objects are kept, for all versions of the resource the same."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()  # "status", "scale", "token", "finalize" ...
    scale: Any = None  # the scale subresource of a definition: specReplicasPath, statusReplicasPath, labelSelectorPath
    storage: str = ""
    schema: Schema = field(default=ANYTHING, repr=False)
    columns: tuple[Column, ...] = ()
    definition: str = ""  # the name of the CustomResourceDefinition; "" for a built-in kind
    selectable: tuple[str, ...] = ()  # further paths for fieldSelector: `status.phase`, `spec.nodeName`

    @property
    def api_version(self) -> str:
        """`v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`configmaps` or `deployments.apps`: what objects are kept under, whatever the version."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def custom(self) -> bool:
        """True for a kind that a definition brought."""
        return bool(self.definition)
