"""The closures of comprehensions: one per macro, each step charged, errors absorbed where the language says so."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policy.cel.budget import FAILURE, MESSAGE, Budget
from policy.cel.error import CelError, Exhausted
from policy.cel.frame import BUDGET, Closure, Frame
from policy.cel.values import LISTS, Key, as_key, key_of


@dataclass(frozen=True, slots=True)
class Parts:
    """A comprehension, compiled: what it goes over, the slots of its variables, test and body, and the cost of a step."""

    over: Closure
    slots: tuple[int, ...]
    test: Closure | None
    body: Closure
    cost: int
    fail: Callable[[str], CelError]


Range = Callable[[Frame], Iterable[Any]]
NO_BOOL = "no such overload: the test of a comprehension is no bool"


def ranged(parts: Parts) -> Range:
    """What is looped over, one value per step: items and keys for one variable, pairs for two."""
    over, fail, pairs = parts.over, parts.fail, len(parts.slots) == 2

    def run(frame: Frame) -> Iterable[Any]:
        value = over(frame)
        if type(value) in LISTS:
            return enumerate(value) if pairs else value
        if isinstance(value, Mapping):
            if pairs:
                return [(key_of(key), value[key]) for key in value]
            return [key_of(key) if type(key) is Key else key for key in value]
        raise fail("no such overload: a comprehension goes over a list or a map")

    return run


def _assigned(parts: Parts) -> tuple[int, int | None]:
    return (parts.slots[0], parts.slots[1]) if len(parts.slots) == 2 else (parts.slots[0], None)


def _quantified(parts: Parts, decisive: bool) -> Closure:
    """`all` and `exists`: the first decisive answer decides, whatever failed before it."""
    items, body, cost, fail = ranged(parts), parts.body, parts.cost, parts.fail
    slot, second = _assigned(parts)

    def run(frame: Frame) -> Any:
        budget: Budget = frame[BUDGET]
        failed: CelError | None = None
        for item in items(frame):
            budget.left -= cost
            if budget.left < 0:
                raise Exhausted(MESSAGE)
            if second is None:
                frame[slot] = item
            else:
                frame[slot], frame[second] = item
            try:
                answer = body(frame)
            except Exhausted:
                raise
            except CelError as error:
                failed = failed or error
                budget.charge(FAILURE)
                continue
            if answer is decisive:
                return decisive
            if answer is not (not decisive):
                failed = failed or fail(NO_BOOL)
        if failed is not None:
            raise failed
        return not decisive

    return run


def all_of(parts: Parts) -> Closure:
    """`all`."""
    return _quantified(parts, decisive=False)


def exists(parts: Parts) -> Closure:
    """`exists`."""
    return _quantified(parts, decisive=True)


def _steps(parts: Parts) -> Callable[[Frame], Iterable[Any]]:
    """Each step with its variables set and charged; yields what was set, where the test holds."""
    items, test, cost, fail = ranged(parts), parts.test, parts.cost, parts.fail
    slot, second = _assigned(parts)

    def run(frame: Frame) -> Iterable[Any]:
        budget: Budget = frame[BUDGET]
        for item in items(frame):
            budget.left -= cost
            if budget.left < 0:
                raise Exhausted(MESSAGE)
            if second is None:
                frame[slot] = item
            else:
                frame[slot], frame[second] = item
            if test is not None:
                answer = test(frame)
                if answer is False:
                    continue
                if answer is not True:
                    raise fail(NO_BOOL)
            yield item

    return run


def exists_one(parts: Parts) -> Closure:
    """`exists_one`: no answer is enough before the last."""
    steps, body, fail = _steps(parts), parts.body, parts.fail

    def run(frame: Frame) -> bool:
        count = 0
        for _ in steps(frame):
            answer = body(frame)
            if answer is True:
                count += 1
            elif answer is not False:
                raise fail(NO_BOOL)
        return count == 1

    return run


def filtered(parts: Parts) -> Closure:
    """`filter`."""
    items, body, cost, fail = ranged(parts), parts.body, parts.cost, parts.fail
    (slot,) = parts.slots

    def run(frame: Frame) -> list[Any]:
        budget: Budget = frame[BUDGET]
        kept = []
        for item in items(frame):
            budget.left -= cost
            if budget.left < 0:
                raise Exhausted(MESSAGE)
            frame[slot] = item
            answer = body(frame)
            if answer is True:
                kept.append(item)
            elif answer is not False:
                raise fail(NO_BOOL)
        return kept

    return run


def mapped(parts: Parts) -> Closure:
    """`map` and `transformList`."""
    steps, body = _steps(parts), parts.body
    return lambda frame: [body(frame) for _ in steps(frame)]


def transformed(parts: Parts) -> Closure:
    """`transformMap`: the keys stay."""
    steps, body = _steps(parts), parts.body
    return lambda frame: {as_key(key): body(frame) for key, _ in steps(frame)}


def entered(parts: Parts) -> Closure:
    """`transformMapEntry`: each step makes entries, and no key may come twice."""
    steps, body, fail = _steps(parts), parts.body, parts.fail

    def run(frame: Frame) -> dict[Any, Any]:
        budget: Budget = frame[BUDGET]
        made: dict[Any, Any] = {}
        for _ in steps(frame):
            entries = body(frame)
            if not isinstance(entries, Mapping):
                raise fail("no such overload: an entry is a map")
            budget.charge(len(entries))
            for key in entries:
                if key in made:
                    raise fail("a key comes twice")
                made[key] = entries[key]
        return made

    return run


LOOPS: Mapping[str, Callable[[Parts], Closure]] = {
    "all": all_of,
    "exists": exists,
    "exists_one": exists_one,
    "filter": filtered,
    "map": mapped,
    "transformMap": transformed,
    "transformMapEntry": entered,
}
