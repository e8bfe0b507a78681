"""Definitions: what is wrong with them (beside a server), their names, defaults, and what is served and published for them."""

from copy import deepcopy
from typing import Any

import pytest
import yaml

from manager.embedded import definitions, openapi, published
from manager.embedded.fieldpath import WrongPath, field_path
from tests.manager.embedded import definitions as hostile
from tests.manager.embedded import gadgets
from tests.realserver.facts import without_descriptions
from tests.support.api import Api, eventually
from tests.support.names import fresh

Manifest = dict[str, Any]
OURS = ("globaltenantresources", "targetrecords", "tenantresources", "tenants")


def judged(definition: Manifest, old: Manifest | None = None) -> list[tuple[str, str, str]]:
    """Why it is refused, in an order of its own."""
    causes = definitions.validate_crd(definitions.default_crd(definition), old and definitions.default_crd(old))
    return sorted((cause.reason, cause.field, cause.message) for cause in causes)


def of_metadata(field: str, message: str) -> bool:
    """Is the cause one of the checks that all objects' metadata pass through?"""
    return field == "metadata.name" and "RFC 1123" in message


@pytest.mark.parametrize("case", hostile.HOSTILE)
def test_a_server_judges_a_definition_as_we_do(api: Api, case: str) -> None:
    """The same causes in the same words."""
    reply = api.create(hostile.HOSTILE[case], dryRun="All").expect(422)
    causes = sorted((cause["reason"], cause["field"], cause["message"]) for cause in reply.causes)
    assert judged(hostile.HOSTILE[case]) == [cause for cause in causes if not of_metadata(*cause[1:])]


@pytest.mark.parametrize("case", hostile.MISTAKEN_RULES)
def test_a_server_finds_the_mistake_in_a_rule_where_we_do(api: Api, case: str) -> None:
    """The words of the compilers differ."""
    reply = api.create(hostile.MISTAKEN_RULES[case], dryRun="All").expect(422)
    causes = sorted((cause["reason"], cause["field"]) for cause in reply.causes)
    assert [cause[:2] for cause in judged(hostile.MISTAKEN_RULES[case])] == causes


@pytest.mark.parametrize("case", hostile.FAULTLESS)
def test_a_server_lets_a_definition_pass_as_we_do(api: Api, case: str) -> None:
    """What looks wrong and is not."""
    api.create(hostile.FAULTLESS[case], dryRun="All").expect(201)
    assert judged(hostile.FAULTLESS[case]) == []


def changed(definition: Manifest, **spec: Any) -> Manifest:
    """A definition with another spec."""
    return definition | {"spec": definition["spec"] | spec}


ESTABLISHED: Manifest = {"status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}}

CHANGES: dict[str, Manifest] = {
    "the scope": changed(hostile.definition(), scope="Cluster"),
    "the kind": changed(hostile.definition(), names={"kind": "Other", "plural": "things"}),
    "the plural": changed(hostile.definition(), names={"kind": "Thing", "plural": "others"}),
    "the group": changed(hostile.definition(), group="other.example.com"),
    "a version that is stored": changed(hostile.definition(), versions=[hostile.version("v2")]),
    "nothing": hostile.definition(),
    "a further version": changed(hostile.definition(), versions=[hostile.version("v2"), hostile.version(storage=False)]),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_server_judges_a_changed_definition_as_we_do(api: Api, case: str) -> None:
    """Names are for ever, and so is a version in which something is stored."""
    group = f"{fresh('changed')}.example.com"
    before = hostile.definition(group)
    after = deepcopy(CHANGES[case])
    after["metadata"]["name"] = before["metadata"]["name"]
    if case != "the group":
        after["spec"]["group"] = group
    api.create(before).expect(201)
    try:
        live = eventually(lambda: established(api, before))
        assert live
        after["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        reply = api.replace(after, dryRun="All")
        causes = sorted((cause["reason"], cause["field"], cause["message"]) for cause in reply.causes)
        assert judged(after | {"status": live["status"]}, before | ESTABLISHED) == causes
        assert (reply.status == 200) == (not causes)
    finally:
        api.delete(before).expect(200)


def established(api: Api, definition: Manifest) -> Manifest | None:
    """The definition, once it is served."""
    live: Manifest = api.get(definition).expect(200).body
    conditions = live.get("status", {}).get("conditions") or []
    return live if any(each["type"] == "Established" and each["status"] == "True" for each in conditions) else None


def test_our_own_definitions_are_faultless_and_served() -> None:
    """What `copyhold crds` prints is accepted here as it is by a real server."""
    for plural in OURS:
        with open(f"deploy/crds/copyhold.dev_{plural}.yaml") as file:
            definition = yaml.safe_load(file)
        assert judged(definition) == []
        [served] = definitions.served_of(definition)
        assert (served.resource, served.custom, served.storage) == (f"{plural}.copyhold.dev", True, "v1alpha1")
        assert served.schema.properties["metadata"].properties["labels"].additional is not None


def test_a_definition_without_columns_shows_the_age() -> None:
    """As `kubectl get` does."""
    [served] = definitions.served_of(definitions.default_crd(hostile.definition()))
    assert [column.name for column in served.columns] == ["Name", "Age"]


def test_defaults_are_the_servers(api: Api) -> None:
    """Singular, listKind, conversion and the stored version."""
    sparse = hostile.definition(f"{fresh('sparse')}.example.com", names={"kind": "Thing", "plural": "things"})
    stored = api.create(sparse, dryRun="All").expect(201).body
    assert definitions.default_crd(sparse)["spec"] == stored["spec"]
    assert definitions.stored_versions(sparse) == stored["status"]["storedVersions"]


def test_a_name_belongs_to_whom_it_was_given_first() -> None:
    """A second definition of the group with the same kind and short name gets the rest."""
    first = hostile.definition(names={"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"})
    first["status"] = {"acceptedNames": first["spec"]["names"] | {"shortNames": ["t"]}}
    second = hostile.definition(
        names={"kind": "Thing", "listKind": "List", "plural": "others", "singular": "other", "shortNames": ["t", "o"]}
    )
    naming = definitions.naming(second, [first])
    assert (naming.all, naming.reason, naming.message) == (False, "KindConflict", '"Thing" is already in use')
    assert naming.accepted == {"listKind": "List", "plural": "others", "singular": "other"}
    assert definitions.naming(first, []).all


def test_a_server_publishes_for_a_definition_what_we_do(api: Api) -> None:
    """The document, but for sentences that are not ours."""
    group = f"{fresh('published')}.example.com"
    definition = gadgets.definition(group)
    api.create(definition).expect(201)
    try:
        document = eventually(lambda: document_of(api, group))
        assert without_descriptions(document) == published.openapi_of(definition, "v1")
    finally:
        api.delete(definition).expect(200)


def document_of(api: Api, group: str) -> Manifest | None:
    """The document of the group, once the server has it."""
    reply = api.request("GET", f"/openapi/v3/apis/{group}/v1")
    found = reply.status == 200 and isinstance(reply.body, dict) and reply.body.get("paths")
    return reply.body if found else None


def test_documents_of_one_group_version_are_one() -> None:
    """Two definitions share it."""
    one, other = (published.openapi_of(gadgets.definition("g.example.com", kind=kind), "v1") for kind in ("One", "Other"))
    both = published.merged([one, other])
    assert both["paths"].keys() == one["paths"].keys() | other["paths"].keys()
    assert {"com.example.g.v1.One", "com.example.g.v1.Other"} <= both["components"]["schemas"].keys()
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in both["components"]["schemas"]


def test_a_document_has_no_subresources_that_are_not_there() -> None:
    """A definition in cluster scope without status and scale."""
    definition = hostile.definition("plain.example.com", scope="Cluster")
    paths = published.openapi_of(definition, "v1")["paths"]
    assert sorted(paths) == [f"{openapi.root('plain.example.com', 'v1')}/things{end}" for end in ("", "/{name}")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(".a.b", "a.b", id="fields"),
        pytest.param(".a['x.y']", "a.x.y", id="a quoted field"),
        pytest.param(".m['k\\'']", "m[k']", id="a key of a map"),
    ],
)
def test_a_field_path_is_written_as_causes_write_it(text: str, shown: str) -> None:
    """Keys stand in brackets, fields behind dots."""
    string = {"type": "string"}
    schema = {"properties": {"a": {"properties": {"b": string, "x.y": string}}, "m": {"additionalProperties": string}}}
    assert field_path(text, schema) == shown


@pytest.mark.parametrize("text", ["a", ".", ".a[", ".a[0]", ".a['b'", ".a['\\q']", ".z", ".s.t"])
def test_what_is_no_field_path_is_refused(text: str) -> None:
    """Indices are none either."""
    with pytest.raises(WrongPath):
        field_path(text, {"properties": {"a": {"properties": {"b": {}}}, "s": {"type": "string"}}})
