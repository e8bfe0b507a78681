"""The conformance tests of the specification: every one passes, but for a short list with a reason for each."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policy import cel
from policy.cel import types
from policy.cel.environment import Environment, default
from policy.cel.times import Duration, Timestamp
from policy.cel.types import Type
from policy.cel.values import KEYS, TypeValue, UInt, equal, name_of

DATA = Path(__file__).parents[4] / "shared" / "data" / "cel-spec" / "conformance.json"

BLOCK = "cel.block is written by an optimiser and by no author"
MAPPED = "Kubernetes takes no IPv4 address within IPv6, however it is written, and so do we"
SLIP = "the data wants a backslash that the literal does not have; the same test for strings wants none"
EXCEPTIONS = {
    "network_ext/ipv4/ipv4_equals_ipv6": MAPPED,
    "network_ext/ipv4/ipv4_not_equals_ipv6": MAPPED,
    "parse/bytes_literals/triple_double_quoted_unescaped_punctuation": SLIP,
    "parse/bytes_literals/triple_single_quoted_unescaped_punctuation": SLIP,
}
MOST = 30  # exceptions that may be

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the data of the CEL specification is not beside the repository")


def _cases() -> Iterator[Any]:
    for case in json.loads(DATA.read_text()) if DATA.exists() else []:
        name = f"{case['file']}/{case['section']}/{case['name']}"
        reason = BLOCK if case["file"] == "block_ext" else EXCEPTIONS.get(name)
        yield pytest.param(case, id=name, marks=[pytest.mark.xfail(reason=reason, strict=True)] if reason else [])


def _type(written: Any) -> Type:
    if isinstance(written, str):
        return types.parse(written)
    name, *parameters = written
    if name == "abstract":
        name, *parameters = parameters
    return Type(name, tuple(map(_type, parameters)))


def _value(tagged: Any) -> Any:
    """The value that the data writes as [kind, value]."""
    kind, value = tagged
    match kind:
        case "uint":
            return UInt(value)
        case "double":
            return float(value)
        case "bytes":
            return base64.b64decode(value)
        case "list":
            return [_value(item) for item in value]
        case "map":
            return {_key(_value(key)): _value(item) for key, item in value}
        case "type":
            return TypeValue({"null": "null_type"}.get(value, value))
        case "timestamp":
            return Timestamp(value[0] * 10**9 + value[1])
        case "duration":
            return Duration(value[0] * 10**9 + value[1])
    return value


def _key(value: Any) -> Any:
    return KEYS[value] if isinstance(value, bool) else value


def _exact(found: Any, wanted: Any) -> bool:
    """Equal in value and in type, all the way down; NaN is itself."""
    if name_of(found) != name_of(wanted):
        return False
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_exact, found, wanted))
    if isinstance(wanted, dict):
        return set(found) == set(wanted) and all(_exact(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, float) and wanted != wanted:
        return bool(found != found)
    return bool(equal(found, wanted, cel.Budget()))


@pytest.mark.parametrize("case", list(_cases()))
def test_the_specification_is_kept(case: dict[str, Any]) -> None:
    """The value or error that the specification wants, and the type that its checker finds."""
    environment = Environment(
        {name: _type(kind) for name, kind in case["env"].items()},
        default(),
        container=case["container"],
        checked=not case["disable_check"],
        strict=False,
    )
    bindings = {name: _value(tagged) for name, tagged in case["bindings"].items()}
    if not case["env"]:
        environment = Environment(
            dict.fromkeys(bindings, types.DYN), default(), case["container"], not case["disable_check"], False
        )
    want = case["want"]
    try:
        program = cel.prepare(case["expr"], environment)
        found = None if case["check_only"] else program.value(bindings, cel.Budget())
    except cel.CelError:
        assert want is not None
        assert want[0] == "error"
        return
    if case["deduced"]:
        assert program.result_type == _type(case["deduced"])
    if want is None or case["check_only"]:
        return
    assert want[0] != "error", found
    assert _exact(found, _value(want)), found


def test_the_exceptions_are_few_and_all_there() -> None:
    """A name that the data no longer has would hide that the list is too long."""
    cases = json.loads(DATA.read_text())
    names = {f"{case['file']}/{case['section']}/{case['name']}" for case in cases}
    assert set(EXCEPTIONS) <= names
    assert len(EXCEPTIONS) + sum(case["file"] == "block_ext" for case in cases) <= MOST
