"""The code under test's own way to a real server."""

from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.http import Client
from tests.realserver.access import Access


def connect(server: Access, *, timeout: float = 30.0) -> ApiCluster:
    """A cluster over connections of its own, as the administrator; whoever opens it closes its `client`."""
    return ApiCluster(Client(endpoint(server.url, server.ca.read_text(), server.token)), timeout=timeout)
