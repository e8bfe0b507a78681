"""Who acts for a parent, and which accounts are never lent."""

import pytest

from apis.intent import Identity, Intent, Scope, ScopeKind
from apis.problems import Blocked
from apis.reasons import Reason
from policy.account import Accounts, account

DEFAULT = Identity("copyhold-system", "distributor")
NAMED = Identity("platform", "deployer")


def intent(identity: Identity | None = None) -> Intent:
    """An intent that names this account, or none."""
    return Intent((), Scope(ScopeKind.NAMESPACE), identity)


@pytest.mark.parametrize(
    ("named", "namespace", "accounts", "expected"),
    [
        pytest.param(NAMED, "", Accounts(), NAMED, id="the named one"),
        pytest.param(NAMED, "", Accounts(DEFAULT), NAMED, id="the named one before the default"),
        pytest.param(None, "", Accounts(DEFAULT), DEFAULT, id="the default, although it lives beside the manager"),
        pytest.param(None, "solar-dev", Accounts(DEFAULT), Identity("solar-dev", "default"), id="a namespaced parent's own"),
        pytest.param(DEFAULT, "", Accounts(DEFAULT), DEFAULT, id="the default by name"),
        pytest.param(
            Identity("kube-system", "x"),
            "",
            Accounts(allowed=frozenset({Identity("kube-system", "x")})),
            Identity("kube-system", "x"),
            id="a guarded one that is allowed",
        ),
    ],
)
def test_an_account_is_chosen(named: Identity | None, namespace: str, accounts: Accounts, expected: Identity) -> None:
    """The named account, else `default` in the parent's own namespace, else the configured one."""
    assert account(intent(named), namespace, accounts) == expected


@pytest.mark.parametrize(
    ("named", "namespace", "accounts", "reason", "remedy"),
    [
        pytest.param(None, "", Accounts(), Reason.ACCOUNT_MISSING, "--default-service-account", id="none at all"),
        pytest.param(
            Identity("kube-system", "x"), "", Accounts(), Reason.ACCOUNT_REFUSED, "--allow-service-account", id="kube-system"
        ),
        pytest.param(
            Identity("copyhold-system", "copyhold"),
            "",
            Accounts(DEFAULT),
            Reason.ACCOUNT_REFUSED,
            "--allow-service-account",
            id="the manager's own",
        ),
        pytest.param(
            Identity("elsewhere", "copyhold"),
            "",
            Accounts(manager_namespace="elsewhere"),
            Reason.ACCOUNT_REFUSED,
            "--allow-service-account",
            id="the manager's own, installed elsewhere",
        ),
        pytest.param(
            None, "kube-system", Accounts(), Reason.ACCOUNT_REFUSED, "spec.serviceAccount", id="a parent in a guarded namespace"
        ),
        pytest.param(
            Identity("kube-system", "y"),
            "",
            Accounts(allowed=frozenset({Identity("kube-system", "x")})),
            Reason.ACCOUNT_REFUSED,
            "kube-system/y",
            id="the allowed one's neighbour",
        ),
    ],
)
def test_no_account_is_a_problem_with_a_remedy(
    named: Identity | None, namespace: str, accounts: Accounts, reason: Reason, remedy: str
) -> None:
    """Blocked: somebody has to name another account, or start the manager otherwise."""
    with pytest.raises(Blocked) as refusal:
        account(intent(named), namespace, accounts)
    assert refusal.value.reason is reason
    assert remedy in str(refusal.value)


def test_an_account_of_the_same_name_elsewhere_is_another_one() -> None:
    """Case 100: what is allowed in one namespace is not allowed in another."""
    allowed = Accounts(allowed=frozenset({Identity("kube-system", "x")}), manager_namespace="beside")
    with pytest.raises(Blocked, match="beside/x"):
        account(intent(Identity("beside", "x")), "", allowed)
