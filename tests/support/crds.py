"""The fixture that makes a real server know our kinds."""

from functools import partial

import pytest

from apis.crd import crd
from apis.kind import Kind, kinds
from tests.support.api import Api, Manifest, Reply, eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="session")
def crds(admin: Api) -> tuple[Kind, ...]:
    """All our kinds, served by the run's real server. They are installed once and left: other tests may be using them.

    Server-side apply of the same text changes nothing, so every worker of a run may do this at any time.
    """
    served = kinds()
    for kind in served:
        eventually(partial(_applied, admin, crd(kind))).expect(200, 201)
    for kind in served:
        eventually(partial(_served, admin, kind))
    return served


def _applied(admin: Api, manifest: Manifest) -> Reply:
    """Forced, since a server that is kept may know another manager."""
    reply = admin.apply(manifest, manager="copyhold-tests", force=True)
    assert reply.status != 409, "another worker wrote at the same moment"
    return reply


def _served(admin: Api, kind: Kind) -> bool:
    """Established, and reachable: the server begins to serve a kind a moment after it says so."""
    definition = admin.request("GET", f"{DEFINITIONS}/{kind.crd_name}").expect(200).body
    conditions = {one["type"]: one for one in (definition.get("status") or {}).get("conditions") or []}
    assert conditions.get("NamesAccepted", {}).get("status") != "False", conditions["NamesAccepted"]["message"]
    established = conditions.get("Established", {}).get("status") == "True"
    return established and admin.request("GET", f"/apis/{kind.api_version}/{kind.plural}", limit=1).status == 200
