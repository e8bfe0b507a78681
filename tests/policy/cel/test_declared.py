"""Objects whose fields are declared, and lists whose items have keys: what the checker finds, and how values are compared."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import cel
from policy.cel.types import DYN, INT, STRING, ObjectType, Type, list_of, map_of, optional_of
from policy.cel.values import KeyedList

PART = ObjectType("part", fields={"size": INT})
THING = ObjectType("thing", fields={"name": STRING, "part": PART, "parts": list_of(PART), "map": map_of(STRING, INT)})
VARIABLES: dict[str, Type | str] = {"self": THING, "old": optional_of(THING), "other": ObjectType("thing"), "object": DYN}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("self.name", "string"),
        ("self.part", "part"),
        ("self.parts[0].size", "int"),
        ("self.parts.map(each, each.size)", "list(int)"),
        ("self.?part.size", "optional_type(int)"),
        ("self.?part.?size.orValue(1)", "int"),
        ("old.part", "optional_type(part)"),
        ("self.part == null", "bool"),
        ("self.part == self.parts[0]", "bool"),
        ("dyn(self).anything", "dyn"),
        ("[self, self]", "list(thing)"),
        ("object[?1]", "dyn"),
        ("object[?1] == 2", "bool"),
        ("object[1] == 2", "bool"),
        ("self.parts[?0]", "optional_type(part)"),
        ("self.map[?'a']", "optional_type(int)"),
        ("optional.of(self.parts)[0].size", "optional_type(int)"),
    ],
)
def test_a_field_has_the_type_that_is_declared(text: str, kind: str) -> None:
    """Through lists, maps and optional values."""
    assert str(cel.compile(text, VARIABLES).result_type) == kind


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param("self.nam == 'a'", {5: "undefined field 'nam'"}, id="a wrong name"),
        pytest.param("has(self.nam)", {1: "undefined field 'nam'"}, id="asked for"),
        pytest.param("self.?nam.orValue('')", {5: "undefined field 'nam'"}, id="if it is there"),
        pytest.param("self.parts.exists(each, each.nam)", {29: "undefined field 'nam'"}, id="of an item"),
        pytest.param("old.nam", {4: "undefined field 'nam'"}, id="of an optional object"),
        pytest.param("self['name']", {5: r"`[]` takes"}, id="a field is no key"),
        pytest.param("'name' in self", {8: r"`in` takes"}, id="an object is no map"),
        pytest.param("self.all(k, true)", {1: "goes over a list or a map"}, id="nor can it be walked"),
        pytest.param("self == other", {6: "`==` takes"}, id="two types of the same name"),
        pytest.param("self.part.size == 'a'", {16: "`==` takes"}, id="a wrong type"),
        pytest.param(
            "self.a == 1 || nothing || self.b.c > 'a'",
            {5: "undefined field 'a'", 16: "there is no variable `nothing`", 31: "undefined field 'b'"},
            id="all mistakes, each of them once",
        ),
        pytest.param("shout(self.a).b", {1: "no function `shout`", 11: "undefined field 'a'"}, id="below what is unknown"),
        pytest.param("self.parts[?'a']", {11: "`[?]` takes"}, id="an optional item by name"),
    ],
)
def test_what_is_not_declared_is_refused_where_it_stands(text: str, places: dict[int, str]) -> None:
    """Every mistake of a text is told, in its order."""
    with pytest.raises(cel.CelError) as caught:
        cel.compile(text, VARIABLES)
    found = [caught.value, *caught.value.others]
    assert [(error.line, error.column) for error in found] == [(1, column) for column in places]
    for error, words in zip(found, places.values(), strict=True):
        assert words in error.message


def test_programs_of_two_declared_types_are_two() -> None:
    """Types of the same name may have other fields."""
    for known, unknown in (("a", "b"), ("b", "a")):
        variables = {"self": ObjectType("thing", fields={known: INT})}
        assert cel.compile("self.a" if known == "a" else "self.b", variables).result_type == INT
        with pytest.raises(cel.CelError, match=f"undefined field '{unknown}'"):
            cel.compile(f"self.{unknown}", variables)


def unordered(*items: Any) -> KeyedList:
    """Build a set."""
    return KeyedList(items, lambda item: item)


def named(**sizes: int) -> KeyedList:
    """Build the entries of a map."""
    return KeyedList(({"name": name, "size": size} for name, size in sizes.items()), lambda item: item["name"])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x == ['c', 'a', 'b']", True),
        ("['c', 'a', 'b'] == x", False),
        ("x != ['c', 'a', 'b']", False),
        ("x == ['a', 'b']", False),
        ("x == ['a', 'b', 'd']", False),
        ("[x] == [['b', 'a', 'c']]", True),
        ("{'a': x} == {'a': ['b', 'a', 'c']}", True),
        ("x in [['b', 'a', 'c']]", True),
        ("x + ['d', 'a']", ["a", "b", "c", "d"]),
        ("x + ['d'] == ['d', 'c', 'b', 'a']", True),
        ("['d', 'a'] + x", ["d", "a", "a", "b", "c"]),
        ("x[1]", "b"),
        ("x[?7].hasValue()", False),
        ("'b' in x", True),
        ("x.map(each, each)", ["a", "b", "c"]),
        ("x.all(i, each, i < 3)", True),
        ("size(x)", 3),
        ("x.size() + dyn(x).size()", 6),
        ("type(x) == list", True),
        ("x.join()", "abc"),
        ("dyn(x).join()", "abc"),
        ("sets.equivalent(x, ['c', 'b', 'a'])", True),
        ("m == [{'name': dyn('b'), 'size': dyn(2)}, {'name': dyn('a'), 'size': dyn(1)}]", True),
        ("m == [{'name': dyn('b'), 'size': dyn(2)}, {'name': dyn('a'), 'size': dyn(2)}]", False),
        ("(m + [{'name': dyn('a'), 'size': dyn(7)}, {'name': dyn('c'), 'size': dyn(3)}]).map(each, each.size)", [7, 2, 3]),
        ("x", ["a", "b", "c"]),
    ],
)
def test_a_list_with_keys_has_no_order(text: str, answer: Any) -> None:
    """What stands on the left decides, and in all else it is a list."""
    program = cel.compile(text, {"x": "list(string)", "m": "list(dyn)"})
    found = program.evaluate({"x": unordered("a", "b", "c"), "m": named(a=1, b=2)})
    assert (found, type(found)) == (answer, type(answer))


def test_what_a_list_with_keys_costs_is_paid_before_it_is_done() -> None:
    """Comparing and adding take a unit and more for each item."""
    for text in ("x == y", "x + y == []"):
        with pytest.raises(cel.Exhausted):
            cel.compile(text, {"x": "dyn", "y": "dyn"}).evaluate(
                {"x": unordered(*range(100)), "y": [*range(100)]}, cel.Budget(100)
            )


@given(st.lists(st.integers(-3, 3), unique=True), st.lists(st.integers(-3, 3), unique=True))
def test_adding_to_a_set_is_a_union(a: list[int], b: list[int]) -> None:
    """Of which the left one keeps its order."""
    found = cel.compile("x + y", {"x": "dyn", "y": "dyn"}).evaluate({"x": unordered(*a), "y": b})
    assert set(found) == set(a) | set(b)
    assert found[: len(a)] == a
    assert len(found) == len(set(found))
