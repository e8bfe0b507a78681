"""Templates by chance: a grammar of text/template, in which most are right, and some fail when they are executed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

DATA: Final[dict[str, Any]] = {
    "text": "a <b> & 'c'",
    "word": "é→x",
    "empty": "",
    "whole": 5,
    "zero": 0,
    "less": -17,
    "real": 2.5,
    "huge": 1.5e21,
    "yes": True,
    "no": False,
    "nothing": None,
    "list": [1, "b", None, 2.5],
    "words": ["x", "y"],
    "none": [],
    "lists": [[1, 2], ["z"], []],
    "map": {"x": 1, "y": None, "z": {"q": "deep"}, "list": [1, 2]},
    "maps": [{"name": "one", "n": 1}, {"name": "two"}],
    "void": {},
}
_FIELDS: Final = [
    *(f".{name}" for name in DATA),
    ".map.x",
    ".map.y",
    ".map.z.q",
    ".map.list",
    ".map.none",
    ".absent",
    ".absent.more",
]
_WRONG: Final = [".text.more", ".nothing.more", ".map.y.more", ".list.x", ".x", ".name", "$.text.more", "$nowhere", ". 1"]
_WHOLES: Final = [
    "0",
    "1",
    "2",
    "-1",
    "5",
    "0x1F",
    "0b101",
    "0o17",
    "017",
    "1_000",
    "'a'",
    "'\\n'",
    "9223372036854775807",
    "(len $)",
]
_REALS: Final = ["3.5", "1e3", "1.0", ".5", "0x1p4", "1e100", "-2.5e-7", "1_0.5"]
_STRINGS: Final = ['""', '"x"', '"a b"', '"é"', "`raw\\n`", '"\\u00e9\\n\\x41"', '"q"', '"z"', '"name"', '(printf "%v" 1)']
_OTHERS: Final = ["true", "false", "nil", "9223372036854775808", "(not true)", "(print nil)"]
_INDEXES: Final = [
    "list 0",
    "list 4",
    "list -1",
    'map "x"',
    'map "z" "q"',
    'map "no"',
    "lists 1 0",
    "word 1",
    'words "x"',
    "maps 0",
    "map nil",
]
_PAIRS: Final = {
    "$.whole": _WHOLES,
    "$.less": _WHOLES,
    "$.real": _REALS,
    "$.text": _STRINGS,
    "$.word": _STRINGS,
    "1": ["2", "2.0", '"1"', "$.list"],
}
_TEXTS: Final = ["a", "b ", " c", "\n", "  \n ", "- x: ", "é", "}", "{ ", "\t", "{ { "]
_ARITY: Final = {
    "not": 1,
    "len": 1,
    "print": 2,
    "println": 2,
    "html": 1,
    "js": 1,
    "urlquery": 1,
    "and": 2,
    "or": 2,
    "eq": 2,
    "ne": 2,
    "lt": 2,
}
# Functions of sprig that answer the same each time, by how many arguments they take.
_SPRIG_ONE: Final = """
    upper lower title trim quote squote toString int int64 float64 toJson first last initial rest empty kindOf typeOf b64enc
    b64dec sha256sum sortAlpha uniq reverse floor ceil compact
"""
_SPRIG_TWO: Final = """
    default list dict add sub mul div mod max join splitList has indent nindent trunc contains get hasPrefix trimSuffix coalesce
    concat append prepend without hasKey pick omit cat repeat kindIs round
"""
_SPRIG_THREE: Final = "ternary replace substr set dig"
_SPRIG: Final = {name: count for count, names in enumerate((_SPRIG_ONE, _SPRIG_TWO, _SPRIG_THREE), 1) for name in names.split()}
_VARIABLES: Final = ["$a", "$b", "$c"]
_TEMPLATES: Final = ["alpha", "beta", "gamma"]
_VERBS: Final = "vvvsdqtTxXbocUeEfFgGO"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where in a template we are: what is visible, whether dot is the data, and what may stand here."""

    variables: list[str] = field(default_factory=list)  # what is declared is added
    root: bool = True  # `.` is the data
    ranged: bool = False  # `break` may stand here
    callable: int = 0  # how many templates may be called
    sprig: bool = False  # its functions are there

    def inner(self, *names: str, **changes: Any) -> "Scope":
        """The scope of a block in this one."""
        return replace(self, variables=[*self.variables, *names], **changes)


def _one(*choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


def _rarely(draw: Draw, one_of: int) -> bool:
    return bool(draw(st.integers(1, one_of)) == one_of)


@st.composite
def patterns(draw: Draw) -> str:
    """A pattern of printf, as a literal."""
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        flags = "".join(draw(st.lists(_one(*"+-# 0"), max_size=2)))
        width = draw(_one("", "", "", "1", "6", "12", "*", "[1]*", "[2]"))
        precision = draw(_one("", "", "", ".", ".0", ".2", ".5", ".*", ".[1]*"))
        number = draw(_one("", "", "", "", "[1]", "[2]", "[9]", "[x]"))
        pieces.append(f"{draw(_one('', 'a', ' '))}%{flags}{width}{precision}{number}{draw(_one(*_VERBS, '%', 'z', '!', ''))}")
    return f'"{"".join(pieces)}"'


@st.composite
def operands(draw: Draw, scope: Scope, depth: int) -> str:
    """A field, a literal, a variable, or a pipeline in parentheses."""
    if _rarely(draw, 25):
        return str(draw(_one(*_WRONG)))
    kind = draw(st.integers(0, 9))
    if kind < 4:
        return ("" if scope.root and draw(st.booleans()) else "$") + draw(_one(*_FIELDS))
    if kind < 6:
        return str(draw(st.one_of(_one(*_WHOLES), _one(*_REALS), _one(*_STRINGS), _one(*_OTHERS))))
    if kind < 8 or depth <= 0:
        return str(draw(_one(".", "$", *scope.variables)))
    return f"({draw(pipelines(scope, depth - 1))}){'' if not _rarely(draw, 12) else draw(_one('.x', '.z.q'))}"


@st.composite
def calls(draw: Draw, scope: Scope, depth: int, *, piped: bool) -> str:
    """A function and its arguments, of which a pipeline may bring the last one."""
    kind = draw(st.integers(0, 7))
    if kind == 0:
        given = [draw(operands(scope, depth)) for _ in range(draw(st.integers(0, 3)))]
        return " ".join(["printf", draw(patterns()), *given])
    if kind == 1 and not piped:
        places = [draw(_one("0", "0", "1", "1", "2", "4", "-1", "nil", '"x"')) for _ in range(draw(st.integers(0, 3)))]
        return " ".join(["slice", f"$.{draw(_one('text', 'word', 'list', 'words', 'map', 'none', 'nothing'))}", *places])
    if kind == 2 and not piped:
        return f"index $.{draw(_one(*_INDEXES))}"
    if kind == 3 and not piped:
        left = draw(_one(*_PAIRS))
        return f"{draw(_one('eq', 'ne', 'lt', 'le', 'gt', 'ge'))} {left} {draw(_one(*_PAIRS[left]))}"
    arity = _SPRIG if scope.sprig and draw(st.booleans()) else _ARITY
    function = draw(_one(*arity))
    count = draw(st.integers(0, 3)) if _rarely(draw, 12) else arity[function] - piped
    return " ".join([function, *(draw(operands(scope, depth)) for _ in range(count))])


@st.composite
def pipelines(draw: Draw, scope: Scope, depth: int) -> str:
    """One to three commands."""
    made = [draw(st.one_of(operands(scope, depth), calls(scope, depth, piped=False)))]
    made += [draw(calls(scope, depth, piped=True)) for _ in range(draw(_one(0, 0, 0, 1, 2)))]
    return str(draw(_one(" | ", "|", " |\n "))).join(made)


@st.composite
def actions(draw: Draw, inside: str) -> str:
    """The delimiters, now and then with trim markers."""
    left = draw(_one("{{", "{{", "{{ ", "{{- ", "{{-\n"))
    return f"{left}{inside}{draw(_one('}}', '}}', ' }}', ' -}}', chr(10) + '-}}'))}"


@st.composite
def nodes(draw: Draw, scope: Scope, depth: int) -> str:
    """Text, actions and blocks."""
    return "".join(draw(_node(scope, depth)) for _ in range(draw(st.integers(0, 4))))


@st.composite
def _node(draw: Draw, scope: Scope, depth: int) -> str:
    kind = draw(st.integers(0, 13))
    if kind < 3:
        return str(draw(_one(*_TEXTS)))
    if kind < 6 or depth <= 0:
        return str(draw(actions(draw(pipelines(scope, 2)))))
    if kind == 6:
        return str(draw(_declaration(scope)))
    if kind < 9:
        return str(draw(_branch(draw(_one("if", "with")), scope, depth - 1)))
    if kind < 11:
        return str(draw(_range(scope, depth - 1)))
    if kind == 11 and scope.callable:
        name = "absent" if _rarely(draw, 15) else draw(_one(*_TEMPLATES[: scope.callable]))
        return str(draw(actions(f'template "{name}"{draw(_one("", " .", " $", " $.map", " 1"))}')))
    if kind == 12 and scope.ranged:
        leave = draw(actions(draw(_one("break", "continue"))))
        return f"{draw(actions(f'if {draw(pipelines(scope, 1))}'))}{leave}{draw(actions('end'))}"
    return str(draw(_one("{{/* c */}}", "{{- /* c */ -}}", "{{/* a\nb */ -}}", '{{""}}')))


@st.composite
def _declaration(draw: Draw, scope: Scope) -> str:
    value = draw(pipelines(scope, 1))
    if scope.variables and draw(st.booleans()):
        return str(draw(actions(f"{draw(_one(*scope.variables))} = {value}")))
    scope.variables.append(draw(_one(*_VARIABLES)))
    return str(draw(actions(f"{scope.variables[-1]} := {value}")))


@st.composite
def _branch(draw: Draw, word: str, scope: Scope, depth: int) -> str:
    head, visible = draw(pipelines(scope, 2)), scope.inner()
    if _rarely(draw, 5):
        visible = scope.inner(draw(_one(*_VARIABLES)))
        head = f"{visible.variables[-1]} := {head}"
    inside = replace(visible, root=scope.root and word == "if")
    made = draw(actions(f"{word} {head}")) + draw(nodes(inside.inner(), depth))
    if _rarely(draw, 4):
        made += draw(actions(f"else {word} {draw(pipelines(visible, 1))}")) + draw(nodes(inside.inner(), depth))
    if draw(st.booleans()):
        made += draw(actions("else")) + draw(nodes(visible.inner(), depth))
    return str(made + draw(actions("end")))


@st.composite
def _range(draw: Draw, scope: Scope, depth: int) -> str:
    over = draw(_one("$.list", "$.words", "$.map", "$.maps", "$.none", "$.void", "3", "$.whole", "0", "$", "$.lists"))
    if _rarely(draw, 5):
        over = draw(pipelines(scope, 1))
    count = draw(_one(0, 0, 1, 2))
    names = list(draw(st.permutations(_VARIABLES)))[:count]
    inside = scope.inner(*names, root=False, ranged=True)
    if count and len(scope.variables) >= count and _rarely(draw, 4):
        over = f"{', '.join(draw(_one(*scope.variables)) for _ in range(count))} = {over}"
        inside = scope.inner(root=False, ranged=True)
    elif count:
        over = f"{', '.join(names)} := {over}"
    made = draw(actions(f"range {over}")) + draw(nodes(inside, depth))
    if _rarely(draw, 4):
        made += draw(actions("else")) + draw(nodes(inside.inner(root=scope.root, ranged=scope.ranged), depth))
    return str(made + draw(actions("end")))


@st.composite
def templates(draw: Draw, *, sprig: bool = False) -> str:
    """A whole text, some with definitions before it. A definition calls only those before it."""
    count = draw(_one(0, 0, 1, 3))
    made = ""
    for number, name in enumerate(_TEMPLATES[:count]):
        body = draw(nodes(Scope(root=False, callable=number, sprig=sprig), 1))
        made += draw(actions(f'define "{name}"')) + body + draw(actions("end"))
    if _rarely(draw, 5):
        made += draw(actions('block "own" .map')) + draw(nodes(Scope(root=False, sprig=sprig), 1)) + draw(actions("end"))
    return made + str(draw(nodes(Scope(callable=count, sprig=sprig), 3)))


_INSERTED: Final = [*"\"`'()|:=,.$- \n1é", "", "{{", "}}", "end", "$a", "nil", "{{else}}"]


@st.composite
def broken(draw: Draw) -> str:
    """A template of which a few characters were changed."""
    text: str = draw(templates().filter(bool))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(_one(*_INSERTED)) + text[at + draw(st.integers(0, 3)) :]
    return text
