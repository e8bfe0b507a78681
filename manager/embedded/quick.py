"""Whether a value surely fits a schema, told fast: most do, and only of the others it is asked what is wrong (constraints.py).

A node is compiled once to a function; for what is rare it answers no, which means no more than: look closer.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from manager.embedded import formats
from manager.embedded.schema import Schema
from policy.cel.error import CelError
from policy.cel.regex import pattern

Test: TypeAlias = Callable[[Any], bool]

INT32, INT64 = 2**31, 2**63
SHORT = 100  # characters of a text whose match is remembered
_SIMPLE: Mapping[str, frozenset[str]] = {
    "object": frozenset(("minProperties", "maxProperties")),
    "array": frozenset(("minItems", "maxItems")),
    "string": frozenset(("minLength", "maxLength", "pattern", "enum")),
    "integer": frozenset(("minimum", "maximum", "enum")),
    "boolean": frozenset(),
}


@lru_cache(maxsize=16_384)
def fits(schema: Schema) -> Test:
    """The test of a node."""
    words = _SIMPLE.get(schema.type)
    if words is None or not schema.constraints.keys() <= words:
        return _never
    test = _TESTS[schema.type](schema)
    return _or_null(test) if schema.nullable and "enum" not in schema.constraints else test


def _never(_: Any) -> bool:
    return False


def _or_null(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _object(schema: Schema) -> Test:
    least, most = schema.constraints.get("minProperties", 0), schema.constraints.get("maxProperties", INT64)
    known = {name: _skipped if child.reference else fits(child) for name, child in schema.properties.items()}
    others = fits(schema.additional) if schema.additional is not None else _skipped
    required = schema.required

    def test(value: Any) -> bool:
        if type(value) is not dict or not least <= len(value) <= most:
            return False
        if not all(name in value for name in required):
            return False
        return all(known.get(name, others)(below) for name, below in value.items())

    return test


def _skipped(_: Any) -> bool:
    return True


def _array(schema: Schema) -> Test:
    least, most = schema.constraints.get("minItems", 0), schema.constraints.get("maxItems", INT64)
    item = fits(schema.items) if schema.items is not None else _skipped
    return lambda value: type(value) is list and least <= len(value) <= most and all(map(item, value))


def _string(schema: Schema) -> Test:
    limits = schema.constraints
    least, most = limits.get("minLength", 0), limits.get("maxLength", INT64)
    tests: list[Test] = []
    if limits.get("pattern"):
        try:
            tests.append(_matching(limits["pattern"]))
        except CelError:
            return _never
    if formats.known(schema.format):
        tests.append(lambda value: formats.fits(schema.format, value))
    if limits.get("enum"):
        choices = frozenset(choice for choice in limits["enum"] if isinstance(choice, str))
        tests.append(lambda value: value in choices)
    return lambda value: type(value) is str and least <= len(value) <= most and all(test(value) for test in tests)


def _matching(text: str) -> Test:
    """The same names come again and again, and RE2 is slow to call."""
    search = pattern(text).search
    remembered = lru_cache(maxsize=256)(lambda value: search(value) is not None)
    return lambda value: remembered(value) if len(value) < SHORT else search(value) is not None


def _integer(schema: Schema) -> Test:
    limits = schema.constraints
    least, most = limits.get("minimum", -INT64), limits.get("maximum", INT64 - 1)
    bound = INT32 if schema.format == "int32" else INT64
    if any(abs(limit) > bound or limit != int(limit) for limit in (least, most)):
        return _never
    choices = limits.get("enum")
    return lambda value: (
        type(value) is int and least <= value <= most and -bound <= value < bound and (not choices or value in choices)
    )


def _boolean(_: Schema) -> Test:
    return lambda value: type(value) is bool


_TESTS: Mapping[str, Callable[[Schema], Test]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "boolean": _boolean,
}
