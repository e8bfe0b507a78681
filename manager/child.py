"""Child processes that never outlive the task that wanted them, not even when that task is cancelled while they start or end."""

import asyncio
import contextlib
from collections.abc import Awaitable, Mapping
from typing import Any


async def start(*command: str, environment: Mapping[str, str] | None = None, **options: Any) -> asyncio.subprocess.Process:
    """Start a process (`options` as of `asyncio.create_subprocess_exec`). Raises OSError.

    An event loop forgets a process whose start was cancelled half way; here it is ended before the cancellation goes on.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, env=environment, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _to_the_end(_started_and_ended(starting))
        raise


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill it and wait until it is gone; a cancellation meanwhile is raised after that. Safe to call again."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    if process.stdin is not None:
        process.stdin.close()
    await _to_the_end(process.wait())


async def _started_and_ended(starting: "asyncio.Future[asyncio.subprocess.Process]") -> None:
    with contextlib.suppress(OSError):  # it never began, and nobody waits for its answer any more
        await end(await starting)


async def _to_the_end(work: Awaitable[Any]) -> None:
    """Wait for it however often we are cancelled, then be cancelled."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
