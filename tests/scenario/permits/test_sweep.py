"""Whatever happens to any one request, a permit ends up the same: a manager killed anywhere, an answer lost anywhere.

A run takes every `STRIDE`-th request, beginning elsewhere for each fault; COPYHOLD_STRIDE=1 takes all of them.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count

import pytest
import uvloop

from manager.render.pool import Renderer
from tests.realserver.access import Access
from tests.support.api import Api
from tests.support.faults import Fault, Once, kill_after, kill_before, lose_answer
from tests.support.permits import Office
from tests.support.permits import permits as in_force
from tests.support.permitstory import KEPT, RETRIED, Chapter, PermitStory, prepare, tell
from tests.support.player import player
from tests.support.running import options
from tests.support.stage import Stage

STRIDE = int(os.environ.get("COPYHOLD_STRIDE", "41"))

LANES = 4
"""Tellings of the story side by side: enough that their waiting overlaps."""

FAULTS = [
    pytest.param(kill_before, True, id="killed before a write"),
    pytest.param(kill_after, False, id="killed after a request"),
    pytest.param(lose_answer, False, id="an answer is lost"),
]


async def sweep(stories: list[PermitStory], access: Access, life: tuple[Chapter, ...], first: Once) -> int:
    """Tell a life with the fault at one request after the other, until it has fewer. Answers how often it struck."""
    numbers = count(first.number, STRIDE)
    struck = 0

    async def lane(story: PermitStory, renderer: Renderer) -> None:
        nonlocal struck
        stage = story.stage
        how = options(stage.account, patience=0.0)
        async with player(access, stage.mark, how, renderer, permits=True, now=story.clock) as playing:
            await prepare(story, playing)
            for number in numbers:
                playing.judge = once = Once(number, first.fault, first.writes_only)
                try:
                    await tell(story, life, playing, partial(getattr, once, "hit"))
                except BaseException as error:
                    error.add_note(f"{first.fault.__name__} at {once.hit}, after {[str(call) for call in once.trace]}")
                    raise
                if once.hit is None:
                    return
                struck += 1

    renderer = Renderer(workers=2)
    try:
        async with asyncio.TaskGroup() as lanes:
            for story in stories:
                lanes.create_task(lane(story, renderer))
    finally:
        await renderer.close()
    return struck


@pytest.fixture
def stories(api: Api, manager_access: Access, desk: Office, crds: object, policies: object) -> Iterator[list[PermitStory]]:
    """A few places in which a life can be told side by side."""
    with ExitStack() as stack:
        made = []
        for _ in range(LANES):
            stage = Stage(api, manager_access)
            stack.callback(stage.close)
            story = PermitStory(stack.enter_context(in_force(stage, desk)))
            stack.callback(story.close)
            made.append(story)
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("life", [pytest.param(KEPT, id="kept"), pytest.param(RETRIED, id="retried")])
@pytest.mark.parametrize(("fault", "writes_only"), FAULTS)
def test_whatever_one_request_meets_the_permit_ends_up_the_same(
    stories: list[PermitStory], manager_access: Access, life: tuple[Chapter, ...], fault: Fault, writes_only: bool
) -> None:
    """At every request: the right phase, no access after the end, each step recorded once and proved, nothing left behind."""
    position = 2 * [param.values[0] for param in FAULTS].index(fault) + (life is RETRIED)
    first = Once(1 + position * 7 % STRIDE, fault, writes_only)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        struck = runner.run(sweep(stories, manager_access, life, first))
    assert struck > 0
