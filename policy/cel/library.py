"""How functions, constants, types and macros are offered to the language: a library is a value that lists them.

A function has overloads; the checker picks by the types of the arguments, and where those are only known at run time
(`dyn`) the compiler picks by the values. An implementation takes the arguments in order (the receiver of a member call
first) as plain Python values (see `policy.cel.values`) and returns one; it raises `CelError(message)` when there is no
result, with no value in the message. With `budget=True` it takes the `Budget` of the evaluation before all others, and
has to charge for what grows with its input: `read` for characters that it looks at, `grow` for characters that it makes,
`charge` for items.

    SHOUT = Function("shout", member((STRING,), STRING, lambda text: text.upper() + "!"))
    LIBRARY = Library("example", functions=(SHOUT,))
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from policy.cel.types import Type

if TYPE_CHECKING:
    from policy.cel.macros import Expander


@dataclass(frozen=True, slots=True)
class Signature:
    """What the checker knows of a call: the types that go in, and the one that comes out."""

    parameters: tuple[Type, ...]
    result: Type

    def taking(self, count: int) -> tuple[Type, ...] | None:
        """The types of so many arguments; None when it does not take so many."""
        return self.parameters if len(self.parameters) == count else None


@dataclass(frozen=True, slots=True)
class Overload(Signature):
    """One way to call a function.

    `parameters` begin with the receiver when `member` is set. `variadic`: the last parameter may be repeated.
    """

    call: Callable[..., Any]
    member: bool = False
    budget: bool = False
    variadic: bool = False

    def taking(self, count: int) -> tuple[Type, ...] | None:
        """The types of so many arguments; None when it does not take so many."""
        more = count - len(self.parameters)
        if more == 0:
            return self.parameters
        return self.parameters + self.parameters[-1:] * more if self.variadic and more > 0 else None


@dataclass(frozen=True, slots=True, init=False)
class Function:
    """A name, which may be qualified (`math.abs`), and its overloads. Several libraries may add overloads to one name."""

    name: str
    overloads: tuple[Overload, ...]

    def __init__(self, name: str, *overloads: Overload) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "overloads", overloads)


@dataclass(frozen=True, slots=True)
class Constant:
    """A name with a value, such as a type that is denoted by its name."""

    type: Type
    value: Any


@dataclass(frozen=True, slots=True)
class Macro:
    """A call that is rewritten before it is checked. `arguments` are the counts that it takes, without the receiver."""

    name: str
    arguments: frozenset[int]
    expand: "Expander"
    member: bool = True


@dataclass(frozen=True, slots=True)
class Library:
    """What one library adds. `types` are its opaque types; each is a constant that denotes itself, too."""

    name: str
    functions: tuple[Function, ...] = ()
    constants: Mapping[str, Constant] = field(default_factory=lambda: MappingProxyType({}))
    macros: tuple[Macro, ...] = ()
    types: tuple[Type, ...] = ()


def member(parameters: tuple[Type, ...], result: Type, call: Callable[..., Any], *, budget: bool = False) -> Overload:
    """An overload that is called on its first parameter: `receiver.name(arguments)`."""
    return Overload(parameters, result, call, member=True, budget=budget)


def globally(
    parameters: tuple[Type, ...], result: Type, call: Callable[..., Any], *, budget: bool = False, variadic: bool = False
) -> Overload:
    """An overload that is called by name: `name(arguments)`."""
    return Overload(parameters, result, call, budget=budget, variadic=variadic)
