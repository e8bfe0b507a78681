"""Who sends a request: tokens of the server and of ServiceAccounts."""

import pytest

from manager.embedded.attributes import AUTHENTICATED, MASTERS, User
from manager.embedded.auth.authenticate import Authenticator
from manager.embedded.auth.tokens import BadToken, Bound, Tokens
from manager.embedded.status import StatusError
from manager.embedded.store import Key, Store
from tests.manager.embedded.auth.stored import Clock, drop, named, put

ADMIN = User("admin", groups=(MASTERS,))
KEY = b"k" * 32


class Desk:
    """A store with one account, and what knows its tokens."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store()
        put(self.store, named("ServiceAccount", "robot", "blue"))
        self.tokens = Tokens(KEY, self.store, self.clock)
        self.authenticator = Authenticator({"secret": ADMIN}, self.tokens)

    def token(self, seconds: int = 3600, **rest: object) -> str:
        """A token of the account."""
        account = self.store.read(Key("serviceaccounts", "blue", "robot"))
        assert account is not None
        return self.tokens.issue(account, seconds=seconds, **{"audiences": ["https://kubernetes.default.svc"], **rest})  # type: ignore[arg-type]

    def knows(self, token: str) -> bool:
        """Is the sender of this token known?"""
        try:
            self.authenticator.authenticate([("Authorization", f"Bearer {token}")])
        except StatusError:
            return False
        return True


@pytest.fixture
def desk() -> Desk:
    """A desk of the test's own."""
    return Desk()


def test_a_token_of_the_server_is_its_owner(desk: Desk) -> None:
    """The owner is in system:authenticated without saying so."""
    user = desk.authenticator.authenticate([("authorization", "bearer  secret")])
    assert user == User("admin", groups=(MASTERS, AUTHENTICATED))


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([], id="nothing"),
        pytest.param([("Authorization", "Basic secret")], id="another scheme"),
        pytest.param([("Authorization", "Bearer")], id="no token"),
        pytest.param([("Authorization", "Bearer other")], id="another token"),
        pytest.param([("Authorization", "Bearer a.b.c")], id="what looks like one"),
        pytest.param([("Authorization", "Bearer ü")], id="what is no ASCII"),
    ],
)
def test_without_a_token_there_is_nobody(desk: Desk, headers: list[tuple[str, str]]) -> None:
    """There are no anonymous requests."""
    with pytest.raises(StatusError) as refused:
        desk.authenticator.authenticate(headers)
    assert (refused.value.code, refused.value.message) == (401, "Unauthorized")


def test_an_account_is_known_by_its_token(desk: Desk) -> None:
    """Name, uid, groups and the mark of the token are those of the real server."""
    user, _ = desk.authenticator.identify(desk.token())
    assert (user.name, user.uid) == ("system:serviceaccount:blue:robot", "uid-100")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:blue", AUTHENTICATED)
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


def test_a_token_of_an_account_ends(desk: Desk) -> None:
    """It is good for the time that was asked for, and a minute for clocks that differ."""
    token = desk.token(600)
    desk.clock.advance(minutes=10)
    assert desk.knows(token)
    desk.clock.advance(seconds=61)
    assert not desk.knows(token)


def test_a_token_dies_with_its_account(desk: Desk) -> None:
    """An account that is made anew under the same name is another one."""
    token = desk.token()
    drop(desk.store, "ServiceAccount", "robot", "blue")
    assert not desk.knows(token)
    put(desk.store, named("ServiceAccount", "robot", "blue"))
    assert not desk.knows(token)


def test_a_token_of_an_account_that_is_leaving_is_good_for_a_minute(desk: Desk) -> None:
    """Finalizers may keep an account; its tokens end all the same."""
    token = desk.token()
    leaving = named("ServiceAccount", "robot", "blue")
    leaving["metadata"] |= {"uid": "uid-100", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    put(desk.store, leaving)
    assert desk.knows(token)
    desk.clock.advance(seconds=61)
    assert not desk.knows(token)


def test_a_token_dies_with_what_it_is_bound_to(desk: Desk) -> None:
    """The token of a Pod ends with the Pod, and says which one it is."""
    put(desk.store, named("Pod", "p", "blue"))
    token = desk.token(bound=Bound("pods", "p", "uid-101"))
    user, _ = desk.authenticator.identify(token)
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("p",)
    drop(desk.store, "Pod", "p", "blue")
    assert not desk.knows(token)


def test_a_token_for_others_is_none_for_the_server(desk: Desk) -> None:
    """The audience of a token is who may take it."""
    token = desk.token(audiences=["vault", "bank"])
    assert not desk.knows(token)
    assert desk.authenticator.identify(token, ["bank", "shop"])[1] == ("bank",)
    with pytest.raises(BadToken, match='invalid for the target audiences \\["shop"\\]'):
        desk.authenticator.identify(token, ["shop"])


def test_a_token_of_another_key_is_none(desk: Desk) -> None:
    """Whoever has not this server's key makes no tokens, nor changes one."""
    other = Tokens(b"o" * 32, desk.store, desk.clock)
    account = desk.store.read(Key("serviceaccounts", "blue", "robot"))
    assert account is not None
    assert not desk.knows(other.issue(account, audiences=["https://kubernetes.default.svc"], seconds=600))
    head, claims, signature = desk.token().split(".")
    assert not desk.knows(f"{head}.{claims}A.{signature}")
    assert not desk.knows(f"{head}.{claims}.")
