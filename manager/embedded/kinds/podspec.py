"""The rules for what Pods are made of: containers, volumes, probes (pkg/apis/core/validation, the parts that users meet)."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

POLICIES = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL = ("Always", "IfNotPresent", "Never")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_ENV_NAME = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
_BAD_ENV_NAME = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NOT_FOUND = "FieldValueNotFound"


def template(given: Manifest, path: str) -> Iterator[Cause]:
    """A Pod template."""
    of = given.get("metadata", {})
    yield from metadata.labels(of.get("labels", {}), f"{path}.labels")
    yield from metadata.annotations(of.get("annotations", {}), f"{path}.annotations")
    yield from spec(given["spec"], f"{path}.spec")
    if given["spec"].get("ephemeralContainers"):
        yield causes.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def spec(given: Manifest, path: str, *, more_volumes: Collection[str] = ()) -> Iterator[Cause]:
    """A Pod's spec. `more_volumes` are the names of volumes that somebody will add."""
    wrong, volumes = _volumes(given.get("volumes", ()), f"{path}.volumes")
    yield from wrong
    known = volumes | set(more_volumes)
    yield from _containers(given, f"{path}.containers", known)
    yield from _init_containers(given, f"{path}.initContainers", known)
    yield from values.one_of(given.get("restartPolicy", ""), f"{path}.restartPolicy", POLICIES)
    yield from values.one_of(given.get("dnsPolicy", ""), f"{path}.dnsPolicy", _DNS)
    yield from metadata.labels(given.get("nodeSelector", {}), f"{path}.nodeSelector")
    yield from _references(given, path)
    yield from _spread(given.get("topologySpreadConstraints", ()), f"{path}.topologySpreadConstraints")
    yield from _rest(given, path)


def _rest(given: Manifest, path: str) -> Iterator[Cause]:
    if name := given.get("serviceAccountName"):
        yield from values.named(name, f"{path}.serviceAccountName", names.subdomain)
    if name := given.get("nodeName"):
        yield from values.named(name, f"{path}.nodeName", names.subdomain)
    deadline = given.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        yield causes.invalid(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    for each in ("hostname", "subdomain"):
        if given.get(each):
            yield from values.named(given[each], f"{path}.{each}", names.label)
    for index, each in enumerate(given.get("tolerations", ())):
        yield from _toleration(each, f"{path}.tolerations[{index}]")
    if name := given.get("priorityClassName"):
        yield from values.named(name, f"{path}.priorityClassName", names.subdomain)
    if name := given.get("runtimeClassName"):
        yield from values.named(name, f"{path}.runtimeClassName", names.subdomain)
    if "preemptionPolicy" in given:
        supported = ("Never", "PreemptLowerPriority")
        yield from values.one_of(given["preemptionPolicy"], f"{path}.preemptionPolicy", supported)


def _references(given: Manifest, path: str) -> Iterator[Cause]:
    for index, each in enumerate(given.get("imagePullSecrets", ())):
        if not each.get("name"):
            yield causes.required(f"{path}.imagePullSecrets[{index}].name")


def _spread(given: Any, path: str) -> Iterator[Cause]:
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        if each["maxSkew"] <= 0:
            yield causes.invalid(f"{at}.maxSkew", each["maxSkew"], "must be greater than zero")
        if not each["topologyKey"]:
            yield causes.required(f"{at}.topologyKey", "can not be empty")
        yield from _unsatisfiable(each["whenUnsatisfiable"], f"{at}.whenUnsatisfiable")
        yield from metadata.selector(each.get("labelSelector"), f"{at}.labelSelector")


def _unsatisfiable(value: str, path: str) -> Iterator[Cause]:
    supported = ("DoNotSchedule", "ScheduleAnyway")
    if value not in supported:
        yield causes.not_supported(path, value, supported)


def _toleration(given: Manifest, path: str) -> Iterator[Cause]:
    operator, value = given.get("operator", ""), given.get("value", "")
    if given.get("key"):
        yield from values.named(given["key"], f"{path}.key", names.qualified)
    elif operator != "Exists":
        yield causes.invalid(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    if "tolerationSeconds" in given and given.get("effect") != "NoExecute":
        yield causes.invalid(
            f"{path}.effect", given.get("effect", ""), "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator in ("", "Equal"):
        if wrong := names.label_value(value):
            yield causes.invalid(f"{path}.operator", value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            yield causes.invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield causes.not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    if given.get("effect") and given["effect"] not in _EFFECTS:
        yield causes.not_supported(f"{path}.effect", given["effect"], _EFFECTS)


# Containers


def _containers(given: Manifest, path: str, volumes: Collection[str]) -> Iterator[Cause]:
    if not given.get("containers"):
        yield causes.required(path)
        return
    seen: set[str] = set()
    for index, each in enumerate(given["containers"]):
        at = f"{path}[{index}]"
        yield from _container(each, at, volumes)
        if each["name"] in seen:
            yield causes.duplicate(f"{at}.name", each["name"])
        seen.add(each["name"])
        yield from _lifecycle(each, at)
    yield from _host_ports(given["containers"], path)


def _init_containers(given: Manifest, path: str, volumes: Collection[str]) -> Iterator[Cause]:
    seen = {each["name"] for each in given.get("containers") or ()}
    for index, each in enumerate(given.get("initContainers", ())):
        at = f"{path}[{index}]"
        yield from _container(each, at, volumes)
        if each["name"] in seen:
            yield causes.duplicate(f"{at}.name", each["name"])
        seen.add(each["name"])
        if each.get("restartPolicy") == "Always":
            yield from _lifecycle(each, at)
            continue
        for part in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if part in each:
                yield causes.forbidden(f"{at}.{part}", "may not be set for init containers without restartPolicy=Always")


def _container(given: Manifest, path: str, volumes: Collection[str]) -> Iterator[Cause]:
    yield from values.required_name(given["name"], f"{path}.name", names.label)
    if not given.get("image"):
        yield causes.required(f"{path}.image")
    policy = given.get("terminationMessagePolicy", "")
    yield from values.one_of(policy, f"{path}.terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    yield from _ports(given.get("ports", ()), f"{path}.ports")
    yield from _environment(given.get("env", ()), f"{path}.env")
    yield from _sources(given.get("envFrom", ()), f"{path}.envFrom")
    yield from _mounts(given.get("volumeMounts", ()), f"{path}.volumeMounts", volumes)
    yield from values.one_of(given.get("imagePullPolicy", ""), f"{path}.imagePullPolicy", _PULL)
    yield from values.requirements(given["resources"], f"{path}.resources")


def _ports(given: Any, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        if name := each.get("name"):
            wrong = list(values.port_name(name, f"{at}.name"))
            yield from wrong
            if not wrong and name in seen:
                yield causes.duplicate(f"{at}.name", name)
            seen.add(name)
        if not each["containerPort"]:
            yield causes.required(f"{at}.containerPort")
        else:
            yield from values.port_number(each["containerPort"], f"{at}.containerPort")
        if each.get("hostPort"):
            yield from values.port_number(each["hostPort"], f"{at}.hostPort")
        yield from values.one_of(each.get("protocol", ""), f"{at}.protocol", values.PROTOCOLS)


def _host_ports(containers: Any, path: str) -> Iterator[Cause]:
    seen: set[tuple[Any, ...]] = set()
    for index, each in enumerate(containers):
        for place, port in enumerate(each.get("ports", ())):
            if not port.get("hostPort"):
                continue
            taken = (port.get("protocol"), port.get("hostIP", ""), port["hostPort"])
            if taken in seen:
                shown = f"{taken[0]}/{taken[1]}/{taken[2]}"
                yield causes.duplicate(f"{path}[{index}].ports[{place}].hostPort", shown)
            seen.add(taken)


def _environment(given: Any, path: str) -> Iterator[Cause]:
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        if not each["name"]:
            yield causes.required(f"{at}.name")
        elif not _ENV_NAME.fullmatch(each["name"]):
            yield causes.invalid(f"{at}.name", each["name"], _BAD_ENV_NAME)
        if "valueFrom" in each:
            yield from _value_from(each, f"{at}.valueFrom")


def _value_from(variable: Manifest, path: str) -> Iterator[Cause]:
    given = variable["valueFrom"]
    found = [each for each in _ENV_SOURCES if each in given]
    for each in ("configMapKeyRef", "secretKeyRef"):
        if each in given:
            yield from _key_reference(given[each], f"{path}.{each}")
    if not found:
        listed = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield causes.invalid(path, "", f"must specify one of: {listed}")
    elif variable.get("value"):
        yield causes.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(found) > 1:
        yield causes.invalid(path, "", "may not have more than one field specified at a time")


def _key_reference(given: Manifest, path: str) -> Iterator[Cause]:
    yield from values.named(given.get("name", ""), f"{path}.name", names.subdomain)
    yield from values.required_name(given["key"], f"{path}.key", names.config_key)


def _sources(given: Any, path: str) -> Iterator[Cause]:
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        found = [part for part in ("configMapRef", "secretRef") if part in each]
        for part in found:
            if not each[part].get("name"):
                yield causes.required(f"{at}.{part}.name")
        if not found:
            yield causes.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(found) > 1:
            yield causes.invalid(at, "", "may not have more than one field specified at a time")


def _mounts(given: Any, path: str, volumes: Collection[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        if not each["name"]:
            yield causes.required(f"{at}.name")
        if each["name"] not in volumes:
            yield Cause(_NOT_FOUND, f"Not found: {causes.quote(each['name'])}", f"{at}.name")
        if not each["mountPath"]:
            yield causes.required(f"{at}.mountPath")
        if each["mountPath"] in seen:
            yield causes.invalid(f"{at}.mountPath", each["mountPath"], "must be unique")
        seen.add(each["mountPath"])


def _lifecycle(given: Manifest, path: str) -> Iterator[Cause]:
    for hook in ("postStart", "preStop"):
        if hook in given.get("lifecycle", {}):
            yield from _handler(given["lifecycle"][hook], f"{path}.lifecycle.{hook}")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in given:
            yield from _probe(given[probe], f"{path}.{probe}")
    for probe in ("livenessProbe", "startupProbe"):
        if given.get(probe, {}).get("successThreshold", 1) != 1:
            yield causes.invalid(f"{path}.{probe}.successThreshold", given[probe]["successThreshold"], "must be 1")


def _probe(given: Manifest, path: str) -> Iterator[Cause]:
    yield from _handler(given, path)
    numbers = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    yield from values.not_negative(given, path, *numbers)
    grace = given.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield causes.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _handler(given: Manifest, path: str) -> Iterator[Cause]:
    found = [each for each in _HANDLERS if each in given]
    if not found:
        yield causes.required(path, "must specify a handler type")
    for each in found[1:]:
        yield causes.forbidden(f"{path}.{each}", "may not specify more than 1 handler type")
    if found:
        yield from _action(found[0], given[found[0]], f"{path}.{found[0]}")


def _action(kind: str, given: Manifest, path: str) -> Iterator[Cause]:
    if kind == "exec":
        if not given.get("command"):
            yield causes.required(f"{path}.command")
    elif kind == "httpGet":
        if not given.get("path"):
            yield causes.required(f"{path}.path")
        yield from values.port(given["port"], f"{path}.port")
        yield from values.one_of(given.get("scheme", ""), f"{path}.scheme", ("HTTP", "HTTPS"))
    elif kind in ("tcpSocket", "grpc"):
        yield from values.port(given["port"], f"{path}.port")


# Volumes

_NAMED_SOURCES = {"secret": "secretName", "configMap": "name", "persistentVolumeClaim": "claimName", "hostPath": "path"}


def _volumes(given: Any, path: str) -> tuple[list[Cause], set[str]]:
    """What is wrong with the volumes, and the names of those with which nothing is."""
    wrong: list[Cause] = []
    known: set[str] = set()
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        own = [*_volume(each, at), *values.required_name(each["name"], f"{at}.name", names.label)]
        if each["name"] in known:
            own.append(causes.duplicate(f"{at}.name", each["name"]))
        wrong += own
        if not own:
            known.add(each["name"])
    return wrong, known


def _volume(given: Mapping[str, Any], path: str) -> Iterator[Cause]:
    found = [each for each in given if each != "name"]
    if not found:
        yield causes.required(path, "must specify a volume type")
    for each in found[1:]:
        yield causes.forbidden(f"{path}.{each}", "may not specify more than 1 volume type")
    field = _NAMED_SOURCES.get(found[0]) if found else None
    if field and not given[found[0]].get(field):
        yield causes.required(f"{path}.{found[0]}.{field}")
