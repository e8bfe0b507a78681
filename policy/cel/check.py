"""The checker: what each name and call of a tree means, and of which type every node is.

It annotates the tree without changing it: `Checked` holds the type and the meaning of nodes by their id. The rules are
those of cel-go; a text that cannot be right is refused with the place and what was expected there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from policy.cel import types, unify
from policy.cel.environment import Environment, known
from policy.cel.error import CelError
from policy.cel.library import Constant as Named
from policy.cel.library import Overload, Signature
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

FIRST_SLOT = 2  # of a frame, see `policy.cel.frame`
SHOWN = 6  # overloads in a message
MISTAKES = 100  # of one text that are told


@dataclass(frozen=True, slots=True)
class Variable:
    """The name means a variable of the environment."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Local:
    """The name means a variable of a comprehension or binding, kept in a slot of the frame."""

    slot: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """The call means one of these overloads. `qualified`: the target is part of the name and no argument."""

    overloads: tuple[Overload, ...]
    qualified: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known by the name: an error when it is evaluated. Only in texts that are not checked."""

    message: str


Meaning = Variable | Local | Named | Candidates | Unknown


@dataclass(slots=True)
class Checked:
    """What the checker found. `slots` are those of comprehensions and bindings; `size` is how large a frame must be."""

    result: Type = DYN
    types: dict[int, Type] = field(default_factory=dict)
    meanings: dict[int, Meaning] = field(default_factory=dict)
    slots: dict[int, tuple[int, ...]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    size: int = FIRST_SLOT


def check(tree: Node, text: str, environment: Environment) -> Checked:
    """Annotate the tree of the text. Raises CelError with line and column."""
    checker = Checker(environment)
    try:
        result = checker.visit(tree)
    except RecursionError as error:
        raise CelError("the expression is nested too deeply") from error
    _refuse(checker.refused, text)
    checked = checker.checked
    checked.result = unify.resolve(checker.bound, result, final=True)
    checked.types = {key: unify.resolve(checker.bound, kind, final=True) for key, kind in checked.types.items()}
    if environment.strict and environment.checked:
        _refuse(_mixed(tree, checked), text)
    return checked


def _refuse(refused: Iterable[Refused], text: str) -> None:
    """Raise one error for all mistakes, if there are any."""
    ordered = sorted(refused, key=lambda each: each.at)[:MISTAKES]
    errors = [CelError(each.message, *place(text, each.at)) for each in ordered]
    if errors:
        first, *others = errors
        first.others = tuple(others)
        raise first


MIXED = frozenset({"format"})  # in whose arguments a list may mix types


def _mixed(tree: Node, checked: Checked) -> Iterator[Refused]:
    """Literals that mix types, which Kubernetes refuses: what is `dyn` is a type of its own there."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Call) and node.name in MIXED:
            continue
        nodes += children(node)
        match node:
            case ListOf(items=items):
                columns = [[(item.value, item.optional) for item in items]]
            case MapOf(entries=entries):
                keys = [(entry.key, False) for entry in entries]
                columns = [keys, [(entry.value, entry.optional) for entry in entries]]
            case _:
                continue
        for column in columns:
            kinds = [_inner(checked.types[value.id]) if optional else checked.types[value.id] for value, optional in column]
            for kind, (value, _) in zip(kinds, column, strict=True):
                if kind != kinds[0]:
                    message = f"this is of type {kind}, and what stands before it of type {kinds[0]}: make all of them dyn()"
                    yield Refused(message, value.at)
                    break


def _inner(kind: Type) -> Type:
    """The type within an optional one."""
    return kind.parameters[0] if kind.parameters else kind


class Checker:
    """One walk over one tree."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.checked = Checked()
        self.refused: list[Refused] = []
        self.bound: unify.Bindings = {}
        self._scopes: list[tuple[str, int, Type]] = []
        self._fresh = 0
        self._calls: dict[Any, tuple[tuple[Any, ...], Type]] = {}

    def visit(self, node: Node) -> Type:
        """The type of a node, noted with those below it."""
        found = VISITORS[type(node)](self, node)
        self.checked.types[node.id] = found
        return found

    def resolved(self, kind: Type) -> Type:
        """The type with what is known of its variables by now."""
        return unify.resolve(self.bound, kind)

    def variable(self) -> Type:
        """A fresh type variable."""
        self._fresh += 1
        return Type(f"#{self._fresh}", variable=True)

    def refuse(self, message: str, at: int) -> Type:
        """The text is wrong here, and what stands here may be anything; where it is not checked, the evaluation will tell."""
        if not self.environment.checked:
            return DYN
        self.refused.append(Refused(message, at))
        return types.ERROR

    def matches(self, actual: Type, expected: Type) -> bool:
        """May the one stand for the other? Type variables are bound where that decides it."""
        found = unify.assign(self.bound, (actual,), (expected,))
        if found is None:
            return False
        self.bound = found
        return True

    def boolean(self, node: Node, what: str) -> None:
        """Visit a node that has to be a boolean."""
        kind = self.visit(node)
        if not self.matches(kind, types.BOOL):
            self.refuse(f"{what} has to be a bool, and this is of type {self.resolved(kind)}", node.at)

    @contextmanager
    def scope(self, node: Node, *variables: tuple[str, Type]) -> Iterator[None]:
        """Variables that are known below a node."""
        before = len(self._scopes)
        for name, kind in variables:
            self._scopes.append((name, FIRST_SLOT + len(self._scopes), kind))
        self.checked.slots[node.id] = tuple(slot for _, slot, _ in self._scopes[before:])
        self.checked.size = max(self.checked.size, FIRST_SLOT + len(self._scopes))
        yield
        del self._scopes[before:]

    def local(self, name: str) -> tuple[int, Type] | None:
        """The slot and type of a variable of an enclosing comprehension."""
        for other, slot, kind in reversed(self._scopes):
            if other == name:
                return slot, kind
        return None

    def named(self, node: Node, name: str) -> Type | None:
        """The type of a variable or constant of the environment, noted as the meaning of the node."""
        for candidate in self.environment.candidates(name):
            declared = self.environment.variables.get(candidate)
            if declared is not None:
                self.checked.meanings[node.id] = Variable(candidate, declared)
                self.checked.names.add(candidate)
                return declared
            constant = self.environment.vocabulary.constants.get(candidate)
            if constant is not None:
                self.checked.meanings[node.id] = constant
                return constant.type
        return None

    def call(self, name: str, overloads: Sequence[Signature], arguments: Sequence[Type], at: int) -> tuple[Any, Type]:
        """The overloads that fit the arguments, and the type of the result."""
        key = (name, id(overloads), tuple(arguments))  # the tables of overloads live as long as the vocabulary
        if key in self._calls:
            return self._calls[key]
        fitting: list[Signature] = []
        result: Type | None = None
        bound = self.bound
        for overload in overloads:
            parameters = _stretched(overload, len(arguments))
            if parameters is None:
                continue
            self._fresh += 1
            suffix = f"#{self._fresh}"
            found = unify.assign(self.bound, arguments, [unify.renamed(parameter, suffix) for parameter in parameters])
            if found is None:
                continue
            fitting.append(overload)
            outcome = unify.resolve(found, unify.renamed(overload.result, suffix))
            if result is None:
                result, bound = outcome, found
            elif outcome != result:
                result = DYN
        if result is None:
            given = ", ".join(str(unify.resolve(self.bound, kind, final=True)) for kind in arguments)
            wanted = " or ".join(_shown(overload) for overload in overloads[:SHOWN])
            more = " or others" if len(overloads) > SHOWN else ""
            return (), self.refuse(f"`{name}` takes {wanted}{more}, not ({given})", at)
        self.bound = bound
        outcome_all = (tuple(fitting), result)
        if not any(map(_open, (*arguments, result))):
            self._calls[key] = outcome_all  # a long chain of numbers asks the same again and again
        return outcome_all


def _stretched(overload: Signature, count: int) -> Sequence[Type] | None:
    parameters = overload.parameters
    if len(parameters) == count:
        return parameters
    if isinstance(overload, Overload) and overload.variadic and count >= len(parameters):
        return (*parameters, *(parameters[-1] for _ in range(count - len(parameters))))
    return None


def _open(kind: Type) -> bool:
    """Does the type depend on what type variables turn out to be?"""
    return kind.variable or any(map(_open, kind.parameters))


def _shown(overload: Signature) -> str:
    return f"({', '.join(map(str, overload.parameters))})"


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
        fitting = tuple(overload for overload in overloads if _stretched(overload, len(arguments)) is not None)
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


VISITORS: Mapping[type[Node], Callable[[Checker, Any], Type]] = {
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
