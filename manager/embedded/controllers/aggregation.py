"""Aggregated ClusterRoles: their rules are those of the roles that their selectors find."""

from collections.abc import Iterable
from dataclasses import replace

from apis.meta import Manifest
from manager.embedded.controllers.work import acting
from manager.embedded.label_selector import selects
from manager.embedded.server import ApiServer
from manager.embedded.store import Change, Key
from manager.embedded.target import Target

GROUP = "rbac.authorization.k8s.io"
ROLES = f"clusterroles.{GROUP}"
MANAGER = "clusterrole-aggregation-controller"


class Aggregation:
    """Keeps the rules."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def concerns(self, change: Change) -> Iterable[Key]:
        """Any role may be part of any aggregated one."""
        if change.stored.key.resource != ROLES:
            return ()
        roles = self._server.store.manifests(ROLES)
        return [Key(ROLES, "", role["metadata"]["name"]) for role in roles if role.get("aggregationRule")]

    def sync(self, key: Key) -> bool:
        """Write the rules of one role."""
        role = self._server.store.read(key)
        served = self._server.registry.find(GROUP, "v1", "clusterroles")
        if role is None or served is None or not role.get("aggregationRule"):
            return True
        rules = self._rules(role)
        if rules == (role.get("rules") or []):
            return True
        config = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": key.name}, "rules": rules}
        options = replace(acting(MANAGER, manager=MANAGER), force=True)
        self._server.verbs.apply(Target(served, name=key.name), config, options)
        return True

    def _rules(self, role: Manifest) -> list[Manifest]:
        found: list[Manifest] = []
        for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
            for other in self._server.store.manifests(ROLES):
                metadata = other["metadata"]
                if metadata["name"] != role["metadata"]["name"] and selects(selector, metadata.get("labels") or {}):
                    found += [rule for rule in other.get("rules") or () if rule not in found]
        return found
