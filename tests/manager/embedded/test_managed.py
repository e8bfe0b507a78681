"""managedFields: who owns what after which write, and the conflicts, in the words of the server."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from manager.embedded.entries import APPLY, UPDATE, decode, encode, keep_times
from manager.embedded.fields import FieldSet
from manager.embedded.lastapplied import LAST_APPLIED
from manager.embedded.managed import apply, manager_of, update
from manager.embedded.openapi import definition
from manager.embedded.schema import ListType, Schema
from manager.embedded.status import StatusError

Manifest = dict[str, Any]

NOW = datetime(2026, 5, 1, 12, 0, 0, 999, tzinfo=UTC)
NOW_TEXT = "2026-05-01T12:00:00Z"
LATER = NOW + timedelta(seconds=5)
LATER_TEXT = "2026-05-01T12:00:05Z"

STRINGS = Schema(type="object", additional=Schema(type="string"))
CONFIG_MAP = Schema(
    type="object",
    reference="ConfigMap",
    properties={
        "apiVersion": Schema(type="string"),
        "kind": Schema(type="string"),
        "metadata": Schema(
            type="object",
            reference="ObjectMeta",
            default={},
            has_default=True,
            properties={
                **{name: Schema(type="string") for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")},
                "labels": STRINGS,
                "annotations": STRINGS,
                "generation": Schema(type="integer"),
                "finalizers": Schema(type="array", items=Schema(type="string"), list_type=ListType.SET),
                "managedFields": Schema(type="array", items=Schema(type="object")),
            },
        ),
        "data": STRINGS,
        "status": Schema(type="object", additional=Schema(type="string")),
    },
)


def config_map(data: Manifest | None = None, **metadata: Any) -> Manifest:
    """A ConfigMap."""
    manifest: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", **metadata}}
    return manifest if data is None else {**manifest, "data": data}


def stored(manifest: Manifest) -> Manifest:
    """As the server keeps it."""
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "u", "resourceVersion": "5", "creationTimestamp": NOW_TEXT}}


def applied(live: Manifest | None, config: Manifest, manager: str = "one", *, force: bool = False, **more: Any) -> Manifest:
    """Apply, as a server would."""
    given: dict[str, Any] = {"schema": CONFIG_MAP, "api_version": "v1", "now": NOW} | more
    result = apply(live, config, manager=manager, force=force, **given)
    return stored(result) if live is None else result


def updated(live: Manifest | None, new: Manifest, manager: str = "two", **more: Any) -> Manifest:
    """Create or update, as a server would."""
    given: dict[str, Any] = {"schema": CONFIG_MAP, "api_version": "v1", "now": NOW} | more
    result = update(live, new, manager=manager, **given)
    return stored(result) if live is None else result


def entries(manifest: Manifest) -> dict[str, list[str]]:
    """Who owns which paths."""
    listed = manifest["metadata"].get("managedFields", [])
    return {f"{entry['manager']} {entry['operation']}": FieldSet.parse(entry["fieldsV1"]).paths() for entry in listed}


def times(manifest: Manifest) -> dict[str, str | None]:
    """Since when."""
    return {entry["manager"]: entry.get("time") for entry in manifest["metadata"].get("managedFields", [])}


# Applies


def test_an_apply_owns_what_it_names() -> None:
    """But no name, no kind, and nothing else that says which object it is."""
    made = applied(None, config_map({"x": "1"}, labels={"l": "1"}))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": NOW_TEXT,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:x": {}}, "f:metadata": {"f:labels": {"f:l": {}}}},
        }
    ]


def test_the_same_apply_changes_nothing() -> None:
    """Not even the time: the result is the live object itself."""
    live = applied(None, config_map({"x": "1"}))
    assert applied(live, config_map({"x": "1"}), now=LATER) is live


def test_a_dropped_field_goes_and_the_time_moves() -> None:
    """Whoever no longer names a field that is his alone takes it back."""
    live = applied(None, config_map({"x": "1", "y": "2"}))
    result = applied(live, config_map({"y": "2"}), now=LATER)
    assert result["data"] == {"y": "2"}
    assert (entries(result), times(result)) == ({"one Apply": [".data.y"]}, {"one": LATER_TEXT})


def test_a_dropped_field_stays_while_another_owns_it() -> None:
    """Equal values are owned together."""
    live = applied(applied(None, config_map({"x": "1"})), config_map({"x": "1"}), "two")
    result = applied(live, config_map({}), "one", now=LATER)
    assert result["data"] == {"x": "1"}
    assert entries(result) == {"one Apply": [".data"], "two Apply": [".data.x"]}


def test_who_joins_without_a_change_has_no_time() -> None:
    """As the server, which sets the time only of an apply that changed the object."""
    live = applied(applied(None, config_map({"x": "1"})), config_map({"x": "1"}), "two", now=LATER)
    assert times(live) == {"two": None, "one": NOW_TEXT}


def test_an_identity_alone_gives_everything_back() -> None:
    """The entry goes with it."""
    result = applied(applied(None, config_map({"x": "1"}, labels={"l": "1"})), config_map())
    assert "managedFields" not in result["metadata"]
    assert "data" not in result
    assert not result["metadata"].get("labels")
    assert (result["metadata"]["uid"], result["metadata"]["name"]) == ("u", "a")


def test_another_value_is_a_conflict() -> None:
    """One cause for each manager and field."""
    live = applied(None, config_map({"x": "1"}))
    with pytest.raises(StatusError) as refused:
        applied(live, config_map({"x": "2"}), "two")
    assert refused.value.manifest() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "one": .data.x',
        "reason": "Conflict",
        "details": {"causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}]},
        "code": 409,
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    """An updater is named with its version, a subresource with its name."""
    live = updated(applied(None, config_map({"x": "1", "y": "1"})), config_map({"x": "1", "y": "1", "z": "1"}))
    live = updated(live, {**live, "data": {**live["data"], "w": "1"}}, "three", subresource="status")
    with pytest.raises(StatusError) as refused:
        applied(live, config_map({"x": "2", "y": "2", "z": "2", "w": "2"}), "four")
    assert refused.value.message == (
        'Apply failed with 4 conflicts: conflicts with "one":\n- .data.x\n- .data.y\n'
        'conflicts with "three" with subresource "status" using v1:\n- .data.w\n'
        'conflicts with "two" using v1:\n- .data.z'
    )


def test_force_takes_the_fields() -> None:
    """They are ours then, and only ours; whoever has none left is gone."""
    live = applied(None, config_map({"x": "1"}))
    assert entries(applied(live, config_map({"x": "2"}), "two", force=True)) == {"two Apply": [".data.x"]}


def test_the_same_value_is_never_a_conflict() -> None:
    """Whoever holds it."""
    live = updated(None, config_map({"x": "1"}))
    assert entries(applied(live, config_map({"x": "1"}))) == {"one Apply": [".data.x"], "two Update": [".data", ".data.x"]}


def test_quantities_are_compared_as_they_are_written() -> None:
    """Other words for the same amount are a conflict with another; by oneself they change nothing in the end."""
    quota = definition("", "v1", "ResourceQuota")
    assert quota is not None

    def canonical(manifest: Manifest) -> Manifest:
        return {**manifest, "spec": {"hard": {"cpu": "1"}}}

    more: dict[str, Any] = {"schema": quota, "finish": canonical}
    want = {**config_map(), "kind": "ResourceQuota", "spec": {"hard": {"cpu": "1000m"}}}
    live = applied(None, want, **more)
    assert applied(live, want, now=LATER, **more) is live
    with pytest.raises(StatusError, match=r"conflict with \"one\": .spec.hard.cpu"):
        applied(live, want, "two", **more)


def test_what_a_kind_makes_of_it_is_not_owned() -> None:
    """Defaults come after the fields were looked at."""
    made = applied(None, config_map({"x": "1"}), finish=lambda merged: {**merged, "status": {"phase": "New"}})
    assert made["status"] == {"phase": "New"}
    assert entries(made) == {"one Apply": [".data.x"]}


@pytest.mark.parametrize(
    ("config", "code", "words"),
    [
        pytest.param(
            {**config_map(), "data": {"x": 1}},
            500,
            "failed to create typed patch object (b/a; /v1, Kind=ConfigMap): .data.x: expected string, "
            "got &value.valueUnstructured{Value:1}",
            id="wrong type",
        ),
        pytest.param(
            {**config_map(), "more": 1},
            500,
            "failed to create typed patch object (b/a; /v1, Kind=ConfigMap): .more: field not declared in schema",
            id="unknown field",
        ),
        pytest.param({**config_map(), "apiVersion": "v2"}, 400, "invalid object type: /v2, Kind=ConfigMap", id="another version"),
        pytest.param(config_map(managedFields=[]), 400, "metadata.managedFields must be nil", id="managedFields"),
    ],
)
def test_a_configuration_that_cannot_be_applied(config: Manifest, code: int, words: str) -> None:
    """The code and the words are those of the server."""
    with pytest.raises(StatusError) as refused:
        applied(None, config)
    assert (refused.value.code, refused.value.message) == (code, words)


def test_fields_that_a_write_resets_are_not_owned() -> None:
    """What is applied to the object does not own the status."""
    made = applied(None, {**config_map({"x": "1"}), "status": {"a": "1"}}, reset=FieldSet.of(("status",)))
    assert entries(made) == {"one Apply": [".data.x"]}


def test_a_subresource_has_an_entry_of_its_own() -> None:
    """Of the same manager."""
    live = applied(None, config_map({"x": "1"}))
    result = applied(live, {**config_map(), "status": {"a": "1"}}, subresource="status")
    assert [(entry["manager"], entry.get("subresource")) for entry in result["metadata"]["managedFields"]] == [
        ("one", None),
        ("one", "status"),
    ]


def test_content_that_nobody_manages_belonged_to_somebody_before() -> None:
    """The first apply finds `before-first-apply`, and conflicts with it."""
    live = stored(config_map({"x": "1"}))
    assert entries(applied(live, config_map({"x": "1"}))) == {
        "one Apply": [".data.x"],
        "before-first-apply Update": [".data", ".data.x"],
    }
    with pytest.raises(StatusError, match=r'conflict with "before-first-apply" using v1: \.data\.x'):
        applied(live, config_map({"x": "2"}))


def test_an_entry_that_is_not_understood_stops_an_apply() -> None:
    """It was written into the store by other means."""
    live = stored(config_map({"x": "1"}, managedFields=[{"operation": "Other", "apiVersion": "v1"}]))
    with pytest.raises(StatusError, match="failed to decode managed fields: operation must be `Apply` or `Update`"):
        applied(live, config_map())


# Updates


def test_a_create_owns_everything_but_the_identity() -> None:
    """The places of maps too."""
    made = updated(None, config_map({"x": "1"}, labels={"l": "1"}))
    assert entries(made) == {"two Update": [".data", ".data.x", ".metadata.labels", ".metadata.labels.l"]}


def test_structs_of_go_were_always_there() -> None:
    """A struct that is not given is an empty one, and a list without omitempty is null: nobody adds these places themselves."""
    schema = definition("apps", "v1", "Deployment")
    assert schema is not None
    template = {"metadata": {}, "spec": {"containers": [{"name": "x", "resources": {}}], "volumes": [{"name": "v"}]}}
    spec = {"selector": {"matchLabels": {"a": "1"}}, "template": template, "strategy": {"type": "Recreate"}}
    new = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec, "status": {}}
    made = updated(None, new, schema=schema, api_version="apps/v1")
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:spec": {
            "f:selector": {},
            "f:strategy": {"f:type": {}},
            "f:template": {
                "f:spec": {
                    "f:containers": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:resources": {}}},
                    "f:volumes": {".": {}, 'k:{"name":"v"}': {".": {}, "f:name": {}}},
                }
            },
        }
    }


def test_an_update_takes_what_it_changes_from_everybody() -> None:
    """And of what it writes as it was, nothing."""
    live = applied(None, config_map({"x": "1", "y": "1"}))
    live = applied(live, config_map({"x": "1"}), "three")
    result = updated(live, {**live, "data": {"x": "2", "y": "1"}}, now=LATER)
    assert entries(result) == {"one Apply": [".data.y"], "two Update": [".data.x"]}
    assert times(result) == {"one": NOW_TEXT, "two": LATER_TEXT}


def test_what_an_update_removes_is_nobodys() -> None:
    """The entry of whoever had nothing else goes."""
    live = applied(None, config_map({"x": "1"}))
    assert entries(updated(live, config_map())) == {}


def test_updates_of_one_manager_add_up() -> None:
    """In one entry, with the time of the last."""
    live = updated(None, config_map({"x": "1"}))
    live = updated(live, {**live, "data": {"x": "1", "y": "1"}}, now=LATER)
    assert (entries(live), times(live)) == ({"two Update": [".data", ".data.x", ".data.y"]}, {"two": LATER_TEXT})


def test_an_update_that_changes_nothing_keeps_the_entries() -> None:
    """Time included."""
    live = updated(None, config_map({"x": "1"}))
    assert updated(live, dict(live), "three", now=LATER) == live


def test_a_scale_is_managed_once_somebody_owns_what_it_changes() -> None:
    """The server manages the fields of the Scale, where nobody has an entry before; its entries have no time of their own."""
    live = applied(None, config_map({"x": "1"}))
    new = {**live, "data": {"x": "1", "replicas": "2"}}
    assert updated(live, new, subresource="scale") == new
    owned = applied(live, config_map({"x": "1", "replicas": "1"}))
    scaled = updated(owned, {**owned, "data": {"x": "1", "replicas": "2"}}, subresource="scale")
    assert entries(scaled) == {"one Apply": [".data.x"], "two Update": [".data.replicas"]}
    assert times(scaled)["two"] is None
    assert updated(scaled, dict(scaled), subresource="scale") == scaled


def test_more_than_ten_updaters_are_merged() -> None:
    """The oldest become one entry of `ancient-changes`, with the time of the youngest of them."""
    live = updated(None, config_map({"x0": "1"}), "m0")
    for number in range(1, 13):
        new = {**live, "data": {**live["data"], f"x{number}": "1"}}
        live = updated(live, new, f"m{number}", now=NOW + timedelta(seconds=number))
    assert list(entries(live)) == ["ancient-changes Update", *(f"m{number} Update" for number in range(4, 13))]
    assert entries(live)["ancient-changes Update"] == [".data", ".data.x0", ".data.x1", ".data.x2", ".data.x3"]
    assert times(live)["ancient-changes"] == "2026-05-01T12:00:03Z"


def test_what_does_not_fit_is_not_managed() -> None:
    """The write goes on, and fails or not at other checks."""
    assert updated(None, config_map({"x": 1})) == stored(config_map({"x": 1}))


def test_an_object_that_nobody_manages_stays_so() -> None:
    """Until somebody applies."""
    live = stored(config_map({"x": "1"}))
    assert updated(live, {**live, "data": {"x": "2"}}) == {**live, "data": {"x": "2"}}


@pytest.mark.parametrize(
    ("given", "owners"),
    [
        pytest.param([{}], {}, id="an empty entry forgets all"),
        pytest.param([], {}, id="an empty list forgets all"),
        pytest.param(None, {"one Apply": [".data.x"]}, id="null keeps them"),
        pytest.param([{"operation": "Nonsense"}], {"one Apply": [".data.x"]}, id="nonsense keeps them"),
        pytest.param(
            [{"manager": "new", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}],
            {"new Apply": [".data"]},
            id="other entries are taken",
        ),
    ],
)
def test_clients_may_edit_the_entries(given: Any, owners: dict[str, list[str]]) -> None:
    """Not through a subresource."""
    live = applied(None, config_map({"x": "1"}))
    new = {**live, "metadata": {**live["metadata"], "managedFields": given}}
    assert entries(updated(live, new)) == owners
    assert entries(updated(live, new, subresource="status")) == {"one Apply": [".data.x"]}


def test_an_empty_list_in_a_custom_object_is_none() -> None:
    """Its metadata is read and written again on the way, and loses it there."""
    schema = Schema(type="object", properties={"data": STRINGS})
    live = updated(None, config_map({"x": "1"}), schema=schema)
    new = {**live, "metadata": {**live["metadata"], "managedFields": []}}
    assert entries(updated(live, new, schema=schema)) == {"two Update": [".data", ".data.x"]}


def test_entries_of_another_group_go() -> None:
    """Nobody serves their version; entries of other versions of the kind stay."""
    live = applied(None, config_map({"x": "1"}))
    [mine] = live["metadata"]["managedFields"]
    foreign = {**mine, "manager": "foreign", "apiVersion": "other.example/v1"}
    older = {**mine, "manager": "older", "apiVersion": "v1beta1"}
    live["metadata"]["managedFields"] = [mine, foreign, older]
    assert set(entries(updated(live, {**live, "data": {"x": "1", "y": "2"}}))) == {"one Apply", "older Apply", "two Update"}


# kubectl


def test_client_side_apply_becomes_server_side_without_conflicts() -> None:
    """As far as the annotation says what the client had applied and it is still so."""
    last = json.dumps(config_map({"x": "1"}))
    live = updated(None, config_map({"x": "1"}, annotations={LAST_APPLIED: last}), "kubectl-client-side-apply")
    want = config_map({"x": "2"})
    result = applied(live, want, "kubectl", now=LATER)
    assert result["data"] == {"x": "2"}
    assert result["metadata"]["annotations"][LAST_APPLIED] == json.dumps(want, sort_keys=True, separators=(",", ":")) + "\n"
    with pytest.raises(StatusError, match=r'conflict with "kubectl-client-side-apply" using v1: \.data\.x'):
        applied(live, want, "another", now=LATER)


def test_fields_that_changed_since_the_client_applied_are_conflicts() -> None:
    """The annotation does not explain them."""
    last = json.dumps(config_map({"x": "1", "y": "1"}))
    live = updated(None, config_map({"x": "1", "y": "1"}, annotations={LAST_APPLIED: last}), "kubectl-client-side-apply")
    live = updated(live, {**live, "data": {"x": "1", "y": "9"}}, "other")
    with pytest.raises(StatusError) as refused:
        applied(live, config_map({"x": "2", "y": "2"}), "kubectl")
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "other" using v1: .data.y'


@pytest.mark.parametrize("last", ["{", "[]", '{"apiVersion": "v9"}', '{"apiVersion": "v1", "data": 1}'])
def test_an_annotation_that_says_nothing_explains_nothing(last: str) -> None:
    """The conflict stays."""
    live = updated(None, config_map({"x": "1"}, annotations={LAST_APPLIED: last}))
    with pytest.raises(StatusError, match="1 conflict"):
        applied(live, config_map({"x": "2"}), "kubectl")


def test_the_annotation_is_not_part_of_itself_and_is_left_out_when_it_is_too_long() -> None:
    """Annotations may have 256 KiB in all."""
    live = updated(None, config_map({}, annotations={LAST_APPLIED: "{}"}))
    small = applied(live, config_map({"x": "1"}, annotations={LAST_APPLIED: "{}", "a": "<"}), "kubectl")
    assert small["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"x":"1"},"kind":"ConfigMap","metadata":{"annotations":{"a":"\\u003c"},"name":"a","namespace":"b"}}\n'
    )
    large = applied(live, config_map({"x": "1" * 256 * 1024}), "kubectl")
    assert LAST_APPLIED not in large["metadata"]["annotations"]


# Parts


def test_entries_are_sorted_as_the_server_does() -> None:
    """Apply first, then by time, manager, version and subresource."""
    rows = [
        ("b", UPDATE, "v1", NOW_TEXT, ""),
        ("0", UPDATE, "v1", LATER_TEXT, ""),
        ("z", APPLY, "v1", LATER_TEXT, ""),
        ("b", UPDATE, "v1", NOW_TEXT, "status"),
        ("a", UPDATE, "v1", NOW_TEXT, ""),
    ]
    listed = [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:a": {}},
        }
        | ({"subresource": subresource} if subresource else {})
        for manager, operation, version, time, subresource in rows
    ]
    ordered = encode(decode(listed))
    assert [listed.index(entry) for entry in ordered] == [2, 4, 0, 3, 1]


def test_times_alone_are_no_change() -> None:
    """The last step before an object is stored."""
    live = applied(None, config_map({"x": "1"}))
    [mine] = live["metadata"]["managedFields"]
    later = {**live, "metadata": {**live["metadata"], "managedFields": [{**mine, "time": LATER_TEXT}]}}
    assert keep_times(later, live) is live
    assert keep_times({**later, "data": {"x": "2"}}, live) != live
    renamed = {**live, "metadata": {**live["metadata"], "managedFields": [{**mine, "manager": "other"}]}}
    assert keep_times(renamed, live) is renamed


@pytest.mark.parametrize(
    ("agent", "given", "manager"),
    [
        ("kubectl/v1.36 (linux)", "", "kubectl"),
        ("kubectl/v1.36", "mine", "mine"),
        ("Mozilla 5.0", "", "Mozilla 5.0"),
        ("tab\there/1", "", "tabhere"),
        ("x" * 200, "", "x" * 128),
        ("é" * 100 + "/", "", "é" * 64),
        ("", "", ""),
    ],
)
def test_the_default_manager_is_the_user_agent(agent: str, given: str, manager: str) -> None:
    """Up to its first slash, printable, 128 bytes at most."""
    assert manager_of(agent, given) == manager


def test_nothing_that_is_passed_in_is_changed() -> None:
    """Stored objects are shared by all who read them."""
    live = updated(applied(None, config_map({"x": "1"}, labels={"a": "1"})), config_map({"x": "1", "y": "1"}, labels={"a": "2"}))
    config = config_map({"x": "2", "z": "1"}, labels={"b": "1"})
    before = json.dumps([live, config])
    applied(live, config, force=True, now=LATER)
    updated(live, {**live, "data": {}}, now=LATER)
    assert json.dumps([live, config]) == before
