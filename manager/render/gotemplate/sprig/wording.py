"""Words within strings: their case, their initials, how they are joined, wrapped and cut short."""

import re

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig import letters
from manager.render.gotemplate.sprig.table import INT, STRING, growing, plain, slow
from manager.render.gotemplate.value import encoded, string


def camelcase(text: str) -> str:
    """`some_words` as `SomeWords`: a letter after connectors in upper case, words of upper case only in lower."""
    text = letters.runes(text)
    start = next((index for index, character in enumerate(text) if not _connects(character)), len(text))
    if start == len(text):
        return text + text[-1:]  # as the original: the last connector stands twice
    made = [text[:start]]
    before, shouting = letters.upper_one(text[start]), letters.is_upper(text[start])
    for character in text[start + 1 :]:
        after = character
        if _connects(before) and not _connects(character):
            shouting, after = letters.is_upper(character), letters.upper_one(character)
        else:
            if not _connects(before) and shouting:
                shouting = letters.is_upper(character)
                after = letters.lower_one(character) if shouting else character
            made.append(before)
        before = after
    return "".join([*made, before])


def _connects(character: str) -> bool:
    return character in "-_" or character in letters.SPACES


def snakecase(text: str) -> str:
    """`FirstName` as `first_name`."""
    return _connected(text, "_")


def kebabcase(text: str) -> str:
    """`FirstName` as `first-name`."""
    return _connected(text, "-")


# A letter per character says what it is; words are found in those letters. C connects, D connects and is punctuation, P is
# other punctuation, U an upper-case letter, A another one, N a number, O all else.
_WORDS = re.compile(
    r"(?P<connector>[CD]+)|(?P<mark>P[PD]*)|(?P<upper>U+(?=UA)|UU+|UA*)|(?P<letter>A+)|(?P<number>N+)|(?P<other>O+)"
)

Word = tuple[str, str]
_END: Word = ("", "")


def _class(character: str) -> str:
    if _connects(character):
        return "C" if character in letters.SPACES else "D"
    for letter, test in (("P", letters.is_punctuation), ("U", letters.is_upper), ("A", _alphabetic), ("N", letters.is_number)):
        if test(character):
            return letter
    return "O"


def _alphabetic(character: str) -> bool:
    """A letter of a script that has words: ideographs are none."""
    if not letters.is_letter(character):
        return False
    return not any(first <= ord(character) <= last for first, last in _WORDLESS)


_WORDLESS = ((0x3400, 0x4D85), (0x4E00, 0x9FCC), (0x20000, 0x2B81D))


def _split(text: str) -> list[Word]:
    classes = "".join(map(_class, text))
    return [(found.lastgroup or "", text[found.start() : found.end()]) for found in _WORDS.finditer(classes)]


def _connected(text: str, connector: str) -> str:
    """The words in lower case with connectors between; a number belongs to the word before unless letters follow it."""
    found = [*_split(text), _END]
    made: list[str] = []
    at = 0

    def put() -> None:
        nonlocal at
        made.append(_lowered(found[at], connector))
        at += 1

    def connect(*without: str) -> None:
        if found[at][0] not in ("connector", "mark", *without):
            made.append(connector)

    while at < len(found) - 2:
        kind = found[at][0]
        put()
        if kind == "number":
            while found[at][0] in ("letter", "number"):
                put()
            connect("")
        elif kind not in ("connector", "mark"):
            if found[at][0] != "number":
                connect()
            elif at < len(found) - 2:
                if found[at + 1][0] == "letter":
                    made.append(connector)
                    put()
                    while found[at][0] in ("letter", "number"):
                        put()
                    connect("")
                else:
                    put()
                    connect()
    return "".join([*made, *(_lowered(word, connector) for word in found[at:])])


def _lowered(word: Word, connector: str) -> str:
    kind, text = word
    if kind == "connector":
        return connector * len(text)
    if kind != "upper":
        return text
    return "".join(letters.lower_one(character) if letters.is_upper(character) else character for character in text)


def swapcase(text: str) -> str:
    """Upper case to lower and back; a lower-case letter that begins a word becomes as in a title."""
    made, first = [], True
    for character in letters.runes(text):
        if letters.is_upper(character) or letters.is_title(character):
            made.append(letters.lower_one(character))
            first = False
        elif letters.is_lower(character):
            made.append(letters.title_one(character) if first else letters.upper_one(character))
            first = False
        else:
            made.append(character)
            first = character in letters.SPACES
    return "".join(made)


def nospace(budget: Budget, text: str) -> str:
    """The text without spaces. Where it has some, each byte counts as a character of Latin-1, as in the original."""
    each = encoded(text).decode("latin-1")
    kept = each.translate(_NO_SPACES)
    budget.take(2 * len(each))
    return text if len(kept) == len(each) else kept


_NO_SPACES = dict.fromkeys(map(ord, letters.SPACES))


def initials(text: str) -> str:
    """The first byte of each word, as a character of Latin-1."""
    each = encoded(text).decode("latin-1")
    spaces = letters.SPACES
    return "".join(now for before, now in zip(" " + each, each, strict=False) if before in spaces and now not in spaces)


def abbrev(width: int, text: str) -> str:
    """At most `width` bytes, the last three of them dots where something was cut off."""
    return text if width < 4 else _abbreviated(text, 0, width)


def abbrevboth(left: int, right: int, text: str) -> str:
    """At most `right` bytes from about the byte `left` on, with dots on the sides where something was cut off."""
    return text if right < 4 or (left > 0 and right < 7) else _abbreviated(text, left, right)


def _abbreviated(text: str, offset: int, width: int) -> str:
    data = encoded(text)
    if len(data) <= width:
        return text
    kept = width - 3
    offset = min(offset, len(data) - kept)
    if offset <= 4:
        return string(data[:kept] + b"...")
    if width < 7:
        return ""
    if offset + kept >= len(data):
        return string(b"..." + data[-kept:])
    rest = string(data[offset:])
    return "..." + (_abbreviated(rest, 0, kept) if kept >= 4 else "")


def wrap(budget: Budget, width: int, text: str) -> str:
    """Lines of at most `width` bytes; words that are longer stay whole."""
    return _wrapped(budget, text, width, "\n", whole=True)


def wrap_with(budget: Budget, width: int, newline: str, text: str) -> str:
    """The same with `newline` between the lines; longer words are cut."""
    return _wrapped(budget, text, width, newline or "\n", whole=False)


def _wrapped(budget: Budget, text: str, width: int, newline: str, *, whole: bool) -> str:
    data, end = encoded(text), encoded(newline)
    width = max(width, 1)
    lines: list[bytes] = []
    made = at = 0
    while len(data) - at > width:
        if data[at : at + 1] == b" ":
            at += 1
            continue
        space = data.rfind(b" ", at, at + width + 1)
        if space < 0 and whole:
            space = data.find(b" ", at + width)
            if space < 0:
                break
        stop = space if space >= 0 else at + width
        lines.append(data[at:stop])
        made += stop - at + len(end)
        budget.take(made)
        at = stop + (space >= 0)
    return string(end.join([*lines, data[at:]]))


WORDING: Functions = {
    function.name: function
    for function in (
        slow("camelcase", camelcase, STRING),
        slow("snakecase", snakecase, STRING),
        slow("kebabcase", kebabcase, STRING),
        slow("swapcase", swapcase, STRING),
        growing("nospace", nospace, STRING),
        slow("initials", initials, STRING),
        plain("abbrev", abbrev, INT, STRING),
        plain("abbrevboth", abbrevboth, INT, INT, STRING),
        growing("wrap", wrap, INT, STRING),
        growing("wrapWith", wrap_with, INT, STRING, STRING),
    )
}
