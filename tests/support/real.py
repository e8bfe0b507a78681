"""The code under test's own way to a real server."""

import ssl
from urllib.parse import urlsplit

from manager.cluster import ApiCluster
from manager.endpoint import Bearer, Endpoint
from manager.http import Client
from tests.realserver.access import Access


def connect(server: Access, *, timeout: float = 30.0) -> ApiCluster:
    """A cluster over connections of its own, as the administrator; whoever opens it closes its `client`."""
    url = urlsplit(server.url)
    trust = ssl.create_default_context(cafile=str(server.ca))
    endpoint = Endpoint(url.hostname or "", url.port or 443, tls=trust, credentials=Bearer(server.token))
    return ApiCluster(Client(endpoint), timeout=timeout)
