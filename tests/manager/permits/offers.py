"""Permit templates for tests: sound ones, of both kinds, with what a test wants otherwise."""

from typing import Any

from apis.copyhold.globalresourcepermittemplate import KIND as GLOBAL
from apis.copyhold.resourcepermittemplate import KIND as LOCAL
from apis.meta import Manifest

TARGET = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "{{ request.name }}"},
    "data": {"user": "{{ params.user }}"},
}
SCHEMA = {
    "type": "object",
    "required": ["user"],
    "properties": {"user": {"type": "string", "pattern": "^[a-z]+$"}},
}


def local(**spec: Any) -> Manifest:
    """A ResourcePermitTemplate of the namespace `prod`."""
    return {
        "apiVersion": LOCAL.api_version,
        "kind": LOCAL.kind,
        "metadata": {"name": "reader", "namespace": "prod", "uid": "t-1", "generation": 3, "resourceVersion": "7"},
        "spec": {
            "paramSchema": SCHEMA,
            "approvals": {"approvers": [{"kind": "Group", "name": "sre"}]},
            "resources": [{"targets": [TARGET]}],
            **spec,
        },
    }


def everywhere(**spec: Any) -> Manifest:
    """A GlobalResourcePermitTemplate."""
    made = local(**spec)
    made |= {"kind": GLOBAL.kind, "metadata": {**made["metadata"], "uid": "t-2"}}
    del made["metadata"]["namespace"]
    return made


def ready(template: Manifest, *namespaces: str) -> Manifest:
    """The template as the manager left it, Ready in its generation; a global one with these namespaces."""
    generation = template["metadata"]["generation"]
    condition = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "reconciled"}
    status: Manifest = {"observedGeneration": generation, "conditions": [condition]}
    if template["kind"] == GLOBAL.kind:
        status["namespaces"] = list(namespaces)
    return template | {"status": status}
