"""What the checker finds out about a tree, by the id of nodes: what names and calls mean, and of which type everything is."""

from dataclasses import dataclass, field

from policy.cel.library import Constant as Named
from policy.cel.library import Overload
from policy.cel.types import DYN, Type

FIRST_SLOT = 2  # of a frame, see `policy.cel.frame`


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
