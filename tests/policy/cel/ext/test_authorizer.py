"""Questions about who may do what, asked from within an expression."""

from collections.abc import Callable
from typing import Any

import pytest

from policy.cel import Budget, CelError, Environment, Exhausted, default
from policy.cel.ext.authorizer import AUTHORIZER, COST, RESOURCE_CHECK, Attributes, Authorizer, NoDecision, request_resource
from policy.cel.program import program


def asked(text: str, check: Callable[[Attributes], tuple[bool, str]], budget: Budget | None = None) -> Any:
    """Evaluate with an authorizer that answers by `check`."""
    environment = Environment({"authorizer": AUTHORIZER, "requested": RESOURCE_CHECK}, default())
    requested = request_resource(check, group="apps", resource="deployments", namespace="solar", name="web")
    return program(text, environment).evaluate({"authorizer": Authorizer(check), "requested": requested}, budget)


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("authorizer.path('/healthz').check('get')", Attributes("get", path="/healthz")),
        ("authorizer.group('').resource('pods').check('list')", Attributes("list", resource="pods")),
        (
            "authorizer.group('apps').resource('deployments').subresource('scale').namespace('solar').name('web').check('get')",
            Attributes("get", group="apps", resource="deployments", subresource="scale", namespace="solar", name="web"),
        ),
        (
            "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('list')",
            Attributes("list", resource="pods", field_selector="a=b", label_selector="c"),
        ),
        (
            "authorizer.serviceAccount('solar', 'robot').group('').resource('pods').check('get')",
            Attributes("get", account=("solar", "robot"), resource="pods"),
        ),
        (
            "authorizer.serviceAccount('solar', 'robot').path('/x').check('get')",
            Attributes("get", account=("solar", "robot"), path="/x"),
        ),
        ("requested.check('patch')", Attributes("patch", None, "", "apps", "deployments", "", "solar", "web")),
        ("requested.name('').check('patch')", Attributes("patch", None, "", "apps", "deployments", "", "solar", "")),
    ],
)
def test_a_question_says_what_it_is_about(text: str, attributes: Attributes) -> None:
    """Verb, path or resource, and whom it is about."""
    questions: list[Attributes] = []

    def check(question: Attributes) -> tuple[bool, str]:
        questions.append(question)
        return True, "because"

    assert asked(f"{text}.allowed()", check) is True
    assert asked(f"{text}.reason()", check) == "because"
    assert questions == [attributes, attributes]


def test_a_check_that_fails_is_a_value() -> None:
    """It allows nothing, and says why."""

    def check(question: Attributes) -> tuple[bool, str]:
        raise NoDecision("the webhook is away")

    question = "authorizer.path('/x').check('get')"
    assert asked(f"{question}.allowed()", check) is False
    assert asked(f"{question}.errored()", check) is True
    assert asked(f"{question}.error()", check) == "the webhook is away"
    assert asked(f"{question}.error()", lambda question: (True, "")) == ""


@pytest.mark.parametrize(
    "text",
    [
        "authorizer.path(' ').check('get').allowed()",
        "authorizer.group('').resource('').check('get').allowed()",
        "authorizer.serviceAccount('Not A Namespace', 'robot').path('/x').check('get').allowed()",
        "authorizer.serviceAccount('solar', 'not a name').path('/x').check('get').allowed()",
        "authorizer.resource('pods')",
        "authorizer.group('').check('get')",
    ],
)
def test_a_question_about_nothing_is_an_error(text: str) -> None:
    """Nobody is asked."""
    with pytest.raises(CelError):
        asked(text, lambda question: pytest.fail("was asked"))


def test_a_question_is_expensive() -> None:
    """It may go to a webhook."""
    budget = Budget()
    asked("authorizer.path('/x').check('get').allowed()", lambda question: (True, ""), budget)
    assert budget.spent >= COST
    with pytest.raises(Exhausted):
        asked("[1, 2, 3].all(x, authorizer.path('/x').check('get').allowed())", lambda question: (True, ""))
