"""What no permit gives, and where the rest may be."""

import pytest

from apis.intent import Group, Identity
from apis.meta import Manifest, Ref
from apis.problems import Invalid
from apis.reasons import Reason
from manager.files import Folder
from manager.permits.context import Reading, blinded
from manager.permits.kinds import kinds_of
from manager.permits.placing import check_allowed, check_local, check_secrecy
from manager.render.documents import Document
from policy.account import Accounts

RUNNER = Identity("solar", "runner")
ACCOUNTS = Accounts(manager_namespace="copyhold-system")
OF_NO_KIND = Invalid(Reason.RENDER_FAILED, "no")


@pytest.mark.parametrize(
    "ref",
    [
        pytest.param(Ref("copyhold.dev", "v1alpha1", "Tenant", "", "solar"), id="a kind of ours"),
        pytest.param(Ref("records.copyhold.dev", "v1", "Thing", "solar", "x"), id="a group below ours"),
        pytest.param(Ref("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "", "x"), id="a policy"),
        pytest.param(Ref("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "", "x"), id="a webhook"),
        pytest.param(Ref("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "tenants.copyhold.dev"), id="our kinds"),
        pytest.param(Ref("apiregistration.k8s.io", "v1", "APIService", "", "v1alpha1.copyhold.dev"), id="who serves our kinds"),
        pytest.param(Ref("", "v1", "ConfigMap", "copyhold-system", "x"), id="beside the manager"),
        pytest.param(Ref("", "v1", "Namespace", "", "copyhold-system"), id="the manager's namespace itself"),
        pytest.param(Ref("", "v1", "ConfigMap", "kube-system", "x"), id="in kube-system"),
        pytest.param(Ref("", "v1", "Namespace", "", "kube-system"), id="kube-system itself"),
    ],
)
def test_a_permit_does_not_touch_what_it_stands_on(ref: Ref) -> None:
    """The manager, its policies, its kinds, the system; the message names the document."""
    with pytest.raises(Invalid, match=r"^spec\.resources\[0\] targets\[0\]: .*: remove it from the template$"):
        check_allowed(ref, ACCOUNTS, RUNNER, "spec.resources[0] targets[0]")


@pytest.mark.parametrize(
    ("ref", "accounts"),
    [
        pytest.param(Ref("", "v1", "ConfigMap", "solar", "x"), ACCOUNTS, id="an ordinary place"),
        pytest.param(Ref("example.com", "v1", "Tenant", "solar", "x"), ACCOUNTS, id="a kind of the same name elsewhere"),
        pytest.param(Ref("notcopyhold.dev", "v1", "Thing", "solar", "x"), ACCOUNTS, id="a group that ends alike"),
        pytest.param(
            Ref("", "v1", "ConfigMap", "kube-system", "x"),
            Accounts(manager_namespace="copyhold-system", allowed=frozenset({RUNNER})),
            id="kube-system, by an account that is allowed",
        ),
    ],
)
def test_everything_else_is_for_the_account_to_be_allowed(ref: Ref, accounts: Accounts) -> None:
    """RBAC decides."""
    check_allowed(ref, accounts, RUNNER, "x")


def test_an_allowed_account_stays_out_of_the_managers_namespace() -> None:
    """There are the keys that sign."""
    allowed = Accounts(manager_namespace="copyhold-system", allowed=frozenset({RUNNER}))
    with pytest.raises(Invalid):
        check_allowed(Ref("", "v1", "Secret", "copyhold-system", "x"), allowed, RUNNER, "x")


def test_a_template_of_a_namespace_gives_what_is_in_it() -> None:
    """Neither what is elsewhere nor what is nowhere."""
    check_local(Ref("", "v1", "ConfigMap", "", "x"), "solar", namespaced=True, what="x")
    check_local(Ref("", "v1", "ConfigMap", "solar", "x"), "solar", namespaced=True, what="x")
    with pytest.raises(Invalid, match=r"metadata\.namespace is lunar"):
        check_local(Ref("", "v1", "ConfigMap", "lunar", "x"), "solar", namespaced=True, what="x")
    with pytest.raises(Invalid, match="cluster-scoped"):
        check_local(Ref("", "v1", "Namespace", "", "x"), "solar", namespaced=False, what="x")


def secret(**fields: object) -> Document:
    """A rendered Secret."""
    return Document({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, **fields}, "targets[0]")


READING = Reading(Group("copies"), "resources[0] (copies)", {}, {})


def test_values_may_differ_and_nothing_else() -> None:
    """In data and stringData, and in the annotation that goes anyway."""
    check_secrecy(
        READING, [secret(data={"a": "eA=="}, stringData={"b": "x"})], [secret(data={"a": "eQ=="}, stringData={"b": "y"})]
    )
    for with_values, blind in (
        (secret(type="x"), secret(type="y")),
        (secret(data={"x": ""}), secret(data={"y": ""})),
        (secret(metadata={"name": "x", "labels": {"a": "x"}}), secret(metadata={"name": "x", "labels": {"a": "y"}})),
    ):
        with pytest.raises(Invalid, match="outside of data"):
            check_secrecy(READING, [with_values], [blind])


def test_what_cannot_be_rendered_without_the_values_is_refused() -> None:
    """Nobody could say whether it tells them."""
    with pytest.raises(Invalid) as caught:
        check_secrecy(READING, [secret()], OF_NO_KIND)
    assert caught.value.reason == Reason.SECRET_IN_PLAIN_TARGET


def test_a_blinded_secret_has_the_same_keys_and_no_value() -> None:
    """Not in the annotation of kubectl either; other kinds stay as they are."""
    last = "kubectl.kubernetes.io/last-applied-configuration"
    held: Manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "x", "annotations": {last: "hush", "a": "b"}},
        "data": {"a": "aHVzaA==", "b": "aHVzaA=="},
    }
    plain: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}, "data": {"a": "b"}}
    blind, same = blinded({"x": [held, plain]})["x"]
    assert same == plain
    assert blind["data"].keys() == held["data"].keys()
    assert not {"aHVzaA==", "hush"} & {*blind["data"].values(), *blind["metadata"]["annotations"].values()}
    assert blind["metadata"]["annotations"]["a"] == "b"


async def test_a_kind_may_come_with_its_definition_and_not_without() -> None:
    """The definition has to say where its objects live."""
    thing: Manifest = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    definition: Manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    found = await kinds_of(Folder(), [definition, thing])
    assert found.is_coming(Ref.of(thing))
    assert not found.is_coming(Ref.of(definition))
    assert not found.find(Ref.of(thing)).namespaced
    for wrong in ({**definition, "spec": {}}, {**definition, "spec": {"versions": "v1"}}):
        with pytest.raises(Exception, match=r"Thing|CustomResourceDefinition"):
            await kinds_of(Folder(), [wrong, thing])
