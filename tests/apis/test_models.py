"""What the models refuse, and in which words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Intent
from apis.invalid import MAX_ERRORS, MAX_LENGTH
from apis.kind import Kind, Parent, find, kinds
from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from tests.apis.mistakes import MISTAKES, Mistake
from tests.apis.objects import CONFIG_MAP, changed, gtr, tenant, tr
from tests.apis.strategies import JSON, specs


def kind_of(manifest: Manifest) -> Kind:
    """The kind that a manifest names."""
    kind = find("copyhold.dev", manifest["kind"])
    assert kind is not None
    return kind


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_a_mistake_is_named_with_object_field_and_remedy(mistake: Mistake) -> None:
    """The message begins with the object, then the path as in YAML, then what to do."""
    with pytest.raises(Invalid) as caught:
        kind_of(mistake.manifest).parse(mistake.manifest)
    title, _, text = str(caught.value).partition(": ")
    assert title == kind_of(mistake.manifest).title(mistake.manifest)
    assert text.startswith(f"{mistake.field}: ")
    assert mistake.says in text
    assert "; " not in text, "one mistake is one error"
    assert caught.value.reason is Reason.INVALID


def test_all_mistakes_are_named_at_once() -> None:
    """An author sees everything that is wrong, not one thing per attempt."""
    wrong = changed(gtr(scope="Cluster", resyncPeriod="1d"), "spec", "resources", 0, "policy", to={"creation": "x", "force": "y"})
    with pytest.raises(Invalid) as caught:
        Parent(kind_of(wrong), wrong).intent()
    for field in ("spec.scope", "spec.resyncPeriod", "spec.resources[0].policy.creation", "spec.resources[0].policy.force"):
        assert f"{field}: " in str(caught.value)


def test_two_broken_rules_of_one_object_are_both_named() -> None:
    """Rules do not hide each other."""
    wrong = gtr(scope="None", tenantSelector={}, resyncPeriod="1ms")
    with pytest.raises(Invalid, match=r"spec\.resyncPeriod: .*; spec\.tenantSelector: "):
        Parent(kind_of(wrong), wrong).intent()


def test_a_message_is_bounded() -> None:
    """It goes into a condition: ten errors are listed, the others counted."""
    wrong = gtr(resources=[{}] * 25)
    with pytest.raises(Invalid, match=r"; and 15 more$") as caught:
        Parent(kind_of(wrong), wrong).intent()
    assert len(str(caught.value)) < (MAX_ERRORS + 2) * MAX_LENGTH


def test_a_message_never_shows_a_value() -> None:
    """A target may hold a Secret."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": 7}, "stringData": {"password": "hunter2"}}
    wrong = changed(gtr(resyncPeriod="hunter2", scope="hunter2"), "spec", "resources", 0, to={"targets": [secret, "hunter2"]})
    with pytest.raises(Invalid) as caught:
        Parent(kind_of(wrong), wrong).intent()
    assert "hunter2" not in str(caught.value)


def test_an_empty_policy_is_the_default_policy() -> None:
    """`policy:` with nothing behind it is read as the API server reads it."""
    assert _intent(changed(gtr(), "spec", "resources", 0, "policy", to=None)) == _intent(gtr())


def test_a_status_of_another_version_does_not_spoil_a_spec() -> None:
    """Only the spec is the author's."""
    assert _intent(gtr() | {"status": {"of": "another age"}}) == _intent(gtr())


@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_every_field_is_called_in_camel_case(kind: Kind) -> None:
    """The name in Python is not a second name in YAML: `resync_period` is an unknown field."""
    assert "_" not in "".join(field.alias or "" for field in kind.model.model_fields.values())


def test_a_target_is_kept_as_it_was_written() -> None:
    """Order, nulls, empty maps and unknown fields of a target mean something to somebody."""
    target = {"kind": "{{ x }}", "spec": {"a": None, "b": {}, "c": [{}]}, "metadata": {"x": 1, "name": "y"}, "apiVersion": "v1"}
    kept = _intent(gtr(resources=[{"targets": [target]}])).groups[0].targets[0]
    assert kept == target
    assert list(kept) == list(target)


@given(specs())
def test_a_spec_survives_being_written_and_read(spec: dict[str, Any]) -> None:
    """Whatever the models accept dumps to JSON that they accept again, with the same meaning."""
    kind = kind_of(gtr())
    parsed = kind.parse({"spec": spec})
    dumped = parsed.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert kind.parse(dumped) == parsed
    assert Parent(kind, {"spec": dumped["spec"]}).intent() == Parent(kind, {"spec": spec}).intent()


@given(JSON)
def test_nothing_but_invalid_is_raised(spec: Any) -> None:
    """Any JSON at all in place of a spec gives an intent or a message."""
    for kind in (kind_of(gtr()), kind_of(tr()), kind_of(tenant())):
        message = _complaint(kind, {"metadata": {"name": "any"}, "spec": spec})
        assert message is None or message.startswith(f"{kind.kind} any: spec")


@given(st.lists(JSON, max_size=3), JSON)
def test_nothing_but_invalid_is_raised_deeper_down(groups: list[Any], policy: Any) -> None:
    """Any JSON in place of groups, of a policy and of a target."""
    manifest = gtr(resources=[*groups, {"policy": policy, "targets": [CONFIG_MAP, policy], "context": {"resources": groups}}])
    message = _complaint(kind_of(manifest), manifest)
    assert message is None or "spec.resources" in message


def _complaint(kind: Kind, manifest: Manifest) -> str | None:
    try:
        kind.parse(manifest)
    except Invalid as invalid:
        return str(invalid)
    return None


def _intent(manifest: Manifest) -> Intent:
    return Parent(kind_of(manifest), manifest).intent()
