"""Templates that call sprig's functions: those written down, and those that follow from the functions' parameters."""

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from manager.render.gotemplate.function import Function
from manager.render.gotemplate.functions import FUNCTIONS as BUILTIN
from manager.render.gotemplate.sprig import FUNCTIONS
from tests.support.gotemplate import Case, Outcome, ours

FOLDER = Path(__file__).parents[1] / "manager" / "render" / "gotemplate" / "sprig"

DATA: Mapping[str, Any] = {
    "s": "hello world",
    "empty": "",
    "uni": "Größe ß ǆ 日本 İ",
    "lines": "one\ntwo\n\nthree",
    "words": "snake_case someHTTPServer v2Beta3 x-y__z",
    "num": "42",
    "oct": "010",
    "hex": "0x1F",
    "decimal": "3.140",
    "under": "1_000",
    "i": 7,
    "z": 0,
    "n": -3,
    "big": 2**63 - 1,
    "f": 2.5,
    "half": -0.5,
    "huge": 1e21,
    "tiny": 1e-7,
    "b": True,
    "nb": False,
    "nil": None,
    "l": ["a", "b", "", None, "a", 1, 2.5, True],
    "ls": ["z", "a", "m"],
    "li": [3, 1, 2],
    "ll": [[1, 2], [1, 2], {"a": 1}],
    "el": [],
    "m": {"a": 1, "b": {"c": "x", "d": [1, 2]}, "": "k", "e": None, "name": "n"},
    "m2": {"a": "", "b": {"c": "y", "z": 0}, "n": None, "l": []},
    "em": {},
    "json": '{"a":[1,2.50,"<&>",null,{"b":"\\u00e9\\ud83d\\ude00"}],"c":1e3}',
    "b64": "aGVsbG8=",
    "b32": "NBSWY3DP",
    "url": "https://us%20er:p%40ss@ex.com:8080/a%20b/c;d?x=1&y=2#fr%20ag",
    "path": "/a/../b//c.tar.gz",
    "ver": "1.2.3-rc.1+b5",
    "cons": ">=1.2, <2.0 || ~3",
    "date": "2026-11-30T12:34:56Z",
    "layout": "2006-01-02T15:04:05Z07:00",
    "span": "1h2m3.5s",
    "re": "a(b*)c|(l+)",
    "ref": "<$1>${2}$$",
}

_LISTS = (".l", ".ls", ".li", ".ll", ".el", "(list 1 2 3)", '(splitList "," "b,a,b")', "(until 4)")
_TIMES = ("(toDate .layout .date)", '(toDate "bad" "x")', '(toDate "2006-01-02 MST" "2020-02-29 UTC")')
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "string": (
        *(f".{name}" for name, value in DATA.items() if isinstance(value, str)),
        *('"a"', '" "', '"l"', '","', '"日"', '"x y"', '"2006-01-02 15:04"', '".*"', '"("', '"\\xff"'),
    ),
    "int": ("0", "1", "-1", "2", "3", "5", "7", "10", "-5", "100"),
    "float64": ("0.5", "1", "0.1", "2.75"),
    "bool": ("true", "false", ".b", ".nb"),
    "uint32": ("1", "0"),
    "map[string]interface {}": (".m", ".m2", ".em", '(dict "x" 1)', "(fromJson .json)", '(split "," "a,b")'),
    "time.Time": _TIMES,
}
_ANYTHING = (
    *(argument for arguments in _ARGUMENTS.values() for argument in arguments),
    *_LISTS,
    *(".i", ".z", ".n", ".big", ".f", ".half", ".huge", ".tiny", ".nil", ".missing", "1.5", "1e3", "'a'", "(int64 5)"),
    *('(float64 "2")', '(semver "1.2.3")'),
)
_DATES = (*_TIMES, ".i", ".z", ".n", "5")

DRAWN = frozenset(
    {
        *("now", "ago", "durationRound", "shuffle", "uuidv4", "randAlpha", "randNumeric", "randAlphaNum", "randAscii", "randInt"),
        *("randBytes", "encryptAES", "keys", "values", "derivePassword"),
    }
)
"""What answers something else each time, in another order, or after long: nothing to call at random."""

_OF_DATES = frozenset({"date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone"})
_OF_LISTS = frozenset(
    {
        *(
            "append",
            "push",
            "prepend",
            "first",
            "last",
            "rest",
            "initial",
            "reverse",
            "compact",
            "uniq",
            "without",
            "slice",
            "chunk",
        ),
        *("concat", "sortalpha", "join", "tostrings"),
    }
)


@cache
def written() -> Mapping[str, tuple[str, ...]]:
    """The templates of the folder by the function that they are about."""
    found: dict[str, list[str]] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        name = ""
        for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
            if line.startswith("["):
                name = line[1:-1]
                assert name not in found, f"{path}: {name} stands there twice"
                found[name] = []
            else:
                found[name].append(line)
    return {name: tuple(rows) for name, rows in found.items()}


def template(row: str) -> str:
    """The template of a row: most are one pipeline without its braces."""
    return row if row.startswith("{{") else f"{{{{ {row} }}}}"


def calls(function: Function, count: int) -> Iterator[str]:
    """Calls with arguments of the right types, and sometimes of wrong ones; the same ones every time."""
    drawn = random.Random(function.name)
    for _ in range(count):
        arguments = [_argument(drawn, function.name, type_) for type_ in function.takes]
        if function.rest:
            arguments += [_argument(drawn, function.name, function.rest) for _ in range(drawn.choice((0, 0, 1, 1, 2, 2, 3)))]
        if drawn.random() < 0.02:
            arguments = arguments[:-1]
        called = f"{function.name} {' '.join(arguments)}"
        if arguments and drawn.random() < 0.15:
            called = f"{arguments[-1]} | {function.name} {' '.join(arguments[:-1])}"
        yield drawn.choice(_FORMS)(called)


_FORMS: tuple[Callable[[str], str], ...] = (
    lambda called: f"{{{{ {called} }}}}",
    lambda called: f"{{{{ {called} }}}}",
    lambda called: f'{{{{ printf "%T|%v" ({called}) nil }}}}',
    lambda called: f"{{{{ {called} | toJson }}}}",
    lambda called: f'{{{{ printf "%q" ({called}) }}}}',
)


def _argument(drawn: random.Random, name: str, type_: str) -> str:
    if name in _OF_DATES and type_ == "interface {}":
        return drawn.choice(_DATES)
    if drawn.random() < 0.06:
        type_ = drawn.choice(("string", "int", "interface {}", "map[string]interface {}"))
    if type_ != "interface {}":
        return drawn.choice(_ARGUMENTS[type_])
    if name.removeprefix("must").lower() in _OF_LISTS and drawn.random() < 0.7:
        return drawn.choice(_LISTS)
    return drawn.choice(_ANYTHING)


def executed(case: Case, *, now: datetime | None = None, drawn: Callable[[int], bytes] | None = None) -> Outcome:
    """What we make of it with sprig's functions, at the present time unless another is given."""
    return ours(case, {**BUILTIN, **FUNCTIONS}, now=now or datetime.now(UTC), random=drawn or random.Random(1).randbytes)


def case(text: str) -> Case:
    """The template over the data of all rows."""
    return Case(text, DATA, plain=False)
