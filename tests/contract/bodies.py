"""One manifest, without a name, of every kind whose shape is of interest: structs in structs, lists of every type, unions."""

from collections.abc import Iterator

from hypothesis import strategies as st

from tests.contract.sequences import APPLY, CREATE, MERGE, Kind, Step
from tests.support.api import Manifest

NAMESPACED: tuple[Manifest, ...] = (
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "a",
                    "env": [
                        {"name": "A", "value": "1"},
                        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    ],
                    "envFrom": [{"configMapRef": {"name": "a"}}],
                    "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
                    "readinessProbe": {"httpGet": {"port": 80}},
                    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
                    "volumeMounts": [{"name": "a", "mountPath": "/a"}],
                    "securityContext": {"capabilities": {"drop": ["ALL"]}},
                }
            ],
            "initContainers": [{"name": "init", "image": "a"}],
            "volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "b", "projected": {"sources": [{"secret": {"name": "a"}}]}},
                {"name": "c", "configMap": {"name": "a", "items": [{"key": "a", "path": "a"}]}},
            ],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}],
            "imagePullSecrets": [{"name": "a"}],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
            "serviceAccountName": "default",
        },
    },
    {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {
            "serviceName": "a",
            "selector": {"matchLabels": {"app": "subject"}},
            "template": {"metadata": {"labels": {"app": "subject"}}, "spec": {"containers": [{"name": "main", "image": "a"}]}},
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "a"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
        },
    },
    {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]}}}
            },
        },
    },
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]}},
        },
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"a": "1"}}}], "ports": [{"port": 80}]}],
        },
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "spec": {
            "rules": [
                {
                    "host": "a.example",
                    "http": {
                        "paths": [
                            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}
                        ]
                    },
                }
            ],
            "tls": [{"hosts": ["a.example"], "secretName": "a"}],
        },
    },
    {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "spec": {"hard": {"pods": "10", "requests.cpu": "1000m"}, "scopes": ["NotTerminating"]},
    },
    {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m"}, "max": {"memory": "1024Mi"}}]},
    },
    {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "secrets": [{"name": "a"}],
        "imagePullSecrets": [{"name": "b"}],
        "automountServiceAccountToken": False,
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}, {"kind": "User", "name": "c"}],
    },
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "spec": {"minAvailable": "50%", "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}},
    },
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "maxReplicas": 3,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
            ],
            "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}},
        },
    },
    {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "a", "leaseDurationSeconds": 4}},
    {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "subsets": [{"addresses": [{"ip": "10.1.0.1"}], "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}],
    },
    {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "a", "port": 80}],
    },
    {"apiVersion": "v1", "kind": "Service", "spec": {"type": "ExternalName", "externalName": "a.example"}},
    {
        "apiVersion": "v1",
        "kind": "Service",
        "spec": {"type": "NodePort", "ports": [{"port": 80}], "selector": {"a": "1"}},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "spec": {
            "selector": {"matchLabels": {"a": "1"}},
            "template": {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "main", "image": "a"}]}},
        },
    },
    {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "template": {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "main", "image": "a"}]}},
    },
    {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "spec": {
            "selector": {"a": "1"},
            "template": {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "main", "image": "a"}]}},
        },
    },
)

CLUSTER_SCOPED: tuple[Manifest, ...] = (
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    },
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "a.example/b", "parameters": {"a": "1"}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5, "description": "a"},
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/a"},
            "storageClassName": "a",
        },
    },
    {"apiVersion": "v1", "kind": "Node", "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": ["a.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
                ]
            },
            "validations": [{"expression": "true"}],
            "variables": [{"name": "a", "expression": "1"}],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": "a", "validationActions": ["Deny"]},
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "webhooks": [
            {
                "name": "a.b.example",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "a", "namespace": "b"}},
                "rules": [{"apiGroups": ["a.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}],
            }
        ],
    },
)

BODIES = (*NAMESPACED, *CLUSTER_SCOPED)


def kind_of(body: Manifest) -> Kind:
    """The kind of a body."""
    cluster = any(body is each for each in CLUSTER_SCOPED)
    return Kind(body["apiVersion"], body["kind"], st.nothing(), (), st.nothing(), status=st.nothing(), namespaced=not cluster)


def rounds(body: Manifest) -> Iterator[tuple[Step, ...]]:
    """Made by a create and by an apply; then applied by another, patched, taken by force, and applied with less."""
    content = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    labelled = content | {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "1"}}}
    for first in (CREATE, APPLY):
        yield (
            Step(first, "one", labelled),
            Step(APPLY, "two", labelled),
            Step(MERGE, "three", {"metadata": {"labels": {"a": "2"}}}),
            Step(APPLY, "two", {"metadata": {"labels": {"a": "3"}}}, force=True),
            Step(APPLY, "one", content),
        )
