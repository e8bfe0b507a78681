"""Several replicas as processes: they share the parents, take over from each other, and fence off who comes back too late."""

import json
import random
from collections.abc import Callable
from time import monotonic
from urllib.parse import parse_qs

import pytest

from manager.run import SHARDS
from policy.members import shard_of
from tests.support.api import Manifest, eventually
from tests.support.marks import manager_of
from tests.support.process import Place, Proxy, Replica, Sent, children, lasts, runs
from tests.support.stage import config_map, group

TAKEOVER = 8.0
"""Seconds from the death of a replica until another has its shards: a lease of 4 s, two looks, and a machine that is busy."""


@pytest.fixture
def space(place: Place) -> tuple[str, str]:
    """A tenant and its only namespace."""
    tenant = place.tenant()
    return tenant, place.namespace(tenant)


def uid(parent: Manifest) -> str:
    """The UID of an object."""
    text: str = parent["metadata"]["uid"]
    return text


def shard(parent: Manifest) -> str:
    """The Lease on which a parent depends."""
    return f"copyhold-shard-{shard_of(uid(parent), SHARDS)}"


def parents_everywhere(place: Place, tenant: str, *groups: Manifest) -> list[Manifest]:
    """Parents of the same groups, at least one in every shard; the names of their targets end in a number of their own."""
    made: list[Manifest] = []
    while len({shard(parent) for parent in made}) < SHARDS:
        made.append(place.parent(tenant, group(config_map(f"shared-{len(made)}", {"number": f"n{len(made)}"}))))
    return made


def applied_for(proxy: Proxy) -> set[str]:
    """The field managers in whose name a replica has applied targets."""
    applies = (sent for sent in proxy.sent if sent.method == "PATCH" and "/configmaps/" in sent.path)
    return {parse_qs(sent.query)["fieldManager"][0] for sent in applies}


def taken_over(place: Place, by: Replica, shards: set[str], since: float) -> float:
    """Wait until a replica has these shards; answers the seconds since that moment."""
    eventually(lambda: shards <= place.shards(by), timeout=TAKEOVER + 4)
    return monotonic() - since


def test_two_replicas_share_the_parents_and_none_is_reconciled_by_both(place: Place, space: tuple[str, str]) -> None:
    """10.2: two replicas share the parents; each target is applied once, by the replica that holds its parent's Lease."""
    first, second = place.alive(2)
    held = {replica.name: place.shards(replica) for replica in (first, second)}
    assert sorted(map(len, held.values())) == [2, 2]
    parents = parents_everywhere(place, space[0])
    place.ready(*parents)
    for replica in (first, second):
        mine = {manager_of(parent) for parent in parents if shard(parent) in held[replica.name]}
        assert mine
        assert applied_for(replica.proxy) & {manager_of(parent) for parent in parents} == mine
    writes = [sent for replica in (first, second) for sent in replica.proxy.sent if sent.method == "PATCH"]
    applies = [sent for sent in writes if f"/namespaces/{space[1]}/configmaps/" in sent.path]
    assert len(applies) == len(parents)
    place.remove(*parents)


def test_what_a_killed_replica_had_is_taken_over_and_finished(place: Place, space: tuple[str, str]) -> None:
    """10.2: kill -9 in the middle of a cold fan-out: the other has the shards within a lease or two, and nothing is missing."""
    victim, heir = place.alive(2)
    shards = place.shards(victim)
    names = {f"{space[1]}/{word}-{n}" for word in ("one", "two") for n in range(30)}
    parents = mine(place, space[0], shards, lambda word: [config_map(f"{word}-{n}", {"text": "x"}) for n in range(30)])
    held = victim.proxy.hold(applying("one-17"))
    made = [parents(word) for word in ("one", "two")]
    held.wait()
    offspring = children(victim.process.pid)
    victim.kill()
    seconds = taken_over(place, heir, shards, monotonic())
    assert seconds < TAKEOVER
    place.ready(*made)
    assert {name for parent in made for name in place.targets(parent)} == names
    eventually(lambda: not [child for child in offspring if runs(child)], timeout=5)
    place.drop(*made)


def test_a_replica_that_is_told_to_go_hands_over_at_once(place: Place, space: tuple[str, str]) -> None:
    """10.2: SIGTERM: the other has the shards within two seconds, the process ends with 0, and its Leases are given back."""
    leaver, heir = place.alive(2)
    shards = place.shards(leaver)
    parent = mine(place, space[0], shards, lambda word: [config_map(word, {"text": "x"})])("before")
    place.ready(parent)
    before = place.targets(parent)
    started = monotonic()
    leaver.process.terminate()
    seconds = taken_over(place, heir, shards, started)
    assert leaver.process.wait(10) == 0
    assert seconds < 2.0
    assert place.members(leaver) == set()
    assert [line["level"] for line in leaver.lines() if line["level"] == "error"] == []
    place.edit(parent, group(config_map("before", {"text": "x"}), config_map("after", {"text": "y"})))
    place.ready(parent)
    after = place.targets(parent)
    assert after[f"{space[1]}/before"]["metadata"] == before[f"{space[1]}/before"]["metadata"]
    assert after[f"{space[1]}/after"]["data"] == {"text": "y"}
    place.drop(parent)


# The paused leader.


def mine(place: Place, tenant: str, shards: set[str], targets: Callable[[str], list[Manifest]]) -> Callable[[str], Manifest]:
    """A maker of parents that fall into these shards. They are made cordoned, and only one that does is let go."""

    def make(word: str) -> Manifest:
        while True:
            parent = place.parent(tenant, group(config_map("x")), word=word, cordoned=True)
            if shard(parent) in shards:
                break
            place.remove(parent)
        place.change(parent, cordoned=None, resources=[group(*targets(word))])
        return parent

    return make


def applying(name: str, text: str = "") -> Callable[[Sent], bool]:
    """The apply of the ConfigMap with this name, and with this text in it."""
    return lambda sent: sent.method == "PATCH" and sent.path.endswith(f"/configmaps/{name}") and text.encode() in sent.body


def status_of(parent: Manifest) -> Callable[[Sent], bool]:
    """The next write of this parent's status."""
    return lambda sent: sent.method == "PATCH" and sent.path.endswith(f"/{parent['metadata']['name']}/status")


def too_late(replica: Replica, since: int) -> list[Sent]:
    """What a replica wrote after `since` and before it had a Lease again, except deletions of what it made too late."""
    found: list[Sent] = []
    for sent in replica.proxy.sent[since:]:
        if sent.lease and sent.method in ("POST", "PUT") and "copyhold-shard-" in sent.path + sent.body.decode():
            held = json.loads(sent.body)["spec"]["holderIdentity"]
            if held.startswith(replica.name) and sent.status in (200, 201):
                return found
        if sent.writes and not sent.lease and sent.method != "DELETE" and "/events" not in sent.path:
            found.append(sent)
    return found


def test_what_a_paused_leader_had_sent_does_not_stay_when_it_lands_after_the_takeover(
    place: Place, space: tuple[str, str]
) -> None:
    """10.2: a leader is stopped while writes are on their way; meanwhile they have become wrong, and then they arrive."""
    tenant, namespace = space
    paused, heir = place.alive(2)
    shards = place.shards(paused)
    contents = {"gone": "v1", "less": "v1", "new": "v1", "told": "v1"}
    make = mine(place, tenant, shards, lambda word: [config_map(f"{word}-{n}", {"text": contents[word]}) for n in range(4)])
    changed = make("new")
    place.ready(changed)
    late = [
        paused.proxy.hold(applying("gone-2")),
        paused.proxy.hold(applying("less-2")),
        paused.proxy.hold(applying("new-2", '"text":"v2"')),
    ]
    gone, less = make("gone"), make("less")
    place.edit(changed, group(*(config_map(f"new-{n}", {"text": "v2"}) for n in range(4))))
    for held in late:
        held.wait()
    told = make("told")
    late.append(paused.proxy.hold(lambda sent: status_of(told)(sent) and b"Succeeded" in sent.body))
    late[-1].wait()
    paused.pause()
    stopped = monotonic()
    place.api.delete(gone).expect(200)
    place.edit(less, group(*(config_map(f"less-{n}", {"text": "v1"}) for n in range(2))))
    place.edit(changed, group(*(config_map(f"new-{n}", {"text": "v3"}) for n in range(4))))
    place.edit(told, group(config_map("told-0", {"text": "v2"})))
    taken_over(place, heir, shards, stopped)
    place.ready(less, changed, told)
    # Now they land, one after the other; the server takes what it can take.
    landed = [held.release().status for held in late]
    assert landed[-1] == 409
    since = len(paused.proxy.sent)
    paused.wake()

    def clean() -> bool:
        assert place.api.get(gone).status == 404
        assert set(place.targets(gone)) == set()
        assert {name: item["data"] for name, item in place.targets(less).items()} == {
            f"{namespace}/less-{n}": {"text": "v1"} for n in range(2)
        }
        assert {name: item["data"] for name, item in place.targets(changed).items()} == {
            f"{namespace}/new-{n}": {"text": "v3"} for n in range(4)
        }
        assert {name: item["data"] for name, item in place.targets(told).items()} == {f"{namespace}/told-0": {"text": "v2"}}
        return True

    eventually(clean, timeout=30)
    place.settled(paused, heir)
    place.ready(less, changed, told)
    assert [str(sent) for sent in too_late(paused, since)] == []
    lasts(1, clean)
    place.drop(less, changed, told)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_leader_that_is_paused_at_a_random_moment_of_a_cold_fan_out_leaves_nothing_wrong(
    place: Place, space: tuple[str, str], seed: int
) -> None:
    """10.2: whenever it is stopped, what it does after it wakes does not stay; the other has finished the work."""
    tenant, namespace = space
    paused, heir = place.alive(2)
    shards = place.shards(paused)
    make = mine(place, tenant, shards, lambda word: [config_map(f"{word}-{n}", {"text": "v1"}) for n in range(20)])
    parents = {word: make(word) for word in ("one", "two")}
    eventually(lambda: place.targets(parents["one"]) or place.targets(parents["two"]))
    lasts(random.Random(seed).random() / 2, lambda: None)
    paused.pause()
    since = len(paused.proxy.sent)
    kept = range(0, 20, 2)  # the other half goes: the delete budget lets that pass
    for word, parent in parents.items():
        place.edit(parent, group(*(config_map(f"{word}-{n}", {"text": "v2"}) for n in kept)))
    taken_over(place, heir, shards, monotonic())
    paused.wake()

    def right() -> bool:
        for word, parent in parents.items():
            found = {name: item["data"] for name, item in place.targets(parent).items()}
            assert found == {f"{namespace}/{word}-{n}": {"text": "v2"} for n in kept}
        return True

    eventually(right, timeout=30)
    place.settled(paused, heir)
    assert [str(sent) for sent in too_late(paused, since)] == []
    lasts(1, right)
    place.drop(*parents.values())
