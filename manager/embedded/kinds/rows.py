"""The rows of `kubectl get` for the built-in kinds: one function for each kind that shows more than its name and age.

Columns are facts of the server (`served.columns`); the cells here are in their order, those of `-o wide` at the end of it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apis.meta import Manifest, split_api_version
from manager.embedded.kinds import cells
from manager.embedded.kinds.cells import NONE, UNKNOWN, UNSET, at, count, selector, text
from manager.embedded.kinds.kind import Row
from manager.embedded.kinds.metric_cells import metrics
from manager.embedded.kinds.pod_row import pod
from manager.embedded.kinds.tables import age, duration, plain, seconds_between

_MOST_HOSTS = 3


def _name(obj: Manifest) -> str:
    return str(obj["metadata"]["name"])


def _age(obj: Manifest, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _annotation(obj: Manifest, key: str) -> str | None:
    found: str | None = obj["metadata"].get("annotations", {}).get(key)
    return found


def aged(obj: Manifest, now: datetime) -> list[Any]:
    """Name and age."""
    return [_name(obj), _age(obj, now)]


# Workloads


def _deployment(obj: Manifest, now: datetime) -> list[Any]:
    ready = f"{count(obj, 'status', 'readyReplicas')}/{count(obj, 'spec', 'replicas')}"
    numbers = [count(obj, "status", each) for each in ("updatedReplicas", "availableReplicas")]
    template = at(obj, "spec", "template")
    return [
        _name(obj),
        ready,
        *numbers,
        _age(obj, now),
        *cells.containers(template),
        selector(at(obj, "spec", "selector"), empty=""),
    ]


def _replica_set(obj: Manifest, now: datetime) -> list[Any]:
    return [*_replicas(obj, now), *cells.containers(at(obj, "spec", "template")), selector(at(obj, "spec", "selector"))]


def _replication_controller(obj: Manifest, now: datetime) -> list[Any]:
    labels = cells.labels(at(obj, "spec", "selector"))
    return [*_replicas(obj, now), *cells.containers(at(obj, "spec", "template")), labels]


def _replicas(obj: Manifest, now: datetime) -> list[Any]:
    current = [count(obj, "status", each) for each in ("replicas", "readyReplicas")]
    return [_name(obj), count(obj, "spec", "replicas"), *current, _age(obj, now)]


def _stateful_set(obj: Manifest, now: datetime) -> list[Any]:
    ready = f"{count(obj, 'status', 'readyReplicas')}/{count(obj, 'spec', 'replicas')}"
    return [_name(obj), ready, _age(obj, now), *cells.containers(at(obj, "spec", "template"))]


_DAEMONS = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable")


def _daemon_set(obj: Manifest, now: datetime) -> list[Any]:
    template = at(obj, "spec", "template")
    numbers = [count(obj, "status", each) for each in _DAEMONS]
    nodes = cells.labels(at(template, "spec", "nodeSelector"))
    return [_name(obj), *numbers, nodes, _age(obj, now), *cells.containers(template), selector(at(obj, "spec", "selector"))]


def _job(obj: Manifest, now: datetime) -> list[Any]:
    template = at(obj, "spec", "template")
    shown = [_job_state(obj), _completions(obj), _job_duration(obj, now), _age(obj, now)]
    return [_name(obj), *shown, *cells.containers(template), selector(at(obj, "spec", "selector"))]


def _job_state(obj: Manifest) -> str:
    if cells.is_true(obj, "Complete"):
        return "Complete"
    if cells.is_true(obj, "Failed"):
        return "Failed"
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((each for each in later if cells.is_true(obj, each)), "Running")


def _completions(obj: Manifest) -> str:
    succeeded, wanted = count(obj, "status", "succeeded"), at(obj, "spec", "completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = count(obj, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(obj: Manifest, now: datetime) -> str:
    started, ended = at(obj, "status", "startTime"), at(obj, "status", "completionTime")
    return duration(seconds_between(started, ended, now)) if started else ""


def _cron_job(obj: Manifest, now: datetime) -> list[Any]:
    spec, template = obj["spec"], at(obj, "spec", "jobTemplate", "spec")
    last = at(obj, "status", "lastScheduleTime")
    shown = [
        spec["schedule"],
        spec.get("timeZone", NONE),
        cells.flag(spec.get("suspend")),
        len(at(obj, "status", "active") or ()),
    ]
    rest = [age(last, now) if last else NONE, _age(obj, now)]
    return [_name(obj), *shown, *rest, *cells.containers(at(template, "template")), selector(at(template, "selector"))]


def _pod_template(obj: Manifest, now: datetime) -> list[Any]:
    del now
    template = obj["template"]
    return [_name(obj), *cells.containers(template), cells.labels(at(template, "metadata", "labels"))]


def _controller_revision(obj: Manifest, now: datetime) -> list[Any]:
    owner = next((each for each in obj["metadata"].get("ownerReferences", ()) if each.get("controller")), None)
    return [_name(obj), _owner(owner), obj["revision"], _age(obj, now)]


def _owner(owner: Manifest | None) -> str:
    if owner is None:
        return NONE
    group, _ = split_api_version(owner["apiVersion"])
    kind = f"{owner['kind']}.{group}" if group else owner["kind"]
    return f"{kind.lower()}/{owner['name']}"


def _autoscaler(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    target = f"{spec['scaleTargetRef']['kind']}/{spec['scaleTargetRef']['name']}"
    measured = metrics(spec.get("metrics") or (), at(obj, "status", "currentMetrics") or ())
    least = str(spec["minReplicas"]) if "minReplicas" in spec else UNSET
    return [_name(obj), target, measured, least, spec["maxReplicas"], count(obj, "status", "currentReplicas"), _age(obj, now)]


def _disruption_budget(obj: Manifest, now: datetime) -> list[Any]:
    bounds = [str(obj["spec"].get(each, "N/A")) for each in ("minAvailable", "maxUnavailable")]
    return [_name(obj), *bounds, count(obj, "status", "disruptionsAllowed"), _age(obj, now)]


# Network


def _service(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    address = (spec.get("clusterIPs") or [NONE])[0]
    ports = ",".join(_port(each) for each in spec.get("ports", ())) or NONE
    return [_name(obj), spec["type"], address, _outside(obj), ports, _age(obj, now), cells.labels(spec.get("selector"))]


def _port(port: Manifest) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port['protocol']}"


def _outside(obj: Manifest) -> str:
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return text(spec, "externalName")
    balanced = _balanced(obj) if spec["type"] == "LoadBalancer" else []
    addresses = [*balanced, *spec.get("externalIPs", ())]
    return ",".join(addresses) or ("<pending>" if spec["type"] == "LoadBalancer" else NONE)


def _balanced(obj: Manifest) -> list[str]:
    found = at(obj, "status", "loadBalancer", "ingress") or ()
    return sorted({each.get("ip") or each.get("hostname") for each in found if each.get("ip") or each.get("hostname")})


def _ingress(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    ports = "80, 443" if spec.get("tls") else "80"
    address = ",".join(_balanced(obj))
    return [_name(obj), spec.get("ingressClassName", NONE), _hosts(spec.get("rules", ())), address, ports, _age(obj, now)]


def _hosts(rules: Sequence[Manifest]) -> str:
    shown: list[str] = []
    for rule in rules:
        if len(shown) == _MOST_HOSTS:
            return f"{','.join(shown)} + {len(rules) - _MOST_HOSTS} more..."
        shown += [rule["host"]] if rule.get("host") else []
    return ",".join(shown) or "*"


def _ingress_class(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    return [_default_class(obj, "ingressclass"), text(spec, "controller"), _parameters(spec.get("parameters")), _age(obj, now)]


def _default_class(obj: Manifest, kind: str, *more: str) -> str:
    keys = (f"{kind}.kubernetes.io/is-default-class", *more)
    return f"{_name(obj)} (default)" if any(_annotation(obj, key) == "true" for key in keys) else _name(obj)


def _parameters(given: Manifest | None) -> str:
    if given is None:
        return NONE
    kind = f"{given['kind']}.{given['apiGroup']}" if given.get("apiGroup") is not None else given["kind"]
    return f"{kind}/{given['name']}"


def _network_policy(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), selector(obj["spec"].get("podSelector")), _age(obj, now)]


def _endpoints(obj: Manifest, now: datetime) -> list[Any]:
    shown: list[str] = []
    total = 0
    for subset in obj.get("subsets", ()):
        addresses = [each["ip"] for each in subset.get("addresses", ())]
        for port in subset.get("ports") or (None,):
            total += len(addresses)
            shown += addresses if port is None else [_host_port(each, port["port"]) for each in addresses]
    return [_name(obj), cells.some(shown, nothing=NONE if not obj.get("subsets") else "", total=total), _age(obj, now)]


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoint_slice(obj: Manifest, now: datetime) -> list[Any]:
    ports = [str(each.get("port", each.get("name", "*"))) for each in obj.get("ports") or ()]
    addresses = [each for endpoint in obj.get("endpoints") or () for each in endpoint["addresses"] or ()]
    return [_name(obj), obj["addressType"], cells.some(ports), cells.some(addresses), _age(obj, now)]


def _ip_address(obj: Manifest, now: datetime) -> list[Any]:
    parent = at(obj, "spec", "parentRef")
    if parent is None:
        return [_name(obj), NONE, _age(obj, now)]
    resource = ".".join(filter(None, (parent.get("resource", ""), parent.get("group", "")))).lower()
    place = "/".join(filter(None, (resource, parent.get("namespace", ""), parent.get("name", ""))))
    return [_name(obj), place, _age(obj, now)]


# Core


def _config_map(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("data", {})) + len(obj.get("binaryData", {})), _age(obj, now)]


def _secret(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), text(obj, "type"), len(obj.get("data", {})), _age(obj, now)]


def _namespace(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), text(obj, "status", "phase"), _age(obj, now)]


def _quota(obj: Manifest, now: datetime) -> list[Any]:
    hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
    written = {each: f"{each}: {used.get(each, '0')}/{hard[each]}" for each in sorted(hard)}
    limits = [text for each, text in written.items() if each.startswith("limits.")]
    requests = [text for each, text in written.items() if not each.startswith("limits.")]
    return [_name(obj), ", ".join(requests), ", ".join(limits), _age(obj, now)]


def _event(obj: Manifest, now: datetime) -> list[Any]:
    involved = obj["involvedObject"]
    kind, name = involved.get("kind", "").lower(), involved.get("name", "")
    first = age(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    series = obj.get("series")
    last = age(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    times = series.get("count", 0) if series else obj.get("count", 0) or 1
    return [
        age(series.get("lastObservedTime"), now) if series else last,
        text(obj, "type"),
        text(obj, "reason"),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        _source(obj),
        text(obj, "message").strip(),
        first,
        times,
        _name(obj),
    ]


def _source(obj: Manifest) -> str:
    component = text(obj, "source", "component") or text(obj, "reportingComponent")
    instance = text(obj, "source", "host") or text(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


_EVENT_NAMES = {
    "regarding": "involvedObject",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
    "note": "message",
    "reportingController": "reportingComponent",
}


def _new_event(obj: Manifest, now: datetime) -> list[Any]:
    """An Event of events.k8s.io, which has other names for the same fields."""
    return _event(
        {_EVENT_NAMES.get(key, key): value for key, value in obj.items()} | {"involvedObject": obj.get("regarding", {})}, now
    )


def _node(obj: Manifest, now: datetime) -> list[Any]:
    status, info = obj.get("status", {}), at(obj, "status", "nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    kernel += f" ({info['architecture']})" if info.get("architecture") else ""
    addresses = [_address(status, each) for each in ("InternalIP", "ExternalIP")]
    wide = [*addresses, info.get("osImage") or UNKNOWN, kernel, info.get("containerRuntimeVersion") or UNKNOWN]
    return [_name(obj), _node_state(obj), _roles(obj), _age(obj, now), info.get("kubeletVersion", ""), *wide]


def _node_state(obj: Manifest) -> str:
    ready = cells.condition(obj, "Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if at(obj, "spec", "unschedulable") else state


def _roles(obj: Manifest) -> str:
    labels: Mapping[str, str] = obj["metadata"].get("labels", {})
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix}
    roles |= {labels["kubernetes.io/role"]} if labels.get("kubernetes.io/role") else set()
    return ",".join(sorted(roles)) or NONE


def _address(status: Manifest, type_: str) -> str:
    return next((str(each["address"]) for each in status.get("addresses", ()) if each["type"] == type_), NONE)


# Storage

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def _volume(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    claim = spec.get("claimRef")
    bound = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    class_ = _annotation(obj, _BETA_CLASS) or text(spec, "storageClassName")
    return [
        _name(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        cells.access_modes(spec.get("accessModes")),
        text(spec, "persistentVolumeReclaimPolicy"),
        _phase(obj),
        bound,
        class_,
        spec.get("volumeAttributesClassName", UNSET),
        text(obj, "status", "reason"),
        _age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


def _claim(obj: Manifest, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj.get("status", {})
    bound = bool(spec.get("volumeName"))
    capacity = (status.get("capacity") or {}).get("storage", "0") if bound else ""
    class_ = _annotation(obj, _BETA_CLASS) or text(spec, "storageClassName")
    modes = cells.access_modes(status.get("accessModes")) if bound else ""
    rest = [class_, spec.get("volumeAttributesClassName", UNSET), _age(obj, now), spec.get("volumeMode", UNSET)]
    return [_name(obj), _phase(obj), text(spec, "volumeName"), capacity, modes, *rest]


def _phase(obj: Manifest) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else text(obj, "status", "phase")


def _storage_class(obj: Manifest, now: datetime) -> list[Any]:
    name = _default_class(obj, "storageclass", "storageclass.beta.kubernetes.io/is-default-class")
    shown = [obj["provisioner"], text(obj, "reclaimPolicy"), text(obj, "volumeBindingMode")]
    return [name, *shown, obj.get("allowVolumeExpansion", False), _age(obj, now)]


def _csi_driver(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    tokens = ",".join(each.get("audience", "") for each in spec["tokenRequests"]) if spec.get("tokenRequests") else UNSET
    flags = [spec.get(each, default) for each, default in (("attachRequired", True), ("podInfoOnMount", False))]
    modes = ",".join(spec.get("volumeLifecycleModes", ())) or NONE
    rest = [spec.get("storageCapacity", False), tokens, spec.get("requiresRepublish", False), modes]
    return [_name(obj), *flags, *rest, _age(obj, now)]


def _csi_node(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), len(at(obj, "spec", "drivers") or ()), _age(obj, now)]


def _volume_attachment(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    volume = text(spec, "source", "persistentVolumeName")
    return [_name(obj), spec["attacher"], volume, spec["nodeName"], bool(at(obj, "status", "attached")), _age(obj, now)]


def _attributes_class(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), obj["driverName"], _age(obj, now)]


# Rights


def _binding(obj: Manifest, now: datetime) -> list[Any]:
    role = f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"
    found: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for each in obj.get("subjects") or ():
        account = each["kind"] == "ServiceAccount"
        found.setdefault(each["kind"], []).append(f"{each.get('namespace', '')}/{each['name']}" if account else each["name"])
    return [_name(obj), role, _age(obj, now), *(", ".join(found[each]) for each in ("User", "Group", "ServiceAccount"))]


def _signing_request(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    wanted = duration(spec["expirationSeconds"]) if "expirationSeconds" in spec else NONE
    return [_name(obj), _age(obj, now), spec.get("signerName") or NONE, text(spec, "username"), wanted, _signing_state(obj)]


def _signing_state(obj: Manifest) -> str:
    types = {each["type"] for each in at(obj, "status", "conditions") or ()}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    state += ",Failed" if "Failed" in types else ""
    return state + (",Issued" if at(obj, "status", "certificate") else "")


# Admission and the server itself


def _webhooks(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("webhooks", ())), _age(obj, now)]


def _admission_policy(field: str) -> Row:
    def row(obj: Manifest, now: datetime) -> list[Any]:
        kind = at(obj, "spec", "paramKind")
        shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [_name(obj), len(at(obj, "spec", field) or ()), shown, _age(obj, now)]

    return row


def _policy_binding(obj: Manifest, now: datetime) -> list[Any]:
    given = at(obj, "spec", "paramRef") or {}
    shown = f"{given.get('namespace') or '*'}/{given['name']}" if given.get("name") else UNSET
    return [_name(obj), text(obj, "spec", "policyName"), shown, _age(obj, now)]


def _api_service(obj: Manifest, now: datetime) -> list[Any]:
    service = at(obj, "spec", "service")
    place = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    found = cells.condition(obj, "Available")
    state = "Unknown" if found is None else str(found["status"])
    if found and state != "True" and found.get("reason"):
        state = f"{state} ({found['reason']})"
    return [_name(obj), place, state, _age(obj, now)]


def _flow_schema(obj: Manifest, now: datetime) -> list[Any]:
    spec, dangling = obj["spec"], cells.condition(obj, "Dangling")
    level = spec["priorityLevelConfiguration"]["name"]
    method = text(spec, "distinguisherMethod", "type", default=NONE)
    missing = "?" if dangling is None else dangling.get("status", "")
    return [_name(obj), level, count(spec, "matchingPrecedence"), method, _age(obj, now), missing]


def _priority_level(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    shares = at(spec, "limited", "nominalConcurrencyShares")
    queuing = at(spec, "limited", "limitResponse", "queuing") or {}
    queues = [queuing.get(each, NONE) for each in ("queues", "handSize", "queueLengthLimit")]
    return [_name(obj), spec["type"], NONE if shares is None else shares, *queues, _age(obj, now)]


def _lease(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), text(obj, "spec", "holderIdentity"), _age(obj, now)]


def _priority_class(obj: Manifest, now: datetime) -> list[Any]:
    rest = [obj.get("globalDefault", False), _age(obj, now), text(obj, "preemptionPolicy")]
    return [_name(obj), obj["value"], *rest]


def _runtime_class(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), obj["handler"], _age(obj, now)]


def _service_cidr(obj: Manifest, now: datetime) -> list[Any]:
    return [_name(obj), ",".join(at(obj, "spec", "cidrs") or ()), _age(obj, now)]


def _resource_claim(obj: Manifest, now: datetime) -> list[Any]:
    leaving = "deletionTimestamp" in obj["metadata"]
    allocated = at(obj, "status", "allocation") is not None
    states = ["deleted"] * leaving + (["allocated"] if allocated else ["pending"] * (not leaving))
    states += ["reserved"] if allocated and at(obj, "status", "reservedFor") else []
    return [_name(obj), ",".join(states), _age(obj, now)]


def _resource_slice(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj["spec"]
    return [_name(obj), text(spec, "nodeName"), spec["driver"], spec["pool"]["name"], _age(obj, now)]


def _component_status(obj: Manifest, now: datetime) -> list[Any]:
    del now
    healthy = next((each for each in obj.get("conditions", ()) if each["type"] == "Healthy"), None)
    if healthy is None:
        return [_name(obj), "Unknown", "", ""]
    state = "Healthy" if healthy["status"] == "True" else "Unhealthy"
    return [_name(obj), state, text(healthy, "message"), text(healthy, "error")]


ROWS: dict[str, Row] = {
    "apiservices.apiregistration.k8s.io": _api_service,
    "certificatesigningrequests.certificates.k8s.io": _signing_request,
    "clusterrolebindings.rbac.authorization.k8s.io": _binding,
    "componentstatuses": _component_status,
    "configmaps": _config_map,
    "controllerrevisions.apps": _controller_revision,
    "cronjobs.batch": _cron_job,
    "csidrivers.storage.k8s.io": _csi_driver,
    "csinodes.storage.k8s.io": _csi_node,
    "daemonsets.apps": _daemon_set,
    "deployments.apps": _deployment,
    "deviceclasses.resource.k8s.io": aged,
    "endpoints": _endpoints,
    "endpointslices.discovery.k8s.io": _endpoint_slice,
    "events": _event,
    "events.events.k8s.io": _new_event,
    "flowschemas.flowcontrol.apiserver.k8s.io": _flow_schema,
    "horizontalpodautoscalers.autoscaling": _autoscaler,
    "ingressclasses.networking.k8s.io": _ingress_class,
    "ingresses.networking.k8s.io": _ingress,
    "ipaddresses.networking.k8s.io": _ip_address,
    "jobs.batch": _job,
    "leases.coordination.k8s.io": _lease,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _admission_policy("mutations"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _webhooks,
    "namespaces": _namespace,
    "networkpolicies.networking.k8s.io": _network_policy,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "poddisruptionbudgets.policy": _disruption_budget,
    "pods": pod,
    "podtemplates": _pod_template,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _priority_level,
    "replicasets.apps": _replica_set,
    "replicationcontrollers": _replication_controller,
    "resourceclaims.resource.k8s.io": _resource_claim,
    "resourceclaimtemplates.resource.k8s.io": aged,
    "resourcequotas": _quota,
    "resourceslices.resource.k8s.io": _resource_slice,
    "rolebindings.rbac.authorization.k8s.io": _binding,
    "runtimeclasses.node.k8s.io": _runtime_class,
    "secrets": _secret,
    "serviceaccounts": aged,
    "servicecidrs.networking.k8s.io": _service_cidr,
    "services": _service,
    "statefulsets.apps": _stateful_set,
    "storageclasses.storage.k8s.io": _storage_class,
    "validatingadmissionpolicies.admissionregistration.k8s.io": _admission_policy("validations"),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _webhooks,
    "volumeattachments.storage.k8s.io": _volume_attachment,
    "volumeattributesclasses.storage.k8s.io": _attributes_class,
}
"""By the name that objects are kept under; kinds without a row of their own show name and creation time (`tables.plain`)."""


def row(resource: str, obj: Manifest, now: datetime) -> list[Any]:
    """The cells of an object of a built-in kind."""
    return ROWS.get(resource, plain)(obj, now)
