"""What the server says about objects that it takes although it does not like them: the texts of Warning headers, by kind.

Of an update, most are told again only when the template has changed, as on the real server.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import names
from policy import quantity

Warn: TypeAlias = Callable[[Manifest], Iterator[str]]

_OLD_LABELS = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_BYTES = ("memory", "ephemeral-storage")
_NO_LABEL_SELECTOR = "a null labelSelector results in matching no pod"
_SURPRISE = "which can result in surprising behavior; a DNS label is recommended"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_INGRESS_CLASS = "kubernetes.io/ingress.class"


def warnings(resource: str, new: Manifest, old: Manifest | None) -> list[str]:
    """The warnings about a new object, or about a change."""
    warn = _KINDS.get(resource)
    if warn is None or (old is not None and resource in _TEMPLATES and new.get("spec") == old.get("spec")):
        return []
    found = list(dict.fromkeys(warn(new)))
    return [each for each in found if old is None or not each.startswith("metadata.name:")]


def _pod(obj: Manifest) -> Iterator[str]:
    yield from _name(obj, "this is used in the Pod's hostname")
    yield from _spec(obj["spec"], "spec")


def _template(*path: str) -> Warn:
    def warn(obj: Manifest) -> Iterator[str]:
        yield from _name(obj, "this is used in Pod names and hostnames")
        given: Any = obj
        for step in path:
            given = given.get(step) or {}
        yield from _spec(given.get("spec", {}), ".".join((*path, "spec")))

    return warn


def _name(obj: Manifest, use: str) -> Iterator[str]:
    wrong = names.label(obj["metadata"].get("name", ""))
    if wrong:
        yield f"metadata.name: {use}, {_SURPRISE}: [{' '.join(wrong)}]"


def _spec(spec: Manifest, path: str) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector", {})):
        if key in _OLD_LABELS:
            since, instead = _OLD_LABELS[key]
            yield f'{path}.nodeSelector[{key}]: deprecated since {since}; use "{instead}" instead'
    for index, each in enumerate(spec.get("topologySpreadConstraints", ())):
        if "labelSelector" not in each:
            yield f"{path}.topologySpreadConstraints[{index}].labelSelector: {_NO_LABEL_SELECTOR}"
    for index, each in enumerate(spec.get("volumes", ())):
        for source in each:
            if source in _OLD_VOLUMES:
                yield f"{path}.volumes[{index}].{source}: {_OLD_VOLUMES[source]}"
    yield from _pull_secrets(spec, path)
    for part in ("initContainers", "containers"):
        for index, each in enumerate(spec.get(part) or ()):
            yield from _container(each, f"{path}.{part}[{index}]")
    for part in ("initContainers", "containers"):
        for index, each in enumerate(spec.get(part) or ()):
            yield from _ports(each, f"{path}.{part}[{index}]")
    yield from _affinity(spec.get("affinity", {}), f"{path}.affinity")


def _pull_secrets(spec: Manifest, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, each in enumerate(spec.get("imagePullSecrets", ())):
        name = each.get("name", "")
        if name in seen:
            yield f"{path}.imagePullSecrets[{index}].name: duplicate name {causes.quote(name)}"
        elif not name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
        seen.add(name)


def _container(container: Manifest, path: str) -> Iterator[str]:
    for name in _BYTES:
        for part in ("limits", "requests"):
            text = container["resources"].get(part, {}).get(name)
            if text and _fraction(text):
                yield f"{path}.resources.{part}[{name}]: {_fractional(text)}"
    seen: set[str] = set()
    for index, each in enumerate(container.get("env", ())):
        if each["name"] in seen and f"$({each['name']})" not in each.get("value", ""):
            hidden = causes.quote(each["name"])
            yield f"{path}.env[{index}]: hides previous definition of {hidden}, which may be dropped when using apply"
        seen.add(each["name"])


def _fraction(text: str) -> bool:
    value = quantity.parse(text)
    return value.exponent < 0 and value.unscaled % 10**-value.exponent != 0


def _fractional(text: str) -> str:
    return f"fractional byte value {causes.quote(text)} is invalid, must be an integer"


def _ports(container: Manifest, path: str) -> Iterator[str]:
    seen: dict[tuple[int, str], tuple[str, tuple[Any, ...]]] = {}
    for index, each in enumerate(container.get("ports", ())):
        at, host = f"{path}.ports[{index}]", (each.get("hostIP", ""), each.get("hostPort", 0))
        place = each["containerPort"], each.get("protocol", "")
        if place not in seen:
            seen[place] = at, host
            continue
        first, other = seen[place]
        if host == other:
            yield f"{at}: duplicate port definition with {first}"
        elif not host[1] or not other[1]:
            yield f"{at}: overlapping port definition with {first}"


def _affinity(affinity: Mapping[str, Any], path: str) -> Iterator[str]:
    required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    for side in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(side, {})
        for index, each in enumerate(given.get(required, ())):
            if "labelSelector" not in each:
                yield f"{path}.{side}.{required}[{index}].labelSelector: {_NO_LABEL_SELECTOR}"
        for index, each in enumerate(given.get(preferred, ())):
            if "labelSelector" not in each["podAffinityTerm"]:
                yield f"{path}.{side}.{preferred}[{index}].podAffinityTerm.labelSelector: {_NO_LABEL_SELECTOR}"


def _service(obj: Manifest) -> Iterator[str]:
    spec = obj["spec"]
    external, kind = spec.get("externalIPs"), spec["type"]
    headless = spec.get("clusterIPs") == ["None"]
    if headless and external:
        yield "spec.externalIPs is ignored for headless services"
    if headless and spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if external and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and kind != "ExternalName":
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def _endpoints(obj: Manifest) -> Iterator[str]:
    del obj
    yield "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


def _ingress(obj: Manifest) -> Iterator[str]:
    if _INGRESS_CLASS in obj["metadata"].get("annotations", {}):
        yield f"annotation {causes.quote(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def _claim(obj: Manifest) -> Iterator[str]:
    yield from _beta_class(obj, "storageClassName")
    text = (obj["spec"]["resources"].get("requests") or {}).get("storage")
    if text and _fraction(text):
        yield f"spec.resources.requests[storage]: {_fractional(text)}"


def _volume(obj: Manifest) -> Iterator[str]:
    yield from _beta_class(obj, "storageClassName")
    if obj["spec"].get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )


def _beta_class(obj: Manifest, instead: str) -> Iterator[str]:
    if _BETA_CLASS in obj["metadata"].get("annotations", {}):
        yield f'metadata.annotations[{_BETA_CLASS}]: deprecated since v1.8; use "{instead}" attribute instead'


def _account(obj: Manifest) -> Iterator[str]:
    if _MOUNTABLE in obj["metadata"].get("annotations", {}):
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: {why}"


_TEMPLATES = frozenset(
    ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch", "pods")
)
_KINDS: dict[str, Warn] = {
    "cronjobs.batch": _template("spec", "jobTemplate", "spec", "template"),
    "daemonsets.apps": _template("spec", "template"),
    "deployments.apps": _template("spec", "template"),
    "endpoints": _endpoints,
    "ingresses.networking.k8s.io": _ingress,
    "jobs.batch": _template("spec", "template"),
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "pods": _pod,
    "replicasets.apps": _template("spec", "template"),
    "replicationcontrollers": _template("spec", "template"),
    "serviceaccounts": _account,
    "services": _service,
    "statefulsets.apps": _template("spec", "template"),
}
