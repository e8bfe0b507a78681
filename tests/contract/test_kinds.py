"""What the server makes of manifests of the built-in kinds: the embedded one's strategies do the same as the real server."""

import json
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from manager.embedded.kinds.strategy import Strategy, strategy
from manager.embedded.openapi import builtin
from tests.support.api import TABLE, Api, Manifest, ref
from tests.support.names import fresh

SYSTEM = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
ALLOTTED = ("clusterIP", "clusterIPs", "healthCheckNodePort", "nodePort")
CONTROLLED = ("FlowSchema", "APIService")
"""Kinds whose status is written by a controller at any moment."""


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: times stay texts."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def documents(name: str) -> list[Manifest]:
    """The documents of a file beside this one."""
    text = Path(__file__).with_name(name).read_text()
    return list(yaml.load_all(text, _Loader))


@cache
def strategies() -> dict[tuple[str, str], Strategy]:
    """The strategies of the built-in kinds, by apiVersion and kind."""
    return {(served.api_version, served.kind): strategy(served) for served in builtin()}


def _summary(manifest: Manifest) -> str:
    kind = manifest.get("from", manifest)["kind"]
    return f"{kind}-{zlib.crc32(json.dumps(manifest).encode()):08x}"


@pytest.fixture(scope="module")
def place(admin: Api) -> Iterator[str]:
    """A namespace for all manifests: each is gone before the next one comes."""
    manifest = ref("v1", "Namespace", fresh("kinds"))
    admin.create(manifest).expect(201)
    yield manifest["metadata"]["name"]
    admin.delete(manifest).expect(200, 202)


@pytest.mark.parametrize("manifest", documents("kinds.yaml"), ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_a_create_stores_what_the_strategy_makes(admin: Api, place: str, manifest: Manifest):
    """Reading, defaults and preparation together give the object that the real server stores."""
    own = strategies()[manifest["apiVersion"], manifest["kind"]]
    sent = _placed(manifest, place, namespaced=own.served.namespaced)
    created = admin.create(sent).expect(201)
    answered, told = created.body, re.findall(r'299 - "((?:[^"\\]|\\.)*)"', created.headers.get("warning", ""))
    try:
        stored = admin.get(answered).expect(200).body
        table = admin.get(answered, accept=TABLE, includeObject="Object").expect(200).body
    finally:
        admin.delete(answered, propagation="Background", gracePeriodSeconds=0)
    assert _plain(_made(own, sent, stored, told)) == _plain(stored)
    (row,) = table["rows"]
    assert [column["name"] for column in table["columnDefinitions"]] == [column.name for column in own.served.columns]
    assert _ageless(own.row(row["object"], datetime.now(UTC))) == _ageless(row["cells"])


@pytest.mark.parametrize("manifest", documents("kinds_refused.yaml"), ids=_summary)
def test_a_manifest_is_refused_for_the_same_reasons(admin: Api, place: str, manifest: Manifest):
    """Each cause has the field, the reason and the words of the real server."""
    own = strategies()[manifest["apiVersion"], manifest["kind"]]
    sent = _placed(manifest, place, namespaced=own.served.namespaced)
    refused = admin.create(sent, dryRun="All").expect(422).body
    named = own.default(own.decode(sent)[0])
    named["metadata"] |= {"name": refused["details"]["name"], "uid": "its-own"}
    found = own.validate(own.prepare_create(named, datetime.now(UTC)))
    assert {(each.field, each.reason, each.message) for each in found} == _causes(refused)


@pytest.mark.parametrize("change", documents("kinds_changed.yaml"), ids=_summary)
def test_a_change_is_taken_or_refused_like_there(admin: Api, place: str, change: Manifest):
    """Preparation and rules of an update give the object, or the causes, of the real server."""
    own = strategies()[change["from"]["apiVersion"], change["from"]["kind"]]
    live = admin.create(_placed(change["from"], place, namespaced=own.served.namespaced)).expect(201).body
    try:
        answered = admin.merge_patch(live, change["to"]).expect(200, 422)
    finally:
        admin.delete(live, propagation="Background", gracePeriodSeconds=0)
    new = own.prepare_update(own.default(own.decode(_merged(live, change["to"]))[0]), live)
    new = own.allot(new, live, lambda: [live])
    found = {(each.field, each.reason, each.message) for each in own.validate_update(new, live)}
    assert found == (_causes(answered.body) if answered.status == 422 else set())
    if answered.status == 200:
        assert _plain(new) == _plain(answered.body)


def _merged(value: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, given in patch.items():
        merged[key] = None if given is None else _merged(merged.get(key), given)
    return {key: each for key, each in merged.items() if each is not None or key not in patch}


def _causes(refused: Manifest) -> set[tuple[str, str, str]]:
    return {(each.get("field", ""), each["reason"], each["message"]) for each in refused["details"]["causes"]}


def _placed(manifest: Manifest, namespace: str, *, namespaced: bool) -> Manifest:
    placed: Manifest = json.loads(json.dumps(manifest).replace("NAMESPACE", namespace))
    if namespaced:
        placed["metadata"]["namespace"] = namespace
    return placed


def _made(own: Strategy, sent: Manifest, stored: Manifest, told: list[str]) -> Manifest:
    """The object as the strategy makes it, with the names and times that the real server gave."""
    decoded, warnings = own.decode(sent, field_validation="Strict")
    assert warnings == []
    given = {key: stored["metadata"][key] for key in ("uid", "name", "creationTimestamp")}
    new = own.default(decoded)
    new["metadata"] |= given
    now = datetime.fromisoformat(given["creationTimestamp"])
    made = own.allot(own.prepare_create(new, now), None, lambda: ())
    assert own.validate(made) == []
    assert own.warnings(made) == told
    return made


def _ageless(cells: list[Any]) -> list[Any]:
    """Cells without ages of seconds, of which the two sides may count one more."""
    return ["now" if isinstance(cell, str) and re.fullmatch(r"\ds", cell) else cell for cell in cells]


def _plain(obj: Manifest) -> Any:
    if obj["kind"] in CONTROLLED:
        obj = {key: value for key, value in obj.items() if key != "status"}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SYSTEM}
    return _without_allotted(obj | {"metadata": metadata})


def _without_allotted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "allotted" if _allotted(key, item) else _without_allotted(item) for key, item in value.items()}
    return [_without_allotted(item) for item in value] if isinstance(value, list) else value


def _allotted(key: str, value: Any) -> bool:
    return key in ALLOTTED and value not in ("None", ["None"])
