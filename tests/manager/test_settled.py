"""What the answer to one parent's write tells the others that hold the same object: the watch's echo will be no news."""

from typing import Any, cast

import pytest

from apis.record import Record
from manager.controller import Controller, Options
from manager.execute import Outcome
from manager.memory import Memory
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.tenure import Tenure
from manager.world import Cluster, Resource
from policy.decide import Decision, Verb
from policy.ownership import Live
from tests.support.build import ME, OTHER, hold, item, live, parent, record, want
from tests.support.objects import Objects

RECORDS = Resource("copyhold.dev", "v1alpha1", "TargetRecord", "targetrecords", namespaced=False)
PARENTS = Resource("copyhold.dev", "v1alpha1", "GlobalTenantResource", "globaltenantresources", namespaced=False)

TARGET = want()
BOTH = (hold(ME), hold(OTHER))
TAKEN = (hold(ME), hold(OTHER, fields="0000000000000000"))
"""The other parent's field set lost a field."""


def controller() -> Controller:
    """A controller that has not been started: it only remembers."""
    return Controller(cast(Cluster, Objects()), cast(Renderer, None), cast(Schemas, None), Options())


def tenure(of: Controller, uid: str, *records: Record) -> Tenure:
    """What the controller knows of a parent that it reconciles."""
    one = parent(uid, uid=uid)
    memory = Memory(cast(Cluster, Objects()), one, RECORDS, PARENTS, inline=True)
    made = of.tenures[uid] = Tenure(one, memory, {each.key: each for each in records})
    return made


def applied(answer: Live | None, verb: Verb = Verb.APPLY, **known: Any) -> Outcome:
    """A write of ours that the server answered so."""
    decision = Decision(item(None if verb == Verb.REMOVE else TARGET, live(*BOTH)), verb, record().reason, **known)
    return Outcome(decision, None if verb == Verb.REMOVE else record(), live=answer, wrote=True)


async def woken(of: Controller) -> set[str]:
    """The parents that have work now."""
    found = set()
    while len(of.queue):
        uid, _ = await of.queue.take()
        of.queue.done(uid)
        found.add(uid)
    return found


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        pytest.param(applied(live(*BOTH, version="11")), set(), id="the other has all its fields: no news"),
        pytest.param(applied(live(*TAKEN, version="11")), {OTHER}, id="a field of the other was taken by force"),
        pytest.param(applied(None, Verb.REMOVE), {OTHER}, id="the object that the other holds was removed"),
    ],
)
async def test_an_answer_wakes_the_other_parents_that_it_concerns(outcome: Outcome, expected: set[str]) -> None:
    """Nobody else tells them: the watch's echo equals what the index already holds."""
    subject = controller()
    mine, _ = tenure(subject, ME, record()), tenure(subject, OTHER, record())
    subject.index.note(TARGET.key, live(*BOTH))
    mine.in_flight.add(TARGET.key)
    subject.desk.settled(mine, outcome)
    assert await woken(subject) == expected
    assert mine.in_flight == set()


async def test_an_answer_that_comes_after_a_newer_event_is_looked_at_again() -> None:
    """While a write is in flight events about its target pass by; one that was ahead of the answer is not lost."""
    subject = controller()
    mine = tenure(subject, ME, record())
    newer = live(hold(ME, fields="0000000000000000"), version="12")
    mine.in_flight.add(TARGET.key)
    subject.index.note(TARGET.key, newer)
    subject.wakeups.target(TARGET.key, None, newer)
    assert await woken(subject) == set()
    subject.desk.settled(mine, applied(live(hold(ME), version="11")))
    assert await woken(subject) == {ME}
    assert subject.index.live(TARGET.key) == newer
