"""Which parents must be Ready before this one: a missing or unready one blocks, a cycle is the author's mistake."""

from collections.abc import Mapping, Sequence

from apis.problems import Blocked, Invalid
from apis.reasons import Reason


def check_dependencies(
    name: str, depends_on: Sequence[str], graph: Mapping[str, Sequence[str]], ready: Mapping[str, bool]
) -> None:
    """Judge the dependencies of one parent among the parents of its kind (and namespace).

    `graph` maps each existing parent to what it depends on, `ready` to whether it is Ready in its present generation.
    Raises Invalid for a cycle through this parent, Blocked for the first dependency that is missing or not ready.
    """
    cycle = _cycle(name, graph)
    if cycle:
        raise Invalid(Reason.DEPENDENCY_CYCLE, f"spec.dependsOn runs in a circle: {' -> '.join(cycle)}: take one of them out")
    for other in depends_on:
        if other not in graph:
            raise Blocked(Reason.DEPENDENCY_NOT_READY, f"spec.dependsOn: {other} is not there: create it, or take it out")
        if not ready.get(other, False):
            raise Blocked(Reason.DEPENDENCY_NOT_READY, f"spec.dependsOn: {other} is not Ready yet")


def _cycle(start: str, graph: Mapping[str, Sequence[str]]) -> list[str]:
    """A path from `start` back to itself, or nothing. Iterative: a chain of any length is fine."""
    came_from: dict[str, str] = {}
    waiting = [start]
    while waiting:
        current = waiting.pop()
        for after in graph.get(current, ()):
            if after == start:
                return _path(start, current, came_from)
            if after not in came_from:
                came_from[after] = current
                waiting.append(after)
    return []


def _path(start: str, last: str, came_from: Mapping[str, str]) -> list[str]:
    path = [last]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return [*reversed(path), start]
