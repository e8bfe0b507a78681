"""`python -m tests.realserver.facts`: takes into manager/embedded/data what the embedded control plane has to know.

Facts only: descriptions stay behind. The files are named by `manager.embedded.openapi`, which reads them; written twice, they are
the same bytes.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import Any

import httpx

from apis.meta import Manifest, split_api_version
from manager.embedded import openapi, published
from tests.realserver.access import Access, client
from tests.realserver.assets import Unavailable, find
from tests.realserver.server import NotReady, RealServer
from tests.support.api import eventually

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

BOOTSTRAP = (
    ("rbac.authorization.k8s.io/v1", "clusterroles"),
    ("rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    ("rbac.authorization.k8s.io/v1", "roles"),
    ("rbac.authorization.k8s.io/v1", "rolebindings"),
    ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations"),
    ("flowcontrol.apiserver.k8s.io/v1", "flowschemas"),
    ("scheduling.k8s.io/v1", "priorityclasses"),
)
"""What an empty cluster holds because the server puts it there, and puts it back."""

_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_NAMES = ("properties", "schemas", "patternProperties")


def take(access: Access, groups: Iterable[str] | None = None) -> dict[str, Any]:
    """All facts by the name of their file; of these `groups` only, if given (a server that others use has further ones)."""
    with client(access.ca) as http:
        http.headers["Authorization"] = f"Bearer {access.token}"
        http.base_url = httpx.URL(access.url)
        discovery = _discovery(http, None if groups is None else frozenset(groups))
        versions = [(each["metadata"].get("name", ""), version) for each in discovery for version in each["versions"]]
        facts: dict[str, Any] = {openapi.DISCOVERY: discovery, openapi.COLUMNS: {}, openapi.BOOTSTRAP: _bootstrap(http)}
        facts |= {published.template_file(scope): _template(http, scope) for scope in published.SCOPES}
        for group, version in versions:
            facts[openapi.document_file(group, version["version"])] = _document(http, group, version["version"])
            facts[openapi.COLUMNS] |= _columns(http, group, version)
        return facts


def _discovery(http: httpx.Client, groups: frozenset[str] | None) -> list[Manifest]:
    """The groups in the server's order, each with its newest stable version only."""
    listed = [item for root in ("/api", "/apis") for item in _get(http, root, DISCOVERY)["items"]]
    known = [item for item in listed if groups is None or item["metadata"].get("name", "") in groups]
    return [{"metadata": _named(item["metadata"]), "versions": item["versions"][:1]} for item in known]


def _template(http: httpx.Client, scope: str) -> Manifest:
    """What the server publishes for a definition: the frame into which `published.py` sets others."""
    definition = published.template_definition(scope)
    http.post(DEFINITIONS, json=definition).raise_for_status()
    try:
        path = f"/openapi/v3{openapi.root(published.GROUP, published.VERSION)}"
        document: Manifest = without_descriptions(eventually(lambda: _published(http, path, scope)))
        return document
    finally:
        http.delete(f"{DEFINITIONS}/{definition['metadata']['name']}").raise_for_status()
        eventually(lambda: http.get(f"{DEFINITIONS}/{definition['metadata']['name']}").status_code == 404)


def _published(http: httpx.Client, path: str, scope: str) -> Manifest | None:
    """The document, once it is that of this definition: for a moment the one before may still be there."""
    answer = http.get(path)
    # Before the group is known, the answer may be 404, or 200 and no JSON.
    document: Manifest = answer.json() if answer.status_code == 200 and answer.text.startswith("{") else {"paths": {}}
    namespaced = any("{namespace}" in each for each in document["paths"])
    return document if document["paths"] and namespaced == (scope == "Namespaced") else None


def _named(metadata: Manifest) -> Manifest:
    return {key: value for key, value in metadata.items() if key == "name"}


def _document(http: httpx.Client, group: str, version: str) -> Manifest:
    stripped: Manifest = without_descriptions(_get(http, f"/openapi/v3{openapi.root(group, version)}"))
    return stripped


def without_descriptions(node: Any, *, names: bool = False) -> Any:
    """The same document without descriptions; `names` is set where the keys are names and no words of OpenAPI."""
    if isinstance(node, list):
        return [without_descriptions(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: without_descriptions(value, names=key in _NAMES and not names)
        for key, value in node.items()
        if names or key != "description" or not _sentence(value)
    }


def _sentence(value: Any) -> bool:
    # `description: OK` of a response is a word of HTTP, and OpenAPI demands it.
    return isinstance(value, str) and value not in ("OK", "Created", "Accepted", "Unauthorized")


def _columns(http: httpx.Client, group: str, version: Manifest) -> dict[str, list[Manifest]]:
    listable = [each for each in version["resources"] if "list" in each["verbs"]]
    found = {}
    for each in listable:
        table = _get(http, f"{openapi.root(group, version['version'])}/{each['resource']}?limit=1", TABLE)
        columns = [{key: value for key, value in column.items() if key != "description"} for column in table["columnDefinitions"]]
        found[f"{each['resource']}.{group}" if group else each["resource"]] = columns
    return found


def _bootstrap(http: httpx.Client) -> list[Manifest]:
    found = []
    for api_version, plural in BOOTSTRAP:
        listed = _get(http, f"{openapi.root(*split_api_version(api_version))}/{plural}")
        kind = listed["kind"].removesuffix("List")
        found += [_seed(api_version, kind, item) for item in listed["items"] if _own(kind, item)]
    return found


def _own(kind: str, item: Manifest) -> bool:
    """Did the server make it? Those of RBAC bear its label."""
    return not kind.endswith(("Role", "RoleBinding")) or "kubernetes.io/bootstrapping" in item["metadata"].get("labels", {})


def _seed(api_version: str, kind: str, item: Manifest) -> Manifest:
    """What is the same on every server, and no time, no uid; rules of an aggregated role are the work of its controller."""
    metadata = {key: item["metadata"][key] for key in _KEPT_METADATA if key in item["metadata"]}
    dropped = {"apiVersion", "kind", "metadata", "status", "description"} | ({"rules"} if "aggregationRule" in item else set())
    rest = {key: value for key, value in item.items() if key not in dropped}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | rest


def _get(http: httpx.Client, path: str, accept: str = "application/json") -> Manifest:
    answer = http.get(path, headers={"Accept": accept}).raise_for_status()
    body: Manifest = answer.json()
    return body


def write(facts: Mapping[str, Any]) -> int:
    """Replace the files by `facts`; the bytes written."""
    openapi.DATA.mkdir(exist_ok=True)
    for old in openapi.DATA.glob(f"*{openapi.SUFFIX}"):
        old.unlink()
    written = 0
    for name, fact in sorted(facts.items()):
        text = json.dumps(fact, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        written += (openapi.DATA / name).write_bytes(openapi.pack(text))
    return written


def main() -> int:
    """Start a server, take the facts, write them."""
    ArgumentParser(prog="python -m tests.realserver.facts", description=__doc__).parse_args()
    try:
        with RealServer(find()) as server:
            facts = take(server.access)
    except (Unavailable, NotReady) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{write(facts)} bytes in {len(facts)} files under manager/embedded/data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
