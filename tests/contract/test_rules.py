"""Rules of definitions about declared fields: a server refuses what cannot be right, and judges the rest, as we do.

Two requests judge the rows: creating a definition that has all of them, and updating an object of those that compile.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from manager.embedded import definitions, rules, structural
from manager.embedded.correlation import Correlation
from manager.embedded.status import Cause
from tests.support.api import Api, Manifest, NotServed, eventually, ref
from tests.support.names import fresh

TEXT: Manifest = {"type": "string", "maxLength": 5}


def several(items: Manifest, **words: Any) -> Manifest:
    """Build a short list."""
    return {"type": "array", "maxItems": 4, "items": items, **words}


def unordered(items: Manifest) -> Manifest:
    """Build a list that is a set."""
    return several(items, **{"x-kubernetes-list-type": "set"})


def keyed(items: Manifest) -> Manifest:
    """Build a list that is a map by `key`."""
    return several(items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]})


def fields(properties: Manifest, **words: Any) -> Manifest:
    """Build an object."""
    return {"type": "object", "properties": properties, **words}


OPEN = {"x-kubernetes-preserve-unknown-fields": True}
PROPERTIES: Manifest = {
    "text": TEXT,
    "perhaps": {**TEXT, "nullable": True},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "moment": {"type": "string", "format": "date-time", "maxLength": 30},
    "either": {"x-kubernetes-int-or-string": True, "maxLength": 5},
    "any": OPEN,
    "anything": several(OPEN),
    "object": fields({"x": TEXT, "a-b": TEXT, "y": {"type": "integer"}}),
    "twin": fields({"x": TEXT, "a-b": TEXT, "y": {"type": "integer"}}),
    "open": {"type": "object", **OPEN},
    "maybe": fields({"x": TEXT}, nullable=True),
    "resource": fields({"spec": fields({"x": TEXT})}, **OPEN, **{"x-kubernetes-embedded-resource": True}),
    "map": {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "integer"}},
    "list": several(TEXT),
    "set": unordered(TEXT),
    "ints": unordered({"type": "integer"}),
    "entries": keyed(fields({"key": TEXT, "n": {"type": "integer"}, "set": unordered(TEXT)}, required=["key"])),
}

REFUSED = r"""
    self.nope == 1
    self.nope + self.nope2 == 1
    self.nope.startsWith(self.text, 1)
    nothing + self.nope == 1
    self.nope.shout(nothing)
    self.any == 1
    self.anything == []
    self.open.x == 1
    has(self.nope)
    has(self.object.nope.x)
    has(self.text.x)
    self.?nope.orValue(1) == 1
    self.object.?nope.orValue('a') == 'a'
    self.object.ab == 'a'
    self.resource.metadata.labels == {}
    self.entries[0].nope == 1
    self.entries.map(x, x.nope) == [1]
    self.object == self.twin
    self == self.object
    self.object in self.entries
    [self.object, self.twin].size() == 2
    self.object['x'] == 'a'
    'x' in self.object
    self.object.all(k, k == 'x')
    self.object.size() == 1
    size(self.object) == 1
    optional.of(self.object).nope == 'a'
    self.perhaps == null
    self.list == null
    self.int == 1.0
    self.int == 'a'
    self.int + self.number == 2
    self.text == 1
    self.text.x == 1
    self.list.x == 1
    self.text[0] == 'a'
    self.text.all(x, x == 'a')
    self.text.startsWith(1)
    self.moment == 'a'
    self.map.nope == 'a'
    self.map[1] == 1
    self.list[self.text] == 'a'
    self.list[?'a'] == 'a'
    self.list[?0] == 'a'
    self.?text == 'a'
    self.?text.orValue(1) == 'a'
    dyn(self).?list == 2
    [self.text, self.int] == []
    {'a': self.text, 'b': self.int}.size() == 1
    [?self.text] == []
    self.int ? true : false
    true ? self.text == '' : self.int
    self.int && true
    !self.int
    -self.text == 'a'
    self.list.exists(x, x)
"""

JUDGED = r"""
    self.text == 'a'
    self.object == oldSelf.object
    self.object.a__dash__b == 'b'
    self.object == null
    self.maybe == null
    has(self.maybe)
    has(self.perhaps)
    has(self.maybe.x)
    self.perhaps == 'a'
    self.?perhaps.orValue('z') == 'z'
    self.perhaps.startsWith('a')
    dyn(self.object)['x'] == 'x'
    dyn(self).list[?0] == 'a'
    self.either == 1
    self.number == 1.0
    self.int < 1.5
    self.map.a == 1
    self.resource.spec.x == 'x'
    self.resource.kind == 'ConfigMap'
    has(self.resource.metadata.generateName)
    type(self.object) == map
    self == oldSelf
    self.set == oldSelf.set
    self.set == ['c', 'b', 'a']
    ['c', 'b', 'a'] == self.set
    self.set != oldSelf.set
    self.set == ['a', 'b', 'b']
    self.set == ['a', 'b']
    self.list == self.set
    self.set == self.list
    self.list == oldSelf.list
    self.set + ['d', 'a'] == ['d', 'a', 'b', 'c']
    (self.set + ['d', 'a'])[3] == 'd'
    ['d', 'a'] + self.set == ['d', 'a', 'a', 'b', 'c']
    self.list + self.set == ['a', 'b', 'c', 'a', 'b', 'c']
    self.set[1] == 'b'
    self.set[?5].hasValue()
    'a' in self.set
    self.set.map(x, x) == ['c', 'b', 'a']
    self.set.join(',') == 'a,b,c'
    sets.equivalent(['c', 'a', 'b'], self.set)
    [self.set] == [['c', 'b', 'a']]
    ['c', 'b', 'a'] in [self.set]
    {'a': self.set} == {'a': ['c', 'b', 'a']}
    dyn(self).set == ['c', 'b', 'a']
    self.ints == [3, 2, 1]
    dyn(self.ints) == [3.0, 2.0, 1.0]
    self.entries == oldSelf.entries
    self.entries[0] == oldSelf.entries[1]
    self.entries[0].set == ['q', 'p']
    self.entries + oldSelf.entries == oldSelf.entries
    (self.entries + oldSelf.entries)[0].n == 1
    (oldSelf.entries + self.entries).map(x, x.key) == ['y', 'x']
    self.entries.filter(x, x.n == 1) == self.entries
    self.entries + [dyn(1)] == self.entries
"""

OLD: Manifest = {
    "text": "a", "perhaps": None, "int": 1, "number": 1, "moment": "2024-01-02T03:04:05Z", "either": 1, "any": 1, "anything": [1],
    "object": {"x": "x", "a-b": "b", "y": 1}, "twin": {}, "open": {}, "maybe": None, "map": {"a": 1},
    "resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"x": "x"}},
    "list": ["c", "b", "a"], "set": ["c", "b", "a"], "ints": [1, 2, 3],
    "entries": [{"key": "y", "n": 2}, {"key": "x", "n": 1, "set": ["q", "p"]}],
}  # fmt: skip
NEW: Manifest = {
    **OLD,
    "list": ["a", "b", "c"],
    "set": ["a", "b", "c"],
    "entries": [{"key": "x", "n": 1, "set": ["p", "q"]}, {"key": "y", "n": 2}],
}


def rows(text: str) -> list[str]:
    """The expressions of a table."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def definition(group: str, table: list[str]) -> Manifest:
    """The definition of a kind with these rules; the message of a rule is its place."""
    checked = [{"rule": rule, "message": f"rule {place}"} for place, rule in enumerate(table)]
    spec = fields(PROPERTIES, **{"x-kubernetes-validations": checked})
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": fields({"spec": spec})}}
    return ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"subjects.{group}") | {
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Subject", "plural": "subjects"},
            "versions": [version],
        }
    }


def said(causes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What is said of each rule that does not compile; the real server gives the type of `self` a number."""
    parts = [(cause["field"], cause["message"].partition("compilation failed: ")[2]) for cause in causes]
    return {field: re.sub(r"selfType\d+", "selfType", message) for field, message in parts}


def ours(causes: list[Cause]) -> list[Mapping[str, Any]]:
    """Our causes as an answer has them."""
    return [cause.manifest() for cause in causes]


def test_a_rule_that_cannot_be_right_is_refused_in_the_same_words(api: Api) -> None:
    """All its mistakes, with their places: wrong names of fields, and types that do not fit."""
    table = rows(REFUSED)
    mistaken = definition("mistaken.example.com", table)
    theirs = said(api.create(mistaken, dryRun="All").expect(422).causes)
    judged = said(ours(definitions.validate_crd(definitions.default_crd(mistaken), None)))
    assert len(theirs) == len(table)
    assert judged == theirs


DEFAULTS = [
    pytest.param({}, "!self.on", 422, id="a field that would get its default"),
    pytest.param({}, "!has(self.on) || !self.on", 201, id="asked for first"),
    pytest.param({"on": True}, "!self.on", 422, id="broken"),
    pytest.param({"on": False}, "!self.on", 201, id="kept"),
    pytest.param({"on": "yes"}, "!self.on", 422, id="no value of the type"),
]


@pytest.mark.parametrize(("default", "rule", "status"), DEFAULTS)
def test_a_default_is_held_against_the_rules_as_it_is_written(api: Api, default: Manifest, rule: str, status: int) -> None:
    """What it leaves out is not filled in before."""
    inner = {"type": "object", "properties": {"on": {"type": "boolean", "default": False}}, "default": default}
    checked = definition("defaults.example.com", [])
    schema = checked["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = {"inner": inner | {"x-kubernetes-validations": [{"rule": rule}]}}
    reply = api.create(checked, dryRun="All").expect(status)
    judged = definitions.validate_crd(definitions.default_crd(checked), None)
    assert reply.causes == ours(judged)


def test_a_rule_about_declared_fields_is_judged_alike(api: Api) -> None:
    """True, false, or why it fails: sets and maps are compared without order, and a field that is null is not there."""
    table = rows(JUDGED)
    group = f"{fresh('judged')}.example.com"
    loose, strict = definition(group, []), definition(group, table)
    subject = ref(f"{group}/v1", "Subject", "subject", "default")
    api.create(loose).expect(201)
    try:
        eventually(lambda: served(api, subject))
        old = api.create(subject | {"spec": OLD}).expect(201).body
        live = api.get(loose).expect(200).body
        api.replace(live | {"spec": strict["spec"]}).expect(200)
        new = old | {"spec": NEW}

        def judged() -> list[Mapping[str, Any]]:
            reply = api.replace(new, dryRun="All")
            return list(reply.causes) if reply.status == 422 else []

        schema = structural.read(strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        broken = rules.broken(schema, new, old, Correlation(new, old, schema))
        assert places(table, ours(broken)) == places(table, eventually(judged))
    finally:
        api.delete(loose).expect(200)


def served(api: Api, subject: Manifest) -> bool:
    """Is the kind served by now?"""
    try:
        return api.get(subject).status == 404
    except NotServed:
        return False


def places(table: list[str], causes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What is said of each rule, by its text."""
    found = {}
    for cause in causes:
        place = re.search(r"rule (\d+)$", cause["message"])
        assert place
        found[table[int(place[1])]] = cause["message"].removeprefix("Invalid value: ").removeprefix('"object": ')
    return found
