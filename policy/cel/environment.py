"""What a text may use: variables with their types, functions, constants and macros, and how much of everything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from policy.cel import types
from policy.cel.library import Constant, Library, Macro, Overload
from policy.cel.parse import Limits
from policy.cel.types import Type
from policy.cel.values import TypeValue

LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The functions, methods (overloads that are called on a value), constants and macros of some libraries."""

    functions: Mapping[str, tuple[Overload, ...]]
    methods: Mapping[str, tuple[Overload, ...]]
    constants: Mapping[str, Constant]
    macros: Mapping[tuple[str, bool], Macro]


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a text is compiled.

    `container` is the namespace in which names are looked up first. Without `checked`, types are not looked at before the
    evaluation. `strict` refuses literals as Kubernetes does: lists and maps that mix types, regular expressions that
    are malformed, and conversions of literals that fail.
    """

    variables: Mapping[str, Type]
    vocabulary: Vocabulary
    container: str = ""
    checked: bool = True
    strict: bool = True
    limits: Limits = LIMITS

    def candidates(self, name: str) -> list[str]:
        """The full names that a name may stand for, in the order in which they are tried."""
        if name.startswith("."):
            return [name[1:]]
        parts = self.container.split(".") if self.container else []
        return [".".join([*parts[:count], name]) for count in range(len(parts), -1, -1)]


def vocabulary(libraries: Iterable[Library]) -> Vocabulary:
    """The libraries joined: overloads of the same name are added up, constants and macros must differ."""
    functions: dict[str, tuple[Overload, ...]] = {}
    methods: dict[str, tuple[Overload, ...]] = {}
    constants: dict[str, Constant] = {}
    macros: dict[tuple[str, bool], Macro] = {}
    for library in libraries:
        for function in library.functions:
            for overload in function.overloads:
                table = methods if overload.member else functions
                table[function.name] = (*table.get(function.name, ()), overload)
        constants |= {kind.name: Constant(types.type_of(kind), TypeValue(kind.name)) for kind in library.types}
        constants |= library.constants
        macros |= {(macro.name, macro.member): macro for macro in library.macros}
    return Vocabulary(functions, methods, constants, macros)


@cache
def default() -> Vocabulary:
    """The vocabulary of every place where Copyhold reads CEL: the standard, optionals, and the libraries of `ext`."""
    from policy.cel.ext import LIBRARIES  # with the first text: a process that evaluates nothing does not load them
    from policy.cel.optionals import OPTIONAL
    from policy.cel.standard import STANDARD

    return vocabulary((STANDARD, OPTIONAL, *LIBRARIES))


def typed(variables: Mapping[str, Type | str]) -> dict[str, Type]:
    """Variables with their types, which may be written as text. Raises CelError for a text that is no type."""
    return {name: types.parse(kind) if isinstance(kind, str) else kind for name, kind in variables.items()}


def known(variables: Mapping[str, Type]) -> str:
    """The names of the variables, for a message."""
    return ", ".join(sorted(variables)) or "none"
