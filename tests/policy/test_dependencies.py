"""What has to be Ready first: what is missing or unready blocks, a circle is the author's mistake."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from policy.dependencies import check_dependencies

Graph = Mapping[str, Sequence[str]]


def check(name: str, graph: Graph, ready: Mapping[str, bool] | None = None) -> None:
    """Judge one parent of the graph."""
    check_dependencies(name, graph.get(name, ()), graph, ready or {})


@pytest.mark.parametrize(
    ("graph", "ready"),
    [
        pytest.param({"a": []}, {}, id="nothing"),
        pytest.param({"a": ["b"], "b": []}, {"b": True}, id="one that is ready"),
        pytest.param({"a": ["b"], "b": ["c"], "c": []}, {"b": True, "c": False}, id="only the direct ones count"),
        pytest.param({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, {"b": True, "c": True}, id="a diamond is no circle"),
        pytest.param({"a": ["b"], "b": [], "x": ["y"], "y": ["x"]}, {"b": True}, id="a circle of others"),
        pytest.param({"a": ["b"], "b": ["c"], "c": ["b"]}, {"b": True}, id="a circle behind it holds those in it"),
        pytest.param({}, {}, id="not seen by the watch yet"),
    ],
)
def test_nothing_holds_it(graph: Graph, ready: Mapping[str, bool]) -> None:
    """The parent may go on."""
    check("a", graph, ready)


@pytest.mark.parametrize(
    ("graph", "ready", "message"),
    [
        pytest.param({"a": ["b"]}, {}, "spec.dependsOn: b is not there: create it, or take it out", id="missing"),
        pytest.param({"a": ["b"], "b": []}, {"b": False}, "spec.dependsOn: b is not Ready yet", id="not ready"),
        pytest.param({"a": ["b"], "b": []}, {}, "spec.dependsOn: b is not Ready yet", id="nothing known"),
        pytest.param({"a": ["b", "c"], "b": [], "c": []}, {"b": True}, "spec.dependsOn: c is not Ready yet", id="the second"),
    ],
)
def test_what_is_missing_or_unready_blocks(graph: Graph, ready: Mapping[str, bool], message: str) -> None:
    """It waits for somebody else, and says for whom."""
    with pytest.raises(Blocked) as hold:
        check("a", graph, ready)
    assert (hold.value.reason, str(hold.value)) == (Reason.DEPENDENCY_NOT_READY, message)


@pytest.mark.parametrize(
    ("graph", "circle"),
    [
        pytest.param({"a": ["a"]}, "a -> a", id="itself"),
        pytest.param({"a": ["b"], "b": ["a"]}, "a -> b -> a", id="two"),
        pytest.param({"a": ["b"], "b": ["c"], "c": ["d", "a"], "d": []}, "a -> b -> c -> a", id="three"),
        pytest.param({"a": ["x", "b"], "b": ["a"]}, "a -> b -> a", id="beside one that is missing"),
    ],
)
def test_a_circle_is_the_authors_mistake(graph: Graph, circle: str) -> None:
    """It is named as a path, and before anything that would be waited for."""
    with pytest.raises(Invalid) as mistake:
        check("a", graph)
    assert mistake.value.reason is Reason.DEPENDENCY_CYCLE
    assert str(mistake.value) == f"spec.dependsOn runs in a circle: {circle}: take one of them out"


def test_every_member_of_a_circle_sees_it() -> None:
    """So each of them is Stalled, and an edit of any one wakes the others."""
    graph = {"a": ["b"], "b": ["c"], "c": ["a"]}
    for name in graph:
        with pytest.raises(Invalid, match=f"circle: {name} -> "):
            check(name, graph)


def test_a_long_chain_is_fine() -> None:
    """Ten thousand in a row: no recursion."""
    count = 10_000
    graph = {f"n{at}": [f"n{at + 1}"] for at in range(count)} | {f"n{count}": []}
    check("n0", graph, {"n1": True})
    with pytest.raises(Invalid) as mistake:
        check("n0", graph | {f"n{count}": ["n0"]})
    assert str(mistake.value).count(" -> ") == count + 1


NODES = "abcde"
GRAPHS = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from(NODES), max_size=3, unique=True), max_size=5)


def _reached(start: str, graph: Graph) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(graph.get(node, ()))
    return seen


@given(GRAPHS)
def test_a_circle_is_found_exactly_when_a_parent_reaches_itself(graph: Graph) -> None:
    """And the path that is named exists, edge by edge."""
    ready = dict.fromkeys(NODES, True)
    try:
        check("a", graph, ready)
    except Invalid as mistake:
        path = str(mistake).removeprefix("spec.dependsOn runs in a circle: ").split(":", maxsplit=1)[0].split(" -> ")
        assert path[0] == path[-1] == "a"
        assert all(after in graph[before] for before, after in pairwise(path))
    except Blocked:
        assert "a" not in _reached("a", graph)
        assert any(other not in graph for other in graph["a"])
    else:
        assert "a" not in _reached("a", graph)
