"""What somebody with too many rights does to a permit, and what must be true of it afterwards."""

from typing import Any

from apis.meta import PARENT_EXTRA
from tests.support.api import Manifest, Reply, eventually, ref
from tests.support.permits import LOCAL, Permits
from tests.support.running import Running
from tests.support.stage import VERSION

TARGET = "temporary"
"""The ConfigMap that permits of these tests give, unless they say otherwise."""


ALL = [{"apiGroups": ["copyhold.dev"], "resources": ["resourcepermits", "resourcepermits/status"], "verbs": ["*"]}]
"""Everything that can be done to permits and their status."""


def given(permits: Permits, name: str = TARGET) -> Manifest:
    """The ConfigMap that a permit gives in `home`."""
    return ref("v1", "ConfigMap", name, permits.home)


def absent(permits: Permits, manifest: Manifest) -> None:
    """Nothing was made of this."""
    permits.stage.api.get(manifest).expect(404)


def active(permits: Permits, template: Manifest, **how: Any) -> Manifest:
    """A permit that was asked for, approved and given; answers it."""
    permit = permits.asked(template, **how)
    permits.approve(permit)
    return permits.reaches(permit, "Active")


def as_the_manager(permits: Permits, permit: Manifest, **status: Any) -> Manifest:
    """Write a status as an administrator can who impersonates the manager: webhook and policies let everything pass."""
    extra = {PARENT_EXTRA: [permit["metadata"]["uid"]]}
    admin = permits.stage.api.as_user("root", groups=["system:masters"], extra=extra)
    body: Manifest = admin.merge_patch(permit, {"status": status}, subresource="status").expect(200).body
    return body


def without_webhooks(permits: Permits) -> None:
    """Delete the webhook configurations of this test, and wait until the server asks nobody any more."""
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        permits.stage.api.delete(ref("admissionregistration.k8s.io/v1", kind, permits.stage.name("permits"))).expect(200)
    spec = {"template": {"kind": LOCAL, "name": "nobody"}}
    trial = ref(VERSION, "ResourcePermit", "trial", permits.home) | {"spec": spec}
    # That its template is not there, only the webhook knows.
    eventually(lambda: permits.as_(permits.alice).create(trial, dryRun="All").expect(201))


def ready_of(permit: Manifest) -> Manifest:
    """The condition Ready of a permit."""
    found: Manifest = next(each for each in permit["status"]["conditions"] if each["type"] == "Ready")
    return found


def says(permits: Permits, permit: Manifest, reason: str, timeout: float = 20) -> str:
    """Wait until a permit says this reason; answers its message."""

    def look() -> str:
        live = permits.stage.read(permit)
        assert live.get("status"), "the manager has not looked at it yet"
        ready = ready_of(live)
        assert ready["reason"] == reason, f"{ready['reason']}: {ready['message']}"
        return str(ready["message"])

    return eventually(look, timeout=timeout)


def look(manager: Running) -> None:
    """Let the manager look at everything, as it does when time has passed."""

    async def gained(controller: Any) -> None:
        controller.gained()

    manager.call(gained)


def unchanged(before: Manifest, after: Manifest) -> None:
    """A permit is as it was."""
    assert after["spec"] == before["spec"]
    assert after.get("status") == before.get("status")


def refused(reply: Reply, *codes: int, says: str = "") -> str:
    """It was refused, in words that a user can act on; answers them."""
    __tracebackhide__ = True
    message = reply.expect(*(codes or (403, 409, 422))).message
    assert says in message, message
    return message


def token_of(permits: Permits, name: str) -> str:
    """A token of an account in `home`."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{permits.home}/serviceaccounts/{name}/token"
    token: str = permits.stage.api.request("POST", path, body).expect(201).body["status"]["token"]
    return token
