"""What an apply would change, worked out from managedFields; and what is never shown."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import MANAGED, PARENT_PREFIX, Manifest
from apis.reasons import Reason
from manager.files import Folder, Found
from manager.preview import Change, OnPaper, Preview, changes, falling, held_by_others, merged, same
from policy.decide import Decision, Verb
from policy.ownership import observe
from policy.target import payload
from tests.support.build import MANAGER, ME, OWNER, applied, entry, item, record, stored, want

LABELS = {MANAGED: "true", f"{PARENT_PREFIX}{ME}": "created"}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="equal"),
        pytest.param({"a": 1}, {"a": 2}, [Change(".a", 1, 2)], id="a value"),
        pytest.param({"a": 1}, {}, [Change(".a", 1)], id="goes"),
        pytest.param({}, {"a": {"b": 1}}, [Change(".a.b", None, 1)], id="comes, leaf by leaf"),
        pytest.param({}, {"a": {}}, [Change(".a", None, {})], id="an empty map comes"),
        pytest.param({"l": {"x.io/y": "1"}}, {"l": {"x.io/y": "2"}}, [Change(".l[x.io/y]", "1", "2")], id="a key with a dot"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3, 4]}, [Change(".a[1]", 2, 3), Change(".a[2]", None, 4)], id="by position"),
        pytest.param(
            {"c": [{"name": "a", "i": 1}, {"name": "b"}]},
            {"c": [{"name": "b"}, {"name": "a", "i": 2}]},
            [Change(".c[name=a].i", 1, 2)],
            id="by name",
        ),
        pytest.param({"a": "x"}, {"a": {"b": 1}}, [Change(".a", "x", {"b": 1})], id="another type"),
    ],
)
def test_changes_are_told_by_their_paths(before: Manifest, after: Manifest, found: list[Change]) -> None:
    """The leaves that differ, in order."""
    assert list(changes(before, after)) == found


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON)
def test_nothing_changes_between_equal_values(value: Any) -> None:
    """Whatever they are; and what is the same says what is wanted."""
    assert list(changes(value, value)) == []
    assert same(value, value)


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), _JSON, max_size=3), st.dictionaries(st.text(min_size=1, max_size=3), _JSON)
)
def test_what_is_applied_is_there_afterwards(before: Manifest, wanted: Manifest) -> None:
    """And applying it once more changes nothing."""
    live = stored(body={"data": before})
    ours = body(**wanted)
    once = merged(live, ours, MANAGER)
    assert same(ours["data"], once["data"])
    assert merged(once, ours, MANAGER) == once


OTHERS = entry("kubectl", {"f:data": {"f:theirs": {}, "f:shared": {}}})
OURS = applied(f_data={"f:mine": {}, "f:shared": {}, "f:old": {}})


def body(**data: Any) -> Manifest:
    """A payload with these data."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "solar-dev"}, "data": data}


def there(**data: str) -> Manifest:
    """A ConfigMap that we and kubectl own together."""
    return stored(OURS, OTHERS, labels=LABELS, body={"data": data})


@pytest.mark.parametrize(
    ("wanted", "data"),
    [
        pytest.param(
            {"mine": "2", "shared": "s", "old": "o"}, {"mine": "2", "shared": "s", "old": "o", "theirs": "t"}, id="a value"
        ),
        pytest.param({"mine": "1", "shared": "s"}, {"mine": "1", "shared": "s", "theirs": "t"}, id="what only we owned goes"),
        pytest.param(
            {"mine": "1", "old": "o"}, {"mine": "1", "old": "o", "shared": "s", "theirs": "t"}, id="what others own stays"
        ),
        pytest.param(
            {"mine": "1", "old": "o", "shared": "s", "new": "n"},
            {"mine": "1", "old": "o", "shared": "s", "theirs": "t", "new": "n"},
            id="comes",
        ),
    ],
)
def test_an_apply_on_paper_follows_ownership(wanted: dict[str, str], data: dict[str, str]) -> None:
    """As server-side apply does."""
    live = there(mine="1", shared="s", old="o", theirs="t")
    assert merged(live, body(**wanted), MANAGER)["data"] == data


def spec(live: Any, fields: Manifest, wanted: Any) -> Any:
    """What becomes of `spec` when a stranger applies `wanted` over `live`, whose owner has these fields."""
    there = stored(entry("kubectl", {"f:spec": fields}), body={"spec": live})
    ours = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "spec": wanted}
    return merged(there, ours, MANAGER)["spec"]


@pytest.mark.parametrize(
    ("live", "fields", "wanted", "result"),
    [
        pytest.param({"a": {"x": 1}}, {"f:a": {}}, {"a": {"y": 2}}, {"a": {"y": 2}}, id="an atomic map is replaced"),
        pytest.param(
            {"a": {"x": 1}}, {"f:a": {"f:x": {}}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}, id="a granular one is merged"
        ),
        pytest.param({"a": [1]}, {"f:a": {}}, {"a": [2]}, {"a": [2]}, id="an atomic list is replaced"),
        pytest.param({"a": ["x"]}, {"f:a": {'v:"x"': {}}}, {"a": ["y"]}, {"a": ["x", "y"]}, id="a set is joined"),
        pytest.param(
            {"a": [{"k": 1, "v": 1}, {"k": 2, "v": 2}]},
            {"f:a": {'k:{"k":1}': {"f:v": {}}, 'k:{"k":2}': {"f:v": {}}}},
            {"a": [{"k": 2, "v": 9}, {"k": 3}]},
            {"a": [{"k": 1, "v": 1}, {"k": 2, "v": 9}, {"k": 3}]},
            id="a map list is merged by key",
        ),
        pytest.param({"a": [{"x": 1, "d": 0}]}, {"f:a": {}}, {"a": [{"x": 1}]}, {"a": [{"x": 1, "d": 0}]}, id="defaults stay"),
    ],
)
def test_a_list_is_merged_by_the_keys_that_somebody_owns(live: Any, fields: Manifest, wanted: Any, result: Any) -> None:
    """Without a schema, managedFields say how a list is merged."""
    assert spec(live, fields, wanted) == result


def test_an_item_that_only_we_owned_goes() -> None:
    """From a list that is merged by key."""
    fields: Manifest = {"f:a": {'k:{"k":1}': {".": {}, "f:k": {}}, 'k:{"k":2}': {".": {}, "f:k": {}}}}
    there = stored(applied(f_spec=fields), labels=LABELS, body={"spec": {"a": [{"k": 1}, {"k": 2}]}})
    ours = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "spec": {"a": [{"k": 2}]}}
    assert merged(there, ours, MANAGER)["spec"] == {"a": [{"k": 2}]}


def test_what_others_hold_with_another_value_is_a_conflict() -> None:
    """By field and manager; an equal value is shared."""
    live = there(theirs="t", shared="s")
    assert held_by_others(body(theirs="t", shared="s"), live, MANAGER) == {}
    assert held_by_others(body(theirs="x", shared="y"), live, MANAGER) == {".data.theirs": "kubectl", ".data.shared": "kubectl"}


def test_a_status_entry_holds_nothing_of_ours() -> None:
    """Subresources are written apart."""
    live = stored(entry("controller", {"f:data": {"f:a": {}}}, subresource="status"))
    assert held_by_others(body(a="2"), live, MANAGER) == {}


def test_what_only_we_own_falls_on_release() -> None:
    """Marks are not told: they always go."""
    assert falling(there(), MANAGER) == (".data.mine", ".data.old")


# The preview from files.


async def look(decision: Decision, live: Manifest) -> Preview:
    """The preview of a decision about this object in the files."""
    return await OnPaper(Folder([Found(live, "file")]))(decision, OWNER)


async def test_an_adoption_tells_fields_and_not_marks() -> None:
    """Marks are told as one word."""
    live = stored(entry("kubectl", {"f:data": {"f:b": {}}}), body={"data": {"b": "1"}})
    preview = await look(Decision(item(want(creation="Merge"), observe(live)), Verb.ADOPT, Reason.FOREIGN), live)
    assert preview == Preview((Change(".data.a", None, "1"),), marks=True)


async def test_a_field_of_another_manager_is_a_conflict_on_paper() -> None:
    """Unless it is taken by force, which is told."""
    live = stored(entry("kubectl", {"f:data": {"f:a": {}}}), body={"data": {"a": "2"}})
    gentle = await look(Decision(item(want(), observe(live)), Verb.APPLY, Reason.CHANGED), live)
    assert gentle == Preview(taken={".data.a": "kubectl"})
    forced = await look(Decision(item(want(force=True), observe(live)), Verb.APPLY, Reason.CHANGED), live)
    assert forced == Preview((Change(".data.a", "2", "1"),), marks=True, taken={".data.a": "kubectl"})


async def test_an_apply_of_what_is_there_changes_nothing() -> None:
    """Neither fields nor marks."""
    desired = want()
    live = payload(desired, ME, OWNER.account, created=True)
    live["metadata"] |= {"uid": "u1", "resourceVersion": "10", "managedFields": [applied(f_data={"f:a": {}})]}
    assert await look(Decision(item(desired, observe(live)), Verb.APPLY, Reason.CHANGED, created=True), live) == Preview()


async def test_a_release_tells_what_falls() -> None:
    """From our own entry."""
    live = there(mine="1", old="2", shared="s")
    preview = await look(Decision(item(None, observe(live), record()), Verb.RELEASE, Reason.NOT_WANTED), live)
    assert preview.falls == (".data.mine", ".data.old")


async def test_a_removal_needs_no_preview() -> None:
    """The object goes as a whole."""
    live = there(mine="1")
    assert await look(Decision(item(None, observe(live), record()), Verb.REMOVE, Reason.NOT_WANTED), live) == Preview()


def test_values_can_be_withheld() -> None:
    """Paths stay."""
    assert Preview((Change(".data.a", "secret", "also secret"),)).without_values() == Preview((Change(".data.a"),))
