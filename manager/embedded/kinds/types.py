"""How Go sees the built-in kinds: the fields of each struct, which of them are pointers, and which are left out when empty.

The facts are those of k8s.io/api (`tests/realserver/gotypes.py` writes them). A type is written as Go writes it, with its whole
path: `*int32`, `[]k8s.io/api/core/v1.Container`, `map[string][]uint8`.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

FILE = Path(__file__).parent.with_name("data") / "gotypes.z"

CUSTOM = "custom"
"""What `Facts.named` says of a type that reads itself from JSON."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct. `embedded` names the structs that it came with, outermost first."""

    type: str
    embedded: tuple[str, ...] = ()
    omitempty: bool = False
    omitzero: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """`kinds`: "group/version/kind" to its struct. `named`: the underlying type of what is no struct, or `CUSTOM`."""

    kinds: Mapping[str, str]
    structs: Mapping[str, Mapping[str, str]]
    named: Mapping[str, str]

    def fields(self, struct: str) -> dict[str, Field]:
        """The fields of a struct by their JSON names, those of embedded structs among them."""
        return {name: _field(written) for name, written in self.structs[struct].items()}


@cache
def facts() -> Facts:
    """The facts, read once."""
    read = orjson.loads(zlib.decompress(FILE.read_bytes()))
    return Facts(read["kinds"], read["structs"], read["named"])


def pack(told: Mapping[str, Any]) -> bytes:
    """As the file is kept."""
    return zlib.compress(json.dumps(told, sort_keys=True, separators=(",", ":")).encode(), 9)


def _field(written: str) -> Field:
    *embedded, rest = written.split(">")
    empty = rest.startswith("?")
    rest = rest.removeprefix("?")
    return Field(rest.removeprefix("0"), tuple(embedded), empty, rest.startswith("0"))
