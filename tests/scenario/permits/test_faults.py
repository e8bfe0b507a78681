"""The life of a permit on the embedded cluster: whatever the server does to any one request, it ends up the same.

Unlike in `test_sweep.py` the fault is on the server's side of the wire. A run takes every `STRIDE`-th request, beginning
elsewhere for each fault; COPYHOLD_STRIDE=1 takes all of them.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count

import pytest
import uvloop

from manager.embedded.faults import Faults, Match
from manager.render.pool import Renderer
from tests.realserver.access import Access
from tests.support.api import ref
from tests.support.permits import office
from tests.support.permits import permits as in_force
from tests.support.permitstory import KEPT, RETRIED, Chapter, PermitStory, prepare, tell
from tests.support.player import player
from tests.support.rights import NAMESPACE
from tests.support.running import options
from tests.support.stage import Stage
from tests.support.wiring import FAULTS, LANES, RESTARTED, Calm, Choose, Wiring, wiring

STRIDE = int(os.environ.get("COPYHOLD_STRIDE", "67"))
LIVES = (KEPT, RETRIED)


async def sweep(
    stories: list[PermitStory], at: Wiring, choose: Choose, match: Match, life: tuple[Chapter, ...], first: int
) -> int:
    """Tell a life with the fault at one request after the other; answers how often it struck."""
    numbers = count(first, STRIDE)
    struck = 0

    async def lane(story: PermitStory, token: str, renderer: Renderer) -> None:
        nonlocal struck
        access = Access(at.access.url, at.access.ca, {"admin": token}, None)
        stage = story.stage
        how = options(stage.account, patience=0.0)
        async with player(access, stage.mark, how, renderer, permits=True, now=story.clock) as playing:
            make = choose(at, playing, asyncio.get_running_loop())
            await prepare(story, playing)
            for number in numbers:
                at.faults[token] = faults = Faults().at(number, make, match)
                try:
                    await tell(story, life, playing, partial(len, faults.hits))
                except BaseException as error:
                    error.add_note(f"request {number}: {[(hit.method, hit.path, hit.query) for hit in faults.hits]}")
                    raise
                finally:
                    faults.clear()
                if not faults.hits:
                    return
                struck += 1

    renderer = Renderer(workers=2)
    try:
        async with asyncio.TaskGroup() as lanes:
            for story, token in zip(stories, at.lanes, strict=False):
                lanes.create_task(lane(story, token, renderer))
    finally:
        await renderer.close()
    return struck


@pytest.fixture(scope="module")
def wired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiring]:
    """One server for all faults of this module, with the manager's namespace."""
    with wiring(tmp_path_factory.mktemp("embedded")) as running:
        with Calm(running) as api:
            api.create(ref("v1", "Namespace", NAMESPACE)).expect(201)
        yield running


@pytest.fixture
def stories(wired: Wiring, request: pytest.FixtureRequest) -> Iterator[list[PermitStory]]:
    """Places in which a life is told side by side."""
    with ExitStack() as stack:
        api = stack.enter_context(Calm(wired))
        desk = stack.enter_context(office(wired.access))
        made = []
        for _ in range(1 if RESTARTED in request.node.callspec.id else LANES):
            stage = Stage(api, wired.access)
            stack.callback(stage.close)
            story = PermitStory(stack.enter_context(in_force(stage, desk)))
            stack.callback(story.close)
            made.append(story)
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("choose", "match"), FAULTS)
def test_whatever_the_server_does_to_one_request_the_permit_ends_up_the_same(
    wired: Wiring, stories: list[PermitStory], choose: Choose, match: Match, request: pytest.FixtureRequest
) -> None:
    """The right phase, no access after the end, each step recorded once and proved, nothing left behind."""
    position = [param.id for param in FAULTS].index(request.node.callspec.id)
    first = 1 + position * 5 % STRIDE if match == Match() else 1 + position % min(STRIDE, 5)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        struck = runner.run(sweep(stories, wired, choose, match, LIVES[position % 2], first))
    assert struck > 0
