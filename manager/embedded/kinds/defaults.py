"""The defaults of the built-in kinds, as the server writes them: tables by Go type, and functions where a value hangs on another.

Defaults belong to types, not to kinds: a Container has the same ones in a Pod and in the template of a CronJob. They are set from
the outside in, on an object that was just read (`codec.py`) and is nobody else's.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, TypeAlias

from apis.meta import Manifest
from manager.embedded.kinds.codec import Entries, Items, Pointer, Struct, canonical_quantity, codec
from policy import quantity

Setter: TypeAlias = Callable[[Any], None]
Rule: TypeAlias = Mapping[str, Any] | Setter
"""Values for fields that are absent or empty, or a function that changes the object."""


def default(struct: str, obj: Manifest) -> Manifest:
    """Set the defaults of an object of a type (named as in `types.py`), in place, and return it."""
    setter = _setter(struct)
    if setter is not None:
        setter(obj)
    return obj


def _set(obj: Manifest, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if obj.get(key) in (None, ""):
            # The tables are shared, and what is set may be filled further.
            obj[key] = deepcopy(value) if isinstance(value, dict | list) else value


# Workloads


def _deployment(obj: Manifest) -> None:
    spec = obj["spec"]
    _set(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    _rolling(spec.setdefault("strategy", {}), {"maxUnavailable": "25%", "maxSurge": "25%"})


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""A field of an old version lives on as an annotation, which is counted later."""


def _daemon_set(obj: Manifest) -> None:
    obj["metadata"]["annotations"] = {TEMPLATE_GENERATION: "0"} | obj["metadata"].get("annotations", {})
    _set(obj["spec"], {"revisionHistoryLimit": 10})
    _rolling(obj["spec"].setdefault("updateStrategy", {}), {"maxUnavailable": 1, "maxSurge": 0})


def _rolling(strategy: Manifest, values: Mapping[str, Any]) -> None:
    _set(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), values)


def _stateful_set(obj: Manifest) -> None:
    spec = obj["spec"]
    _set(spec, {"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10})
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        _set(strategy["rollingUpdate"], {"partition": 0})
    _set(spec.setdefault("persistentVolumeClaimRetentionPolicy", {}), {"whenDeleted": "Retain", "whenScaled": "Retain"})
    for each in spec.get("volumeClaimTemplates", ()):
        each |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}


def _replication_controller(obj: Manifest) -> None:
    spec = obj["spec"]
    _set(spec, {"replicas": 1})
    labels = _labels(spec.get("template"))
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def _job(obj: Manifest) -> None:
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    _set(
        spec,
        {
            "parallelism": 1,
            "backoffLimit": 2**31 - 1 if "backoffLimitPerIndex" in spec else 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
            "manualSelector": False,
        },
    )
    labels = _labels(spec.get("template"))
    if labels:
        obj["metadata"].setdefault("labels", dict(labels))


def _labels(template: Manifest | None) -> Manifest:
    found: Manifest = ((template or {}).get("metadata") or {}).get("labels") or {}
    return found


def _pod(obj: Manifest) -> None:
    spec = obj["spec"]
    for container in [*(spec.get("containers") or ()), *spec.get("initContainers", ())]:
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = limits | resources.get("requests", {})
        if spec.get("hostNetwork"):
            for port in container.get("ports", ()):
                _set(port, {"hostPort": port["containerPort"]})
    _pod_level_requests(spec)
    _set(spec, {"enableServiceLinks": True})


def _pod_level_requests(spec: Manifest) -> None:
    """Requests of the Pod itself: those of its containers together, else its limits."""
    limits = (spec.get("resources") or {}).get("limits")
    if not limits:
        return
    requests = dict(spec["resources"].get("requests", {}))
    for name in ("cpu", "memory"):
        given = [
            each["resources"]["requests"][name] for each in spec["containers"] if name in each["resources"].get("requests", {})
        ]
        if given and name not in requests:
            requests[name] = _sum(given)
    spec["resources"]["requests"] = limits | requests


def _sum(texts: list[str]) -> str:
    total = quantity.parse(texts[0])
    for each in texts[1:]:
        total = total.add(quantity.parse(each))
    return str(total)


def _pod_spec(obj: Manifest) -> None:
    _set(obj, _POD_SPEC)
    # `serviceAccount` is the old name of `serviceAccountName`: both are always written.
    name = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if name:
        obj["serviceAccountName"] = obj["serviceAccount"] = name


def _container(obj: Manifest) -> None:
    image = obj.get("image", "")
    _set(
        obj,
        {
            "imagePullPolicy": _pull_policy(image),
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        },
    )


def _pull_policy(image: str) -> str:
    """Always for the tag `latest`, which is also that of an image without tag or digest."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if not image or (digest and not tag):
        return "IfNotPresent"
    return "Always" if tag in ("", "latest") else "IfNotPresent"


_SOURCELESS = frozenset({"name"})


def _volume(obj: Manifest) -> None:
    if not obj.keys() - _SOURCELESS:
        obj["emptyDir"] = {}
    if "image" in obj:
        _set(obj["image"], {"pullPolicy": _pull_policy(obj["image"].get("reference", ""))})


# What Pods meet


def _service(obj: Manifest) -> None:
    spec = obj["spec"]
    _set(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if spec["sessionAffinity"] == "ClientIP":
        given = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": given.get("timeoutSeconds", 10800)}}
    for port in spec.get("ports", ()):
        _set(port, {"protocol": "TCP"})
        if port["targetPort"] in (0, ""):
            port["targetPort"] = port["port"]
    _service_traffic(spec)
    if spec["type"] == "LoadBalancer":
        for ingress in obj["status"]["loadBalancer"].get("ingress", ()):
            if ingress.get("ip"):
                _set(ingress, {"ipMode": "VIP"})


def _service_traffic(spec: Manifest) -> None:
    outside = spec["type"] in ("LoadBalancer", "NodePort")
    if outside or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        _set(spec, {"externalTrafficPolicy": "Cluster"})
    if outside or spec["type"] == "ClusterIP":
        _set(spec, {"internalTrafficPolicy": "Cluster"})
    if spec["type"] == "LoadBalancer":
        _set(spec, {"allocateLoadBalancerNodePorts": True})


def _network_policy(obj: Manifest) -> None:
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class(obj: Manifest) -> None:
    if "parameters" in obj["spec"]:
        _set(obj["spec"]["parameters"], {"scope": "Cluster"})


def _endpoint_port(obj: Manifest) -> None:
    obj.setdefault("name", "")
    _set(obj, {"protocol": "TCP"})


# Quotas, scaling, rights


def _namespace(obj: Manifest) -> None:
    if name := obj["metadata"].get("name"):
        obj["metadata"]["labels"] = obj["metadata"].get("labels", {}) | {"kubernetes.io/metadata.name": name}


def _node_spec(obj: Manifest) -> None:
    # The first range has a field of its own.
    if obj.get("podCIDR") and not obj.get("podCIDRs"):
        obj["podCIDRs"] = [obj["podCIDR"]]
    elif obj.get("podCIDRs"):
        obj["podCIDR"] = obj["podCIDRs"][0]


def _node_status(obj: Manifest) -> None:
    if obj.get("capacity"):
        obj.setdefault("allocatable", dict(obj["capacity"]))


def _limit_range_item(obj: Manifest) -> None:
    if obj["type"] != "Container":
        return
    limits = obj.get("max", {}) | obj.get("default", {})
    requests = obj.get("min", {}) | limits | obj.get("defaultRequest", {})
    obj.update({key: value for key, value in (("default", limits), ("defaultRequest", requests)) if value})


def _autoscaler(obj: Manifest) -> None:
    spec = obj["spec"]
    _set(spec, {"minReplicas": 1})
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        spec["behavior"]["scaleUp"] = deepcopy(_SCALE_UP) | spec["behavior"].get("scaleUp", {})
        spec["behavior"]["scaleDown"] = deepcopy(_SCALE_DOWN) | spec["behavior"].get("scaleDown", {})


_SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}

_RBAC = "rbac.authorization.k8s.io"


def _binding(obj: Manifest) -> None:
    _set(obj["roleRef"], {"apiGroup": _RBAC})


def _subject(obj: Manifest) -> None:
    if obj["kind"] in ("User", "Group"):
        _set(obj, {"apiGroup": _RBAC})


# Storage and the rest


def _csi_driver(obj: Manifest) -> None:
    values = {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "seLinuxMount": False,
        "volumeLifecycleModes": ["Persistent"],
    }
    _set(obj["spec"], values)


def _device_request(obj: Manifest) -> None:
    _set(obj, {"allocationMode": "ExactCount"})
    if obj["allocationMode"] == "ExactCount" and not obj.get("count"):
        obj["count"] = 1


def _resource_list(obj: Manifest) -> None:
    """Amounts are rounded up to thousandths."""
    for key, value in obj.items():
        if value.endswith(("n", "u")):
            obj[key] = str(quantity.parse(canonical_quantity(value)).rounded_up(-3))


_POD_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_PROTOCOL = {"protocol": "TCP"}
_FILE_MODE = {"defaultMode": 0o644}
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_ISCSI = {"iscsiInterface": "default"}
_QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}

RULES: dict[str, Rule] = {
    "k8s.io/api/admissionregistration/v1.MatchResources": _MATCH,
    "k8s.io/api/admissionregistration/v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "k8s.io/api/admissionregistration/v1.MutatingWebhook": _WEBHOOK | {"reinvocationPolicy": "Never"},
    "k8s.io/api/admissionregistration/v1.NamedRuleWithOperations": {"scope": "*"},
    "k8s.io/api/admissionregistration/v1.RuleWithOperations": {"scope": "*"},
    "k8s.io/api/admissionregistration/v1.ServiceReference": {"port": 443},
    "k8s.io/api/admissionregistration/v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "k8s.io/api/admissionregistration/v1.ValidatingWebhook": _WEBHOOK,
    "k8s.io/api/apps/v1.DaemonSet": _daemon_set,
    "k8s.io/api/apps/v1.Deployment": _deployment,
    "k8s.io/api/apps/v1.ReplicaSetSpec": {"replicas": 1},
    "k8s.io/api/apps/v1.StatefulSet": _stateful_set,
    "k8s.io/api/authentication/v1.TokenRequestSpec": {"expirationSeconds": 3600},
    "k8s.io/api/autoscaling/v2.HorizontalPodAutoscaler": _autoscaler,
    "k8s.io/api/batch/v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "k8s.io/api/batch/v1.Job": _job,
    "k8s.io/api/batch/v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "k8s.io/api/core/v1.AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "k8s.io/api/core/v1.ConfigMapVolumeSource": _FILE_MODE,
    "k8s.io/api/core/v1.Container": _container,
    "k8s.io/api/core/v1.ContainerPort": _PROTOCOL,
    "k8s.io/api/core/v1.DownwardAPIVolumeSource": _FILE_MODE,
    "k8s.io/api/core/v1.EndpointPort": _PROTOCOL,
    "k8s.io/api/core/v1.EphemeralContainer": _container,
    "k8s.io/api/core/v1.FileKeySelector": {"optional": False},
    "k8s.io/api/core/v1.GRPCAction": {"service": ""},
    "k8s.io/api/core/v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "k8s.io/api/core/v1.HostPathVolumeSource": {"type": ""},
    "k8s.io/api/core/v1.ISCSIPersistentVolumeSource": _ISCSI,
    "k8s.io/api/core/v1.ISCSIVolumeSource": _ISCSI,
    "k8s.io/api/core/v1.LimitRangeItem": _limit_range_item,
    "k8s.io/api/core/v1.Namespace": _namespace,
    "k8s.io/api/core/v1.NamespaceStatus": {"phase": "Active"},
    "k8s.io/api/core/v1.NodeSpec": _node_spec,
    "k8s.io/api/core/v1.NodeStatus": _node_status,
    "k8s.io/api/core/v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "k8s.io/api/core/v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "k8s.io/api/core/v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "k8s.io/api/core/v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "k8s.io/api/core/v1.PersistentVolumeStatus": {"phase": "Pending"},
    "k8s.io/api/core/v1.Pod": _pod,
    "k8s.io/api/core/v1.PodSpec": _pod_spec,
    "k8s.io/api/core/v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "k8s.io/api/core/v1.ProjectedVolumeSource": _FILE_MODE,
    "k8s.io/api/core/v1.RBDPersistentVolumeSource": _RBD,
    "k8s.io/api/core/v1.RBDVolumeSource": _RBD,
    "k8s.io/api/core/v1.ReplicationController": _replication_controller,
    "k8s.io/api/core/v1.ResourceList": _resource_list,
    "k8s.io/api/core/v1.ScaleIOPersistentVolumeSource": _SCALE_IO,
    "k8s.io/api/core/v1.ScaleIOVolumeSource": _SCALE_IO,
    "k8s.io/api/core/v1.Secret": {"type": "Opaque"},
    "k8s.io/api/core/v1.SecretVolumeSource": _FILE_MODE,
    "k8s.io/api/core/v1.Service": _service,
    "k8s.io/api/core/v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "k8s.io/api/core/v1.Volume": _volume,
    "k8s.io/api/discovery/v1.EndpointPort": _endpoint_port,
    "k8s.io/api/flowcontrol/v1.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "k8s.io/api/flowcontrol/v1.FlowSchemaSpec": lambda spec: _positive(spec, {"matchingPrecedence": 1000}),
    "k8s.io/api/flowcontrol/v1.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
    "k8s.io/api/flowcontrol/v1.QueuingConfiguration": lambda queuing: _positive(queuing, _QUEUING),
    "k8s.io/api/networking/v1.IngressClass": _ingress_class,
    "k8s.io/api/networking/v1.NetworkPolicy": _network_policy,
    "k8s.io/api/networking/v1.NetworkPolicyPort": _PROTOCOL,
    "k8s.io/api/rbac/v1.ClusterRoleBinding": _binding,
    "k8s.io/api/rbac/v1.RoleBinding": _binding,
    "k8s.io/api/rbac/v1.Subject": _subject,
    "k8s.io/api/resource/v1.DeviceSubRequest": _device_request,
    "k8s.io/api/resource/v1.DeviceToleration": {"operator": "Equal"},
    "k8s.io/api/resource/v1.ExactDeviceRequest": _device_request,
    "k8s.io/api/scheduling/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "k8s.io/api/storage/v1.CSIDriver": _csi_driver,
    "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1.ServiceReference": {"port": 443},
    "k8s.io/api/storage/v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}


def _positive(obj: Manifest, values: Mapping[str, int]) -> None:
    for key, value in values.items():
        if not obj.get(key):
            obj[key] = value


# How the tables are followed through an object


@cache
def _setter(written: str) -> Setter | None:
    """What sets the defaults in a value of a type, or None when there are none in it."""
    return _follow(written, frozenset())


def _follow(written: str, within: frozenset[str]) -> Setter | None:
    of = codec(written)
    while isinstance(of, Pointer):
        written, of = written.lstrip("*"), of.to
    own = _own(RULES.get(written))
    match of:
        case Struct() if written not in within:
            return _of_struct(own, _members(of, within | {written}))
        case Items():
            return _each(_follow(of.written, within), lambda value: value)
        case Entries():
            return own or _each(_follow(of.written, within), dict.values)
    return own


def _own(rule: Rule | None) -> Setter | None:
    if rule is None or callable(rule):
        return rule
    return lambda obj: _set(obj, rule)


def _members(of: Struct, within: frozenset[str]) -> list[tuple[str, Setter]]:
    found = ((name, _follow(member.written, within)) for name, member in of.members.items())
    return [(name, setter) for name, setter in found if setter is not None]


def _of_struct(own: Setter | None, members: list[tuple[str, Setter]]) -> Setter | None:
    if not members:
        return own

    def set_all(obj: Any) -> None:
        if own is not None:
            own(obj)
        for name, setter in members:
            value = obj.get(name)
            if value is not None:
                setter(value)

    return set_all


def _each(setter: Setter | None, values: Callable[[Any], Any]) -> Setter | None:
    if setter is None:
        return None

    def set_each(container: Any) -> None:
        for value in values(container):
            setter(value)

    return set_each
