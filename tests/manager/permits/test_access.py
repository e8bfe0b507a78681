"""Who sends the requests of a command, and which namespace it means."""

import json
from pathlib import Path

import pytest

from apis.problems import Invalid
from manager.credentials import in_cluster, load
from manager.embedded.tls import new_authority
from manager.endpoint import As, Bearer
from manager.permits.options import Access

CONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "x"}}],
}


class Renewing:
    """Credentials that remember what was refused; without lines until they were renewed."""

    def __init__(self) -> None:
        self.refused: list[str | None] = []

    def header(self) -> str | None:
        """No lines before the first renewal."""
        return "Authorization: x\r\n" if self.refused else None

    async def renew(self, refused: str | None) -> bool:
        """Note it."""
        self.refused.append(refused)
        return True


def test_somebody_else_is_named_beside_our_own_credentials() -> None:
    """As `kubectl --as` does."""
    acting = As(Bearer("t0ken"), "bob", ("sre", "system:authenticated"))
    assert acting.header() == (
        "Authorization: Bearer t0ken\r\n"
        "Impersonate-User: bob\r\n"
        "Impersonate-Group: sre\r\n"
        "Impersonate-Group: system:authenticated\r\n"
    )
    assert "t0ken" not in repr(acting)


async def test_credentials_are_renewed_under_another_name_too() -> None:
    """They hear of their own lines only."""
    own = Renewing()
    acting = As(own, "bob")
    assert acting.header() is None
    assert await acting.renew(None)
    assert await acting.renew(acting.header())
    assert own.refused == [None, "Authorization: x\r\n"]


@pytest.mark.parametrize("name", ["", "bob\r\nX-Evil: 1", "b\u00f6b"])
def test_a_name_that_is_no_header_is_refused(name: str) -> None:
    """Nothing is spliced into a request; neither as a user nor as a group."""
    with pytest.raises(Invalid, match="give another --as or --as-group"):
        As(Bearer("x"), name)
    with pytest.raises(Invalid, match="cannot be written into a header"):
        As(Bearer("x"), "bob", (name,))


@pytest.mark.parametrize(
    ("option", "context", "meant"),
    [
        pytest.param("", None, "default", id="nothing said"),
        pytest.param("", "solar-prod", "solar-prod", id="by the context"),
        pytest.param("solar-dev", "solar-prod", "solar-dev", id="by the option"),
    ],
)
async def test_the_namespace_is_the_one_that_kubectl_means(tmp_path: Path, option: str, context: str | None, meant: str) -> None:
    """The option, else that of the context, else `default`."""
    home = {"cluster": "k", "user": "u"} | ({"namespace": context} if context else {})
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG | {"contexts": [{"name": "c", "context": home}]}))
    assert (await load(str(path))).namespace == (context or "")
    async with Access(str(path), None, "bob", (), option).connect() as connection:
        assert connection.namespace == meant
        header = connection.cluster.client.endpoint.credentials.header() or ""
        assert header.endswith("Impersonate-User: bob\r\n")


async def test_an_empty_name_is_not_taken_for_none(tmp_path: Path) -> None:
    """`--as "$NOBODY"` must not act with all that we may do ourselves."""
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG))
    with pytest.raises(Invalid, match="give another --as"):
        async with Access(str(path), None, "", (), "").connect():
            raise AssertionError("it should not have come here")


@pytest.mark.parametrize("namespace", ["tools\n", None])
def test_in_a_pod_its_own_namespace_is_meant(tmp_path: Path, namespace: str | None) -> None:
    """As the kubelet writes it; not every account is mounted with one."""
    (tmp_path / "ca.crt").write_text(new_authority().certificate)
    (tmp_path / "token").write_text("x")
    if namespace is not None:
        (tmp_path / "namespace").write_text(namespace)
    assert in_cluster("10.0.0.1", 443, tmp_path).namespace == (namespace or "").strip()
