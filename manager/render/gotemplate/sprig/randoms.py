"""What comes from the random source of the execution."""

import base64
import string
import uuid
from collections.abc import Callable
from typing import Final

from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Context, Function, Functions
from manager.render.gotemplate.sprig.letters import runes
from manager.render.gotemplate.sprig.table import INT, STRING

_ASCII: Final = "".join(map(chr, range(32, 127)))


def below(context: Context, bound: int) -> int:
    """A number from 0 on, below the bound; each is as likely as any other."""
    size = (bound.bit_length() + 7) // 8
    fair = (1 << (8 * size)) // bound * bound
    while True:
        number = int.from_bytes(context.bytes(size), "big")
        context.budget.step()
        if number < fair:
            return number % bound


def _drawn(alphabet: str) -> Callable[[Context, int], str]:
    def draw(context: Context, count: int) -> str:
        context.budget.take(max(count, 0))
        return "".join(alphabet[below(context, len(alphabet))] for _ in range(count))

    return draw


def _integer(context: Context, least: int, bound: int) -> int:
    if bound <= least:
        raise CallError("invalid argument to Intn")
    return least + below(context, bound - least)


def _shuffled(context: Context, text: str) -> str:
    drawn = list(runes(text))
    for last in range(len(drawn) - 1, 0, -1):
        chosen = below(context, last + 1)
        drawn[last], drawn[chosen] = drawn[chosen], drawn[last]
    return "".join(drawn)


def _bytes(context: Context, count: int) -> str:
    if count < 0:
        raise CallError("runtime error: makeslice: len out of range")
    return base64.b64encode(context.bytes(count)).decode()


def _uuid(context: Context) -> str:
    return str(uuid.UUID(bytes=context.bytes(16), version=4))


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        Function("randAlpha", _drawn(string.ascii_letters), (INT,)),
        Function("randNumeric", _drawn(string.digits), (INT,)),
        Function("randAlphaNum", _drawn(string.ascii_letters + string.digits), (INT,)),
        Function("randAscii", _drawn(_ASCII), (INT,)),
        Function("randInt", _integer, (INT, INT)),
        Function("randBytes", _bytes, (INT,)),
        Function("shuffle", _shuffled, (STRING,)),
        Function("uuidv4", _uuid, ()),
    )
}
