"""What is there: the watch where it tells, a read where it does not, and no absence that nobody proved."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from apis.intent import Identity
from apis.meta import Key, Manifest
from apis.problems import Blocked, Forbidden, Gone, Problem, Unavailable
from apis.reasons import Reason
from manager.index import Index
from manager.sight import Sight, resource_of
from manager.world import Actor, Resource, World
from policy.ownership import observe
from policy.tenancy import Tenancy
from tests.support.build import MANAGER, ME, OTHER, hold, live, record, stored, want

WANT = want()
RESOURCE = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
NEWER = Resource("", "v2", "ConfigMap", "configmaps", namespaced=True)
ACTOR = Actor(Identity("platform", "distributor"), ME)
SPACES = {"solar-dev": {"metadata": {"name": "solar-dev"}}, "going": {"metadata": {"name": "going", "deletionTimestamp": "x"}}}

Answer = Manifest | Problem | None


@dataclass
class Reads:
    """A World that answers by version and by who asks, and notes what it was asked."""

    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    other: Resource | Problem = NEWER
    asked: list[str] = field(default_factory=list)

    async def get(
        self, resource: Resource, namespace: str, name: str, *, actor: Actor | None = None, metadata: bool = False
    ) -> Manifest | None:
        """The answer for this version and this one who asks."""
        who = "account" if actor else "manager"
        self.asked.append(f"{resource.version} {'metadata' if metadata else 'body'} as {who}")
        return _raised(self.answers.get((resource.version, who)))

    async def any_version(self, group: str, kind: str) -> Resource:
        """Another version, or what is wrong with the kind."""
        self.asked.append(f"versions of {kind}")
        if isinstance(self.other, Problem):
            raise self.other
        return self.other


def _raised(answer: Answer) -> Manifest | None:
    if isinstance(answer, Problem):
        raise answer
    return answer


def sight(reads: Reads, *seen: Manifest, optimistic: bool = True, **rest: Any) -> Sight:
    """A sight on a world that has two namespaces; the watch has shown these objects."""
    index = Index()
    index.mark_synced("", "ConfigMap")
    for manifest in seen:
        index.put("", "ConfigMap", manifest)

    async def records_say(uid: str, key: Key) -> bool:
        return uid == OTHER

    about: dict[str, Any] = {"exists": lambda uid: uid != "uid-dead", "records_say": records_say, **rest}
    kinds = frozenset({"globaltenantresource", "tenantresource"})
    return Sight(cast(World, reads), ACTOR, Tenancy({}, SPACES), index, kin_kinds=kinds, optimistic=optimistic, **about)


# Metadata.


async def test_what_the_watch_has_shown_is_not_read() -> None:
    """A restart over ten thousand targets reads none of them."""
    reads = Reads()
    assert await sight(reads, stored()).live(RESOURCE, WANT.key, record()) == observe(stored())
    assert reads.asked == []


async def test_what_nobody_knows_is_taken_for_absent() -> None:
    """The create-only apply finds out if it is not."""
    reads = Reads({("v1", "manager"): stored()})
    assert await sight(reads).live(RESOURCE, WANT.key, None) is None
    assert reads.asked == []


async def test_a_plan_looks_even_where_nobody_knows() -> None:
    """It has no apply that would find out."""
    reads = Reads({("v1", "manager"): stored()})
    assert await sight(reads, optimistic=False).live(RESOURCE, WANT.key, None) == observe(stored())


@pytest.mark.parametrize(
    ("shown", "remembered", "fresh", "told", "reason"),
    [
        pytest.param(True, True, False, True, "the watch has it", id="shown"),
        pytest.param(False, False, False, True, "nobody knows it: taken for absent", id="unknown"),
        pytest.param(False, True, False, False, "memory says that it was made", id="remembered, not shown"),
        pytest.param(True, True, True, False, "the watch may lag behind", id="fresh"),
        pytest.param(False, False, True, False, "the create-only apply found something", id="unknown, fresh"),
    ],
)
def test_a_glance_says_whether_it_can_tell(shown: bool, remembered: bool, fresh: bool, told: bool, reason: str) -> None:
    """Without a request; what it cannot tell is read."""
    there = sight(Reads(), *([stored()] if shown else []))
    found = there.glance(RESOURCE, WANT.key, record() if remembered else None, fresh=fresh)
    assert found == (told, observe(stored()) if shown and not fresh else None), reason


async def test_what_is_remembered_and_not_shown_is_read() -> None:
    """It may have lost its label, or its watch."""
    reads = Reads({("v1", "manager"): stored()})
    assert await sight(reads).live(RESOURCE, WANT.key, record()) == observe(stored())
    assert reads.asked == ["v1 metadata as manager"]


async def test_a_fresh_look_trusts_no_watch() -> None:
    """After a 409 the watch may lag behind."""
    reads = Reads({("v1", "manager"): stored(resourceVersion="11")})
    found = await sight(reads, stored()).live(RESOURCE, WANT.key, None, fresh=True)
    assert found is not None
    assert found.version == "11"


async def test_a_record_without_a_plural_was_never_made() -> None:
    """Its kind was never known: there is nothing to read."""
    reads = Reads()
    assert await sight(reads).live(Resource("x", "v1", "Y", "", namespaced=True), WANT.key, record()) is None
    assert reads.asked == []


@pytest.mark.parametrize("fresh", [False, True])
async def test_a_namespace_that_is_gone_takes_its_objects_along(fresh: bool) -> None:
    """Our own watch is proof: a 403 there would hide the 404."""
    reads = Reads({("v1", "manager"): Forbidden("may not get configmaps in gone")})
    key = WANT.key._replace(namespace="gone")
    assert await sight(reads, stored(namespace="gone")).live(RESOURCE, key, record(), fresh=fresh) is None
    assert await sight(reads).body(RESOURCE, key) is None
    assert reads.asked == []


async def test_a_cluster_scoped_target_has_no_place_that_could_be_gone() -> None:
    """It is read."""
    reads = Reads({("v1", "manager"): stored()})
    resource = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
    assert await sight(reads).live(resource, Key("", "Namespace", "", "a"), record()) is not None


async def test_what_the_manager_may_not_read_is_read_as_the_account() -> None:
    """A kind that the manager has no rights on may still be the account's."""
    reads = Reads({("v1", "manager"): Forbidden("no"), ("v1", "account"): stored()})
    assert await sight(reads).live(RESOURCE, WANT.key, record()) == observe(stored())
    assert reads.asked == ["v1 metadata as manager", "v1 metadata as account"]


ELSEWHERE: list[Any] = [
    pytest.param({("v1", "manager"): Gone("g", what="kind"), ("v2", "manager"): stored()}, NEWER, True, id="another version"),
    pytest.param({("v1", "manager"): Gone("g", what="kind")}, NEWER, False, id="another version has none"),
    pytest.param({("v1", "manager"): Gone("g", what="kind")}, Blocked(Reason.KIND_UNKNOWN, "k"), False, id="the kind is gone"),
    pytest.param({("v1", "manager"): Gone("g", what="kind")}, RESOURCE, False, id="the same version, served again"),
    pytest.param({("v1", "manager"): Gone("g", what="namespace")}, NEWER, False, id="the namespace is gone"),
]


@pytest.mark.parametrize(("answers", "other", "there"), ELSEWHERE)
async def test_a_version_that_is_not_served_is_not_the_end(
    answers: dict[tuple[str, str], Answer], other: Resource | Problem, there: bool
) -> None:
    """Any served version of the recorded kind will do; gone means that discovery has proved it."""
    assert (await sight(Reads(answers, other)).live(RESOURCE, WANT.key, record()) is not None) is there


@pytest.mark.parametrize(
    ("answers", "other", "problem"),
    [
        pytest.param({("v1", "manager"): Unavailable("timeout")}, NEWER, Unavailable, id="the read failed"),
        pytest.param(
            {("v1", "manager"): Forbidden("no"), ("v1", "account"): Forbidden("no")}, NEWER, Forbidden, id="both are refused"
        ),
        pytest.param({("v1", "manager"): Gone("g", what="kind")}, Unavailable("discovery"), Unavailable, id="discovery failed"),
        pytest.param(
            {("v1", "manager"): Gone("g", what="kind")}, Blocked(Reason.WATCH_FORBIDDEN, "x"), Blocked, id="discovery is refused"
        ),
    ],
)
async def test_what_could_not_be_read_is_not_absent(
    answers: dict[tuple[str, str], Answer], other: Resource | Problem, problem: type[Problem]
) -> None:
    """Absence is only what a server said."""
    with pytest.raises(problem):
        await sight(Reads(answers, other)).live(RESOURCE, WANT.key, record())


# Bodies.


async def test_a_body_is_read_as_the_account() -> None:
    """Never as the manager, and not from the watch."""
    reads = Reads({("v1", "account"): stored()})
    assert await sight(reads, stored()).body(RESOURCE, WANT.key) == stored()
    assert reads.asked == ["v1 body as account"]


async def test_a_refused_body_is_a_problem() -> None:
    """Not a null object: a condition would take it for absent."""
    reads = Reads({("v1", "account"): Forbidden("no"), ("v1", "manager"): stored()})
    with pytest.raises(Forbidden):
        await sight(reads).body(RESOURCE, WANT.key)
    assert reads.asked == ["v1 body as account"]


# Who holds it.


def test_the_dead_hold_nothing() -> None:
    """Nor do we count ourselves."""
    there = live(hold(), hold(OTHER), hold("uid-dead"))
    assert sight(Reads()).held(there, MANAGER) == (hold(OTHER),)
    assert sight(Reads()).held(None, MANAGER) == ()


@pytest.mark.parametrize(
    ("held", "kin", "reason"),
    [
        pytest.param([hold(OTHER)], True, "its mark and its record say so", id="created by kin"),
        pytest.param([hold(OTHER, kind="tenantresource")], True, "both kinds are one family", id="created by the other kind"),
        pytest.param([hold(OTHER, "adopted")], False, "it adopted the object", id="adopted by kin"),
        pytest.param([hold(OTHER, kind="resourcepermit")], False, "permits are another family", id="created by a permit"),
        pytest.param([hold("uid-third")], False, "its record says nothing of it", id="not recorded"),
        pytest.param([hold("uid-third"), hold(OTHER)], True, "one of them is enough", id="one of two"),
        pytest.param([], False, "nobody holds it", id="nobody"),
    ],
)
async def test_kin_is_who_created_it_by_proof_and_by_record(held: list[Any], kin: bool, reason: str) -> None:
    """Both must say so: the mark can be copied, the record can be old."""
    assert await sight(Reads()).is_kin(WANT, tuple(held)) is kin, reason


@pytest.mark.parametrize(("namespace", "going"), [("going", True), ("solar-dev", False), ("gone", False), ("", False)])
def test_a_place_is_going_while_its_namespace_terminates(namespace: str, going: bool) -> None:
    """A namespace that is gone is not going any more."""
    assert sight(Reads()).place_is_going(WANT.key._replace(namespace=namespace)) is going


def test_memory_knows_where_a_target_lives() -> None:
    """From a record as from a rendered target, without discovery."""
    assert resource_of(record()) == resource_of(WANT) == Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


def test_of_a_kind_that_nobody_watches_our_own_last_answer_is_not_what_is_there() -> None:
    """What was noted of our own writes is trusted only while a watch keeps it true."""
    there = sight(Reads(), stored())
    there.index.mark_synced("", "ConfigMap", synced=False)
    assert there.glance(RESOURCE, WANT.key, record()) == (False, None)
