"""Maps. `set`, `unset` and the merges change the map that they are given, as everywhere in Go."""

from collections.abc import Callable
from typing import Any

from manager.render.gotemplate.bounds import NESTED, Budget
from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig.equality import copied
from manager.render.gotemplate.sprig.table import STRING, growing, plain, words
from manager.render.gotemplate.value import ANY, DICT, gotype, is_nil, strings, truth

Entries = dict[str, Any]


def make(budget: Budget, *parts: Any) -> Entries:
    """Keys and values in turn; a last key without a value gets the empty string."""
    return {words(key, budget): parts[2 * at + 1] if 2 * at + 1 < len(parts) else "" for at, key in enumerate(parts[::2])}


def put(entries: Entries, key: str, value: Any) -> Entries:
    """The map, in which the key has this value now."""
    if is_nil(entries):
        raise CallError("assignment to entry in nil map")
    entries[key] = value
    return entries


def unset(entries: Entries, key: str) -> Entries:
    """The map, in which the key is no more."""
    entries.pop(key, None)
    return entries


def pluck(key: str, *maps: Entries) -> list[Any]:
    """The values of a key in those maps that have it."""
    return [entries[key] for entries in maps if key in entries]


def keys(*maps: Entries) -> list[str]:
    """The keys of all maps, in their order: the original has none."""
    return strings(key for entries in maps for key in sorted(entries))


def values(entries: Entries) -> list[Any]:
    """The values by the order of their keys: the original has none."""
    return [entries[key] for key in sorted(entries)]


def pick(entries: Entries, *wanted: str) -> Entries:
    """The entries with those keys."""
    return {key: entries[key] for key in wanted if key in entries}


def omit(entries: Entries, *unwanted: str) -> Entries:
    """The entries without those keys."""
    return {key: value for key, value in entries.items() if key not in unwanted}


def dig(*parts: Any) -> Any:
    """What is found in maps within maps: keys, what stands in for a key that is not there, and the map."""
    if len(parts) < 3:
        raise CallError("dig needs at least three arguments")
    *path, otherwise, found = parts
    found = _converted(found, DICT)
    steps = [_converted(key, STRING) for key in path]
    for number, key in enumerate(steps):
        if key not in found:
            return otherwise
        found = found[key]
        if number < len(steps) - 1:
            found = _converted(found, DICT)
    return found


def _converted(value: Any, wanted: str) -> Any:
    if value is None or gotype(value) != wanted:
        raise CallError(f"interface conversion: interface {{}} is {'nil' if value is None else gotype(value)}, not {wanted}")
    return value


def _merging(*, overwrite: bool) -> Callable[..., Entries]:
    def merge(budget: Budget, target: Entries, *sources: Entries) -> Entries:
        for source in sources:
            if is_nil(target) and not is_nil(source):
                target = {}
            _merge(budget, target, source, NESTED, overwrite=overwrite)
        return target

    return merge


def _merge(budget: Budget, target: Entries, source: Entries, depth: int, *, overwrite: bool) -> None:
    """What the target lacks, and with `overwrite` all that the source has. Maps are merged, lists are taken as they are."""
    if depth == 0:
        raise Exceeded(f"a value is nested more than {NESTED} levels deep")
    for key, new in list(source.items()):
        budget.step()
        old = target.get(key)
        if new is None:
            if overwrite:
                target[key] = None
        elif isinstance(new, dict) and isinstance(old, dict):
            if is_nil(old):
                target[key] = new
            else:
                _merge(budget, old, new, depth - 1, overwrite=overwrite)
                if not old:
                    target[key] = new
        elif overwrite or _empty(old):
            target[key] = new


def _empty(value: Any) -> bool:
    return not truth(value)


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        growing("dict", make, rest=ANY),
        plain("get", lambda entries, key: entries.get(key, ""), DICT, STRING),
        plain("set", put, DICT, STRING, ANY),
        plain("unset", unset, DICT, STRING),
        plain("hasKey", lambda entries, key: key in entries, DICT, STRING),
        plain("pluck", pluck, STRING, rest=DICT),
        plain("keys", keys, rest=DICT),
        plain("values", values, DICT),
        plain("pick", pick, DICT, rest=STRING),
        plain("omit", omit, DICT, rest=STRING),
        plain("dig", dig, rest=ANY),
        growing("merge", _merging(overwrite=False), DICT, rest=DICT),
        growing("mustMerge", _merging(overwrite=False), DICT, rest=DICT),
        growing("mergeOverwrite", _merging(overwrite=True), DICT, rest=DICT),
        growing("mustMergeOverwrite", _merging(overwrite=True), DICT, rest=DICT),
        growing("deepCopy", copied, ANY),
        growing("mustDeepCopy", copied, ANY),
    )
}
