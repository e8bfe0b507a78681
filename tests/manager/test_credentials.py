"""Who we are at a server: kubeconfigs in all their forms, Pods, renewal; and errors that say what to do."""

import asyncio
import base64
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apis.problems import Invalid, Problem, Unavailable
from manager import credentials
from manager.cluster import ApiCluster
from manager.credentials import PACE, REREAD, Kubeconfig, TokenFile, in_cluster, load, read
from manager.http import Client
from tests.realserver.access import Access

Files = Callable[..., str]


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate (`cert.pem`) with its key, an encrypted key, and a key that belongs to nothing."""
    folder = tmp_path_factory.mktemp("pems")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    openssl("req", "-x509", *curve, "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=me", "-days", "2")
    openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "other.pem")
    openssl("ec", "-in", "key.pem", "-aes256", "-passout", "pass:x", "-out", "locked.pem")
    return folder


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Files:
    """Write a kubeconfig with one context `c`; parts may be given."""

    def write(name: str = "config", *, user: Any = None, cluster: Any = None, **parts: Any) -> str:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": "https://k.example.org:6443"} | (cluster or {})}],
            "users": [{"name": "u", "user": user if user is not None else {"token": "t0ken"}}],
        }
        path = tmp_path / name
        path.write_text(json.dumps(config | parts))
        return str(path)

    return write


def plugin(tmp_path: Path, status: dict[str, Any], *, code: int = 0, say: str = "") -> dict[str, Any]:
    """An exec plugin that answers this status."""
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    script = tmp_path / "plugin.py"
    script.write_text(f"import sys\nprint({json.dumps(answer)!r})\nprint({say!r}, file=sys.stderr)\nsys.exit({code})\n")
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)]}}


def coded(path: Path) -> str:
    """A file as a kubeconfig embeds it."""
    return base64.b64encode(path.read_bytes()).decode()


# What a kubeconfig says.


def test_a_token_becomes_an_authorization(kubeconfig: Files) -> None:
    """Server, token, and nothing that was not said."""
    found = read(kubeconfig(), None)
    assert found == {
        "server": "https://k.example.org:6443",
        "server_name": None,
        "insecure": False,
        "ca": None,
        "certificate": None,
        "key": None,
        "authorization": "Bearer t0ken",
        "expires": None,
    }


def test_a_token_file_is_read_without_its_line_end(kubeconfig: Files, tmp_path: Path) -> None:
    """Its path is relative to the kubeconfig."""
    (tmp_path / "token").write_text("from-file\n")
    assert read(kubeconfig(user={"tokenFile": "token"}), None)["authorization"] == "Bearer from-file"


def test_a_password_becomes_basic_authorization(kubeconfig: Files) -> None:
    """As old clusters have it."""
    found = read(kubeconfig(user={"username": "a", "password": "b"}), None)
    assert found["authorization"] == "Basic " + base64.b64encode(b"a:b").decode()


@pytest.mark.parametrize("embedded", [True, False])
def test_certificates_come_as_data_or_as_files(kubeconfig: Files, tmp_path: Path, pems: Path, embedded: bool) -> None:
    """Either way their content is what counts."""
    cert, key = pems / "cert.pem", pems / "key.pem"
    if embedded:
        user = {"client-certificate-data": coded(cert), "client-key-data": coded(key)}
        cluster = {"certificate-authority-data": coded(cert)}
    else:
        user = {"client-certificate": str(cert), "client-key": os.path.relpath(key, tmp_path)}
        cluster = {"certificate-authority": str(cert)}
    found = read(kubeconfig(user=user, cluster=cluster), None)
    assert (found["certificate"], found["key"], found["ca"]) == (cert.read_text(), key.read_text(), cert.read_text())
    assert found["authorization"] is None


def test_how_to_check_the_server_is_taken_over(kubeconfig: Files) -> None:
    """Another name in the certificate, or no check at all."""
    found = read(kubeconfig(cluster={"tls-server-name": "inner", "insecure-skip-tls-verify": True}), None)
    assert (found["server_name"], found["insecure"]) == ("inner", True)


def test_an_exec_plugin_gives_a_token_with_an_end(kubeconfig: Files, tmp_path: Path) -> None:
    """The end comes as seconds since the epoch."""
    user = plugin(tmp_path, {"token": "made", "expirationTimestamp": "2030-01-01T00:00:00Z"})
    found = read(kubeconfig(user=user), None)
    assert (found["authorization"], found["expires"]) == ("Bearer made", 1893456000.0)


def test_an_exec_plugin_may_give_a_certificate(kubeconfig: Files, tmp_path: Path, pems: Path) -> None:
    """Instead of a token."""
    cert, key = (pems / "cert.pem").read_text(), (pems / "key.pem").read_text()
    found = read(kubeconfig(user=plugin(tmp_path, {"clientCertificateData": cert, "clientKeyData": key})), None)
    assert (found["certificate"], found["key"], found["authorization"]) == (cert, key, None)


def test_another_context_can_be_chosen(kubeconfig: Files) -> None:
    """By its name."""
    contexts = [{"name": name, "context": {"cluster": "k", "user": name}} for name in ("c", "d")]
    users = [{"name": name, "user": {"token": name}} for name in ("c", "d")]
    path = kubeconfig(contexts=contexts, users=users)
    assert read(path, "d")["authorization"] == "Bearer d"
    assert read(path, None)["authorization"] == "Bearer c"


def test_of_several_files_the_first_decides_as_with_kubectl(kubeconfig: Files, tmp_path: Path) -> None:
    """Files that are not there are passed over; the current context is that of the first that names one."""
    one = kubeconfig("one", user={"token": "one"})
    other = [{"name": "d", "context": {"cluster": "k", "user": "d"}}]
    two = kubeconfig("two", contexts=other, users=[{"name": "d", "user": {"token": "two"}}], **{"current-context": "d"})
    absent = str(tmp_path / "absent")
    assert read(f"{absent}:{one}:{two}", None)["authorization"] == "Bearer one"
    assert read(f"{absent}:{two}:{one}", None)["authorization"] == "Bearer two"
    assert read(f"{one}:{two}", "d")["authorization"] == "Bearer two"


@pytest.mark.parametrize(
    ("parts", "context", "kind", "words"),
    [
        pytest.param({"user": {"token": "t", "as": "root"}}, None, Invalid, "impersonation", id="impersonation"),
        pytest.param({"cluster": {"proxy-url": "http://p"}}, None, Invalid, "proxy-url", id="a proxy"),
        pytest.param({"current-context": ""}, None, Invalid, "--context", id="no current context"),
        pytest.param({"contexts": None}, "c", Invalid, "kubeconfig", id="no contexts"),
        pytest.param({}, "absent", Invalid, "absent", id="a context that is not there"),
        pytest.param({"clusters": []}, None, Invalid, "kubeconfig", id="a cluster that is not there"),
        pytest.param({"cluster": {"certificate-authority": "absent"}}, None, Invalid, "absent", id="a file that is not there"),
        pytest.param({"user": {"tokenFile": "absent"}}, None, Invalid, "absent", id="a token file that is not there"),
        pytest.param({"cluster": {"certificate-authority-data": "%"}}, None, Invalid, "kubeconfig", id="no base64"),
        pytest.param({"users": "text"}, None, Invalid, "kubeconfig", id="users that are a text"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(
    kubeconfig: Files, parts: dict[str, Any], context: str | None, kind: type[Problem], words: str
) -> None:
    """Each with a remedy or a place, none with a traceback or a secret."""
    with pytest.raises(kind, match=words) as caught:
        read(kubeconfig(**parts), context)
    assert "t0ken" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "just text", "a: [", "[]", "\x00"])
def test_a_file_that_is_no_kubeconfig_is_invalid(tmp_path: Path, text: str) -> None:
    """Whatever it is."""
    (tmp_path / "config").write_text(text)
    with pytest.raises(Invalid, match="config"):
        read(str(tmp_path / "config"), None)


def test_a_missing_kubeconfig_names_the_ways_out(tmp_path: Path) -> None:
    """Flag, variable, cluster."""
    with pytest.raises(Invalid, match="--kubeconfig or KUBECONFIG"):
        read(str(tmp_path / "absent"), None)


@pytest.mark.parametrize(("status", "code"), [({"token": "t"}, 1), ({}, 0)])
def test_an_exec_plugin_that_gives_nothing_is_named(
    kubeconfig: Files, tmp_path: Path, status: dict[str, Any], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It may work in a minute, so it is Unavailable; what it said is passed on."""
    with pytest.raises(Unavailable, match="exec plugin") as caught:
        read(kubeconfig(user=plugin(tmp_path, status, code=code, say="please log in")), None)
    assert sys.executable in str(caught.value)
    assert ("please log in" in caplog.text) is bool(code)


# The child process.


async def test_what_the_child_found_becomes_an_endpoint(kubeconfig: Files, pems: Path) -> None:
    """Address, prefix, TLS with our certificate, and the token."""
    cert, key = pems / "cert.pem", pems / "key.pem"
    path = kubeconfig(
        user={"token": "t0ken", "client-certificate-data": coded(cert), "client-key-data": coded(key)},
        cluster={
            "server": "https://k.example.org/k8s/c-1/",
            "certificate-authority-data": coded(cert),
            "tls-server-name": "inner",
        },
    )
    found = await load(path, "c")
    assert (found.host, found.port, found.prefix, found.server_name) == ("k.example.org", 443, "/k8s/c-1", "inner")
    assert found.tls is not None
    assert found.tls.verify_mode == ssl.CERT_REQUIRED
    assert len(found.tls.get_ca_certs()) == 1
    assert found.credentials.header() == "Authorization: Bearer t0ken\r\n"


async def test_the_childs_problems_are_ours(kubeconfig: Files, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Invalid and Unavailable come over the pipe, and what the plugin said reaches the user's terminal."""
    user = plugin(tmp_path, {}, code=1, say="please log in")
    with pytest.raises(Unavailable, match="exec plugin"):
        await load(kubeconfig(user=user))
    assert "please log in" in capfd.readouterr().err
    with pytest.raises(Invalid, match="KUBECONFIG"):
        await load(str(tmp_path / "absent"))


async def test_the_child_imports_nothing_from_the_working_directory(
    kubeconfig: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder named `kubernetes` beside the manifests must not be run with the user's credentials."""
    (tmp_path / "kubernetes").mkdir()
    (tmp_path / "kubernetes" / "__init__.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", kubeconfig())
    assert (await load()).host == "k.example.org"


@pytest.mark.parametrize("server", ["k.example.org:6443", "ftp://k", "https://", "https://k:port", ""])
async def test_an_address_that_is_none_is_invalid(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is tried."""

    async def found(paths: str, context: str | None) -> dict[str, Any]:
        return {"server": server}

    monkeypatch.setattr(credentials, "_ask_child", found)
    with pytest.raises(Invalid, match="kubeconfig"):
        await load("somewhere")


async def test_plain_http_has_no_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl proxy` and the embedded server, say."""

    async def found(paths: str, context: str | None) -> dict[str, Any]:
        return {"server": "http://[::1]:8001"}

    monkeypatch.setattr(credentials, "_ask_child", found)
    endpoint = await load("somewhere")
    assert (endpoint.host, endpoint.port, endpoint.tls, endpoint.credentials.header()) == ("::1", 8001, None, "")


async def test_a_real_server_is_reached_with_a_kubeconfig(server: Access, tmp_path: Path) -> None:
    """The whole way: file, child, TLS, request."""
    client = Client(await load(str(server.kubeconfig(tmp_path / "config"))))
    try:
        assert b"ok" in await ApiCluster(client).get_raw("/readyz")
    finally:
        await client.close()


# TLS.


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"ca": "nonsense"}, "certificate authority"),
        ({"certificate": "cert.pem", "key": "other.pem"}, "client certificate"),
        ({"certificate": "cert.pem", "key": "locked.pem"}, "client certificate"),
        ({"certificate": "cert.pem"}, "client certificate"),
        ({"certificate": "key.pem", "key": "key.pem"}, "client certificate"),
    ],
)
async def test_certificates_that_do_not_work_are_invalid(
    pems: Path, found: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An encrypted key must not make the process ask for a password."""
    answer = {key: (pems / name).read_text() if name.endswith(".pem") else name for key, name in found.items()}

    async def child(paths: str, context: str | None) -> dict[str, Any]:
        return {"server": "https://k", **answer}

    monkeypatch.setattr(credentials, "_ask_child", child)
    with pytest.raises(Invalid, match=words):
        await load("somewhere")


async def test_an_unchecked_server_is_only_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`insecure-skip-tls-verify` switches both checks off."""

    async def child(paths: str, context: str | None) -> dict[str, Any]:
        return {"server": "https://k", "insecure": True}

    monkeypatch.setattr(credentials, "_ask_child", child)
    tls = (await load("somewhere")).tls
    assert tls is not None
    assert (tls.check_hostname, tls.verify_mode) == (False, ssl.CERT_NONE)


# Renewal.


class Child:
    """Stands for the child process: gives one answer after the other."""

    def __init__(self, *answers: dict[str, Any] | Problem) -> None:
        self.answers = list(answers)
        self.runs = 0
        self.time = 1000.0
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, paths: str, context: str | None) -> dict[str, Any]:
        """The next answer; the last one stays."""
        self.runs += 1
        await self.gate.wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Problem):
            raise answer
        return answer

    def credentials(self, found: dict[str, Any]) -> Kubeconfig:
        """What a kubeconfig gave at first."""
        return Kubeconfig("config", None, None, found, now=lambda: self.time, clock=lambda: self.time)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    """In place of the process."""
    made = Child({"authorization": "Bearer new"})
    monkeypatch.setattr(credentials, "_ask_child", made.ask)
    return made


async def test_a_refused_token_is_read_again_and_many_refusals_share_one_run(child: Child) -> None:
    """Twenty-four connections get a 401 at once."""
    proof = child.credentials({"authorization": "Bearer old"})
    refused = proof.header()
    child.time += PACE
    assert all(await asyncio.gather(*(proof.renew(refused) for _ in range(24))))
    assert child.runs == 1
    assert proof.header() == "Authorization: Bearer new\r\n"
    assert await proof.renew(refused)
    assert child.runs == 1


async def test_a_revoked_token_does_not_start_a_process_for_each_request(child: Child) -> None:
    """At most one in ten seconds, and nobody is told to try again with the same."""
    child.answers = [{"authorization": "Bearer old"}]
    proof = child.credentials({"authorization": "Bearer old"})
    for _ in range(50):
        child.time += 1
        assert not await proof.renew(proof.header())
    assert child.runs == 5


async def test_credentials_near_their_end_are_renewed_while_they_still_hold(child: Child) -> None:
    """Nobody waits: the old ones are used until the new ones are there."""
    child.gate.clear()
    proof = child.credentials({"authorization": "Bearer old", "expires": child.time + 3600})
    child.time += 3600 - 61
    proof.header()
    assert child.runs == 0
    child.time += 2
    for _ in range(5):
        assert proof.header() == "Authorization: Bearer old\r\n"
        await asyncio.sleep(0)
    assert child.runs == 1
    child.gate.set()
    assert await proof.renew(None)
    assert proof.header() == "Authorization: Bearer new\r\n"
    assert child.runs == 1


async def test_expired_credentials_are_not_used(child: Child) -> None:
    """The request waits for new ones."""
    proof = child.credentials({"authorization": "Bearer old", "expires": child.time + 10})
    child.time += 10
    assert proof.header() is None
    await proof.renew(None)
    assert proof.header() == "Authorization: Bearer new\r\n"


async def test_a_failed_renewal_is_told_to_those_who_wait_and_tried_again_later(child: Child) -> None:
    """While the old token holds, a failure hurts nobody and starts no storm of processes."""
    child.answers = [Unavailable("the plugin is ill"), {"authorization": "Bearer new"}]
    proof = child.credentials({"authorization": "Bearer old", "expires": child.time + 100})
    child.time += 95
    proof.header()
    with pytest.raises(Unavailable, match="ill"):
        await proof.renew(None)
    await asyncio.sleep(0)
    assert proof.header() == "Authorization: Bearer old\r\n"
    assert child.runs == 1
    child.time += PACE
    assert proof.header() is None
    assert await proof.renew(None)


async def test_a_new_client_certificate_is_shown_from_then_on(child: Child, pems: Path) -> None:
    """It counts as something new to try, although no header changed."""
    new = {"certificate": (pems / "cert.pem").read_text(), "key": (pems / "key.pem").read_text()}
    child.answers = [new]
    tls = ssl.create_default_context()
    proof = Kubeconfig("config", None, tls, {"certificate": "old"}, now=lambda: child.time, clock=lambda: child.time)
    child.time += PACE
    assert await proof.renew("")
    child.time += PACE
    assert not await proof.renew("")


async def test_one_who_gives_up_does_not_stop_the_renewal_of_others(child: Child) -> None:
    """A request's deadline is its own."""
    child.gate.clear()
    proof = child.credentials({"authorization": "Bearer old"})
    child.time += PACE
    refused = proof.header()
    first, second = (asyncio.ensure_future(proof.renew(refused)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    child.gate.set()
    assert await second
    assert first.cancelled() or first.cancelling()


@pytest.mark.parametrize("token", ["a\r\nX-Evil: b", "ä", "a\x00"])
def test_a_token_that_no_header_may_have_is_invalid(child: Child, token: str) -> None:
    """It would become a header of its own."""
    with pytest.raises(Invalid) as caught:
        child.credentials({"authorization": f"Bearer {token}"})
    assert token not in str(caught.value)


# In a Pod.


@pytest.fixture
def account(tmp_path: Path, pems: Path) -> Path:
    """The files that a Pod finds."""
    (tmp_path / "ca.crt").write_text((pems / "cert.pem").read_text())
    (tmp_path / "token").write_text("one\n")
    return tmp_path


def test_a_pod_finds_its_server_and_token(account: Path) -> None:
    """Without a child process and without a kubeconfig."""
    found = in_cluster("10.0.0.1", 443, account)
    assert (found.host, found.port, found.credentials.header()) == ("10.0.0.1", 443, "Authorization: Bearer one\r\n")
    assert found.tls is not None
    assert len(found.tls.get_ca_certs()) == 1


async def test_a_pod_is_preferred_to_the_file_at_home_but_not_to_what_was_named(
    account: Path, kubeconfig: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flag and KUBECONFIG, then the Pod, then the file at home."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    monkeypatch.setattr(credentials, "ACCOUNT", account)
    asked: list[str] = []

    async def child(paths: str, context: str | None) -> dict[str, Any]:
        asked.append(paths)
        return {"server": "https://k"}

    monkeypatch.setattr(credentials, "_ask_child", child)
    monkeypatch.setattr(credentials, "in_cluster", lambda host, port: in_cluster(host, port, account))
    assert (await load()).host == "10.0.0.1"
    await load("named")
    await load(None, "context")
    monkeypatch.setenv("KUBECONFIG", "variable")
    await load()
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    await load()
    assert asked == ["named", "~/.kube/config", "variable", "~/.kube/config"]


async def test_a_rotated_token_is_seen_within_a_minute_or_at_a_refusal(account: Path) -> None:
    """The kubelet writes a new one long before the old one ends."""
    time = 0.0
    proof = TokenFile(account / "token", lambda: time)
    proof.header()
    (account / "token").write_text("two")
    time = REREAD - 1
    assert proof.header() == "Authorization: Bearer one\r\n"
    time = REREAD
    assert proof.header() == "Authorization: Bearer two\r\n"
    (account / "token").write_text("three")
    assert await proof.renew("Authorization: Bearer two\r\n")
    assert proof.header() == "Authorization: Bearer three\r\n"
    assert not await proof.renew("Authorization: Bearer three\r\n")


def test_trouble_with_the_token_file_does_not_take_a_token_that_works(account: Path) -> None:
    """Only without any token it is a problem."""
    time = 0.0
    proof = TokenFile(account / "token", lambda: time)
    proof.header()
    (account / "token").unlink()
    time = REREAD
    assert proof.header() == "Authorization: Bearer one\r\n"
    with pytest.raises(Unavailable, match="token"):
        TokenFile(account / "token").header()


def test_a_pod_without_an_account_is_told_what_to_do(tmp_path: Path) -> None:
    """The message names the remedy."""
    with pytest.raises(Invalid, match="mount a ServiceAccount token"):
        in_cluster("10.0.0.1", 443, tmp_path)
