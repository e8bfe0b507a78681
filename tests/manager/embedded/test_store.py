"""The store: revisions, the window of changes, collections as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded.status import StatusError
from manager.embedded.store import FIRST, Change, Key, Kind, Store

Put = tuple[str, str]


def key(name: str, namespace: str = "a", resource: str = "configmaps") -> Key:
    """Where an object is."""
    return Key(resource, namespace, name)


def manifest(name: str, **more: object) -> dict[str, object]:
    """An object."""
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "uid": f"uid-{name}"} | more}


def names(store: Store, revision: int | None = None, namespace: str = "") -> list[str]:
    """The names in a collection, now or as it was."""
    found = store.members("configmaps", namespace) if revision is None else store.at("configmaps", revision, namespace)
    return [stored.key.name for stored in found]


def test_revisions_begin_above_one() -> None:
    """An apply with resourceVersion "1" means create-only, so no object may have that."""
    assert Store().put(key("x"), manifest("x")).revision == FIRST + 1 > 1


def test_an_object_bears_its_revision() -> None:
    """The bytes that clients get say the resourceVersion, and what was passed in stays as it was."""
    store, given_ = Store(), manifest("x")
    stored = store.put(key("x"), given_)
    assert store.read(key("x"))["metadata"]["resourceVersion"] == str(stored.revision)  # type: ignore[index]
    assert "resourceVersion" not in given_["metadata"]  # type: ignore[operator]


def test_what_an_object_is_stands_first_in_its_bytes() -> None:
    """Lists leave the head of an item out without decoding it."""
    raw = Store().put(key("x"), manifest("x")).raw
    assert raw.startswith(b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x",')


def test_a_deletion_has_a_revision_of_its_own() -> None:
    """The last state of an object is told with the revision at which it ended."""
    store = Store()
    made = store.put(key("x"), manifest("x"))
    gone = store.delete(key("x"))
    assert gone.revision == made.revision + 1
    assert store.get(key("x")) is None


def test_a_collection_can_be_seen_as_it_was() -> None:
    """Creations, changes and deletions since then are undone."""
    store = Store()
    store.put(key("x"), manifest("x"))
    then = store.revision
    store.put(key("y"), manifest("y"))
    store.delete(key("x"))
    assert names(store) == ["y"]
    assert names(store, then) == ["x"]


def test_changes_beyond_the_window_are_expired() -> None:
    """Who asks for what is not kept is told so with the oldest revision that is."""
    store = Store(window=2)
    for name in "abc":
        store.put(key(name), manifest(name))
    assert [change.stored.key.name for change in store.since(FIRST + 1)] == ["b", "c"]
    with pytest.raises(StatusError, match=f"too old resource version: {FIRST} \\({FIRST + 1}\\)") as error:
        store.since(FIRST)
    assert error.value.code == 410
    with pytest.raises(StatusError):
        store.at("configmaps", FIRST)


def test_a_store_can_forget() -> None:
    """Watches and pages from before are then expired, and new ones are not."""
    store = Store()
    store.put(key("x"), manifest("x"))
    before = store.revision
    store.put(key("x"), manifest("x"))
    store.forget()
    with pytest.raises(StatusError):
        store.since(before)
    assert store.since(store.revision) == []


def test_listeners_hear_of_their_resource_until_they_stop() -> None:
    """A listener of one resource hears nothing of another, and nothing after its end."""
    store = Store()
    heard: list[Change] = []
    stop = store.listen(heard.append, "configmaps")
    store.put(key("x"), manifest("x"))
    store.put(key("x", resource="secrets"), manifest("x"))
    store.delete(key("x"))
    stop()
    store.put(key("x"), manifest("x"))
    assert [change.kind for change in heard] == [Kind.ADDED, Kind.DELETED]


def test_a_restored_store_goes_on() -> None:
    """Revisions continue, objects are there, and older changes are expired."""
    first = Store()
    stored = first.put(key("x"), manifest("x", labels={"a": "b"}))
    second = Store()
    second.restore(iter([(stored.key, stored.revision, stored.raw)]), 500)
    assert names(second) == ["x"]
    assert second.members("configmaps")[0].labels == {"a": "b"}
    assert second.put(key("y"), manifest("y")).revision == 501
    with pytest.raises(StatusError):
        second.since(499)


def test_what_was_touched_is_known_by_resource() -> None:
    """A cache compares one number."""
    store = Store()
    assert store.touched("configmaps") == 0
    store.put(key("x"), manifest("x"))
    before = store.touched("configmaps")
    store.put(key("x", resource="secrets"), manifest("x"))
    assert store.touched("configmaps") == before < store.touched("secrets")


@given(st.lists(st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("abcd")), max_size=30))
def test_the_past_is_what_was_seen_then(steps: list[Put]) -> None:
    """At every revision, a collection looked back at is the one that was there."""
    store, seen = Store(), {}
    for what, name in steps:
        if what == "put":
            store.put(key(name), manifest(name))
        elif store.get(key(name)) is not None:
            store.delete(key(name))
        seen[store.revision] = [(stored.key.name, stored.raw) for stored in store.members("configmaps")]
    for revision, then in seen.items():
        assert [(stored.key.name, stored.raw) for stored in store.at("configmaps", revision)] == then


@given(st.lists(st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("abcd")), max_size=30))
def test_changes_replayed_give_the_same(steps: list[Put]) -> None:
    """Whoever follows all changes knows what is there, and no revision is left out or used twice."""
    store, copy = Store(), {}
    for what, name in steps:
        if what == "put":
            store.put(key(name), manifest(name))
        elif store.get(key(name)) is not None:
            store.delete(key(name))
    changes = store.since(FIRST)
    assert [change.revision for change in changes] == list(range(FIRST + 1, store.revision + 1))
    for change in changes:
        if change.kind is Kind.DELETED:
            del copy[change.stored.key.name]
        else:
            copy[change.stored.key.name] = change.stored.raw
    assert copy == {stored.key.name: stored.raw for stored in store.members("configmaps")}
