"""`copyhold cel` as somebody types it: values in, type, value and cost out, errors with a place."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from manager.cli import main


def call(*words: str, stdin: bytes | None = None) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["cel", *words], input=stdin, prog_name="copyhold")


def value(*words: str) -> Any:
    """The value that the command shows."""
    result = call(*words)
    assert result.exit_code == 0, result.stderr
    return yaml.safe_load(result.stdout)["value"]


def test_type_value_and_cost_are_shown() -> None:
    """What an author wants to know of an expression."""
    result = call("object.spec.replicas > 1", "--var", "object={spec: {replicas: 3}}")
    assert (result.exit_code, result.stdout) == (0, "type: bool\nvalue: true\ncost: 5\n")


def test_what_the_checker_does_not_know_is_told_by_the_value() -> None:
    """A field of an object may be anything; the answer says what it was."""
    shown = json.loads(call("object.a", "--var", "object={a: [1]}", "-o", "json").stdout)
    assert shown == {"type": "dyn", "valueType": "list", "value": [1], "cost": 2}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        pytest.param(["x", "--var", "x=010"], 8, id="numbers as kubectl reads them"),
        pytest.param(["x", "--var", "x=null"], None, id="null"),
        pytest.param(["x", "--var", "x=a=b"], "a=b", id="a sign of equality in a value"),
        pytest.param(["x + 1u", "--var", "x=1", "--type", "x=uint"], 2, id="an unsigned number"),
        pytest.param(["x / 2.0", "--var", "x=1", "--type", "x=double"], 0.5, id="a whole number for a double"),
        pytest.param(["x", "--var", "x=1h", "--type", "x=duration"], "3600s", id="a duration"),
        pytest.param(["size(x)", "--var", "x=AAEC", "--type", "x=bytes"], 3, id="bytes in base64"),
        pytest.param(["x", "--var", "x=2026-01-01T00:00:00+01:00", "--type", "x=timestamp"], "2025-12-31T23:00:00Z", id="a time"),
        pytest.param(["now", "--var", "now=2026-01-01T00:00:00.000000001Z"], "2026-01-01T00:00:00.000000001Z", id="another now"),
        pytest.param(["x[0] + 1", "--var", "x=[1]", "--type", "x=list(int)"], 2, id="a list"),
        pytest.param(["now > timestamp('2026-01-01T00:00:00Z')"], True, id="the present now"),
        pytest.param(["b'abc'"], "YWJj", id="bytes come out in base64"),
        pytest.param(["[optional.none(), optional.of(1)]"], [None, 1], id="optional values"),
        pytest.param(["{true: 1u, false: 2u}"], {"true": 1, "false": 2}, id="keys that JSON has not"),
        pytest.param(["cidr('10.0.0.0/8')"], "10.0.0.0/8", id="a value of a library"),
        pytest.param(["type(1)"], "int", id="a type"),
        pytest.param(["--", "-1.0 / 0.0"], "-inf", id="what no JSON number is"),
    ],
)
def test_values_go_in_and_come_out(words: list[str], wanted: Any) -> None:
    """YAML goes in, by the declared type; what comes out can be read by any program."""
    assert value(*words) == wanted


def test_a_value_comes_from_a_file_or_standard_input(tmp_path: Path) -> None:
    """`kubectl get -o yaml` writes what this reads."""
    file = tmp_path / "object.yaml"
    file.write_text("kind: ConfigMap\ndata: {a: '1'}\n")
    assert value("object.data.a", "--var", f"object=@{file}") == "1"
    assert "value: '2'" in call("object.data.a", "--var", "object=@-", stdin=b"data: {a: '2'}").stdout


def test_an_error_of_the_evaluation_is_1_and_shows_the_place() -> None:
    """The line of the text with a caret below."""
    result = call("1 == 1 &&\n  [1].all(x, x / 0 == 1)")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "copyhold: line 2, column 16: division by zero",
        "    [1].all(x, x / 0 == 1)",
        "                 ^",
    ]


def test_an_expression_that_does_not_compile_is_2() -> None:
    """Before anything is evaluated."""
    result = call("nothing == 1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("copyhold: line 1, column 1: there is no variable `nothing`")


def test_the_caret_stands_below_a_place_behind_wide_letters() -> None:
    """On a terminal, two columns each."""
    result = call("'\N{CAT FACE}\N{CAT FACE}' + 1")
    assert result.stderr.splitlines()[1:] == ["  '\N{CAT FACE}\N{CAT FACE}' + 1", "         ^"]


def test_of_a_long_line_the_surroundings_are_shown() -> None:
    """A screen has an end."""
    line, caret = call(" + ".join(["1"] * 200) + " + 'a' + 1 + " + " + ".join(["1"] * 200)).stderr.splitlines()[1:]
    assert line.startswith("  ...")
    assert line.endswith("...")
    assert len(line) < 120
    assert line[caret.index("^") :].startswith("+ 'a'")


def test_too_much_is_an_error_of_the_evaluation() -> None:
    """The budget of a condition holds here, too."""
    result = call("x.all(a, x.all(b, x.all(c, true)))", "--var", f"x={list(range(200))}")
    assert result.exit_code == 1
    assert "budget" in result.stderr


def test_errors_are_json_where_that_is_asked_for() -> None:
    """With their place apart."""
    shown = json.loads(call("1 +", "-o", "json").stdout)
    assert shown["error"].keys() == {"message", "line", "column"}
    assert (shown["error"]["line"], shown["error"]["column"]) == (1, 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["1", "--var", "x"], "NAME=VALUE", id="no value"),
        pytest.param(["1", "--var", "a-b=1"], "NAME=VALUE", id="no name"),
        pytest.param(["1", "--var", "x=@nothing.yaml"], "cannot be read", id="no file"),
        pytest.param(["1", "--var", "x={"], "line 2", id="no YAML"),
        pytest.param(["1", "--type", "x=strng"], "no type", id="a type that there is not"),
        pytest.param(["1", "--type", "x=list(strng)"], "no type", id="a type of items that there is not"),
        pytest.param(["1", "--type", "x=list(int, int)"], "no type", id="too many parameters"),
        pytest.param(["1", "--var", "x=a", "--type", "x=int"], "no int", id="a value of another type"),
        pytest.param(["1", "--var", "x=-1", "--type", "x=uint"], "no uint", id="a number below zero"),
        pytest.param(["1", "--var", "x=later", "--type", "x=timestamp"], "no google.protobuf.Timestamp", id="no time"),
        pytest.param(["1", "--var", "x=1", "--type", "x=duration"], "no google.protobuf.Duration", id="a number for a duration"),
        pytest.param(["1", "--var", "x=a", "--type", "x=bytes"], "no bytes", id="no base64"),
        pytest.param(["1", "--var", "x=true", "--type", "x=double"], "no double", id="a bool for a double"),
        pytest.param([], "EXPRESSION", id="no expression"),
    ],
)
def test_wrong_usage_is_2(words: list[str], said: str) -> None:
    """And says what is wrong, without the value."""
    result = call(*words)
    assert result.exit_code == 2
    assert said in result.stderr
