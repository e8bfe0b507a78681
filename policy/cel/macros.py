"""The macros: calls that stand for comprehensions, bindings and tests, rewritten while the text is parsed."""

from collections.abc import Callable

from policy.cel.library import Macro
from policy.cel.syntax import Bind, Call, Has, Loop, LoopKind, Name, Node, OptionalMap, Refused, Select

Fresh = Callable[[], int]
Expander = Callable[[Call, Fresh], Node | None]  # None: the call is no use of the macro


def _variable(macro: str, node: Node) -> str:
    if not isinstance(node, Name) or node.name.startswith("."):
        raise Refused(f"`{macro}` takes a variable here: a name without a dot", node.at)
    return node.name


def _target(call: Call) -> Node:
    if call.target is None:
        raise Refused(f"`{call.name}` is called on a value", call.at)
    return call.target


def _has(call: Call, fresh: Fresh) -> Node:
    selection = call.arguments[0]
    if not isinstance(selection, Select) or selection.optional:
        raise Refused("`has` takes the selection of a field, as in `has(object.spec)`", call.at)
    return Has(fresh(), call.at, selection.operand, selection.field)


def _loop(kind: LoopKind, variables: int, tested: int = 0) -> Expander:
    """A comprehension with so many variables; with `tested` arguments, the last but one is a test."""

    def expand(call: Call, fresh: Fresh) -> Node:
        arguments = call.arguments
        names = tuple(_variable(call.name, argument) for argument in arguments[:variables])
        if len(set(names)) != len(names):
            raise Refused(f"`{call.name}` takes two different variables", arguments[1].at)
        test = arguments[-2] if len(arguments) == tested else None
        return Loop(fresh(), call.at, kind, _target(call), names, test, arguments[-1])

    return expand


def _either(one: Expander, two: Expander) -> Expander:
    """A comprehension that may have one variable or two, told apart by the count of arguments."""
    return lambda call, fresh: (one if len(call.arguments) == 2 else two)(call, fresh)


def _bind(call: Call, fresh: Fresh) -> Node | None:
    if not (isinstance(call.target, Name) and call.target.name == "cel"):
        return None
    name, value, body = call.arguments
    return Bind(fresh(), call.at, _variable("cel.bind", name), value, body)


def _optional(flat: bool) -> Expander:
    def expand(call: Call, fresh: Fresh) -> Node:
        name, body = call.arguments
        return OptionalMap(fresh(), call.at, _target(call), _variable(call.name, name), body, flat)

    return expand


STANDARD = (
    Macro("has", frozenset({1}), _has, member=False),
    Macro("all", frozenset({2, 3}), _either(_loop("all", 1), _loop("all", 2))),
    Macro("exists", frozenset({2, 3}), _either(_loop("exists", 1), _loop("exists", 2))),
    Macro("exists_one", frozenset({2}), _loop("exists_one", 1)),
    Macro("map", frozenset({2, 3}), _loop("map", 1, tested=3)),
    Macro("filter", frozenset({2}), _loop("filter", 1)),
)
TWO_VARIABLES = (
    Macro("existsOne", frozenset({3}), _loop("exists_one", 2)),
    Macro("transformList", frozenset({3, 4}), _loop("map", 2, tested=4)),
    Macro("transformMap", frozenset({3, 4}), _loop("transformMap", 2, tested=4)),
    Macro("transformMapEntry", frozenset({3, 4}), _loop("transformMapEntry", 2, tested=4)),
)
BINDINGS = (Macro("bind", frozenset({3}), _bind),)
OPTIONALS = (
    Macro("optMap", frozenset({2}), _optional(flat=False)),
    Macro("optFlatMap", frozenset({2}), _optional(flat=True)),
)
