"""Label selectors as users write them: the shape of `metav1.LabelSelector`, with its rules."""

import re
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from apis.rule import Rule, Ruled
from apis.selector import Requirement, Selector

_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
KEY_MAX = 317
"""A prefix of 253 characters, a slash, a name of 63."""

LabelKey = Annotated[str, Field(min_length=1, max_length=KEY_MAX)]
LabelValue = Annotated[str, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
TemplateValue = Annotated[str, Field(max_length=1024)]


class Operator(StrEnum):
    """How the value of the key relates to `values`."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


def _values_fit(expression: "TemplateExpression") -> bool:
    return (expression.operator in (Operator.IN, Operator.NOT_IN)) == bool(expression.values)


def _is_key(key: str) -> bool:
    return len(key) <= KEY_MAX and _KEY.fullmatch(key) is not None


class TemplateExpression(Ruled):
    """One requirement: `key` `operator` `values`."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            "In and NotIn need at least one value, Exists and DoesNotExist take none: add values, or remove `values`",
            _values_fit,
            ("values",),
        ),
        Rule("", "must be a label key such as stage or example.com/stage", lambda self: _is_key(self.key), ("key",)),
    )

    key: LabelKey
    """The label key that is looked at."""
    operator: Operator
    """How the value of the key relates to `values`; `NotIn` and `DoesNotExist` also match objects without the key."""
    values: Annotated[tuple[TemplateValue, ...], Field(max_length=64)] = ()
    """The values for `In` and `NotIn`; none for `Exists` and `DoesNotExist`. Templates as `name` is one."""


class Expression(TemplateExpression):
    """One requirement: `key` `operator` `values`."""

    values: Annotated[tuple[LabelValue, ...], Field(max_length=64)] = ()
    """The values for `In` and `NotIn`; none for `Exists` and `DoesNotExist`."""


_LABEL_KEYS = Rule(
    "",
    "every key must be a label key such as stage or example.com/stage",
    lambda self: all(map(_is_key, self.match_labels)),
    ("matchLabels",),
)


class TemplateSelector(Ruled):
    """Selects objects by their labels; all requirements must hold. Values may be templates."""

    rules: ClassVar[tuple[Rule, ...]] = (_LABEL_KEYS,)

    match_labels: Annotated[dict[str, TemplateValue], Field(default_factory=dict, max_length=64)]
    """Labels that the object must carry with exactly these values. Templates over `tenant`, `namespace` and `parent`."""
    match_expressions: Annotated[tuple[TemplateExpression, ...], Field(max_length=32)] = ()
    """Further requirements; all of them must hold."""

    @property
    def empty(self) -> bool:
        """True when it requires nothing, so that everything matches."""
        return not self.match_labels and not self.match_expressions

    def lower(self) -> Selector:
        """The selector that matches."""
        expressions = [Requirement(one.key, one.operator.value, one.values) for one in self.match_expressions]
        return Selector.of(self.match_labels, expressions)


class LabelSelector(TemplateSelector):
    """Selects objects by their labels; all requirements must hold."""

    match_labels: Annotated[dict[str, LabelValue], Field(default_factory=dict, max_length=64)]
    """Labels that the object must carry with exactly these values."""
    match_expressions: Annotated[tuple[Expression, ...], Field(max_length=32)] = ()
    """Further requirements; all of them must hold."""


def lowered(selector: TemplateSelector | None) -> Selector | None:
    """The selector that matches, or None where none was given."""
    return None if selector is None else selector.lower()
