"""What the tests of permits do again and again: give, end, let time pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from apis.intent import Identity
from manager.permits.keys import Keyring
from tests.support.api import Manifest, eventually, ref
from tests.support.names import fresh
from tests.support.permits import Permits
from tests.support.running import Running
from tests.support.stage import RBAC

ADMISSION = "admissionregistration.k8s.io/v1"

MAPS: dict[str, Any] = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"]}
"""What an account needs for ConfigMaps that it gives and takes back."""


def target(permits: Permits, name: str = "temporary") -> Manifest:
    """A ConfigMap of the namespace in which permits are asked for; `temporary` is what templates give unless told otherwise."""
    return ref("v1", "ConfigMap", name, permits.home)


def clerk(permits: Permits, *rules: Manifest, namespace: str | None = None) -> Identity:
    """An account that may do this and no more, for `impersonation`; without rules it may keep ConfigMaps in `home`."""
    account = permits.stage.service_account(fresh("clerk"))
    permits.stage.grant(account, list(rules) or [MAPS], permits.home if namespace is None else namespace)
    return account


def pass_time(manager: Running, **by: float) -> None:
    """Let time pass for the manager, and let it look at everything."""
    manager.clock.forward(**by)
    wake(manager)


def wake(manager: Running) -> None:
    """Let the manager look at everything, as it does when it takes over."""

    async def look(controller: Any) -> None:
        controller.gained()

    manager.call(look)


def given(permits: Permits, template: Manifest, **how: Any) -> Manifest:
    """A permit that was asked for, approved by bob, and is active."""
    permit = permits.asked(template, **how)
    permits.approve(permit)
    return permits.reaches(permit, "Active")


def expire(permits: Permits, permit: Manifest) -> Manifest:
    """Bob ends a permit that is kept as a record; answers it once everything is taken back."""
    permits.patch(permit, phase="Expired").expect(200)
    return permits.stage.becomes(permit, lambda live: said(live)[0] == "Expired")


def said(permit: Manifest) -> tuple[str, str]:
    """Reason and message of the condition Ready."""
    conditions = permit["status"].get("conditions") or [{"reason": "", "message": ""}]
    return conditions[0]["reason"], conditions[0]["message"]


def stuck(permits: Permits, permit: Manifest, reason: str = "TemplateRenderingFailed") -> str:
    """Wait until the permit says with this reason why it stays Created, without a snapshot; answers the message."""
    live = permits.stage.becomes(permit, lambda live: bool(live.get("status")) and said(live)[0] == reason)
    assert live["status"]["phase"] == "Created"
    assert "request" not in live["status"]
    return said(live)[1]


def strip(permits: Permits, user: str) -> None:
    """Take away all rights that a user was given in the namespace; they are gone when this returns."""
    api = permits.stage.api
    for binding in api.list(f"{RBAC}/v1", "RoleBinding", permits.home).expect(200).body["items"]:
        name = f"system:serviceaccount:{permits.home}:{binding['subjects'][0]['name']}"
        if user in (name, binding["subjects"][0]["name"]):
            api.delete(binding | {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding"}).expect(200)
    review = {"user": user, "resourceAttributes": {"verb": "create", "resource": "configmaps", "namespace": permits.home}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": review}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    eventually(lambda: not api.request("POST", path, body).expect(201).body["status"]["allowed"])


@contextmanager
def unwritable(
    permits: Permits, sample: Manifest, plural: str, *, tried: bool = False, says: str = "'not now'"
) -> Iterator[None]:
    """Within the block somebody's policy refuses to write an object like `sample`, and with `tried` a dry run, too.

    `says` is the message, as CEL. Without `tried` what is wrong can only be seen when it is applied.
    """
    stage = permits.stage
    name = stage.name("unwritable")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": [plural], "operations": ["CREATE", "UPDATE"]}
    passes = f"object.metadata.name != '{sample['metadata']['name']}'" + ("" if tried else " || request.dryRun")
    spec = {
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": permits.home}},
            "resourceRules": [rule],
        },
        "validations": [{"expression": passes, "messageExpression": says}],
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    policy = stage.create(ref(ADMISSION, "ValidatingAdmissionPolicy", name) | {"spec": spec})
    binding = stage.create(ref(ADMISSION, "ValidatingAdmissionPolicyBinding", name) | {"spec": bound})
    eventually(lambda: not _is_writable(permits, sample))
    yield
    for manifest in (binding, policy):
        stage.api.delete(manifest).expect(200)
    eventually(lambda: _is_writable(permits, sample))


@contextmanager
def unanswered(permits: Permits) -> Iterator[None]:
    """Within the block somebody's webhook for ConfigMaps does not answer, so that every write of one in `home` ends in a 500."""
    stage = permits.stage
    name = stage.name("unanswered")
    hook = {
        "name": "unanswered.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": permits.home}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}],
    }
    made = stage.create(ref(ADMISSION, "ValidatingWebhookConfiguration", name) | {"webhooks": [hook]})
    sample = ref("v1", "ConfigMap", "sample", permits.home)
    eventually(lambda: stage.api.create(sample, dryRun="All").status == 500)
    yield
    stage.api.delete(made).expect(200)
    eventually(lambda: stage.api.create(sample, dryRun="All").status == 201)


def _is_writable(permits: Permits, sample: Manifest) -> bool:
    """Can it be made? A server obeys a policy, and forgets it, a moment after it was told."""
    reply = permits.stage.api.create(sample)
    if reply.status == 201:
        permits.stage.api.delete(sample).expect(200)
    return reply.status == 201


def token_of(permits: Permits, account: str) -> str:
    """A token by which an account of `home` proves itself."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{permits.home}/serviceaccounts/{account}/token"
    token: str = permits.stage.api.request("POST", path, request).expect(201).body["status"]["token"]
    return token


def public_keys(permits: Permits) -> dict[str, bytes]:
    """The keys by which the trail of a permit is proved."""
    keyring: Keyring = permits.office.keyring
    return dict(keyring.public)


__all__ = [
    "MAPS",
    "clerk",
    "expire",
    "given",
    "pass_time",
    "public_keys",
    "said",
    "strip",
    "stuck",
    "target",
    "token_of",
    "unanswered",
    "unwritable",
    "wake",
]
