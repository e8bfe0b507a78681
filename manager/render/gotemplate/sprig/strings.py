"""Strings and lists of strings."""

from typing import Any

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.quote import quote as literal
from manager.render.gotemplate.sprig import letters
from manager.render.gotemplate.sprig.table import INT, STRING, growing, plain, slow, words
from manager.render.gotemplate.sprig.wording import WORDING
from manager.render.gotemplate.value import ANY, Map, Slice, encoded, string, strings


def title(text: str) -> str:
    """The first letter of each word as it begins a title; words end at ASCII punctuation and at spaces."""
    made, before = [], " "
    for character in letters.runes(text):
        made.append(letters.title_one(character) if _separates(before) else character)
        before = character
    return "".join(made)


def _separates(character: str) -> bool:
    if character.isascii():
        return not (character.isalnum() or character == "_")
    return character in letters.SPACES


def untitle(text: str) -> str:
    """The first letter of each word in lower case; words end at spaces."""
    made, first = [], True
    for character in letters.runes(text):
        space = character in letters.SPACES
        made.append(letters.lower_one(character) if first and not space else character)
        first = space
    return "".join(made)


def trunc(length: int, text: str) -> str:
    """The first bytes; the last ones where the length is negative."""
    data = encoded(text)
    if length < 0:
        return string(data[length:]) if len(data) + length > 0 else text
    return string(data[:length])


def substr(start: int, end: int, text: str) -> str:
    """The bytes from `start` to before `end`; from the beginning or to the end where one of them is negative."""
    data = encoded(text)
    size = len(data)
    if start < 0:
        if not 0 <= end <= size:
            raise CallError(f"runtime error: slice bounds out of range [:{end}]" + (f" with length {size}" if end > size else ""))
        return string(data[:end])
    if end < 0 or end > size:
        end = size
    if start > end:
        raise CallError(f"runtime error: slice bounds out of range [{start}:{end}]")
    return string(data[start:end])


def repeat(budget: Budget, count: int, text: str) -> str:
    """The text, `count` times."""
    if count < 0:
        raise CallError("strings: negative Repeat count")
    budget.take(len(text) * count)
    return text * count


def replace(budget: Budget, old: str, new: str, text: str) -> str:
    """The text with another word for each `old`."""
    budget.take(len(text) + (text.count(old)) * len(new))
    return text.replace(old, new)


def indent(budget: Budget, spaces: int, text: str) -> str:
    """Each line behind so many spaces."""
    if spaces < 0:
        raise CallError("strings: negative Repeat count")
    budget.take(len(text) + (text.count("\n") + 1) * spaces)
    return " " * spaces + text.replace("\n", "\n" + " " * spaces)


def nindent(budget: Budget, spaces: int, text: str) -> str:
    """The same, on a new line."""
    return "\n" + indent(budget, spaces, text)


def plural(one: str, many: str, count: int) -> str:
    """One of two words by the count."""
    return one if count == 1 else many


def quote(budget: Budget, *values: Any) -> str:
    """Each value that is not nil in double quotes, as Go writes them."""
    texts = [words(value, budget) for value in values if value is not None]
    budget.step(sum(map(len, texts)))
    return _joined(budget, " ", list(map(literal, texts)))


def squote(budget: Budget, *values: Any) -> str:
    """Each value that is not nil in single quotes, as it is."""
    return _joined(budget, " ", [f"'{words(value, budget)}'" for value in values if value is not None])


def cat(budget: Budget, *values: Any) -> str:
    """The values that are not nil, with spaces between."""
    return _joined(budget, " ", [words(value, budget) for value in values if value is not None])


def to_strings(budget: Budget, value: Any) -> Slice:
    """The elements that are not nil, as strings; of anything else a list of one, of nil an empty one."""
    if isinstance(value, list):
        return strings(words(item, budget) for item in value if item is not None)
    return strings([] if value is None else [words(value, budget)])


def join(budget: Budget, separator: str, value: Any) -> str:
    """The elements as strings, with a separator between."""
    return _joined(budget, separator, to_strings(budget, value))


def _joined(budget: Budget, separator: str, parts: list[str]) -> str:
    budget.take(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def sort_alpha(budget: Budget, value: Any) -> Slice:
    """The elements as strings, sorted by their bytes."""
    if not isinstance(value, list):
        return strings([words(value, budget)])
    budget.step(len(value))
    return strings(sorted(to_strings(budget, value), key=encoded))


def split_list(budget: Budget, separator: str, text: str) -> Slice:
    """The parts between separators."""
    return strings(_parts(budget, separator, text, -1))


def split(budget: Budget, separator: str, text: str) -> Map:
    """The same as a map, with the keys `_0`, `_1`, ..."""
    return splitn(budget, separator, -1, text)


def splitn(budget: Budget, separator: str, most: int, text: str) -> Map:
    """The same with at most so many parts."""
    return Map(((f"_{number}", part) for number, part in enumerate(_parts(budget, separator, text, most))), STRING)


def _parts(budget: Budget, separator: str, text: str, most: int) -> list[str]:
    budget.step(text.count(separator) + 1)
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or most > len(text):
        return list(text)
    return [*text[: most - 1], text[most - 1 :]] if text else []


def _trimmed(text: str) -> str:
    return text.strip(letters.SPACES)


def _trim_all(cut: str, text: str) -> str:
    return text.strip(cut)


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        *WORDING.values(),
        plain("hello", lambda: "Hello!"),
        plain("upper", letters.upper, STRING),
        plain("lower", letters.lower, STRING),
        slow("title", title, STRING),
        slow("untitle", untitle, STRING),
        plain("trim", _trimmed, STRING),
        plain("trimAll", _trim_all, STRING, STRING),
        plain("trimall", _trim_all, STRING, STRING),
        plain("trimPrefix", lambda prefix, text: text.removeprefix(prefix), STRING, STRING),
        plain("trimSuffix", lambda suffix, text: text.removesuffix(suffix), STRING, STRING),
        plain("trunc", trunc, INT, STRING),
        plain("substr", substr, INT, INT, STRING),
        plain("contains", lambda part, text: part in text, STRING, STRING),
        plain("hasPrefix", lambda prefix, text: text.startswith(prefix), STRING, STRING),
        plain("hasSuffix", lambda suffix, text: text.endswith(suffix), STRING, STRING),
        growing("repeat", repeat, INT, STRING),
        growing("replace", replace, STRING, STRING, STRING),
        growing("indent", indent, INT, STRING),
        growing("nindent", nindent, INT, STRING),
        plain("plural", plural, STRING, STRING, INT),
        growing("quote", quote, rest=ANY),
        growing("squote", squote, rest=ANY),
        growing("cat", cat, rest=ANY),
        growing("toString", lambda budget, value: words(value, budget), ANY),
        growing("toStrings", to_strings, ANY),
        growing("join", join, STRING, ANY),
        growing("sortAlpha", sort_alpha, ANY),
        growing("splitList", split_list, STRING, STRING),
        growing("split", split, STRING, STRING),
        growing("splitn", splitn, STRING, INT, STRING),
    )
}
