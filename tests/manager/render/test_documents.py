"""The two clean-ups: what templates see of an object, and what a copy keeps of it."""

from apis.meta import ACTIVE_UNTIL_PREFIX, MANAGED, PARENT_PREFIX
from manager.render.documents import LAST_APPLIED, copied, visible

ORIGINAL = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "settings",
        "namespace": "platform",
        "uid": "u",
        "resourceVersion": "5",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [{"uid": "o"}],
        "finalizers": ["x/y"],
        "managedFields": [{}],
        "labels": {"share": "yes", "app": "web", MANAGED: "true", f"{PARENT_PREFIX}u": "created"},
        "annotations": {"note": "kept", LAST_APPLIED: "{}", f"{ACTIVE_UNTIL_PREFIX}u": "2026-01-01T00:00:00Z"},
    },
    "data": {"a": "1"},
    "status": {"x": 1},
}


def test_a_copy_keeps_content_and_meaning_and_nothing_that_belongs_to_the_original() -> None:
    """Server fields, owners, our marks, and the labels by which it was found are gone; the original is not touched."""
    assert copied(ORIGINAL, frozenset({"share"})) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "labels": {"app": "web"}, "annotations": {"note": "kept"}},
        "data": {"a": "1"},
    }
    assert ORIGINAL["metadata"]["labels"][MANAGED] == "true"  # type: ignore[index]


def test_marks_of_others_that_only_look_like_ours_stay() -> None:
    """The domain has to be ours, or one below it."""
    labels = {"notcopyhold.dev/x": "1", "copyhold.dev": "2", "copyhold.dev.example.org/x": "3"}
    assert copied({"metadata": {"name": "x", "labels": labels}})["metadata"]["labels"] == labels


def test_empty_labels_and_annotations_do_not_stay_behind() -> None:
    """Also where the server sent null."""
    assert copied({"metadata": {"labels": {"share": "yes"}, "annotations": None}}, frozenset({"share"})) == {"metadata": {}}


def test_what_churns_is_not_visible_to_templates() -> None:
    """managedFields, resourceVersion and status change without meaning anything."""
    seen = visible(ORIGINAL)
    assert "status" not in seen
    assert not {"managedFields", "resourceVersion"} & set(seen["metadata"])
    assert (seen["metadata"]["uid"], seen["data"]) == ("u", {"a": "1"})
    assert "status" in ORIGINAL
