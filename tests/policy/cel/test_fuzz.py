"""Nothing that somebody may write brings out another exception than ours, or takes more steps or memory than are allowed.

Steps are calls of functions, as a profiler sees them: their number is the same on every machine. Memory is what Python allocates.
"""

import sys
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import cel, conditions
from policy.cel import types
from policy.cel.times import parse_timestamp

VARIABLES = {"object": "dyn", "now": "timestamp", "n": "int", "l": "list(string)", "m": "map(string, int)"}
BINDINGS = {
    "object": {
        "metadata": {"name": "a", "labels": {"a-b": "c"}},
        "spec": {"replicas": 3, "ratio": 0.5, "list": [1, None, {"a": True}]},
    },
    "now": datetime(2026, 3, 1, tzinfo=UTC),
    "n": -1,
    "l": ["a", "", "\ud83d", "\x00"],
    "m": {"a": 2**63 - 1},
}


def error_of(action: Callable[[], object]) -> cel.CelError | None:
    """The error of CEL that comes of it, if one does."""
    try:
        action()
    except cel.CelError as error:
        return error
    return None


# Texts.

SEEDS = (
    "object.metadata.?labels[?'a-b'].orValue('x') == \"c\" && !has(object.spec.gone) || n in [1, 2]",
    "l.filter(x, x != '').map(x, x.size() > 0, x + r'\\d' + '''a''' + \"\\u00e9\\x41\\101\").all(x, x.matches('^a+$')) ? 1 : -2",
    "m.transformMap(k, v, v > 1, v * 2u).exists(k, v, k == 'a') || {'a': 1, ?'b': optional.none()}.`a` == 0x1F",
    "cel.bind(x, now - duration('1h'), x.getHours('Europe/Berlin') + int(1.5e3) % 7) == 3",
    "'%s %.2f'.format([quantity('1Gi'), dyn(1.0)]) + url('https://a/b?c=d').getHost() + string(cidr('10.0.0.0/8').ip())",
    "math.greatest([1, 2]) < 3 && [3, 1].sort()[0] == 1 && sets.contains([1], [1]) && semver('1.2.3').major() == 1 // end",
)
LETTERS = "()[]{}.?:,+-*/%!&|=<>'\"`\\ \n\r\t\x000129auxebrUR_eé\u2028\U0001f638\ud800"
WORDS = (
    "object", "n", "l", "m", "x", "all", "map", "exists", "has", "filter", "transformMapEntry", "optMap", "optional.of",
    "cel.bind", "in", "true", "null", "1", "-", "9223372036854775808", "2u", "1e999", ".5", "'s'", "b'\\xff'", "r'x'", "'''a",
    "(", ")", "[", "]", "{", "}", ".", ".?", "[?", "?", ":", ",", "+", "*", "/", "%", "!", "&&", "||", "==", "<", ">=",
    "`q-r`", "//", " ", "\n", "type", "dyn", "size", "matches", "format", "timestamp", "duration", "string", "int",
    "quantity", "ip", "__x", "for", "e\u0301",
)  # fmt: skip

Drawn = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def damaged(draw: Drawn) -> str:
    """A text that was right, with some letters replaced, taken out or doubled."""
    text: str = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        put = draw(
            st.sampled_from(("", text[start:end] * 2, text[end : end + 5]))
            | st.text(LETTERS, max_size=3)
            | st.sampled_from(WORDS)
        )
        text = f"{text[:start]}{put}{text[end:]}"
    return text


TEXTS = (
    damaged() | st.lists(st.sampled_from(WORDS), max_size=25).map("".join) | st.text(LETTERS, max_size=30) | st.text(max_size=30)
)


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_a_text_is_a_program_or_a_cel_error(text: str) -> None:
    """Parser, checker, compiler and evaluation raise nothing else, and an error of the text has a place in it."""
    found = error_of(lambda: cel.compile(text, VARIABLES))
    if found is None:
        error_of(lambda: cel.compile(text, VARIABLES).evaluate(BINDINGS, cel.Budget(20_000)))
        return
    lines = text.split("\n")
    assert 1 <= found.line <= len(lines)
    assert 1 <= found.column <= len(lines[found.line - 1]) + 1


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_whether_a_condition_reads_now_is_never_missed(text: str) -> None:
    """`uses_now` reads words, the compiler knows: what the compiler says, the words have to say too."""
    try:
        program = cel.compile(text, conditions.VARIABLES)
    except cel.CelError:
        return
    assert "now" not in program.names or conditions.uses_now(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
QUESTIONS = (
    "object == object", "object.a.b", "object[0]", "object['']", "object.?a.?b", "object[?0]", "has(object.a)",
    "object + object", "object < object", "-object", "!object", "object in object", "object ? 1 : 2", "size(object)",
    "string(object)", "int(object)", "uint(object)", "double(object)", "bytes(object)", "timestamp(object)",
    "duration(object)", "type(object)", "object.all(x, x == x)", "object.map(x, x + x)", "object.exists(x, y, x == y)",
    "object.transformMap(k, v, v)", "object.sort()", "object.sum()", "object.max()", "object.join()", "object.distinct()",
    "object.flatten()", "object.reverse()", "object.format([object])",
    "'%s %d %f %x'.format([object, object, object, object])", "object.matches(object)", "object.split(object)",
    "object.charAt(object)", "object.substring(object)", "object.replace(object, object)", "quantity(object)", "url(object)",
    "ip(object)", "cidr(object)", "semver(object)", "math.greatest(object, 1)", "math.abs(object)",
    "math.bitShiftLeft(object, object)", "sets.contains(object, object)", "lists.range(object)",
    "object.slice(object, object)", "object.first()", "optional.of(object).optMap(x, x)", "{object: object}",
    "object.findAll(object)", "regex.extract(object, object)", "base64.decode(object)",
    "format.dns1123Label().validate(object)", "object.getHours(object)", "object.containsIP(object)", "object.isSorted()",
    "object.indexOf(object)", "[object, object].distinct()",
)  # fmt: skip


@given(st.sampled_from(QUESTIONS), JSON)
@settings(max_examples=400, deadline=None)
def test_any_object_gives_a_value_or_a_cel_error(text: str, value: Any) -> None:
    """What the checker cannot know is found out when it runs, for every function and every kind of value."""
    program = cel.compile(text, {"object": "dyn"})
    error_of(lambda: program.evaluate({"object": value}))


# Steps and memory.

STEPS = 400_000
MEGABYTES = 20
FIELD = "a" * 1_000_000
LARGE = {
    "list": list(range(100_000)),
    "map": {f"k{number}": number for number in range(50_000)},
    "text": FIELD,
    "same": FIELD[:-1] + "b",
}


def steps(action: Callable[[], None]) -> int:
    """How many functions are called: ours, and those of Python."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def allocated(action: Callable[[], None]) -> float:
    """The megabytes that are allocated at most at a time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def nested(opening: str, inner: str, closing: str, times: int) -> str:
    """`opening` so many times, and as often closed."""
    return opening * times + inner + closing * times


def doubled(first: str, step: str, times: int = 40) -> str:
    """`cel.bind` in `cel.bind`, each made of the one before."""
    binds = [f"cel.bind(a0, {first}, "] + [f"cel.bind(a{at + 1}, {step.replace('@', f'a{at}')}, " for at in range(times)]
    return f"{''.join(binds)}a{times} == a{times}{')' * len(binds)}"


HOSTILE = {
    "comprehensions in comprehensions": nested("object.list.all(x, ", "true", ")", 20),
    "comprehensions that make lists": "object.list.map(a, object.list.map(b, object.list.map(c, [a, b, c])))",
    "errors that are absorbed": "object.list.exists(a, object.list.exists(b, 1 / 0 > 0))",
    "a doubled string": doubled("object.text", "@ + @"),
    "a doubled list": doubled("object.list", "@ + @"),
    "lists within lists": doubled("[1, 2, 3]", "[@, @]"),
    "maps within maps": doubled("{'a': 1}", "{'a': @, 'b': @}"),
    "a doubled format": doubled("object.text", "'%s%s'.format([@, @])"),
    "a doubled replacement": doubled("'aa'", "@.replace('a', 'aaaa')"),
    "a doubled join": doubled("'a'", "[@, @, @].join(@)"),
    "a text that is split": "object.text.split('').map(c, c + object.text)",
    "precision": "'%.999999999f'.format([1.0])",
    "a range": "lists.range(9223372036854775807)",
    "a long chain of or": "||".join(["object.list[0] == 1"] * 195),
    "a long chain of plus": "+".join(["1"] * 2048) + "== 2048",
    "a long chain of texts": "+".join(["object.text"] * 350) + " == ''",
    "a long list": f"[{','.join(['1'] * 2040)}].sort()[0] == 1",
    "a long conditional": "object.text == '' ? 1 : " * 150 + "2",
    "deep parentheses": nested("(", "1", ")", 2047),
    "deep brackets": nested("[", "1", "]", 2047),
    "deep signs": "-" * 4000 + "n",
    "deep calls": nested("string(", "1", ")", 450),
    "deep fields": "object" + ".a" * 2000,
    "a regular expression that backtracks elsewhere": "object.text.matches('^(a+)+$') && object.text.matches('(a|aa)+b')",
    "a regular expression that repeats": "object.text.matches('((a{1,100}){1,100}){1,100}')",
    "a regular expression of alternatives": f"object.text.findAll('{'|'.join(['a?'] * 1000)}').size() > 0",
    "many regular expressions": "object.list.all(x, 'a'.matches(string(x) + '(a{1,90}){1,9}') || true)",
    "regular expressions that are too large": "object.list.all(x, 'a'.matches('\\\\PN{500}' + string(x)) || true)",
    "classes of Unicode": "object.text.matches('" + r"\\pL" * 1000 + "')",
    "large texts that are compared": "object.list.all(x, object.text != object.same)",
    "a large map that is transformed": "object.map.transformMap(k, v, v + 1).transformMapEntry(k, v, {k + k: [v, v, v]}).size()",
    "a large list that is sorted": "object.list.map(x, -x).sort()[0]",
    "a large list without doubles": "object.list.map(x, [x]).distinct().size()",
    "sets of large lists": "sets.contains(object.list.map(x, [x]), object.list.map(x, [x]))",
    "a large number": f"{'9' * 4000}",
    "a large text that is a number": "int(object.text)",
    "large texts in other functions": "url('https://' + object.text).getQuery().size() + quantity(object.text).sign()",
    "a text that is no base64": "base64.decode(object.text + '!') == b''",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_ends_within_the_steps_and_the_memory(name: str) -> None:
    """By an answer or by an error: no one who may write a condition can stop who evaluates it."""
    text = HOSTILE[name]

    def action() -> None:
        error_of(lambda: cel.prepare(text, ENVIRONMENT).evaluate({"object": LARGE, "n": 1}))

    assert allocated(action) < MEGABYTES
    assert steps(action) < STEPS


ENVIRONMENT = cel.Environment({"object": types.DYN, "n": types.INT}, cel.default())


# Two ways to read a timestamp.

WRONG = "0123456789-:.,WZ+ t\u0663"
CLOCKS = st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")


@st.composite
def clocks(draw: Drawn) -> str:
    """A time as Kubernetes writes it, perhaps with one letter wrong."""
    text: str = draw(CLOCKS | st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0")))
    at = draw(st.integers(0, 40))
    return text if at >= 19 else f"{text[:at]}{draw(st.sampled_from(WRONG))}{text[at + 1 :]}"


@given(clocks())
@settings(max_examples=300, deadline=None)
def test_the_quick_way_to_read_a_time_is_right(text: str) -> None:
    """Times of the usual form are read by Python, all others by a pattern; a fraction of zero takes the second way."""

    def read(written: str) -> Any:
        try:
            return parse_timestamp(written)
        except cel.CelError as error:
            return error.message

    assert read(text) == read(f"{text[:-1]}.0Z")
