"""Hostile templates end within the bounds, with an error that says where."""

import re

import pytest

from manager.render.gotemplate.bounds import SOURCE, Budget
from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.template import parse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{range 1000000000}}{{end}}", "too many steps"),
        ("{{range 100000}}{{range 100000}}{{.}}{{end}}{{end}}", "too many steps"),
        ('{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}', "exceeded maximum template depth"),
        ('{{define "r"}}{{if 1}}{{with 1}}{{range 1}}{{template "r"}}{{end}}{{end}}{{end}}{{end}}{{template "r"}}', "depth"),
        ('{{define "r"}}{{template "r"}}{{template "r"}}{{end}}{{template "r"}}', "depth"),
        ('{{$x := "abcdefgh"}}{{range 100}}{{$x = printf "%s%s" $x $x}}{{end}}', "4194304 are allowed"),
        ('{{range 100}}{{printf "%1000000d" 1}}{{end}}', "output is too long"),
        ('{{range 1000000}}{{$x := printf "%1000000d" 1}}{{end}}', "too many steps"),
        ('{{$x := printf "%1000000d" 1}}{{range 10000000}}{{if eq $x $x}}{{end}}{{end}}', "too many steps"),
        ('{{"\\xff"}}', "the output is not valid UTF-8"),
        ('{{slice "é" 0 1}}', "the output is not valid UTF-8"),
    ],
)
def test_an_execution_ends_within_its_bounds(text: str, message: str) -> None:
    """Steps, depth, the size of values and of the output."""
    with pytest.raises(TemplateError, match=message) as failed:
        parse("hostile", text).execute(None)
    assert re.match(r"template: hostile(:1:\d+: executing|: the output)", failed.value.message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "max expression depth exceeded"),
        ("{{if 1}}" * 5000 + "{{end}}" * 5000, "blocks are nested too deeply"),
        ('{{block "b" .}}' * 5000, "blocks are nested too deeply"),
        ("{{if 1}}" + "{{else if 1}}" * 5000 + "{{end}}", "blocks are nested too deeply"),
        ("{{$a := 1}}" * 5000, "more than 1000 variables"),
        ("x" * (SOURCE + 1), f"the text has more than {SOURCE} bytes"),
    ],
)
def test_a_text_is_refused_beyond_its_bounds(text: str, message: str) -> None:
    """Depth, variables and length."""
    with pytest.raises(TemplateError, match=message):
        parse("hostile", text)


def test_the_budget_is_the_callers() -> None:
    """What is used of it is used."""
    budget = Budget(steps=100, output=10)
    parse("small", "0123456789").execute(None, budget=budget)
    assert budget.output == 0
    with pytest.raises(TemplateError, match="output is too long"):
        parse("small", "x").execute(None, budget=budget)


def test_a_long_node_is_cut_in_a_message() -> None:
    """Whole pipelines would fill a status."""
    with pytest.raises(TemplateError) as failed:
        parse("long", "{{len (print " + '"x" ' * 10_000 + "1) 2}}" + "{{index (print " + '"x" ' * 10_000 + ") nil}}").execute(
            None
        )
    assert len(failed.value.message) < 2000
