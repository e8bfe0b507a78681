"""A rule of a model, judged twice: by the API server in CEL, and by us in Python where no server stands between."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, GetJsonSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, PydanticUndefined

from apis.meta import Model


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold for one object of a model.

    `cel` sees the object as `self`; empty means that the schema itself says it (a list map, say) and only Python must check.
    `path` is the field that the message is about, relative to the object. `reason` is one of the API server's: FieldValueInvalid,
    FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool]
    path: tuple[str, ...] = ()
    reason: str = "FieldValueInvalid"

    def validation(self) -> dict[str, str]:
        """The entry of `x-kubernetes-validations`."""
        place = {"fieldPath": "".join(f".{part}" for part in self.path)} if self.path else {}
        return {"rule": self.cel, "message": self.message, "reason": self.reason, **place}


class Ruled(Model):
    """A model with rules. A subclass that adds rules names those of its base: `rules = Base.rules + (...)`.

    The docstrings under its fields become their descriptions in the CustomResourceDefinition, and so `kubectl explain`.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)
    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _null_is_the_default(cls, data: Any) -> Any:
        """As the API server reads it: `policy:` with nothing behind it is the declared default."""
        if not isinstance(data, dict):
            return data
        defaulted = {field.alias for field in cls.model_fields.values() if field.default not in (None, (), PydanticUndefined)}
        return {key: value for key, value in data.items() if value is not None or key not in defaulted}

    @model_validator(mode="after")
    def _judge(self) -> Self:
        broken: list[InitErrorDetails] = [
            {"type": PydanticCustomError("rule", "{text}", {"text": rule.message}), "loc": rule.path, "input": None}
            for rule in self.rules
            if not rule.holds(self)
        ]
        if broken:
            # pydantic prefixes these places with the place of this object, so each broken rule keeps its own field path.
            raise ValidationError.from_exception_data(type(self).__name__, broken)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema with the rules that are written in CEL."""
        schema = handler(core_schema)
        served = [rule.validation() for rule in cls.rules if rule.cel]
        if served:
            handler.resolve_ref_schema(schema)["x-kubernetes-validations"] = served
        return schema
