"""The HTTP face and the cluster around it, over real connections."""

import asyncio
import base64
import json
import re
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from manager.embedded.cluster import Embedded
from manager.embedded.http import Cut, Fault
from manager.embedded.request import Request, Response
from manager.embedded.server import Answer
from tests.manager.embedded.calling import CONFIG_MAPS, config_map


@asynccontextmanager
async def client(cluster: Embedded, *, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a running cluster."""
    trust = ssl.create_default_context(cadata=cluster.ca)
    headers = {"Authorization": f"Bearer {token or cluster.token}"}
    async with httpx.AsyncClient(base_url=cluster.url, verify=trust, trust_env=False, timeout=10, headers=headers) as http:
        yield http


async def test_a_cluster_answers_and_writes_its_kubeconfig(tmp_path: Path) -> None:
    """What is in the file is enough to get in; nobody else may read it."""
    async with Embedded(users={"alice": ()}) as cluster:
        path = cluster.kubeconfig(tmp_path / "deep" / "kubeconfig", user="alice")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        told = yaml.safe_load(path.read_text())
        assert told["clusters"][0]["cluster"]["server"] == cluster.url
        assert base64.b64decode(told["clusters"][0]["cluster"]["certificate-authority-data"]).decode() == cluster.ca
        async with client(cluster, token=told["users"][0]["user"]["token"]) as http:
            assert (await http.get("/version")).status_code == 200
            assert (await http.get(CONFIG_MAPS)).status_code == 403
        async with client(cluster) as http:
            assert (await http.get(CONFIG_MAPS)).json()["kind"] == "ConfigMapList"


async def test_a_port_that_is_taken_is_told() -> None:
    """As what the operating system says."""
    async with Embedded() as cluster:
        with pytest.raises(OSError, match="address already in use"):
            await Embedded(port=int(cluster.url.rpartition(":")[2])).__aenter__()


async def test_a_watch_is_a_stream() -> None:
    """Lines come as they happen, and the stream ends when the client said."""
    async with Embedded() as cluster, client(cluster) as http:
        query = {"watch": "1", "timeoutSeconds": "1", "fieldSelector": "metadata.name=x"}
        async with http.stream("GET", CONFIG_MAPS, params=query) as answer:
            await http.post(CONFIG_MAPS, json=config_map("x"))
            await http.delete(f"{CONFIG_MAPS}/x")
            seen = [json.loads(line)["type"] async for line in answer.aiter_lines()]
    assert seen == ["ADDED", "DELETED"]


async def test_an_ended_watch_is_forgotten() -> None:
    """A client that goes leaves no listener behind."""
    async with Embedded() as cluster, client(cluster) as http:
        before = len(cluster.store._listeners.get("secrets", []))
        async with http.stream("GET", "/api/v1/secrets", params={"watch": "1"}) as answer:
            assert answer.status_code == 200
            assert len(cluster.store._listeners["secrets"]) == before + 1
        for _ in range(200):
            if len(cluster.store._listeners["secrets"]) == before:
                break
            await asyncio.sleep(0.01)
        assert len(cluster.store._listeners["secrets"]) == before


async def test_a_large_answer_is_compressed_for_those_who_ask() -> None:
    """And a small one is not."""
    async with Embedded() as cluster, client(cluster) as http:
        big = config_map("big") | {"data": {"a": "x" * 200_000}}
        await http.post(CONFIG_MAPS, json=big)
        assert (await http.get(CONFIG_MAPS)).headers["content-encoding"] == "gzip"
        assert "content-encoding" not in (await http.get(CONFIG_MAPS, headers={"Accept-Encoding": "identity"})).headers
        assert "content-encoding" not in (await http.get("/version")).headers


async def test_warnings_are_headers() -> None:
    """In the form that kubectl reads."""
    async with Embedded() as cluster, client(cluster) as http:
        made = await http.post(CONFIG_MAPS, json=config_map("x") | {"x": 1})
        assert made.headers["warning"] == '299 - "unknown field \\"x\\""'


async def test_what_is_no_http_is_refused() -> None:
    """400, and the connection ends; the server goes on."""
    async with Embedded() as cluster, client(cluster) as http:
        port = int(cluster.url.rpartition(":")[2])
        trust = ssl.create_default_context(cadata=cluster.ca)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        writer.write(b"nonsense\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
        assert (await http.get("/version")).status_code == 200


async def test_requests_in_a_row_are_answered_in_order() -> None:
    """A client may send the next before it has read the answer."""
    async with Embedded() as cluster:
        port = int(cluster.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ssl.create_default_context(cadata=cluster.ca))
        writer.write(b"GET /readyz HTTP/1.1\r\n\r\nGET /api HTTP/1.1\r\n\r\nGET /livez HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"401", b"200"]


async def test_a_defect_is_a_500_and_told_without_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server goes on, and whoever runs it hears of it."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with Embedded() as cluster, client(cluster) as http:
        monkeypatch.setattr(cluster.server, "handle", lambda request: 1 // 0)
        broken = await http.post(CONFIG_MAPS, json=config_map("x"))
    assert (broken.status_code, broken.json()["message"]) == (500, "ZeroDivisionError in the embedded server")
    assert told[0]["message"] == f"embedded server: POST {CONFIG_MAPS}"


class Instead(Fault):
    """Answers by itself."""

    async def before(self, request: Request) -> Response | None:
        """Say so."""
        return Response(429, b"{}", headers={"Retry-After": "1"})


class CutAfter(Fault):
    """Does the work and says nothing."""

    async def after(self, request: Request, answer: Answer) -> Answer:
        """Cut the connection."""
        raise Cut


async def test_faults_stand_before_and_after_a_request() -> None:
    """An answer instead, and an answer that is lost although the write was done."""
    faults: list[Fault | None] = [Instead(), CutAfter(), None]
    async with Embedded(intercept=lambda request: faults.pop(0)) as cluster, client(cluster) as http:
        assert (await http.post(CONFIG_MAPS, json=config_map("x"))).headers["retry-after"] == "1"
        with pytest.raises(httpx.TransportError):
            await http.post(CONFIG_MAPS, json=config_map("x"))
        assert (await http.post(CONFIG_MAPS, json=config_map("x"))).status_code == 409


async def test_a_cluster_with_data_is_the_same_one_again(tmp_path: Path) -> None:
    """Objects, revisions, tokens and the CA; a watch from before is expired."""
    async with Embedded(data=tmp_path) as cluster, client(cluster) as http:
        made = (await http.post(CONFIG_MAPS, json=config_map("x"))).json()
        first = (cluster.token, cluster.ca)
        then = cluster.store.revision
        await http.post(CONFIG_MAPS, json=config_map("y"))
    async with Embedded(data=tmp_path) as cluster, client(cluster) as http:
        assert (cluster.token, cluster.ca) == first
        assert (await http.get(f"{CONFIG_MAPS}/x")).json() == made
        assert cluster.store.revision > then
        async with http.stream("GET", CONFIG_MAPS, params={"watch": "1", "resourceVersion": str(then)}) as answer:
            assert [json.loads(line)["object"]["code"] async for line in answer.aiter_lines()] == [410]


async def test_a_watch_on_a_cluster_with_data_sees_what_controllers_do(tmp_path: Path) -> None:
    """They write without a request that would wait for the disk."""
    async with Embedded(data=tmp_path) as cluster, client(cluster) as http:
        query = {"watch": "1", "timeoutSeconds": "2"}
        async with http.stream("GET", "/api/v1/namespaces/new/serviceaccounts", params=query) as answer:
            await http.post("/api/v1/namespaces", json={"metadata": {"name": "new"}})
            async for line in answer.aiter_lines():
                assert json.loads(line)["object"]["metadata"]["name"] == "default"
                break
            else:
                pytest.fail("the account was never told")


async def test_answers_tell_the_time_of_the_cluster() -> None:
    """Whoever lives by the server's clock reads it there: a refusal and a watch say it too, and not the host's time."""
    moment = datetime(2031, 5, 4, 3, 2, 1, 999_999, UTC)
    async with Embedded(clock=lambda: moment) as cluster, client(cluster) as http:
        answers = [await http.get("/version"), await http.get("/none")]
        answers.append(await http.get(CONFIG_MAPS, params={"watch": "1", "timeoutSeconds": "1"}))
        assert [answer.headers.get_list("Date") for answer in answers] == [["Sun, 04 May 2031 03:02:01 GMT"]] * 3
