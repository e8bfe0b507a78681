"""Answers of the API server become problems that say who must act, and never carry what an object holds."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.problems import Blocked, Conflict, Expired, Forbidden, Gone, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason
from manager.answers import ANEW, LIMIT, Request, event_problem, problem

APPLY = Request("PATCH", "ConfigMap team/limits", "configmaps", apply=True)
READ = Request("GET", "ConfigMap team/limits", "configmaps")
SECRET = Request("PATCH", "Secret team/login", "secrets", sensitive=True, apply=True)


def status(message: str, **details: Any) -> bytes:
    """A Status as the server writes it."""
    return orjson.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "details": details})


def cause(reason: str, message: str = "", field: str = "") -> dict[str, str]:
    """One entry of `details.causes`."""
    return {"reason": reason, "message": message, "field": field}


POLICY = "ValidatingAdmissionPolicy 'no-debug' with binding 'everywhere' denied request: failed expression: object.x"
WEBHOOK = 'admission webhook "images.example.org" denied the request: use our registry'
TYPED = "failed to create typed patch object (team/limits; apps/v1, Kind=Deployment): "


@pytest.mark.parametrize(
    ("code", "body", "kind", "reason"),
    [
        pytest.param(400, status("generateName with apply"), Invalid, Reason.INVALID, id="a bad request is the author's"),
        pytest.param(401, status("Unauthorized"), Forbidden, Reason.FORBIDDEN, id="unknown credentials are refused rights"),
        pytest.param(403, status("cannot patch"), Forbidden, Reason.FORBIDDEN, id="RBAC refuses"),
        pytest.param(403, status(f'configmaps "a" is forbidden: {POLICY}'), Forbidden, Reason.REFUSED, id="a policy's Forbidden"),
        pytest.param(403, status(WEBHOOK), Forbidden, Reason.REFUSED, id="a webhook's Forbidden"),
        pytest.param(422, status(f'configmaps "a" is forbidden: {POLICY}'), Blocked, Reason.REFUSED, id="a policy's Invalid"),
        pytest.param(400, status(WEBHOOK), Blocked, Reason.REFUSED, id="a webhook without a code of its own"),
        pytest.param(409, status(WEBHOOK), Blocked, Reason.REFUSED, id="a webhook that says Conflict is no stale object"),
        pytest.param(404, status(WEBHOOK), Blocked, Reason.REFUSED, id="a webhook that says NotFound is no missing object"),
        pytest.param(405, status("not allowed"), Invalid, Reason.INVALID, id="a verb that the kind lacks"),
        pytest.param(409, status("the object has been modified"), Stale, Reason.STALE, id="another resourceVersion"),
        pytest.param(409, status("uid mismatch: no existing object was found"), Stale, Reason.STALE, id="another uid"),
        pytest.param(409, status('configmaps "a" already exists'), Stale, Reason.STALE, id="a create that lost"),
        pytest.param(410, status("too old resource version"), Expired, Reason.UNAVAILABLE, id="an expired version"),
        pytest.param(413, b"", Invalid, Reason.INVALID, id="a request that is too large"),
        pytest.param(
            413, status("Request entity too large: limit is 3145728"), Invalid, Reason.INVALID, id="too large for the API"
        ),
        pytest.param(500, status("etcdserver: request is too large"), Invalid, Reason.INVALID, id="too large for etcd"),
        pytest.param(
            500, status("rpc error: trying to send message larger than max"), Invalid, Reason.INVALID, id="too large for grpc"
        ),
        pytest.param(415, status("unsupported"), Invalid, Reason.APPLY_UNSUPPORTED, id="a group that knows no apply"),
        pytest.param(422, status("spec.replicas: Invalid value"), Invalid, Reason.INVALID, id="an invalid value"),
        pytest.param(
            422, status("the server rejected our request due to an error in our request"), Stale, Reason.STALE, id="a failed test"
        ),
        pytest.param(429, status("too many requests"), Unavailable, Reason.UNAVAILABLE, id="a throttle"),
        pytest.param(
            500,
            status("request to convert CR to an invalid group/version: example.org/v1alpha1"),
            Stale,
            Reason.VERSION_GONE,
            id="managedFields of a version that is gone",
        ),
        pytest.param(500, status("boom"), Unavailable, Reason.UNAVAILABLE, id="a failure of the server"),
        pytest.param(
            500, status(f"{TYPED}.spec.x: field not declared in schema"), Invalid, Reason.INVALID, id="an unknown field"
        ),
        pytest.param(503, b"upstream connect error", Unavailable, Reason.UNAVAILABLE, id="a proxy without a server"),
        pytest.param(302, b"", Unavailable, Reason.UNAVAILABLE, id="a redirect is not followed"),
        pytest.param(418, b"null", Unavailable, Reason.UNAVAILABLE, id="a code that nobody knows"),
    ],
)
def test_an_answer_says_who_must_act(code: int, body: bytes, kind: type[Problem], reason: Reason) -> None:
    """Each status code and message has one class of problem, and exactly that class."""
    found = problem(APPLY, code, body)
    assert (type(found), found.reason) == (kind, reason)


@pytest.mark.parametrize(
    ("message", "manager"),
    [
        ('conflict with "kubectl"', "kubectl"),
        ('conflict with "kubectl-client-side-apply" using v1', "kubectl-client-side-apply"),
        ('conflict with "hpa" using autoscaling/v2 at 2026-01-02T03:04:05Z', "hpa"),
        (
            'conflict with "kube-controller-manager" with subresource "status" using v1 at 2026-01-02T03:04:05Z',
            "kube-controller-manager",
        ),
        ('conflict with "copyhold.dev/tenantresource/0f" with subresource "status"', "copyhold.dev/tenantresource/0f"),
        (r'conflict with "a \"quoted\" name" using v1', 'a "quoted" name'),
        (r'conflict with "bell \a rings"', r"bell \a rings"),
        ("words that no server has said yet", "an unnamed manager"),
    ],
)
def test_a_conflict_names_the_manager_in_each_form_of_the_message(message: str, manager: str) -> None:
    """Apply managers are only quoted; Update managers come with a version, a time and perhaps a subresource."""
    found = problem(APPLY, 409, status("Apply failed", causes=[cause("FieldManagerConflict", message, ".spec.replicas")]))
    assert isinstance(found, Conflict)
    assert found.fields == {".spec.replicas": manager}
    assert ".spec.replicas" in found.message
    assert manager in found.message


def test_a_conflict_names_every_field_and_every_manager() -> None:
    """One cause for each pair; two managers of one field are both named."""
    causes = [
        cause("FieldManagerConflict", 'conflict with "one"', ".data.a"),
        cause("FieldManagerConflict", 'conflict with "two"', ".data.a"),
        cause("FieldManagerConflict", 'conflict with "two"', ".data.b"),
    ]
    found = problem(APPLY, 409, status("Apply failed with 3 conflicts", causes=causes))
    assert isinstance(found, Conflict)
    assert found.fields == {".data.a": "one, two", ".data.b": "two"}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (".spec.foo: field not declared in schema", ".spec.foo: field not declared in schema"),
        ('.spec.c[name="a b"].x: field not declared in schema', '.spec.c[name="a b"].x: field not declared in schema'),
        ('.data.n: expected string, got &value.valueUnstructured{Value:"x"}', ".data.n: expected string"),
        ("errors:\n  .a: field not declared in schema\n  .b: expected map, got &{1}", ".a: field not declared in schema"),
        (
            '.spec.ports: element 0: associative list with keys has an element that omits key field "protocol"',
            'omits key field "protocol"',
        ),
        ("something new", "does not fit the schema"),
    ],
)
def test_a_manifest_that_does_not_fit_its_schema_names_the_field(message: str, words: str) -> None:
    """These come as 500 although they are the author's mistake; what stands in the field is not repeated."""
    found = problem(APPLY, 500, status(TYPED + message))
    assert isinstance(found, Invalid)
    assert words in found.message
    assert "got" not in found.message


@pytest.mark.parametrize(
    ("request_", "body", "what"),
    [
        (READ, status('configmaps "limits" not found', name="limits", kind="configmaps"), "object"),
        (APPLY, status('namespaces "team" not found', name="team", kind="namespaces"), "namespace"),
        (
            Request("GET", "Namespace team", "namespaces"),
            status('namespaces "team" not found', name="team", kind="namespaces"),
            "object",
        ),
        (READ, b"404 page not found\n", "kind"),
        (READ, status("the server could not find the requested resource"), "kind"),
    ],
)
def test_gone_says_what_is_gone(request_: Request, body: bytes, what: str) -> None:
    """The object, its namespace and its kind are three different things to lose."""
    found = problem(request_, 404, body)
    assert isinstance(found, Gone)
    assert found.what == what


def test_a_terminating_namespace_is_told_from_missing_rights() -> None:
    """Both are 403; the cause tells them apart."""
    body = status(
        "forbidden: unable to create new content", causes=[cause("NamespaceTerminating", "namespace team is being terminated")]
    )
    found = problem(APPLY, 403, body)
    assert isinstance(found, Forbidden)
    assert found.namespace_terminating
    assert not problem(APPLY, 403, status("cannot")).namespace_terminating  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("7", {}, 7.0),
        (None, {"retryAfterSeconds": 3}, 3.0),
        ("2", {"retryAfterSeconds": 9}, 2.0),
        (None, {}, None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", {}, None),
        ("-1", {}, None),
        ("nan", {}, None),
        ("1e9", {}, None),
    ],
)
def test_a_throttle_says_how_long_to_wait(header: str | None, details: dict[str, Any], seconds: float | None) -> None:
    """The header decides, then the details; nonsense counts as nothing."""
    found = problem(READ, 429, status("slow down", **details), retry_after=header)
    assert isinstance(found, Unavailable)
    assert found.retry_after == seconds


@pytest.mark.parametrize(
    ("request_", "code", "message", "maybe"),
    [
        (APPLY, 500, "boom", True),
        (APPLY, 504, "timeout", True),
        (READ, 500, "boom", False),
        (APPLY, 429, "slow down", False),
        (APPLY, 500, 'Internal error occurred: failed calling webhook "a": connection refused', False),
    ],
)
def test_a_write_that_may_have_been_carried_out_says_so(request_: Request, code: int, message: str, maybe: bool) -> None:
    """After a 5xx the storage may have the write; a throttle and a webhook that was not reached stand before the storage."""
    found = problem(request_, code, status(message))
    assert isinstance(found, Unavailable)
    assert found.maybe_done is maybe


def test_messages_are_bounded() -> None:
    """A server's message of any length leaves a bounded one that still names the object."""
    found = problem(APPLY, 422, status("x" * 100_000))
    assert len(found.message) == LIMIT
    assert found.message.startswith("ConfigMap team/limits: xxx")


@pytest.mark.parametrize(("code", "kind"), [(410, Expired), (429, Unavailable), (500, Unavailable), (403, Forbidden)])
def test_an_error_event_means_what_its_status_means(code: int, kind: type[Problem]) -> None:
    """A watch reports with an ERROR event what a request reports with a status code."""
    assert type(event_problem(READ, {"kind": "Status", "code": code, "message": "m"})) is kind


@pytest.mark.parametrize("item", [None, "text", {}, {"code": "410"}])
def test_an_error_event_without_a_code_is_unavailable(item: Any) -> None:
    """What cannot be read is tried again."""
    assert type(event_problem(READ, item)) is Unavailable


@given(st.integers(300, 599), st.binary(max_size=300))
def test_no_answer_is_too_strange(code: int, body: bytes) -> None:
    """Whatever a proxy or a broken server sends, there is a problem for it."""
    assert isinstance(problem(APPLY, code, body), Problem)
    assert isinstance(problem(SECRET, code, body), Problem)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["causes", "kind", "reason", "field"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from([400, 403, 404, 409, 422, 429, 500]), json_like, json_like)
def test_no_status_is_too_strange(code: int, message: Any, details: Any) -> None:
    """Fields of a Status may have any type without breaking us."""
    assert isinstance(problem(APPLY, code, orjson.dumps({"message": message, "details": details})), Problem)


# Secrets (case 103).

VALUE = "hunter2"
SECRET_TYPED = "failed to create typed patch object (team/login; /v1, Kind=Secret): "
RBAC = 'secrets "login" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "secrets" in API group ""'
ECHOES = [
    (422, f'Secret "login" is invalid: data[key]: Invalid value: "{VALUE}": must be valid'),
    (422, f"Secret \"login\" is invalid: data: Invalid value: map[string]string{{'a': '{VALUE}'}}: no"),
    (422, f"Secret \"login\" is invalid: data[key]: Invalid value: {VALUE}: bare"),
    (500, f'{SECRET_TYPED}.data.key: expected string, got &value.valueUnstructured{{Value:"{VALUE}"}}'),
    (500, f"{SECRET_TYPED}.data.key: expected map, got &{{{VALUE}}}"),
    (500, f"{SECRET_TYPED}.data.key: {VALUE} is not good"),
    (500, f"{SECRET_TYPED}.data.{{{VALUE}}}: expected string, got x"),
    (500, f"{SECRET_TYPED}errors:\n  .data.a: expected string, got &{{x\n  .{VALUE}: y}}"),
    (400, f'Secret in version "v1" cannot be handled as a Secret: illegal base64 data in "{VALUE}"'),
    (403, f'secrets "login" is forbidden: {POLICY} {VALUE}'),
    (422, f'secrets "login" is forbidden: ValidatingAdmissionPolicy \'p {VALUE}\' with binding \'b\' denied request: x'),
    (400, f'admission webhook "hook.example.org" denied the request: password {VALUE} is weak'),
    (403, f"{RBAC}: {VALUE}"),
    (404, f'secrets "login" not found: {VALUE}'),
    (409, f"Operation cannot be fulfilled: {VALUE}"),
    (410, VALUE),
    (415, VALUE),
    (429, VALUE),
    (500, f'failed calling webhook "w": it said {VALUE}'),
    (500, f"etcdserver: request is too large: {VALUE}"),
    (503, VALUE),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message"), ECHOES)
def test_case_103_no_echo_of_a_secret_gets_through(code: int, message: str) -> None:
    """Whatever shape the echo has - quoted, in braces, bare, on a second line - the value is not in our message."""
    causes = [cause("FieldValueInvalid", f'Invalid value: "{VALUE}"', "data[key]"), cause(VALUE, VALUE, VALUE)]
    for body in (status(message), status(message, causes=causes), message.encode()):
        found = problem(SECRET, code, body)
        assert VALUE not in str(found)
        assert VALUE not in repr(found)
        assert str(found).startswith("Secret team/login: ")


@given(st.sampled_from([400, 403, 404, 409, 410, 413, 415, 422, 429, 500, 503]), st.text(max_size=60), st.text(max_size=60))
def test_case_103_no_text_around_a_secret_lets_it_through(code: int, before: str, after: str) -> None:
    """Any text of the server around a value that no rule can know of still hides it."""
    assert "hunter2!" not in str(problem(SECRET, code, status(f"{before}hunter2!{after}")))


@pytest.mark.parametrize(
    ("code", "body", "words"),
    [
        (403, status(f'{RBAC} in the namespace "team"'), 'User "system:serviceaccount:a:b" cannot patch'),
        (403, status(RBAC), "cannot patch resource"),
        (404, status('secrets "login" not found', kind="secrets"), "not found"),
        (404, status('namespaces "team" not found', kind="namespaces"), 'namespaces "team" not found'),
        (409, status('secrets "login" already exists'), "already exists"),
        (422, status("x", causes=[cause("FieldValueInvalid", 'Invalid value: "v"', "data[a b]")]), "left out"),
        (
            422,
            status("x", causes=[cause("FieldValueInvalid", 'Invalid value: "v"', "data[tls.crt]")]),
            "data[tls.crt]: FieldValueInvalid",
        ),
        (
            500,
            status(f"{SECRET_TYPED}.dat: field not declared in schema"),
            ".dat: field not",
        ),
        (
            500,
            status(f"{SECRET_TYPED}.data.a: expected string, got 1"),
            ".data.a: expected string",
        ),
        (422, status(POLICY), "denied by the ValidatingAdmissionPolicy no-debug"),
        (400, status(WEBHOOK), "denied by the admission webhook images.example.org"),
        (
            409,
            status("x", causes=[cause("FieldManagerConflict", 'conflict with "eso"', ".data.key")]),
            ".data.key is held by eso",
        ),
    ],
)
def test_what_users_need_to_know_about_a_secret_is_kept(code: int, body: bytes, words: str) -> None:
    """Names, fields, managers and the kind of fault are no content."""
    assert words in str(problem(SECRET, code, body))


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        pytest.param('Invalid value: {"kind":"Role"}: cannot change roleRef', True, id="the role of a binding"),
        pytest.param("Invalid value: 1: field is immutable", True, id="an immutable field"),
        pytest.param("Invalid value: 1: must be even", False, id="a field that may be changed"),
    ],
)
def test_an_immutable_field_comes_with_what_to_do(message: str, remedy: bool) -> None:
    """Nothing is deleted and made anew to get around it: that is the user's decision."""
    found = problem(APPLY, 422, status("it is invalid", causes=[cause("FieldValueInvalid", message, "spec.x")]))
    assert isinstance(found, Invalid)
    assert str(found).endswith(ANEW) is remedy
