"""What sprig's functions are here that they are not in Go: bounded, without a clock or chance of their own, and in UTC."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.functions import FUNCTIONS as BUILTIN
from manager.render.gotemplate.sprig import ABSENT, FUNCTIONS
from manager.render.gotemplate.template import parse
from manager.render.gotemplate.value import decoded

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CYCLE = '{{ $d := dict }}{{ $_ := set $d "self" $d }}'
LONG = '{{ $x := repeat 1000000 "%s" }}'
DOUBLED = "{{ $l := list 1 }}{{ range until 60 }}{{ $l = concat $l $l }}{{ end }}"


def rendered(text: str, data: Mapping[str, Any] | None = None, **given: Any) -> str:
    """The output of a template that has sprig's functions."""
    return parse("test", text, {**BUILTIN, **FUNCTIONS}).execute(decoded(data or {}), **given)


def refusal(text: str, **given: Any) -> str:
    """Why it has none."""
    with pytest.raises(TemplateError) as refused:
        rendered(text, **given)
    return refused.value.message


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_what_is_left_out_is_no_function(name: str) -> None:
    """It is refused when the template is read, and there is a reason."""
    assert refusal(f"{{{{ {name} }}}}") == f'template: test:1: function "{name}" not defined'
    assert ABSENT[name]


def test_a_function_bears_its_name() -> None:
    """Errors name it."""
    assert {name: function.name for name, function in FUNCTIONS.items()} == {name: name for name in FUNCTIONS}


def test_the_time_is_that_of_the_execution() -> None:
    """The same execution at the same time makes the same text, in UTC whatever the zone of what was given."""
    east = NOON.astimezone(timezone(timedelta(hours=5)))
    text = (
        '{{ now }} {{ now | date "15:04 MST" }} {{ ago 0 }} {{ now | dateModify "-36h" | durationRound }} {{ date "2006" "x" }}'
    )
    expected = "2026-11-30 12:00:00 +0000 UTC 12:00 UTC 498900h0m0s 1d 2026"
    assert rendered(text, now=NOON) == expected
    assert rendered(text, now=east) == expected


@pytest.mark.parametrize("call", ["now", "ago 0", 'htmlDate "x"', 'durationRound (toDate "2006" "2020")'])
def test_without_a_time_there_is_none(call: str) -> None:
    """A template that may not depend on it fails instead of taking the clock's."""
    assert "the time is not available here" in refusal(f"{{{{ {call} }}}}")


DRAWN = (
    "{{ randAlphaNum 12 }} {{ randAlpha 5 }} {{ randNumeric 5 }} {{ randAscii 5 | b64enc }} {{ randInt -5 500 }} "
    '{{ randBytes 6 }} {{ shuffle "abcdef" }} {{ uuidv4 }} {{ encryptAES "k" "text" }}'
)


def test_chance_comes_from_the_source_that_is_given() -> None:
    """The same bytes make the same text."""
    texts = [rendered(DRAWN, random=Random(seed).randbytes) for seed in (1, 1, 2)]
    assert texts[0] == texts[1]
    assert not set(texts[0].split()) & set(texts[2].split())


@pytest.mark.parametrize("call", ["randAlpha 1", "randInt 0 9", "randBytes 1", 'shuffle "ab"', "uuidv4", 'encryptAES "k" "x"'])
def test_without_a_source_there_is_no_chance(call: str) -> None:
    """A template that must come out the same fails instead of drawing."""
    assert "random values are not available here" in refusal(f"{{{{ {call} }}}}")


def test_every_number_of_a_range_is_drawn() -> None:
    """And none beyond it."""
    drawn = rendered("{{ range until 400 }}{{ randInt 3 7 }} {{ end }}", random=Random(1).randbytes).split()
    assert set(drawn) == {"3", "4", "5", "6"}


def test_keys_and_values_are_in_order() -> None:
    """Go has none; a text that is compared with the last one needs one."""
    data = {"m": {"b": 2, "a": 1, "c": 0}}
    assert rendered("{{ keys .m }} {{ values .m }} {{ pick .m `c` `a` | keys }}", data) == "[a b c] [1 2 0] [a c]"


HOSTILE = {
    "a giant repeat": '{{ repeat 1000000000 "a" }}',
    "a repeat of repeats": '{{ repeat 1000000 "a" | repeat 1000000 }}',
    "giant indents": '{{ repeat 1000 "\\n" | indent 1000000 }}',
    "a replacement that explodes": LONG % "a" + '{{ replace "a" $x $x }}',
    "a join that explodes": LONG % "a" + "{{ until 1000 | join $x }}",
    "a million numbers": "{{ until 1000000 }}",
    "more numbers than memory": "{{ untilStep -9223372036854775807 9223372036854775807 1 }}",
    "a giant sequence": "{{ seq 1 1000000000 }}",
    "a list doubled over and over": DOUBLED,
    "a map in itself, printed": CYCLE + "{{ $d }}",
    "a map in itself, as JSON": CYCLE + "{{ toPrettyJson $d }}",
    "a map in itself, copied": CYCLE + "{{ deepCopy $d }}",
    "a map in itself, compared": CYCLE + '{{ $e := dict "self" $d }}{{ deepEqual $d $e }}',
    "a map in itself, merged": CYCLE + '{{ $e := dict }}{{ $_ := set $e "self" $e }}{{ merge $d $e }}',
    "JSON nested without end": '{{ repeat 500000 "[" | mustFromJson }}',
    "a pattern that is too large": '{{ regexMatch (repeat 100000 "(a|b)") "x" | ternary "" (repeat -1 "") }}',
    "a match of every gap": LONG % "a" + '{{ regexReplaceAll "" $x "-" }}',
    "a slow pattern over a long text": LONG % "a" + '{{ range until 100 }}{{ regexFind "(a?){500}(a?){500}b" $x }}{{ end }}',
    "a search to the end from every place": LONG % "a" + '{{ regexReplaceAll "a.*b|a" $x "" }}',
    "a product of endless digits": "{{ mulf " + "1e300 " * 5000 + "}}",
    "a long layout": '{{ $l := repeat 200000 "January" }}{{ date $l 0 }}',
    "a long date": '{{ $l := repeat 100000 "2006 " }}{{ toDate $l $l }}',
    "a long constraint": '{{ semverCompare (repeat 100000 "1 - 2 ") "1" }}',
    "words of a long text": LONG % "aB " + "{{ range until 100 }}{{ snakecase $x }}{{ end }}",
    "a million parts": LONG % "a," + '{{ split "," $x }}',
    "many passwords": '{{ range until 100 }}{{ derivePassword 1 "pin" "a" "b" "c" }}{{ end }}',
    "a long random text": "{{ randAscii 100000000 }}",
    "Base64 of Base64": LONG % "a" + "{{ range until 50 }}{{ $x = b64enc $x }}{{ end }}",
    "a text in quotes in quotes": '{{ $x := `"` }}{{ range until 50 }}{{ $x = quote $x }}{{ end }}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_template_ends(text: str) -> None:
    """With an error that has a position, long before the process around it is ended."""
    budget = Budget()
    assert refusal(text, budget=budget, now=NOON, random=Random(1).randbytes).startswith("template: test:1:")


def test_a_template_of_common_size_stays_far_below_the_bounds() -> None:
    """The functions that manifests use, a thousand times over, take a part of the steps."""
    text = (
        "{{ range $i := until 1000 }}{{ $n := printf `%s-%d` $.name $i | lower | trunc 63 | trimSuffix `-` }}"
        "{{ dict `name` $n `labels` (merge (dict `a` `b`) $.labels) | toJson | indent 2 | quote }}"
        "{{ default `x` $.none }}{{ end }}"
    )
    budget = Budget()
    rendered(text, {"name": "Some-Name", "labels": {"app": "web"}}, budget=budget)
    assert budget.steps > Budget().steps // 2


def test_a_long_text_may_be_searched_line_by_line() -> None:
    """100 KB of 2,500 lines: what a manifest may well be."""
    budget, text = Budget(), ("x" * 39 + "\n") * 2500
    assert rendered('{{ regexReplaceAll "(?m)^ *#.*$" .s "" | len }}', {"s": text}, budget=budget) == "100000"
    assert rendered('{{ regexFindAll "x+\\n" .s -1 | len }}', {"s": text}, budget=budget) == "2500"
    assert budget.steps > Budget().steps // 2


def test_an_error_is_text_even_where_it_quotes_bytes_that_are_none() -> None:
    """It is logged and written to status."""
    refusal('{{ fail "\\xff" }}').encode()
