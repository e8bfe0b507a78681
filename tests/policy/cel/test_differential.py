"""Expressions over times, unsigned numbers, bytes, strings, optionals and bindings beside Google's implementation in C++.

`test_oracles` asks the same of the core of the language. Here, libraries and rarer types are drawn: texts are built from
templates by type, values at the edges of their ranges. Where the two do not agree, a row of KNOWN names it with the reason and
the templates leave it out; a test says that each row is still true. The order of a map's keys is nobody's promise: none is drawn.
"""

import logging
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import cel
from policy.cel.environment import default, typed
from policy.cel.values import UInt

FAILED, REFUSED = "failed", "refused"
LIBRARIES = ("bindings", "encoders", "math", "optional", "strings")

VARIABLES = {
    "i": "int",
    "u": "uint",
    "x": "double",
    "s": "string",
    "y": "bytes",
    "t": "timestamp",
    "d": "duration",
    "ls": "list(string)",
    "li": "list(int)",
    "m": "map(string, string)",
    "o": "dyn",
}

Drawn = Callable[[st.SearchStrategy[Any]], Any]
KINDS = {
    "b": "bool", "i": "int", "u": "uint", "x": "double", "s": "string", "y": "bytes", "t": "time", "d": "span", "l": "texts",
    "n": "ints", "o": "maybe",
}  # fmt: skip
LEAVES: Mapping[str, list[str]] = {
    "bool": ["true", "false", "has(o.a)", "s in m"],
    "int": ["i", "0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808"],
    "uint": ["u", "0u", "1u", "18446744073709551615u"],
    "double": ["x", "0.5", "-1.5", "1e300", "1e18", "-0.0"],
    "string": ["s", "''", "'a'", "'b,a'", "'Ünï'", "'10'", "'-7'", "'1.5'", "'x\\ty'"],
    "bytes": ["y", "b''", "b'\\xff'", "b'ab'"],
    "time": ["t", "timestamp('2026-02-28T23:59:59.999999999Z')", "timestamp(0)", "timestamp('9999-12-30T23:59:59Z')"],
    "span": ["d", "duration('1h')", "duration('-1ns')", "duration('0.5s')", "duration('200000h')"],
    "texts": ["ls", "['a', 'b']"],
    "ints": ["li", "[1, 2, 3]"],
    "maybe": ["o.?a", "m[?s]", "optional.none()", "optional.of('a')", "m.?a"],
}
TEMPLATES: Mapping[str, list[str]] = {
    "bool": [
        "$t < $t", "$t == $t", "$t >= $t", "$d < $d", "$d == $d", "$u < $u", "$u == $u", "$y == $y", "$y < $y", "$u == $i",
        "$x == $i", "$x != $x", "!$b", "$b && $b", "$b || $b", "$b ? $b : $b", "bool($s)", "$s.matches('^[a-b]+')",
        "$s.contains($s)", "$o.hasValue()", "$l.exists(v, v == $s)", "$l.all(v, v.size() < $i)", "$n.exists_one(v, v == $i)",
        "$s in $l", "math.isNaN($x)", "math.isInf($x)", "math.isFinite($x)", "type($i) == type($u)", "$l == $l",
        "dyn($u) == $x", "$n == $n", "$n.all(v, $n.exists(w, w > v))", "cel.bind(z, $s, z == $s)", "$u in [$u, $u]",
        "o.a == o.b", "o.a != $s",
    ],
    "int": [
        "$i + $i", "$i - $i", "$i * $i", "$i / $i", "$i % $i", "int($u)", "int($x)", "int($s)", "int($t)", "$s.size()",
        "size($y)", "size($l)", "$t.getFullYear()", "$t.getMonth()", "$t.getDate()", "$t.getDayOfMonth()", "$t.getDayOfWeek()",
        "$t.getDayOfYear()", "$t.getHours()", "$t.getMinutes('-03:30')", "$t.getHours('Europe/Berlin')",
        "$t.getDate('America/New_York')", "$t.getMilliseconds()", "$d.getHours()", "$d.getMinutes()", "$d.getSeconds()",
        "$s.indexOf($s)", "$s.lastIndexOf($s)", "math.abs($i)", "math.sign($i)", "math.greatest($i, $i)",
        "math.least([$i, $i, $i])", "math.bitAnd($i, $i)", "math.bitOr($i, $i)", "math.bitXor($i, $i)", "math.bitNot($i)",
        "math.bitShiftLeft($i, $i)", "math.bitShiftRight($i, $i)", "$n[$i]", "cel.bind(z, $i, z + z)", "-($i)",
        "$n.map(v, v + $i).filter(v, v > 0).size()",
    ],
    "uint": [
        "$u + $u", "$u - $u", "$u * $u", "$u / $u", "$u % $u", "uint($i)", "uint($x)", "uint($s)", "math.greatest($u, $u)",
        "math.abs($u)",
    ],
    "double": [
        "$x + $x", "$x - $x", "$x * $x", "$x / $x", "-$x", "double($i)", "double($u)", "double($s)", "math.ceil($x)",
        "math.floor($x)", "math.round($x)", "math.trunc($x)", "math.sign($x)", "math.abs($x)",
    ],
    "string": [
        "$s + $s", "string($i)", "string($u)", "string(timestamp($i))", "string(duration('90m'))", "string($y)",
        "$s.lowerAscii()", "$s.upperAscii()", "$s.trim()", "$s.charAt($i)", "$s.substring($i)",
        "(s + 'abc').substring(0, 2)", "$s.replace($s, $s)", "$s.replace($s, $s, $i)", "$l.join()", "$l.join($s)",
        "$l[$i]", "base64.encode($y)", "$o.orValue('none') == 'a' ? $s : $s", "cel.bind(z, $s, z + z)", "m[$s]", "$s.reverse()",
        "strings.quote($s)", "string($b)",
    ],
    "bytes": [
        "$y + $y", "bytes($s)", "base64.decode(base64.encode($y))",
    ],
    "time": [
        "$t + $d", "$t - $d", "timestamp($i)", "timestamp(string($t))", "$d + $t",
    ],
    "span": [
        "$d + $d", "$d - $d", "$t - $t", "duration(string($d))",
    ],
    "texts": [
        "$l + $l", "$s.split(',')", "$s.split('a', $i)", "$l.map(v, v + $s)", "$l.filter(v, v != $s)", "[$s, $s]",
    ],
    "ints": [
        "$n + $n", "$n.map(v, v * 2)", "$n.filter(v, v % 2 == 0)", "[$i, $i]",
    ],
    "maybe": [
        "$o.or($o)", "optional.of($s)", "optional.ofNonZeroValue($s)", "$o.optMap(v, $s)", "$l[?$i]",
    ],
}  # fmt: skip


@st.composite
def expressions(draw: Drawn, kind: str, depth: int = 3) -> str:
    """A text of a type, at most so many calls deep."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return str(draw(st.sampled_from(LEAVES[kind])))
    first, *parts = draw(st.sampled_from(TEMPLATES[kind])).split("$")
    return f"({first}{''.join(draw(expressions(KINDS[part[0]], depth - 1)) + part[1:] for part in parts)})"


VALUES = st.fixed_dictionaries(
    {
        "i": st.integers(-70, 70) | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]),
        "u": st.integers(0, 9),
        "x": st.floats(-10, 10) | st.sampled_from([2.5, -2.5, 1e19, float("inf"), float("nan")]),
        "s": st.sampled_from(["", "a", "b", "a,b", " A b\t", "true", "12", "-0", "ß🐱", "1h", "YQ=="]),
        "y": st.binary(max_size=3),
        "t": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(lambda moment: moment.replace(tzinfo=UTC)),
        "d": st.timedeltas(timedelta(-1000), timedelta(1000)),
        "ls": st.lists(st.sampled_from(["", "a", "b", "ab"]), max_size=3),
        "li": st.lists(st.integers(-3, 3), max_size=4),
        "m": st.dictionaries(st.sampled_from(["", "a", "b", "12"]), st.sampled_from(["a", "x"]), max_size=3),
        "o": st.sampled_from([{}, {"a": "a"}, {"a": 1, "b": 1.0}, {"a": {"b": "a"}}, {"a": [1], "b": [1.0]}, {"a": None}]),
    }
)
SOUND = ["bool", "int", "uint", "double", "string", "bytes", "time", "span", "texts", "ints"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text on which the two do not agree, and who is right."""

    text: str
    ours: Any
    theirs: Any
    reason: str


KNOWN: Mapping[str, Disagreement] = {
    "numbers of two types": Disagreement("1 < 1.5", True, REFUSED, "the specification orders them; there it has to be asked for"),
    "an empty split": Disagreement("''.split('')", [], [""], "Go, and so Kubernetes, splits nothing into nothing"),
    "text of a duration": Disagreement(
        "string(duration('1.5s'))", "1.5s", "1.500s", "theirs is the form of JSON in protobuf, with 3, 6 or 9 digits"
    ),
    "text of a timestamp": Disagreement(
        "string(timestamp('2026-01-01T00:00:00.5Z'))", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500Z", "the same"
    ),
    "milliseconds of a duration": Disagreement(
        "duration('2.5s').getMilliseconds()", 2500, 500, "Kubernetes has all of them, theirs those within the last second"
    ),
    "blanks in base64": Disagreement(r"base64.decode('YQ\t==')", FAILED, b"a", "Go skips line feeds alone"),
    "the whole of a text": Disagreement(
        "'ab'.substring(0, 2)", "ab", FAILED, "a defect of theirs: the end may be that of the text"
    ),
    "two signs": Disagreement(
        "--9223372036854775808", FAILED, REFUSED, "there both are operators, and the number without them is too large"
    ),
    "the least with NaN": Disagreement(
        "math.isNaN(math.least(0.0 / 0.0, 1.0))", FAILED, True, "NaN has no order: Kubernetes fails"
    ),
    "the end of time": Disagreement(
        "timestamp('9999-12-31T23:59:59Z').getHours('Europe/Berlin')", FAILED, 0, "the dates of Python end with the year 9999"
    ),
}


def ours(text: str, bindings: Mapping[str, Any]) -> Any:
    """Our outcome. Not strict: what Kubernetes refuses beyond the specification is none of this test."""
    try:
        program = cel.prepare(text, cel.Environment(typed(VARIABLES), default(), strict=False))
    except cel.CelError:
        return REFUSED
    try:
        return program.evaluate({**bindings, "u": UInt(bindings.get("u", 0))})
    except cel.CelError:
        return FAILED


@cache
def _environment() -> Any:
    module = pytest.importorskip("cel_expr_python.cel", reason="cel-expr-python is not installed: it needs Python 3.12")
    kinds = module.Type
    types = {
        name: getattr(kinds, name.upper())
        for name in ("int", "uint", "double", "string", "bytes", "timestamp", "duration", "dyn")
    }
    types |= {"list(string)": kinds.List(kinds.STRING), "list(int)": kinds.List(kinds.INT)}
    types |= {"map(string, string)": kinds.Map(kinds.STRING, kinds.STRING)}
    extensions = [getattr(import_module(f"cel_expr_python.ext.ext_{name}"), f"Ext{name.capitalize()}")() for name in LIBRARIES]
    return module.NewEnv(variables={name: types[kind] for name, kind in VARIABLES.items()}, extensions=extensions)


def theirs(text: str, bindings: Mapping[str, Any]) -> Any:
    """The outcome of cel-expr-python. It has no exception of its own."""
    environment = _environment()
    try:
        program = environment.compile(text)
    except RuntimeError:
        return REFUSED
    try:
        value = program.eval(data=dict(bindings))
    except RuntimeError:
        return FAILED
    if value.type().name() == "ERROR":
        return FAILED
    plain = value.plain_value()
    return bytes(plain) if isinstance(plain, bytearray) else plain


def same(a: Any, b: Any) -> bool:
    """The same value of the same type; NaN is itself."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


@given(st.sampled_from(SOUND).flatmap(expressions), VALUES)
@settings(max_examples=250, deadline=None)
def test_libraries_and_rarer_types_have_the_outcome_of_google_s_implementation(text: str, bindings: dict[str, Any]) -> None:
    """The value to the microsecond and to the sign of zero, a failure of the evaluation, or a refusal."""
    found, wanted = ours(text, bindings), theirs(text, bindings)
    assert same(found, wanted), (text, bindings, found, wanted)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_disagreement_is_one_still(name: str) -> None:
    """When this fails because they agree, the row goes, and texts like it are drawn."""
    known = KNOWN[name]
    assert same(ours(known.text, {}), known.ours)
    assert same(theirs(known.text, {}), known.theirs)


PYTHON: Mapping[str, Disagreement] = {
    "a bool is no number": Disagreement("true == 1", REFUSED, True, "there, a bool is an int of Python"),
    "a bool of an object is no number": Disagreement("dyn(true) == 1", False, True, "the same"),
    "what is no bool": Disagreement("dyn('x') || false", FAILED, "x", "an operand that is no bool is an error"),
    "what is missing further up": Disagreement("has(o.missing.b)", FAILED, False, "only the last field is asked for"),
    "nanoseconds": Disagreement(
        "timestamp('2026-01-01T00:00:00.000000001Z') == timestamp('2026-01-01T00:00:00Z')",
        False,
        True,
        "there, times end at microseconds",
    ),
    "types": Disagreement("1 + 'a' == 1 || true", REFUSED, True, "it has no checker"),
}
"""Where cel-python is known to be wrong; `test_oracles` draws texts on which it should agree."""


@pytest.mark.parametrize("name", PYTHON)
def test_what_cel_python_answers_wrongly_is_right_here(name: str) -> None:
    """Why conditions are not evaluated by it."""
    celpy = pytest.importorskip("celpy", reason="cel-python is not installed")
    known = PYTHON[name]
    assert same(ours(known.text, {"o": {}}), known.ours)
    logging.getLogger("celpy").setLevel(logging.CRITICAL)
    before = sys.getrecursionlimit()
    environment = celpy.Environment()
    value = environment.program(environment.compile(known.text)).evaluate({"o": celpy.json_to_cel({})})
    sys.setrecursionlimit(before)  # it raises that of the whole process
    assert value == known.theirs
