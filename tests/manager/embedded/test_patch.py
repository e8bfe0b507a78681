"""The three types of patches, alone and beside a real server, which gets the same patches."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded import openapi, patch
from manager.embedded.schema import ANYTHING
from manager.embedded.status import StatusError
from tests.manager.embedded import patches
from tests.support.api import Api, Reply

Manifest = dict[str, Any]

DEPLOYMENT = next(served for served in openapi.builtin() if served.resource == "deployments.apps").schema
VOLATILE = ("managedFields", "generation", "resourceVersion")


def stored(obj: Manifest) -> Manifest:
    """Without what every write changes."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in VOLATILE}
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}


def differences(real: Any, ours: Any, path: str = "") -> list[str]:
    """Where the server's answer is not ours; what it adds by its defaults is not counted."""
    if isinstance(ours, dict) and isinstance(real, dict):
        gone = [f"{path}.{key}: only ours" for key, value in ours.items() if key not in real and value not in ({}, [])]
        return gone + [each for key in ours.keys() & real.keys() for each in differences(real[key], ours[key], f"{path}.{key}")]
    if isinstance(ours, list) and isinstance(real, list) and len(ours) == len(real):
        pairs = enumerate(zip(real, ours, strict=True))
        return [each for at, (one, other) in pairs for each in differences(one, other, f"{path}[{at}]")]
    return [] if ours == real else [f"{path}: {real!r} and not {ours!r}"]


def agree(reply: Reply, ours: Callable[[], Manifest]) -> None:
    """The server's answer and ours are the same, error or object."""
    try:
        expected = ours()
    except StatusError as error:
        said = error.manifest()
        assert (said["code"], said["message"]) == (reply.status, reply.message)
        assert said.get("reason") == reply.body.get("reason")
    else:
        reply.expect(200)
        assert differences(stored(reply.body), stored(expected)) == []


@pytest.fixture
def config(api: Api, namespace: str) -> Manifest:
    """The ConfigMap, stored by the real server."""
    return place(api, patches.CONFIG, namespace)


@pytest.fixture
def workload(api: Api, namespace: str) -> Manifest:
    """The Deployment, stored by the real server."""
    return place(api, patches.WORKLOAD, namespace)


def place(api: Api, manifest: Manifest, namespace: str) -> Manifest:
    """Create it with finalizers, which are gone again when the test is over: patches here are tried and not carried out."""
    created = deepcopy(manifest)
    created["metadata"]["namespace"] = namespace
    created["metadata"].pop("finalizers", None)
    body: Manifest = api.create(created).expect(201).body
    return body


def with_finalizers(manifest: Manifest) -> Manifest:
    """A patch cannot be tried on finalizers that are not stored: this is the patch that adds them first."""
    return {"metadata": {"finalizers": patches.CONFIG["metadata"]["finalizers"]}}


def test_a_real_server_takes_our_json_patches_as_we_do(api: Api, config: Manifest) -> None:
    """Every operation, and every way to get it wrong."""
    live = api.merge_patch(config, with_finalizers(config)).expect(200).body
    try:
        for name, operations in patches.JSON_PATCHES.items():
            reply = api.json_patch(config, operations, dryRun="All")
            report(name, reply, partial(patch.json_patch, live, operations))
    finally:
        api.merge_patch(config, {"metadata": {"finalizers": None}}).expect(200)


def test_a_real_server_takes_our_merge_patches_as_we_do(api: Api, config: Manifest) -> None:
    """Nulls, lists and what is no object."""
    live = api.merge_patch(config, with_finalizers(config)).expect(200).body
    try:
        for name, given_patch in patches.MERGE_PATCHES.items():
            reply = api.merge_patch(config, given_patch, dryRun="All")
            report(name, reply, partial(patch.merge_patch, live, given_patch))
    finally:
        api.merge_patch(config, {"metadata": {"finalizers": None}}).expect(200)


def test_a_real_server_takes_our_strategic_patches_as_we_do(api: Api, workload: Manifest) -> None:
    """Keys, directives, orders, and every way to get them wrong."""
    live = api.merge_patch(workload, with_finalizers(workload)).expect(200).body
    try:
        for name, given_patch in patches.STRATEGIC_PATCHES.items():
            reply = api.strategic_patch(workload, given_patch, dryRun="All")
            report(name, reply, partial(patch.strategic_merge_patch, live, given_patch, DEPLOYMENT))
    finally:
        api.merge_patch(workload, {"metadata": {"finalizers": None}}).expect(200)


def report(name: str, reply: Reply, ours: Callable[[], Manifest]) -> None:
    """`agree`, and say which one did not."""
    try:
        agree(reply, ours)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from error


@pytest.mark.parametrize(
    ("operations", "code", "message"),
    [
        pytest.param([{"op": "remove", "path": "/z"}], 422, patch.REJECTED, id="nothing to remove"),
        pytest.param([{"op": "test", "path": "/a", "value": True}], 422, patch.REJECTED, id="true is not 1"),
        pytest.param({}, 400, "error decoding patch: json: cannot unmarshal object into", id="no list"),
        pytest.param(
            [{"op": "test", "path": "/a"}] * 10_001,
            413,
            "Request entity too large: The allowed maximum operations",
            id="too many",
        ),
    ],
)
def test_a_json_patch_that_cannot_be_applied_is_refused(operations: Any, code: int, message: str) -> None:
    """The object is not looked at again after that."""
    with pytest.raises(StatusError, match=message) as error:
        patch.json_patch({"a": 1}, operations)
    assert error.value.code == code


def test_what_a_patch_made_of_no_object_is_shown() -> None:
    """The server's answer to a patch whose result cannot be decoded."""
    error = patch.undecodable("{}", "json: cannot unmarshal")
    assert str(error) == ' "" is invalid: patch: Invalid value: "{}": json: cannot unmarshal'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=1), below, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text("abc", min_size=1, max_size=1), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_patches_change_nothing_that_they_were_given(obj: Manifest, given_patch: Manifest) -> None:
    """Objects are shared between those who hold them."""
    before, sent = deepcopy(obj), deepcopy(given_patch)
    patch.merge_patch(obj, given_patch)
    try:
        patch.strategic_merge_patch(obj, given_patch, ANYTHING)
    except StatusError as error:
        assert error.code in (400, 422, 500)  # noqa: PT017
    patch.json_patch(obj, [{"op": "add", "path": "/x", "value": given_patch}, {"op": "copy", "from": "/x", "path": "/y"}])
    assert (obj, given_patch) == (before, sent)


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_applied_twice_is_applied_once(obj: Manifest, given_patch: Manifest) -> None:
    """Merge patches say what shall be, not what to do; but nulls in a list that took the place of an object stay, once."""
    once = patch.merge_patch(obj, given_patch)
    assert patch.merge_patch({}, patch.merge_patch(once, given_patch)) == patch.merge_patch({}, once)


@given(OBJECTS)
def test_an_empty_patch_changes_nothing(obj: Manifest) -> None:
    """Of any type."""
    assert patch.merge_patch(obj, {}) == patch.json_patch(obj, []) == patch.strategic_merge_patch(obj, {}, ANYTHING) == obj
