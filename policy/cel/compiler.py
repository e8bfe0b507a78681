"""From a checked tree to closures: each node becomes a function of the frame, specialised by what is known of it.

Values are read as they are: a path such as `object.metadata.labels['a']` is three subscriptions of plain dicts. The slow
functions in `operators` are asked when a fast one does not fit, and say what is wrong.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.cel import operators, regex, types
from policy.cel.budget import FAILURE, Budget
from policy.cel.calls import certain, chosen, fixed
from policy.cel.error import CelError, Exhausted
from policy.cel.frame import BUDGET, Closure, Frame, Source
from policy.cel.library import Constant as Named
from policy.cel.loops import LOOPS, Parts
from policy.cel.meaning import Candidates, Checked, Local, Unknown, Variable
from policy.cel.pairs import BINARY, pair
from policy.cel.paths import converted, path
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
    Select,
    Unary,
)
from policy.cel.values import ABSENT, Optional, as_key

STEP = 8  # units of a comprehension's step
NODE = 5  # and of each node in it
CALL = 4  # further nodes that a call counts for
LIST = 1  # and a literal, for what it takes in memory
MAP = 5
FOLDING = 10_000  # units that evaluating a constant call at compile time may cost
FOLDED = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
PATTERNS = frozenset({"find", "findAll", "matches"})  # their last argument is one

_CONVERTED = (types.TIMESTAMP, types.DURATION)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A closure, what it costs before any comprehension, and whether it reads the budget of its frame."""

    run: Closure
    cost: int
    budgeted: bool


def compiled(tree: Node, text: str, checked: Checked, *, strict: bool) -> Compiled:
    """The closure of a checked tree; `strict` as in Environment. Raises CelError for a malformed literal."""
    compiler = Compiler(Source(text), checked, strict=strict)
    run = compiler.visit(tree)
    return Compiled(run, compiler.nodes, compiler.budgeted)


class Compiler:
    """One walk over one checked tree."""

    def __init__(self, source: Source, checked: Checked, *, strict: bool) -> None:
        self.strict = strict
        self.source = source
        self.checked = checked
        self.nodes = 0
        self.budgeted = False
        self.looping = False
        self._constants: dict[Closure, Any] = {}
        self._paths: dict[Closure, tuple[Closure | str | int, tuple[str, ...]]] = {}

    def visit(self, node: Node) -> Closure:
        """The closure of a node."""
        self.nodes += 1
        return VISITORS[type(node)](self, node)

    def constant(self, value: Any) -> Closure:
        """A closure that always gives the value."""

        def run(_: Frame) -> Any:
            return value

        self._constants[run] = value
        return run

    def is_constant(self, closure: Closure) -> bool:
        """Does the closure always give the same?"""
        return closure in self._constants

    def value(self, closure: Closure) -> Any:
        """The value of a constant closure."""
        return self._constants[closure]

    def type(self, node: Node) -> types.Type:
        """The type of a node."""
        return self.checked.types[node.id]

    def path(self, root: "Closure | str | int", fields: tuple[str, ...], at: int) -> Closure:
        """Fields of fields: the root is a variable, a slot or any closure."""
        run = path(root, fields, self.source, at)
        self._paths[run] = (root, fields)
        return run

    def longer(self, operand: Closure, field: str, at: int) -> Closure:
        """One field more."""
        root, fields = self._paths.get(operand, (operand, ()))
        return self.path(root, (*fields, field), at)


def _constant(compiler: Compiler, node: Constant) -> Closure:
    return compiler.constant(node.value)


def _name(compiler: Compiler, node: Name | Select) -> Closure:
    meaning = compiler.checked.meanings[node.id]
    match meaning:
        case Local(slot):
            return compiler.path(slot, (), node.at)
        case Named(value=value):
            return compiler.constant(value)
        case Variable(name, kind):
            if kind in _CONVERTED:
                return converted(name, compiler.source, node.at)
            return compiler.path(name, (), node.at)
    assert isinstance(meaning, Unknown)  # noqa: S101 - what else the checker notes for a name
    return _failing(compiler, meaning.message, node.at)


def _failing(compiler: Compiler, message: str, at: int) -> Closure:
    source = compiler.source

    def run(_: Frame) -> Any:
        raise source.error(message, at)

    return run


def _select(compiler: Compiler, node: Select) -> Closure:
    if node.id in compiler.checked.meanings:
        return _name(compiler, node)
    operand = compiler.visit(node.operand)
    if not node.optional:
        return compiler.longer(operand, node.field, node.at)
    field, source, at = node.field, compiler.source, node.at

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is dict:
            return Optional(True, value[field]) if field in value else ABSENT
        try:
            return operators.optional_select(value, field)
        except CelError as error:
            raise source.located(error, at) from None

    return run


def _has(compiler: Compiler, node: Has) -> Closure:
    operand = compiler.visit(node.operand)
    field, source, at = node.field, compiler.source, node.at

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if type(value) is dict:
            return field in value
        try:
            return operators.present(value, field)
        except CelError as error:
            raise source.located(error, at) from None

    return run


def _index(compiler: Compiler, node: Index) -> Closure:
    operand, position = compiler.visit(node.operand), compiler.visit(node.index)
    source, at = compiler.source, node.at
    if not node.optional and compiler.is_constant(position) and type(compiler.value(position)) is str:
        return compiler.longer(operand, compiler.value(position), at)
    find: Callable[[Any, Any], Any] = operators.optional_index if node.optional else operators.index

    def run(frame: Frame) -> Any:
        value, key = operand(frame), position(frame)
        try:
            return find(value, key)
        except CelError as error:
            raise source.located(error, at) from None

    return run


def _call(compiler: Compiler, node: Call) -> Closure:
    meaning = compiler.checked.meanings[node.id]
    if isinstance(meaning, Unknown):
        return _failing(compiler, meaning.message, node.at)
    assert isinstance(meaning, Candidates)  # noqa: S101 - what else the checker notes for a call
    nodes = node.arguments if node.target is None or meaning.qualified else (node.target, *node.arguments)
    arguments = [compiler.visit(argument) for argument in nodes]
    compiler.budgeted = compiler.budgeted or len(meaning.overloads) > 1 or meaning.overloads[0].budget
    compiler.nodes += CALL
    kinds = [compiler.type(argument) for argument in nodes]
    if node.name in PATTERNS and compiler.is_constant(arguments[-1]):
        _pattern(compiler, compiler.value(arguments[-1]), nodes[-1].at)
    exact = [overload for overload in meaning.overloads if certain(overload, kinds)]
    if len(exact) == len(meaning.overloads) == 1:
        run = fixed(exact[0], arguments, compiler.source, node.at)
    else:
        compiler.budgeted = True
        run = chosen(node.name, meaning.overloads, arguments, compiler.source, node.at)
    if node.name in FOLDED and node.target is None and all(map(compiler.is_constant, arguments)):
        return _folded(compiler, run, refused=compiler.strict)
    return run


def _folded(compiler: Compiler, run: Closure, *, refused: bool) -> Closure:
    """A conversion of a literal is done once; one that fails is refused, or fails again at each evaluation."""
    try:
        return compiler.constant(run([Budget(FOLDING), {}]))
    except CelError:
        if refused:
            raise
        return run


def _pattern(compiler: Compiler, text: object, at: int) -> None:
    """A literal regular expression is compiled with the expression, and refused when it is none."""
    try:
        if isinstance(text, str):
            regex.pattern(text)
    except CelError as error:
        if compiler.strict:
            raise compiler.source.located(error, at) from error


def _chain(compiler: Compiler, node: Chain) -> Closure:
    first = compiler.visit(node.first)
    if len(node.rest) == 1:
        step = node.rest[0]
        return pair(compiler, step.operator, first, compiler.visit(step.operand), step.at)
    compiler.budgeted = True
    compiler.nodes += len(node.rest) - 1
    steps = tuple((BINARY[step.operator], compiler.visit(step.operand), step.at) for step in node.rest)
    source = compiler.source

    def run(frame: Frame) -> Any:
        value, budget = first(frame), frame[BUDGET]
        for operation, operand, at in steps:
            other = operand(frame)
            try:
                value = operation(value, other, budget)
            except CelError as error:
                raise source.located(error, at) from None
        return value

    return run


def _logic(compiler: Compiler, node: Logic) -> Closure:
    decisive = node.operator == "||"
    undecided = not decisive
    operands = tuple(compiler.visit(operand) for operand in node.operands)
    compiler.nodes += len(operands) - 2
    source, at, looping = compiler.source, node.at, compiler.looping
    message = f"no such overload: an operand of `{node.operator}` is no bool"

    def settle(failed: CelError, rest: Iterator[Closure], frame: Frame) -> Any:
        """Something failed: only a decisive operand makes that good."""
        for operand in rest:
            if looping:
                frame[BUDGET].charge(FAILURE)
            try:
                if operand(frame) is decisive:
                    return decisive
            except Exhausted:
                raise
            except CelError:
                continue  # the first failure is reported, unless an operand decides
        raise failed

    def run(frame: Frame) -> Any:
        rest = iter(operands)
        try:
            for operand in rest:
                value = operand(frame)
                if value is decisive:
                    return decisive
                if value is not undecided:
                    return settle(source.error(message, at), rest, frame)
        except Exhausted:
            raise
        except CelError as error:
            return settle(error, rest, frame)
        return undecided

    return run


def _unary(compiler: Compiler, node: Unary) -> Closure:
    operand = compiler.visit(node.operand)
    source, at = compiler.source, node.at
    if node.operator == "!":

        def run(frame: Frame) -> Any:
            value = operand(frame)
            if value is True:
                return False
            if value is False:
                return True
            raise source.located(operators.mismatch("!"), at)

    else:

        def run(frame: Frame) -> Any:
            value = operand(frame)
            try:
                return operators.negate(value)
            except CelError as error:
                raise source.located(error, at) from None

    return run


def _choice(compiler: Compiler, node: Choice) -> Closure:
    branches = tuple((compiler.visit(each.test), compiler.visit(each.value), each.test.at) for each in node.branches)
    otherwise, source = compiler.visit(node.otherwise), compiler.source

    def run(frame: Frame) -> Any:
        for test, value, at in branches:
            answer = test(frame)
            if answer is True:
                return value(frame)
            if answer is not False:
                raise source.error("no such overload: the test before `?` is no bool", at)
        return otherwise(frame)

    return run


NO_OPTIONAL = "no such overload: what stands after `?` is no optional value"


def _list(compiler: Compiler, node: ListOf) -> Closure:
    compiler.nodes += LIST
    closures = tuple(compiler.visit(item.value) for item in node.items)
    if not any(item.optional for item in node.items):
        if all(map(compiler.is_constant, closures)):
            values = [compiler.value(closure) for closure in closures]
            return compiler.constant(values)
        return lambda frame: [closure(frame) for closure in closures]
    items = tuple(zip(closures, (item.optional for item in node.items), (item.value.at for item in node.items), strict=True))
    source = compiler.source

    def run(frame: Frame) -> list[Any]:
        made = []
        for closure, optional, at in items:
            value = closure(frame)
            if not optional:
                made.append(value)
            elif type(value) is not Optional:
                raise source.error(NO_OPTIONAL, at)
            elif value.present:
                made.append(value.value)
        return made

    return run


def _map(compiler: Compiler, node: MapOf) -> Closure:
    compiler.nodes += MAP
    source = compiler.source
    entries = tuple(
        (compiler.visit(entry.key), compiler.visit(entry.value), entry.optional, entry.key.at) for entry in node.entries
    )

    def run(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for name, closure, optional, at in entries:
            key, value = name(frame), closure(frame)
            if optional:
                if type(value) is not Optional:
                    raise source.error(NO_OPTIONAL, at)
                if not value.present:
                    continue
                value = value.value
            if type(key) is not str:
                key = _key(key, source, at)
            if key in made:
                raise source.error("a key comes twice", at)
            made[key] = value
        return made

    return run


def _key(value: Any, source: Source, at: int) -> Any:
    """The key of an entry that is made: no double, unlike where one is looked up."""
    try:
        key = as_key(value)
    except CelError as error:
        raise source.located(error, at) from None
    if type(key) is float:
        raise source.error("a map has no key of this type", at)
    return key


def _loop(compiler: Compiler, node: Loop) -> Closure:
    compiler.budgeted = True
    over = compiler.visit(node.over)
    before, outer = compiler.nodes, compiler.looping
    compiler.looping = True
    test = None if node.test is None else compiler.visit(node.test)
    body = compiler.visit(node.body)
    cost = STEP + NODE * (compiler.nodes - before)
    compiler.nodes, compiler.looping = before, outer  # each step pays for what it evaluates
    source, at = compiler.source, node.at
    parts = Parts(over, compiler.checked.slots[node.id], test, body, cost, lambda message: source.error(message, at))
    return LOOPS[node.kind](parts)


def _bind(compiler: Compiler, node: Bind) -> Closure:
    value = compiler.visit(node.value)
    body = compiler.visit(node.body)
    (slot,) = compiler.checked.slots[node.id]

    def run(frame: Frame) -> Any:
        frame[slot] = value(frame)
        return body(frame)

    return run


def _optional_map(compiler: Compiler, node: OptionalMap) -> Closure:
    target, body = compiler.visit(node.target), compiler.visit(node.body)
    (slot,) = compiler.checked.slots[node.id]
    source, at, flat = compiler.source, node.at, node.flat
    name = "optFlatMap" if flat else "optMap"

    def run(frame: Frame) -> Any:
        value = target(frame)
        if type(value) is not Optional:
            raise source.error(f"no such overload: `{name}` is called on an optional value", at)
        if not value.present:
            return ABSENT
        frame[slot] = value.value
        result = body(frame)
        if not flat:
            return Optional(True, result)
        if type(result) is not Optional:
            raise source.error("no such overload: `optFlatMap` makes an optional value", at)
        return result

    return run


VISITORS: Mapping[type[Node], Callable[[Compiler, Any], Closure]] = {
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
