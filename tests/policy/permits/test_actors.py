"""Who somebody is, from what the API server says of them."""

from typing import Any

import pytest

from apis.meta import Manifest
from policy.permits.actors import SYSTEM, actor_of, requester_of, same
from policy.permits.refusal import Refused
from tests.policy.permits.build import ALICE, permit


@pytest.mark.parametrize(
    ("user", "actor"),
    [
        ({"username": "sue", "uid": "7", "groups": ["sre"]}, {"name": "sue", "type": "User", "uid": "7", "groups": ["sre"]}),
        ({"username": "sue", "uid": "", "extra": {"scopes": ["x"]}}, {"name": "sue", "type": "User", "groups": []}),
        (
            {"username": "system:serviceaccount:ci:bot", "groups": None},
            {"name": "system:serviceaccount:ci:bot", "type": "ServiceAccount", "groups": []},
        ),
        (
            {"username": "system:serviceaccount:", "uid": None},
            {"name": "system:serviceaccount:", "type": "ServiceAccount", "groups": []},
        ),
        ({"username": "copyhold"}, {"name": "copyhold", "type": "User", "groups": []}),
    ],
)
def test_an_actor_is_the_authenticated_user(user: Manifest, actor: Manifest) -> None:
    """Nobody is the manager by their name."""
    assert actor_of(user) == actor


@pytest.mark.parametrize("user", [{}, {"username": ""}, {"groups": ["system:masters"]}])
def test_nobody_is_no_actor(user: Manifest) -> None:
    """A request without a user is refused."""
    with pytest.raises(Refused, match="names no user") as caught:
        actor_of(user)
    assert caught.value.code == 403


def test_the_requester_comes_without_the_seal_and_with_groups() -> None:
    """Conditions may ask for groups without looking whether there are any."""
    assert requester_of(permit()) == ALICE
    bare = {"spec": {"requester": {"name": "a", "type": "User"}}}
    assert requester_of(bare) == {"name": "a", "type": "User", "groups": []}


@pytest.mark.parametrize(
    "spec", [None, {}, {"requester": None}, {"requester": {"name": "a"}}, {"requester": {"name": "", "type": "User"}}]
)
def test_a_permit_that_names_no_requester_is_refused(spec: Any) -> None:
    """It was made past admission."""
    with pytest.raises(Refused, match=r"spec\.requester is missing"):
        requester_of({"spec": spec})


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ({"name": "a", "uid": "1"}, {"name": "a", "uid": "1"}, True),
        ({"name": "a", "uid": "1"}, {"name": "a"}, True),
        ({"name": "a", "uid": "1"}, {"name": "a", "uid": "2"}, True),
        ({"name": "a", "uid": "1"}, {"name": "b", "uid": "1"}, True),
        ({"name": "a", "uid": ""}, {"name": "b", "uid": ""}, False),
        ({"name": "a"}, {"name": "b"}, False),
        (SYSTEM, SYSTEM, True),
        (SYSTEM, {"name": "copyhold", "type": "User"}, False),
    ],
)
def test_one_person_is_known_by_name_or_by_uid(one: Manifest, other: Manifest, verdict: bool) -> None:
    """Either is enough, so that neither a new account of the same name nor a new name makes a second person."""
    assert same(one, other) is same(other, one) is verdict
