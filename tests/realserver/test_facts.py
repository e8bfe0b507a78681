"""The facts that the embedded cluster stands on are those of the real server."""

import json

from manager.embedded import openapi
from tests.realserver import facts
from tests.realserver.access import Access


def test_the_stored_facts_are_those_of_the_real_server(realserver: Access) -> None:
    """`python -m tests.realserver.facts` would write the same; groups and roles that tests have added are left out."""
    groups = [group for group, _ in openapi.versions()]
    taken = facts.take(realserver, groups)
    stored = {path.name: json.loads(openapi.unpack(path.name)) for path in openapi.DATA.glob(f"*{openapi.SUFFIX}")}
    assert taken.keys() == stored.keys()
    # Other tests make priority classes, flow schemas and the like on the same server: what the server made must be among them.
    assert [made for made in stored.pop(openapi.BOOTSTRAP) if made not in taken[openapi.BOOTSTRAP]] == []
    assert [name for name in stored if taken[name] != stored[name]] == []


def test_descriptions_are_left_behind_and_fields_of_that_name_are_not() -> None:
    """A property may be called `description`."""
    schema = {"description": "A sentence.", "properties": {"description": {"description": "Another.", "type": "string"}}}
    assert facts.without_descriptions(schema) == {"properties": {"description": {"type": "string"}}}
    assert facts.without_descriptions({"description": "OK"}) == {"description": "OK"}
