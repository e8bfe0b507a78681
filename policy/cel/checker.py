"""One walk of the checker: what is known so far of types and variables, and which overloads a call may mean."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from policy.cel import types, unify
from policy.cel.environment import Environment
from policy.cel.library import Signature
from policy.cel.meaning import FIRST_SLOT, Checked, Variable
from policy.cel.syntax import Node, Refused
from policy.cel.types import DYN, Type

SHOWN = 6  # overloads in a message


class Checker:
    """One walk over one tree; `visitors` say for each kind of node of which type it is."""

    def __init__(self, environment: Environment, visitors: "Visitors") -> None:
        self.environment = environment
        self._visitors = visitors
        self.checked = Checked()
        self.refused: list[Refused] = []
        self.bound: unify.Bindings = {}
        self._scopes: list[tuple[str, int, Type]] = []
        self._fresh = 0
        self._calls: dict[Any, tuple[tuple[Any, ...], Type]] = {}

    def visit(self, node: Node) -> Type:
        """The type of a node, noted with those below it."""
        found = self._visitors[type(node)](self, node)
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
            parameters = overload.taking(len(arguments))
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


def _open(kind: Type) -> bool:
    """Does the type depend on what type variables turn out to be?"""
    return kind.variable or any(map(_open, kind.parameters))


def _shown(overload: Signature) -> str:
    return f"({', '.join(map(str, overload.parameters))})"


Visitors = Mapping[type[Node], Callable[[Checker, Any], Type]]
