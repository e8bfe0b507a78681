"""Field sets as a server writes them: what proves a hold, what is extracted, and what an Orphan drops."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest
from policy.ownership import Holding, Live, entry_of, extract, observe, orphan_patch, paths
from policy.target import digest_of
from tests.support.build import MANAGER, ME, OTHER, applied, entry, hold, stored

MANAGED = "copyhold.dev/managed"
PROTECTED = "copyhold.dev/protected"
MARK = f"parent.copyhold.dev/{ME}"
OTHERS_MARK = f"parent.copyhold.dev/{OTHER}"
KUBECTL = entry("kubectl-edit", {"f:data": {"f:b": {}}}, operation="Update")


def fields_of(one: Manifest) -> str:
    """The digest of an entry's field set."""
    return digest_of([one["fieldsV1"], one.get("time")])


# Proof.


def test_our_apply_entry_and_our_label_are_the_proof() -> None:
    """The hold says what was applied, and digests our field set."""
    mine = applied(f_data={"f:a": {}})
    seen = observe(stored(KUBECTL, mine, labels={MANAGED: "true", MARK: "created"}))
    assert seen == Live("u1", "10", False, (Holding(MANAGER, "created", fields_of(mine)),))
    assert (seen.holdings[0].parent, seen.holdings[0].kind) == (ME, "globaltenantresource")


MINE = applied()
PLAIN: Manifest = {"f:metadata": {"f:labels": {f"f:{MARK}": {}}}}


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        pytest.param(stored(labels={MARK: "created"}), "anybody can copy a label", id="a label alone"),
        pytest.param(stored(MINE), "the label is gone: nothing says created or adopted", id="an entry without the label"),
        pytest.param(
            stored(entry(MANAGER, {"f:metadata": {"f:labels": {"f:app": {}}}}), labels={MARK: "created"}),
            "somebody took the label from us, so its value is theirs",
            id="an entry that does not own the label",
        ),
        pytest.param(
            stored(entry(MANAGER, PLAIN, operation="Update"), labels={MARK: "created"}),
            "an Update entry of our name is no apply of ours",
            id="an Update entry",
        ),
        pytest.param(
            stored(entry(MANAGER, PLAIN, subresource="status"), labels={MARK: "created"}),
            "an apply on the status makes an entry of its own",
            id="a status entry",
        ),
        pytest.param(
            stored(entry("kubectl", PLAIN), labels={MARK: "created"}), "another manager owns the label", id="another manager"
        ),
        pytest.param(
            stored(entry(f"copyhold.dev/{ME}", PLAIN), labels={MARK: "created"}),
            "the manager's name has three parts",
            id="not a manager of a parent",
        ),
        pytest.param(
            stored(entry(f"copyhold.dev/globaltenantresource/{OTHER}", PLAIN), labels={MARK: "created"}),
            "each parent proves itself by its own label",
            id="another parent's entry over our label",
        ),
        pytest.param(stored(entry(MANAGER, {}), labels={MARK: "created"}), "it owns nothing", id="an empty entry"),
    ],
)
def test_nothing_less_is_a_proof(manifest: Manifest, reason: str) -> None:
    """A mark without its entry, or an entry without its mark, proves nothing."""
    assert observe(manifest).holdings == (), reason


def test_several_parents_hold_one_object() -> None:
    """Each by its own entry and label."""
    seen = observe(stored(applied(), applied(OTHER), labels={MARK: "created", OTHERS_MARK: "adopted"}))
    mine, other = seen.holdings
    assert (seen.held_by(MANAGER), seen.others(MANAGER)) == (mine, (other,))
    assert (mine.mark, other.mark) == ("created", "adopted")


def test_an_object_without_managed_fields_is_nobodys() -> None:
    """They may be stripped; then only memory knows."""
    manifest = stored(labels={MARK: "created"})
    del manifest["metadata"]["managedFields"]
    assert observe(manifest).holdings == ()
    assert entry_of(manifest, MANAGER) is None


def test_a_deletion_timestamp_means_terminating() -> None:
    """Whatever its value."""
    assert observe(stored(deletionTimestamp="2026-01-01T00:00:00Z")).terminating


def test_a_change_of_our_field_set_changes_the_digest() -> None:
    """That is how drift is seen without a body: a foreign write takes the field out of our entry."""
    labels = {MARK: "created"}
    before = observe(stored(applied(f_data={"f:a": {}, "f:b": {}}), labels=labels))
    after = observe(stored(applied(f_data={"f:a": {}}), labels=labels))
    assert before.holdings[0].fields != after.holdings[0].fields


def test_a_change_of_another_managers_fields_does_not() -> None:
    """Foreign fields beside ours are no drift."""
    labels = {MARK: "created"}
    alone, beside = observe(stored(applied(), labels=labels)), observe(stored(KUBECTL, applied(), labels=labels))
    assert alone.holdings == beside.holdings


def test_our_entry_is_found_proven_or_not() -> None:
    """Marks are changed over all that we own, even when the label was taken from us."""
    plain = entry(MANAGER, {"f:data": {"f:a": {}}})
    other = entry(MANAGER, {"f:status": {}}, subresource="status")
    assert entry_of(stored(KUBECTL, other, plain), MANAGER) == {"f:data": {"f:a": {}}}
    assert entry_of(stored(KUBECTL, other), MANAGER) is None


# Extraction.

SERVICE: Manifest = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "labels": {"app": "web", "team": "x"}, "finalizers": ["a/b", "c/d"], "uid": "u1"},
    "spec": {
        "clusterIP": "10.0.0.1",
        "selector": {"app": "web"},
        "ports": [
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080},
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        ],
    },
    "status": {"loadBalancer": {}},
}
HTTP = 'k:{"port":80,"protocol":"TCP"}'


@pytest.mark.parametrize(
    ("fields", "expected", "reason"),
    [
        pytest.param({}, {}, "owning nothing extracts the identity", id="nothing"),
        pytest.param(
            {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}},
            {"metadata": {"labels": {"app": "web"}}},
            "a label that another manager owns is not ours",
            id="one label",
        ),
        pytest.param(
            {"f:spec": {"f:selector": {}}},
            {"spec": {"selector": {"app": "web"}}},
            "an atomic map is one field",
            id="an atomic map",
        ),
        pytest.param(
            {"f:spec": {"f:ports": {".": {}, HTTP: {".": {}, "f:name": {}, "f:port": {}}}}},
            {"spec": {"ports": [{"name": "http", "port": 80}]}},
            "an item of an associative list is found by its key, and only our fields of it",
            id="an item by its key",
        ),
        pytest.param(
            {"f:spec": {"f:ports": {'k:{"port":53,"protocol":"UDP"}': {}}}},
            {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53}]}},
            "a key without fields owns the whole item",
            id="a whole item",
        ),
        pytest.param(
            {"f:spec": {"f:ports": {'k:{"port":53,"protocol":"TCP"}': {}}}},
            {"spec": {"ports": []}},
            "all parts of a key must match",
            id="no item with that key",
        ),
        pytest.param(
            {"f:metadata": {"f:finalizers": {".": {}, 'v:"c/d"': {}}}},
            {"metadata": {"finalizers": ["c/d"]}},
            "a set is owned value by value",
            id="a value of a set",
        ),
        pytest.param({"f:spec": {"f:gone": {}}}, {"spec": {}}, "what is no longer there is not made up", id="a missing field"),
        pytest.param(
            {"f:spec": {"f:clusterIP": {"f:odd": {}}}},
            {"spec": {"clusterIP": "10.0.0.1"}},
            "a field set of an older schema may look into what is a value now",
            id="a scalar where a map was",
        ),
    ],
)
def test_what_a_field_set_owns_is_extracted(fields: Manifest, expected: Manifest, reason: str) -> None:
    """The live values of exactly these fields, under the object's version and kind."""
    assert extract(SERVICE, fields) == {"apiVersion": "v1", "kind": "Service", **expected}, reason


def test_an_atomic_list_is_one_field() -> None:
    """The rules of a Role come as a whole."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}
    assert extract(role, {"f:rules": {}})["rules"] == rules


def test_a_container_keeps_the_key_by_which_it_is_found() -> None:
    """Nested associative lists, as a Deployment has them."""
    container = {"name": "web", "image": "nginx:1", "imagePullPolicy": "Always", "env": [{"name": "A", "value": "1"}]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"containers": [container]}}}}
    owned: Manifest = {
        'k:{"name":"web"}': {
            ".": {},
            "f:name": {},
            "f:image": {},
            "f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
        }
    }
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": owned}}}}
    kept = extract(deployment, fields)["spec"]["template"]["spec"]["containers"]
    assert kept == [{"name": "web", "image": "nginx:1", "env": [{"name": "A", "value": "1"}]}]


MAPS = st.recursive(
    st.integers(0, 3) | st.text(max_size=2) | st.lists(st.integers(0, 3), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=8,
)


def _all(value: Any) -> Manifest:
    return {f"f:{key}": _all(inner) for key, inner in value.items()} if isinstance(value, dict) else {}


@given(st.dictionaries(st.sampled_from(["data", "spec"]), MAPS, max_size=2))
def test_owning_everything_extracts_everything(body: Manifest) -> None:
    """The field set of an object gives the object back."""
    manifest = {"apiVersion": "v1", "kind": "Any", **body}
    assert extract(manifest, _all(body)) == manifest


def test_fields_are_named_as_people_write_them() -> None:
    """Leaves only; keys of lists in brackets."""
    fields = {"f:data": {".": {}, "f:a": {}}, "f:spec": {"f:ports": {HTTP: {".": {}, "f:name": {}}}}}
    assert list(paths(fields)) == [".data.a", '.spec.ports[{"port":80,"protocol":"TCP"}].name']


# Orphan.


def _dropped(operations: list[Manifest]) -> set[str]:
    return {operation["path"] for operation in operations if operation["op"] == "remove"}


def _label(key: str) -> str:
    return f"/metadata/labels/{key.replace('/', '~1')}"


def _annotation(key: str) -> str:
    return f"/metadata/annotations/{key.replace('/', '~1')}"


def _marked(*parents: str, protecting: tuple[str, ...] = (), **rest: Any) -> Manifest:
    """An object that these parents hold, some of them protecting it."""
    labels = {MANAGED: "true", "app": "x"} | {f"parent.copyhold.dev/{uid}": "created" for uid in parents}
    annotations = {f"service-account.copyhold.dev/{uid}": "system:serviceaccount:a:b" for uid in parents}
    if protecting:
        labels[PROTECTED] = "true"
        annotations |= {f"target.copyhold.dev/{uid}": "ConfigMap./settings" for uid in protecting}
    return stored(KUBECTL, *map(applied, parents), labels=labels, annotations=annotations | {"note": "x"}, **rest)


def _living(*uids: str) -> Callable[[str], bool]:
    return lambda uid: uid in uids


def test_the_last_parent_takes_all_marks_along() -> None:
    """Labels, annotations and our entry go; what people wrote stays."""
    operations = orphan_patch(_marked(ME, protecting=(ME,)), MANAGER, exists=_living(ME))
    assert _dropped(operations) == {
        _label(MANAGED),
        _label(PROTECTED),
        _label(MARK),
        _annotation(f"service-account.copyhold.dev/{ME}"),
        _annotation(f"target.copyhold.dev/{ME}"),
        "/metadata/managedFields/1",
    }


def test_shared_marks_stay_while_another_living_parent_holds() -> None:
    """Only what bears our UID goes."""
    operations = orphan_patch(_marked(ME, OTHER, protecting=(ME, OTHER)), MANAGER, exists=_living(ME, OTHER))
    assert _dropped(operations) == {
        _label(MARK),
        _annotation(f"service-account.copyhold.dev/{ME}"),
        _annotation(f"target.copyhold.dev/{ME}"),
        "/metadata/managedFields/1",
    }


def test_protection_ends_with_the_last_parent_that_protects() -> None:
    """Another that holds without protecting keeps the object managed, not protected."""
    operations = orphan_patch(_marked(ME, OTHER, protecting=(ME,)), MANAGER, exists=_living(ME, OTHER))
    assert _label(PROTECTED) in _dropped(operations)
    assert _label(MANAGED) not in _dropped(operations)


def test_marks_of_the_dead_go_too() -> None:
    """A parent that no longer exists binds nobody; a living one keeps its own and the shared marks."""
    patch = orphan_patch(_marked(ME, "uid-dead", OTHER, protecting=(OTHER,)), MANAGER, exists=_living(ME, OTHER))
    assert _dropped(patch) == {
        _label(MARK),
        _label("parent.copyhold.dev/uid-dead"),
        _annotation(f"service-account.copyhold.dev/{ME}"),
        _annotation("service-account.copyhold.dev/uid-dead"),
        "/metadata/managedFields/1",
    }


def test_a_copied_mark_does_not_keep_the_shared_ones() -> None:
    """Another living parent's label without its entry is no hold."""
    manifest = stored(applied(), labels={MANAGED: "true", MARK: "created", OTHERS_MARK: "created"})
    assert _label(MANAGED) in _dropped(orphan_patch(manifest, MANAGER, exists=_living(ME, OTHER)))


def test_the_patch_begins_with_a_test_of_what_was_looked_at() -> None:
    """The resourceVersion first, and the manager before each entry that is removed; entries from the end, so places hold."""
    status = entry(MANAGER, {"f:status": {}}, subresource="status")
    manifest = stored(applied(), KUBECTL, status, labels={MARK: "created"})
    assert orphan_patch(manifest, MANAGER, exists=_living(ME)) == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "10"},
        {"op": "remove", "path": _label(MARK)},
        {"op": "test", "path": "/metadata/managedFields/2/manager", "value": MANAGER},
        {"op": "remove", "path": "/metadata/managedFields/2"},
        {"op": "test", "path": "/metadata/managedFields/0/manager", "value": MANAGER},
        {"op": "remove", "path": "/metadata/managedFields/0"},
    ]


def test_an_object_without_marks_needs_no_patch() -> None:
    """Only the test is left, which is no write."""
    assert len(orphan_patch(stored(KUBECTL, labels={"app": "x"}), MANAGER, exists=_living(ME))) == 1


PARENTS = st.lists(st.sampled_from([ME, OTHER, "uid-third"]), unique=True, min_size=1)


@given(PARENTS, st.sets(st.sampled_from([OTHER, "uid-third"])), st.data())
def test_an_orphan_leaves_content_and_every_living_hold(parents: list[str], living: set[str], data: st.DataObject) -> None:
    """After the patch the object proves exactly the holds of the others that live, and bears no mark of ours."""
    protecting = tuple(data.draw(st.sets(st.sampled_from(parents))))
    manifest = _marked(*parents, protecting=protecting)
    gone = _dropped(orphan_patch(manifest, MANAGER, exists=lambda uid: uid in living))
    metadata = manifest["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if _label(key) not in gone}
    annotations = {key: value for key, value in metadata["annotations"].items() if _annotation(key) not in gone}
    entries = [one for at, one in enumerate(metadata["managedFields"]) if f"/metadata/managedFields/{at}" not in gone]
    after = observe(stored(*entries, labels=labels, annotations=annotations))
    held = {one.parent for one in after.holdings}
    assert held == living & set(parents)
    assert not any(ME in key for key in (*labels, *annotations))
    assert (MANAGED in labels) == bool(held)
    assert (PROTECTED in labels) == bool(held & set(protecting))
    assert (labels["app"], annotations["note"]) == ("x", "x")
    assert all(path.startswith("/metadata/") for path in gone)


def test_a_hold_knows_its_parent() -> None:
    """The manager's name ends with the UID, and the kind stands before it."""
    one = hold(OTHER, kind="resourcepermit")
    assert (one.parent, one.kind) == (OTHER, "resourcepermit")
