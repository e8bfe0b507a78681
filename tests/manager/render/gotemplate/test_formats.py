"""printf and its relatives, without Go to ask."""

from typing import Any

import pytest

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.formats import sprint, sprintf, sprintln
from manager.render.gotemplate.value import Int64, Map, Uint8, strings, zero

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("pattern", "args", "text"),
    [
        ("%d|%5d|%-5d|%05d|%+d|% d", [1, 2, 3, 4, 5, 6], "1|    2|3    |00004|+5| 6"),
        ("%x %X %#x %o %O %b %c %q %U", [255, 255, 255, 8, 8, 5, 65, 65, 233], "ff FF 0xff 10 0o10 101 A 'A' U+00E9"),
        ("%.3d|%6.3d|%.0d|%x", [5, 5, 0, -255], "005|   005||-ff"),
        ("%s|%6s|%-6s|%.2s|%q|%x", ["a", "b", "c", "déf", 'g"\n', "hi"], 'a|     b|c     |dé|"g\\"\\n"|6869'),
        ("%f|%.2f|%8.3f|%e|%g|%G", [1.5, 2.345, 3.0, 1234.5, 1e10, 1e-10], "1.500000|2.35|   3.000|1.234500e+03|1e+10|1E-10"),
        ("%t %v %5t|", [True, False, True], "true false  true|"),
        ("%v %s %d", [[1, "a"], ["x", "y"], [1, 2]], "[1 a] [x y] [1 2]"),
        ("%v %+v", [{"b": 1, "a": None}, {"k": "v"}], "map[a:<nil> b:1] map[k:v]"),
        (
            "%#v %#v %#v",
            [{"a": 1}, [1, "x", None], "q"],
            'map[string]interface {}{"a":1} []interface {}{1, "x", interface {}(nil)} "q"',
        ),
        ("%#v %#v %#v", [strings(["a"]), zero("[]string"), Uint8(7)], '[]string{"a"} []string(nil) 0x7'),
        ("%T %T %T %T", [1, Int64(1), Map({}, "string"), None], "int int64 map[string]string <nil>"),
        ("%[2]s %[1]s", ["a", "b"], "b a"),
        ("%*d %-*d|%.*f", [4, 1, 4, 2, 1, 3.14], "   1 2   |3.1"),
        ("%5.1f|%05f|%-6v|%+v|% v", [INF, -INF, INF, NAN, NAN], " +Inf| -Inf|+Inf  |NaN| NaN"),
        ("%x %X %.2x %b", [1.5, -0.5, 1.999, 1.0], "0x1.8p+00 -0X1P-01 0x1.00p+01 4503599627370496p-52"),
        ("%w %w", ["a", ["a"]], "%!w(string=a) %!w([]interface {}=[a])"),
        ("%%", [], "%"),
        ("%d", ["a"], "%!d(string=a)"),
        ("%s", [1], "%!s(int=1)"),
        ("%s", [[1]], "[%!s(int=1)]"),
        ("%d %d", [1], "1 %!d(MISSING)"),
        ("a", [1, None, "x"], "a%!(EXTRA int=1, <nil>, string=x)"),
        ("%z", [1], "%!z(int=1)"),
        ("%", [], "%!(NOVERB)"),
        ("%[3]d", [1], "%!d(BADINDEX)"),
        ("%*d", ["a", 1], "%!(BADWIDTH)1"),
        ("%.*d", [-1, 1], "%!(BADPREC)1"),
        ("%!", [1], "%!!(int=1)"),
        ("%s %d", [None, None], "%!s(<nil>) %!d(<nil>)"),
    ],
)
def test_a_pattern_is_filled_as_by_go(pattern: str, args: list[Any], text: str) -> None:
    """Verbs, flags, width, precision and indexes; what is wrong is written into the text."""
    assert sprintf(pattern, args, Budget()) == text


def test_spaces_stand_between_what_are_no_strings() -> None:
    """With `print`; with `println` they stand everywhere."""
    assert sprint([1, 2, "a", 3, "b", "c", None, None], Budget()) == "1 2a3bc<nil> <nil>"
    assert sprintln([1, "a", None], Budget()) == "1 a <nil>\n"


def test_an_address_is_refused() -> None:
    """It would be another one in each run."""
    with pytest.raises(CallError, match="a value has no address here"):
        sprintf("%p", [[1]], Budget())


def test_what_a_pattern_makes_is_bounded() -> None:
    """By its size, before it is made."""
    with pytest.raises(Exceeded):
        sprintf("%1000000d" * 100, list(range(100)), Budget())
