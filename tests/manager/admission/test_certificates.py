"""Certificates of the admission server: when they are renewed, where they are kept, and what a client sees of it."""

import asyncio
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvloop
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from apis.problems import Invalid
from manager.admission.certificates import (
    CA_LIFETIME,
    CA_RENEWED,
    LIFETIME,
    NAME,
    RENEWED,
    Certificates,
    Files,
    Held,
    Own,
    Shared,
    renewed,
)
from manager.admission.server import Server
from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.http import Client
from manager.pki import authority, issued
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, ref

HOSTS = ("copyhold.system.svc", "127.0.0.1")
START = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FIRST = renewed(None, HOSTS, START)


def leaf(held: Held) -> x509.Certificate:
    """The certificate that is shown."""
    return x509.load_pem_x509_certificates(held.chain.encode())[0]


def cas(held: Held) -> list[x509.Certificate]:
    """The CAs that are trusted."""
    return x509.load_pem_x509_certificates(held.bundle.encode())


def signed_by(held: Held) -> x509.Certificate:
    """The CA of the bundle that signed what is shown."""
    return next(ca for ca in cas(held) if ca.subject == leaf(held).issuer)


# When they are renewed


def test_what_is_made_first_is_a_ca_and_a_certificate_of_it() -> None:
    """For the names that it is asked by, and good from before now, since clocks differ."""
    assert leaf(FIRST).not_valid_before_utc == START - DAY
    assert leaf(FIRST).not_valid_after_utc == START + LIFETIME
    assert cas(FIRST)[0].not_valid_after_utc == START + CA_LIFETIME
    names = leaf(FIRST).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["copyhold.system.svc"]
    leaf(FIRST).verify_directly_issued_by(cas(FIRST)[0])


def test_nothing_is_renewed_before_it_is_due() -> None:
    """The very same value, so that nothing is written."""
    for after in (timedelta(), 30 * DAY, LIFETIME - RENEWED - timedelta(seconds=1)):
        assert renewed(FIRST, HOSTS, START + after) is FIRST


def test_a_serving_certificate_is_renewed_by_the_same_ca() -> None:
    """After 60 days of 90, with a new key."""
    later = renewed(FIRST, HOSTS, START + LIFETIME - RENEWED)
    assert (later.bundle, later.ca_key) == (FIRST.bundle, FIRST.ca_key)
    assert leaf(later).not_valid_after_utc == START + LIFETIME - RENEWED + LIFETIME
    assert later.key != FIRST.key


def test_a_ca_gets_its_successor_a_year_before_its_end() -> None:
    """Both are trusted then; the new one signs from the day after, when everybody has it."""
    now = START + CA_LIFETIME - CA_RENEWED
    before = renewed(FIRST, HOSTS, now - RENEWED)
    both = renewed(before, HOSTS, now)
    assert cas(both)[1:] == cas(FIRST)
    assert both.ca_key != FIRST.ca_key
    assert both.chain == before.chain
    assert renewed(both, HOSTS, now + DAY / 2) is both
    after = renewed(both, HOSTS, leaf(both).not_valid_after_utc - RENEWED)
    assert signed_by(after) == cas(both)[0]
    end = renewed(after, HOSTS, START + CA_LIFETIME + DAY)
    assert cas(end) == cas(both)[:1]


def test_a_new_ca_signs_nothing_in_its_first_day() -> None:
    """What is due in the same moment is signed by the old one, and what is due soon after waits."""
    now = START + CA_LIFETIME - CA_RENEWED
    due = renewed(renewed(FIRST, HOSTS, now - (LIFETIME - RENEWED)), HOSTS, now)
    assert len(cas(due)) == 2
    assert leaf(due).not_valid_before_utc == now - DAY
    assert signed_by(due) == cas(FIRST)[0]
    soon = renewed(renewed(FIRST, HOSTS, now - (LIFETIME - RENEWED) + DAY / 2), HOSTS, now)
    assert renewed(soon, HOSTS, now + DAY / 2) is soon
    assert signed_by(renewed(soon, HOSTS, now + DAY)) == cas(soon)[0]


def test_other_names_need_another_certificate() -> None:
    """A Service that was renamed is served under its new name at once."""
    other = renewed(FIRST, ("new.system.svc",), START + DAY)
    assert other.bundle == FIRST.bundle
    assert other.chain != FIRST.chain


OTHER = renewed(None, HOSTS, START)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(replace(FIRST, bundle=""), id="no CA"),
        pytest.param(replace(FIRST, ca_key=""), id="no key of the CA"),
        pytest.param(replace(FIRST, ca_key=OTHER.ca_key), id="the key of another CA"),
        pytest.param(replace(FIRST, key=OTHER.key), id="the key of another certificate"),
        pytest.param(replace(FIRST, chain="nonsense"), id="no certificate"),
        pytest.param(replace(FIRST, chain=OTHER.chain, key=OTHER.key), id="a certificate of another CA"),
    ],
)
def test_what_cannot_be_used_is_made_anew(broken: Held) -> None:
    """A Secret that somebody damaged does not keep anybody from working."""
    mended = renewed(broken, HOSTS, START + DAY)
    leaf(mended).verify_directly_issued_by(cas(mended)[0])
    assert renewed(mended, HOSTS, START + DAY) is mended


def test_after_a_long_sleep_everything_is_new() -> None:
    """A CA that has ended signs nothing."""
    now = START + CA_LIFETIME + 2 * DAY
    late = renewed(FIRST, HOSTS, now)
    assert [ca.not_valid_after_utc for ca in cas(late)] == [now + CA_LIFETIME]


@settings(max_examples=15)
@given(st.lists(st.integers(min_value=10, max_value=59), min_size=15, max_size=25))
def test_whoever_trusts_the_bundle_of_yesterday_believes_the_certificate_of_today(steps: list[int]) -> None:
    """At any time, with looks at most two months apart: a bundle that is a step old still holds the CA that signed."""
    now = START + CA_LIFETIME - CA_RENEWED - 100 * DAY
    held = renewed(FIRST, HOSTS, now)
    for days in steps:
        before, now = held, now + days * DAY
        held = renewed(held, HOSTS, now)
        assert leaf(held).not_valid_after_utc > now
        assert leaf(held).issuer in [ca.subject for ca in cas(before)]
        assert all(ca.not_valid_after_utc > now for ca in cas(held))


def test_keys_are_in_no_representation() -> None:
    """A log line with the value in it tells nothing."""
    assert "PRIVATE KEY" not in repr(FIRST) + repr(authority("x", START, DAY))


# What a client sees


async def shown(certificates: Certificates, bundle: str) -> bytes:
    """The certificate that a client gets which trusts this bundle."""
    server = Server({}, certificates)
    port = await server.start("127.0.0.1", 0)
    try:
        return await handshake(port, bundle)
    finally:
        await server.stop(0)


async def handshake(port: int, bundle: str) -> bytes:
    """The certificate that is shown there."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ssl.create_default_context(cadata=bundle))
    with closing(writer.transport):
        got: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return got


def _renewing() -> tuple[Own, Callable[[timedelta], None]]:
    now = [datetime.now(UTC) - 80 * DAY]

    def pass_(time: timedelta) -> None:
        now[0] += time

    return Own(["127.0.0.1"], lambda: now[0]), pass_


async def _shown_over_a_renewal() -> tuple[bytes, bytes]:
    certificates, pass_ = _renewing()
    await certificates.refresh()
    server = Server({}, certificates)
    port = await server.start("127.0.0.1", 0)
    try:
        before = await handshake(port, certificates.bundle)
        pass_(LIFETIME - RENEWED)
        await certificates.refresh()
        return before, await handshake(port, certificates.bundle)
    finally:
        await server.stop(0)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_renewed_certificate_is_shown_without_a_restart(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """The next handshake has it, on either event loop."""
    with asyncio.Runner(loop_factory=loop) as runner:
        before, after = runner.run(_shown_over_a_renewal())
    assert before != after


async def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    """As cert-manager renews them, another kind of CA included."""
    certificates = Files(tmp_path)
    seen = []
    for _ in range(2):
        ca = authority("theirs", datetime.now(UTC), DAY)
        pair = issued(ca, "x", ["127.0.0.1"], datetime.now(UTC), DAY)
        for name, text in (("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.crt", ca.certificate)):
            (tmp_path / name).write_text(text)
        await certificates.refresh()
        assert certificates.bundle == ca.certificate
        seen.append(await shown(certificates, ca.certificate))
    assert len(set(seen)) == 2


async def test_files_that_cannot_be_used_say_so(tmp_path: Path) -> None:
    """What was in force stays in force; the message names the folder and what must be in it, and no key."""
    certificates = Files(tmp_path)
    with pytest.raises(Invalid, match=r"no certificate can be read.*--admission-certificate"):
        await certificates.refresh()
    for name in ("tls.crt", "ca.crt"):
        (tmp_path / name).write_text(FIRST.chain)
    (tmp_path / "tls.key").write_text(OTHER.key)
    with pytest.raises(Invalid, match=r"tls\.key must be the key") as raised:
        await certificates.refresh()
    assert "BEGIN" not in str(raised.value)


# Where they are kept


@pytest.fixture
async def cluster(server: Access) -> AsyncIterator[ApiCluster]:
    """A server as the manager sees it."""
    ca = server.ca.read_text() if server.ca else ""
    client = Client(endpoint(server.url, ca, server.token))
    yield ApiCluster(client)
    await client.close()


def _shared(cluster: ApiCluster, namespace: str, now: datetime | None = None) -> Shared:
    return Shared(cluster, namespace, HOSTS, lambda: now or datetime.now(UTC))


def _data(api: Api, namespace: str) -> dict[str, str]:
    stored: Manifest = api.get(ref("v1", "Secret", NAME, namespace)).expect(200).body
    return {name: b64decode(value).decode() for name, value in stored["data"].items()}


async def test_replicas_that_begin_together_share_one_certificate(api: Api, cluster: ApiCluster, namespace: str) -> None:
    """Whoever is first makes the Secret, and the others read it."""
    replicas = [_shared(cluster, namespace) for _ in range(4)]
    await asyncio.gather(*(replica.refresh() for replica in replicas))
    stored = _data(api, namespace)
    assert {replica.bundle for replica in replicas} == {stored["ca.crt"]}
    assert set(stored) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}


async def test_a_renewal_by_one_replica_is_taken_by_the_others(api: Api, cluster: ApiCluster, namespace: str) -> None:
    """And what is not due is not written."""
    first, second = _shared(cluster, namespace), _shared(cluster, namespace, datetime.now(UTC) + LIFETIME - RENEWED)
    await first.refresh()
    before = api.get(ref("v1", "Secret", NAME, namespace)).expect(200).body["metadata"]["resourceVersion"]
    await first.refresh()
    assert api.get(ref("v1", "Secret", NAME, namespace)).body["metadata"]["resourceVersion"] == before
    old = _data(api, namespace)
    await second.refresh()
    new = _data(api, namespace)
    assert (new["ca.crt"], new["ca.key"]) == (old["ca.crt"], old["ca.key"])
    assert new["tls.crt"] != old["tls.crt"]
    third = _shared(cluster, namespace)
    await third.refresh()
    assert _data(api, namespace) == new


async def test_a_secret_that_was_deleted_is_put_back_as_it_was(api: Api, cluster: ApiCluster, namespace: str) -> None:
    """API servers trust the CA that was in it."""
    certificates = _shared(cluster, namespace)
    await certificates.refresh()
    before = _data(api, namespace)
    api.delete(ref("v1", "Secret", NAME, namespace)).expect(200)
    await certificates.refresh()
    assert _data(api, namespace) == before


async def test_a_secret_that_somebody_emptied_is_filled(api: Api, cluster: ApiCluster, namespace: str) -> None:
    """With new ones, since others may have them from there."""
    secret = ref("v1", "Secret", NAME, namespace) | {"data": {"mine": "eA=="}}
    api.create(secret).expect(201)
    await _shared(cluster, namespace).refresh()
    assert set(_data(api, namespace)) == {"mine", "ca.crt", "ca.key", "tls.crt", "tls.key"}


async def test_a_missing_namespace_is_named(cluster: ApiCluster, unique: Callable[[str], str]) -> None:
    """With what to do about it."""
    absent = unique("absent")
    with pytest.raises(Invalid, match=f"create namespace {absent}"):
        await _shared(cluster, absent).refresh()
