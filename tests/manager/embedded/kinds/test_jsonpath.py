"""Paths of columns: what they find was taken from a real server."""

from typing import Any

import pytest

from manager.embedded.kinds.jsonpath import BadPath, parse

ROOT = {
    "a": "text",
    "list": [{"x": "p", "n": 1}, {"x": "q", "y": "found", "n": 2}],
    "labels": {"a.b/c": "lab", "plain": 1},
    "nothing": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a", ["text"]),
        ("a", ["text"]),
        ("{.a}", ["text"]),
        ("$.a", ["text"]),
        (".missing", []),
        (".missing.deeper", []),
        (".nothing", [None]),
        (".nothing.deeper", []),
        (".list[0].x", ["p"]),
        (".list[-1].x", ["q"]),
        (".list[5].x", []),
        (".list[*].x", ["p", "q"]),
        (".list[0:1].x", ["p"]),
        (".list[::1].x", ["p", "q"]),
        (".a[0]", []),
        (r".labels.a\.b/c", ["lab"]),
        (".labels['plain']", [1]),
        (".labels['a.b/c']", []),
        (".labels.*", ["lab", 1]),
        ("..x", ["p", "q"]),
        ('.list[?(@.x=="q")].y', ["found"]),
        (".list[?(@.x=='zzz')].y", []),
        (".list[?(@.n>1)].n", [2]),
        (".list[?(@.n>=1)].n", [1, 2]),
        (".list[?(@.y)].x", ["q"]),
        (".list[?(@.x==1)].x", []),
        (".list[0,1].x", ["p", "q"]),
        (".labels[?(@.x)].x", []),
    ],
)
def test_a_path_finds_what_the_server_finds(path: str, found: list[Any]):
    """Quoted keys are read like paths: a dot in them is a step."""
    assert parse(path).find(ROOT) == found


@pytest.mark.parametrize("path", [".list[", ".list[x]", "..", ".list[?(@.x==)]"])
def test_what_is_no_path_is_refused(path: str):
    """A definition with such a column is refused before."""
    with pytest.raises(BadPath):
        parse(path)
