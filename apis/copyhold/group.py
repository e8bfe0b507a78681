"""`spec.resources[]`: one group of sources, and the policy for what comes out of them."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from apis.copyhold.labels import LabelSelector, lowered
from apis.copyhold.policy import ResourcePolicy
from apis.copyhold.query import Context, Reference
from apis.intent import Group
from apis.meta import Manifest
from apis.rule import Rule, Ruled

_Text = Annotated[str, Field(min_length=1)]


class _TargetMetadata(Ruled):
    """The metadata of the target. Strings are templates."""

    model_config = ConfigDict(extra="allow")

    name: _Text
    """The name of the target; `generateName` is not possible, since a target is found again by its name."""


class _Target(Ruled):
    """A manifest whose strings are templates; a string that is one whole expression becomes the typed value."""

    model_config = ConfigDict(extra="allow")

    api_version: _Text
    """The group and version of the target, such as `v1` or `apps/v1`."""
    kind: _Text
    """The kind of the target."""
    metadata: _TargetMetadata
    """The metadata of the target. Strings are templates."""


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A plain map that has the shape of `model` and stays a plain map: nothing in it is reordered, renamed or dropped."""

    model: type[Ruled]

    def check(self, value: Manifest) -> Manifest:
        self.model.model_validate(value)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(self.model.__pydantic_core_schema__)


class AdditionalMetadata(Ruled):
    """Labels and annotations for every target of a group; they win over rendered ones."""

    labels: Annotated[dict[str, str], Field(default_factory=dict, max_length=64)]
    """Labels to add. Values are templates."""
    annotations: Annotated[dict[str, str], Field(default_factory=dict, max_length=64)]
    """Annotations to add. Values are templates."""


class ResourceGroup(Ruled):
    """A group of targets with one policy. What its sources render to is applied; what they no longer render to is taken back."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.targets) || has(self.template) || has(self.namespacedItems)",
            "at least one source is required: add targets, template or namespacedItems",
            lambda self: bool(self.targets or self.template or self.namespaced_items),
            reason="FieldValueRequired",
        ),
        Rule(
            "",  # the schema says it by a pattern: CEL's cost for a text of this size is over the API server's budget
            "a blank template renders nothing: omit the field, or write a manifest",
            lambda self: self.template is None or bool(self.template.strip()),
            ("template",),
        ),
    )

    name: Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] | None = None
    """A name for messages; unique among the groups of the object."""
    policy: ResourcePolicy = ResourcePolicy()
    """How the targets of this group are written and taken back."""
    namespace_selector: LabelSelector | None = None
    """Only namespaces with these labels, of those that the scope gives. Omitted: all of them."""
    context: Context | None = None
    """Existing objects that the templates of this group read."""
    targets: Annotated[tuple[Annotated[Manifest, _Shaped(_Target)], ...], Field(min_length=1, max_length=256)] | None = None
    """Manifests whose strings are templates (Jinja2). A string that is one whole expression becomes the typed value."""
    template: Annotated[str, Field(max_length=262144, json_schema_extra={"pattern": r"\S"})] | None = None
    """A template (Jinja2) of YAML text, which may render any number of documents."""
    namespaced_items: Annotated[tuple[Reference, ...], Field(min_length=1, max_length=64)] | None = None
    """Existing objects that are copied into each namespace of the scope, and follow their source."""
    additional_metadata: AdditionalMetadata | None = None
    """Labels and annotations for every target of this group."""

    def lower(self, position: int) -> Group:
        """The group in the planner's words; one without a name is called by its place, for messages only."""
        extra = self.additional_metadata or AdditionalMetadata()
        return Group(
            name=self.name or f"resources[{position}]",
            policy=self.policy.lower(),
            namespace_selector=lowered(self.namespace_selector),
            context=tuple(one.query(one.index) for one in (self.context or Context()).resources),
            targets=self.targets or (),
            template=self.template or "",
            copies=tuple(one.query() for one in self.namespaced_items or ()),
            labels=extra.labels,
            annotations=extra.annotations,
        )
