"""Our two webhooks, as the API server is told of them, and kept that way.

| Webhook | Asked about | When we do not answer |
| --- | --- | --- |
| `permits.copyhold.dev` (mutating) | a ResourcePermit is made; its status is written by anybody but the manager | refused |
| `templates.copyhold.dev` (validating) | a permit template is made or changed | let through |

A dead manager therefore blocks new permits and their transitions, and nothing else: no deletion of anything, no namespace, no
kind that is not ours, and none of its own writes, which carry the extra that proves it.

No hole opens meanwhile, nor when somebody deletes a configuration. The policies of `permits.py` are the API server's own and do
not need us: a spec stays as it was made, whoever asks is named truly, a snapshot is not edited. And nobody but us can sign: a
permit whose requester bears no valid seal, and a transition without a valid signature, are not acted on. A template that got by
unseen is judged again by the controller, and while it is not Ready no permit is made from it.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import contextlib
from base64 import b64encode
from dataclasses import dataclass

from apis.copyhold import VERSION
from apis.meta import GROUP, Manifest
from apis.problems import Stale
from manager.admission.keep import put
from manager.admission.permits import is_manager
from manager.admission.policies import API_VERSION, LABELS, MUTATING, VALIDATING
from manager.world import Cluster

NAME = "copyhold"
PERMITS = "/permits"
TEMPLATES = "/templates"


@dataclass(frozen=True, slots=True)
class Service:
    """A Service in front of the replicas."""

    namespace: str
    name: str
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """By which name an API server asks for it, and the others that it has."""
        plain = f"{self.name}.{self.namespace}"
        return f"{plain}.svc", f"{plain}.svc.cluster.local", plain

    def client(self, path: str) -> Manifest:
        """A `clientConfig` without its CA."""
        return {"service": {"namespace": self.namespace, "name": self.name, "path": path, "port": self.port}}


@dataclass(frozen=True, slots=True)
class Url:
    """An address outside the cluster, `https://HOST:PORT`."""

    host: str
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """The name or address that the certificate must be for."""
        return (self.host,)

    def client(self, path: str) -> Manifest:
        """A `clientConfig` without its CA."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return {"url": f"https://{host}:{self.port}{path}"}


Place = Service | Url


def manifests(place: Place, bundle: str) -> tuple[Manifest, Manifest]:
    """Both configurations. The server's defaults are spelled out, so that what is stored equals this. Pure.

    `bundle` are the CAs, as PEM, by which the API server checks whom it asks.
    """
    permits = _webhook(place, bundle, PERMITS, seconds=10, failure="Fail") | {
        "rules": [_rule(["CREATE"], ["resourcepermits"]), _rule(["UPDATE"], ["resourcepermits/status"])],
        "sideEffects": "NoneOnDryRun",  # a signature is one
        "reinvocationPolicy": "Never",
        # What the manager applies for other parents carries their UID, and what it makes there has a requester like any other.
        "matchConditions": [
            {"name": "not-the-manager", "expression": f"request.operation == 'CREATE' || !{is_manager('object')}"}
        ],
    }
    templates = _webhook(place, bundle, TEMPLATES, seconds=5, failure="Ignore") | {
        "rules": [_rule(["CREATE", "UPDATE"], ["resourcepermittemplates", "globalresourcepermittemplates"])],
        "sideEffects": "None",
    }
    return _configuration(MUTATING, permits), _configuration(VALIDATING, templates)


async def keep(cluster: Cluster, place: Place, bundle: str) -> tuple[str, ...]:
    """Make the live configurations what they should be; answers the names (`Kind/name`) that had to be written.

    Raises the problems of the cluster; Stale when another replica was at it in the same moment.
    """
    wanted = manifests(place, bundle)
    return tuple([f"{manifest['kind']}/{NAME}" for manifest in wanted if await put(cluster, manifest)])


async def withdraw(cluster: Cluster, place: Place) -> None:
    """Delete the configurations that lead to this place; those that lead elsewhere by now stay.

    Raises the problems of the cluster.
    """
    for manifest in manifests(place, ""):
        resource = await cluster.resource(API_VERSION, manifest["kind"])
        live = await cluster.get(resource, "", NAME)
        if live is None or not _leads_to(live, manifest):
            continue
        metadata = live["metadata"]
        with contextlib.suppress(Stale):  # somebody was first
            await cluster.delete(resource, "", NAME, uid=metadata["uid"], resource_version=metadata["resourceVersion"])


def _leads_to(live: Manifest, wanted: Manifest) -> bool:
    return _places(live) == _places(wanted)


def _places(configuration: Manifest) -> list[Manifest]:
    webhooks = configuration.get("webhooks") or ()
    return [{key: value for key, value in webhook["clientConfig"].items() if key != "caBundle"} for webhook in webhooks]


def _webhook(place: Place, bundle: str, path: str, *, seconds: int, failure: str) -> Manifest:
    return {
        "name": f"{path.strip('/')}.{GROUP}",
        "clientConfig": place.client(path) | {"caBundle": b64encode(bundle.encode()).decode()},
        "failurePolicy": failure,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": seconds,
        "admissionReviewVersions": ["v1"],
    }


def _rule(operations: list[str], resources: list[str]) -> Manifest:
    return {"apiGroups": [GROUP], "apiVersions": [VERSION], "operations": operations, "resources": resources, "scope": "*"}


def _configuration(kind: str, webhook: Manifest) -> Manifest:
    metadata = {"name": NAME, "labels": dict(LABELS)}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "webhooks": [webhook]}
