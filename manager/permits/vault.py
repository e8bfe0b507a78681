"""The clear values of a permit's snapshot: an immutable Secret in the manager's namespace, there for as long as the permit is.

Only a snapshot that has a Secret among its targets needs one; the status shows `sha256:...` in the place of each value.
"""

import base64
from collections.abc import Collection, Sequence

import orjson

from apis.copyhold.resourcepermit import KIND
from apis.meta import GROUP, Manifest
from apis.problems import Blocked, Gone, Stale
from apis.reasons import Reason
from manager.permits.shape import has_secrets, targets_of
from manager.world import Cluster, Resource, World
from policy.permits.masking import matches

PERMIT_LABEL = f"{GROUP}/permit"
"""On the Secret, as a label: the UID of the permit whose values it holds; as an annotation: `namespace/name` of that permit."""

FIELD = "targets"

_SECRET = Resource("", "v1", "Secret", "secrets", namespaced=True)
_PERMIT = Resource(KIND.group, KIND.version, KIND.kind, KIND.plural, KIND.namespaced)


def name_of(permit: Manifest) -> str:
    """The name of the Secret that holds the clear values of a permit."""
    return f"permit-{permit['metadata']['uid']}"


async def keep(cluster: Cluster, namespace: str, permit: Manifest, targets: Sequence[Manifest]) -> str:
    """Store the clear targets in the manager's `namespace`, if there is a Secret among them; answers the Secret's name, else "".

    What an earlier preparation left, and no status shows, is replaced: the template may render differently by now. Raises Stale
    when the permit has a snapshot by now, which nothing may replace.
    """
    if not has_secrets(targets):
        return ""
    name, wanted = name_of(permit), list(targets)
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {PERMIT_LABEL: permit["metadata"]["uid"]},
            "annotations": {PERMIT_LABEL: f"{permit['metadata']['namespace']}/{permit['metadata']['name']}"},
        },
        "type": f"{GROUP}/permit",
        "immutable": True,
        "data": {FIELD: base64.b64encode(orjson.dumps(wanted)).decode()},
    }
    there = await cluster.get(_SECRET, namespace, name)
    if there is not None and _content(there) == wanted and there.get("immutable") is True:
        return name
    if there is not None:
        await _check_unused(cluster, permit)
        await _delete(cluster, there)
    await cluster.create(_SECRET, namespace, manifest)
    return name


async def read(world: World, namespace: str, permit: Manifest) -> list[Manifest]:
    """The targets of a permit's snapshot with their clear values, as they were reviewed.

    Raises Blocked(TrailBroken) when the Secret is not there, or does not hold what the status shows: then nothing may be applied.
    """
    shown = targets_of(permit["status"]["request"])
    if not has_secrets(shown):
        return shown
    name = name_of(permit)
    secret = await world.get(_SECRET, namespace, name)
    if secret is None:
        raise _broken(permit, f"Secret {namespace}/{name}, which holds the clear values of its snapshot, is not there")
    targets = _content(secret)
    if not matches(shown, targets):
        raise _broken(permit, f"Secret {namespace}/{name} does not hold what its snapshot shows")
    return targets


async def drop(cluster: Cluster, namespace: str, permit: Manifest) -> None:
    """Remove the clear values of a permit; nothing happens where there are none."""
    there = await cluster.get(_SECRET, namespace, name_of(permit), metadata=True)
    if there is not None:
        await _delete(cluster, there)


async def sweep(cluster: Cluster, namespace: str, living: Collection[str]) -> int:
    """Remove the clear values of permits that are gone; answers how many. `living` are the UIDs of the permits that are known.

    One that is not known may have been made meanwhile: it is asked for before its values go.
    """
    listing = await cluster.list(_SECRET, namespace, labels=PERMIT_LABEL, metadata=True)
    strays = [item for item in listing.items if item["metadata"]["labels"][PERMIT_LABEL] not in living]
    gone = [item for item in strays if not await _lives(cluster, item)]
    for secret in gone:
        await _delete(cluster, secret)
    return len(gone)


async def _lives(cluster: Cluster, secret: Manifest) -> bool:
    metadata = secret["metadata"]
    namespace, _, name = (metadata.get("annotations") or {}).get(PERMIT_LABEL, "").partition("/")
    if not namespace or not name:
        return False
    found = await cluster.get(_PERMIT, namespace, name, metadata=True)
    return found is not None and found["metadata"]["uid"] == metadata["labels"][PERMIT_LABEL]


async def _check_unused(cluster: Cluster, permit: Manifest) -> None:
    metadata = permit["metadata"]
    live = await cluster.get(_PERMIT, metadata["namespace"], metadata["name"])
    if live is None or live["metadata"]["uid"] != metadata["uid"] or (live.get("status") or {}).get("request"):
        raise Stale(f"{KIND.title(permit)} is not what it was when it was prepared")


def _content(secret: Manifest) -> list[Manifest]:
    """The targets that a Secret holds; empty when it holds none, or not in our form."""
    try:
        found = orjson.loads(base64.b64decode((secret.get("data") or {}).get(FIELD) or "", validate=True))
    except ValueError:  # not base64, or not JSON
        return []
    return found if isinstance(found, list) and all(isinstance(one, dict) for one in found) else []


def _broken(permit: Manifest, why: str) -> Blocked:
    remedy = "nothing is applied for it: expire it, and make another permit"
    return Blocked(Reason.TRAIL_BROKEN, f"{KIND.title(permit)}: {why}: {remedy}")


async def _delete(cluster: Cluster, secret: Manifest) -> None:
    metadata = secret["metadata"]
    try:
        await cluster.delete(
            _SECRET, metadata["namespace"], metadata["name"], uid=metadata["uid"], resource_version=metadata["resourceVersion"]
        )
    except (Gone, Stale):
        return  # somebody else was faster
