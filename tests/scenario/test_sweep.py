"""Whatever happens to any one request, the world ends up the same: a manager killed anywhere, an answer lost anywhere."""

import asyncio
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
from tests.support.player import Player, player
from tests.support.running import options
from tests.support.stage import Stage
from tests.support.story import CHAPTERS, DELETED, RESCOPED, Story

LANES = 6
"""Tellings of the story side by side: enough that their waiting overlaps."""


async def tell(story: Story, player: Player, once: Once) -> None:
    """The whole story under one fault: after each chapter the world is as it must be, and then there is nothing left to write."""
    player.judge = once
    await player.begin()
    try:
        for chapter in CHAPTERS:
            if chapter == DELETED:
                await _a_further_run_writes_nothing(story, player, once)
            await asyncio.to_thread(story.act, chapter)
            await player.until(partial(story.difference, chapter))
            await asyncio.to_thread(story.check, chapter)
    finally:
        await player.end()
    await asyncio.to_thread(story.put_back)


async def _a_further_run_writes_nothing(story: Story, player: Player, once: Once) -> None:
    """By a manager that meets no fault; one that does may say so in a status, and writes no target either."""
    while True:
        before, struck = len(player.lives), once.hit
        await player.again()
        await player.settle()
        written = [call for life in player.lives[before:] for call in life.faulty.writes]
        assert [str(call) for call in written if call.resource.plural == "configmaps"] == []
        if once.hit is struck:
            assert not written, [(str(call), call.body) for call in written]
            return
        await player.until(partial(story.difference, RESCOPED))


async def sweep(stories: list[Story], access: Access, fault: Fault, *, writes_only: bool) -> int:
    """Tell the story with the fault at the first request, at the second, and so on, until it has fewer. Answers how many."""
    numbers = count(1)
    struck = 0

    async def lane(story: Story, renderer: Renderer) -> None:
        nonlocal struck
        stage = story.stage
        async with player(access, stage.mark, options(stage.account, patience=0.0), renderer, story.within) as playing:
            for number in numbers:
                once = Once(number, fault, writes_only)
                try:
                    await tell(story, playing, once)
                except BaseException as error:
                    error.add_note(f"{fault.__name__} at {once.hit}, after {[str(call) for call in once.trace]}")
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
def stories(api: Api, manager_access: Access, crds: object, policies: object) -> Iterator[list[Story]]:
    """A few places in which the story can be told side by side."""
    with ExitStack() as stack:
        made = []
        for _ in range(LANES):
            story = Story(Stage(api, manager_access))
            stack.callback(story.close)
            made.append(story)
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "writes_only"),
    [
        pytest.param(kill_before, True, id="killed before a write"),
        pytest.param(kill_after, False, id="killed after a request"),
        pytest.param(lose_answer, False, id="an answer is lost"),
    ],
)
def test_whatever_one_request_meets_the_world_ends_up_the_same(
    stories: list[Story], manager_access: Access, fault: Fault, writes_only: bool
) -> None:
    """All promises at once: at every single request, nothing leaks, nothing foreign is touched, and a further run is silent."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        struck = runner.run(sweep(stories, manager_access, fault, writes_only=writes_only))
    assert struck > 50
