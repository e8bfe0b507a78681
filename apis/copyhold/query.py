"""References to existing objects: context for templates, and sources of copies."""

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from apis.copyhold.labels import TemplateSelector, lowered
from apis.intent import Query
from apis.rule import Rule, Ruled

ApiVersion = Annotated[str, Field(max_length=317, pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
KindName = Annotated[str, Field(max_length=63, pattern=r"^[A-Za-z][-A-Za-z0-9]*$")]
TemplateName = Annotated[str, Field(min_length=1, max_length=1024)]

# `context.items` in a template would be the method of the map, not the list of objects.
_METHODS = ("clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values")


class Reference(Ruled):
    """Existing objects: one by name, many by selector, or all of the kind. They are read as the ServiceAccount of the parent."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.name) || !has(self.selector)",
            "name and selector exclude each other: remove one of them",
            lambda self: self.name is None or self.selector is None,
            ("selector",),
            "FieldValueForbidden",
        ),
    )

    api_version: ApiVersion
    """The group and version of the objects, such as `v1` or `apps/v1`."""
    kind: KindName
    """The kind of the objects."""
    namespace: TemplateName | None = None
    """The namespace that is read. Omitted: the namespace that is iterated over; for copies of a TenantResource, its own.
    A template over `tenant`, `namespace` and `parent`."""
    name: TemplateName | None = None
    """The name of the one object. A template over `tenant`, `namespace` and `parent`."""
    selector: TemplateSelector | None = None
    """Selects many objects by their labels. Without `name` and `selector`, all objects of the kind are read."""
    optional: Annotated[bool, Strict()] = True
    """Whether the object called `name` may be missing. If not, its absence holds what would be rendered from it."""

    def query(self, index: str = "") -> Query:
        """The reference in the words of the reader; `index` is the name under which templates see the result."""
        return Query(
            index, self.api_version, self.kind, self.namespace or "", self.name or "", lowered(self.selector), self.optional
        )


class ContextReference(Reference):
    """Existing objects that templates see as the list `context.<index>`."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *Reference.rules,
        Rule(
            f"!(self.index in [{', '.join(repr(word) for word in _METHODS)}])",
            f"must not be a word that maps have for themselves ({', '.join(_METHODS)}): choose another",
            lambda self: self.index not in _METHODS,
            ("index",),
        ),
    )

    index: Annotated[str, Field(max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    """The name in templates: `context.<index>` is the list of the objects. Letters, digits, underscores; unique in the group."""


def _indexes_differ(context: "Context") -> bool:
    indexes = [one.index for one in context.resources]
    return len(indexes) == len(set(indexes))


class Context(Ruled):
    """What the templates of a group may read."""

    rules: ClassVar[tuple[Rule, ...]] = (
        # The API server says this by the list's map key.
        Rule("", "two entries have the same index: give each its own", _indexes_differ, ("resources",), "FieldValueDuplicate"),
    )

    resources: Annotated[
        tuple[ContextReference, ...],
        Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["index"]}),
    ] = ()
    """The objects to read, each under its own index."""
