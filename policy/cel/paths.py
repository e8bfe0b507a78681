"""The closures of names and fields: a variable, a slot of the frame or any value, and the subscriptions that follow."""

from datetime import datetime
from typing import Any

from policy.cel import operators
from policy.cel.error import CelError
from policy.cel.frame import BINDINGS, Closure, Frame, Source
from policy.cel.times import from_datetime
from policy.cel.values import normal

_FAILURES = (KeyError, TypeError, IndexError)  # of a subscription that the slow way has to look at


def converted(name: str, source: Source, at: int) -> Closure:
    """A variable of a type that a binding may hold in Python's own: a datetime, a timedelta."""

    def run(frame: Frame) -> Any:
        try:
            value = frame[BINDINGS][name]
        except KeyError:
            raise source.error(f"the variable `{name}` has no value", at) from None
        return from_datetime(value) if type(value) is datetime else normal(value)

    return run


def path(root: "Closure | str | int", fields: tuple[str, ...], source: Source, at: int) -> Closure:
    """The subscriptions of a path, unrolled for the lengths that are met."""

    def slow(frame: Frame) -> Any:
        value = _rooted(root, frame, source, at)
        try:
            for field in fields:
                value = operators.select(value, field)
        except CelError as error:
            raise source.located(error, at) from None
        return value

    if isinstance(root, str):
        return _path_of_variable(root, fields, slow)
    if isinstance(root, int):
        return _path_of_slot(root, fields, slow)
    return _path_of_value(root, fields, source, at)


def _rooted(root: "Closure | str | int", frame: Frame, source: Source, at: int) -> Any:
    if isinstance(root, int):
        return frame[root]
    if isinstance(root, str):
        try:
            return frame[BINDINGS][root]
        except KeyError:
            raise source.error(f"the variable `{root}` has no value", at) from None
    return root(frame)


def _path_of_variable(name: str, fields: tuple[str, ...], slow: Closure) -> Closure:
    match fields:
        case ():

            def run(frame: Frame) -> Any:
                try:
                    return frame[1][name]
                except KeyError:
                    return slow(frame)

        case (a,):

            def run(frame: Frame) -> Any:
                try:
                    return frame[1][name][a]
                except _FAILURES:
                    return slow(frame)

        case (a, b):

            def run(frame: Frame) -> Any:
                try:
                    return frame[1][name][a][b]
                except _FAILURES:
                    return slow(frame)

        case (a, b, c):

            def run(frame: Frame) -> Any:
                try:
                    return frame[1][name][a][b][c]
                except _FAILURES:
                    return slow(frame)

        case _:

            def run(frame: Frame) -> Any:
                try:
                    value = frame[1][name]
                    for field in fields:
                        value = value[field]
                except _FAILURES:
                    return slow(frame)
                return value

    return run


def _path_of_slot(slot: int, fields: tuple[str, ...], slow: Closure) -> Closure:
    match fields:
        case ():

            def run(frame: Frame) -> Any:
                return frame[slot]

        case (a,):

            def run(frame: Frame) -> Any:
                try:
                    return frame[slot][a]
                except _FAILURES:
                    return slow(frame)

        case (a, b):

            def run(frame: Frame) -> Any:
                try:
                    return frame[slot][a][b]
                except _FAILURES:
                    return slow(frame)

        case _:

            def run(frame: Frame) -> Any:
                try:
                    value = frame[slot]
                    for field in fields:
                        value = value[field]
                except _FAILURES:
                    return slow(frame)
                return value

    return run


def _path_of_value(root: Closure, fields: tuple[str, ...], source: Source, at: int) -> Closure:
    def run(frame: Frame) -> Any:
        value = root(frame)
        try:
            for field in fields:
                value = value[field] if type(value) is dict and field in value else operators.select(value, field)
        except CelError as error:
            raise source.located(error, at) from None
        return value

    return run
