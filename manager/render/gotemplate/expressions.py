"""Pipelines are evaluated: fields, variables, function calls, and the arguments of these."""

from enum import Enum
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from manager.render.gotemplate.errors import CallError, Exceeded, TemplateError
from manager.render.gotemplate.function import VALUE, Context, Function, Functions
from manager.render.gotemplate.functions import AND, CALL, OR
from manager.render.gotemplate.nodes import (
    Bool,
    Chain,
    Command,
    Dot,
    Field,
    Identifier,
    Nil,
    Node,
    Nodes,
    Number,
    Operand,
    Pipe,
    String,
    Variable,
)
from manager.render.gotemplate.quote import quote
from manager.render.gotemplate.source import Source, shown
from manager.render.gotemplate.value import (
    ANY,
    MISSING,
    Int64,
    Object,
    assignable,
    element,
    gotype,
    nillable,
    text,
    truth,
    zero,
)

MissingKey: TypeAlias = Literal["default", "invalid", "zero", "error"]


class Slot(NamedTuple):
    """A value, and whether Go holds it in an interface: its type in messages is then `interface {}`."""

    value: Any
    boxed: bool = False

    @property
    def type(self) -> str:
        """The static type."""
        return ANY if self.boxed else gotype(self.value)


class _Final(Enum):
    NONE = "no value came through the pipeline"


_NONE: Final = _Final.NONE


class Expressions:
    """One template while it is executed. `node` is what is being evaluated, for messages."""

    def __init__(
        self, name: str, dot: Slot, *, source: Source, functions: Functions, context: Context, missingkey: MissingKey
    ) -> None:
        self.name = name
        self.source = source
        self.functions = functions
        self.context = context
        self.missingkey = missingkey
        self.variables: list[tuple[str, Slot]] = [("$", dot)]
        self.node: Node | Nodes | Operand | Command | None = None

    # Errors

    def error(self, message: str, safe: str = "") -> TemplateError:
        """The error, at the present node. `safe` says the same where the message quotes a value."""
        if self.node is None:
            return TemplateError(f"template: {self.source.name}: {message}", name=self.source.name)
        line, column = self.source.position(self.node.at)
        where = f"template: {self.source.name}:{line}:{column}: executing {quote(self.name)} at <{shown(self.node)}>: "
        return TemplateError(where + message, line, column, self.source.name, safe=where + (safe or message))

    def at(self, node: Node | Nodes | Operand | Command) -> None:
        """This node is evaluated now."""
        self.context.budget.step()
        self.node = node

    # Variables

    def assign(self, name: str, slot: Slot) -> None:
        """Give a variable that is there another value."""
        self.variables[self._place(name)] = (name, slot)

    def variable(self, name: str) -> Slot:
        """The value of a variable."""
        return self.variables[self._place(name)][1]

    def _place(self, name: str) -> int:
        self.context.budget.step(len(self.variables) >> 3)
        for place in range(len(self.variables) - 1, -1, -1):
            if self.variables[place][0] == name:
                return place
        raise self.error(f"undefined variable: {name}")

    # Pipelines

    def pipeline(self, dot: Slot, pipe: Pipe | None) -> Any:
        """The value of the last command, which the pipeline's variables get. Nil is no value here."""
        if pipe is None:
            return MISSING
        self.at(pipe)
        value: Any = _NONE
        for command in pipe.commands:
            value = self._command(dot, command, value)
            if value is None:
                value = MISSING
        for variable in pipe.variables:
            if pipe.assigns:
                self.assign(variable.names[0], Slot(value))
            else:
                self.variables.append((variable.names[0], Slot(value)))
        return value

    def _command(self, dot: Slot, command: Command, final: Any) -> Any:
        first = command.args[0]
        if isinstance(first, Identifier):
            return self._function(dot, first, command, command.args[1:], final)
        arguments = len(command.args) > 1 or final is not _NONE
        if isinstance(first, Field | Chain):
            return self._fields(dot, first, arguments=arguments).value
        if isinstance(first, Variable) and len(first.names) > 1:
            return self._fields(dot, first, arguments=arguments).value
        if not isinstance(first, Pipe):
            self.at(first)
        if arguments:
            raise self.error(f"can't give argument to non-function {first}")
        match first:
            case Pipe():
                return self.pipeline(dot, first)
            case Variable():
                return self.variable(first.names[0]).value
            case Dot():
                return dot.value
            case Nil():
                raise self.error("nil is not a command")
        return self._constant(first)

    def _constant(self, node: Bool | String | Number) -> Any:
        """A literal where any type will do: its syntax says which it is."""
        if not isinstance(node, Number):
            return node.value
        self.at(node)
        if not _is_integer(node.text) and set(node.text) & set(".eEpP"):
            return node.real
        if node.whole is None:
            raise self.error(f"{node} overflows int")
        return node.whole

    # Fields

    def _fields(self, dot: Slot, node: Field | Chain | Variable, *, arguments: bool = False) -> Slot:
        self.at(node)
        names = node.names
        self.context.budget.step(len(names) - 1)
        match node:
            case Field():
                slot = dot
            case Chain():
                slot = Slot(self._operand(dot, node.term))
            case Variable():
                slot, names = self.variable(names[0]), names[1:]
        for name in names[:-1]:
            slot = self._field(slot, name)
        return self._field(slot, names[-1], arguments=arguments) if names else slot

    def _field(self, slot: Slot, name: str, *, arguments: bool = False) -> Slot:
        value = slot.value
        if value is MISSING:
            if self.missingkey == "error":
                raise self.error(f"nil data; no entry for key {quote(name)}")
            return Slot(MISSING)
        if value is None:
            raise self.error(f"nil pointer evaluating {ANY}.{name}")
        if isinstance(value, dict):
            if arguments:
                raise self.error(f"{name} is not a method but has arguments")
            return self._entry(value, name)
        if isinstance(value, Object):
            try:
                found = value.field(name)
            except KeyError:
                raise self.error(f"can't evaluate field {name} in type {slot.type}") from None
            except CallError as error:
                raise self.error(f"error calling {name}: {error.message}", f"error calling {name}") from None
            if arguments:
                raise self.error(f"{name} has arguments but cannot be invoked as function")
            return Slot(found)
        raise self.error(f"can't evaluate field {name} in type {slot.type}")

    def _entry(self, entries: dict[str, Any], name: str) -> Slot:
        held = element(entries)
        if name in entries:
            return Slot(entries[name], held == ANY)
        if self.missingkey == "error":
            raise self.error(f"map has no entry for key {quote(name)}")
        return Slot(zero(held), held == ANY) if self.missingkey == "zero" else Slot(MISSING)

    # Functions

    def _function(self, dot: Slot, name: Identifier, at: Operand | Command, args: tuple[Operand, ...], final: Any) -> Any:
        self.at(name)
        function = self.functions[name.name]
        count = len(args) + (final is not _NONE)
        if function.most is None:
            if count < function.least:
                raise self.error(f"wrong number of args for {name}: want at least {function.least} got {len(args)}")
        elif count != function.most:
            raise self.error(f"wrong number of args for {name}: want {function.most} got {count}")
        if function is AND or function is OR:
            return self._short_circuit(dot, args, final, until=function is OR)
        types = [*function.takes, *[function.rest] * (count - function.least)]
        given = [self._argument(dot, arg, type_) for arg, type_ in zip(args, types, strict=False)]
        if final is not _NONE:
            given.append(self._assignable(final, types[-1]))
        return self._call(function, at, args, given)

    def _call(self, function: Function, at: Operand | Command, args: tuple[Operand, ...], given: list[Any]) -> Any:
        try:
            if function is CALL:
                raise _not_callable(args, given[0])
            return function.call(self.context, *given)
        except CallError as error:
            failure = f"error calling {function.name}", error.message
        except (Exceeded, RecursionError):
            self.node = at
            raise
        except Exception as error:
            # Every class: what Go's functions panic with, Python's raise; the text may quote a value.
            failure = f"error calling {function.name}", f"it does not fit its arguments ({type(error).__name__})"
        self.at(at)
        raise self.error(": ".join(failure), failure[0])

    def _short_circuit(self, dot: Slot, args: tuple[Operand, ...], final: Any, *, until: bool) -> Any:
        value: Any = MISSING
        for arg in args:
            value = self._argument(dot, arg, VALUE)
            if truth(value) is until:
                return value
        return value if final is _NONE else final

    # Arguments

    def _argument(self, dot: Slot, node: Operand, expected: str) -> Any:
        self.at(node)
        match node:
            case Nil():
                if expected == VALUE:
                    return MISSING
                if nillable(expected):
                    return zero(expected)
                raise self.error(f"cannot assign nil to {expected}")
            case Bool() | Number() | String():
                return self._literal(node, expected)
        return self._assignable(self._operand(dot, node), expected)

    def _operand(self, dot: Slot, node: Operand) -> Any:
        """What is no literal."""
        match node:
            case Dot():
                return dot.value
            case Variable() if len(node.names) == 1:
                self.at(node)
                return self.variable(node.names[0]).value
            case Field() | Variable() | Chain():
                return self._fields(dot, node).value
            case Pipe():
                return self.pipeline(dot, node)
            case Identifier():
                return self._function(dot, node, node, (), _NONE)
        raise self.error(f"indirection through explicit nil in {node}")

    def _literal(self, node: Bool | Number | String, expected: str) -> Any:
        match expected, node:
            case (("interface {}" | "reflect.Value"), _):
                return self._constant(node)
            case ("bool", Bool(value=value)) | ("string", String(value=value)):
                return value
            case "float64", Number():
                return node.real
            case (("int" | "int64"), Number(whole=int(whole))):
                return Int64(whole) if expected == "int64" else whole
            case "uint32", Number(whole=int(whole)) if whole >= 0:
                return whole & 0xFFFFFFFF
        if expected not in _LITERALS:
            raise self.error(f"can't handle {node} for arg of type {expected}")
        raise self.error(f"expected {_LITERALS[expected]}; found {node}")

    def _assignable(self, value: Any, expected: str) -> Any:
        if expected == VALUE:
            return value
        if value is MISSING:
            if nillable(expected):
                return zero(expected)
            raise self.error(f"invalid value; expected {expected}")
        if expected == ANY or (value is not None and assignable(value, expected)):
            return value
        raise self.error(f"wrong type for value; expected {expected}; got {ANY if value is None else gotype(value)}")

    def printed(self, value: Any) -> str:
        """The value as `%v` prints it."""
        return text(value, self.context.budget)


_LITERALS: Final = {
    "bool": "bool",
    "string": "string",
    "float64": "float",
    "int": "integer",
    "int64": "integer",
    "uint32": "unsigned integer",
}


def _is_integer(literal: str) -> bool:
    """Is it a character, or hexadecimal without an exponent? Their `e` is no exponent."""
    return literal.startswith("'") or (literal[:2] in ("0x", "0X") and not set(literal) & set("pP"))


def _not_callable(args: tuple[Operand, ...], function: Any) -> CallError:
    if function is None or function is MISSING:
        return CallError("call of nil")
    name = str(args[0]) if args else function if isinstance(function, str) else f"<{gotype(function)} Value>"
    return CallError(f"non-function {name} of type {gotype(function)}")


__all__ = ["Expressions", "MissingKey", "Slot"]
