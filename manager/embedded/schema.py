"""What a value may look like: one node of a schema, the same for built-in kinds and for those of definitions.

The words are those of OpenAPI v3 and of structural schemas
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/). Nodes are read by
`openapi.py` (built-in kinds) and `structural.py` (definitions), and shared: a node that contains itself (JSONSchemaProps) is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ListType(StrEnum):
    """How two managers share a list (`x-kubernetes-list-type`)."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


@dataclass(eq=False, slots=True)
class Schema:
    """One node. It is filled while it is read, because it may contain itself, and never changed afterwards."""

    type: str = ""  # object, array, string, integer, number, boolean; "" is anything (or int-or-string, see below)
    properties: dict[str, "Schema"] = field(default_factory=dict)
    additional: "Schema | None" = None  # the values of a map with free keys
    items: "Schema | None" = None

    # Server-side apply.
    list_type: ListType = ListType.ATOMIC
    list_keys: tuple[str, ...] = ()  # x-kubernetes-list-map-keys
    atomic: bool = False  # x-kubernetes-map-type: atomic (of an object)
    # Strategic merge patch (built-in kinds only).
    patch_strategy: str = ""  # "merge", "merge,retainKeys", "replace" ...
    patch_key: str = ""  # x-kubernetes-patch-merge-key

    required: tuple[str, ...] = ()
    nullable: bool = False
    default: Any = None
    has_default: bool = False
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    format: str = ""
    reference: str = ""  # the definition's name in the OpenAPI document: io.k8s.apimachinery.pkg.api.resource.Quantity ...
    constraints: Mapping[str, Any] = field(default_factory=dict)  # enum, pattern, minimum, maxLength ...; see structural.py
    rules: tuple[Mapping[str, Any], ...] = ()  # x-kubernetes-validations
    description: str = ""

    @property
    def closed(self) -> bool:
        """True for an object whose fields are all named: others are unknown fields."""
        return self.type == "object" and self.additional is None and not self.preserve_unknown and bool(self.properties)

    def child(self, name: str) -> "Schema | None":
        """The node of a field, or None when the schema does not know it."""
        return self.properties.get(name, self.additional)


ANYTHING = Schema(preserve_unknown=True)
"""Any value; for server-side apply, one atomic field... unless it is a map, whose keys are then fields of their own."""
