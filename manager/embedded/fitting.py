"""Does a value fit its type, and if not, what does the server say?"""

from collections.abc import Iterator
from typing import Any

from manager.embedded.fields import quoted, readable
from manager.embedded.schema import ListType
from manager.embedded.typed import BOOLEAN, NUMERIC, STRING, UNTYPED, NoKey, Type, element_of, part_of


def fits(value: Any, of: Type, *, duplicates: bool) -> bool:
    """Does a value fit its type? `duplicates` lets items of a list repeat, as in live objects."""
    if value is None:
        return True
    kind = value.__class__
    if kind is dict:
        if not of.map:
            return False
        fields, element = of.fields, of.element
        for name, below in value.items():
            child = fields.get(name) or element
            if child is None or not fits(below, child, duplicates=duplicates):
                return False
        return True
    if kind is list:
        return of.list_type is not None and _list_fits(value, of, duplicates=duplicates)
    if kind is str:
        return of.scalar in (STRING, UNTYPED)
    if kind is bool:
        return of.scalar in (BOOLEAN, UNTYPED)
    return of.scalar in (NUMERIC, UNTYPED)


def _list_fits(value: list[Any], of: Type, *, duplicates: bool) -> bool:
    item_type = of.item
    if of.list_type is not ListType.ATOMIC:
        try:
            elements = [element_of(item, of) for item in value]
        except NoKey:
            return False
        if not duplicates and len(set(elements)) != len(elements):
            return False
    return all(fits(item, item_type, duplicates=duplicates) for item in value)


def validate(value: Any, of: Type, *, duplicates: bool = False) -> str:
    """What does not fit, in the words of the server; empty when all does."""
    if fits(value, of, duplicates=duplicates):
        return ""
    said = [f"{path}: {words}" if path else words for path, words in _errors(value, of, "", duplicates)]
    return said[0] if len(said) == 1 else "\n  ".join(["errors:", *said])


def _errors(value: Any, of: Type, path: str, duplicates: bool) -> Iterator[tuple[str, str]]:
    part = part_of(value, of)
    if part == "map":
        yield from _map_errors(value, of, path, duplicates)
    elif part == "list":
        yield from _list_errors(value, of, path, duplicates)
    elif value is not None:
        words = _scalar_error(value, of.scalar)
        if words:
            yield path, words


def _map_errors(value: Any, of: Type, path: str, duplicates: bool) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield path, f"expected map, got {_shown(value)}"
        return
    for name in sorted(value):
        child = of.fields.get(name) or of.element
        if child is None:
            yield f"{path}.{name}", "field not declared in schema"
            return  # as the server, which looks no further in this map
        yield from _errors(value[name], child, f"{path}.{name}", duplicates)


def _list_errors(value: Any, of: Type, path: str, duplicates: bool) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not isinstance(value, list):
        yield path, f"expected list, got {_shown(value)}"
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        if of.list_type is ListType.ATOMIC:
            element = f"i:{index}"
        else:
            try:
                element = element_of(item, of)
            except NoKey as error:
                yield path, f"element {index}: {error}"
                return
            if element in seen and not duplicates:
                yield path, f"duplicate entries for key {readable(element)}"
            seen.add(element)
        yield from _errors(item, of.item, path + readable(element), duplicates)


def _scalar_error(value: Any, scalar: str) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if scalar == NUMERIC and not number:
        return f"expected numeric (int or float), got {_go_type(value)}"
    if scalar == STRING and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    if scalar == BOOLEAN and not isinstance(value, bool):
        return f"expected boolean, got {_shown(value)}"
    if scalar == UNTYPED and isinstance(value, dict | list):
        return f"expected any scalar, got {_shown(value)}"
    return ""


def _shown(value: Any) -> str:
    return f"&{{{_go_text(value)}}}"


def _go_type(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")


def _go_text(value: Any) -> str:
    """A value as Go's %v writes it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_go_text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _go_syntax(value: Any) -> str:
    """A value as Go's %#v writes it."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, dict):
        return f"{_go_type(value)}{{{', '.join(f'{quoted(name)}:{_go_syntax(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, list):
        return f"{_go_type(value)}{{{', '.join(map(_go_syntax, value))}}}"
    return quoted(value) if isinstance(value, str) else _go_text(value)
