"""`x-capsule-form`: how the form of a user interface asks for a parameter, at a property of a `paramSchema`.

The hints are checked, so that a form can rely on them. For us they mean nothing: what is chosen is a value like any other.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from apis.copyhold.query import ApiVersion, KindName
from apis.invalid import explain
from apis.rule import Ruled

FORM = "x-capsule-form"

_Text = Annotated[str, Field(min_length=1, max_length=1024)]
_Namespace = Annotated[str, Field(max_length=63, pattern=r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")]


class _Source(Ruled):
    """The objects to choose from; the form lists them as its user."""

    api_version: ApiVersion
    """Their group and version."""
    kind: KindName
    """Their kind."""
    namespace: _Namespace | None = None
    """`request` (that of the permit), `*`, or a name. Omitted: of cluster scope."""
    label_selector: _Text | None = None
    """Which of them, as in a list request."""
    field_selector: _Text | None = None
    """Which of them, as in a list request."""


class _Option(Ruled):
    """How an object becomes a choice."""

    label_template: _Text | None = None
    """What is shown."""
    value_template: _Text | None = None
    """What becomes the parameter."""


class _Form(Ruled):
    """How a parameter is asked for."""

    widget: Literal["kubernetes-resource"]
    """The only kind there is."""
    source: _Source
    """The objects to choose from."""
    option: _Option = _Option()
    """How an object becomes a choice."""


def problem(hints: Any, path: str) -> str:
    """What is wrong with the hints at `path`, with the remedies; empty when nothing is."""
    try:
        _Form.model_validate(hints)
    except ValidationError as error:
        return explain(path, error)
    return ""
