"""The facts of the built-in kinds, one row each; what is not here has none."""

from manager.embedded.kinds import (
    accounts,
    apiservices,
    claim_checks,
    claims,
    configmaps,
    endpoint_checks,
    event_checks,
    job_checks,
    jobs,
    names,
    namespaces,
    network_checks,
    node_checks,
    nodes,
    pod_checks,
    pods,
    quota_checks,
    rbac_checks,
    scaling_checks,
    secrets,
    server_checks,
    service_checks,
    services,
    storage_checks,
    workload_checks,
    workloads,
)
from manager.embedded.kinds.kind import ALL_METADATA, Kind, unchecked

_SPEC = ("spec",)
_EVENT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


KINDS: dict[str, Kind] = {
    # Core
    "configmaps": Kind(check=configmaps.check, check_update=configmaps.check_update),
    "endpoints": Kind(check=endpoint_checks.endpoints, create_on_update=True),
    "events": Kind(
        check=event_checks.core_event,
        create_on_update=True,
        selectable=(*(f"involvedObject.{each}" for each in _EVENT), "reason", "reportingComponent", "source", "type"),
    ),
    "limitranges": Kind(create_on_update=True, check=quota_checks.limit_range),
    "namespaces": Kind(
        status=True,
        name=names.label,
        make=namespaces.make,
        mend=namespaces.mend,
        check=namespaces.check,
        check_update=unchecked,
        selectable=("status.phase",),
        reset={"finalize": {"f:status": {}}},
    ),
    "nodes": Kind(
        check=node_checks.node,
        check_update=node_checks.node_update,
        make=nodes.make,
        status=True,
        status_at_once=True,
        selectable=("spec.unschedulable",),
    ),
    "persistentvolumeclaims": Kind(
        status=True,
        make=claims.make_claim,
        mend=claims.mend_claim,
        check=claim_checks.claim,
        check_update=claim_checks.claim_update,
    ),
    "persistentvolumes": Kind(
        check=storage_checks.volume, check_update=storage_checks.volume_update, status=True, make=claims.make_volume
    ),
    "pods": Kind(
        counted=_SPEC,
        status=True,
        status_leaves=("deletionTimestamp", "ownerReferences"),
        make=pods.make,
        mend=pods.mend,
        mend_status=pods.mend_status,
        check=pod_checks.pod,
        check_update=pod_checks.pod_update,
        selectable=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ),
    ),
    "podtemplates": Kind(counted=("template",), check=workload_checks.pod_template),
    "replicationcontrollers": Kind(
        counted=_SPEC,
        status=True,
        check=workload_checks.replication_controller,
        selectable=("status.replicas",),
    ),
    "resourcequotas": Kind(status=True, check=quota_checks.quota, check_update=quota_checks.quota_update),
    "secrets": Kind(mend=secrets.mend, check=secrets.check, check_update=secrets.check_update, selectable=("type",)),
    "events.events.k8s.io": Kind(check=event_checks.new_event, create_on_update=True),
    "serviceaccounts": Kind(make=accounts.make, mend=accounts.mend),
    "services": Kind(
        status=True,
        create_on_update=True,
        make=services.make,
        mend=services.mend,
        check=service_checks.service,
        check_update=service_checks.service_update,
        name=names.label,
        selectable=("spec.clusterIP", "spec.type"),
    ),
    # Workloads
    "controllerrevisions.apps": Kind(
        check=server_checks.controller_revision, check_update=server_checks.controller_revision_update
    ),
    "daemonsets.apps": Kind(
        counted=_SPEC,
        status=True,
        make=workloads.make_daemon_set,
        mend=workloads.mend_daemon_set,
        check=workload_checks.daemon_set,
        check_update=workload_checks.daemon_set_update,
    ),
    "deployments.apps": Kind(
        counted=("spec", "metadata.annotations"),
        status=True,
        status_leaves=("labels",),
        check=workload_checks.deployment,
        check_update=workload_checks.deployment_update,
    ),
    "replicasets.apps": Kind(
        counted=_SPEC,
        status=True,
        check=workload_checks.replica_set,
        check_update=workload_checks.replica_set_update,
        selectable=("status.replicas",),
    ),
    "statefulsets.apps": Kind(
        counted=_SPEC,
        status=True,
        check=workload_checks.stateful_set,
        check_update=workload_checks.stateful_set_update,
    ),
    "jobs.batch": Kind(
        counted=_SPEC,
        status=True,
        make=jobs.make,
        check=job_checks.job,
        check_update=job_checks.job_update,
        selectable=("status.successful",),
    ),
    "cronjobs.batch": Kind(counted=_SPEC, status=True, check=job_checks.cron_job, check_update=job_checks.cron_job_update),
    "horizontalpodautoscalers.autoscaling": Kind(status=True, check=scaling_checks.autoscaler),
    "poddisruptionbudgets.policy": Kind(
        counted=_SPEC,
        status=True,
        unconditional=False,
        check=scaling_checks.disruption_budget,
    ),
    # Network
    "ingresses.networking.k8s.io": Kind(
        counted=_SPEC, status=True, check=network_checks.ingress, check_update=network_checks.ingress_update
    ),
    "ingressclasses.networking.k8s.io": Kind(
        counted=_SPEC, check=network_checks.ingress_class, check_update=network_checks.ingress_class_update
    ),
    "ipaddresses.networking.k8s.io": Kind(name=names.anything, check=server_checks.ip_address),
    "networkpolicies.networking.k8s.io": Kind(counted=_SPEC, check=network_checks.network_policy),
    "servicecidrs.networking.k8s.io": Kind(check=server_checks.service_cidr, status=True),
    "endpointslices.discovery.k8s.io": Kind(
        check=endpoint_checks.endpoint_slice, check_update=endpoint_checks.endpoint_slice_update, counted=("", "metadata.labels")
    ),
    # Rights
    "roles.rbac.authorization.k8s.io": Kind(create_on_update=True, name=names.path_segment, check=rbac_checks.role),
    "rolebindings.rbac.authorization.k8s.io": Kind(
        create_on_update=True,
        name=names.path_segment,
        check=rbac_checks.role_binding,
        check_update=rbac_checks.role_binding_update,
    ),
    "clusterroles.rbac.authorization.k8s.io": Kind(
        create_on_update=True,
        name=names.path_segment,
        check=rbac_checks.cluster_role,
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": Kind(
        create_on_update=True,
        name=names.path_segment,
        check=rbac_checks.cluster_role_binding,
        check_update=rbac_checks.cluster_role_binding_update,
    ),
    "certificatesigningrequests.certificates.k8s.io": Kind(
        status=True,
        selectable=("spec.signerName",),
        reset={
            "": {"f:spec": {}, "f:status": {}},
            "status": {"f:spec": {}, "f:status": {"f:conditions": {}}},
            "approval": {"f:spec": {}, "f:status": {"f:certificate": {}}},
        },
    ),
    # Admission and the server itself
    "mutatingadmissionpolicies.admissionregistration.k8s.io": Kind(counted=_SPEC, unconditional=False),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": Kind(counted=_SPEC, unconditional=False),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Kind(
        check=server_checks.webhooks, counted=("webhooks",), unconditional=False
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": Kind(
        counted=_SPEC, status=True, status_leaves=ALL_METADATA, unconditional=False
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": Kind(counted=_SPEC, unconditional=False),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Kind(
        check=server_checks.webhooks, counted=("webhooks",), unconditional=False
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Kind(
        counted=_SPEC, status=True, status_leaves=ALL_METADATA, unconditional=False
    ),
    "apiservices.apiregistration.k8s.io": Kind(
        name=names.path_segment,
        check=server_checks.api_service,
        status=True,
        status_leaves=ALL_METADATA,
        unconditional=False,
        make=apiservices.make,
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": Kind(
        check=server_checks.flow_schema, counted=_SPEC, status=True, status_leaves=ALL_METADATA
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": Kind(
        check=server_checks.priority_level, counted=_SPEC, status=True, status_leaves=ALL_METADATA
    ),
    "leases.coordination.k8s.io": Kind(create_on_update=True, unconditional=False, check=scaling_checks.lease),
    # Scheduling, storage, devices
    "priorityclasses.scheduling.k8s.io": Kind(
        counted=("value",), check=scaling_checks.priority_class, check_update=scaling_checks.priority_class_update
    ),
    "runtimeclasses.node.k8s.io": Kind(
        check=node_checks.runtime_class, check_update=node_checks.runtime_class_update, create_on_update=True, unconditional=False
    ),
    "csidrivers.storage.k8s.io": Kind(check=storage_checks.csi_driver, counted=_SPEC, generation=0, unconditional=False),
    "csinodes.storage.k8s.io": Kind(check=storage_checks.csi_node, unconditional=False),
    "csistoragecapacities.storage.k8s.io": Kind(check=storage_checks.storage_capacity, unconditional=False),
    "storageclasses.storage.k8s.io": Kind(check=storage_checks.storage_class, check_update=storage_checks.storage_class_update),
    "volumeattachments.storage.k8s.io": Kind(
        check=storage_checks.attachment, check_update=storage_checks.attachment_update, status=True, unconditional=False
    ),
    "volumeattributesclasses.storage.k8s.io": Kind(
        check=storage_checks.attributes_class, check_update=storage_checks.attributes_class_update
    ),
    "deviceclasses.resource.k8s.io": Kind(counted=_SPEC),
    "resourceclaims.resource.k8s.io": Kind(status=True, status_leaves=ALL_METADATA),
    "resourceclaimtemplates.resource.k8s.io": Kind(),
    "resourceslices.resource.k8s.io": Kind(counted=_SPEC, selectable=("spec.driver", "spec.nodeName")),
}
"""By the name that objects are kept under: `deployments.apps`."""
