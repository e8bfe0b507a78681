"""Second and third opinions: generated expressions have the same outcome in cel-expr-python and in cel-python.

| oracle | agrees but for | because |
| --- | --- | --- |
| cel-expr-python (Python >= 3.12) | order with NaN | Kubernetes has an error there, which it does not |
| cel-python | everything typed | it has no checker: a text that ours refuses is not asked |
| | logic, equality, `has`, texts of bools, division by -0.0 | its answers there are known to be wrong: why ours exists |
"""

import logging
import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import cel

VARIABLES = {
    "i": "int",
    "j": "int",
    "x": "double",
    "s": "string",
    "b": "bool",
    "l": "list(int)",
    "m": "map(string, int)",
    "o": "dyn",
}

Drawn = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def expressions(draw: Drawn, kind: str, depth: int = 3) -> str:
    """A text of a type, mostly right."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return str(draw(LEAVES[kind]))
    template = draw(st.sampled_from(TEMPLATES[kind]))
    parts = template.split("$")
    text = str(parts[0])
    for part in parts[1:]:
        text += draw(expressions(KINDS[part[0]], depth - 1)) + part[1:]
    return f"({text})"


KINDS = {"i": "int", "x": "double", "s": "string", "b": "bool", "l": "list", "m": "map"}
LEAVES = {
    "int": st.sampled_from(["i", "j", "0", "1", "-1", "2", "7", "9223372036854775807", "size(l)"]),
    "double": st.sampled_from(["x", "0.0", "1.5", "-2.25", "1e10"]),
    "string": st.sampled_from(["s", "''", "'a'", "'ab'", "'é🐱'"]),
    "bool": st.sampled_from(["b", "true", "false", "i < j", "s == 'ab'"]),
    "list": st.sampled_from(["l", "[1]", "[3, 1, 2]", "[i, j]"]),
    "map": st.sampled_from(["m", "{'a': 1}", "{'b': i, 'c': j}"]),
}
TEMPLATES = {
    "int": [
        "$i + $i", "$i - $i", "$i * $i", "$i / $i", "$i % $i", "-$i", "size($s)", "size($l)", "$l[$i]", "$m[$s]", "$b ? $i : $i",
        "int($x)", "int(string($i))", "$l.map(v, v + $i)[0]", "$l.filter(v, v > $i).size()",
    ],
    "double": ["$x + $x", "$x - $x", "$x * $x", "$x / $x", "double($i)", "-$x", "$b ? $x : $x"],
    "string": ["$s + $s", "string($i)", "$b ? $s : $s", "string($b)"],
    "bool": [
        "$i < $i", "$i <= $i", "$i > $i", "$i >= $i", "$i == $i", "$i != $i", "$x == $x", "$s == $s", "$s < $s", "$s >= $s",
        "$b && $b", "$b || $b", "!$b", "$b ? $b : $b", "$i in $l", "$s in $m", "$s.contains($s)", "$s.startsWith($s)",
        "$s.endsWith($s)", "$l == $l", "$m == $m", "$l.all(v, v < $i)", "$l.exists(v, v == $i)", "$l.exists_one(v, v > $i)",
        "$m.all(k, k != $s)", "has($m.a)", "dyn($i) == $x", "dyn($x) == $i", "dyn($b) == $i", "$l.all(v, $i / v > 0)",
        "$l.exists(v, $i / v > 0)", "o.a == $i", "o.b.c == $s", "has(o.a)", "$i / $i == 1 || $b", "$m[$s] == $i && $b",
    ],
    "list": ["$l + $l", "[$i, $i]", "$l.map(v, v * 2)", "$l.filter(v, v != $i)", "$b ? $l : $l"],
    "map": ["{$s: $i}", "{'a': $i, 'z': $i}", "$b ? $m : $m"],
}  # fmt: skip

BINDINGS = st.fixed_dictionaries(
    {
        "i": st.integers(-5, 5) | st.sampled_from([2**63 - 1, -(2**63)]),
        "j": st.integers(-5, 5),
        "x": st.floats(-4, 4),
        "s": st.sampled_from(["", "a", "b", "ab", "é🐱"]),
        "b": st.booleans(),
        "l": st.lists(st.integers(-3, 3), max_size=4),
        "m": st.dictionaries(st.sampled_from(["a", "b", "ab"]), st.integers(-3, 3), max_size=3),
        "o": st.sampled_from([{}, {"a": 1}, {"a": "x", "b": {"c": "a"}}, {"a": True, "b": None}]),
    }
)
ANY = st.sampled_from(sorted(TEMPLATES)).flatmap(lambda kind: expressions(kind))

FAILED = "failed"


def ours(text: str, bindings: dict[str, Any]) -> Any:
    """Our outcome."""
    try:
        return cel.compile(text, VARIABLES).evaluate(bindings)
    except cel.CelError:
        return FAILED


def same(a: Any, b: Any) -> bool:
    """The same value of the same type; NaN is itself."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)


@cache
def _expr() -> Any:
    module = pytest.importorskip("cel_expr_python.cel", reason="cel-expr-python is not installed: it needs Python 3.12")
    kinds = module.Type
    types = {"int": kinds.INT, "double": kinds.DOUBLE, "string": kinds.STRING, "bool": kinds.BOOL, "dyn": kinds.DYN}
    types |= {"list(int)": kinds.List(kinds.INT), "map(string, int)": kinds.Map(kinds.STRING, kinds.INT)}
    return module.NewEnv(variables={name: types[kind] for name, kind in VARIABLES.items()})


@given(ANY, BINDINGS)
@settings(max_examples=400, deadline=None)
def test_the_implementation_of_google_in_c_has_the_same_outcome(text: str, bindings: dict[str, Any]) -> None:
    """The value, or a failure at compilation or evaluation."""
    environment = _expr()
    try:
        value = environment.compile(text).eval(data=bindings)
        theirs = FAILED if value.type().name() == "ERROR" else value.plain_value()
    except RuntimeError:  # it has no class of its own
        theirs = FAILED
    found = ours(text, bindings)
    assert same(found, theirs), (text, bindings, found, theirs)


PLAIN = ("==", "!=", "&&", "||", "has(", "?", " in ", "!", "all(", "exists", "string(", "int(")
"""What cel-python is known to answer wrongly with, somewhere."""


@cache
def _celpy() -> Any:
    module = pytest.importorskip("celpy", reason="cel-python is not installed")
    logging.getLogger("celpy").setLevel(logging.CRITICAL)
    return module


SOUND = st.sampled_from(["int", "list", "map", "string"]).flatmap(lambda kind: expressions(kind))


@given(SOUND.filter(lambda text: not any(word in text for word in PLAIN)), BINDINGS)
@settings(max_examples=60, deadline=None)
def test_cel_python_has_the_same_value(text: str, bindings: dict[str, Any]) -> None:
    """Integers, texts, lists and maps; where ours fails, it may have an answer."""
    celpy = _celpy()
    found = ours(text, bindings)
    if found == FAILED:
        return
    before = sys.getrecursionlimit()
    environment = celpy.Environment()
    program = environment.program(environment.compile(text))
    theirs = program.evaluate({name: celpy.json_to_cel(value) for name, value in bindings.items()})
    sys.setrecursionlimit(before)  # it raises that of the whole process
    assert theirs == celpy.json_to_cel(found), (text, bindings, found, theirs)
