"""Where a command runs: on the cluster of a kubeconfig, or on an embedded one that is made for it."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from manager.credentials import load
from manager.endpoint import Bearer, Endpoint


@asynccontextmanager
async def connected(kubeconfig: str | None, context: str | None) -> AsyncIterator[Endpoint]:
    """The server of a kubeconfig when one (or a context) is named, else an embedded one that ends with the block."""
    if kubeconfig is not None or context is not None:
        yield await load(kubeconfig, context)
        return
    from manager.embedded.cluster import Embedded

    async with Embedded() as cluster:
        yield endpoint(cluster.url, cluster.ca, cluster.token)


def endpoint(url: str, ca: str, token: str) -> Endpoint:
    """How to speak to a server at `url` whose certificate is signed by `ca` (PEM), with a bearer token."""
    where = urlsplit(url)
    return Endpoint(where.hostname or "", where.port or 443, ssl.create_default_context(cadata=ca), credentials=Bearer(token))
