"""The functions of text/template, without Go to ask."""

from datetime import UTC, datetime

import pytest

from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.function import Context, Function
from manager.render.gotemplate.functions import FUNCTIONS
from manager.render.gotemplate.template import parse


def test_the_functions_of_go_are_there() -> None:
    """All of them."""
    assert set(FUNCTIONS) == {
        *("and", "or", "not", "len", "index", "slice", "print", "printf", "println", "html", "js", "urlquery", "call"),
        *("eq", "ne", "lt", "le", "gt", "ge"),
    }


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('{{len "é"}} {{len .list}} {{len .map}}', "2 3 1"),
        ('{{index .list 1}} {{index .map "k" 0}} {{index "é" 0}} {{index .map "no"}}', "b v 195 <no value>"),
        ('{{slice "hello" 1 3}} {{slice .list 1}} {{slice .list 0 1 2}}', "el [b c] [a]"),
        ('{{html "<a href=\'x\'>&\\"\\x00"}}', "&lt;a href=&#39;x&#39;&gt;&amp;&#34;\ufffd"),
        ('{{js "it\'s <b> = \\n é"}}', "it\\'s \\u003Cb\\u003E \\u003D \\u000A é"),
        ('{{urlquery "a b&c/é~"}}', "a+b%26c%2F%C3%A9~"),
        ("{{html nil}} {{js 1 2}}", "&lt;no value&gt; 1 2"),
        ("{{eq 1 2 1}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt 2.5 1.5}} {{ge `b` `a`}}", "true true true true true true"),
        ("{{eq .list nil}} {{eq .no nil}} {{eq nil nil}}", "false true true"),
        ("{{eq (index `a` 0) 97}} {{lt -1 (index `a` 0)}}", "true true"),
        ("{{print 1 2 `a` 3}}|{{println 1 `a`}}|{{printf `%d-%s` 1 `a`}}", "1 2a3|1 a\n|1-a"),
        ("{{not 0}} {{not .list}}", "true false"),
    ],
)
def test_a_function_answers_as_in_go(text: str, output: str) -> None:
    """Strings are bytes, maps give their zero value, nil is equal to what is missing."""
    assert parse("test", text).execute({"list": ["a", "b", "c"], "map": {"k": ["v"]}}) == output


def test_a_function_is_given_the_time_and_randomness() -> None:
    """They are the caller's: the same ones give the same text."""
    functions = {
        "year": Function("year", lambda context: context.now().year),
        "dice": Function("dice", lambda context: context.bytes(1).hex()),
    }
    text = parse("test", "{{year}} {{dice}}", functions).execute(
        None, now=datetime(2026, 1, 2, tzinfo=UTC), random=lambda count: b"\x07" * count
    )
    assert text == "2026 07"


@pytest.mark.parametrize(
    ("name", "message"), [("now", "the time is not available"), ("bytes", "random values are not available")]
)
def test_without_them_such_a_function_fails(name: str, message: str) -> None:
    """In places where a template has to give the same text each time."""
    arguments = (1,) if name == "bytes" else ()
    functions = {"f": Function("f", lambda context: getattr(context, name)(*arguments))}
    with pytest.raises(TemplateError, match=f"error calling f: {message} here"):
        parse("test", "{{f}}", functions).execute(None)


def test_a_function_that_breaks_is_an_error_of_the_template() -> None:
    """As Go makes one of a panic; the text of the exception, which may quote a value, is left out."""

    def broken(context: Context, secret: str) -> int:
        return int(secret)

    with pytest.raises(TemplateError) as failed:
        parse("test", '{{f "hunter2"}}', {"f": Function("f", broken, ("string",))}).execute(None)
    assert failed.value.message.endswith("error calling f: it does not fit its arguments (ValueError)")
