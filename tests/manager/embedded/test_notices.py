"""Warnings: alone, and beside a server."""

import re
from typing import Any

import pytest

from manager.embedded import openapi
from manager.embedded.definitions import served_of
from manager.embedded.notices import notices
from tests.manager.embedded import definitions as hostile
from tests.manager.embedded import gadgets
from tests.support.api import Api, Reply

Manifest = dict[str, Any]

GADGET = served_of(gadgets.definition("gadgets.example.com"))[0]
DEFINITION = next(served for served in openapi.builtin() if served.kind == "CustomResourceDefinition")


def warned(reply: Reply) -> list[str]:
    """The texts of the answer's Warning headers."""
    texts = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', reply.headers.get("warning", ""))
    return [text.replace('\\"', '"') for text in texts]


@pytest.mark.parametrize(
    ("finalizer", "expected"),
    [
        pytest.param("a.example.com/b", "", id="with a domain and a path"),
        pytest.param("a.example.com", "prefer a domain-qualified finalizer name including a path (/) to avoid", id="no path"),
        pytest.param("plain", "prefer a domain-qualified finalizer name to avoid", id="no domain"),
        pytest.param("foregroundDeletion", "", id="one of the server's own"),
    ],
)
def test_a_finalizer_should_say_whose_it_is(finalizer: str, expected: str) -> None:
    """The server warns of those that somebody else might use, too, when they come and not again."""
    new = {"metadata": {"finalizers": [finalizer]}}
    said = notices(GADGET, new)
    assert [expected in each for each in said] == ([True] if expected else [])
    assert notices(GADGET, new, new) == []


def test_a_server_warns_of_formats_as_we_do(api: Api) -> None:
    """Of those that it ignores."""
    spec = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": "odd"}, "b": {"type": "integer", "format": "int16"}},
    }
    root = {"type": "object", "properties": {"spec": spec, "x": {"type": "string", "format": "date-time"}}}
    definition = hostile.definition(versions=[hostile.version(schema=root)])
    reply = api.create(definition, dryRun="All").expect(201)
    assert (
        sorted(notices(DEFINITION, definition))
        == sorted(warned(reply))
        == [
            'unrecognized format "int16"',
            'unrecognized format "odd"',
        ]
    )
    assert notices(DEFINITION, definition, definition) == []
