"""How many conditions per second of CPU: ours beside cel-python and cel-expr-python, each on an object not seen before.

What a binding costs is part of the evaluation: cel-python and cel-expr-python convert the object first, ours reads it as it is.
"""

import importlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import process_time
from types import ModuleType
from typing import Any

from policy import cel

ROUNDS = 5
SECONDS = 0.1
"""Of one round of one engine; the best of all rounds counts."""

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROTATED = "keys.example.org/rotated-at"
CONTAINERS = [
    {
        "name": f"c{number}",
        "image": f"registry.example.org/team/app-{number}:1.{number}.0",
        "resources": {"limits": {"memory": "256Mi", "cpu": "500m"}, "requests": {"memory": "128Mi"}},
        "ports": [{"containerPort": 8080 + number, "protocol": "TCP"}],
    }
    for number in range(5)
]
APPROVALS = [
    {"user": {"name": f"user-{number}", "groups": ["staff", "security"]}, "decision": "Approved", "at": "2026-03-01T11:00:00Z"}
    for number in range(6)
]


@dataclass(frozen=True, slots=True)
class Case:
    """A condition and the object that it is about."""

    name: str
    text: str
    object: Any

    def fresh(self, count: int) -> list[Any]:
        """Copies that nobody has seen."""
        text = json.dumps(self.object)
        return [json.loads(text) for _ in range(count)]


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key", "namespace": "shop", "labels": {"a": "b"}, "annotations": {ROTATED: "2026-03-01T11:00:00Z"}},
    "data": {"key": "AAECAwQFBgc="},
}
CASES = (
    Case("object == null", "object == null", SECRET),
    Case(
        "rotated-at (seed)",
        f"object == null || !has(object.metadata.annotations) || !('{ROTATED}' in object.metadata.annotations) || "
        f"now >= timestamp(object.metadata.annotations['{ROTATED}']) + duration('5m')",
        SECRET,
    ),
    Case(
        "all containers",
        "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.org/') && has(c.resources.limits))",
        {"kind": "Deployment", "spec": {"replicas": 3, "template": {"spec": {"containers": CONTAINERS}}}},
    ),
    Case(
        "filter approvals",
        "object.status.approvals.filter(a, a.decision == 'Approved' && a.user.name != object.spec.requester).size() >= 2",
        {"kind": "ResourcePermit", "spec": {"requester": "user-0"}, "status": {"approvals": APPROVALS}},
    ),
)

Evaluate = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Engine:
    """An implementation of CEL: `compile` prepares a text, what it returns evaluates one object. `goal`: our times of it."""

    name: str
    compile: Callable[[str], Evaluate]
    goal: float


def _ours(text: str) -> Evaluate:
    program = cel.compile(text, {"object": "dyn", "now": "timestamp"})
    return lambda value: program.evaluate({"object": value, "now": NOW})


def _cel_python(module: ModuleType) -> Callable[[str], Evaluate]:
    logging.getLogger("celpy").setLevel(logging.CRITICAL)

    def compile(text: str) -> Evaluate:
        environment = module.Environment()
        program = environment.program(environment.compile(text))
        now = module.celtypes.TimestampType(NOW)
        return lambda value: program.evaluate({"object": module.json_to_cel(value), "now": now})

    return compile


def _cel_expr_python(module: ModuleType) -> Callable[[str], Evaluate]:
    kinds = module.Type

    def compile(text: str) -> Evaluate:
        environment = module.NewEnv(variables={"object": kinds.DYN, "now": kinds.TIMESTAMP})
        program = environment.compile(text)
        return lambda value: program.eval(data={"object": value, "now": NOW}).plain_value()

    return compile


OTHERS = (("cel-python", "celpy", _cel_python, 100.0), ("cel-expr-python", "cel_expr_python.cel", _cel_expr_python, 2.0))
"""Name, module, how it is used, and how many times as fast ours shall be at least."""


def engines() -> Iterator[Engine]:
    """Ours first, then the others that can be imported here."""
    yield Engine("ours", _ours, 1.0)
    for name, module, adapted, goal in OTHERS:
        try:
            yield Engine(name, adapted(importlib.import_module(module)), goal)
        except ImportError:  # cel-expr-python needs Python 3.12
            continue


def rate(evaluate: Evaluate, case: Case, seconds: float) -> float:
    """Evaluations per second of CPU in one round: what others do on the machine does not count."""
    (first,) = case.fresh(1)
    begun = process_time()
    evaluate(first)
    once = max(process_time() - begun, 1e-7)
    objects = case.fresh(max(3, min(20_000, int(seconds / once))))
    begun = process_time()
    for value in objects:
        evaluate(value)
    return len(objects) / (process_time() - begun)


def compare(case: Case, known: Sequence[Engine], rounds: int = ROUNDS, seconds: float = SECONDS) -> list[float]:
    """The best rate of each engine, the rounds taken in turns. Raises AssertionError when two do not answer alike."""
    programs = [engine.compile(case.text) for engine in known]
    answers = {engine.name: bool(program(case.fresh(1)[0])) for engine, program in zip(known, programs, strict=True)}
    assert len(set(answers.values())) == 1, answers
    best = [0.0] * len(programs)
    for _ in range(rounds):
        best = [max(sofar, rate(program, case, seconds)) for sofar, program in zip(best, programs, strict=True)]
    return best


def measure(say: Callable[[str], None]) -> None:
    """Measure all cases and print a table: evaluations per second, and how many times as many ours makes."""
    known = list(engines())
    say("evaluations per second of CPU, each on a fresh object; x: ours is so many times as fast (the goal beside the name)")
    titles = [engine.name if engine.goal == 1 else f"{engine.name} ({engine.goal:.0f}x)" for engine in known]
    say(f"{'condition':<20}" + "".join(f"{title:>26}" for title in titles))
    for case in CASES:
        ours, *others = compare(case, known)
        shown = [f"{found:>14,.0f} {f'{ours / found:,.1f}x':>11}" for found in others]
        say(f"{case.name:<20}{ours:>26,.0f}" + "".join(shown))
    for name, module, _, _ in OTHERS:
        if name not in {engine.name for engine in known}:
            say(f"{name} is not installed here ({module}): it needs Python 3.12")
