"""Objects of our kinds to begin a test with, and one way to change a part of them."""

from copy import deepcopy
from typing import Any

from apis.meta import Manifest

API_VERSION = "copyhold.dev/v1alpha1"
CONFIG_MAP: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
GONE = object()
"""As a value of `changed`: take the field away."""


def gtr(name: str = "baseline", **spec: Any) -> Manifest:
    """A GlobalTenantResource with one group of one target."""
    return _object("GlobalTenantResource", name, {"resources": [{"targets": [CONFIG_MAP]}]} | spec)


def tr(name: str = "quota", namespace: str = "solar-dev", **spec: Any) -> Manifest:
    """A TenantResource with one group of one target."""
    return _object("TenantResource", name, {"resources": [{"targets": [CONFIG_MAP]}]} | spec, namespace)


def tenant(name: str = "solar", **spec: Any) -> Manifest:
    """A Tenant that says nothing but its name, unless told."""
    return _object("Tenant", name, spec)


def record(name: str = "baseline-0", **fields: Any) -> Manifest:
    """A TargetRecord without targets."""
    parent = {"kind": "GlobalTenantResource", "name": "baseline", "uid": "1-2-3"}
    content = {"parent": parent, "shard": 0, "count": 0, "digest": "sha256:0", "data": ""} | fields
    return {"apiVersion": API_VERSION, "kind": "TargetRecord", "metadata": {"name": name}, **content}


def changed(manifest: Manifest, *path: str | int, to: Any) -> Manifest:
    """A copy in which the field at `path` has another value; what is missing on the way is made."""
    copy = deepcopy(manifest)
    at: Any = copy
    for part in path[:-1]:
        at = at[part] if isinstance(part, int) else at.setdefault(part, {})
    if to is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return copy


def _object(kind: str, name: str, spec: Manifest, namespace: str = "") -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": deepcopy(spec)}
