"""Our webhooks, as the API server is told of them, and kept that way.

| Webhook | Asked about | When we do not answer |
| --- | --- | --- |
| `permits.copyhold.dev` (mutating) | a ResourcePermit is made; its status is written by anybody but the manager | refused |
| `templates.copyhold.dev` (validating) | a permit template is made or changed | let through |
| `copyhold-*.policies.copyhold.dev` (validating), one for each policy | what the policy refuses (`conditions.py`) | refused |

The last ones are there only where the API server has no ValidatingAdmissionPolicy. They stay when we end: what is refused without
us is what we would refuse.

A dead manager therefore blocks new permits and their transitions, and nothing else: no deletion that is allowed, no namespace's
end, no kind that is not ours, and none of its own writes, which carry the extra that proves it. Its Leases and Secrets bear no
label of ours, and no webhook is asked about them.

No hole opens meanwhile, nor when somebody deletes a configuration. The policies of `permits.py` are the API server's own and do
not need us: a spec stays as it was made, whoever asks is named truly, a snapshot is not edited. And nobody but us can sign: a
permit whose requester bears no valid seal, and a transition without a valid signature, are not acted on. A template that got by
unseen is judged again by the controller, and while it is not Ready no permit is made from it.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import contextlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apis.copyhold import VERSION
from apis.meta import GROUP, Manifest
from apis.problems import Stale
from manager.admission.conditions import conditions
from manager.admission.keep import put
from manager.admission.permits import is_manager
from manager.admission.policies import API_VERSION, LABELS, MUTATING, VALIDATING, Policy
from manager.world import Cluster

NAME = "copyhold"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
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


@dataclass(frozen=True, slots=True)
class Reach:
    """Under which name our configurations stand, and for which namespaces alone: then nothing cluster-scoped is asked about."""

    name: str = NAME
    namespaces: tuple[str, ...] = ()

    @property
    def standing(self) -> str:
        """The name of the configuration that stands for policies."""
        return f"{self.name}-policies"

    @property
    def selector(self) -> Manifest:
        """A `namespaceSelector`."""
        if not self.namespaces:
            return {}
        return {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "In", "values": list(self.namespaces)}]}

    @property
    def scope(self) -> str:
        """The `scope` of a rule. A selector of namespaces says nothing of what is in none."""
        return "Namespaced" if self.namespaces else "*"


EVERYWHERE = Reach()


def manifests(place: Place, bundle: str, reach: Reach = EVERYWHERE) -> tuple[Manifest, Manifest]:
    """Both configurations. The server's defaults are spelled out, so that what is stored equals this. Pure.

    `bundle` are the CAs, as PEM, by which the API server checks whom it asks.
    """
    permits = _webhook(place, bundle, PERMITS, f"permits.{GROUP}", seconds=10, failure="Fail") | {
        "rules": [_rule(["CREATE"], ["resourcepermits"]), _rule(["UPDATE"], ["resourcepermits/status"])],
        "sideEffects": "NoneOnDryRun",  # a signature is one
        "reinvocationPolicy": "Never",
        # What the manager applies for other parents carries their UID, and what it makes there has a requester like any other.
        "matchConditions": [
            {"name": "not-the-manager", "expression": f"request.operation == 'CREATE' || !{is_manager('object')}"}
        ],
    }
    templates = _webhook(place, bundle, TEMPLATES, f"templates.{GROUP}", seconds=5, failure="Ignore") | {
        "rules": [_rule(["CREATE", "UPDATE"], ["resourcepermittemplates", "globalresourcepermittemplates"])],
        "sideEffects": "None",
    }
    return _configuration(MUTATING, reach.name, [permits], reach), _configuration(VALIDATING, reach.name, [templates], reach)


def standing(policies: Sequence[Policy], place: Place, bundle: str, reach: Reach = EVERYWHERE) -> Manifest:
    """The configuration that stands for policies where the API server has none: a webhook for each of them. Pure."""
    return _configuration(VALIDATING, reach.standing, [_for(policy, place, bundle) for policy in policies], reach)


def path_of(policy: Policy) -> str:
    """Where we are asked what a policy says."""
    return f"/policies/{policy.name}"


def _for(policy: Policy, place: Place, bundle: str) -> Manifest:
    matched = policy.manifests()[0]["spec"]["matchConstraints"]
    return _webhook(place, bundle, path_of(policy), f"{policy.name}.policies.{GROUP}", seconds=10, failure="Fail") | {
        "rules": matched["resourceRules"],
        "objectSelector": matched["objectSelector"],
        "sideEffects": "None",
        "matchConditions": conditions(policy),
    }


async def keep(
    cluster: Cluster, place: Place, bundle: str, reach: Reach = EVERYWHERE, *, policies: Sequence[Policy] = ()
) -> tuple[str, ...]:
    """Make the live configurations what they should be; answers the names (`Kind/name`) that had to be written.

    `policies` are those that webhooks of ours stand for; without any, what stood for them before the API server was renewed goes.
    Raises the problems of the cluster; Stale when another replica was at it in the same moment.
    """
    wanted = [*manifests(place, bundle, reach), *([standing(policies, place, bundle, reach)] if policies else ())]
    if not policies:
        await _delete(cluster, VALIDATING, reach.standing, lambda _live: True)
    return tuple([f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in wanted if await put(cluster, manifest)])


async def withdraw(cluster: Cluster, place: Place, reach: Reach = EVERYWHERE) -> None:
    """Delete the configurations that lead to this place; those that lead elsewhere by now stay, and what stands for policies.

    Raises the problems of the cluster.
    """
    for manifest in manifests(place, "", reach):
        places = _places(manifest)
        await _delete(cluster, manifest["kind"], reach.name, lambda live, places=places: _places(live) == places)  # type: ignore[misc]


async def _delete(cluster: Cluster, kind: str, name: str, unwanted: Callable[[Manifest], bool]) -> None:
    resource = await cluster.resource(API_VERSION, kind)
    live = await cluster.get(resource, "", name)
    if live is None or not unwanted(live):
        return
    metadata = live["metadata"]
    with contextlib.suppress(Stale):  # somebody was first
        await cluster.delete(resource, "", name, uid=metadata["uid"], resource_version=metadata["resourceVersion"])


def _places(configuration: Manifest) -> list[Manifest]:
    webhooks = configuration.get("webhooks") or ()
    return [{key: value for key, value in webhook["clientConfig"].items() if key != "caBundle"} for webhook in webhooks]


def _webhook(place: Place, bundle: str, path: str, name: str, *, seconds: int, failure: str) -> Manifest:
    return {
        "name": name,
        "clientConfig": place.client(path) | {"caBundle": b64encode(bundle.encode()).decode()},
        "failurePolicy": failure,
        "matchPolicy": "Equivalent",
        "objectSelector": {},
        "timeoutSeconds": seconds,
        "admissionReviewVersions": ["v1"],
    }


def _rule(operations: list[str], resources: list[str]) -> Manifest:
    return {"apiGroups": [GROUP], "apiVersions": [VERSION], "operations": operations, "resources": resources}


def _configuration(kind: str, name: str, webhooks: Sequence[Manifest], reach: Reach) -> Manifest:
    metadata = {"name": name, "labels": dict(LABELS)}
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "webhooks": [_reaching(each, reach) for each in webhooks],
    }


def _reaching(webhook: Manifest, reach: Reach) -> Manifest:
    rules = [rule | {"scope": reach.scope} for rule in webhook["rules"]]
    return webhook | {"namespaceSelector": reach.selector, "rules": rules}
