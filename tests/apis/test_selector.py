"""Label selectors: Kubernetes' rules, and the text that says the same to a server."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.selector import Requirement, Selector

DEV = {"env": "dev", "app": "web"}


@pytest.mark.parametrize(
    ("requirement", "labels", "matches", "reason"),
    [
        pytest.param(Requirement("env", "In", ("dev", "test")), DEV, True, "one of the values", id="In"),
        pytest.param(Requirement("env", "In", ("prod",)), DEV, False, "none of the values", id="In, another value"),
        pytest.param(Requirement("team", "In", ("a",)), DEV, False, "absent is no value", id="In, absent"),
        pytest.param(Requirement("env", "In", ()), DEV, False, "nothing is in an empty set", id="In, nothing"),
        pytest.param(Requirement("env", "NotIn", ("prod",)), DEV, True, "another value", id="NotIn"),
        pytest.param(Requirement("env", "NotIn", ("dev",)), DEV, False, "that value", id="NotIn, that value"),
        pytest.param(Requirement("team", "NotIn", ("a",)), DEV, True, "absent is not in", id="NotIn, absent"),
        pytest.param(Requirement("env", "Exists"), DEV, True, "it is there", id="Exists"),
        pytest.param(Requirement("env", "Exists"), {"env": ""}, True, "an empty value is a value", id="Exists, empty"),
        pytest.param(Requirement("team", "Exists"), DEV, False, "it is not there", id="Exists, absent"),
        pytest.param(Requirement("team", "DoesNotExist"), DEV, True, "it is not there", id="DoesNotExist"),
        pytest.param(Requirement("env", "DoesNotExist"), DEV, False, "it is there", id="DoesNotExist, there"),
        pytest.param(Requirement("env", "In", ("",)), {"env": ""}, True, "an empty value can be asked for", id="In, empty"),
        pytest.param(Requirement("env", "In", ("",)), {}, False, "absent is not empty", id="In, empty and absent"),
    ],
)
def test_a_requirement_matches_as_kubernetes_says(
    requirement: Requirement, labels: dict[str, str], matches: bool, reason: str
) -> None:
    """Each operator, with the label there, other, empty and absent."""
    assert requirement.matches(labels) is matches, reason


def test_an_unknown_operator_is_refused() -> None:
    """Rather than matching by accident."""
    with pytest.raises(ValueError, match="'Gt' is not one of In, NotIn, Exists, DoesNotExist"):
        Requirement("env", "Gt", ("1",)).matches(DEV)


def test_without_requirements_everything_matches() -> None:
    """As an empty `metav1.LabelSelector` does."""
    assert Selector().matches({})
    assert Selector.of({}).matches(DEV)
    assert str(Selector()) == ""


def test_both_halves_have_to_match() -> None:
    """`matchLabels` and `matchExpressions` are joined by and."""
    selector = Selector.of({"env": "dev"}, [Requirement("app", "Exists")])
    assert selector.matches(DEV)
    assert not selector.matches({"env": "dev"})
    assert not selector.matches({"app": "web"})
    assert selector.keys == {"env", "app"}


def test_equal_labels_make_equal_selectors() -> None:
    """Whatever their order: a source is recognised by its text."""
    first, second = Selector.of({"a": "1", "b": "2"}), Selector.of({"b": "2", "a": "1"})
    assert first == second
    assert str(first) == "a in (1),b in (2)"


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (Requirement("env", "In", ("dev", "test")), "env in (dev,test)"),
        (Requirement("env", "NotIn", ("prod",)), "env notin (prod)"),
        (Requirement("example.com/env", "Exists"), "example.com/env"),
        (Requirement("env", "DoesNotExist"), "!env"),
        (Requirement("env", "In", ("",)), "env in ()"),
    ],
)
def test_the_text_is_what_a_server_reads(requirement: Requirement, text: str) -> None:
    """The set-based form of `labelSelector`."""
    assert str(Selector((requirement,))) == text


def _server_matches(text: str, labels: dict[str, str]) -> bool:
    """A server's reading of the text, in its own way: written apart from the code under test."""
    for part in re.findall(r"[^,()]+(?:\([^)]*\))?", text):
        found = re.fullmatch(r"(\S+) (in|notin) \(([^)]*)\)", part)
        if found:
            key, operator, values = found[1], found[2], set(found[3].split(","))
            inside = key in labels and labels[key] in values
            if inside != (operator == "in"):
                return False
        elif part.startswith("!") == (part.lstrip("!") in labels):
            return False
    return True


KEYS = st.sampled_from(["a", "b", "example.com/c"])
VALUES = st.sampled_from(["", "x", "y"])
REQUIREMENTS = st.builds(
    Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1, max_size=2).map(tuple)
) | st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"]))


@given(st.lists(REQUIREMENTS, max_size=3), st.dictionaries(KEYS, VALUES, max_size=3))
def test_a_server_that_reads_the_text_selects_the_same(parts: list[Requirement], labels: dict[str, str]) -> None:
    """What we match ourselves and what a server lists for us never differ."""
    selector = Selector(tuple(parts))
    assert _server_matches(str(selector), labels) == selector.matches(labels)


@given(st.dictionaries(KEYS, VALUES, max_size=3), st.dictionaries(KEYS, VALUES, max_size=3))
def test_match_labels_is_a_subset_test(wanted: dict[str, str], labels: dict[str, str]) -> None:
    """Every wanted label with its value."""
    assert Selector.of(wanted).matches(labels) == (wanted.items() <= labels.items())
