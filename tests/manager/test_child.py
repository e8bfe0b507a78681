"""Child processes end with the task that wanted them."""

import asyncio
import os
import signal
import sys

import pytest

from manager import child

FOREVER = (sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)")


def alive(pid: int) -> bool:
    """Is there a process with this id that is not merely waiting to be reaped?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_process_that_ended_is_gone() -> None:
    """Ending kills, reaps, and may be said twice."""
    process = await child.start(*FOREVER, stdin=asyncio.subprocess.PIPE)
    await child.end(process)
    await child.end(process)
    assert process.returncode == -signal.SIGKILL
    assert not alive(process.pid)


async def test_a_cancelled_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is cancelled while its process starts ends that process before it is cancelled itself."""
    begun: list[asyncio.subprocess.Process] = []
    known = asyncio.Event()
    create = asyncio.create_subprocess_exec

    async def slowly(*command: str, **options: object) -> asyncio.subprocess.Process:
        process = await create(*command, **options)  # type: ignore[arg-type]
        begun.append(process)
        known.set()
        await asyncio.sleep(0)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    task = asyncio.create_task(child.start(*FOREVER))
    await known.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun[0].returncode == -signal.SIGKILL
    assert not alive(begun[0].pid)


@pytest.mark.parametrize("cancellations", [1, 2, 3])
async def test_ending_is_finished_however_often_it_is_cancelled(cancellations: int) -> None:
    """The process is reaped before a cancellation is passed on, so that no event loop closes over it."""
    process = await child.start(*FOREVER)
    task = asyncio.create_task(child.end(process))
    await asyncio.sleep(0)
    for _ in range(cancellations):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(process.pid)


async def test_a_start_that_fails_while_it_is_cancelled_is_only_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the answer any more, so that its error is nobody's."""
    asked = asyncio.Event()

    async def failing(*_command: str, **_options: object) -> asyncio.subprocess.Process:
        asked.set()
        await asyncio.sleep(0)
        raise FileNotFoundError

    monkeypatch.setattr(asyncio, "create_subprocess_exec", failing)
    task = asyncio.create_task(child.start("nothing"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
