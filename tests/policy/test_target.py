"""The payload: what a server would change is changed first, what a template may not say is gone, what means something stays."""

import base64
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import GROUP, Manifest
from policy.target import (
    SERVER_SET,
    digest_of,
    identity_only,
    is_mark,
    itself,
    marks,
    merged,
    normalise,
    payload,
)
from tests.support.build import ME, ref, want

ACCOUNT = "platform/distributor"
FORGED = {
    "copyhold.dev/managed": "true",
    "copyhold.dev/protected": "false",
    "parent.copyhold.dev/uid-other": "created",
    "active-until.copyhold.dev/uid-other": "2036-01-01T00:00:00Z",
    "service-account.copyhold.dev/uid-other": "system:serviceaccount:kube-system:admin",
    "target.copyhold.dev/uid-other": "Secret./other",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.builds(
    lambda rest, labels: {**rest, "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}},
    st.dictionaries(st.text(max_size=6), JSON, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b", *FORGED]), st.text(max_size=2), max_size=4) | st.none(),
)


def config_map(**fields: Any) -> Manifest:
    """A ConfigMap with these top-level fields."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, **fields}


def secret(**fields: Any) -> Manifest:
    """A Secret with these top-level fields."""
    return {**config_map(**fields), "kind": "Secret"}


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("rendered", "expected", "reason"),
    [
        pytest.param(
            secret(stringData={"a": "ü"}),
            secret(data={"a": _b64("ü")}),
            "our entry would own f:stringData and never see an edit of data",
            id="stringData becomes data",
        ),
        pytest.param(
            secret(data={"a": _b64("old"), "b": _b64("b")}, stringData={"a": "new"}),
            secret(data={"a": _b64("new"), "b": _b64("b")}),
            "a server lets stringData win too",
            id="stringData wins over data",
        ),
        pytest.param(secret(stringData={"a": "1"}, data=None), secret(data={"a": _b64("1")}), "null is absent", id="null data"),
        pytest.param(
            {**secret(stringData={"a": "1"}), "apiVersion": "example.com/v1"},
            {**secret(stringData={"a": "1"}), "apiVersion": "example.com/v1"},
            "another group's Secret may mean anything by it",
            id="stringData of another group stays",
        ),
        pytest.param(
            config_map(stringData={"a": "1"}), config_map(stringData={"a": "1"}), "only Secrets have it", id="not a Secret"
        ),
        pytest.param(
            config_map(spec={"selector": None, "replicas": 1}),
            config_map(spec={"replicas": 1}),
            "an explicit null looks like a change for ever (case 014)",
            id="nulls go",
        ),
        pytest.param(
            config_map(spec={"ports": [{"name": None, "port": 80}]}),
            config_map(spec={"ports": [{"port": 80}]}),
            "in lists of maps too",
            id="nulls in lists go",
        ),
        pytest.param(
            config_map(spec={"ingress": [{}], "podSelector": {}, "egress": []}),
            config_map(spec={"ingress": [{}], "podSelector": {}, "egress": []}),
            "an empty selector selects everything: without it the policy means something else",
            id="empty maps and lists stay",
        ),
        pytest.param(config_map(status={"phase": "x"}), config_map(), "status is the server's", id="status goes"),
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **dict.fromkeys(SERVER_SET, "x")}},
            config_map(),
            "a copied object brings them along",
            id="server-set metadata goes",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "settings", "labels": None, "annotations": {"a": None}},
            },
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "annotations": {}}},
            "null labels are no labels",
            id="null labels",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": "settings",
                    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "x"},
                },
            },
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "annotations": {"note": "x"}}},
            "a copied object would tell kubectl a story about its source",
            id="last-applied goes",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "finalizers": ["example.com/x"]}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "finalizers": ["example.com/x"]}},
            "what an author may set stays",
            id="finalizers stay",
        ),
    ],
)
def test_a_rendered_manifest_is_normalised(rendered: Manifest, expected: Manifest, reason: str) -> None:
    """What is applied is what the server would store."""
    assert normalise(rendered) == expected, reason


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("key", FORGED)
def test_a_template_cannot_forge_a_mark(field: str, key: str) -> None:
    """Each of our marks is stripped, as label and as annotation; what looks alike stays."""
    rendered = config_map()
    rendered["metadata"][field] = {key: FORGED[key], "copyhold.dev/tenant": "solar", f"x.{key}": "y"}
    assert normalise(rendered)["metadata"][field] == {"copyhold.dev/tenant": "solar", f"x.{key}": "y"}


def test_marks_are_told_from_other_keys() -> None:
    """The tenant label and the confirmation are no marks of targets: people write them."""
    assert all(map(is_mark, FORGED))
    assert not any(map(is_mark, ["copyhold.dev/tenant", "copyhold.dev/confirm-prune", "parent.copyhold.dev", "managed", ""]))


@given(OBJECTS)
def test_normalising_twice_changes_nothing_and_touches_no_input(rendered: Manifest) -> None:
    """A fixed point, and pure."""
    before = deepcopy(rendered)
    once = normalise(rendered)
    assert normalise(once) == once
    assert rendered == before


@given(OBJECTS)
def test_no_null_and_no_mark_is_left_in_a_map(rendered: Manifest) -> None:
    """Wherever a server would see a difference for ever."""

    def nulls(value: Any) -> bool:
        if isinstance(value, dict):
            return any(inner is None or nulls(inner) for inner in value.values())
        return isinstance(value, list) and any(map(nulls, value))

    clean = normalise(rendered)
    assert not nulls(clean)
    assert not any(map(is_mark, clean["metadata"].get("labels") or {}))


# Marks and payloads.


def test_the_marks_of_a_protected_target() -> None:
    """Labels by which it is found, annotations by which it is held."""
    assert marks(want(), ME, ACCOUNT, created=True) == (
        {
            "copyhold.dev/managed": "true",
            "copyhold.dev/protected": "true",
            f"parent.copyhold.dev/{ME}": "created",
        },
        {
            f"service-account.copyhold.dev/{ME}": "system:serviceaccount:platform:distributor",
            f"target.copyhold.dev/{ME}": "ConfigMap./settings",
        },
    )


def test_the_marks_of_an_adopted_target_without_protection() -> None:
    """Nothing that protection would read."""
    assert marks(want(protect=False), ME, ACCOUNT, created=False) == (
        {"copyhold.dev/managed": "true", f"parent.copyhold.dev/{ME}": "adopted"},
        {f"service-account.copyhold.dev/{ME}": "system:serviceaccount:platform:distributor"},
    )


@pytest.mark.parametrize("key", [*marks(want(), ME, ACCOUNT, created=True)[0], *marks(want(), ME, ACCOUNT, created=True)[1]])
def test_every_mark_that_we_write_is_one_that_we_strip(key: str) -> None:
    """Or a template could forge it."""
    assert is_mark(key)
    assert GROUP in key


@pytest.mark.parametrize(
    ("kind", "api", "word"), [("ConfigMap", "v1", "ConfigMap./settings"), ("Deployment", "apps/v1", "Deployment.apps/settings")]
)
def test_an_object_means_itself_by_kind_group_and_name(kind: str, api: str, word: str) -> None:
    """A copy under another name or kind does not."""
    assert itself(ref(kind=kind, api=api)) == word


def test_the_payload_is_the_manifest_with_marks() -> None:
    """The author's labels stay beside ours; the desired manifest is not touched."""
    desired = want()
    desired.manifest["metadata"]["labels"] = {"app": "x"}
    before = deepcopy(desired.manifest)
    sent = payload(desired, ME, ACCOUNT, created=True, uid="u1", version="10")
    assert sent["data"] == {"a": "1"}
    assert sent["metadata"]["labels"]["app"] == "x"
    assert sent["metadata"]["labels"][f"parent.copyhold.dev/{ME}"] == "created"
    assert (sent["metadata"]["uid"], sent["metadata"]["resourceVersion"]) == ("u1", "10")
    assert desired.manifest == before


def test_the_payload_is_pinned_only_when_asked() -> None:
    """An apply over what is there carries the UID alone: another writer's resourceVersion is no conflict."""
    metadata = payload(want(), ME, ACCOUNT, created=True)["metadata"]
    assert "uid" not in metadata
    assert "resourceVersion" not in metadata


@pytest.mark.parametrize(("namespace", "expected"), [("solar-dev", {"namespace": "solar-dev"}), ("", {})])
def test_giving_back_sends_nothing_but_the_identity(namespace: str, expected: dict[str, str]) -> None:
    """Pinned to the object on which it was decided."""
    sent = identity_only(ref(namespace=namespace), "u1", "10")
    assert sent == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "uid": "u1", "resourceVersion": "10", **expected},
    }


# Two renderings of one object.


@pytest.mark.parametrize(
    ("first", "second", "expected", "clash"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, "", id="beside each other"),
        pytest.param({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, "", id="maps are merged"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, {"a": {"b": 1}}, "", id="the same"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {"b": 1}}, "a.b", id="two values"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, {"a": [1]}, "a", id="lists are values"),
        pytest.param({"a": True}, {"a": 1}, {"a": True}, "a", id="true is not 1"),
        pytest.param({"a": [True]}, {"a": [1]}, {"a": [True]}, "a", id="not in a list either"),
        pytest.param({"a": {}}, {"a": "x"}, {"a": {}}, "a", id="a map and a text"),
        pytest.param(1, 2, 1, "the object", id="not maps at all"),
    ],
)
def test_renderings_are_merged_or_the_clash_is_named(first: Any, second: Any, expected: Any, clash: str) -> None:
    """What agrees becomes one; what does not is named by its path."""
    result, path = merged(first, second)
    assert path == clash
    if not clash:
        assert digest_of(result) == digest_of(expected)


@given(OBJECTS, OBJECTS)
def test_merging_goes_both_ways(first: Manifest, second: Manifest) -> None:
    """The order of two sources decides neither the result nor whether they clash, and changes no input."""
    before = deepcopy((first, second))
    there, clash = merged(first, second)
    back, again = merged(second, first)
    assert bool(clash) == bool(again)
    assert clash or digest_of(there) == digest_of(back)
    assert (first, second) == before


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    """Nor on the process: the value is written down, since records hold digests."""
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1}) == "bc4dd3b9c65854fc"
