"""Who acts for a parent: the account that it names, or the configured default; some are never lent."""

from dataclasses import dataclass, field

from apis.intent import Identity, Intent
from apis.problems import Blocked
from apis.reasons import Reason


@dataclass(frozen=True, slots=True)
class Accounts:
    """What the operator configured: the default for cluster-scoped parents, and the guarded accounts that may be named."""

    default: Identity | None = None
    manager_namespace: str = "copyhold-system"
    allowed: frozenset[Identity] = field(default_factory=frozenset)

    @property
    def guarded(self) -> frozenset[str]:
        """Namespaces whose accounts are refused unless they are allowed."""
        return frozenset({"kube-system", self.manager_namespace})


def account(intent: Intent, namespace: str, accounts: Accounts) -> Identity:
    """The ServiceAccount that acts for a parent in `namespace` ("" for a cluster-scoped one).

    Raises Blocked with the remedy when there is none, or when it is one that is never lent.
    """
    return lent(intent.identity, namespace, accounts)


def lent(named: Identity | None, namespace: str, accounts: Accounts, field: str = "spec.serviceAccount") -> Identity:
    """The account that was named in `field`, else the default in `namespace`, else the configured one; Blocked as `account`."""
    chosen = named or (Identity(namespace, "default") if namespace else accounts.default)
    if chosen is None:
        message = (
            f"no account acts for this parent: set {field}, or start the manager with --default-service-account NAMESPACE/NAME"
        )
        raise Blocked(Reason.ACCOUNT_MISSING, message)
    allowed = chosen in accounts.allowed or chosen == accounts.default
    if chosen.namespace in accounts.guarded and not allowed:
        message = (
            f"ServiceAccount {chosen.namespace}/{chosen.name} is never lent: name another in {field}, "
            "or start the manager with --allow-service-account NAMESPACE/NAME"
        )
        raise Blocked(Reason.ACCOUNT_REFUSED, message)
    return chosen
