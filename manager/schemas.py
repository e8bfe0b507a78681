"""Where the server says string, the number or boolean that an expression gave is written as a string.

The schemas come from `/openapi/v3`: its index, and the document of a group when it is first needed. A parsed document costs
tens of megabytes, so a short-lived child process boils it down to what leads to strings (core: 1.6 MB to 43 kB):

    {"kinds": {kind: definition}, "definitions": {name: node}}
    node: "" (a string) | {"r": name} | {"p": {field: node}, "a": node of other fields, "i": node of items}
"""

import asyncio
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from apis.problems import Gone, Problem, Unavailable
from manager import child
from manager.render import wire

if TYPE_CHECKING:  # the models behind them are nothing that the child process needs
    from apis.meta import Manifest, Ref
    from manager.render.documents import Path

INDEX_AGE = 60.0  # seconds until the index is read again, when somebody asks
RECHECK = 1.0  # the same, for a kind that is not in it
PUBLISHING = 10.0  # seconds in which a new kind may be served without its schema
BOILING = 60.0  # seconds for a child process
CACHED = 64  # group versions

Tree = dict[str, Any]
Fetch = Callable[[str], Awaitable[bytes]]


class Schemas:
    """The schemas of one server, read when needed. `fetch` is a GET by path; `clock` gives seconds that never go back."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._index: dict[str, str] = {}  # "apis/apps/v1" -> its URL, which holds its hash
        self._read_at = float("-inf")
        self._trees: OrderedDict[str, tuple[str, Tree]] = OrderedDict()
        self._asked: OrderedDict[tuple[str, str], float] = OrderedDict()  # kinds without a schema, since when
        self._reading = asyncio.Lock()

    async def coerce(self, ref: "Ref", manifest: "Manifest", scalars: "Sequence[Path]") -> "Manifest":
        """The manifest with those of its scalars as strings for which the schema says string.

        Raises Unavailable while a new kind has no schema yet, and what `fetch` raises.
        """
        if not scalars:
            return manifest
        tree = await self._tree(ref.api_version, ref.kind)
        for path in scalars:
            if is_string(tree, ref.kind, path):
                manifest = with_text(manifest, path)
        return manifest

    async def _tree(self, api_version: str, kind: str) -> Tree:
        place = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        tree = self._known(place)
        if tree is None or kind not in tree["kinds"]:
            async with self._reading:
                tree = self._known(place) or await self._load(place)
                if kind not in tree["kinds"] and self._clock() - self._read_at > RECHECK:
                    self._read_at = float("-inf")  # the kind may be newer than the index
                    tree = await self._load(place)
        if kind not in tree["kinds"]:
            self._not_published(api_version, kind)
        return tree

    def _known(self, place: str) -> Tree | None:
        """The tree in the cache, while the index is fresh."""
        if place not in self._trees or self._clock() - self._read_at > INDEX_AGE:
            return None
        self._trees.move_to_end(place)
        return self._trees[place][1]

    async def _load(self, place: str) -> Tree:
        """The tree by the newest index; read again only when its hash is another."""
        if self._clock() - self._read_at > INDEX_AGE:
            self._index = await self._read_index()
            self._read_at = self._clock()
        url = self._index.get(place)
        if url is None:
            return _NOTHING
        known, tree = self._trees.get(place, ("", _NOTHING))
        if known != url:
            try:
                tree = await boiled(await self._fetch(url), place)
            except Problem:
                self._read_at = float("-inf")  # the index may be older than the document
                raise
            self._trees[place] = (url, tree)
            while len(self._trees) > CACHED:
                self._trees.popitem(last=False)
        return tree

    async def _read_index(self) -> dict[str, str]:
        try:
            index = orjson.loads(await self._fetch("/openapi/v3"))
        except Gone:
            return {}  # a server without schemas: nothing is known to be a string
        return {place: entry["serverRelativeURL"] for place, entry in index["paths"].items()}

    def _not_published(self, api_version: str, kind: str) -> None:
        """A CRD is served a moment before its schema: wait that long, then do without."""
        since = self._asked.setdefault((api_version, kind), self._clock())
        if len(self._asked) > CACHED:
            self._asked.popitem(last=False)
        if self._index and self._clock() - since < PUBLISHING:
            raise Unavailable(f"the server has no schema of {kind} in {api_version} yet", retry_after=1.0)


_NOTHING: Tree = {"kinds": {}, "definitions": {}}


async def boiled(document: bytes, place: str) -> Tree:
    """What `boil` makes of it, made in a child process. Raises Unavailable when that fails."""
    process = await child.start(
        *(sys.executable, "-s", "-P", "-m", "manager.schemas", place),
        environment=wire.environment(("orjson",)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
    )
    try:
        async with asyncio.timeout(BOILING):
            answer, _ = await process.communicate(document)
        tree: Tree = orjson.loads(answer)
    except (TimeoutError, OSError, orjson.JSONDecodeError) as error:
        raise Unavailable(f"the schemas of {place} cannot be read ({type(error).__name__})") from error
    finally:
        await child.end(process)
    return tree


def boil(document: Tree, place: str) -> Tree:
    """The part of an OpenAPI v3 document that leads to strings, for the kinds of one group version (`apis/apps/v1`, `api/v1`)."""
    schemas: Tree = document.get("components", {}).get("schemas", {})
    nodes = {name: _node(schema) for name, schema in schemas.items() if not name.endswith(".Quantity")}
    useful = _useful(nodes)
    kinds = {
        entry["kind"]: name
        for name, schema in schemas.items()
        for entry in schema.get("x-kubernetes-group-version-kind", ())
        if _place(entry) == place
    }
    reached = _reached(kinds.values(), nodes, useful)
    return {"kinds": kinds, "definitions": {name: _pruned(nodes[name], useful) for name in reached}}


def is_string(tree: Tree, kind: str, path: "Path") -> bool:
    """Does the schema of this kind say string, and nothing else, at this path?"""
    definitions = tree["definitions"]
    node: Any = {"r": tree["kinds"].get(kind, "")}
    for step in path:
        node = _resolved(node, definitions)
        if not isinstance(node, dict):
            return False
        node = node.get("i") if isinstance(step, int) else node.get("p", {}).get(step, node.get("a"))
    return bool(_resolved(node, definitions) == "")


def with_text(manifest: "Manifest", path: "Path") -> "Manifest":
    """The manifest with the number or boolean at this path as text, in the words of JSON; unchanged where there is none."""
    step, rest = path[0], path[1:]
    try:
        value: Any = manifest[step]  # type: ignore[index]  # lists on the way
    except (LookupError, TypeError):
        return manifest
    made: Any = with_text(value, rest) if rest else _text(value)
    if made is value:
        return manifest
    changed: Any = manifest.copy()
    changed[step] = made
    return changed  # type: ignore[no-any-return]


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else value


def _resolved(node: Any, definitions: Tree) -> Any:
    """The node behind references; a definition that leads to no string is not there."""
    while isinstance(node, dict) and "r" in node:
        node = definitions.get(node["r"])
    return node


def _place(entry: Tree) -> str:
    group, version = entry.get("group", ""), entry.get("version", "")
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _node(schema: Any) -> Any:
    """A schema without all that has nothing to do with strings; None for what may be something else, too."""
    if not isinstance(schema, dict) or schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return None
    if "$ref" in schema:
        return {"r": schema["$ref"].rpartition("/")[2]}
    parts = [_node(part) for part in schema.get("allOf", ())]
    own = _own(schema)
    nodes = [node for node in (*parts, own) if node is not None]
    if len(nodes) < 2 or any(not isinstance(node, dict) or "r" in node for node in nodes):
        return nodes[0] if nodes else None  # the API server writes one reference into an allOf, with a default beside it
    merged = {key: value for node in nodes for key, value in node.items()}
    return {**merged, "p": {name: part for node in nodes for name, part in node.get("p", {}).items()}}


def _own(schema: Tree) -> Any:
    if schema.get("type") == "string":
        return None if "oneOf" in schema or "anyOf" in schema else ""
    fields = {name: _node(part) for name, part in schema.get("properties", {}).items()}
    node = {
        "p": {name: part for name, part in fields.items() if part is not None},
        "a": _node(schema.get("additionalProperties")),
        "i": _node(schema.get("items")),
    }
    kept = {key: value for key, value in node.items() if value is not None and value != {}}
    return kept or None


def _useful(nodes: Tree) -> set[str]:
    """The definitions that lead to a string, through references and around circles."""
    useful: set[str] = set()
    while True:
        more = {name for name, node in nodes.items() if name not in useful and _leads(node, useful)}
        if not more:
            return useful
        useful |= more


def _leads(node: Any, useful: set[str]) -> bool:
    if not isinstance(node, dict):
        return bool(node == "")
    if "r" in node:
        return node["r"] in useful
    return any(_leads(part, useful) for part in _parts(node))


def _parts(node: Tree) -> list[Any]:
    return [*node.get("p", {}).values(), *(node[key] for key in ("a", "i") if key in node)]


def _pruned(node: Any, useful: set[str]) -> Any:
    if not isinstance(node, dict) or "r" in node:
        return node
    made = {key: _pruned(node[key], useful) for key in ("a", "i") if key in node and _leads(node[key], useful)}
    fields = {name: _pruned(part, useful) for name, part in node.get("p", {}).items() if _leads(part, useful)}
    return {**made, **({"p": fields} if fields else {})}


def _reached(roots: Any, nodes: Tree, useful: set[str]) -> set[str]:
    """The useful definitions that the kinds refer to."""
    found: set[str] = set()
    waiting = [{"r": name} for name in roots]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        name = node.get("r")
        if name is None:
            waiting.extend(_parts(node))
        elif name in useful and name not in found:
            found.add(name)
            waiting.append(nodes[name])
    return found


def main() -> None:
    """The child process: a document on stdin, its tree on stdout."""
    tree = boil(orjson.loads(sys.stdin.buffer.read()), sys.argv[1])
    sys.stdout.buffer.write(orjson.dumps(tree))


if __name__ == "__main__":
    main()
