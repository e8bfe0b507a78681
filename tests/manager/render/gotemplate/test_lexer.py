"""Tokens, and the space that trim markers take away."""

import pytest

from manager.render.gotemplate.lexer import Kind, tokens
from manager.render.gotemplate.template import parse


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("a {{- 1 -}} b", "a1b"),
        ("a {{1}} b", "a 1 b"),
        ("a \n\t {{- 1}} b", "a1 b"),
        ("a {{1 -}} \r\n b", "a 1b"),
        ("a {{-1}} b", "a -1 b"),
        ("a {{- /* c */ -}} b", "ab"),
        ("a {{/* c */}} b", "a  b"),
        ("a {{/* c */ -}}\n b", "a b"),
        ("a{{-\n1\n-}}b", "a1b"),
        ("}} a }", "}} a }"),
        ("{{`a}}b`}}", "a}}b"),
        ('{{"a}}b"}}', "a}}b"),
        ("\u00a0{{- 1}}", "\u00a01"),
        ("", ""),
    ],
)
def test_a_trim_marker_takes_the_space_next_to_it(text: str, output: str) -> None:
    """ASCII space, up to the next text or action; a minus without space is no marker."""
    assert parse("test", text).execute(None) == output


def test_tokens_know_where_they_are() -> None:
    """The character from 0, the line from 1."""
    made = [(token.kind, token.at, token.text, token.line) for token in tokens('a\n{{ .é | f "x" }}')]
    assert made == [
        (Kind.TEXT, 0, "a\n", 1),
        (Kind.LEFT_DELIM, 2, "{{", 2),
        (Kind.SPACE, 4, " ", 2),
        (Kind.FIELD, 5, ".é", 2),
        (Kind.SPACE, 7, " ", 2),
        (Kind.PIPE, 8, "|", 2),
        (Kind.SPACE, 9, " ", 2),
        (Kind.IDENTIFIER, 10, "f", 2),
        (Kind.SPACE, 11, " ", 2),
        (Kind.STRING, 12, '"x"', 2),
        (Kind.SPACE, 15, " ", 2),
        (Kind.RIGHT_DELIM, 16, "}}", 2),
        (Kind.EOF, 18, "EOF", 2),
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("{{$x := 1}}", [Kind.VARIABLE, Kind.SPACE, Kind.DECLARE, Kind.SPACE, Kind.NUMBER]),
        ("{{$x,$y =.}}", [Kind.VARIABLE, Kind.CHAR, Kind.VARIABLE, Kind.SPACE, Kind.ASSIGN, Kind.DOT]),
        ("{{if true}}", [Kind.IF, Kind.SPACE, Kind.BOOL]),
        ("{{(1).a.b}}", [Kind.LEFT_PAREN, Kind.NUMBER, Kind.RIGHT_PAREN, Kind.FIELD, Kind.FIELD]),
        (
            "{{nil 'a' `b` 1+2i}}",
            [Kind.NIL, Kind.SPACE, Kind.CHAR_CONSTANT, Kind.SPACE, Kind.RAW_STRING, Kind.SPACE, Kind.COMPLEX],
        ),
    ],
)
def test_words_within_actions_have_kinds(text: str, kinds: list[Kind]) -> None:
    """Fields, variables, literals, keywords, and what stands between them."""
    assert [token.kind for token in tokens(text)[1:-2]] == kinds


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("{{/* c", "unclosed comment", 1),
        ("{{/* c */ }}", "comment ends before closing delimiter", 1),
        ("a\n{{ .a", "unclosed action", 2),
        ("{{ (.a }}", "unclosed left paren", 1),
        ("{{ ) }}", "unexpected right paren", 1),
        ('{{ "a\n" }}', "unterminated quoted string", 1),
        ("{{ 'a }}\n", "unterminated character constant", 1),
        ("{{ `a }}", "unterminated raw quoted string", 1),
        ("{{ 3a }}", 'bad number syntax: "3a"', 1),
        ("{{ .a# }}", "bad character U+0023 '#'", 1),
        ("{{ a : b }}", "expected :=", 1),
        ("{{ \x01 }}", "unrecognized character in action: U+0001", 1),
    ],
)
def test_what_cannot_be_read_is_the_last_token(text: str, message: str, line: int) -> None:
    """An error, with the line on which it began."""
    last = tokens(text)[-1]
    assert (last.kind, last.text, last.line) == (Kind.ERROR, message, line)
