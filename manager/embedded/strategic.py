"""Strategic merge patches: merge patches that know which lists are maps by a key, and take orders (`$patch` and its like).

Specification: https://github.com/kubernetes/design-proposals-archive/blob/main/cli/preserve-order-in-strategic-merge-patch.md and
apimachinery's util/strategicpatch, whose words the errors have.
"""

from copy import deepcopy
from functools import cmp_to_key
from typing import Any

from apis.meta import Manifest
from manager.embedded.causes import printed
from manager.embedded.schema import ANYTHING, Schema
from manager.embedded.status import StatusError, bad_request

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"
ELEMENT_ORDER = "$setElementOrder"

_Map = dict[str, Any]


def strategic_merge_patch(obj: Manifest, patch: Any, schema: Schema) -> Manifest:
    """Apply a strategic merge patch to an object of a built-in kind.

    Raises StatusError: 400 for a malformed patch, 422 for lists of lists, 500 for items without their key.
    """
    if not isinstance(patch, dict):
        kind = "array" if isinstance(patch, list) else "string" if isinstance(patch, str) else "number"
        raise bad_request(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    return _merge(deepcopy(obj), deepcopy(patch), schema)


def _failed(message: str) -> StatusError:
    """An error that the server has no code for."""
    return StatusError(500, "", message)


def _merge(original: _Map, patch: _Map, schema: Schema) -> _Map:
    if DIRECTIVE in patch:
        return _directed(patch)
    _retain_keys(original, patch)
    _set_orders(original, patch, schema)
    for name, value in patch.items():
        deleting = name.startswith(DELETE_FROM_LIST)
        _merge_field(original, _named(name, DELETE_FROM_LIST) if deleting else name, value, schema, deleting=deleting)
    return original


def _directed(patch: _Map) -> _Map:
    match patch[DIRECTIVE]:
        case "replace":
            return {name: value for name, value in patch.items() if name != DIRECTIVE}
        case "delete":
            return {}
    raise _failed(f"unknown patch type: {patch[DIRECTIVE]} in map: {printed(patch)}")


def _merge_field(original: _Map, name: str, value: Any, schema: Schema, *, deleting: bool) -> None:
    if value is None:
        original.pop(name, None)
        return
    if name not in original or type(original[name]) is not type(value) or not isinstance(value, dict | list):
        if not deleting:
            _take(original, name, value)
        return
    child = schema.child(name) or ANYTHING
    strategy = _strategy(child)
    if isinstance(value, dict):
        original[name] = value if strategy == "replace" else _merge(original[name], value, child)
    elif strategy == "merge" or deleting:
        original[name] = _merge_lists(original[name], value, child, deleting=deleting)
    else:
        original[name] = value


def _strategy(schema: Schema) -> str:
    """How values are put together: `merge`, `replace` or nothing; retainKeys is an order of the patch, not looked at here."""
    others = [each for each in schema.patch_strategy.split(",") if each and each != "retainKeys"]
    return others[0] if others else ""


def _take(original: _Map, name: str, value: Any) -> None:
    """A value as it stands in the patch, without orders and nulls."""
    kept, keep = _without_directives(_without_nulls(value))
    if keep:
        original[name] = kept
    else:
        original.pop(name, None)


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_nulls(below) for name, below in value.items() if below is not None}
        case list():
            return [_without_nulls(below) for below in value]
    return value


def _without_directives(value: Any) -> tuple[Any, bool]:
    match value:
        case dict():
            if DIRECTIVE in value:
                return None, False
            below = {name: _without_directives(each) for name, each in value.items()}
            return {name: each for name, (each, keep) in below.items() if keep}, True
        case list():
            items = map(_without_directives, value)
            return [each for each, keep in items if keep], True
    return value, True


def _retain_keys(original: _Map, patch: _Map) -> None:
    if RETAIN_KEYS not in patch:
        return
    kept = patch.pop(RETAIN_KEYS)
    if not isinstance(kept, list):
        raise bad_request("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is not None and not name.startswith((DELETE_FROM_LIST, ELEMENT_ORDER)) and name not in kept:
            raise bad_request("invalid patch format of retainKeys")
    for name in [name for name in original if name not in kept]:
        del original[name]


def _named(key: str, prefix: str) -> str:
    """`$setElementOrder/containers` -> `containers`."""
    before, slash, name = key.partition("/")
    if not slash or before != prefix:
        word = "primitive list" if prefix == DELETE_FROM_LIST else "setElementOrder list"
        raise bad_request(f"invalid patch format of {word}")
    return name


def _set_orders(original: _Map, patch: _Map, schema: Schema) -> None:
    """Lists with an order given: merged here, and out of the patch after that."""
    for directive in [name for name in patch if name.startswith(ELEMENT_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _failed(f"expected a []interface {{}}, but received a {_go_type(order)}")
        name = _named(directive, ELEMENT_ORDER)
        live, given = _list(original, name), _list(patch, name)
        child = schema.child(name) or ANYTHING
        _check_order(given or [], order, child.patch_key)
        if live is None and given is None:
            continue
        if given is None:
            merged = list(live or [])
        elif live is None:
            merged = _without_directives(given)[0]
        elif _strategy(child) == "merge":
            merged = _merge_lists(list(live), given, child, deleting=False)
        else:
            merged = given
        known = _shifted(live or [], given or [], child.patch_key) if _strategy(child) == "merge" else live or []
        original[name] = _ordered(merged, order, known, child.patch_key)
        patch.pop(name, None)


def _shifted(live: list[Any], given: list[Any], key: str) -> list[Any]:
    """The live list as the server still sees it after it merged the patch into it: deletions move items up in the same memory,
    and new items take the places that became free. It goes by that order, so it shows.
    """
    if not key or not all(isinstance(item, dict) for item in given):
        return live
    seen, size = list(live), len(live)
    for item in given:
        gone = item.get(key) if item.get(DIRECTIVE) == "delete" else None
        for place in [place for place in range(size) if gone is not None and seen[place].get(key) == gone]:
            seen[place : size - 1] = seen[place + 1 : size]
            size -= 1
    fresh = [item for item in given if DIRECTIVE not in item and all(each.get(key) != item.get(key) for each in seen[:size])]
    room = len(live) - size
    if any(item.get(DIRECTIVE) == "replace" for item in given):
        return seen
    seen[size : size + len(fresh[:room])] = fresh[:room]
    return seen


def _list(holder: _Map, name: str) -> list[Any] | None:
    if name not in holder:
        return None
    if not isinstance(holder[name], list):
        raise _failed(f"expected a []interface {{}}, but received a {_go_type(holder[name])}")
    found: list[Any] = holder[name]
    return found


def _check_order(given: list[Any], order: list[Any], key: str) -> None:
    """The items of the patch must stand in the order, one after the other."""
    if not given or not order:
        return
    kept = [item for item in given if not (isinstance(item, dict) and item.get(DIRECTIVE) == "delete")] if key else given
    place, at = 0, 0
    while place < len(kept) and at < len(order):
        if isinstance(kept[place], dict) and DIRECTIVE in kept[place]:
            place += 1
            continue
        place += _key(kept[place], key) == _key(order[at], key)
        at += 1
    if place < len(kept):
        raise _failed(f"The order in patch list:\n{printed(given)}\n doesn't match $setElementOrder list:\n{printed(order)}\n")


def _key(item: Any, key: str) -> Any:
    """What tells an item of a list from the others."""
    if not key:
        return item
    if not isinstance(item, dict):
        raise _failed(f"expected a map[string]interface {{}}, but received a {_go_type(item)}")
    if key not in item:
        raise _failed(f"map: {printed(item)} does not contain declared merge key: {key}")
    return item[key]


def _merge_lists(live: list[Any], patch: list[Any], schema: Schema, *, deleting: bool) -> list[Any]:
    if not live and not patch:
        return live
    _same_types(live, patch)
    key = schema.patch_key
    if not isinstance((live or patch)[0], dict):
        if deleting:
            return [item for item in live if item not in patch]
        return _ordered(_distinct([*live, *patch]), patch, live, "")
    if not key:
        raise _failed("cannot merge lists without merge key for struct")
    live, patch = _special(live, patch, key)
    merged = _merge_items(list(live), patch, schema, key)
    return _ordered(merged, patch, live, key)


def _same_types(*lists: list[Any]) -> None:
    items = [item for each in lists for item in each]
    if isinstance(items[0], list):
        raise StatusError(422, "Invalid", "the server rejected our request due to an error in our request")
    if any(type(item) is not type(items[0]) for item in items):
        raise _failed(f"list element types are not identical: {printed(list(lists))}")


def _special(live: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the orders that stand among the items; the rest of the patch remains."""
    rest, replace = [], False
    for item in patch:
        if DIRECTIVE not in item:
            rest.append(item)
            continue
        match item[DIRECTIVE]:
            case "delete":
                gone = _key(item, key)
                live = [each for each in live if not (key in each and each[key] == gone)]
            case "replace":
                replace = True
            case "merge":
                raise _failed("merging lists cannot yet be specified in the patch")
            case other:
                raise _failed(f"unknown patch type: {other} in map: {printed(item)}")
    return (rest, []) if replace else (live, rest)


def _merge_items(live: list[Any], patch: list[Any], schema: Schema, key: str) -> list[Any]:
    for item in patch:
        wanted = _key(item, key)
        place = next((place for place, each in enumerate(live) if key in each and each[key] == wanted), None)
        if place is None:
            live.append(item)
        else:
            live[place] = _merge(live[place], item, schema.items or ANYTHING)
    return live


def _distinct(items: list[Any]) -> list[Any]:
    """Each once; the last item takes the place of one that is dropped, as the server's algorithm does it."""
    items = list(items)
    last, left = len(items) - 1, 0
    while left < last:
        right = left + 1
        while right <= last:
            if items[left] == items[right]:
                items[right] = items[last]
                items.pop()
                last -= 1
            else:
                right += 1
        left += 1
    return items


def _ordered(merged: list[Any], order: list[Any], live: list[Any], key: str) -> list[Any]:
    """The items of the patch in the order given, and between them those that only the server knew, where they stood."""
    wanted = [_key(item, key) for item in order]
    chosen = _sorted([item for item in merged if _key(item, key) in wanted], wanted, key)
    known = [item.get(key) if key and isinstance(item, dict) else item for item in live]
    others = _sorted([item for item in merged if _key(item, key) not in wanted], known, key)
    return _interleaved(others, chosen, known, key)


def _sorted(items: list[Any], order: list[Any], key: str) -> list[Any]:
    def before(left: Any, right: Any) -> int:
        places = [_key(each, key) for each in (left, right)]
        if all(place in order for place in places):
            return order.index(places[0]) - order.index(places[1])
        return 0

    return sorted(items, key=cmp_to_key(before))


def _interleaved(others: list[Any], chosen: list[Any], known: list[Any], key: str) -> list[Any]:
    result, left, right = [], 0, 0
    while left < len(others) and right < len(chosen):
        one, other = _key(others[left], key), _key(chosen[right], key)
        if one in known and other in known and known.index(one) < known.index(other):
            result.append(others[left])
            left += 1
        else:
            result.append(chosen[right])
            right += 1
    return result + others[left:] + chosen[right:]


_GO_TYPES = {
    "str": "string",
    "bool": "bool",
    "int": "int64",
    "float": "float64",
    "list": "[]interface {}",
    "NoneType": "%!s(<nil>)",
}


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value).__name__, "map[string]interface {}")
