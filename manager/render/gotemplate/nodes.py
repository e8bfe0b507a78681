"""The parts of a parsed template. The text of each is as Go writes it in its messages.

`at` is the position in the template's text, in characters.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from manager.render.gotemplate.quote import quote


@dataclass(frozen=True, slots=True)
class Identifier:
    """A function's name."""

    at: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Variable:
    """`$x`, or `$x.a.b`; the first name has its dollar sign."""

    at: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Dot:
    """`.`"""

    at: int

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True, slots=True)
class Nil:
    """`nil`"""

    at: int

    def __str__(self) -> str:
        return "nil"


@dataclass(frozen=True, slots=True)
class Field:
    """`.a.b`"""

    at: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Chain:
    """Fields of a term, as `(f .x).a.b`."""

    at: int
    term: "Operand"
    names: tuple[str, ...]

    def __str__(self) -> str:
        return _inner(self.term) + "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Bool:
    """`true` or `false`."""

    at: int
    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, slots=True)
class Number:
    """A number: as int64, None where it does not fit, and as float64."""

    at: int
    text: str
    whole: int | None
    real: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class String:
    """A string; `quoted` is its literal."""

    at: int
    quoted: str
    value: str

    def __str__(self) -> str:
        return self.quoted


@dataclass(frozen=True, slots=True)
class Command:
    """A function or a value, and arguments."""

    at: int
    args: "tuple[Operand, ...]"

    def __str__(self) -> str:
        return " ".join(map(_inner, self.args))


@dataclass(frozen=True, slots=True)
class Pipe:
    """Commands, each of which gets the value of the one before; variables that get the last one's."""

    at: int
    variables: tuple[Variable, ...]
    assigns: bool
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        declared = ", ".join(map(str, self.variables))
        mark = "" if not self.variables else " = " if self.assigns else " := "
        return declared + mark + " | ".join(map(str, self.commands))


Operand: TypeAlias = Identifier | Variable | Dot | Nil | Field | Chain | Bool | Number | String | Pipe


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is written as it is."""

    at: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Action:
    """A pipeline whose value is written, unless it sets variables."""

    at: int
    pipe: Pipe

    def __str__(self) -> str:
        return f"{{{{{self.pipe}}}}}"


@dataclass(frozen=True, slots=True)
class Nodes:
    """One after the other."""

    at: int
    nodes: "tuple[Node, ...]" = field(repr=False)

    def __str__(self) -> str:
        return "".join(map(str, self.nodes))


@dataclass(frozen=True, slots=True)
class If:
    """`if`, and its `else`."""

    at: int
    pipe: Pipe
    body: Nodes
    otherwise: Nodes | None

    def __str__(self) -> str:
        return _branch("if", self.pipe, self.body, self.otherwise)


@dataclass(frozen=True, slots=True)
class With:
    """`with`, and its `else`."""

    at: int
    pipe: Pipe
    body: Nodes
    otherwise: Nodes | None

    def __str__(self) -> str:
        return _branch("with", self.pipe, self.body, self.otherwise)


@dataclass(frozen=True, slots=True)
class Range:
    """`range`, and its `else`."""

    at: int
    pipe: Pipe
    body: Nodes
    otherwise: Nodes | None

    def __str__(self) -> str:
        return _branch("range", self.pipe, self.body, self.otherwise)


@dataclass(frozen=True, slots=True)
class Call:
    """`template`: another template is executed here."""

    at: int
    name: str
    pipe: Pipe | None

    def __str__(self) -> str:
        return f"{{{{template {quote(self.name)}{'' if self.pipe is None else f' {self.pipe}'}}}}}"


@dataclass(frozen=True, slots=True)
class Break:
    """`break`"""

    at: int

    def __str__(self) -> str:
        return "{{break}}"


@dataclass(frozen=True, slots=True)
class Continue:
    """`continue`"""

    at: int

    def __str__(self) -> str:
        return "{{continue}}"


Node: TypeAlias = Text | Action | If | With | Range | Call | Break | Continue


def empty(nodes: Nodes) -> bool:
    """Is there nothing but space in it? `If` and its like count as something, whatever they hold."""
    return all(isinstance(node, Text) and not node.text.strip(_SPACE) for node in nodes.nodes)


# What Go counts as space; Python's own strip() takes more.
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _inner(term: Operand) -> str:
    return f"({term})" if isinstance(term, Pipe) else str(term)


def _branch(word: str, pipe: Pipe, body: Nodes, otherwise: Nodes | None) -> str:
    return f"{{{{{word} {pipe}}}}}{body}{'' if otherwise is None else f'{{{{else}}}}{otherwise}'}{{{{end}}}}"
