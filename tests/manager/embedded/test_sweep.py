"""The six promises on the embedded cluster: whatever the server does to any one request, the world ends up the same.

The story of `tests/support/story.py` is told again and again, each time with one fault at one request of the manager: at the
first, at the second, and so on, until the story has fewer. Unlike in `tests/scenario/test_sweep.py` the fault is on the server's
side of the wire, so that discovery, watches and the HTTP client are in it too.

A run takes every `STRIDE`-th request, beginning elsewhere for each fault; COPYHOLD_STRIDE=1 takes all of them, for an hour.
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
from tests.support.player import Player, player
from tests.support.running import options
from tests.support.stage import Stage
from tests.support.story import CHAPTERS, DELETED, RESCOPED, Story
from tests.support.wiring import FAULTS, LANES, RESTARTED, Calm, Choose, Wiring, wiring

STRIDE = int(os.environ.get("COPYHOLD_STRIDE", "53"))

# The story under one fault.


async def tell(story: Story, playing: Player, faults: Faults) -> None:
    """After each chapter the world is as it must be; before the last, a further manager writes nothing."""
    await playing.begin()
    try:
        for chapter in CHAPTERS:
            if chapter == DELETED:
                await _a_further_run_writes_nothing(story, playing, faults)
            await asyncio.to_thread(story.act, chapter)
            await playing.until(partial(story.difference, chapter))
            await asyncio.to_thread(story.check, chapter)
    finally:
        await playing.end()
        faults.clear()
    await asyncio.to_thread(story.put_back)


async def _a_further_run_writes_nothing(story: Story, playing: Player, faults: Faults) -> None:
    while True:
        before, struck = len(playing.lives), len(faults.hits)
        await playing.again()
        await playing.settle()
        written = [call for life in playing.lives[before:] for call in life.faulty.writes]
        assert [str(call) for call in written if call.resource.plural == "configmaps"] == []
        if len(faults.hits) == struck:
            assert not written, [str(call) for call in written]
            return
        await playing.until(partial(story.difference, RESCOPED))


async def sweep(stories: list[Story], at: Wiring, choose: Choose, match: Match, first: int) -> int:
    """Tell the story with the fault at one request after the other; answers how often it struck.

    There are as many lanes as stories.
    """
    numbers = count(first, STRIDE)
    struck = 0

    async def lane(story: Story, token: str, renderer: Renderer) -> None:
        nonlocal struck
        access = Access(at.access.url, at.access.ca, {"admin": token}, None)
        stage = story.stage
        async with player(access, stage.mark, options(stage.account, patience=0.0), renderer, story.within) as playing:
            make = choose(at, playing, asyncio.get_running_loop())
            for number in numbers:
                at.faults[token] = faults = Faults().at(number, make, match)
                try:
                    await tell(story, playing, faults)
                except BaseException as error:
                    error.add_note(f"request {number}: {[(hit.method, hit.path, hit.query) for hit in faults.hits]}")
                    raise
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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiring]:
    """One server for all faults of this module."""
    with wiring(tmp_path_factory.mktemp("embedded")) as running:
        yield running


@pytest.fixture
def stories(server: Wiring, request: pytest.FixtureRequest) -> Iterator[list[Story]]:
    """Places in which the story is told side by side."""
    with ExitStack() as stack:
        api = stack.enter_context(Calm(server))
        made = []
        for _ in range(1 if RESTARTED in request.node.callspec.id else LANES):
            story = Story(Stage(api, server.access))
            stack.callback(story.close)
            made.append(story)
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("choose", "match"), FAULTS)
def test_whatever_the_server_does_to_one_request_the_world_ends_up_the_same(
    server: Wiring, stories: list[Story], choose: Choose, match: Match, request: pytest.FixtureRequest
) -> None:
    """All promises at once: nothing leaks, nothing foreign is touched, and a further run is silent."""
    position = [param.id for param in FAULTS].index(request.node.callspec.id)
    first = 1 + position * 5 % STRIDE if match == Match() else 1 + position % min(STRIDE, 5)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        struck = runner.run(sweep(stories, server, choose, match, first))
    assert struck > 0
