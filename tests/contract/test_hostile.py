"""Our own kinds and built-in ones under attack: each request is judged by both servers, and they judge the same."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from apis.crd import crd
from apis.kind import Kind, kinds
from tests.contract.hostile import APPLY, ATTACKS, TARGET, Attack
from tests.realserver.access import Access, client
from tests.support.api import eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "hostile"
LONGEST = 2000  # characters of a text that are compared: some answers repeat the whole request

Verdict = dict[str, Any]


class Target:
    """A server that knows our kinds and has the namespace. Both are left there: nothing of an attack is stored in it."""

    def __init__(self, access: Access) -> None:
        self._http = client(access.ca)
        self._http.base_url = httpx.URL(access.url)
        self._http.headers["Authorization"] = f"Bearer {access.token}"
        for kind in kinds():
            eventually(partial(self._install, kind))
            eventually(partial(self._answers, f"/apis/{kind.api_version}/{kind.plural}"))
        self._http.post("/api/v1/namespaces", json={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TARGET}, "data": {"b": "c"}}
        configs = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        assert self._http.post(f"{configs}?fieldManager=hostile", json=target).status_code in (201, 409)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def judge(self, attack: Attack) -> Verdict:
        """Send it, and tell what was said, without what differs from server to server."""
        answer = self._http.request(
            attack.method,
            f"{attack.path.format(namespace=NAMESPACE)}?{attack.query}",
            content=attack.body,
            headers={"Content-Type": attack.content_type, "Accept": "application/json"},
        )
        said = json.loads(answer.content)
        verdict: Verdict = {"status": answer.status_code, "warnings": sorted(answer.headers.get_list("warning"))}
        if said.get("kind") != "Status":
            return verdict
        causes = (said.get("details") or {}).get("causes") or []
        told = sorted({plain(json.dumps(cause | {"message": ordered(cause["message"])}, sort_keys=True)) for cause in causes})
        # The real server walks through maps, which have no order: several causes stand in the message in any.
        message = said["message"] if len(told) < 2 else said["message"].partition(" is invalid: ")[0]
        return verdict | {"reason": said.get("reason"), "message": plain(ordered(message)), "causes": told}

    def _install(self, kind: Kind) -> bool:
        path = f"{DEFINITIONS}/{kind.crd_name}?fieldManager=copyhold-tests&force=true"
        answer = self._http.patch(path, content=json.dumps(crd(kind)), headers={"Content-Type": APPLY})
        return answer.status_code in (200, 201)

    def _answers(self, path: str) -> bool:
        return self._http.get(path).status_code == 200


def plain(text: str) -> str:
    """A text without identifiers, revisions and times, not longer than is compared."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<uid>", text)
    text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "<time>", text)
    return re.sub(r"(resourceVersion\W+)[0-9]+", r"\1<revision>", text)[:LONGEST]


def ordered(text: str) -> str:
    """A text in which a patched object is shown as JSON: the order of its keys tells which library wrote which part, no more."""
    found = re.fullmatch(r'(.*?Invalid value: )("(?:[^"\\]|\\.)*")(.*)', text, re.DOTALL)
    if found is None:
        return text
    try:
        shown = json.loads(json.loads(found[2]))
    except ValueError:
        return text
    return found[1] + json.dumps(shown, sort_keys=True) + found[3]


@pytest.fixture(scope="module")
def target(server: Access) -> Iterator[Target]:
    """One server under attack, embedded or real."""
    attacked = Target(server)
    yield attacked
    attacked.close()


@pytest.fixture(scope="module")
def targets(embedded: Access, realserver: Access) -> Iterator[tuple[Target, Target]]:
    """Both servers under attack."""
    both = Target(embedded), Target(realserver)
    yield both
    for attacked in both:
        attacked.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_a_server_is_not_harmed_and_says_so(target: Target, name: str) -> None:
    """The status is that of the real server."""
    assert target.judge(ATTACKS[name])["status"] == ATTACKS[name].status


@pytest.mark.parametrize("name", ATTACKS)
def test_both_servers_judge_the_same(targets: tuple[Target, Target], name: str) -> None:
    """Status, reason, message, causes and warnings."""
    embedded, real = (target.judge(ATTACKS[name]) for target in targets)
    assert embedded == real
