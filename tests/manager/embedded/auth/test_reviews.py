"""What clients ask about users and rights."""

import pytest

from apis.meta import Manifest
from manager.embedded.attributes import AUTHENTICATED, MASTERS, User
from manager.embedded.auth.authenticate import Authenticator
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.auth.reviews import Reviews
from manager.embedded.auth.tokens import Tokens
from manager.embedded.status import StatusError
from manager.embedded.store import Store
from tests.manager.embedded.auth.stored import ALICE, Clock, binding, named, put, role, rule

PODS = {"verb": "get", "resource": "pods", "namespace": "blue"}
REASON = 'RBAC: allowed by RoleBinding "b/blue" of Role "r" to User "alice"'


@pytest.fixture
def reviews() -> Reviews:
    """A server where alice may get pods in the namespace blue, which has an account."""
    store, clock = Store(), Clock()
    put(store, role("r", rule("pods", "get"), namespace="blue"), binding("b", "Role/r", "User/alice", namespace="blue"))
    put(store, named("ServiceAccount", "robot", "blue"))
    tokens = Tokens(b"k" * 32, store, clock)
    authenticator = Authenticator({"secret": User("admin", groups=(MASTERS,))}, tokens)
    return Reviews(Authorizer(store), authenticator, tokens, store, clock)


def review(kind: str, group: str = "authorization.k8s.io", **spec: object) -> Manifest:
    """The body of a review."""
    return {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(
            review("SubjectAccessReview", user="alice", resourceAttributes=PODS), {"allowed": True, "reason": REASON}, id="may"
        ),
        pytest.param(review("SubjectAccessReview", user="bob", resourceAttributes=PODS), {"allowed": False}, id="may not"),
        pytest.param(
            review("SubjectAccessReview", groups=["system:masters"], resourceAttributes=PODS), {"allowed": True}, id="a group"
        ),
        pytest.param(
            review("SubjectAccessReview", user="alice", nonResourceAttributes={"path": "/x", "verb": "get"}),
            {"allowed": False},
            id="a path",
        ),
        pytest.param(
            review("SelfSubjectAccessReview", resourceAttributes=PODS), {"allowed": True, "reason": REASON}, id="oneself"
        ),
        pytest.param(
            review("LocalSubjectAccessReview", user="alice", resourceAttributes=PODS),
            {"allowed": True, "reason": REASON},
            id="in a namespace",
        ),
    ],
)
def test_a_review_says_whether_somebody_may(reviews: Reviews, body: Manifest, status: Manifest) -> None:
    """The question comes back with its answer."""
    answer = reviews.answer(body, ALICE, "blue")
    assert answer["status"] == status
    assert answer["spec"] == body["spec"]


EITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(review("SelfSubjectAccessReview"), f"spec.resourceAttributes: Invalid value: null: {EITHER}", id="nothing"),
        pytest.param(
            review("SubjectAccessReview", resourceAttributes=PODS),
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="nobody",
        ),
        pytest.param(
            review("SubjectAccessReview", user="a", resourceAttributes=PODS, nonResourceAttributes={"path": "/x"}),
            'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: cannot be specified in combination with'
            " resourceAttributes",
            id="two things",
        ),
        pytest.param(
            review("LocalSubjectAccessReview", user="a", resourceAttributes=PODS | {"namespace": "red"}),
            'spec.resourceAttributes.namespace: Invalid value: "red": must match metadata.namespace',
            id="elsewhere",
        ),
        pytest.param(
            review("SubjectAccessReview", user="a", resourceAttributes=PODS) | {"metadata": {"name": "x"}},
            'metadata: Invalid value: {"name":"x"}: must be empty',
            id="a name",
        ),
    ],
)
def test_a_review_that_asks_nothing_is_invalid(reviews: Reviews, body: Manifest, message: str) -> None:
    """422 in the words of the real server."""
    with pytest.raises(StatusError) as refused:
        reviews.answer(body, ALICE, "blue")
    assert refused.value.code == 422
    assert refused.value.message == f'.authorization.k8s.io "" is invalid: {message}'


def test_rules_are_listed(reviews: Reviews) -> None:
    """What one may in a namespace, resources and paths apart."""
    status = reviews.answer(review("SelfSubjectRulesReview", namespace="blue"), ALICE)["status"]
    resources = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    assert status == {"resourceRules": resources, "nonResourceRules": [], "incomplete": False}
    with pytest.raises(StatusError, match="no namespace on request"):
        reviews.answer(review("SelfSubjectRulesReview"), ALICE)


def test_one_is_told_who_one_is(reviews: Reviews) -> None:
    """`kubectl auth whoami`."""
    user = User("zoe", "z", (AUTHENTICATED,), {"a.b/c": ("d",)})
    status = reviews.answer(review("SelfSubjectReview", "authentication.k8s.io"), user)["status"]
    assert status["userInfo"] == {"username": "zoe", "uid": "z", "groups": [AUTHENTICATED], "extra": {"a.b/c": ["d"]}}


def test_a_token_is_told_apart(reviews: Reviews) -> None:
    """A token has an owner, or an error."""
    known = reviews.answer(review("TokenReview", "authentication.k8s.io", token="secret"), ALICE)["status"]
    assert known["user"]["username"] == "admin"
    unknown = reviews.answer(review("TokenReview", "authentication.k8s.io", token="other"), ALICE)["status"]
    assert unknown == {"user": {}, "error": "invalid bearer token"}


def test_an_account_gets_a_token(reviews: Reviews) -> None:
    """TokenRequest: for an hour when nothing is said, for this server, and it opens."""
    answer = reviews.request_token(review("TokenRequest", "authentication.k8s.io"), "blue", "robot")
    assert answer["spec"]["expirationSeconds"] == 3600
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    user, _ = reviews.authenticator.identify(answer["status"]["token"])
    assert user.name == "system:serviceaccount:blue:robot"


@pytest.mark.parametrize(
    ("body", "name", "code", "message"),
    [
        pytest.param({"spec": {}}, "none", 404, 'serviceaccounts "none" not found', id="no account"),
        pytest.param({"spec": {"expirationSeconds": 5}}, "robot", 422, "duration less than 10 minutes", id="too short"),
        pytest.param(
            {"spec": {"expirationSeconds": 1 << 33}},
            "robot",
            422,
            "duration larger than 2^32 seconds",
            id="too long",
        ),
        pytest.param({"metadata": {"name": "x"}}, "robot", 422, "must match the service account name", id="another name"),
        pytest.param({"metadata": {"uid": "x"}}, "robot", 409, "does not match the UID of the service account", id="another uid"),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1"}}},
            "robot",
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
            id="bound to a ConfigMap",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}}},
            "robot",
            404,
            'secrets "s" not found',
            id="bound to what is not there",
        ),
    ],
)
def test_a_token_that_cannot_be_is_refused(reviews: Reviews, body: Manifest, name: str, code: int, message: str) -> None:
    """Codes and words are those of the real server."""
    with pytest.raises(StatusError) as refused:
        reviews.request_token(body, "blue", name)
    assert refused.value.code == code
    assert message in refused.value.message
