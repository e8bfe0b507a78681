"""The renderer: batches of jobs go to worker processes, one answer per job comes back, whatever a template tries.

Guarantees: the event loop never renders; a batch that runs over its bound, or whose process ends, is killed and tried once more
job by job, so that the guilty job answers Invalid and the others answer what they render. Processes start when there is work,
are replaced when they end or have grown, and end with this one (stdin, and on Linux a signal from the kernel).
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from time import monotonic
from typing import Any

import orjson

from apis.intent import Group, Query
from apis.meta import Manifest
from apis.problems import Blocked, Invalid, Problem, Unavailable
from apis.reasons import Reason
from apis.selector import Requirement, Selector
from manager import child
from manager.render import wire
from manager.render.documents import Document, Job, copied
from policy.conditions import TOO_MUCH

PROBLEMS: Mapping[str, type[Problem]] = {"Invalid": Invalid, "Blocked": Blocked}

LIBRARIES = ("jinja2", "markupsafe", "orjson", "yaml", "re2")

TRIED = 2  # jobs of one group that may run over a bound before the rest of that group's jobs share the verdict


class _Ended(Exception):
    """The process is gone, without an answer."""


class _Overran(Exception):
    """The process took longer than its bound and was killed."""


class _Worker:
    """One process and the frames to and from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.knows_cel = False

    @classmethod
    async def start(cls, limits: wire.Limits) -> "_Worker":
        process = await child.start(
            sys.executable,
            *("-s", "-P", "-m", "manager.render.worker"),
            *(orjson.dumps(asdict(limits)).decode(), str(os.getpid())),
            environment=wire.environment(LIBRARIES),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # a traceback may quote a value
            cwd="/",
        )
        worker = cls(process)
        await worker._bounded(worker._receive(limits), limits.start)
        return worker

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, frame: bytes, limits: wire.Limits, bound: float) -> Any:
        """The decoded answer. Raises _Overran and _Ended; then, and when cancelled, the process is gone."""
        return await self._bounded(self._exchange(frame, limits), bound)

    async def end(self) -> None:
        """Let it go: it ends when its input does, and is killed when it does not. Safe to call again."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._process.wait()
        finally:
            await self._kill()

    async def _bounded(self, work: Any, bound: float) -> Any:
        try:
            async with asyncio.timeout(bound):
                return await work
        except TimeoutError:
            await self._kill()
            raise _Overran from None
        except (OSError, EOFError, orjson.JSONDecodeError):
            await self._kill()
            raise _Ended from None
        except BaseException:
            await self._kill()
            raise

    async def _exchange(self, frame: bytes, limits: wire.Limits) -> Any:
        stdin = self._process.stdin
        if stdin is None or not self.alive:
            raise EOFError
        stdin.write(wire.length(len(frame)) + frame)
        await stdin.drain()
        return await self._receive(limits)

    async def _receive(self, limits: wire.Limits) -> Any:
        stdout = self._process.stdout
        if stdout is None:
            raise EOFError
        size = int.from_bytes(await stdout.readexactly(wire.HEADER), "big")
        if size > 2 * limits.answer + limits.job + wire.MIB:
            raise EOFError  # not an answer that our worker gives
        return orjson.loads(await stdout.readexactly(size))

    async def _kill(self) -> None:
        await child.end(self._process)


class Renderer:
    """Renders in at most `workers` processes (1 or 2 are enough: each does more than 10,000 documents a second)."""

    def __init__(
        self,
        *,
        workers: int = 1,
        limits: wire.Limits | None = None,
        rendered: Callable[[str, float], None] = lambda _result, _seconds: None,
        restarted: Callable[[str], None] = lambda _cause: None,
    ) -> None:
        """`rendered` is told of each job, ok or invalid, and its share of the seconds; `restarted` why a process was replaced."""
        self._limits = limits or wire.Limits()
        self._slots = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []
        self._closed = False
        self._rendered = rendered
        self._restarted = restarted

    async def render(self, jobs: Sequence[Job], now: datetime) -> list[list[Document] | Problem]:
        """The documents of each job, in order, or the problem that kept them. `now` is what templates with a clock see."""

        def request(batch: Sequence[Job]) -> Manifest:
            shared = _Shared()
            groups = _Numbers(_group)
            entries = [
                {"group": groups.number(job.group), "variables": shared.variables(job.variables), "copies": _copies(job)}
                for job in batch
            ]
            return {"op": "render", "now": _rfc3339(now), "groups": groups.values, "objects": shared.values, "jobs": entries}

        started = monotonic()
        answers = await self._answers(jobs, request, lambda job: job.group)
        for answer in answers:
            self._rendered("invalid" if isinstance(answer, Problem) else "ok", (monotonic() - started) / len(answers))
        return [answer if isinstance(answer, Problem) else [_document(item) for item in answer] for answer in answers]

    async def check(self, groups: Sequence[Group]) -> list[Invalid]:
        """What is wrong with the templates and conditions of `spec.resources`, with field paths; empty when nothing is."""
        described = [(index, group) for index, group in enumerate(groups)]
        answers = await self._answers(
            described,
            lambda batch: {"op": "check", "groups": [_checked(index, group) for index, group in batch]},
            lambda item: item[1],
            cel=any(group.policy.condition is not None for group in groups),
        )
        found: list[Invalid] = []
        for (index, _), answer in zip(described, answers, strict=True):
            if isinstance(answer, Problem):
                found.append(Invalid(answer.reason, f"spec.resources[{index}]: {answer.message}"))
            else:
                found.extend(Invalid(Reason(reason), message) for reason, message in answer)
        return found

    async def queries(self, items: Sequence[tuple[Query, Manifest]]) -> list[Query | Problem]:
        """Each query with its strings rendered over its variables, or the problem that kept it."""

        def request(batch: Sequence[tuple[Query, Manifest]]) -> Manifest:
            shared = _Shared()
            entries = [
                {"variables": shared.variables(variables), "texts": _query_texts(query, f"query {query.index or query.kind!r}")}
                for query, variables in batch
            ]
            return {"op": "queries", "now": "", "objects": shared.values, "queries": entries}

        answers = await self._answers(items, request, lambda item: item[0])
        return [
            answer if isinstance(answer, Problem) else _with_texts(query, answer)
            for (query, _), answer in zip(items, answers, strict=True)
        ]

    async def conditions(self, items: Sequence[tuple[str, Manifest | None]], now: datetime) -> list[bool | Problem]:
        """The verdict of each (condition, live object or None)."""

        def request(batch: Sequence[tuple[str, Manifest | None]]) -> Manifest:
            shared = _Shared()
            entries = [(text, None if live is None else shared.number(live)) for text, live in batch]
            return {"op": "conditions", "now": now.isoformat(), "objects": shared.values, "items": entries}

        return [_verdict(answer) for answer in await self._answers(items, request, lambda item: item[0], cel=True)]

    async def warm(self) -> None:
        """Start a process before there is work: the first of a parent's targets does not wait for it."""
        async with self._slots:
            self._idle.append(await self._worker())

    async def close(self) -> None:
        """End the processes. Work that is still asked for is refused."""
        self._closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.end() for worker in idle))

    async def _answers(
        self, items: Sequence[Any], request: Callable[[Sequence[Any]], Manifest], kin: Callable[[Any], Any], *, cel: bool = False
    ) -> list[Any]:
        """One answer per item: in batches, side by side as far as there are workers."""
        size = self._limits.jobs
        batches = [items[start : start + size] for start in range(0, len(items), size)]
        # return_exceptions: none is left running when another has failed.
        results = await asyncio.gather(*(self._batch(batch, request, kin, cel) for batch in batches), return_exceptions=True)
        answers: list[Any] = []
        for result in results:
            if isinstance(result, BaseException):
                raise result
            answers.extend(result)
        return answers

    async def _batch(
        self, items: Sequence[Any], request: Callable[[Sequence[Any]], Manifest], kin: Callable[[Any], Any], cel: bool
    ) -> list[Any]:
        frame = orjson.dumps(request(items))
        if len(items) > 1 and len(frame) > self._limits.frame:
            middle = len(items) // 2
            parts = (items[:middle], items[middle:])
            return [answer for part in parts for answer in await self._batch(part, request, kin, cel)]
        if len(frame) > self._limits.largest:
            return [_too_large(self._limits)]
        try:
            answers = await self._ask(frame, cel)
        except (_Ended, _Overran) as reason:
            self._restarted(_cause(reason))
            return await self._one_by_one(items, request, kin, cel)
        left = [index for index, answer in enumerate(answers) if answer == {"again": True}]
        again = await self._batch([items[index] for index in left], request, kin, cel) if left else []
        for index, answer in zip(left, again, strict=True):
            answers[index] = answer
        return [_problem(answer) for answer in answers]

    async def _one_by_one(
        self, items: Sequence[Any], request: Callable[[Sequence[Any]], Manifest], kin: Callable[[Any], Any], cel: bool
    ) -> list[Any]:
        """The second and last try. A group that keeps running over its bound must not cost it once per namespace."""
        verdicts: dict[int, list[Problem]] = {}
        answers: list[Any] = []
        for item in items:
            failed = verdicts.setdefault(id(kin(item)), [])
            if len(failed) >= TRIED:
                answers.append(failed[-1])
                continue
            try:
                answers.append(_problem((await self._ask(orjson.dumps(request([item])), cel))[0]))
            except (_Ended, _Overran) as reason:
                self._restarted(_cause(reason))
                failed.append(_guilty(reason, self._limits))
                answers.append(failed[-1])
        return answers

    async def _ask(self, frame: bytes, cel: bool) -> list[Any]:
        async with self._slots:
            worker = await self._worker()
            if cel and not worker.knows_cel:
                await worker.ask(b'{"op":"prepare"}', self._limits, self._limits.start)
                worker.knows_cel = True
            answer = await worker.ask(frame, self._limits, self._limits.wall)
            if answer["worn"] or self._closed:
                await worker.end()
            else:
                self._idle.append(worker)
        answers: list[Any] = answer["answers"]
        return answers

    async def _worker(self) -> _Worker:
        if self._closed:
            raise Unavailable("the renderer is closed")
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            await worker.end()
        try:
            return await _Worker.start(self._limits)
        except (OSError, _Ended, _Overran) as error:
            raise Unavailable(f"no process to render in can be started ({type(error).__name__})") from error


class _Numbers:
    """Values that are sent once and referred to by number. Two are the same when they are one Python object."""

    def __init__(self, encode: Callable[[Any], Any] = lambda value: value) -> None:
        self.values: list[Any] = []
        self._encode = encode
        self._known: dict[int, int] = {}
        self._held: list[Any] = []  # an identity is only good while its object lives

    def number(self, value: Any) -> int:
        """The place of this value in `values`."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = len(self.values)
            self._held.append(value)
            self.values.append(self._encode(value))
        return known


class _Shared(_Numbers):
    """The objects of a batch."""

    def variables(self, variables: Manifest) -> Manifest:
        """Name -> number; `context` and other maps of lists are shared list by list."""
        return {
            name: {index: self.number(objects) for index, objects in value.items()} if name == "context" else self.number(value)
            for name, value in variables.items()
        }


def _rfc3339(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _group(group: Group) -> Manifest:
    return {
        "name": group.name,
        "targets": group.targets,
        "template": group.template,
        "labels": dict(group.labels),
        "annotations": dict(group.annotations),
        "clocked": group.policy.condition is not None,
    }


def _checked(index: int, group: Group) -> Manifest:
    root = f"spec.resources[{index}]"
    texts = [
        text
        for where, queries in (("context.resources", group.context), ("namespacedItems", group.copies))
        for position, query in enumerate(queries)
        for text in _query_texts(query, f"{root}.{where}[{position}]")
    ]
    return {**_group(group), "path": root, "queries": texts, "condition": group.policy.condition}


def _copies(job: Job) -> list[tuple[Manifest, str]]:
    copies = []
    for copy in job.copies:
        query = job.group.copies[copy.query]
        selected = query.selector.keys if query.selector else frozenset()
        name = (copy.manifest.get("metadata") or {}).get("name", "")
        copies.append((copied(copy.manifest, selected), f"namespacedItems[{copy.query}]/{name}"))
    return copies


def _query_texts(query: Query, place: str) -> list[tuple[str, str]]:
    """(place, text) of all strings of a query that may be templates, in the order in which `_with_texts` puts them back."""
    values = [value for requirement in _requirements(query) for value in requirement.values]
    return [(f"{place}.name", query.name), (f"{place}.namespace", query.namespace)] + [
        (f"{place}.selector", value) for value in values
    ]


def _with_texts(query: Query, texts: list[str]) -> Query:
    name, namespace, *values = texts
    rest = iter(values)
    requirements = tuple(
        Requirement(requirement.key, requirement.operator, tuple(next(rest) for _ in requirement.values))
        for requirement in _requirements(query)
    )
    return replace(query, name=name, namespace=namespace, selector=query.selector and Selector(requirements))


def _requirements(query: Query) -> tuple[Requirement, ...]:
    return query.selector.requirements if query.selector else ()


def _document(item: Manifest) -> Document:
    return Document(item["manifest"], item["source"], tuple(tuple(path) for path in item["scalars"]))


def _problem(answer: Any) -> Any:
    """A problem as the exception that it is; any other answer as it is."""
    if isinstance(answer, dict) and "problem" in answer:
        kind, reason, message = answer["problem"]
        return PROBLEMS[kind](Reason(reason), message)
    return answer


def _verdict(answer: bool | Problem) -> bool | Problem:
    """What a condition came to; one that ran over a bound failed as a condition does, not as a template."""
    if isinstance(answer, Problem) and answer.reason == Reason.RENDER_FAILED:
        return Invalid(Reason.CONDITION_FAILED, TOO_MUCH)
    return answer


def _cause(reason: Exception) -> str:
    return "time" if isinstance(reason, _Overran) else "died"


def _guilty(reason: Exception, limits: wire.Limits) -> Invalid:
    if isinstance(reason, _Overran):
        return Invalid(Reason.RENDER_FAILED, f"took longer than {limits.wall:g} s twice: make the templates do less")
    memory = limits.memory // wire.MIB
    return Invalid(Reason.RENDER_FAILED, f"the process that renders it ended twice: it may not need more than {memory} MiB")


def _too_large(limits: wire.Limits) -> Invalid:
    most = limits.largest // wire.MIB
    return Invalid(Reason.RENDER_FAILED, f"its inputs have more than {most} MiB: select fewer or smaller objects")
