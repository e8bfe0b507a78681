"""The strategies of kinds whose rules are a chapter of their own: definitions (`definitions.py`) and policies (`policies/`)."""

from datetime import datetime

from apis.meta import Manifest
from manager.embedded import definitions
from manager.embedded.kinds.strategy import Strategy, strategy
from manager.embedded.policies.checks import check_binding, check_policy
from manager.embedded.policies.policies import BINDINGS, POLICIES
from manager.embedded.served import Served
from manager.embedded.status import Cause

CRDS = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions(Strategy):
    """A definition has a status from its first moment, and is checked as a whole."""

    def default(self, obj: Manifest) -> Manifest:
        """The defaults of a definition, and of its names."""
        return definitions.default_crd(super().default(obj))

    def prepare_create(self, obj: Manifest, now: datetime) -> Manifest:
        """No names yet: the controller gives them."""
        new = super().prepare_create(obj, now)
        fresh = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
        return new | {"status": fresh | {"storedVersions": definitions.stored_versions(new | {"status": {}})}}

    def prepare_update(self, new: Manifest, old: Manifest) -> Manifest:
        """A new storage version is one of those in which objects may be stored."""
        new = super().prepare_update(new, old)
        status = new.get("status") or {}
        return new | {"status": status | {"storedVersions": definitions.stored_versions(new)}}

    def validate(self, obj: Manifest) -> list[Cause]:
        """The rules of every kind, and those of definitions."""
        return [*super().validate(obj), *definitions.validate_crd(obj)]

    def validate_update(self, new: Manifest, old: Manifest) -> list[Cause]:
        """The same for a change."""
        return [*super().validate_update(new, old), *definitions.validate_crd(new, old)]


class Policies(Strategy):
    """A policy is compiled when it is written."""

    def validate(self, obj: Manifest) -> list[Cause]:
        """The rules of every kind, and those of policies."""
        return [*super().validate(obj), *check_policy(obj)]

    def validate_update(self, new: Manifest, old: Manifest) -> list[Cause]:
        """The same for a change."""
        return [*super().validate_update(new, old), *check_policy(new)]


class Bindings(Strategy):
    """A binding names a policy."""

    def validate(self, obj: Manifest) -> list[Cause]:
        """The rules of every kind, and those of bindings."""
        return [*super().validate(obj), *check_binding(obj)]

    def validate_update(self, new: Manifest, old: Manifest) -> list[Cause]:
        """The same for a change."""
        return [*super().validate_update(new, old), *check_binding(new)]


_OWN = {CRDS: Definitions, POLICIES: Policies, BINDINGS: Bindings}


def strategy_of(served: Served) -> Strategy:
    """The strategy of any kind."""
    own = strategy(served)
    special = _OWN.get(served.resource)
    return special(own.served, own.kind) if special is not None else own
