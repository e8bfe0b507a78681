"""What templates come to, without Go to ask."""

import pytest

from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.template import parse
from manager.render.gotemplate.value import decoded

DATA = decoded(
    {"name": "solar", "n": 2, "list": ["a", "b", None], "map": {"x": 1, "é": {"y": "deep"}}, "nothing": None, "empty": ""}
)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{{.name}} {{$.name}} {{.map.é.y}}", "solar solar deep"),
        ("{{.absent}} {{.absent.more}} {{.nothing}}", "<no value> <no value> <no value>"),
        ("{{.list}} {{.map}}", "[a b <nil>] map[x:1 é:map[y:deep]]"),
        ("{{if .empty}}1{{else if .n}}2{{else}}3{{end}}", "2"),
        ("{{with .map}}{{.x}}{{$.n}}{{end}}{{with .nothing}}1{{else}}2{{end}}", "122"),
        ("{{with .empty}}1{{else with .map}}{{.x}}{{end}}", "1"),
        ("{{range .list}}[{{.}}]{{end}}", "[a][b][<no value>]"),
        ("{{range $i, $e := .list}}{{$i}}{{$e}},{{end}}", "0a,1b,2<no value>,"),
        ("{{range $k, $v := .map}}{{$k}},{{end}}", "x,é,"),
        ("{{range 3}}{{.}}{{end}}{{range $i := .n}}{{$i}}{{end}}{{range 0}}{{else}}none{{end}}", "01201none"),
        ("{{range 5}}{{if eq . 1}}{{continue}}{{end}}{{if eq . 3}}{{break}}{{end}}{{.}}{{end}}", "02"),
        ("{{$x := 1}}{{if true}}{{$x = 2}}{{$x := 3}}{{$x}}{{end}}{{$x}}", "32"),
        ('{{define "a"}}<{{.}}{{$}}>{{end}}{{template "a" .name}}{{template "a"}}', "<solarsolar><<no value><no value>>"),
        ('{{block "b" .map}}{{.x}}{{end}}', "1"),
        ("{{(index .list 0 | printf `%s-%s` .name)}}", "solar-a"),
        ("{{.n | eq 2 | not}}", "false"),
        (
            "{{and .n .empty .name}}|{{or .empty .name}}|{{or .empty .nothing}}|{{or .name (index .list 9)}}",
            "|solar|<no value>|solar",
        ),
        ("{{'a'}} {{0x1F}} {{1_000}} {{1e3}} {{1.5}}", "97 31 1000 1000 1.5"),
    ],
)
def test_a_template_makes_its_text(text: str, output: str) -> None:
    """Fields, blocks, variables, templates, pipelines and literals."""
    assert parse("test", text).execute(DATA) == output


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("{{.name.x}}", "at <.name.x>: can't evaluate field x in type interface {}", 1, 7),
        ("\n é {{ $.name.x }}", "at <$.name.x>: can't evaluate field x in type interface {}", 2, 8),
        ("{{$x := .name}}{{$x.y}}", "at <$x.y>: can't evaluate field y in type string", 1, 19),
        ("{{.nothing.x}}", "at <.nothing.x>: nil pointer evaluating interface {}.x", 1, 10),
        ("{{.name 1}}", "at <.name>: name is not a method but has arguments", 1, 2),
        ("{{1 2}}", "at <1>: can't give argument to non-function 1", 1, 2),
        ("{{nil}}", "at <nil>: nil is not a command", 1, 2),
        ("{{len 1 2}}", "at <len>: wrong number of args for len: want 1 got 2", 1, 2),
        ("{{index}}", "at <index>: wrong number of args for index: want at least 1 got 0", 1, 2),
        ("{{printf 1}}", "at <1>: expected string; found 1", 1, 9),
        ("{{printf .n}}", "at <.n>: wrong type for value; expected string; got int64", 1, 9),
        ("{{printf .absent}}", "at <.absent>: invalid value; expected string", 1, 9),
        ("{{printf nil}}", "at <nil>: cannot assign nil to string", 1, 9),
        ("{{index .list 9 | len}}", "at <index .list 9>: error calling index: index out of range: 9", 1, 2),
        ("{{eq .n .name}}", "at <eq .n .name>: error calling eq: incompatible types for comparison: int64 and string", 1, 2),
        ("{{range .name}}{{end}}", "at <.name>: range can't iterate over solar", 1, 8),
        ("{{range $a, $b := 3}}{{end}}", "at <3>: can't use 3 to iterate over more than one variable", 1, 18),
        ("{{$x = 1}}", "at <1>: undefined variable: $x", 1, 7),
        ('{{template "no"}}', 'at <{{template "no"}}>: template "no" not defined', 1, 11),
        ("{{9223372036854775808}}", "at <9223372036854775808>: 9223372036854775808 overflows int", 1, 2),
        ("{{call .name}}", "at <call .name>: error calling call: non-function .name of type string", 1, 2),
    ],
)
def test_a_failure_says_where(text: str, message: str, line: int, column: int) -> None:
    """The node, its line, and its column in bytes."""
    with pytest.raises(TemplateError) as failed:
        parse("test", text).execute(DATA)
    assert failed.value.message == f'template: test:{line}:{column}: executing "test" {message}'
    assert (failed.value.name, failed.value.line, failed.value.column) == ("test", line, column)


def test_a_failure_within_a_definition_names_it() -> None:
    """The position is in the text, whose name stays."""
    with pytest.raises(TemplateError) as failed:
        parse("test", '{{define "inner"}}{{.x}}{{end}}{{template "inner" 1}}').execute(None)
    assert failed.value.message == 'template: test:1:20: executing "inner" at <.x>: can\'t evaluate field x in type int'


@pytest.mark.parametrize(
    ("text", "default", "zero", "error"),
    [
        ("{{.absent}}", "<no value>", "<no value>", 'map has no entry for key "absent"'),
        ("{{.absent.x}}", "<no value>", "nil pointer evaluating interface {}.x", 'map has no entry for key "absent"'),
        ("{{if .absent}}{{else}}no{{end}}", "no", "no", 'map has no entry for key "absent"'),
        ('{{index . "absent"}}', "<no value>", "<no value>", "<no value>"),
    ],
)
def test_a_missing_key_is_what_was_asked_for(text: str, default: str, zero: str, error: str) -> None:
    """No value, the zero value of an interface, or an error; `index` does not ask."""
    assert _come_to(text, "default").endswith(default)
    assert _come_to(text, "zero").endswith(zero)
    assert _come_to(text, "error").endswith(error)


@pytest.mark.parametrize(
    "text",
    ["{{range .secret}}{{end}}", "{{eq (.secret | print | len) .secret}}", "{{.secret | eq 1 .map}}", "{{slice .secret 9}}"],
)
def test_the_safe_message_quotes_no_value(text: str) -> None:
    """It is what may stand in a status; the value of a Secret never does."""
    with pytest.raises(TemplateError) as failed:
        parse("test", text).execute({"secret": "hunter2", "map": {"hunter2": "hunter2"}})
    assert "hunter2" not in failed.value.safe
    assert "executing" in failed.value.safe


def _come_to(text: str, missingkey: str) -> str:
    try:
        return parse("test", text).execute(DATA, missingkey=missingkey)  # type: ignore[arg-type]
    except TemplateError as error:
        return error.message
