"""Go's fmt: Sprint, Sprintln and Sprintf."""

import re
from typing import Any, Final

from manager.render.gotemplate import verbs
from manager.render.gotemplate.bounds import NESTED, Budget
from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.value import (
    ANY,
    MISSING,
    Map,
    Object,
    Sized,
    Slice,
    gotype,
    text,
)
from manager.render.gotemplate.verbs import Flags

_LARGEST: Final = 1_000_000  # of a width, a precision or an index
_FLAGS: Final = {"+": "plus", "-": "minus", "#": "sharp", " ": "space", "0": "zero"}
_NUMBER: Final = re.compile("[0-9]*")


def sprint(args: list[Any], budget: Budget) -> str:
    """The arguments, with spaces between two that are no strings."""
    pieces: list[str] = []
    for number, arg in enumerate(args):
        if number and not isinstance(arg, str) and not isinstance(args[number - 1], str):
            pieces.append(" ")
        pieces.append(text(None if arg is MISSING else arg, budget))
    return _joined(pieces, budget)


def sprintln(args: list[Any], budget: Budget) -> str:
    """The arguments with spaces between them, and a newline."""
    return _joined([" ".join(text(None if arg is MISSING else arg, budget) for arg in args), "\n"], budget)


def sprintf(pattern: str, args: list[Any], budget: Budget) -> str:
    """The pattern with its verbs replaced; what is wrong with it is written into the text, as Go does."""
    return _Pattern(pattern, args, budget).text()


def _joined(pieces: list[str], budget: Budget) -> str:
    budget.take(sum(map(len, pieces)))
    return "".join(pieces)


class _Pattern:
    """A pattern while it is written out. `taken` counts the arguments used so far."""

    def __init__(self, pattern: str, args: list[Any], budget: Budget) -> None:
        self.pattern = pattern
        self.args = [None if arg is MISSING else arg for arg in args]
        self.printer = _Printer(budget)
        self.at = 0
        self.taken = 0
        self.reordered = False  # an index was used: extra arguments are not looked for
        self.indexed = False  # what was read last is an index
        self.good = True

    def text(self) -> str:
        while self.at < len(self.pattern):
            found = self.pattern.find("%", self.at)
            end = len(self.pattern) if found < 0 else found
            self.printer.write(self.pattern[self.at : end])
            self.at = end + 1
            if found >= 0:
                self._verb()
        if not self.reordered and self.taken < len(self.args):
            extra = [self._described(arg) for arg in self.args[self.taken :]]
            self.printer.write(f"%!(EXTRA {', '.join(extra)})")
        return _joined(self.printer.pieces, self.printer.budget)

    def _described(self, arg: Any) -> str:
        return "<nil>" if arg is None else f"{gotype(arg)}={text(arg, self.printer.budget)}"

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _verb(self) -> None:
        self.good = True
        flags = Flags()
        while self._peek() in _FLAGS:
            setattr(flags, _FLAGS[self._peek()], True)
            self.at += 1
        self.indexed = False
        self._index()
        self._width(flags)
        if self._peek() == "." and self.at + 1 < len(self.pattern):
            self.at += 1
            self._precision(flags)
        if not self.indexed:
            self._index()
        verb = self._peek()
        self.at += 1
        write = self.printer.write
        if not verb:
            write("%!(NOVERB)")
        elif verb == "%":
            write("%")
        elif not self.good:
            write(f"%!{verb}(BADINDEX)")
        elif self.taken >= len(self.args):
            write(f"%!{verb}(MISSING)")
        else:
            if verb in "vw":
                flags.syntax, flags.sharp = flags.sharp, False
                flags.named, flags.plus = flags.plus, False
            self.printer.argument(self.args[self.taken], verb, flags)
            self.taken += 1

    def _index(self) -> None:
        """`[n]`: the argument that comes next."""
        self.indexed = False
        if self._peek() != "[":
            return
        self.reordered = True
        self.printer.budget.look(len(self.pattern))
        end = self.pattern.find("]", self.at)
        if end < 0:
            self.at += 1
            self.good = False
            return
        inner = self.pattern[self.at + 1 : end]
        self.at = end + 1
        number = _small(inner) if inner.isdecimal() and inner.isascii() else None
        self.indexed = number is not None
        if number is not None and 0 < number <= len(self.args):
            self.taken = number - 1
        else:
            self.good = False

    def _width(self, flags: Flags) -> None:
        if self._peek() != "*":
            flags.width = self._number()
            self.good = self.good and not (self.indexed and flags.width is not None)
            return
        self.at += 1
        flags.width = self._starred()
        self.indexed = False
        if flags.width is None:
            self.printer.write("%!(BADWIDTH)")
        elif flags.width < 0:
            flags.width, flags.minus, flags.zero = -flags.width, True, False

    def _precision(self, flags: Flags) -> None:
        if self.indexed:
            self.good = False
        self._index()
        if self._peek() != "*":
            flags.precision = self._number() or 0
            return
        self.at += 1
        flags.precision = self._starred()
        self.indexed = False
        if flags.precision is None or flags.precision < 0:
            flags.precision = None
            self.printer.write("%!(BADPREC)")

    def _number(self) -> int | None:
        found = _NUMBER.match(self.pattern, self.at)
        digits = found[0] if found else ""
        number = _small(digits) if digits else None
        # Go gives up on a number that is too large, and on the rest of the pattern with it.
        self.at = len(self.pattern) if digits and number is None else self.at + len(digits)
        return number

    def _starred(self) -> int | None:
        if self.taken >= len(self.args):
            return None
        value = self.args[self.taken]
        self.taken += 1
        return int(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST else None


def _small(digits: str) -> int | None:
    number = 0
    for digit in digits:
        if number > _LARGEST:
            return None
        number = number * 10 + int(digit)
    return number


class _Printer:
    """Writes values by a verb."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.pieces: list[str] = []

    def write(self, text: str) -> None:
        self.budget.take(len(text))
        self.pieces.append(text)

    def argument(self, value: Any, verb: str, flags: Flags) -> None:
        self.budget.take((flags.width or 0) + (flags.precision or 0))
        if value is None:
            self.write(verbs.pad("<nil>", flags) if verb in "Tv" else f"%!{verb}(<nil>)")
        elif verb == "T":
            self.write(verbs.text(gotype(value), "s", flags) or "")
        elif verb == "p" and isinstance(value, list | dict):
            raise CallError("the verb %p is not supported: a value has no address here")
        elif verb == "w" and isinstance(value, list | dict):  # the verb of errors, which looks at the whole
            self.write(f"%!w({gotype(value)}=")
            self.value(value, "v", flags, NESTED)
            self.write(")")
        else:
            self.value(value, verb, flags, NESTED)

    def value(self, value: Any, verb: str, flags: Flags, depth: int) -> None:
        self.budget.step()
        if isinstance(value, list | dict):
            if depth == 0:
                raise Exceeded(f"a value is nested more than {NESTED} levels deep")
            self._container(value, verb, flags, depth - 1)
            return
        if value is None:
            self.write(f"{ANY}(nil)" if flags.syntax else "<nil>")
            return
        made = _scalar(value, verb, flags)
        if made is None:
            self.write(f"%!{verb}({gotype(value)}={_scalar(value, 'v', flags)})")
        else:
            self.write(made)

    def _container(self, value: list[Any] | dict[str, Any], verb: str, flags: Flags, depth: int) -> None:
        between, (before, after) = (", ", "{}") if flags.syntax else (" ", "[]")
        if flags.syntax:
            before = gotype(value) + before
        elif isinstance(value, dict):
            before = "map["
        if flags.syntax and isinstance(value, Slice | Map) and value.nil:
            self.write(f"{gotype(value)}(nil)")
            return
        self.write(before)
        for number, item in enumerate(sorted(value) if isinstance(value, dict) else value):
            if number:
                self.write(between)
            if isinstance(value, dict):
                self.value(item, verb, flags, depth)
                self.write(":")
                item = value[item]
            self.value(item, verb, flags, depth)
        self.write(after)


def _scalar(value: Any, verb: str, flags: Flags) -> str | None:
    if isinstance(value, bool):
        return verbs.boolean(value, verb, flags)
    if isinstance(value, int):
        return verbs.integer(value, verb, flags, signed=not isinstance(value, Sized) or value.signed)
    if isinstance(value, float):
        return verbs.real(value, verb, flags)
    if isinstance(value, Object):
        return verbs.text(value.text(), verb, flags)
    return verbs.text(value, verb, flags)


__all__ = ["sprint", "sprintf", "sprintln"]
