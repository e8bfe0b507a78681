"""The checker: what each name and call of a tree means, and of which type every node is.

It annotates the tree without changing it: `Checked` holds the type and the meaning of nodes by their id. The rules are
those of cel-go; a text that cannot be right is refused with the place and what was expected there.
"""

from collections.abc import Iterable

from policy.cel import types, unify
from policy.cel.checker import Checker, Visitors
from policy.cel.environment import Environment, known
from policy.cel.error import CelError
from policy.cel.library import Overload
from policy.cel.meaning import Candidates, Checked, Local, Unknown
from policy.cel.mixed import mixed
from policy.cel.signatures import OPERATORS
from policy.cel.syntax import (
    Bind,
    Call,
    Chain,
    Choice,
    Constant,
    Has,
    Index,
    ListOf,
    Logic,
    Loop,
    MapOf,
    Name,
    Node,
    OptionalMap,
    Refused,
    Select,
    Unary,
    children,
    place,
)
from policy.cel.types import DYN, Type

MISTAKES = 100  # of one text that are told


def check(tree: Node, text: str, environment: Environment) -> Checked:
    """Annotate the tree of the text. Raises CelError with line and column."""
    checker = Checker(environment, VISITORS)
    try:
        result = checker.visit(tree)
    except RecursionError as error:
        raise CelError("the expression is nested too deeply") from error
    _refuse(checker.refused, text)
    checked = checker.checked
    checked.result = unify.resolve(checker.bound, result, final=True)
    checked.types = {key: unify.resolve(checker.bound, kind, final=True) for key, kind in checked.types.items()}
    if environment.strict and environment.checked:
        _refuse(mixed(tree, checked), text)
    return checked


def _refuse(refused: Iterable[Refused], text: str) -> None:
    """Raise one error for all mistakes, if there are any."""
    ordered = sorted(refused, key=lambda each: each.at)[:MISTAKES]
    errors = [CelError(each.message, *place(text, each.at)) for each in ordered]
    if errors:
        first, *others = errors
        first.others = tuple(others)
        raise first


def _constant(_: Checker, node: Constant) -> Type:
    return node.type


def _name(checker: Checker, node: Name) -> Type:
    local = checker.local(node.name)
    if local is not None:
        checker.checked.meanings[node.id] = Local(local[0])
        return local[1]
    found = checker.named(node, node.name)
    if found is not None:
        return found
    message = f"there is no variable `{node.name}`: known are {known(checker.environment.variables)}"
    checker.checked.meanings[node.id] = Unknown(message)
    return checker.refuse(message, node.at)


def _qualified(checker: Checker, node: Node) -> str | None:
    """`a.b.c` as one name, unless `a` is a variable of a comprehension."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.optional:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Name) or checker.local(node.name) is not None:
        return None
    return ".".join([node.name, *reversed(parts)])


def _select(checker: Checker, node: Select) -> Type:
    if not node.optional:
        name = _qualified(checker, node)
        found = checker.named(node, name) if name is not None else None
        if found is not None:
            return found
    operand = checker.resolved(checker.visit(node.operand))
    found = _field(checker, operand, node)
    # An optional field of an optional value is one optional value.
    return types.optional_of(found) if node.optional and operand.name != "optional_type" else found


def _has(checker: Checker, node: Has) -> Type:
    _field(checker, checker.resolved(checker.visit(node.operand)), node)
    return types.BOOL


def _field(checker: Checker, operand: Type, node: Select | Has) -> Type:
    """The type of a field of a value."""
    if operand.variable:
        checker.matches(operand, DYN)
        return DYN
    match operand:
        case types.DYN | types.ERROR:
            return DYN
        case Type("map", (_, value)):
            return value
        case Type("optional_type", (inner,)):
            return types.optional_of(_field(checker, inner, node))
        case types.ObjectType() if node.field in operand.fields:
            return operand.fields[node.field]
        case types.ObjectType():
            return checker.refuse(f"undefined field '{node.field}'", node.at)
    checker.refuse(f"a value of type {operand} has no fields", node.at)
    return DYN


def _index(checker: Checker, node: Index) -> Type:
    operator = "[?]" if node.optional else "[]"
    operands = checker.visit(node.operand), checker.visit(node.index)
    return checker.call(operator, OPERATORS[operator], operands, node.at)[1]


def _call(checker: Checker, node: Call) -> Type:
    functions, methods = checker.environment.vocabulary.functions, checker.environment.vocabulary.methods
    if node.target is None:
        for name in checker.environment.candidates(node.name):
            if name in functions:
                return _overloaded(checker, node, functions[name], qualified=False)
        return _unknown(checker, node, f"there is no function `{node.name.lstrip('.')}`")
    qualified = _qualified(checker, node.target)
    for name in checker.environment.candidates(f"{qualified}.{node.name}") if qualified is not None else ():
        if name in functions:
            return _overloaded(checker, node, functions[name], qualified=True)
    if node.name in methods:
        return _overloaded(checker, node, methods[node.name], qualified=False)
    if (node.name, True) in checker.environment.vocabulary.macros:
        return _unknown(checker, node, f"`{node.name}` takes a variable and an expression, or more of them")
    return _unknown(checker, node, f"there is no method `{node.name}`")


def _unknown(checker: Checker, node: Call, message: str) -> Type:
    checker.checked.meanings[node.id] = Unknown(message)
    if checker.environment.checked:
        for child in children(node):  # whose mistakes are told as well
            checker.visit(child)
    return checker.refuse(message, node.at)


def _overloaded(checker: Checker, node: Call, overloads: tuple[Overload, ...], *, qualified: bool) -> Type:
    nodes = node.arguments if node.target is None or qualified else (node.target, *node.arguments)
    arguments = [checker.visit(argument) for argument in nodes]
    if not checker.environment.checked:
        fitting = tuple(overload for overload in overloads if overload.taking(len(arguments)) is not None)
        checker.checked.meanings[node.id] = (
            Candidates(fitting, qualified) if fitting else Unknown(f"`{node.name}` does not take so many arguments")
        )
        return DYN
    fitting, result = checker.call(node.name, overloads, arguments, node.at)
    checker.checked.meanings[node.id] = Candidates(fitting, qualified)
    return result


def _chain(checker: Checker, node: Chain) -> Type:
    value = checker.visit(node.first)
    for step in node.rest:
        operand = checker.visit(step.operand)
        _, value = checker.call(step.operator, OPERATORS[step.operator], (value, operand), step.at)
        checker.checked.types[step.id] = value
    return value


def _logic(checker: Checker, node: Logic) -> Type:
    for operand in node.operands:
        checker.boolean(operand, f"an operand of `{node.operator}`")
    return types.BOOL


def _unary(checker: Checker, node: Unary) -> Type:
    operand = checker.visit(node.operand)
    return checker.call(node.operator, OPERATORS[f"{node.operator}_"], (operand,), node.at)[1]


def _choice(checker: Checker, node: Choice) -> Type:
    kinds = [(checker.visit(each.test), checker.visit(each.value)) for each in node.branches]
    result = checker.visit(node.otherwise)
    for branch, (test, value) in zip(reversed(node.branches), reversed(kinds), strict=True):
        _, result = checker.call("?:", OPERATORS["?:"], (test, value, result), branch.at)
    return checker.resolved(result)


def _joined(checker: Checker, before: Type | None, kind: Type) -> Type:
    """The type of elements so far, with one more."""
    if before is None:
        return kind
    if checker.matches(before, kind):
        return unify.general(checker.resolved(before), checker.resolved(kind))
    return DYN


def _plain_or_optional(checker: Checker, node: Node, *, optional: bool) -> Type:
    kind = checker.visit(node)
    if not optional:
        return kind
    inner = checker.variable()
    if not checker.matches(kind, types.optional_of(inner)):
        return checker.refuse(f"after `?` stands an optional value, and this is of type {checker.resolved(kind)}", node.at)
    return checker.resolved(inner)


def _list(checker: Checker, node: ListOf) -> Type:
    joined: Type | None = None
    for item in node.items:
        kind = _plain_or_optional(checker, item.value, optional=item.optional)
        joined = _joined(checker, joined, kind)
    return types.list_of(checker.variable() if joined is None else joined)


KEYS = (types.BOOL, types.INT, types.STRING, types.UINT)


def _map(checker: Checker, node: MapOf) -> Type:
    keys: Type | None = None
    values: Type | None = None
    for entry in node.entries:
        key = checker.visit(entry.key)
        if checker.resolved(key) not in (*KEYS, DYN, types.ERROR) and not checker.resolved(key).variable:
            checker.refuse(f"a key is a bool, int, uint or string, and this is of type {checker.resolved(key)}", entry.key.at)
        keys = _joined(checker, keys, key)
        value = _plain_or_optional(checker, entry.value, optional=entry.optional)
        values = _joined(checker, values, value)
    if keys is None or values is None:
        return types.map_of(checker.variable(), checker.variable())
    return types.map_of(keys, values)


def _loop(checker: Checker, node: Loop) -> Type:
    over = checker.resolved(checker.visit(node.over))
    key, item = _ranged(checker, over, node)
    variables = (item if over.name == "list" else key,) if len(node.variables) == 1 else (key, item)
    with checker.scope(node, *zip(node.variables, variables, strict=True)):
        if node.test is not None:
            checker.boolean(node.test, f"the test of `{node.kind}`")
        if node.kind in ("all", "exists", "exists_one", "filter"):
            checker.boolean(node.body, f"the test of `{node.kind}`")
            return types.list_of(variables[0]) if node.kind == "filter" else types.BOOL
        body = checker.visit(node.body)
    match node.kind:
        case "map":
            return types.list_of(body)
        case "transformMap":
            return types.map_of(key, body)
    entry = types.map_of(checker.variable(), checker.variable())
    if not checker.matches(body, entry):
        return checker.refuse(f"`transformMapEntry` makes entries of maps, and this is of type {body}", node.body.at)
    return checker.resolved(entry)


def _ranged(checker: Checker, over: Type, node: Loop) -> tuple[Type, Type]:
    """The types of key (or position) and item of what is looped over."""
    if over.variable:
        checker.matches(over, DYN)
        return DYN, DYN
    match over:
        case Type("list", (item,)):
            return types.INT, item
        case Type("map", (key, value)):
            return key, value
    if over not in (DYN, types.ERROR):
        checker.refuse(f"`{node.kind}` goes over a list or a map, and this is of type {over}", node.over.at)
    return DYN, DYN


def _bind(checker: Checker, node: Bind) -> Type:
    value = checker.visit(node.value)
    with checker.scope(node, (node.variable, value)):
        return checker.visit(node.body)


def _optional_map(checker: Checker, node: OptionalMap) -> Type:
    inner = checker.variable()
    target = checker.visit(node.target)
    name = "optFlatMap" if node.flat else "optMap"
    if not checker.matches(target, types.optional_of(inner)):
        checker.refuse(f"`{name}` is called on an optional value, and this is of type {checker.resolved(target)}", node.at)
    with checker.scope(node, (node.variable, checker.resolved(inner))):
        body = checker.visit(node.body)
    if not node.flat:
        return types.optional_of(body)
    outcome = types.optional_of(checker.variable())
    if not checker.matches(body, outcome):
        return checker.refuse(f"`optFlatMap` makes an optional value, and this is of type {body}", node.body.at)
    return checker.resolved(outcome)


VISITORS: Visitors = {
    Bind: _bind,
    Call: _call,
    Chain: _chain,
    Choice: _choice,
    Constant: _constant,
    Has: _has,
    Index: _index,
    ListOf: _list,
    Logic: _logic,
    Loop: _loop,
    MapOf: _map,
    Name: _name,
    OptionalMap: _optional_map,
    Select: _select,
    Unary: _unary,
}
