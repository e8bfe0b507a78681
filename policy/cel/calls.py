"""The closures of function calls: the one overload that is known, or the one that the values choose."""

from collections.abc import Sequence
from operator import is_
from typing import Any

from policy.cel.error import CelError
from policy.cel.frame import BUDGET, Closure, Frame, Source
from policy.cel.library import Overload
from policy.cel.types import Type
from policy.cel.values import INT_MAX, INT_MIN, name_of, normal

MISMATCH = "no such overload: the function does not take values of these types"
OPEN = frozenset({"dyn"})  # types of which any value is


def fixed(overload: Overload, arguments: Sequence[Closure], source: Source, at: int) -> Closure:
    """A call whose overload is known."""
    call = overload.call

    def failed(error: Exception) -> CelError:
        if isinstance(error, CelError):
            return source.located(error, at)
        # A list or map may hold values of other types than the function expects; its text could quote one.
        return source.error(MISMATCH, at)

    if overload.budget and len(arguments) == 1:
        (single,) = arguments

        def metered(frame: Frame) -> Any:
            value = single(frame)
            try:
                return call(frame[BUDGET], value)
            except (CelError, TypeError, AttributeError, ValueError) as error:
                raise failed(error) from error

        return metered
    if overload.budget:

        def charged(frame: Frame) -> Any:
            values = [argument(frame) for argument in arguments]
            try:
                return call(frame[BUDGET], *values)
            except (CelError, TypeError, AttributeError, ValueError) as error:
                raise failed(error) from error

        return charged
    if len(arguments) == 1:
        (only,) = arguments

        def one(frame: Frame) -> Any:
            value = only(frame)
            try:
                return call(value)
            except (CelError, TypeError, AttributeError, ValueError) as error:
                raise failed(error) from error

        return one

    def several(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        try:
            return call(*values)
        except (CelError, TypeError, AttributeError, ValueError) as error:
            raise failed(error) from error

    return several


def chosen(name: str, overloads: Sequence[Overload], arguments: Sequence[Closure], source: Source, at: int) -> Closure:
    """A call whose overload depends on the values. Values of a binding are brought to the types of CEL first."""
    known: dict[Any, Overload] = {}

    def choose(kinds: Any, values: list[Any]) -> tuple[Overload, list[Any]]:
        brought = [normal(value) for value in values]
        overload = _fitting(name, overloads, brought)
        if all(map(is_, brought, values)):
            known[kinds] = overload
        return overload, brought

    if len(arguments) == 1:
        (argument,) = arguments

        def one(frame: Frame) -> Any:
            value = argument(frame)
            kind = type(value)
            try:
                overload = known.get((kind,))
                if overload is None or (kind is int and not INT_MIN <= value <= INT_MAX):
                    overload, (value,) = choose((kind,), [value])
                return overload.call(frame[BUDGET], value) if overload.budget else overload.call(value)
            except CelError as error:
                raise source.located(error, at) from None
            except (TypeError, AttributeError, ValueError) as error:
                raise source.error(MISMATCH, at) from error

        return one
    if len(arguments) == 2:
        left, right = arguments

        def two(frame: Frame) -> Any:
            a, b = left(frame), right(frame)
            kinds = type(a), type(b)
            try:
                overload = known.get(kinds)
                if overload is None or (int in kinds and _beyond((a, b))):
                    overload, (a, b) = choose(kinds, [a, b])
                return overload.call(frame[BUDGET], a, b) if overload.budget else overload.call(a, b)
            except CelError as error:
                raise source.located(error, at) from None
            except (TypeError, AttributeError, ValueError) as error:
                raise source.error(MISMATCH, at) from error

        return two

    def run(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        kinds = tuple(map(type, values))
        try:
            overload = known.get(kinds)
            if overload is None or (int in kinds and _beyond(values)):
                overload, values = choose(kinds, values)
            return overload.call(frame[BUDGET], *values) if overload.budget else overload.call(*values)
        except CelError as error:
            raise source.located(error, at) from None
        except (TypeError, AttributeError, ValueError) as error:
            raise source.error(MISMATCH, at) from error

    return run


def _beyond(values: Sequence[Any]) -> bool:
    """Is there an integer that JSON may hold and CEL may not?"""
    return any(type(value) is int and not INT_MIN <= value <= INT_MAX for value in values)


def _fitting(name: str, overloads: Sequence[Overload], values: Sequence[Any]) -> Overload:
    names = [name_of(value) for value in values]
    for overload in overloads:
        if _takes(overload, names):
            return overload
    raise CelError(f"no such overload: `{name}` does not take ({', '.join(names)})")


def _takes(overload: Overload, names: Sequence[str]) -> bool:
    parameters = overload.taking(len(names))
    return parameters is not None and all(_open(one) or one.name == name for one, name in zip(parameters, names, strict=True))


def _open(parameter: Type) -> bool:
    return parameter.variable or parameter.name in OPEN


def certain(overload: Overload, kinds: Sequence[Type]) -> bool:
    """Do the types of the arguments leave no doubt that the values are of the parameters' types?"""
    return _takes(overload, [kind.name for kind in kinds])
