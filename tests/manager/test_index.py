"""What the watches have shown, packed into a line of text per object: nothing gets lost in it, and it is small."""

import tracemalloc
from collections.abc import Iterable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import MANAGED, PARENT_PREFIX, Key
from manager.index import Index
from policy.ownership import Holding, Live, observe
from tests.support.build import FIELDS, ME, OTHER, applied, hold, live, stored

KEY = Key("", "ConfigMap", "solar-dev", "settings")

DIGESTS = st.text("0123456789abcdef", min_size=16, max_size=16)
HOLDS = st.builds(
    lambda uid, kind, mark, fields: Holding(f"copyhold.dev/{kind}/{uid}", mark, fields),
    st.uuids().map(str),
    st.sampled_from(["globaltenantresource", "resourcepermit"]),
    st.sampled_from(["created", "adopted"]),
    DIGESTS,
)
LIVES = st.builds(
    Live,
    st.uuids().map(str),
    st.integers(1, 2**63).map(str),
    st.booleans(),
    st.lists(HOLDS, max_size=4, unique_by=lambda one: one.manager).map(tuple),
)


def indexed(*lives: Live, key: Key = KEY) -> Index:
    """An index that has seen these states of one object, in this order."""
    index = Index()
    for one in lives:
        index.note(key, one)
    return index


@given(st.lists(LIVES, max_size=5))
def test_what_goes_in_comes_out(lives: list[Live]) -> None:
    """Every part of what was observed survives, for every object, whatever was packed before it."""
    index = Index()
    for at, one in enumerate(lives):
        index.note(KEY._replace(name=f"n{at}"), one)
    assert [index.live(KEY._replace(name=f"n{at}")) for at in range(len(lives))] == lives


def test_a_manifest_is_observed_on_its_way_in() -> None:
    """The same as the answer to a write."""
    manifest = stored(applied(), labels={MANAGED: "true", f"{PARENT_PREFIX}{ME}": "created"})
    index = Index()
    assert index.put("", "ConfigMap", manifest) == (None, observe(manifest))
    assert index.live(KEY) == observe(manifest)


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    """Its key says so."""
    index = Index()
    manifest = stored()
    del manifest["metadata"]["namespace"]
    index.put("", "Namespace", manifest)
    assert list(index.keys("", "Namespace")) == [Key("", "Namespace", "", "settings")]


@pytest.mark.parametrize(
    ("first", "second", "known", "reason"),
    [
        pytest.param(live(version="10"), live(version="11"), "11", "newer", id="newer"),
        pytest.param(live(version="10"), live(version="9"), "10", "older by number, not by text", id="older"),
        pytest.param(live(version="10"), live(version="10"), "10", "the same", id="same"),
        pytest.param(
            live(version="10", uid="u1"), live(version="12", uid="u2"), "12", "deleted and made again", id="another object"
        ),
        pytest.param(live(version="a"), live(version="b"), "b", "versions that cannot be compared: the last word", id="opaque"),
    ],
)
def test_an_older_state_changes_nothing(first: Live, second: Live, known: str, reason: str) -> None:
    """The answer to a write and the watch's echo may arrive in either order."""
    found = indexed(first, second).live(KEY)
    assert found is not None
    assert found.version == known, reason


@given(st.permutations([live(version=str(version)) for version in range(8, 13)]))
def test_the_newest_state_wins_in_any_order(lives: list[Live]) -> None:
    """Whatever overtakes what."""
    found = indexed(*lives).live(KEY)
    assert found is not None
    assert found.version == "12"


def test_taking_in_a_state_tells_what_was_known_before() -> None:
    """So that holders who are gone can be woken."""
    index = indexed(live(hold()))
    newer = live(hold(OTHER), version="11")
    assert index.note(KEY, newer) == (live(hold()), newer)
    assert index.note(KEY, live(version="9")) == (newer, newer)


def test_an_object_that_is_gone_is_forgotten() -> None:
    """Its last state is told once."""
    index = indexed(live(hold()))
    assert index.remove(KEY) == live(hold())
    assert index.live(KEY) is None
    assert index.remove(KEY) is None
    assert list(index.keys("", "ConfigMap")) == []


def test_a_removal_means_one_very_object() -> None:
    """What was made again under the same name stays."""
    index = indexed(live(uid="u2"))
    assert index.remove(KEY, "u1") is None
    assert index.live(KEY) == live(uid="u2")
    assert index.remove(KEY, "u2") == live(uid="u2")


def test_the_objects_of_a_kind_are_listed() -> None:
    """Over all namespaces, and no other kind's."""
    index = Index()
    keys = [
        KEY,
        KEY._replace(name="b"),
        KEY._replace(namespace="lunar"),
        Key("apps", "ConfigMap", "a", "b"),
        KEY._replace(kind="Secret"),
    ]
    for key in keys:
        index.note(key, live())
    assert set(index.keys("", "ConfigMap")) == set(keys[:3])
    assert set(index.kinds()) == {("", "ConfigMap"), ("apps", "ConfigMap"), ("", "Secret")}


def test_a_kind_is_synced_while_its_watch_runs() -> None:
    """Before the first complete list and after the watch was lost, absence means nothing."""
    index = Index()
    assert not index.synced("", "ConfigMap")
    index.mark_synced("", "ConfigMap")
    assert index.synced("", "ConfigMap")
    assert list(index.keys("", "ConfigMap")) == []
    index.mark_synced("", "ConfigMap", synced=False)
    assert not index.synced("", "ConfigMap")


def _filled(keys: Iterable[Key]) -> Index:
    index = Index()
    for at, key in enumerate(keys):
        index.note(key, live(hold(str(UUID(int=at % 20)), fields=FIELDS), uid=str(UUID(int=at)), version=str(1_000_000 + at)))
    return index


def test_an_object_costs_at_most_three_hundred_bytes() -> None:
    """Ten thousand objects in a hundred namespaces; the names are counted, since each is read from its own JSON."""
    count = 10_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        index = _filled(Key("", "ConfigMap", f"namespace-{at % 100}", f"baseline-{at:06}") for at in range(count))
        cost = (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()
    assert sum(1 for _ in index.keys("", "ConfigMap")) == count
    assert cost <= 300
