"""What a new cluster holds: the system namespaces, the default roles, the service of the API server itself."""

from collections.abc import Iterator
from dataclasses import replace

from apis.meta import Manifest
from manager.embedded import openapi
from manager.embedded.attributes import MASTERS, User
from manager.embedded.server import ApiServer
from manager.embedded.target import Options, Target

SERVER = User("system:apiserver", groups=(MASTERS,))
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def bootstrap(server: ApiServer, port: int) -> None:
    """Create what is not there. Roles that an administrator changed stay as they are."""
    options = Options(SERVER, manager="kube-apiserver")
    for manifest in _objects(port):
        group, _, version = manifest["apiVersion"].rpartition("/")
        served = server.registry.of_kind(group, version, manifest["kind"])
        if served is None:  # a kind that the data names and discovery does not
            continue
        metadata = manifest["metadata"]
        target = Target(served, metadata.get("namespace", ""))
        if server.store.get(replace(target, name=metadata["name"]).key) is None:
            server.verbs.create(target, manifest, options)


def _objects(port: int) -> Iterator[Manifest]:
    for name in NAMESPACES:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    # Namespaces come first: others are in them.
    yield from openapi.bootstrap()
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.0.0.1",
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }
