"""The fixture that gives the manager under test its own account, with the rights that the product asks for and no more."""

from functools import partial
from pathlib import Path

import pytest
import yaml

from apis.kind import Kind
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, eventually

FOLDER = Path(__file__).parents[2] / "deploy" / "manager"
NAMESPACE, ACCOUNT = "copyhold-system", "copyhold"


@pytest.fixture(scope="session")
def manager_access(admin: Api, server: Access, crds: tuple[Kind, ...]) -> Access:
    """The real server as the manager may use it: what `kubectl apply -k deploy/manager` gives, and a token of that account."""
    for manifest in _manifests():
        eventually(partial(_applied, admin, manifest))
    token = server.account_token(NAMESPACE, ACCOUNT, seconds=7200)
    return Access(server.url, server.ca, {"admin": token}, server.programs)


def _manifests() -> list[Manifest]:
    names = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    return [manifest for name in names for manifest in yaml.safe_load_all((FOLDER / name).read_text()) if manifest]


def _applied(admin: Api, manifest: Manifest) -> bool:
    return admin.apply(manifest, manager="copyhold-tests", force=True).expect(200, 201, 409).status != 409
