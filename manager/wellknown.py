"""The kinds that every Kubernetes API server has, for work without one: where their objects live, and nothing else."""

from collections.abc import Iterator

from apis.kind import kinds
from apis.meta import split_api_version
from manager.world import Resource

VERBS = frozenset({"create", "delete", "get", "list", "patch", "update", "watch"})
"""What every kind of this table can do; kinds that cannot be got, patched and deleted are left out."""

# Version: namespaced kinds | cluster-scoped kinds. The first version of a group that has a kind is its preferred one.
_TABLE = """
v1: ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service\
 ServiceAccount | Namespace Node PersistentVolume
admissionregistration.k8s.io/v1: | MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration\
 ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
apiextensions.k8s.io/v1: | CustomResourceDefinition
apiregistration.k8s.io/v1: | APIService
apps/v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet |
autoscaling/v2: HorizontalPodAutoscaler |
autoscaling/v1: HorizontalPodAutoscaler |
batch/v1: CronJob Job |
certificates.k8s.io/v1: | CertificateSigningRequest
coordination.k8s.io/v1: Lease |
discovery.k8s.io/v1: EndpointSlice |
events.k8s.io/v1: Event |
flowcontrol.apiserver.k8s.io/v1: | FlowSchema PriorityLevelConfiguration
networking.k8s.io/v1: Ingress NetworkPolicy | IPAddress IngressClass ServiceCIDR
node.k8s.io/v1: | RuntimeClass
policy/v1: PodDisruptionBudget |
rbac.authorization.k8s.io/v1: Role RoleBinding | ClusterRole ClusterRoleBinding
resource.k8s.io/v1: ResourceClaim ResourceClaimTemplate | DeviceClass ResourceSlice
scheduling.k8s.io/v1: | PriorityClass
storage.k8s.io/v1: CSIStorageCapacity | CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass
"""


def well_known() -> tuple[Resource, ...]:
    """Kubernetes' own kinds, then ours."""
    ours = (Resource(kind.group, kind.version, kind.kind, kind.plural, kind.namespaced, VERBS) for kind in kinds())
    return (*_kubernetes(), *ours)


def _kubernetes() -> Iterator[Resource]:
    for line in _TABLE.strip().splitlines():
        api_version, _, words = line.partition(":")
        group, version = split_api_version(api_version)
        namespaced, _, cluster = words.partition("|")
        for text, scoped in ((namespaced, True), (cluster, False)):
            for kind in text.split():
                yield Resource(group, version, kind, plural(kind), scoped, VERBS)


def plural(kind: str) -> str:
    """The plural that Kubernetes' own kinds follow: `NetworkPolicy` -> `networkpolicies`. A CRD states its own."""
    word = kind.lower()
    if word == "endpoints":
        return word
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"
