"""The converter: from a pydantic model to what an API server takes for structural."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Optional

import pytest
import yaml
from pydantic import ConfigDict, Field

from apis.crd import NotStructural, crd, structural
from apis.kind import Kind, kinds
from apis.meta import Model
from apis.rule import Rule, Ruled

MANIFESTS = Path(__file__).parents[2] / "deploy" / "crds"


class Colour(StrEnum):
    """A colour."""

    RED = "Red"
    BLUE = "Blue"


class Leaf(Ruled):
    """A leaf."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("self.size > 0", "must grow: raise it", lambda self: self.size > 0, ("size",)),
        Rule("", "seen by Python only", lambda self: True),
    )

    size: int = 1
    """Its size,
    in cm."""
    colour: Colour = Colour.RED


class Open(Model):
    """Anything."""

    model_config = ConfigDict(extra="allow")

    name: str


def _field(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of one field of this type."""
    model = type("Probe", (Model,), {"__annotations__": {"probe": annotation}, "probe": Field(default)})
    schema: dict[str, Any] = structural(model)["properties"]["probe"]
    return schema


@pytest.mark.parametrize(
    ("annotation", "default", "schema"),
    [
        pytest.param(str, ..., {"type": "string"}, id="text"),
        pytest.param(int, ..., {"type": "integer", "format": "int64"}, id="a whole number"),
        pytest.param(bool, False, {"type": "boolean", "default": False}, id="a default that is false"),
        pytest.param(str | None, None, {"type": "string"}, id="optional"),
        pytest.param(Optional[tuple[str, ...]], None, {"type": "array", "items": {"type": "string"}}, id="an optional list"),  # noqa: UP045
        pytest.param(tuple[str, ...], (), {"type": "array", "items": {"type": "string"}}, id="an empty default"),
        pytest.param(dict[str, str], ..., {"type": "object", "additionalProperties": {"type": "string"}}, id="a map"),
        pytest.param(dict[str, Any], ..., {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, id="a raw object"),
        pytest.param(Literal["a"], ..., {"type": "string", "enum": ["a"]}, id="a constant"),
        pytest.param(
            Colour,
            Colour.BLUE,
            {"description": "A colour.", "type": "string", "enum": ["Red", "Blue"], "default": "Blue"},
            id="enum",
        ),
        pytest.param(
            Annotated[str, Field(min_length=1, max_length=3, pattern="^a$")],
            ...,
            {"type": "string", "pattern": "^a$", "minLength": 1, "maxLength": 3},
            id="bounds of text",
        ),
        pytest.param(
            Annotated[tuple[int, ...], Field(max_length=3)],
            ...,
            {"type": "array", "maxItems": 3, "items": {"type": "integer", "format": "int64"}},
            id="bounds of a list",
        ),
        pytest.param(
            Annotated[dict[str, str], Field(max_length=3)],
            ...,
            {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string"}},
            id="bounds of a map",
        ),
        pytest.param(
            Annotated[tuple[str, ...], Field(json_schema_extra={"x-kubernetes-list-type": "set"})],
            ...,
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            id="a word of Kubernetes",
        ),
        pytest.param(
            Open,
            ...,
            {
                "description": "Anything.",
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
            id="an object with more fields than it names",
        ),
    ],
)
def test_a_type_has_a_structural_schema(annotation: Any, default: Any, schema: dict[str, Any]) -> None:
    """No title, no reference, no null; only what says something."""
    assert _field(annotation, default) == schema


def test_the_default_of_an_object_leaves_the_rest_to_its_fields() -> None:
    """`{}` lets the server fill in the defaults of the fields; only what differs is written out."""
    assert _field(Leaf, Leaf())["default"] == {}
    assert _field(Leaf, Leaf(size=3))["default"] == {"size": 3}


def test_docstrings_are_descriptions_on_one_line() -> None:
    """The reader's terminal breaks lines itself."""
    assert structural(Leaf)["properties"]["size"]["description"] == "Its size, in cm."


def test_a_rule_in_cel_is_a_validation() -> None:
    """With the field that it is about; rules for Python alone stay here."""
    assert structural(Leaf)["x-kubernetes-validations"] == [
        {"rule": "self.size > 0", "message": "must grow: raise it", "reason": "FieldValueInvalid", "fieldPath": ".size"}
    ]


def test_nothing_is_shared_between_places() -> None:
    """A YAML writer would turn it into aliases, which kubectl does not read."""

    class Twice(Model):
        one: Leaf
        other: Leaf

    places = structural(Twice)["properties"]
    assert places["one"]["x-kubernetes-validations"] is not places["other"]["x-kubernetes-validations"]
    assert "&" not in yaml.safe_dump(places)


class Endless(Model):
    """A model that holds itself."""

    inner: "Endless | None" = None


class Union(Model):
    """A model with a field of two types."""

    port: int | str


class Keyed(Model):
    """A model with a bound on the keys of a map."""

    labels: dict[Annotated[str, Field(min_length=1)], str]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        pytest.param(Endless, "holds itself", id="recursion"),
        pytest.param(Union, r"Union\.port: a field has one type", id="two types"),
        pytest.param(Keyed, r"Keyed\.labels: a structural schema has no propertyNames", id="keys"),
    ],
)
def test_what_is_not_structural_is_refused_by_its_place(model: type[Model], says: str) -> None:
    """Here, and not by an API server in somebody's cluster."""
    with pytest.raises(NotStructural, match=says):
        structural(model)


@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_a_definition_names_its_kind(kind: Kind) -> None:
    """One version, served and stored, found by `kubectl get copyhold`."""
    definition = crd(kind)
    spec = definition["spec"]
    assert definition["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert spec["scope"] == ("Namespaced" if kind.namespaced else "Cluster")
    assert spec["names"]["categories"] == ["copyhold"]
    assert [(one["name"], one["served"], one["storage"]) for one in spec["versions"]] == [(kind.version, True, True)]
    assert ("subresources" in spec["versions"][0]) == kind.status


@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_no_kind_has_a_field_called_items(kind: Kind) -> None:
    """An API server would take its objects for lists (specs/apiserver.md, 27)."""
    assert "items" not in _schema(kind)["properties"]


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.group == "copyhold.dev"], ids=str)
def test_every_field_is_explained(kind: Kind) -> None:
    """`kubectl explain` has a sentence for each."""
    assert [place for place, schema in _fields(_schema(kind)) if not schema.get("description")] == ["metadata"]


@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_the_manifests_in_deploy_are_not_stale(kind: Kind) -> None:
    """They are generated (`make crds`) and never edited."""
    text = (MANIFESTS / f"{kind.group}_{kind.plural}.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == crd(kind)


def test_no_manifest_in_deploy_is_left_over() -> None:
    """A kind that is gone takes its file along."""
    assert {path.name for path in MANIFESTS.glob("*.yaml")} == {f"{kind.group}_{kind.plural}.yaml" for kind in kinds()}


def _schema(kind: Kind) -> dict[str, Any]:
    schema: dict[str, Any] = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _fields(schema: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field below a schema, with its path."""
    for name, field in schema.get("properties", {}).items():
        here = f"{place}.{name}" if place else name
        yield here, field
        yield from _fields(field, here)
    if "items" in schema:
        yield from _fields(schema["items"], f"{place}[]")
