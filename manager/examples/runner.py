"""Runs an example: puts its setup into a cluster beside a manager, takes the steps one by one, and clears up.

Guarantees
    Nothing is touched that was there before: if one object of the folder is, the example is not run (unless it shall be kept).
    Only the example's own parents, Tenants and permit templates are reconciled, whatever else the cluster has, and admission is
    asked about its namespaces alone.
    Everything that was made is removed at the end, also after a failure, and what could not be removed is named.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from secrets import token_hex
from time import monotonic

from apis.copyhold.duration import seconds
from apis.intent import Identity
from apis.kind import find
from apis.meta import Key, Manifest, Ref
from apis.problems import Blocked, Gone, Invalid, Problem
from apis.reasons import Reason
from manager.admission.register import Reach
from manager.admission.serve import Serving
from manager.cluster import ApiCluster
from manager.controller import Options
from manager.editor import PATIENCE, PAUSE, Editor, persistently
from manager.endpoint import Endpoint
from manager.examples.ask import ask
from manager.examples.checker import Checker
from manager.examples.elector import ExampleElector
from manager.examples.example import CLUSTER, Example
from manager.examples.script import Expect, Step
from manager.http import Client
from manager.inprocess import Clock, InProcess, Wiring, in_process, rest
from manager.install import install, installed
from manager.office import LOOPBACK, Office, in_force
from manager.state import State
from manager.uninstall import managers
from policy.account import Accounts

AGES = timedelta(days=36500)
"""The time after which no record of a permit is kept any more."""

LEAVING = 60.0
"""Seconds that removing everything may take; a namespace of a real cluster takes about six."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of a step. `failure` is what people read, empty when it succeeded; a skipped step comes after a failed one."""

    title: str
    seconds: float = 0.0
    failure: str = ""
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an example: its steps, with the setting up before and the clearing up after them."""

    name: str
    title: str
    steps: tuple[StepResult, ...]

    @property
    def failed(self) -> bool:
        """True when a step failed."""
        return any(step.failure for step in self.steps)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(step.seconds for step in self.steps)


@dataclass(frozen=True, slots=True)
class Progress:
    """Who is told: before a step (number from 1, of how many, title) and after it."""

    begins: Callable[[int, int, str], None] = lambda _number, _of, _title: None
    ends: Callable[[StepResult], None] = lambda _result: None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How an example is run. `keep` runs on what is there, and leaves everything at the end to be looked at."""

    keep: bool = False
    default_account: Identity | None = None
    namespace: str = "copyhold-system"  # the manager's own
    admission: Serving = LOOPBACK  # where the API server finds us when permits are in an example

    @property
    def options(self) -> Options:
        """For the manager."""
        return Options(Accounts(self.default_account, self.namespace))


async def run(example: Example, endpoint: Endpoint, run_options: RunOptions, progress: Progress | None = None) -> Result:
    """Run an example on the cluster behind `endpoint`. Problems of the cluster are failures of the step that they stop."""
    runner = _Runner(example, endpoint, run_options, progress or Progress())
    await runner.run()
    return Result(example.setup.name, example.title, tuple(runner.results))


@dataclass
class _Runner:
    example: Example
    endpoint: Endpoint
    run_options: RunOptions
    progress: Progress
    results: list[StepResult] = field(default_factory=list)
    made: dict[Key, Ref] = field(default_factory=dict)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    clock: Clock = field(default_factory=Clock)

    async def run(self) -> None:
        async with self.stack:
            try:
                await self._step("set up: cluster, manager, parents", self._set_up)
                for number, step in enumerate(self.example.script.steps):
                    await self._next(title(self.example, number), number, step)
            finally:  # also when somebody has had enough: what was made is removed all the same
                if not self.run_options.keep:
                    await self._end()

    async def _next(self, title: str, number: int, step: Step) -> None:
        if any(result.failure for result in self.results):
            self.results.append(StepResult(title, skipped=True))
        else:
            await self._step(title, lambda: self._take(number, step))

    async def _end(self) -> None:
        if self.made:
            await self._step("clear up: parents, then the rest", self._clear_up)
        await self._step("take kinds and policies away, if they were not there before", self.stack.aclose)

    async def _step(self, title: str, work: Callable[[], Awaitable[str | None]]) -> None:
        self.progress.begins(len(self.results) + 1, len(self.example.script.steps) + 3, title)
        started = monotonic()
        try:
            failure = await work() or ""
        except Problem as problem:
            failure = str(problem)
        result = StepResult(title, monotonic() - started, failure)
        self.results.append(result)
        self.progress.ends(result)

    # The setup.

    async def _set_up(self) -> None:
        client = Client(self.endpoint)
        self.stack.push_async_callback(client.close, 1.0)
        self.cluster = ApiCluster(client)
        self.editor = Editor(self.cluster)
        if self.run_options.keep:
            await install(self.cluster, namespace=self.run_options.namespace)
        else:
            await self.stack.enter_async_context(installed(self.cluster, namespace=self.run_options.namespace))
            await self._refuse_to_meddle()
        elector = ExampleElector(self.example.makes())
        office = await self._office() if self.example.permits else None
        wiring = Wiring(self.endpoint, self.run_options.options, elector, clock=self.clock, office=office)
        self.manager: InProcess = await self.stack.enter_async_context(
            in_process(wiring, begun=lambda state: _tell(elector, state))
        )
        self.checker = Checker(self.editor, self.example.makes())
        for manifest in self.example.setup.cluster:
            await self._put(manifest)
        if office is not None:
            await in_force(self.editor, self.example.namespaces[0])
        for manifest in self.example.setup.parents:
            await self._put(manifest)

    async def _office(self) -> Office:
        """Admission for the namespaces of the example alone, with keys of its own unless they shall stay."""
        if not self.example.namespaces:
            remedy = f"add the namespace of its permits to {CLUSTER}/"
            raise Invalid(Reason.INVALID, f"{self.example.setup.folder}: an example with permits makes its namespaces: {remedy}")
        name = f"copyhold-test-{token_hex(4)}"
        home = self.run_options.namespace if self.run_options.keep else name
        office = Office(home, self.run_options.admission, Reach(name, self.example.namespaces))
        for manifest in office.home:
            await self._put(manifest)
        return office

    async def _refuse_to_meddle(self) -> None:
        """Raise Invalid when anything that the example makes is there, or a manager that would do the same work as ours."""
        others = await managers(self.cluster, self.run_options.namespace, datetime.now(UTC))
        if others:
            remedy = "stop it, or choose another cluster"
            raise Invalid(Reason.INVALID, f"a manager is running on this cluster ({', '.join(others)}): {remedy}")
        for ref in self.example.makes():
            with suppress(Blocked):  # a kind that nobody serves has no objects
                if await self.editor.read(ref) is not None:
                    why = f"{ref} is on this cluster already, and an example removes what it made"
                    remedy = "delete it, or choose another cluster, or run on what is there with --keep"
                    raise Invalid(Reason.INVALID, f"{why}: {remedy}")

    async def _put(self, manifest: Manifest) -> None:
        await persistently(lambda: self._apply(manifest, self.editor))

    async def _apply(self, manifest: Manifest, editor: Editor, *, manager: str = "", force: bool = False) -> None:
        self.made.setdefault(Ref.of(manifest).key, Ref.of(manifest))
        await editor.apply(manifest, manager=manager, force=force)

    # The steps.

    async def _take(self, number: int, step: Step) -> str | None:
        if step.expect is not None:
            return await self._expect(step.expect)
        if step.advance is not None:
            self.manager.advance(seconds(step.advance))
            await rest(self.manager)
            return None
        for attempt in self._requests(number, step):
            failure = await (persistently(attempt) if step.refused is None else self._refused(attempt, step.refused))
            if failure:
                return failure
        return None

    def _requests(self, number: int, step: Step) -> Sequence[Callable[[], Awaitable[object]]]:
        """The requests of a step that writes."""
        editor = self.editor if step.person is None else self.editor.of(step.person.user, step.person.groups)
        if step.transition is not None:
            phase, wanted = step.transition
            return [lambda: ask(editor, phase, wanted, self.clock(), manager=step.manager)]
        if step.edit is not None:
            patch = step.edit
            return [lambda: editor.edit(patch, manager=step.manager)]
        if step.delete:
            return [lambda ref=place.ref: editor.delete(ref) for place in step.delete]  # type: ignore[misc]
        how = partial(self._apply, editor=editor, manager=step.manager, force=step.force)
        return [partial(how, one) for one in self.example.applied[number]]

    async def _refused(self, attempt: Callable[[], Awaitable[object]], text: str) -> str:
        """What is wrong when the server does not say no in the expected words; a no in other words may change for a moment."""
        deadline = monotonic() + PATIENCE
        while True:
            try:
                await attempt()
            except Problem as problem:
                if text in str(problem):
                    return ""
                if monotonic() > deadline:
                    return f"refused in other words than expected:\n- {text}\n+ {problem}"
            else:
                return f"was not refused, but carried out; expected: {text}"
            await asyncio.sleep(PAUSE)

    async def _expect(self, expect: Expect) -> str:
        deadline = monotonic() + seconds(expect.within)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds(expect.within)):
                await rest(self.manager)
        while True:
            failures = await self.checker.failures(expect)
            if not failures:
                return ""
            if monotonic() > deadline:
                return "\n".join([*failures, f"(after {expect.within})"])
            await asyncio.sleep(PAUSE)

    # The end.

    async def _clear_up(self) -> str:
        """Delete the parents while the manager runs, then the rest; what lives in a namespace that goes is gone with it."""
        self.clock.passed += AGES  # permits are kept as records, also when they are deleted
        parents = [ref for ref in self.made.values() if _is_parent(ref)]
        left = await self._gone(reversed(parents))
        spaces = {ref.name for ref in self.made.values() if (ref.group, ref.kind) == ("", "Namespace")}
        others = [ref for ref in self.made.values() if not _is_parent(ref) and ref.namespace not in spaces]
        left += await self._gone(reversed(others))
        if not left:
            return ""
        names = ", ".join(map(str, left))
        return f"still there: {names}: look at their status and finalizers; `copyhold uninstall` takes our marks away"

    async def _gone(self, refs: Iterable[Ref]) -> list[Ref]:
        """Delete these objects and wait until they are gone; answers those that are not."""
        left = list(refs)
        for ref in left:
            with suppress(Gone, Blocked):
                await self.editor.delete(ref)
        deadline = monotonic() + LEAVING
        while left and monotonic() < deadline:
            left = [ref for ref in left if await self._there(ref)]
            if left:
                await asyncio.sleep(PAUSE)
        return left

    async def _there(self, ref: Ref) -> bool:
        try:
            return await self.editor.read(ref) is not None
        except (Gone, Blocked):
            return False


def _tell(elector: ExampleElector, state: State) -> None:
    elector.state = state


def _is_parent(ref: Ref) -> bool:
    kind = find(ref.group, ref.kind)
    return kind is not None and kind.lower is not None


def title(example: Example, number: int) -> str:
    """What a step is called: its title, or what it does."""
    step = example.script.steps[number]
    if step.title:
        return step.title
    if step.apply:
        return f"apply {_names(Ref.of(one) for one in example.applied[number])}"
    if step.edit is not None:
        return f"edit {Ref.of(step.edit)}"
    if step.delete:
        return f"delete {_names(place.ref for place in step.delete)}"
    if step.transition is not None:
        return f"{step.verbs[0]} {step.transition[1].ref}"
    return f"let {step.advance} pass" if step.advance is not None else f"expectation of step {number + 1}"


def _names(refs: Iterable[Ref]) -> str:
    return ", ".join(map(str, refs))
