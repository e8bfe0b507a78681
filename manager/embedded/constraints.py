"""Types and constraints of a schema, checked in the order and the words of the real server (kube-openapi's validation).

The words of that library are odd in places, and clients see them: a path that begins with a dot, an error about no field, a
format where a type was meant. They are kept, and so is its choice of what to say of `anyOf` and `oneOf`: the branch where most
checks passed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from manager.embedded import formats
from manager.embedded.causes import (
    NOWHERE,
    general,
    invalid,
    not_supported,
    quote,
    required,
    to_json,
    too_long,
    too_many,
    type_invalid,
)
from manager.embedded.correlation import Correlation, same
from manager.embedded.quick import fits
from manager.embedded.schema import Schema
from manager.embedded.status import Cause
from policy.cel.error import CelError
from policy.cel.regex import pattern

INT32 = 2**31 - 1
INT64 = 2**63 - 1
_INTEGER_FORMATS = ("int32", "int64")
_NUMBER_FORMATS = ("float", "double")
_GREATEST_FLOAT32 = 3.4028234663852886e38


@dataclass(slots=True)
class _Found:
    """What a check found: causes by what they say, as the library says nothing twice, and how many checks passed."""

    causes: dict[str, Cause] = field(default_factory=dict)
    passed: int = 0

    def add(self, said: str, cause: Cause) -> None:
        self.causes.setdefault(said, cause)

    def take(self, other: "_Found") -> None:
        for said, cause in other.causes.items():
            self.causes.setdefault(said, cause)
        self.passed += other.passed


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands: its name as the library builds it, what that is below, and the old value if there is one.

    Below `allOf`, `anyOf`, `oneOf` and `not` no old value is known: what is restricted there is not let pass. `counted` is set
    below `anyOf` and `oneOf`: there it matters how many checks passed.
    """

    name: str
    base: str
    known: Correlation | None
    counted: bool = False

    @property
    def field(self) -> str:
        """The field as a cause names it."""
        below = self.name.removeprefix(".")
        if not below:
            return self.base or NOWHERE
        return f"{self.base}.{below}" if self.base else below

    def property(self, name: str) -> "_Place":
        known = self.known.key(name) if self.known and not self._type_meta(name) else None
        return replace(self, name=f"{self.name}.{name}" if self.name else name, known=known)

    def entry(self, name: str) -> "_Place":
        return replace(self, name=f"{self.name}.{name}", known=self.known.key(name) if self.known else None)

    def item(self, place: int) -> "_Place":
        return replace(self, name=f"{self.name}[{place}]", known=self.known.index(place) if self.known else None)

    def _type_meta(self, name: str) -> bool:
        # Both sides were converted to this version: a change of it is not seen.
        return not self.name and name in ("apiVersion", "kind")


def check(schema: Schema, value: Any, known: Correlation | None = None, *, base: str = "") -> list[Cause]:
    """Why the value does not fit; what has not changed since `known.old` is let pass."""
    if fits(schema)(value):
        return []
    return list(_checked(schema, value, _Place("", base, known)).causes.values())


def check_closely(schema: Schema, value: Any) -> list[Cause]:
    """The same, without the way past what surely fits."""
    return list(_checked(schema, value, _Place("", "", None, counted=True)).causes.values())


def _checked(schema: Schema, value: Any, place: _Place) -> _Found:
    if not place.counted and value is not None and fits(schema)(value):
        return _Found()
    found = _check(schema, value, place)
    if found.causes and place.known is not None and place.known.unchanged():
        return _Found(passed=found.passed)
    return found


def _check(schema: Schema, value: Any, place: _Place) -> _Found:
    found = _Found()
    if value is None:
        _type(schema, value, place, found)
        _enum(schema, value, place, found)
        return found
    for validator in _CHAIN:
        if validator(schema, value, place, found):
            found.passed += 1
    found.passed += 1
    return found


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def _format(schema: Schema) -> str:
    """The format, if it is one for this type; others are ignored."""
    given = schema.format
    match _types(schema):
        case () | ("string",) | (_, _):
            return given if formats.known(given) else ""
        case ("integer",):
            return given if given in _INTEGER_FORMATS else ""
        case ("number",):
            return given if given in _NUMBER_FORMATS else ""
    return ""


def _kind(value: Any) -> tuple[str, str]:
    """The type of a value in JSON, and the format that Go's type for it has."""
    match value:
        case bool():
            return "boolean", ""
        case str():
            return "string", ""
        case int():
            return "integer", "int64"
        case float():
            return "number", "float64"
        case list():
            return "array", ""
    return "object", ""


def _whole(value: Any) -> bool:
    """A float that JSON calls an integer."""
    return isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 - 1


def _type(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    types, wanted = _types(schema), _format(schema)
    if not types and not wanted:
        return False
    if value is None:
        if types and not schema.nullable:
            _wrong_type(place, ",".join(types), "null", found)
        return True
    kind, own = _kind(value)
    fits = kind in types or (_whole(value) and "integer" in types) or (kind == "integer" and "number" in types)
    numeric = "number" in types or "integer" in types
    if kind not in ("string", "array") and wanted and not (fits or own == wanted):
        _wrong_type(place, wanted, own, found)
    elif not numeric and wanted and kind in ("string", "array"):
        found.passed += 1  # the format decides, and for a list nobody does
    elif fits:
        found.passed += 1
    else:
        _wrong_type(place, ",".join(types), kind, found)
    return True


def _wrong_type(place: _Place, wanted: str, kind: str, found: _Found) -> None:
    said = f"{place.name} in body must be of type {wanted}: {quote(kind)}"
    found.add(said, type_invalid(place.field, kind, said))


def _combined(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    limits = schema.constraints
    if "anyOf" in limits:
        _any_of(limits["anyOf"], value, place, found)
    if "oneOf" in limits:
        _one_of(limits["oneOf"], value, place, found)
    if "allOf" in limits:
        _all_of(limits["allOf"], value, place, found)
    if "not" in limits and not _check(limits["not"], value, replace(place, known=None)).causes:
        _say(f"{quote(place.name)} must not validate the schema (not)", place, found)
    found.passed += 1
    return True


def _say(said: str, place: _Place, found: _Found) -> None:
    """An error that names no field."""
    found.add(said, invalid(place.base or NOWHERE, "", said))


def _any_of(choices: tuple[Schema, ...], value: Any, place: _Place, found: _Found) -> None:
    failed: list[_Found] = []
    for choice in choices:
        tried = _check(choice, value, replace(place, known=None, counted=True))
        if not tried.causes:
            found.take(tried)
            return
        failed.append(tried)
    _say(f"{quote(place.name)} must validate at least one schema (anyOf)", place, found)
    found.take(max(failed, key=lambda each: each.passed))


def _one_of(choices: tuple[Schema, ...], value: Any, place: _Place, found: _Found) -> None:
    tried = [_check(choice, value, replace(place, known=None, counted=True)) for choice in choices]
    fitting = [each for each in tried if not each.causes]
    if len(fitting) == 1:
        found.take(fitting[0])
        return
    why = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
    _say(f"{quote(place.name)} must validate one and only one schema (oneOf). {why}", place, found)
    if not fitting:
        found.take(max(tried, key=lambda each: each.passed))


def _all_of(choices: tuple[Schema, ...], value: Any, place: _Place, found: _Found) -> None:
    tried = [_check(choice, value, replace(place, known=None)) for choice in choices]
    for each in tried:
        found.take(each)
    valid = sum(not each.causes for each in tried)
    if valid != len(tried):
        _say(f"{quote(place.name)} must validate all the schemas (allOf){'' if valid else '. None validated'}", place, found)


def _string(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    if not isinstance(value, str):
        return False
    limits = schema.constraints
    most, least, shape = limits.get("maxLength"), limits.get("minLength"), limits.get("pattern")
    if most is not None and len(value) > most:
        found.add(f"{place.name} in body should be at most {most} chars long", too_long(place.field, most))
    elif least is not None and len(value) < least:
        _refuse(f"{place.name} in body should be at least {least} chars long", value, place, found)
    elif shape:
        _pattern(shape, value, place, found)
    return True


def _pattern(shape: str, value: str, place: _Place, found: _Found) -> None:
    try:
        fits = pattern(shape).search(value) is not None
    except CelError as error:
        shape, fits = f"{shape}, but pattern is invalid: {error}", False
    if not fits:
        _refuse(f"{place.name} in body should match '{shape}'", value, place, found)


def _refuse(said: str, value: Any, place: _Place, found: _Found) -> None:
    found.add(said, invalid(place.field, value, said))


def _formatted(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    wanted = _format(schema)
    if not isinstance(value, str) or not formats.known(wanted):
        return False
    if not formats.fits(wanted, value):
        said = f"{place.name} in body must be of type {wanted}: {quote(value)}"
        found.add(said, type_invalid(place.field, value, said))
    return True


def _number(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    types = _types(schema)
    # int-or-string has two types, and no range is held against either.
    only = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    form = _format(schema) if only else ""
    _range(value, only, form, "Checked", place, found)
    for keyword, word, test in _LIMITS:
        if (limit := schema.constraints.get(keyword)) is not None:
            _range(float(limit), only, form, word, place, found)
            test(schema.constraints, value, limit, place, found)
    found.passed += 1
    return True


def _range(value: float, only: str, form: str, word: str, place: _Place, found: _Found) -> None:
    if only == "integer":
        bound = INT32 if form == "int32" else INT64
        # Bounds are written as floats, and the greatest int64 as a float is one more than that.
        fits = float(value).is_integer() and -bound - 1 <= value <= bound
    else:
        fits = form != "float" or abs(value) <= _GREATEST_FLOAT32
    if not fits:
        shape = f"with format {form} in " if form else "(default format) in "
        _say(f"{word} value must be of type {only or 'number'} {shape}{place.name}", place, found)


def _shown(value: float) -> str:
    return general(value) if isinstance(value, float) else str(value)


def _multiple(_: Mapping[str, Any], value: float, factor: float, place: _Place, found: _Found) -> None:
    exact = int(factor) if isinstance(value, int) else float(factor)
    if exact <= 0:  # a fraction, cut for an integer
        _refuse(f"factor MultipleOf declared for {place.name} must be positive: {_shown(exact)}", exact, place, found)
    elif value % exact != 0 if isinstance(value, int) else not (value / exact).is_integer():
        _refuse(f"{place.name} in body should be a multiple of {_shown(exact)}", value, place, found)


def _maximum(limits: Mapping[str, Any], value: float, most: float, place: _Place, found: _Found) -> None:
    bound, exclusive = _bound(value, most), bool(limits.get("exclusiveMaximum"))
    if value > bound or (exclusive and value == bound):
        _refuse(
            f"{place.name} in body should be less than {'' if exclusive else 'or equal to '}{_shown(bound)}", value, place, found
        )


def _minimum(limits: Mapping[str, Any], value: float, least: float, place: _Place, found: _Found) -> None:
    bound, exclusive = _bound(value, least), bool(limits.get("exclusiveMinimum"))
    if value < bound or (exclusive and value == bound):
        said = f"{place.name} in body should be greater than {'' if exclusive else 'or equal to '}{_shown(bound)}"
        _refuse(said, value, place, found)


def _bound(value: float, limit: float) -> float:
    """The limit as it is compared: cut to an integer for an integer."""
    return int(limit) if isinstance(value, int) else float(limit)


_Limit: TypeAlias = Callable[[Mapping[str, Any], float, float, _Place, _Found], None]

_LIMITS: tuple[tuple[str, str, _Limit], ...] = (
    ("multipleOf", "MultipleOf", _multiple),
    ("minimum", "Minimum boundary", _minimum),
    ("maximum", "Maximum boundary", _maximum),
)


def _array(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    if not isinstance(value, list):
        return False
    if schema.items is not None:
        for index, item in enumerate(value):
            found.take(_checked(schema.items, item, place.item(index)))
    limits, size = schema.constraints, len(value)
    least, most = limits.get("minItems"), limits.get("maxItems")
    if least is not None and size < least:
        _refuse(f"{place.name} in body should have at least {least} items", size, place, found)
    if most is not None and size > most:
        found.add(f"{place.name} in body should have at most {most} items", too_many(place.field, size, most))
    if limits.get("uniqueItems") and any(same(item, other) for at, item in enumerate(value) for other in value[:at]):
        _refuse(f"{place.name} in body shouldn't contain duplicates", "", place, found)
    found.passed += 1
    return True


def _enum(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    choices = schema.constraints.get("enum")
    if choices and not any(_chosen(value, choice) for choice in choices):
        shown = [choice if isinstance(choice, str) else to_json(choice) for choice in choices]
        found.add(f"{place.name} in body should be one of {shown}", not_supported(place.field, value, shown))
    return True


def _chosen(value: Any, choice: Any) -> bool:
    if value is None or isinstance(value, bool) or isinstance(choice, bool):
        return value is not None and same(value, choice)
    if isinstance(value, float) and isinstance(choice, int):
        return int(value) == choice  # Go converts before it compares
    if isinstance(value, int) and isinstance(choice, float):
        return float(value) == choice
    return same(value, choice)


def _object(schema: Schema, value: Any, place: _Place, found: _Found) -> bool:
    if not isinstance(value, dict):
        return False
    limits, size = schema.constraints, len(value)
    least, most = limits.get("minProperties"), limits.get("maxProperties")
    if least is not None and size < least:
        _refuse(f"{place.name} in body should have at least {least} properties", size, place, found)
    if most is not None and size > most:
        found.add(f"{place.name} in body should have at most {most} properties", too_many(place.field, size, most))
    if schema.additional is not None:
        for name, below in value.items():
            if name not in schema.properties:
                found.take(_checked(schema.additional, below, place.entry(name)))
    for name, child in schema.properties.items():
        if name in value and not child.reference:
            found.take(_checked(child, value[name], place.property(name)))
    for name in schema.required:
        if name not in value:
            missing = _Place(f"{place.name}.{name}", place.base, None)
            found.add(f"{missing.name} in body is required", required(missing.field))
    return True


_Validator: TypeAlias = Callable[[Schema, Any, _Place, _Found], bool]

_CHAIN: tuple[_Validator, ...] = (_type, _combined, _string, _formatted, _number, _array, _enum, _object)
