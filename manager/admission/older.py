"""API servers without ValidatingAdmissionPolicy, as before Kubernetes 1.30: there our webhook says what our policies say."""

import orjson

from apis.problems import Blocked
from apis.reasons import Reason
from manager.admission.policies import API_VERSION, POLICY
from manager.cluster import ApiCluster
from manager.world import Cluster, Resource

OLDEST = (1, 29)
"""The first version whose webhooks have all that `conditions.py` writes."""


async def kind_of(cluster: Cluster, kind: str) -> Resource | None:
    """A kind of admission, or None where it is not served. Raises the problems of the cluster."""
    try:
        return await cluster.resource(API_VERSION, kind)
    except Blocked as problem:
        if problem.reason != Reason.KIND_UNKNOWN:
            raise
        return None


async def enforced(cluster: Cluster) -> bool:
    """Does the API server judge by policies itself? Raises the problems of the cluster."""
    return await kind_of(cluster, POLICY) is not None


async def check(cluster: ApiCluster, *, served: bool) -> None:
    """Raise Blocked, with the remedy, where our webhook must stand in for policies and cannot. `served`: we serve admission."""
    if not served:
        what = "the API server has no ValidatingAdmissionPolicy, so nothing would protect what is applied"
        remedy = "serve admission (--admission-service or --admission-url), or use Kubernetes 1.30 or newer"
        raise Blocked(Reason.KIND_UNKNOWN, f"{what}: {remedy}")
    found = orjson.loads(await cluster.get_raw("/version"))
    version = _number(found.get("major")), _number(found.get("minor"))
    if version < OLDEST:
        told, needed = ".".join(map(str, version)), ".".join(map(str, OLDEST))
        raise Blocked(
            Reason.KIND_UNKNOWN,
            f"the API server is Kubernetes {told}, whose webhooks cannot be told by conditions what to let through: "
            f"use Kubernetes {needed} or newer",
        )


def _number(text: str | None) -> int:
    """Some providers write `29+`."""
    digits = "".join(filter(str.isdigit, text or ""))
    return int(digits) if digits else 0
