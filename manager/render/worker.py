"""The worker process: reads batches from stdin, renders, answers on stdout. No credentials, no files, no network.

    request   {"op": "render", "now", "groups": [...], "objects": [...], "jobs": [{"group", "variables", "copies"}]}
              {"op": "check" | "queries" | "conditions" | "prepare", ...}
    answer    {"answers": [...], "worn": bool}; an answer is a value, {"problem": [class, reason, message]}, or {"again": true}

Imports are few on purpose: the models of `apis` would cost each worker 12 MB, what evaluates CEL 4 MB, so the latter comes with
the first condition.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from apis.problems import Invalid, Problem
from apis.reasons import Reason
from manager.render import wire
from manager.render.group import Inputs, Plan, check_group, compile_group, query_text, render_job
from manager.render.tree import Run, Tree


def render(request: Tree, limits: wire.Limits) -> Iterator[Any]:
    """One answer per job: its documents."""
    inputs = Inputs(request["objects"], request["now"])
    plans: dict[int, Plan | Problem] = {}
    for job in request["jobs"]:
        index = job["group"]
        if index not in plans:
            plans[index] = _attempt(lambda index=index: compile_group(request["groups"][index]))  # type: ignore[misc]
        plan = plans[index]
        yield plan if isinstance(plan, Problem) else _attempt(lambda plan=plan, job=job: render_job(plan, job, inputs, limits))  # type: ignore[misc]


def queries(request: Tree, limits: wire.Limits) -> Iterator[Any]:
    """One answer per query: its strings, rendered."""
    inputs = Inputs(request["objects"], request["now"])
    for item in request["queries"]:
        variables = inputs.variables(item["variables"], clocked=False, marked=False)
        run = Run(variables, limits.document)
        yield _attempt(lambda run=run, item=item: [query_text(run, *part) for part in item["texts"]])  # type: ignore[misc]


def conditions(request: Tree, _: wire.Limits) -> Iterator[Any]:
    """One answer per (text, object): true or false."""
    from policy.conditions import holds

    now = datetime.fromisoformat(request["now"])
    for source, index in request["items"]:
        live = None if index is None else request["objects"][index]
        yield _attempt(lambda source=source, live=live: holds(source, live, now))  # type: ignore[misc]


def check(request: Tree, _: wire.Limits) -> Iterator[Any]:
    """One answer per group: its problems as [reason, message]."""
    for group in request["groups"]:
        yield [[problem.reason, problem.message] for problem in check_group(group)]


def prepare(_: Tree, __: wire.Limits) -> Iterator[Any]:
    """Load what evaluates CEL, regular expressions with it, outside of any bound on time."""
    from policy import cel

    cel.compile("''.matches('')", {})
    return iter(())


OPERATIONS: dict[str, Callable[[Tree, wire.Limits], Iterator[Any]]] = {
    "render": render,
    "queries": queries,
    "conditions": conditions,
    "check": check,
    "prepare": prepare,
}


def _attempt(work: Callable[[], Any]) -> Any:
    """The result, or the problem that kept it."""
    try:
        return work()
    except Problem as problem:
        return problem
    except RecursionError:
        return Invalid(Reason.RENDER_FAILED, "nested too deeply to be rendered")
    except MemoryError:
        return Invalid(Reason.RENDER_FAILED, "it needs more memory than a worker has")


@dataclass(slots=True)
class Answers:
    """The answers to one request, written until they are too many for one frame."""

    limits: wire.Limits
    written: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, answer: Any) -> None:
        """Encode it, or ask for it to be sent again in a smaller batch; the first one always goes."""
        if isinstance(answer, Problem):
            answer = {"problem": [type(answer).__name__, answer.reason, answer.message]}
        piece = b'{"again":true}' if self.written and self.size > self.limits.answer else orjson.dumps(answer)
        self.size += len(piece)
        self.written.append(piece)

    def frame(self) -> bytes:
        """The whole answer."""
        worn = b"true" if _resident() > self.limits.resident else b"false"
        return b'{"answers":[' + b",".join(self.written) + b'],"worn":' + worn + b"}"


def answer(request: bytes, limits: wire.Limits) -> bytes:
    """One request's answer."""
    decoded = orjson.loads(request)
    answers = Answers(limits)
    for item in OPERATIONS[decoded["op"]](decoded, limits):
        answers.add(item)
    return answers.frame()


def main() -> None:
    """Serve until stdin ends."""
    limits = wire.Limits(**orjson.loads(sys.argv[1]))
    confine(limits, int(sys.argv[2]))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    _send(sink, b"{}")  # ready: from here on the parent's clock runs
    while header := source.read(wire.HEADER):
        request = source.read(int.from_bytes(header, "big"))
        _allow_cpu(limits.cpu)
        _send(sink, answer(request, limits))


def confine(limits: wire.Limits, parent: int) -> None:
    """Take from this process what rendering does not need. Linux's own means are used where the C library has them."""
    sys.setrecursionlimit(1500)
    with contextlib.suppress(OSError):  # no such file where the system has no such killer
        Path("/proc/self/oom_score_adj").write_text("1000")  # when memory is short, take us and not the manager
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C goes to the whole terminal group; our parent ends us
    with_none = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NPROC, 0)]
    for name, most in [*with_none, (resource.RLIMIT_NOFILE, 16), (resource.RLIMIT_AS, limits.memory)]:
        _lower(name, most)
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit()  # it died before the signal was asked for


_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38  # linux/prctl.h


def _lower(name: int, most: int) -> None:
    """Never above what we were given."""
    _, hard = resource.getrlimit(name)
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(name, (bound, bound))


def _allow_cpu(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


def _resident() -> int:
    """Bytes of memory in use now; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _send(sink: BinaryIO, frame: bytes) -> None:
    sink.write(wire.length(len(frame)) + frame)
    sink.flush()


if __name__ == "__main__":
    main()
