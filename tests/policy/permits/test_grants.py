"""The rights that a permit gives: what a row allows, how rows are ordered and cut, and what conditions can ask of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Grant
from apis.meta import Manifest
from manager.embedded.attributes import Attributes, User
from manager.embedded.auth.rule import Rule
from policy.cel import Budget, CelError, Environment, Exhausted, prepare
from policy.cel.environment import vocabulary
from policy.cel.ext import LIBRARIES
from policy.cel.optionals import OPTIONAL
from policy.cel.standard import STANDARD
from policy.cel.types import DYN
from policy.permits import grants
from policy.permits.grants import LARGEST, LIBRARY, MOST, TYPE, allows, amounts_to_all, granted, ordered, unresolved, visible

ALICE = "User/alice"


def rule(verbs: str, resources: str = "", *, groups: str = "core", names: str = "", urls: str = "") -> Manifest:
    """A rule of a role, each list as words; the group `core` is the empty one."""
    found = {"verbs": verbs, "resources": resources, "resourceNames": names, "nonResourceURLs": urls}
    lists = {name: words.split() for name, words in found.items() if words}
    return lists | ({"apiGroups": ["" if group == "core" else group for group in groups.split()]} if resources else {})


def row(verbs: str, resources: str = "", **more: str) -> Manifest:
    """The row of such a rule, given to alice."""
    found = granted(ALICE, rule(verbs, resources, **more), via="RoleBinding solar/x", namespace="solar")
    assert found is not None
    return found


RBAC = "rbac.authorization.k8s.io"

QUESTIONS = [
    # A rule, a question, and the answer.
    (row("get list", "pods"), ("get", "", "pods"), True),
    (row("get list", "pods"), ("delete", "", "pods"), False),
    (row("get list", "pods"), ("get", "apps", "pods"), False),
    (row("get list", "pods"), ("get", "", "secrets"), False),
    (row("*", "pods"), ("delete", "", "pods"), True),
    (row("get", "*"), ("get", "", "secrets"), True),
    (row("get", "*"), ("get", "", "pods/log"), True),
    (row("get", "pods", groups="*"), ("get", "metrics.k8s.io", "pods"), True),
    (row("get", "pods", names="web-0"), ("get", "", "pods"), True),
    # Subresources.
    (row("get", "pods"), ("get", "", "pods/log"), False),
    (row("get", "pods/log"), ("get", "", "pods"), False),
    (row("get", "pods/log"), ("get", "", "pods/log"), True),
    (row("create", "pods/exec"), ("create", "", "pods/*"), True),
    (row("create", "pods"), ("create", "", "pods/*"), False),
    (row("create", "pods/*"), ("create", "", "pods/exec"), True),
    (row("create", "pods/*"), ("create", "", "pods"), False),
    (row("update", "*/scale", groups="apps"), ("update", "apps", "deployments/scale"), True),
    (row("update", "*/scale", groups="apps"), ("update", "apps", "deployments"), False),
    (row("update", "deployments/scale", groups="apps"), ("update", "apps", "*/scale"), True),
    (row("update", "deployments/status", groups="apps"), ("update", "apps", "*/scale"), False),
    # A question with wildcards asks for any such right.
    (row("get", "secrets"), ("*", "", "secrets"), True),
    (row("get", "secrets"), ("*", "*", "*"), True),
    (row("get", "secrets"), ("*", "", "pods"), False),
    (row("get", "secrets"), ("get", "*", "secrets"), True),
    # What lets one get all others.
    (row("escalate", "clusterroles", groups=RBAC), ("get", "", "secrets"), True),
    (row("bind", "roles", groups=RBAC, names="view"), ("get", "", "secrets"), True),
    (row("*", "roles", groups=RBAC), ("get", "", "secrets"), True),
    (row("create update", "roles rolebindings", groups=RBAC), ("get", "", "secrets"), False),
    (row("bind", "widgets", groups="example.com"), ("get", "", "secrets"), False),
    (row("impersonate", "users"), ("get", "", "secrets"), True),
    (row("impersonate", "serviceaccounts", names="robot"), ("get", "", "secrets"), True),
    (row("impersonate", "userextras/copyhold.dev/parent", groups="authentication.k8s.io"), ("get", "", "secrets"), True),
    (row("impersonate:user-info", "users", groups="authentication.k8s.io"), ("get", "", "secrets"), True),
    (row("impersonate", "widgets", groups="example.com"), ("get", "", "secrets"), False),
    (row("create", "serviceaccounts/token"), ("get", "", "secrets"), True),
    (row("create", "*/token"), ("get", "", "secrets"), True),
    (row("create", "serviceaccounts"), ("get", "", "secrets"), False),
    (row("get", "serviceaccounts/token"), ("get", "", "secrets"), False),
    (unresolved(ALICE, "the role is not there"), ("get", "", "secrets"), True),
]


@pytest.mark.parametrize(("given_row", "question", "expected"), QUESTIONS)
def test_a_row_allows_what_its_rule_does(given_row: Manifest, question: tuple[str, str, str], expected: bool) -> None:
    """Wildcards, subresources, names, and what lets one get everything."""
    assert allows([given_row], *question) is expected


def test_no_rows_allow_nothing() -> None:
    """A snapshot without RBAC gives no rights."""
    assert not allows([], "*", "*", "*")


def test_urls_are_no_resources() -> None:
    """They are shown, and no question about resources means them."""
    found = granted(ALICE, rule("get", urls="*"))
    assert found == {"subject": ALICE, "verbs": ["get"], "nonResourceURLs": ["*"]}
    assert not allows([found], "get", "*", "*")


def test_urls_within_a_namespace_are_not_given() -> None:
    """A RoleBinding to a ClusterRole with URLs gives the rest of it."""
    assert granted(ALICE, rule("get", urls="/metrics"), namespace="solar") is None
    assert granted(ALICE, {**rule("get", "pods"), "nonResourceURLs": ["/metrics"]}, namespace="solar") == {
        "subject": ALICE,
        "namespace": "solar",
        "verbs": ["get"],
        "apiGroups": [""],
        "resources": ["pods"],
    }


@pytest.mark.parametrize("empty", [{}, {"verbs": ["get"]}, {"resources": ["pods"], "apiGroups": [""]}, {"verbs": None}])
def test_an_empty_rule_is_no_row(empty: Manifest) -> None:
    """It gives nothing."""
    assert granted(ALICE, empty) is None


# Rows.

WORDS = st.lists(st.sampled_from(["get", "list", "create", "delete", "*"]), min_size=1, max_size=3, unique=True)
GROUPS = st.lists(st.sampled_from(["", "apps", "batch", "*"]), min_size=1, max_size=2, unique=True)
RESOURCES = st.lists(
    st.sampled_from(["pods", "pods/log", "secrets", "deployments", "deployments/scale", "*/scale", "*/log"]),
    min_size=1,
    max_size=3,
)
RULES = st.fixed_dictionaries({"verbs": WORDS, "apiGroups": GROUPS, "resources": RESOURCES})
SUBJECTS = st.sampled_from([ALICE, "Group/sre", "ServiceAccount/solar/robot"])


@st.composite
def some_rows(draw: st.DrawFn) -> list[Manifest]:
    """Rows of rules that give no power over others."""
    given_rules = draw(st.lists(st.tuples(SUBJECTS, RULES), max_size=5))
    found = [granted(subject, each, via="RoleBinding solar/x") for subject, each in given_rules]
    return [each for each in found if each is not None]


ASKED = st.tuples(
    st.sampled_from(["get", "list", "create", "watch"]),
    st.sampled_from(["", "apps", "example.com"]),
    st.sampled_from(["pods", "pods/log", "secrets", "deployments/scale", "widgets/scale"]),
)


@given(some_rows(), ASKED)
def test_the_answer_is_that_of_an_authorizer(rows: list[Manifest], question: tuple[str, str, str]) -> None:
    """For a right that is asked for by its name, the answer is what RBAC would decide."""
    verb, group, plural = question
    resource, _, sub = plural.partition("/")
    asked = Attributes(User("alice"), verb, group, "v1", resource, sub, namespace="solar", name="x")
    expected = any(amounts_to_all(each) or Rule.of(each).concerns(asked) for each in rows)
    assert allows(rows, *question) is expected


@given(some_rows(), some_rows(), ASKED)
def test_more_rows_never_allow_less(rows: list[Manifest], more: list[Manifest], question: tuple[str, str, str]) -> None:
    """A right that is given stays given."""
    assert allows([*rows, *more], *question) >= allows(rows, *question)


@given(some_rows(), st.randoms())
def test_the_order_in_which_rows_are_found_does_not_matter(rows: list[Manifest], random: Any) -> None:
    """The digest of a permit stands on their order."""
    shuffled = [*rows, *rows]
    random.shuffle(shuffled)
    assert ordered(shuffled) == ordered(rows)


@given(some_rows())
def test_a_row_has_the_form_of_the_status(rows: list[Manifest]) -> None:
    """Field by field as apis.copyhold.permitstatus declares it."""
    for each in [*rows, unresolved(ALICE, "because")]:
        assert Grant.model_validate(each).model_dump(mode="json", by_alias=True, exclude_defaults=True) == each


def test_the_lists_of_a_row_are_sorted() -> None:
    """A role whose verbs are written in another order gives the same."""
    assert row("list get get", "secrets pods") == row("get list", "pods secrets")


def test_too_many_rows_count_as_everything() -> None:
    """The status holds so many; what is cut off is not known to whoever reads it."""
    many = [row("get", f"widgets{index}") for index in range(MOST + 20)]
    found = ordered(many)
    assert len(found) == MOST + 1
    assert found[0]["unresolved"].startswith("more rights are given than a status can hold")
    assert allows(found, "get", "", "secrets")
    assert len(ordered(many[:MOST])) == MOST


def test_too_large_rows_count_as_everything() -> None:
    """A rule with thousands of names would not fit into the status."""
    large = granted("User/bob", rule("get", "secrets", names=" ".join(f"name-{index}" for index in range(LARGEST // 6))))
    assert large is not None
    found = ordered([row("get", "pods"), large, row("get", "services")])
    assert [each["subject"] for each in found] == ["*", ALICE]
    assert allows(found, "get", "", "nodes")


# Conditions.

VOCABULARY = vocabulary((STANDARD, OPTIONAL, *LIBRARIES, LIBRARY))
SEES = [row("get list", "pods"), unresolved("Group/sre", "ClusterRole ghost is not there", via="ClusterRoleBinding y")]


def asked(text: str, rows: list[Manifest], budget: Budget | None = None) -> Any:
    """Evaluate a condition over these rows, as they are shown to conditions; `request` is anything."""
    environment = Environment({"grants": TYPE, "request": DYN}, VOCABULARY)
    return prepare(text, environment).evaluate({"grants": visible(rows), "request": {"rows": rows, "numbers": [1]}}, budget)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grants.allow('get', '', 'pods')", True),
        ("!grants.allow('get', '', 'secrets')", True),
        ("grants.allow('*', '*', '*')", True),
        ("grants.exists(g, g.subject == 'User/alice' && 'pods' in g.resources)", True),
        ("grants.exists(g, g.subject == 'User/alice' && 'secrets' in g.resources)", False),
        ("grants.all(g, g.namespace == 'solar' && g.unresolved == '')", True),
        ("grants.filter(g, g.verbs.exists(v, v == 'list')).size() == 1", True),
        ("grants.filter(g, g.namespace == 'solar').allow('list', '', 'pods')", True),
        ("request.rows.allow('get', '', 'pods')", True),
        ("[].allow('get', '', 'pods')", False),
    ],
)
def test_a_condition_asks_of_the_grants(text: str, expected: bool) -> None:
    """By the function, or by looking at the rows."""
    assert asked(text, SEES[:1]) is expected


def test_every_key_of_a_row_can_be_read() -> None:
    """A row that lacks resources or a reason does not make a condition fail, and the status may leave them out."""
    for name in (*grants.TEXTS, *grants.LISTS):
        assert asked(f"grants.all(g, has(g.{name}) && g.{name} == g.{name})", SEES) is True
    assert asked("grants.exists(g, g.unresolved != '')", SEES) is True


@pytest.mark.parametrize(
    "text",
    [
        "'x'.allow('get', '', 'pods')",
        "[1].allow('get', '', 'pods')",
        "{'a': 1}.allow('get', '', 'pods')",
        "grants.allow('get', '')",
        "grants.allow('get', '', 1)",
        "allow('get', '', 'pods')",
    ],
)
def test_a_wrong_type_is_refused_when_the_condition_is_compiled(text: str) -> None:
    """A template with such a condition is Invalid."""
    with pytest.raises(CelError):
        prepare(text, Environment({"grants": TYPE}, VOCABULARY))


@pytest.mark.parametrize(
    "text",
    [
        "request.numbers.allow('get', '', 'pods')",
        "request.allow('get', '', 'pods')",
        "[{'a': 1}].map(x, dyn(x)).allow('get', '', 'pods')",
        "grants.allow('', '', 'pods')",
        "grants.allow('GET', '', 'pods')",
        "grants.allow('get', 'core', 'pods')",
        "grants.allow('get', 'v1', 'Pod')",
        "grants.allow('get', 'apps/v1', 'deployments')",
        "grants.allow('get', '', '')",
    ],
)
def test_a_question_that_no_right_could_answer_is_an_error(text: str) -> None:
    """Else `!grants.allow('get', '', 'Secret')` would always hold, and nobody would notice."""
    with pytest.raises(CelError):
        asked(text, SEES)


def test_a_question_costs_by_the_number_of_rows() -> None:
    """A condition that asks again and again is stopped."""
    rows = [row("get", f"widgets{index}") for index in range(200)]
    budget = Budget()
    asked("grants.allow('get', '', 'secrets')", rows, budget)
    assert budget.spent >= 200 * 20
    with pytest.raises(Exhausted):
        asked("grants.all(a, grants.all(b, !grants.allow('get', '', 'secrets')))", rows)


@given(some_rows(), ASKED)
def test_conditions_see_the_same_rights(rows: list[Manifest], question: tuple[str, str, str]) -> None:
    """What is filled in for conditions gives nothing."""
    assert allows(visible(rows), *question) is allows(rows, *question)
