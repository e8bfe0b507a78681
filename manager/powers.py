"""What nobody can do without who acts for parents, asked of the server before the manager begins.

Every request for a parent carries the extra `copyhold.dev/parent`. The right to send it is cluster-wide: a RoleBinding with it is
accepted and gives it nowhere. Without it every pass would fail, each by itself.

Caveat: which accounts the manager may impersonate is not asked. That may be limited to some, by a RoleBinding too; a parent of
another says so itself.
"""

import structlog

from apis.meta import PARENT_EXTRA, Manifest
from apis.problems import Forbidden
from manager.world import Cluster, Resource

log = structlog.get_logger("copyhold")

REVIEW = Resource("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False)
EXTRA: Manifest = {
    "verb": "impersonate",
    "group": "authentication.k8s.io",
    "resource": "userextras",
    "subresource": PARENT_EXTRA,
}


async def check(cluster: Cluster) -> None:
    """Raise Forbidden, with the remedy, when the manager may act for no parent at all (RBAC, "impersonation")."""
    spec = {"resourceAttributes": EXTRA}
    try:
        review = await cluster.create(REVIEW, "", {"apiVersion": REVIEW.api_version, "kind": REVIEW.kind, "spec": spec})
    except Forbidden as problem:  # a cluster may keep its answers to itself: then the first pass tells
        log.info("the manager's own rights could not be looked at", message=str(problem))
        return
    if not (review.get("status") or {}).get("allowed"):
        raise Forbidden(
            f"the manager may act for no parent: it needs the verb impersonate on userextras/{PARENT_EXTRA} in group "
            "authentication.k8s.io, by a ClusterRoleBinding (a RoleBinding gives it nowhere): apply its roles "
            "(kubectl apply -k deploy/manager)"
        )
