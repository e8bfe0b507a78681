"""What is refused before it is executed, in Go's words."""

import pytest

from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.template import parse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{if .a}}", "template: x:1: unexpected EOF"),
        ("\n{{end}}", "template: x:2: unexpected {{end}}"),
        ("{{else}}", "template: x:1: unexpected {{else}}"),
        ("{{if}}{{end}}", "template: x:1: missing value for if"),
        ("{{range $x, $y, $z := .}}{{end}}", "template: x:1: too many declarations in range"),
        ("{{range $x, 1}}{{end}}", "template: x:1: range can only initialize variables"),
        ("{{$x}}", 'template: x:1: undefined variable "$x"'),
        ("{{nope 1}}", 'template: x:1: function "nope" not defined'),
        ("{{1 | 2}}", "template: x:1: non executable command in pipeline stage 2"),
        ("{{ | .a}}", 'template: x:1: unexpected "|" in command'),
        ("{{.a | .b | 3}}", "template: x:1: non executable command in pipeline stage 3"),
        ("{{()}}", "template: x:1: missing value for parenthesized pipeline"),
        ('{{"a".b}}', 'template: x:1: unexpected . after term "\\"a\\""'),
        ("{{break}}", "template: x:1: {{break}} outside {{range}}"),
        ("{{template}}", 'template: x:1: unexpected "}}" in template clause'),
        ('{{define "a"}}{{else}}', "template: x:1: unexpected {{else}} in define clause"),
        ('{{define "a"}}1{{end}}{{define "a"}}2{{end}}', 'template: x:1: template: multiple definition of template "a"'),
        ('{{if 1}}{{define "a"}}{{end}}{{end}}', "template: x:1: unexpected <define> in command"),
        ("{{089}}", 'template: x:1: integer overflow: "089"'),
        ("{{1__0}}", 'template: x:1: illegal number syntax: "1__0"'),
        ("{{'ab'}}", "template: x:1: malformed character constant: 'ab'"),
        ('{{"\\q"}}', "template: x:1: invalid syntax"),
        ("{{1i}}", "template: x:1: complex numbers are not supported: 1i"),
        ("{{1+2i}}", "template: x:1: complex numbers are not supported: 1+2i"),
        ("{{ .a\n\n", "template: x:3: unclosed action started at x:1"),
        ("{{ .a\n#", 'template: x:2: unexpected "#" in operand'),
    ],
)
def test_a_wrong_text_is_refused_with_its_line(text: str, message: str) -> None:
    """The words are Go's, but for what we do not have."""
    with pytest.raises(TemplateError) as refused:
        parse("x", text)
    assert refused.value.message == message
    assert (refused.value.name, refused.value.column) == ("x", -1)
    assert f"x:{refused.value.line}:" in message


def test_a_template_knows_those_that_it_defines() -> None:
    """By `define` and by `block`, its own name among them."""
    made = parse("main", '{{define "a"}}1{{end}}{{block "b" .}}2{{end}}')
    assert made.names == {"main", "a", "b"}


def test_an_empty_definition_makes_way_for_another() -> None:
    """As in Go: what holds only space was not meant."""
    text = '{{define "a"}} {{end}}{{define "a"}}1{{end}}{{define "a"}}{{/* c */}}{{end}}{{template "a"}}'
    assert parse("main", text).execute(None) == "1"


def test_a_text_that_is_no_utf8_is_refused() -> None:
    """Half of a surrogate pair is no character."""
    with pytest.raises(TemplateError, match="the text is not valid UTF-8"):
        parse("x", "a\ud800")
