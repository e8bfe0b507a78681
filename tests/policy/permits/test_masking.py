"""Secrets in a snapshot: nothing of a value is seen, and the clear ones can still be matched to it."""

import base64
import copy
import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest
from policy.permits.masking import is_secret, masked, matches
from policy.target import LAST_APPLIED

PLAIN: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "open"}}


def secret(**fields: Any) -> Manifest:
    """A Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque"} | fields


def shown(value: bytes) -> str:
    """How a value is shown."""
    return f"sha256:{sha256(value).hexdigest()}"


def encoded(value: bytes) -> str:
    """How a value is stored."""
    return base64.b64encode(value).decode()


def test_a_value_is_shown_as_the_hash_of_its_bytes() -> None:
    """However it is written, so that the same values look the same; all else stays, and the clear targets are not touched."""
    clear = [PLAIN, secret(data={"p": encoded(b"hunter2")}, stringData={"q": "hunter2"})]
    before = copy.deepcopy(clear)
    assert masked(clear) == [PLAIN, secret(data={"p": shown(b"hunter2")}, stringData={"q": shown(b"hunter2")})]
    assert clear == before


@pytest.mark.parametrize(
    "fields",
    [
        {"data": {"p": "not base64: hunter2"}},
        {"data": {"p": ["hunter2"]}},
        {"data": {"p": {"deep": "hunter2"}}},
        {"data": "hunter2"},
        {"data": ["hunter2"]},
        {"stringData": {"p": 1, "q": "hunter2"}},
        {"stringData": "hunter2"},
        {"metadata": {"name": "s", "annotations": {LAST_APPLIED: '{"data": "hunter2"}', "kept": "yes"}}},
    ],
)
def test_also_what_the_server_would_refuse_is_hidden(fields: Manifest) -> None:
    """A snapshot is shown before anybody looks whether it is right."""
    assert "hunter2" not in json.dumps(masked([secret(**fields)]))


def test_other_annotations_stay() -> None:
    """Only what `kubectl apply` keeps there is a copy of the content."""
    clear = secret(metadata={"name": "s", "annotations": {LAST_APPLIED: "{}", "kept": "yes"}})
    assert masked([clear])[0]["metadata"] == {"name": "s", "annotations": {"kept": "yes"}}


@pytest.mark.parametrize("target", [PLAIN, secret(apiVersion="example.org/v1"), {"kind": "Secret"}, {}])
def test_only_a_secret_of_the_core_group_is_one(target: Manifest) -> None:
    """Others are shown as they are."""
    assert not is_secret(target)
    assert masked([target]) == [target]


@given(st.dictionaries(st.text(max_size=5), st.binary(max_size=20), max_size=3))
def test_the_clear_targets_match_what_is_shown_of_them(values: dict[str, bytes]) -> None:
    """Whatever the bytes; and any other value, or one less, does not."""
    clear = [secret(data={key: encoded(value) for key, value in values.items()}), PLAIN]
    assert matches(masked(clear), clear)
    for key in values:
        other = secret(data={**clear[0]["data"], key: encoded(values[key] + b"!")})
        fewer = secret(data={name: value for name, value in clear[0]["data"].items() if name != key})
        assert not matches(masked(clear), [other, PLAIN])
        assert not matches(masked(clear), [fewer, PLAIN])
    assert not matches(masked(clear), clear[:1])
    assert not matches(masked(clear), [clear[0], PLAIN | {"data": {"k": "other"}}])
