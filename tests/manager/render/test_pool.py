"""The pool against hostile templates and lost processes: whoever is guilty answers Invalid, the others answer."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apis.intent import Group, Policy, Query
from apis.meta import Manifest
from apis.problems import Blocked, Invalid, Problem, Unavailable
from apis.reasons import Reason
from apis.selector import Requirement, Selector
from manager.render import wire
from manager.render.documents import Copy, Document, Job
from manager.render.pool import Renderer

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMITS = wire.Limits(wall=1.0)
TENANT = {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": "solar"}}


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    """One worker, short bounds."""
    renderer = Renderer(limits=LIMITS)
    yield renderer
    await renderer.close()


def config(**data: Any) -> Manifest:
    """A ConfigMap with these data."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def target(expression: str) -> Job:
    """A job that renders one expression in a group of its own."""
    return Job(Group(name="g", targets=(config(a=expression),)), {"tenant": TENANT})


def data(answer: list[Document] | Problem) -> Any:
    """The data of the only document of a good answer."""
    assert not isinstance(answer, Problem), answer
    return answer[0].manifest["data"]["a"]


def processes(renderer: Renderer) -> list[int]:
    """The idle worker processes."""
    return [worker._process.pid for worker in renderer._idle]


def about(process: int, what: str) -> str:
    """What the kernel says about a process."""
    return Path(f"/proc/{process}/{what}").read_text()


GOOD = target("{{ tenant.metadata.name }}")
ENDLESS = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"


async def test_each_job_has_its_answer_in_order(renderer: Renderer) -> None:
    """Documents with source and scalar paths, problems as values; nothing is started before there is work."""
    assert processes(renderer) == []
    assert await renderer.render([], NOW) == []
    answers = await renderer.render([target("{{ 5 }}"), target("{{ nope }}"), GOOD], NOW)
    assert answers[0] == [Document(config(a=5), "targets[0]", (("data", "a"),))]
    assert isinstance(answers[1], Invalid)
    assert (answers[1].reason, data(answers[2])) == (Reason.RENDER_FAILED, "solar")


async def test_copies_context_and_clock_reach_the_worker(renderer: Renderer) -> None:
    """All that a job can hold."""
    query = Query("", "v1", "ConfigMap", selector=Selector.of({"share": "yes"}))
    group = Group(
        name="g",
        policy=Policy(condition="object == null"),
        targets=(config(a="{{ context.pull[0].data.k }} {{ now }}"),),
        copies=(query,),
        labels={"for": "{{ namespace.metadata.name }}"},
    )
    original = {**config(a="1"), "metadata": {"name": "o", "uid": "u", "labels": {"share": "yes"}}}
    variables = {"context": {"pull": [{"data": {"k": "v"}}]}, "namespace": {"metadata": {"name": "dev"}}}
    (documents,) = await renderer.render([Job(group, variables, (Copy(original, 0),))], NOW)
    labelled = {"name": "x", "labels": {"for": "dev"}}
    assert documents == [
        Document({**config(a="v 2026-01-01T12:00:00Z"), "metadata": labelled}, "targets[0]"),
        Document({**config(a="1"), "metadata": {**labelled, "name": "o"}}, "namespacedItems[0]/o"),
    ]


async def test_shared_objects_travel_once() -> None:
    """Hundreds of jobs of one parent repeat group, tenant and context."""
    renderer = Renderer(limits=replace(LIMITS, frame=1 << 30))
    frames: list[bytes] = []

    async def recorded(frame: bytes, cel: bool) -> list[Any]:
        frames.append(frame)
        return [[] for _ in range(200)]

    renderer._ask = recorded  # type: ignore[method-assign]
    group = Group("g", targets=(config(a="x" * 10_000),))
    context = [config(a="y" * 10_000)]
    await renderer.render([Job(group, {"tenant": TENANT, "context": {"a": context}}) for _ in range(200)], NOW)
    assert [len(frame) < 50_000 for frame in frames] == [True]


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        pytest.param(
            ENDLESS,
            "took longer than 1 s twice",
            id="an endless loop",
        ),
        pytest.param("{{ 'x' * 10**9 }}", "would make more than", id="a long string"),
        pytest.param(
            "{% set s = state(x=[]) %}{% for i in range(9999) %}{% set s.x = [s.x, 'y' * 4000000] %}{% endfor %}",
            "memory|ended twice|longer",
            id="a memory bomb",
        ),
        pytest.param("{{ '%1000000000d' % 1 }}", "memory", id="a wide number"),
        pytest.param("{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}", "more than 4194304 characters", id="huge output"),
        pytest.param("{{ cycler.__init__.__globals__ }}", "sandbox", id="an escape"),
        pytest.param("{{ lipsum.__globals__['os'] }}", "not defined", id="another escape"),
    ],
)
async def test_a_hostile_job_is_invalid_and_the_others_answer(renderer: Renderer, hostile: str, message: str) -> None:
    """The guilty group and its bound are named, whatever the others in the batch are."""
    before, bad, after = await renderer.render([GOOD, target(hostile), target("{{ 1 + 1 }}")], NOW)
    assert (data(before), data(after)) == ("solar", 2)
    assert isinstance(bad, Invalid)
    assert bad.reason is Reason.RENDER_FAILED
    with pytest.raises(Invalid, match=message):
        raise bad


async def test_a_group_that_keeps_running_over_its_bound_costs_it_only_a_few_times() -> None:
    """A loop in a template over 200 namespaces must not hold the worker for 200 times the bound."""
    renderer = Renderer(limits=replace(LIMITS, wall=0.5))
    loop = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    group = Group(name="g", targets=(config(a=loop),))
    started = time.monotonic()
    answers = await renderer.render([Job(group, {})] * 50 + [GOOD], NOW)
    assert all(isinstance(answer, Invalid) for answer in answers[:-1])
    assert data(answers[-1]) == "solar"
    assert time.monotonic() - started < 15
    await renderer.close()


async def test_a_killed_worker_is_replaced_and_its_batch_rendered_again(renderer: Renderer) -> None:
    """Killed while it is idle, and while it renders."""
    assert data((await renderer.render([GOOD], NOW))[0]) == "solar"
    (first,) = processes(renderer)
    os.kill(first, signal.SIGKILL)
    assert data((await renderer.render([GOOD], NOW))[0]) == "solar"
    (second,) = processes(renderer)
    loop = "{% for a in range(9999) %}{% for b in range(300) %}{% endfor %}{% endfor %}done"
    work = asyncio.create_task(renderer.render([GOOD, target(loop)], NOW))
    while processes(renderer):  # noqa: ASYNC110 - until the worker is taken, a matter of a few turns of the loop
        await asyncio.sleep(0)
    os.kill(second, signal.SIGKILL)
    assert [data(answer) for answer in await work] == ["solar", "done"]
    assert second not in processes(renderer)


async def test_a_worker_has_no_environment_and_stays_small(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials to find; 40 MB at most, the CEL library not among them."""
    monkeypatch.setenv("COPYHOLD_TEST_SECRET", "hunter2")
    await renderer.render([GOOD], NOW)
    (process,) = processes(renderer)
    names = {entry.partition("=")[0] for entry in about(process, "environ").split("\0") if entry}
    assert names <= {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    assert int(about(process, "status").partition("VmRSS:")[2].split()[0]) < 40_000
    rows = {line[:26].strip(): line[26:].split()[0] for line in about(process, "limits").splitlines()[1:]}
    assert (rows["Max file size"], rows["Max core file size"], rows["Max open files"]) == ("0", "0", "16")
    assert rows["Max address space"] == str(LIMITS.memory)


async def test_a_worker_that_has_grown_is_replaced() -> None:
    """What a batch left behind does not stay."""
    renderer = Renderer(limits=replace(LIMITS, resident=1))
    assert data((await renderer.render([GOOD], NOW))[0]) == "solar"
    assert processes(renderer) == []
    await renderer.close()


async def test_workers_end_with_the_renderer_and_it_takes_no_more_work(renderer: Renderer) -> None:
    """Closing twice is closing once."""
    await renderer.render([GOOD], NOW)
    (process,) = processes(renderer)
    await renderer.close()
    await renderer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(Unavailable):
        await renderer.render([GOOD], NOW)


def test_workers_end_when_their_parent_is_killed() -> None:
    """Nobody is left to tell them: stdin ends, and on Linux the kernel sends a signal."""
    code = (
        "import asyncio, datetime, os, signal\n"
        "from manager.render.pool import Renderer\n"
        "from manager.render.documents import Job\n"
        "from apis.intent import Group\n"
        "async def main():\n"
        "    renderer = Renderer()\n"
        "    await renderer.render([Job(Group('g'), {})], datetime.datetime.now())\n"
        "    print(renderer._idle[0]._process.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    child = int(subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.PIPE, text=True).stdout)
    for _ in range(500):
        if not _running(child):
            return
        time.sleep(0.01)
    raise AssertionError("the worker is still there")


def _running(process: int) -> bool:
    try:
        return about(process, "stat").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_cancelling_ends_the_process_and_the_next_batch_has_another(renderer: Renderer) -> None:
    """Half an answer must never be read as the next one."""
    await renderer.render([GOOD], NOW)
    (first,) = processes(renderer)
    loop = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await renderer.render([target(loop)], NOW)
    assert data((await renderer.render([GOOD], NOW))[0]) == "solar"
    assert first not in processes(renderer)


async def test_answers_that_are_too_many_for_one_frame_are_asked_for_again() -> None:
    """Twenty jobs of a megabyte with room for four."""
    renderer = Renderer(limits=replace(LIMITS, answer=4 << 20))
    answers = await renderer.render([target("{{ 'x' * 1000000 }}") for _ in range(20)], NOW)
    assert [len(data(answer)) for answer in answers] == [1_000_000] * 20
    await renderer.close()


async def test_large_inputs_go_in_several_batches_and_too_large_ones_are_the_authors() -> None:
    """A batch of several is cut; one job that is too large is named."""
    renderer = Renderer(limits=replace(LIMITS, frame=100_000, largest=300_000))
    group = Group(name="g", targets=(config(a="{{ context.c[0] | length }}"),))
    sizes = [50_000, 90_000, 90_000, 200_000, 400_000]
    answers = await renderer.render([Job(group, {"context": {"c": ["y" * size]}}) for size in sizes], NOW)
    assert [data(answer) for answer in answers[:-1]] == sizes[:-1]
    assert isinstance(answers[-1], Invalid)
    await renderer.close()


async def test_two_workers_share_many_batches() -> None:
    """Side by side, in order all the same."""
    renderer = Renderer(workers=2, limits=replace(LIMITS, jobs=10))
    answers = await renderer.render([target(f"{{{{ {n} }}}}") for n in range(40)], NOW)
    assert [data(answer) for answer in answers] == list(range(40))
    assert len(processes(renderer)) == 2
    await renderer.close()


async def test_queries_have_their_strings_rendered_or_say_why_not(renderer: Renderer) -> None:
    """Name, namespace and selector values; what would be a path or a second requirement is refused."""
    selector = Selector((Requirement("a", "In", ("{{ tenant.metadata.name }}", "x")), Requirement("b", "Exists")))
    query = Query("pull", "v1", "Secret", namespace="{{ namespace.metadata.name }}", name="p-{{ 1 }}", selector=selector)
    variables = {"tenant": TENANT, "namespace": {"metadata": {"name": "dev"}}}
    hostile = [
        Query("pull", "v1", "Secret", name="{{ '../x' }}"),
        Query("pull", "v1", "Secret", namespace="{{ nope }}"),
        Query("pull", "v1", "Secret", name="{{ [] }}"),
        Query("pull", "v1", "Secret", name="{{ '' }}"),
        Query("pull", "v1", "Secret", selector=Selector.of({"a": "{{ 'x,b' }}"})),
        Query("pull", "v1", "Secret", name="{{ now }}"),
    ]
    answers = await renderer.queries([(query, variables), *((bad, variables) for bad in hostile)])
    rendered = Selector((Requirement("a", "In", ("solar", "x")), Requirement("b", "Exists")))
    assert answers[0] == Query("pull", "v1", "Secret", namespace="dev", name="p-1", selector=rendered)
    assert all(isinstance(answer, Invalid) and "query 'pull'" in answer.message for answer in answers[1:])


async def test_conditions_are_judged_one_by_one(renderer: Renderer) -> None:
    """True, false, and the fixed message of a failure; a text that is no condition is the author's."""
    aged = {"metadata": {"annotations": {"at": "2026-01-01T11:54:00Z"}}}
    wait = "object == null || now >= timestamp(object.metadata.annotations['at']) + duration('5m')"
    answers = await renderer.conditions([(wait, None), (wait, aged), ("object == null", {}), (wait, {}), ("nope", None)], NOW)
    assert answers[:3] == [True, True, False]
    assert isinstance(answers[3], Blocked)
    assert (answers[3].reason, isinstance(answers[4], Invalid)) == (Reason.CONDITION_FAILED, True)


async def test_a_condition_that_runs_away_is_invalid_and_the_others_answer(renderer: Renderer) -> None:
    """Failure case 79: a comprehension over 10,000 items, squared."""
    numbers = {"l": list(range(10_000))}
    away = "object.l.all(a, object.l.all(b, object.l.exists(c, c == a + b || true)))"
    answers = await renderer.conditions([("object == null", None), (away, numbers), ("has(object.l)", numbers)], NOW)
    assert (answers[0], answers[2]) == (True, True)
    assert isinstance(answers[1], Invalid)


async def test_checking_reports_each_problem_with_its_path(renderer: Renderer) -> None:
    """Templates, conditions and queries of all groups; nothing for what is well."""
    bad = Group(
        "bad",
        policy=Policy(condition="object.=1"),
        targets=(config(a="{{ x | nope }}"),),
        context=(Query("c", "v1", "Secret", name="{{ }}"),),
    )
    found = await renderer.check([Group("g", targets=(config(a="{{ tenant }}"),)), bad])
    assert [problem.message.split(": ")[0] for problem in found] == [
        "spec.resources[1].targets[0].data.a, line 1",
        "spec.resources[1].context.resources[0].name, line 1",
        "spec.resources[1].policy.condition",
    ]


async def test_two_thousand_documents_take_less_than_a_second(renderer: Renderer) -> None:
    """200 namespaces by 10 targets: more than 10,000 a second on one core; the bound here allows for a busy machine."""
    quota: Manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "baseline", "labels": {"tenant": "{{ tenant.metadata.name }}"}},
        "spec": {"hard": {"pods": "{{ 10 * 2 }}", "requests.cpu": "4"}},
    }
    group = Group("g", targets=tuple({**quota, "metadata": {**quota["metadata"], "name": f"q{n}"}} for n in range(10)))
    jobs = [Job(group, {"tenant": TENANT, "namespace": {"metadata": {"name": f"n{n}"}}}) for n in range(200)]
    await renderer.render(jobs, NOW)
    started = time.perf_counter()
    answers = await renderer.render(jobs, NOW)
    took = time.perf_counter() - started
    assert sum(len(answer) for answer in answers if not isinstance(answer, Problem)) == 2000
    assert took < 1


async def test_a_warm_renderer_has_its_process_before_there_is_work(renderer: Renderer) -> None:
    """The process that warming started is the one that renders."""
    await renderer.warm()
    (idle,) = renderer._idle
    assert await renderer.render([GOOD], NOW)
    assert renderer._idle == [idle]


async def test_renders_and_replaced_processes_are_told() -> None:
    """A job that ends its process is told as a restart at each of its tries, and each answer as what it was."""
    results: list[str] = []
    causes: list[str] = []
    renderer = Renderer(limits=LIMITS, rendered=lambda result, _seconds: results.append(result), restarted=causes.append)
    try:
        await renderer.render([GOOD, target(ENDLESS)], NOW)
    finally:
        await renderer.close()
    assert results == ["ok", "invalid"]
    assert causes == ["time", "time"]
