"""The server without HTTP: verbs, lists, watches, subresources, views."""

from typing import Any

import pytest

from tests.manager.embedded.calling import (
    APPLY,
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    METADATA,
    METADATA_LIST,
    TABLE,
    Answer,
    Caller,
    config_map,
    events,
)

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
def call() -> Caller:
    """A server of the test's own."""
    return Caller()


# Who asks.


def test_nobody_gets_in_without_a_token(call: Caller) -> None:
    """Not even discovery is told; only health is."""
    assert call("GET", CONFIG_MAPS, token="wrong").status == 401
    assert call("GET", "/api", token="wrong").status == 401
    assert call("GET", "/readyz", token="wrong").status == 200


def test_what_rbac_does_not_allow_is_403(call: Caller) -> None:
    """In the words of the real server; a list of one name is judged as that name."""
    refused = call("GET", CONFIG_MAPS, token="alice-token")
    said = 'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default"'
    assert (refused.status, refused.body["message"]) == (403, said)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"], "resourceNames": ["x"]}]
    group = "rbac.authorization.k8s.io"
    path = f"/apis/{group}/v1/namespaces/default"
    call("POST", f"{path}/roles", {"metadata": {"name": "one"}, "rules": rules})
    subject = {"kind": "User", "name": "alice", "apiGroup": group}
    role = {"kind": "Role", "name": "one", "apiGroup": group}
    call("POST", f"{path}/rolebindings", {"metadata": {"name": "one"}, "subjects": [subject], "roleRef": role})
    assert call("GET", CONFIG_MAPS, token="alice-token").status == 403
    assert call("GET", CONFIG_MAPS, token="alice-token", fieldSelector="metadata.name=x").status == 200


# Writing.


def test_an_object_is_created_once(call: Caller) -> None:
    """201, then 409."""
    made = call("POST", CONFIG_MAPS, config_map("x"))
    assert made.status == 201
    assert made.body["metadata"]["creationTimestamp"] == "2030-01-01T00:00:00Z"
    assert call("POST", CONFIG_MAPS, config_map("x")).body["reason"] == "AlreadyExists"


def test_a_name_can_be_made_up(call: Caller) -> None:
    """`generateName` is the beginning of it."""
    made = call("POST", CONFIG_MAPS, {"metadata": {"generateName": "gen-"}})
    assert made.body["metadata"]["name"].startswith("gen-")
    assert len(made.body["metadata"]["name"]) == len("gen-") + 5


def test_an_apply_with_resource_version_1_only_creates(call: Caller) -> None:
    """201 when the object is absent, 409 when it is there; "0" and "" apply to what is there."""
    assert call.apply(config_map("x", resourceVersion="1")).status == 201
    assert call.apply(config_map("x", resourceVersion="1")).status == 409
    assert call.apply(config_map("x", resourceVersion="0")).status == 200
    assert call.apply(config_map("x", resourceVersion="")).status == 200


def test_an_apply_with_a_uid_only_updates(call: Caller) -> None:
    """409 when nothing is there."""
    refused = call.apply(config_map("x", uid="abc"))
    assert refused.status == 409
    assert "uid mismatch: the provided object specified uid abc" in refused.body["message"]


def test_a_repeated_apply_changes_nothing(call: Caller) -> None:
    """The resourceVersion stays, and nobody who watches hears of it."""
    first = call.apply(config_map("x"))
    call.later(60)
    assert call.apply(config_map("x")).body == first.body


def test_a_stale_write_is_409(call: Caller) -> None:
    """By the resourceVersion, in a PUT and in a patch, and by the uid."""
    call("POST", CONFIG_MAPS, config_map("x"))
    assert call("PUT", f"{CONFIG_MAPS}/x", config_map("x", resourceVersion="5")).status == 409
    stale = {"metadata": {"resourceVersion": "5"}}
    assert call("PATCH", f"{CONFIG_MAPS}/x", stale, content_type=MERGE).status == 409
    assert call("PUT", f"{CONFIG_MAPS}/x", config_map("x", uid="other")).status == 409


def test_a_failed_test_of_a_patch_is_422(call: Caller) -> None:
    """In the words that the manager decides by."""
    call("POST", CONFIG_MAPS, config_map("x"))
    failed = call("PATCH", f"{CONFIG_MAPS}/x", [{"op": "test", "path": "/data/a", "value": "9"}], content_type=JSON_PATCH)
    assert failed.body["message"] == "the server rejected our request due to an error in our request"
    assert (failed.status, failed.body["details"]) == (422, {})


def test_a_dry_run_stores_nothing(call: Caller) -> None:
    """It answers what would be, and no watcher sees it."""
    before = call.store.revision
    assert call("POST", CONFIG_MAPS, config_map("x"), dryRun="All").status == 201
    assert call.apply(config_map("y"), dryRun="All").status == 201
    assert call.store.revision == before
    call("POST", CONFIG_MAPS, config_map("z"))
    before = call.store.revision
    patched = call("PATCH", f"{CONFIG_MAPS}/z", {"data": {"a": "2"}}, content_type=MERGE, dryRun="All")
    assert patched.body["data"] == {"a": "2"}
    assert call("DELETE", f"{CONFIG_MAPS}/z", dryRun="All").body["status"] == "Success"
    assert call.store.revision == before


@pytest.mark.parametrize(
    ("validation", "status", "warnings"),
    [("Strict", 400, ()), ("Warn", 201, ('unknown field "x"',)), ("", 201, ('unknown field "x"',)), ("Ignore", 201, ())],
)
def test_unknown_fields_are_judged_as_asked(call: Caller, validation: str, status: int, warnings: tuple[str, ...]) -> None:
    """Refused, told in a Warning header, or dropped without a word."""
    made = call("POST", CONFIG_MAPS, config_map("x") | {"x": 1}, fieldValidation=validation)
    assert (made.status, made.response.warnings) == (status, warnings)


def test_a_key_twice_is_told(call: Caller) -> None:
    """JSON takes the last one; strict validation names the path."""
    body = b'{"metadata": {"name": "x"}, "data": {"a": "1", "a": "2"}}'
    assert call("POST", CONFIG_MAPS, body).response.warnings == ('duplicate field "data.a"',)
    assert (
        'strict decoding error: duplicate field "data.a"'
        in call("POST", CONFIG_MAPS, body, fieldValidation="Strict").body["message"]
    )


def test_a_body_may_be_yaml(call: Caller) -> None:
    """Dates in it are text, as in the real server."""
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {day: 2021-01-01}\n"
    made = call("POST", CONFIG_MAPS, body, content_type="application/yaml")
    assert made.body["data"] == {"day": "2021-01-01"}
    assert call("PATCH", f"{CONFIG_MAPS}/x", body, content_type=APPLY, fieldManager="m").status == 200


def test_a_body_that_is_too_large_is_413(call: Caller) -> None:
    """Three MiB, as the real server has it."""
    assert call("POST", CONFIG_MAPS, b"x" * (3 * 1024 * 1024 + 1)).status == 413


# Deleting.


def test_preconditions_guard_a_deletion(call: Caller) -> None:
    """409 that names both values."""
    made = call("POST", CONFIG_MAPS, config_map("x"))
    refused = call("DELETE", f"{CONFIG_MAPS}/x", {"preconditions": {"uid": "other"}})
    assert refused.status == 409
    assert f"(other) does not match the UID in record ({made.body['metadata']['uid']})" in refused.body["message"]
    assert call("DELETE", f"{CONFIG_MAPS}/x", {"preconditions": {"resourceVersion": "1"}}).status == 409
    right = {"uid": made.body["metadata"]["uid"], "resourceVersion": str(made.version)}
    assert call("DELETE", f"{CONFIG_MAPS}/x", {"preconditions": right}).status == 200


def test_a_finalizer_holds_an_object(call: Caller) -> None:
    """It stays with a deletionTimestamp, until an update takes the last finalizer."""
    call("POST", CONFIG_MAPS, config_map("x", finalizers=["tests.example/held"]))
    held = call("DELETE", f"{CONFIG_MAPS}/x")
    assert held.body["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:00Z"
    again = call("DELETE", f"{CONFIG_MAPS}/x")
    assert again.version == held.version
    freed = call("PATCH", f"{CONFIG_MAPS}/x", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert (freed.status, freed.version) == (200, held.version)
    assert call("GET", f"{CONFIG_MAPS}/x").status == 404


def test_a_collection_is_deleted_by_its_selector(call: Caller) -> None:
    """The answer lists what was deleted."""
    for name, labels in (("x", {"l": "1"}), ("y", {"l": "2"})):
        call("POST", CONFIG_MAPS, config_map(name, labels=labels))
    gone = call("DELETE", CONFIG_MAPS, labelSelector="l=1")
    assert [item["metadata"]["name"] for item in gone.body["items"]] == ["x"]
    assert call("GET", f"{CONFIG_MAPS}/y").status == 200


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(call: Caller, name: str) -> None:
    """403: without them nothing works."""
    assert call("DELETE", f"{NAMESPACES}/{name}").status == 403


def test_an_absent_namespace_is_told_by_name(call: Caller) -> None:
    """404 that names the namespace, not the object."""
    refused = call("POST", f"{NAMESPACES}/nowhere/configmaps", config_map("x"))
    assert (refused.status, refused.body["details"]) == (404, {"name": "nowhere", "kind": "namespaces"})


# Lists.


def names(answer: Answer) -> list[str]:
    """The names in a list."""
    return [item["metadata"]["name"] for item in answer.body["items"]]


def test_a_list_is_read_page_by_page_as_it_was(call: Caller) -> None:
    """Objects that come or go between pages do not: each page is of the first one's moment."""
    for name in "abcde":
        call("POST", CONFIG_MAPS, config_map(name, labels={"p": "1"}))
    first = call("GET", CONFIG_MAPS, limit=2)
    assert first.body["metadata"]["remainingItemCount"] == 4
    call("DELETE", f"{CONFIG_MAPS}/d")
    call("POST", CONFIG_MAPS, config_map("ca"))
    found, token = names(first), first.body["metadata"]["continue"]
    while token:
        page = call("GET", CONFIG_MAPS, limit=2, **{"continue": token})
        assert page.version == first.version
        found, token = found + names(page), page.body["metadata"].get("continue", "")
    assert found == ["a", "b", "c", "d", "e", "kube-root-ca.crt"]


def test_no_one_counts_what_a_selector_leaves(call: Caller) -> None:
    """`remainingItemCount` is absent then."""
    for name in "ab":
        call("POST", CONFIG_MAPS, config_map(name, labels={"p": "1"}))
    page = call("GET", CONFIG_MAPS, limit=1, labelSelector="p")
    assert names(page) == ["a"]
    assert "remainingItemCount" not in page.body["metadata"]


def test_a_page_of_the_forgotten_is_410(call: Caller) -> None:
    """The list has to begin anew."""
    call("POST", CONFIG_MAPS, config_map("a"))
    token = call("GET", CONFIG_MAPS, limit=1).body["metadata"]["continue"]
    call("POST", CONFIG_MAPS, config_map("b"))
    call.store.forget()
    assert call("GET", CONFIG_MAPS, limit=1, **{"continue": token}).body["reason"] == "Expired"


def test_a_revision_can_be_asked_for_exactly(call: Caller) -> None:
    """Exact is that moment, NotOlderThan is now, and the future is a timeout."""
    then = call("POST", CONFIG_MAPS, config_map("a")).version
    call("POST", CONFIG_MAPS, config_map("b"))
    assert names(call("GET", CONFIG_MAPS, resourceVersion=then, resourceVersionMatch="Exact")) == ["a", "kube-root-ca.crt"]
    assert "b" in names(call("GET", CONFIG_MAPS, resourceVersion=then, resourceVersionMatch="NotOlderThan"))
    assert call("GET", CONFIG_MAPS, resourceVersion=99999).status == 504


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"resourceVersion": "abc"}, 400),
        ({"limit": "abc"}, 400),
        ({"continue": "xxx"}, 400),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"resourceVersionMatch": "x", "resourceVersion": "5"}, 422),
        ({"limit": "-1"}, 200),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(call: Caller, query: dict[str, str], status: int) -> None:
    """As by the real server."""
    assert call("GET", CONFIG_MAPS, **query).status == status


# Watches.


def test_a_watch_without_a_version_begins_with_what_is_there(call: Caller) -> None:
    """ADDED for each object, then the changes."""
    call("POST", CONFIG_MAPS, config_map("a"))
    watch = call.watch(CONFIG_MAPS, fieldSelector="metadata.name=a")
    call("PATCH", f"{CONFIG_MAPS}/a", {"data": {"a": "2"}}, content_type=MERGE)
    call("DELETE", f"{CONFIG_MAPS}/a")
    assert list(events(watch)) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_a_watch_goes_on_where_a_list_ended(call: Caller) -> None:
    """Nothing between the two is missed or told twice."""
    listed = call("GET", CONFIG_MAPS)
    call("POST", CONFIG_MAPS, config_map("a"))
    watch = call.watch(CONFIG_MAPS, resourceVersion=listed.version)
    call("POST", CONFIG_MAPS, config_map("b"))
    assert list(events(watch)) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_selector_makes_objects_come_and_go(call: Caller) -> None:
    """DELETED when the label goes, with the last state that matched; ADDED when it comes."""
    call("POST", CONFIG_MAPS, config_map("a", labels={"l": "1"}))
    watch = call.watch(CONFIG_MAPS, labelSelector="l")
    for labels in ({"l": None}, {"other": "1"}, {"l": "2"}):
        call("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"labels": labels}}, content_type=MERGE)
    assert list(events(watch)) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


def test_an_expired_version_ends_a_watch_with_an_error(call: Caller) -> None:
    """The request itself succeeds, as with the real server."""
    then = call.store.revision
    call("POST", CONFIG_MAPS, config_map("a"))
    call.store.forget()
    watch = call.watch(CONFIG_MAPS, resourceVersion=then)
    (line,) = watch.take(call.store.revision)
    assert b'"type":"ERROR"' in line
    assert b'"code":410' in line
    assert watch.ended


def test_initial_events_end_with_a_bookmark(call: Caller) -> None:
    """By its annotation `kubectl wait` knows that it has seen everything."""
    watch = call.watch(CONFIG_MAPS, sendInitialEvents="true", allowWatchBookmarks="true", resourceVersionMatch="NotOlderThan")
    *_, last = watch.take(call.store.revision)
    assert b'"annotations":{"k8s.io/initial-events-end":"true"}' in last


def test_a_bookmark_says_how_far_a_watch_is(call: Caller) -> None:
    """Also when nothing happened in its own collection."""
    watch = call.watch(CONFIG_MAPS)
    list(events(watch))
    call("POST", f"{NAMESPACES}/kube-system/configmaps", config_map("a"))
    assert list(events(watch)) == []
    now = call.store.revision
    assert f'"resourceVersion":"{now}"'.encode() in watch.bookmark(now)


def test_a_watch_tells_nothing_that_is_not_on_disk(call: Caller) -> None:
    """Lines come up to the revision that is durable."""
    watch = call.watch(CONFIG_MAPS, resourceVersion=call.store.revision)
    durable = call.store.revision
    call("POST", CONFIG_MAPS, config_map("a"))
    assert list(watch.take(durable)) == []
    assert len(list(watch.take(durable + 1))) == 1


# Views.


def test_metadata_alone_can_be_asked_for(call: Caller) -> None:
    """Of one object, of a list (whose emptiness is null), of a watch."""
    call("POST", CONFIG_MAPS, config_map("a"))
    one = call("GET", f"{CONFIG_MAPS}/a", accept=METADATA)
    assert (one.body["kind"], "data" in one.body) == ("PartialObjectMetadata", False)
    listed = call("GET", CONFIG_MAPS, accept=METADATA_LIST, fieldSelector="metadata.name=none")
    assert (listed.body["kind"], listed.body["items"]) == ("PartialObjectMetadataList", None)
    assert call("GET", CONFIG_MAPS, accept=METADATA).status == 406
    assert call("DELETE", f"{CONFIG_MAPS}/a", accept=METADATA).body["kind"] == "Status"


def test_a_table_has_columns_and_rows(call: Caller) -> None:
    """What `kubectl get` shows; only the first table of a watch repeats the columns."""
    call("POST", CONFIG_MAPS, config_map("a"))
    call.later(90)
    table = call("GET", CONFIG_MAPS, accept=f"{TABLE},application/json", fieldSelector="metadata.name=a")
    assert [column["name"] for column in table.body["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table.body["rows"][0]["cells"] == ["a", 1, "90s"]
    assert table.body["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    none = call("GET", f"{CONFIG_MAPS}/a", accept=TABLE, includeObject="None")
    assert none.body["rows"][0]["object"] is None


def test_yaml_can_be_asked_for(call: Caller) -> None:
    """With its own content type."""
    answer = call("GET", f"{CONFIG_MAPS}/kube-root-ca.crt", accept="application/yaml")
    assert answer.response.content_type == "application/yaml"
    assert answer.body.startswith(b"apiVersion: v1\n")


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("", 200),
        ("*/*", 200),
        ("text/html", 406),
        ("application/vnd.kubernetes.protobuf", 406),
        ("application/vnd.kubernetes.protobuf,application/json", 200),
        ("application/json;as=Foo;g=meta.k8s.io;v=v1", 406),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", 200),
    ],
)
def test_the_first_spoken_media_type_is_taken(call: Caller, accept: str, status: int) -> None:
    """Protobuf is not spoken, and every client has a second choice."""
    assert call("GET", CONFIG_MAPS, accept=accept).status == status


# Paths.


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nope", 404),
        ("GET", "/api/v1/nope", 404),
        ("GET", "/apis/apps/v9/foo", 404),
        ("GET", f"{NAMESPACES}/default/namespaces", 404),
        ("GET", f"{NAMESPACES}/default/nodes", 404),
        ("GET", "/api/v1/configmaps/x", 404),
        ("GET", f"{CONFIG_MAPS}/x/status", 404),
        ("PUT", CONFIG_MAPS, 405),
        ("POST", f"{CONFIG_MAPS}/x", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("GET", "/apis/apps", 200),
        ("GET", "/version", 200),
        ("GET", "/api/", 200),
    ],
)
def test_a_path_or_verb_that_is_not_served_is_told_so(call: Caller, method: str, path: str, status: int) -> None:
    """404 for the path, 405 for the verb."""
    assert call(method, path, {} if method != "GET" else None).status == status


# Subresources.

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment(name: str) -> dict[str, Any]:
    """A Deployment."""
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}}


def test_a_scale_is_read_and_written(call: Caller) -> None:
    """It is the object's replicas; the object's generation counts it."""
    call("POST", DEPLOYMENTS, deployment("d"))
    scale = call("GET", f"{DEPLOYMENTS}/d/scale")
    assert (scale.body["kind"], scale.body["spec"], scale.body["status"]["selector"]) == ("Scale", {"replicas": 2}, "app=d")
    written = call("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 5}}, content_type=MERGE)
    assert written.body["spec"] == {"replicas": 5}
    now = call("GET", f"{DEPLOYMENTS}/d").body
    assert (now["spec"]["replicas"], now["metadata"]["generation"]) == (5, 2)
    assert call("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -1}}, content_type=MERGE).status == 422


def test_a_status_is_written_apart(call: Caller) -> None:
    """A write of the object leaves the status, and the other way round."""
    made = call("POST", DEPLOYMENTS, deployment("d") | {"status": {"replicas": 9}})
    assert made.body["status"].get("replicas") is None
    change = {"status": {"replicas": 1}, "spec": {"replicas": 7}}
    written = call("PATCH", f"{DEPLOYMENTS}/d/status", change, content_type=MERGE).body
    assert (written["status"]["replicas"], written["spec"]["replicas"]) == (1, 2)


def test_a_token_lets_an_account_in(call: Caller) -> None:
    """The token of an account is the account, as long as that is there."""
    path = f"{NAMESPACES}/default/serviceaccounts/default/token"
    made = call("POST", path, {"spec": {"expirationSeconds": 3600}})
    token = made.body["status"]["token"]
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    assert (
        call("POST", who, review, token=token).body["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"
    )
    call("DELETE", f"{NAMESPACES}/default/serviceaccounts/default")
    assert call("POST", who, review, token=token).status == 401


def test_a_pod_can_be_evicted(call: Caller) -> None:
    """It is gone at once, since no node runs it."""
    pods = f"{NAMESPACES}/default/pods"
    call("POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert call("POST", f"{pods}/p/eviction", {"metadata": {"name": "p"}}).status == 201
    assert call("GET", f"{pods}/p").status == 404


def test_events_have_two_faces(call: Caller) -> None:
    """v1 and events.k8s.io/v1 are one store: what one writes, the other reads under its own names."""
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "it happened",
        "type": "Normal",
        "reason": "Test",
    }
    call("POST", f"{NAMESPACES}/default/events", event)
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    seen = call("GET", f"{path}/e").body
    assert (seen["apiVersion"], seen["note"], seen["regarding"]["name"]) == ("events.k8s.io/v1", "it happened", "p")
    assert call("GET", path).body["items"][0]["note"] == "it happened"
