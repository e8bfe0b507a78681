"""What new objects take over from others, and are refused for: the server's admission plugins that look at stored objects.

| Plugin | Does |
| --- | --- |
| LimitRanger | gives containers the defaults of the namespace's LimitRanges, and refuses what is outside of them |
| Priority | gives Pods the number of their PriorityClass |
| RuntimeClass | refuses Pods whose class is not there, and adds its overhead |
| DefaultStorageClass, DefaultIngressClass | give what names no class the default one |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from apis.meta import Manifest
from manager.embedded.status import Named, StatusError, forbidden
from policy import quantity
from policy.quantity import Quantity

Others: TypeAlias = Callable[[str], Iterable[Manifest]]
"""All stored objects of a resource (`limitranges`, `priorityclasses.scheduling.k8s.io`)."""

_LIMITED = "kubernetes.io/limit-ranger"
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def admit(resource: str, obj: Manifest, others: Others) -> Manifest:
    """A new object (with its defaults) with what it takes over. Raises StatusError 403."""
    plugin = _PLUGINS.get(resource)
    return obj if plugin is None else plugin(obj, others)


def _pod(obj: Manifest, others: Others) -> Manifest:
    ranges = _ranges(obj, others)
    pod = _with_runtime(_with_priority(_with_limits(obj, ranges), others), others)
    for each in ranges:
        _refuse("pods", obj, list(_outside(each, pod["spec"])))
    return pod


def _claim(obj: Manifest, others: Others) -> Manifest:
    requests = obj["spec"]["resources"].get("requests") or {}
    for each in _ranges(obj, others):
        wrong = [why for item in _items(each, "PersistentVolumeClaim") for why in _claimed(item, requests)]
        _refuse("persistentvolumeclaims", obj, wrong)
    annotated = _BETA_CLASS in obj["metadata"].get("annotations", {})
    if "storageClassName" in obj["spec"] or annotated:
        return obj
    keys = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
    name = _default_class(others("storageclasses.storage.k8s.io"), keys)
    return obj | {"spec": obj["spec"] | {"storageClassName": name}} if name else obj


def _ingress(obj: Manifest, others: Others) -> Manifest:
    if "ingressClassName" in obj["spec"] or _INGRESS_CLASS in obj["metadata"].get("annotations", {}):
        return obj
    name = _default_class(others("ingressclasses.networking.k8s.io"), ("ingressclass.kubernetes.io/is-default-class",))
    return obj | {"spec": obj["spec"] | {"ingressClassName": name}} if name else obj


_PLUGINS: dict[str, Callable[[Manifest, Others], Manifest]] = {
    "pods": _pod,
    "persistentvolumeclaims": _claim,
    "ingresses.networking.k8s.io": _ingress,
}


def _default_class(classes: Iterable[Manifest], keys: tuple[str, ...]) -> str:
    """The youngest of the classes that call themselves the default; of equals the first by name."""
    defaults = [each for each in classes if any(_annotation(each, key) == "true" for key in keys)]
    found = sorted(defaults, key=lambda each: each["metadata"]["name"])
    youngest = max(found, key=lambda each: each["metadata"].get("creationTimestamp", ""), default=None)
    return "" if youngest is None else str(youngest["metadata"]["name"])


def _annotation(obj: Manifest, key: str) -> Any:
    return obj["metadata"].get("annotations", {}).get(key)


def _refused(resource: str, obj: Manifest, why: str) -> StatusError:
    return forbidden(Named("", resource, obj["metadata"].get("name", "")), why)


def _refuse(resource: str, obj: Manifest, wrong: list[str]) -> None:
    if wrong:
        raise _refused(resource, obj, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")


# LimitRanges


def _ranges(obj: Manifest, others: Others) -> list[Manifest]:
    own = obj["metadata"].get("namespace", "")
    found = [each for each in others("limitranges") if each["metadata"].get("namespace", "") == own]
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


def _items(limit_range: Manifest, type_: str) -> list[Manifest]:
    return [each for each in limit_range["spec"].get("limits") or () if each["type"] == type_]


def _with_limits(pod: Manifest, ranges: list[Manifest]) -> Manifest:
    for each in ranges:
        limits = {name: value for item in _items(each, "Container") for name, value in item.get("default", {}).items()}
        requests = {name: value for item in _items(each, "Container") for name, value in item.get("defaultRequest", {}).items()}
        pod = _merged(pod, limits, requests)
    return pod


def _merged(pod: Manifest, limits: Mapping[str, str], requests: Mapping[str, str]) -> Manifest:
    spec, told = dict(pod["spec"]), []
    for part, called in (("containers", "container"), ("initContainers", "init container")):
        if part not in spec:
            continue
        filled = []
        for container in spec[part] or ():
            resources = container["resources"]
            given = {"limits": resources.get("limits", {}), "requests": resources.get("requests", {})}
            for kind, wanted in (("requests", requests), ("limits", limits)):
                if added := sorted(set(wanted) - set(given[kind])):
                    told.append(f"{', '.join(added)} {kind[:-1]} for {called} {container['name']}")
            whole = {"limits": {**limits, **given["limits"]}, "requests": {**requests, **given["requests"]}}
            filled.append(container | {"resources": resources | {kind: found for kind, found in whole.items() if found}})
        spec[part] = filled
    if not told:
        return pod
    annotations = pod["metadata"].get("annotations", {}) | {_LIMITED: f"LimitRanger plugin set: {'; '.join(told)}"}
    return pod | {"spec": spec, "metadata": pod["metadata"] | {"annotations": annotations}}


def _outside(limit_range: Manifest, spec: Manifest) -> Iterator[str]:
    for item in _items(limit_range, "Container"):
        for part in ("containers", "initContainers"):
            for container in spec.get(part) or ():
                resources = container["resources"]
                yield from _bounded(item, resources.get("requests", {}), resources.get("limits", {}))
    for item in _items(limit_range, "Pod"):
        yield from _bounded(item, _whole(spec, "requests"), _whole(spec, "limits"))


def _bounded(item: Manifest, requests: Mapping[str, str], limits: Mapping[str, str]) -> Iterator[str]:
    kind = item["type"]
    for name, least in item.get("min", {}).items():
        yield from _at_least(name, kind, least, requests, limits)
    for name, most in item.get("max", {}).items():
        yield from _at_most(name, kind, most, requests, limits)
    for name, most in item.get("maxLimitRequestRatio", {}).items():
        yield from _in_ratio(name, kind, most, requests, limits)


def _at_least(name: str, kind: str, least: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> Iterator[str]:
    said = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{said}.  No request is specified"
    elif _less(requests[name], least):
        yield f"{said}, but request is {requests[name]}"
    elif name in limits and _less(limits[name], least):
        yield f"{said}, but limit is {limits[name]}"


def _at_most(name: str, kind: str, most: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> Iterator[str]:
    said = f"maximum {name} usage per {kind} is {most}"
    if name not in limits:
        yield f"{said}.  No limit is specified"
    elif _less(most, limits[name]):
        yield f"{said}, but limit is {limits[name]}"
    elif name in requests and _less(most, requests[name]):
        yield f"{said}, but request is {requests[name]}"


def _in_ratio(name: str, kind: str, most: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> Iterator[str]:
    said = f"{name} max limit to request ratio per {kind} is {most}"
    for word, given in (("request", requests), ("limit", limits)):
        if name not in given or quantity.parse(given[name]).sign == 0:
            yield f"{said}, but no {word} is specified or {word} is 0"
            return
    ratio = quantity.parse(limits[name]).approximate() / quantity.parse(requests[name]).approximate()
    if ratio > quantity.parse(most).approximate():
        yield f"{said}, but provided ratio is {ratio:f}"


def _claimed(item: Manifest, requests: Mapping[str, str]) -> Iterator[str]:
    for name, least in item.get("min", {}).items():
        yield from _at_least(name, item["type"], least, requests, {})
    for name, most in item.get("max", {}).items():
        said = f"maximum {name} usage per {item['type']} is {most}"
        if name not in requests:
            yield f"{said}.  No request is specified"
        elif _less(most, requests[name]):
            yield f"{said}, but request is {requests[name]}"


def _less(one: str, other: str) -> bool:
    return quantity.parse(one).compare(quantity.parse(other)) < 0


def _whole(spec: Manifest, kind: str) -> dict[str, str]:
    """What all containers of a Pod take together, or more if one that comes before them takes more."""
    sums: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        for name, text in container["resources"].get(kind, {}).items():
            value = quantity.parse(text)
            sums[name] = sums[name].add(value) if name in sums else value
    for container in spec.get("initContainers", ()):
        for name, text in container["resources"].get(kind, {}).items():
            value = quantity.parse(text)
            if name not in sums or sums[name].compare(value) < 0:
                sums[name] = value
    return {name: str(value) for name, value in sums.items()}


# Classes of Pods


def _with_priority(pod: Manifest, others: Others) -> Manifest:
    spec, classes = pod["spec"], list(others("priorityclasses.scheduling.k8s.io"))
    name = spec.get("priorityClassName", "")
    found = _named(classes, name) if name else _global_default(classes)
    if name and found is None:
        raise _refused("pods", pod, f"no PriorityClass with name {name} was found")
    priority = found["value"] if found else 0
    if spec.get("priority", priority) != priority:
        why = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
        why += f"priority admission controller computed {priority} from the given PriorityClass name"
        raise _refused("pods", pod, why)
    added: Manifest = {"priority": priority}
    if found:
        added |= {"priorityClassName": found["metadata"]["name"], "preemptionPolicy": found["preemptionPolicy"]}
    return pod | {"spec": spec | added}


def _global_default(classes: list[Manifest]) -> Manifest | None:
    return min((each for each in classes if each.get("globalDefault")), key=lambda each: int(each["value"]), default=None)


def _with_runtime(pod: Manifest, others: Others) -> Manifest:
    name = pod["spec"].get("runtimeClassName")
    if name is None:
        return pod
    found = _named(list(others("runtimeclasses.node.k8s.io")), name)
    if found is None:
        raise _refused("pods", pod, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = (found.get("overhead") or {}).get("podFixed")
    return pod | {"spec": pod["spec"] | {"overhead": overhead}} if overhead else pod


def _named(objects: list[Manifest], name: str) -> Manifest | None:
    return next((each for each in objects if each["metadata"]["name"] == name), None)
