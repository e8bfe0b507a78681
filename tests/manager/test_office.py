"""Admission in one process: whoever relies on it hears in time that an API server does not ask."""

import pytest

from apis.problems import Unavailable
from manager import office
from manager.cluster import ApiCluster
from manager.editor import Editor
from manager.http import Client
from tests.realserver.access import Access
from tests.support.running import endpoint


@pytest.mark.usefixtures("crds", "policies")
async def test_a_server_that_does_not_ask_is_told_with_the_remedy(
    server: Access, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is registered for this namespace: a permit in it would be made, and nobody could prove who asked for it."""
    monkeypatch.setattr(office, "PATIENCE", 0.2)
    client = Client(endpoint(server))
    try:
        with pytest.raises(Unavailable, match=r"does not reach our admission .*name an address .* with --admission-url"):
            await office.in_force(Editor(ApiCluster(client)), namespace)
    finally:
        await client.close()
