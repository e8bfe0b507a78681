"""The syntax tree: what a text says, before it is known what it means.

Chains (`a && b && c`, `a + b - c`, `p ? x : q ? y : z`) are one node each, so that their length is no depth.
"""

from dataclasses import dataclass
from typing import Any, Literal

from policy.cel.types import Type

LoopKind = Literal["all", "exists", "exists_one", "map", "filter", "transformMap", "transformMapEntry"]


class Refused(Exception):
    """A text that is not accepted, and the offset at which; the parser and the checker turn it into a CelError."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


@dataclass(frozen=True, slots=True)
class Node:
    """Any node: `id` is unique in its tree, `at` the offset in the text that an error points to."""

    id: int
    at: int


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal."""

    value: Any
    type: Type


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name; `.x` with a leading dot is looked up outside of comprehensions and containers."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.field`, or `operand.?field` when optional."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Has(Node):
    """`has(operand.field)`."""

    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`operand[index]`, or `operand[?index]` when optional."""

    operand: Node
    index: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`name(arguments)`, or `target.name(arguments)`."""

    name: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One further operand of a chain, with its operator and where that stands."""

    id: int
    at: int
    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Operands joined by left-associative operators of the same precedence, at least two."""

    first: Node
    rest: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`a && b && ...` or `a || b || ...`."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`!operand` or `-operand`."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Branch:
    """`test ? value`, with where the sign stands."""

    at: int
    test: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`test ? value : test ? value : otherwise`."""

    branches: tuple[Branch, ...]
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a list; one that is optional and absent is left out."""

    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    """`[a, ?b]`."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and a value of a map; a value that is optional and absent leaves the entry out."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """`{a: b, ?c: d}`."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """A comprehension: `over.kind(variables..., test, body)`; `test` is None where the macro has none."""

    kind: LoopKind
    over: Node
    variables: tuple[str, ...]
    test: Node | None
    body: Node


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """`cel.bind(variable, value, body)`."""

    variable: str
    value: Node
    body: Node


@dataclass(frozen=True, slots=True)
class OptionalMap(Node):
    """`target.optMap(variable, body)`; `flat` for `optFlatMap`, whose body is an optional itself."""

    target: Node
    variable: str
    body: Node
    flat: bool


def place(text: str, at: int) -> tuple[int, int]:
    """The line and column of an offset, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Select(operand=operand) | Has(operand=operand) | Unary(operand=operand):
            return (operand,)
        case Index(operand=operand, index=index):
            return operand, index
        case Call(target=target, arguments=arguments):
            return arguments if target is None else (target, *arguments)
        case Chain(first=first, rest=rest):
            return first, *(step.operand for step in rest)
        case Logic(operands=operands):
            return operands
        case Choice(branches=branches, otherwise=otherwise):
            return *(part for branch in branches for part in (branch.test, branch.value)), otherwise
        case ListOf(items=items):
            return tuple(item.value for item in items)
        case MapOf(entries=entries):
            return tuple(part for entry in entries for part in (entry.key, entry.value))
        case Loop(over=over, test=test, body=body):
            return (over, body) if test is None else (over, test, body)
        case Bind(value=value, body=body):
            return value, body
        case OptionalMap(target=target, body=body):
            return target, body
    return ()
