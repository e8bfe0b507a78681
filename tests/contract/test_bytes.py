"""Bytes in an object are base64: both servers say alike of what is not."""

import pytest

from tests.support.api import Api, ref

PLACES = [("Secret", "data"), ("ConfigMap", "binaryData")]


@pytest.mark.parametrize("there", [False, True], ids=["create", "update"])
@pytest.mark.parametrize(("kind", "field"), PLACES)
def test_an_apply_of_what_is_no_base64_is_an_internal_error(api: Api, namespace: str, kind: str, field: str, there: bool) -> None:
    """The schema says string, so that only the conversion fails; it is the author's mistake all the same."""
    if there:
        api.create(ref("v1", kind, "bytes", namespace)).expect(201)
    reply = api.apply(ref("v1", kind, "bytes", namespace) | {field: {"key": "aGFs=bG8"}}, manager="someone").expect(500)
    assert reply.message == (
        f"failed to convert new object ({namespace}/bytes; /v1, Kind={kind}) to proper version: "
        f"unable to convert unstructured object to /v1, Kind={kind}: "
        "error decoding from json: illegal base64 data at input byte 4"
    )


@pytest.mark.parametrize(("kind", "field"), PLACES)
def test_a_create_of_what_is_no_base64_is_a_bad_request(api: Api, namespace: str, kind: str, field: str) -> None:
    """Here the body itself cannot be decoded."""
    reply = api.create(ref("v1", kind, "bytes", namespace) | {field: {"key": "aGFs=bG8"}}).expect(400)
    assert reply.message == f'{kind} in version "v1" cannot be handled as a {kind}: illegal base64 data at input byte 4'
