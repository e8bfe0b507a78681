"""The picture that passes are decided on: judged once per change, parsed once per generation."""

from typing import Any

import pytest

from apis.kind import Parent
from apis.meta import TENANT_LABEL, Manifest
from manager.state import State, is_ready, visible_change
from tests.support.build import parent

READY = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}


def tenant(name: str = "solar", generation: int = 1, **spec: Any) -> Manifest:
    """A Tenant as a server holds it."""
    return {
        "apiVersion": "copyhold.dev/v1alpha1",
        "kind": "Tenant",
        "metadata": {"name": name, "uid": f"uid-{name}", "generation": generation, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec,
    }


def space(name: str, **labels: str) -> Manifest:
    """A namespace."""
    return {"metadata": {"name": name, "labels": labels}}


def state(*parents: Parent, tenants: list[Manifest] | None = None, namespaces: list[Manifest] | None = None) -> State:
    """What the watches have shown."""
    return State(
        parents={one.uid: one for one in parents},
        tenants={one["metadata"]["name"]: one for one in tenants or []},
        namespaces={one["metadata"]["name"]: one for one in namespaces or []},
    )


# Tenants.


def test_a_tenant_claims_by_the_label_with_its_name() -> None:
    """Unless it says otherwise."""
    seen = state(
        tenants=[tenant("solar"), tenant("lunar", namespaceSelector={"matchLabels": {"env": "moon"}})],
        namespaces=[space("a", **{TENANT_LABEL: "solar"}), space("b", env="moon"), space("c")],
    )
    assert seen.tenancy.owner == {"a": "solar", "b": "lunar"}


def test_tenancy_is_judged_once_per_change() -> None:
    """Ten thousand events ask for it."""
    seen = state(tenants=[tenant()], namespaces=[space("a", **{TENANT_LABEL: "solar"})])
    first = seen.tenancy
    assert seen.tenancy is first
    seen.namespaces["b"] = space("b", **{TENANT_LABEL: "solar"})
    seen.changed()
    assert seen.tenancy.members("solar") == ("a", "b")


def test_an_edited_selector_counts() -> None:
    """A new generation is parsed anew."""
    seen = state(tenants=[tenant()], namespaces=[space("a", **{TENANT_LABEL: "solar"}), space("b", env="sun")])
    assert seen.tenancy.owner == {"a": "solar"}
    seen.tenants["solar"] = tenant(generation=2, namespaceSelector={"matchLabels": {"env": "sun"}})
    seen.changed()
    assert seen.tenancy.owner == {"b": "solar"}


def test_a_tenant_that_was_made_again_is_another_one() -> None:
    """The same name and generation, another UID."""
    seen = state(tenants=[tenant()], namespaces=[space("a", env="sun")])
    assert seen.tenancy.owner == {}
    again = tenant(namespaceSelector={"matchLabels": {"env": "sun"}})
    again["metadata"]["uid"] = "uid-again"
    seen.tenants["solar"] = again
    seen.changed()
    assert seen.tenancy.owner == {"a": "solar"}


def test_an_invalid_tenant_selects_nothing_and_takes_nobody_along() -> None:
    """Its own status says why."""
    seen = state(
        tenants=[tenant("bad", namespaceSelector={}), tenant("solar")], namespaces=[space("a", **{TENANT_LABEL: "solar"})]
    )
    assert seen.tenancy.owner == {"a": "solar"}
    assert set(seen.tenancy.tenants) == {"solar"}


# Parents.


def test_an_intent_is_parsed_once_per_generation() -> None:
    """Whatever else changes about the parent."""
    seen = state()
    first = seen.intent(parent())
    assert first is not None
    assert seen.intent(parent(status=READY, resourceVersion="2")) is first
    after = seen.intent(parent(generation=2, spec={"resyncPeriod": "1h"}))
    assert after is not None
    assert after.resync == 3600


def test_an_invalid_parent_has_no_intent_until_it_is_edited() -> None:
    """And is not parsed again before."""
    seen = state()
    assert seen.intent(parent(spec={"resources": []})) is None
    assert seen.intent(parent(spec={"resources": []})) is None
    assert seen.intent(parent(generation=2)) is not None


def test_a_parent_that_is_gone_is_forgotten() -> None:
    """Forgetting twice is no harm."""
    one = parent()
    seen = state(one)
    seen.intent(one)
    seen.forget(one.uid)
    seen.forget(one.uid)
    assert seen.parents == {}


def test_siblings_are_of_one_kind_and_namespace() -> None:
    """Only among them does `dependsOn` look."""
    kind = "TenantResource"
    mine = parent("a", kind=kind, namespace="x", uid="1")
    near = parent("b", kind=kind, namespace="x", uid="2")
    seen = state(mine, near, parent("c", kind=kind, namespace="y", uid="3"), parent("d", uid="4"))
    assert list(seen.siblings(mine)) == [mine, near]


def test_dependencies_are_a_graph_and_who_is_ready() -> None:
    """One that is invalid depends on nothing and is not ready."""
    first = parent("a", uid="1", spec={"dependsOn": [{"name": "b"}, {"name": "c"}]})
    seen = state(first, parent("b", uid="2", status=READY), parent("c", uid="3", spec={"resources": []}))
    assert seen.dependencies(first) == ({"a": ("b", "c"), "b": (), "c": ()}, {"a": False, "b": True, "c": False})


@pytest.mark.parametrize(
    ("of", "ready", "reason"),
    [
        pytest.param(parent(status=READY), True, "it says so of this generation", id="ready"),
        pytest.param(parent(generation=2, status=READY), False, "it says so of a former one", id="old"),
        pytest.param(parent(), False, "it has said nothing", id="new"),
        pytest.param(parent(status={"observedGeneration": 1}), False, "it has not said it", id="no conditions"),
        pytest.param(
            parent(status={"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "Unknown"}]}),
            False,
            "it works",
            id="working",
        ),
        pytest.param(
            parent(status={"observedGeneration": 1, "conditions": [{"type": "Cordoned", "status": "True"}]}),
            False,
            "that is another condition",
            id="another condition",
        ),
        pytest.param(parent(status=READY, deletionTimestamp="x"), False, "it is being taken down", id="deleting"),
    ],
)
def test_ready_is_what_a_parent_says_of_its_present_generation(of: Parent, ready: bool, reason: str) -> None:
    """Who depends on it waits for that."""
    assert is_ready(of) is ready, reason


@pytest.mark.parametrize(
    ("before", "after", "visible"),
    [
        pytest.param(None, parent(), True, id="new"),
        pytest.param(parent(), parent(), False, id="the same"),
        pytest.param(parent(), parent(generation=2), True, id="its spec"),
        pytest.param(parent(), parent(annotations={"copyhold.dev/confirm-prune": "x"}), True, id="an annotation"),
        pytest.param(parent(), parent(labels={"a": "b"}), True, id="a label: templates see it"),
        pytest.param(parent(), parent(deletionTimestamp="x"), True, id="its deletion"),
        pytest.param(parent(), parent(status=READY, resourceVersion="2"), False, id="our status"),
        pytest.param(parent(), parent(finalizers=["copyhold.dev/cleanup"]), False, id="our finalizer"),
    ],
)
def test_a_change_is_visible_when_a_pass_would_look_at_it(before: Parent | None, after: Parent, visible: bool) -> None:
    """Our own writes start no pass."""
    assert visible_change(before, after) is visible
