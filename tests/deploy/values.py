"""Values with which the chart is tried."""

from tests.support.helm import Manifest

WIDGETS = [{"apiGroup": "example.com", "resources": ["widgets"]}]

LEAST: Manifest = {
    "replicas": 1,
    "defaultServiceAccount": {"create": False},
    "watch": {"secrets": False},
    "permits": {"kinds": [], "bind": False, "roles": {"requester": [], "templateAuthor": []}},
    "crds": {"install": False},
    "uninstall": {"enabled": False},
    "priorityClass": {"create": False, "name": ""},
    "podDisruptionBudget": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "flowSchema": {"enabled": False},
}
"""Everything that can be left out."""

EVERYTHING: Manifest = {
    "image": {"repository": "registry.example/copyhold", "digest": f"sha256:{'a' * 64}", "pullSecrets": [{"name": "registry"}]},
    "replicas": 3,
    "defaultServiceAccount": {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch", "create"]}]},
    "allowServiceAccounts": ["kube-system/replicator", "elsewhere/other"],
    "watch": {"kinds": WIDGETS},
    "permits": {
        "kinds": [{"apiGroup": "rbac.authorization.k8s.io", "resources": ["rolebindings"]}, *WIDGETS],
        "roles": {"requester": ["view", "edit"], "reviewer": ["admin"], "templateAuthor": []},
    },
    "admission": {"certManager": {"enabled": True}},
    "uninstall": {"targets": "remove", "timeout": 60},
    "log": {"level": "debug"},
    "extraArgs": ["--workers=8"],
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "networkPolicy": {"apiServerPorts": [443]},
    "podDisruptionBudget": {"minAvailable": "50%"},
    "flowSchema": {"permitAccounts": ["platform/permit-runner"]},
    "podLabels": {"team": "platform"},
    "podAnnotations": {"note": "x"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "manager"}},
        }
    ],
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
}
"""Everything that can be switched on or changed."""

SETS: dict[str, Manifest] = {"nothing given": {}, "least": LEAST, "everything": EVERYTHING}
